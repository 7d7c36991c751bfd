/** Quick open, and what was opened of late. */

import { signal } from "@preact/signals";
import type { Backend, Recent } from "../backend";
import type { Documents } from "../document";
import type { CommandAction, CommandId, FinderSource, Layout } from "../ui";
import type { Files } from "./files";

/** Quick open and the recent list, as window and commands use them. */
export interface RecentFiles {
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  readonly source: FinderSource;
  /** Fetches the list anew. */
  readonly refresh: () => Promise<void>;
}

/** What they need. */
export interface RecentFilesConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly layout: Layout;
  readonly files: Files;
}

/** How many files quick open asks for. */
const mostFiles = 50;

/** Makes them. */
export function createRecent(config: RecentFilesConfig): RecentFiles {
  const { backend, documents, layout, files } = config;
  const list = signal<Recent>({ files: [], workspaces: [] });

  async function refresh(): Promise<void> {
    list.value = await backend.workspace.Recent();
  }

  /** Opens one of the list; one that is gone is not offered again. */
  function openFrom(open: () => Promise<unknown>): void {
    files.openWith(async () => {
      try {
        await open();
      } finally {
        await refresh();
      }
    });
  }

  async function clear(): Promise<void> {
    await backend.workspace.ForgetRecent();
    await refresh();
  }

  return {
    refresh,
    source: {
      recent: list,
      quickOpen: (query) => backend.workspace.QuickOpen({ query, limit: mostFiles }),
      openFile: (path) => files.view.open(path),
      openRecentFile: (path) =>
        openFrom(async () => documents.show(await backend.documents.OpenRecent(path))),
      openRecentFolder: (path) =>
        openFrom(async () => files.setWorkspace(await backend.workspace.OpenRecent(path))),
      clear: () => files.attempt(clear),
    },
    actions: {
      "file.quickOpen": {
        run: () => {
          const inFolder = files.workspace.peek().path !== "";
          layout.finder.value = inFolder ? "files" : "recent";
          if (!inFolder) {
            files.attempt(refresh);
          }
        },
      },
      "file.openRecent": {
        run: () => {
          layout.finder.value = "recent";
          files.attempt(refresh);
        },
      },
      "file.clearRecent": { run: () => files.attempt(clear) },
    },
  };
}
