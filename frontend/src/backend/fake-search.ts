import { BackendError } from "./fault";
import type { WorkspaceService } from "./gen";

/** The search's and reviewed sets' part of the fake back end. */
export function createFakeSearch(): Pick<
  WorkspaceService,
  "Search" | "CancelSearch" | "PreviewReplace" | "ApplySet" | "UndoSet" | "DropSet"
> {
  const unavailable = async (): Promise<never> => {
    throw new BackendError("internal", "fake");
  };
  return {
    Search: unavailable,
    CancelSearch: unavailable,
    PreviewReplace: unavailable,
    ApplySet: unavailable,
    UndoSet: unavailable,
    DropSet: unavailable,
  };
}
