import { BackendError } from "./fault";
import type { DocumentsService } from "./gen";

/** The disk's and history's part of the fake back end. */
export function createFakeDisk(): Pick<
  DocumentsService,
  "Compare" | "History" | "OpenRecent" | "ReportView"
> {
  const unavailable = async (): Promise<never> => {
    throw new BackendError("internal", "fake");
  };
  return {
    Compare: unavailable,
    History: unavailable,
    OpenRecent: unavailable,
    ReportView: unavailable,
  };
}
