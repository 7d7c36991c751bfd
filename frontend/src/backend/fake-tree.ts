import { BackendError } from "./fault";
import type { WorkspaceService } from "./gen";

/** The tree's, quick open's and recent part of the fake back end. */
export function createFakeTree(): Pick<
  WorkspaceService,
  | "Create"
  | "Move"
  | "Duplicate"
  | "Trash"
  | "Reveal"
  | "QuickOpen"
  | "Recent"
  | "OpenRecent"
  | "ForgetRecent"
> {
  const unavailable = async (): Promise<never> => {
    throw new BackendError("internal", "fake");
  };
  return {
    Create: unavailable,
    Move: unavailable,
    Duplicate: unavailable,
    Trash: unavailable,
    Reveal: unavailable,
    QuickOpen: unavailable,
    Recent: unavailable,
    OpenRecent: unavailable,
    ForgetRecent: unavailable,
  };
}
