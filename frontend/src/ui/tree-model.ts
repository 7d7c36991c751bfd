import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Entry, Listing } from "../backend";

/** A row of the tree as it is shown. */
export type TreeRow =
  | {
      readonly type: "entry";
      readonly key: string;
      readonly entry: Entry;
      /** What is shown: the name, without `.md`. */
      readonly label: string;
      /** From 1. */
      readonly level: number;
      /** Null for a document. */
      readonly expanded: boolean | null;
      readonly position: number;
      readonly size: number;
    }
  | {
      readonly type: "told";
      readonly key: string;
      readonly what: "loading" | "failed" | "empty" | "more";
      /** The folder it is about. */
      readonly path: string;
      readonly name: string;
      readonly level: number;
      /** How many entries are not shown. */
      readonly n: number;
    };

/** The tree of a workspace: folders are listed when they are opened. */
export interface Tree {
  readonly rows: ReadonlySignal<readonly TreeRow[]>;
  /** Shows another folder, everything below it shut; "" for none. */
  readonly setRoot: (path: string) => void;
  readonly expand: (path: string) => void;
  readonly collapse: (path: string) => void;
  readonly toggle: (path: string) => void;
  /** Opens the folders on the way to a path, so that its row is there. */
  readonly reveal: (path: string) => void;
  /** Lists again what is open: a document was made, or one was saved under a new name. */
  readonly refresh: () => void;
}

interface Folder {
  readonly status: "loading" | "ready" | "failed";
  readonly entries: readonly Entry[];
  readonly more: number;
  /** Listing takes long enough to be shown. */
  readonly slow: boolean;
}

/** After how long a listing that is not there yet is shown as loading, in ms. */
const slowMs = 300;

/** Makes a tree over a function that lists a folder. An answer that is no longer wanted is dropped. */
export function createTree(list: (path: string) => Promise<Listing>): Tree {
  const root = signal("");
  const open = signal<ReadonlySet<string>>(new Set());
  const folders = signal<ReadonlyMap<string, Folder>>(new Map());
  const asked = new Map<string, number>();
  let requests = 0;

  function set(path: string, folder: Folder): void {
    folders.value = new Map(folders.peek()).set(path, folder);
  }

  async function load(path: string): Promise<void> {
    requests += 1;
    const request = requests;
    asked.set(path, request);
    const before = folders.peek().get(path);
    const isWanted = (): boolean => asked.get(path) === request;
    if (before?.status !== "ready") {
      set(path, { status: "loading", entries: [], more: 0, slow: false });
    }
    const timer = setTimeout(() => {
      const now = folders.peek().get(path);
      if (isWanted() && now?.status === "loading") {
        set(path, { ...now, slow: true });
      }
    }, slowMs);
    try {
      const { entries, more } = await list(path);
      if (isWanted()) {
        set(path, { status: "ready", entries, more, slow: false });
      }
    } catch {
      if (isWanted()) {
        set(path, { status: "failed", entries: [], more: 0, slow: false });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  const tree: Tree = {
    rows: computed(() => (root.value === "" ? [] : rowsOf(root.value, 1, folders.value, open.value))),
    setRoot: (path) => {
      if (path === root.peek()) {
        tree.refresh();
        return;
      }
      asked.clear();
      folders.value = new Map();
      open.value = new Set();
      root.value = path;
      if (path !== "") {
        void load(path);
      }
    },
    expand: (path) => {
      open.value = new Set([...open.peek(), path]);
      void load(path);
    },
    collapse: (path) => {
      open.value = new Set([...open.peek()].filter((other) => other !== path));
    },
    toggle: (path) => {
      if (open.peek().has(path)) {
        tree.collapse(path);
      } else {
        tree.expand(path);
      }
    },
    reveal: (path) => {
      const from = root.peek();
      const separator = from.includes("/") ? "/" : "\\";
      const top = from.endsWith(separator) ? from : from + separator;
      if (from === "" || !path.startsWith(top)) {
        return;
      }
      for (let at = path.indexOf(separator, top.length); at >= 0; at = path.indexOf(separator, at + 1)) {
        if (!open.peek().has(path.slice(0, at))) {
          tree.expand(path.slice(0, at));
        }
      }
    },
    refresh: () => {
      for (const path of root.peek() === "" ? [] : [root.peek(), ...open.peek()]) {
        void load(path);
      }
    },
  };
  return tree;
}

/** A document's name as it is shown: without `.md`. */
export function documentLabel(name: string): string {
  return name.replace(/(.)\.(md|markdown)$/i, "$1");
}

function rowsOf(
  path: string,
  level: number,
  folders: ReadonlyMap<string, Folder>,
  open: ReadonlySet<string>,
): readonly TreeRow[] {
  const folder = folders.get(path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const told = (what: "loading" | "failed" | "empty" | "more", n = 0): TreeRow => ({
    type: "told",
    key: `${path} ${what}`,
    what,
    path,
    name,
    level,
    n,
  });
  if (folder === undefined || (folder.status === "loading" && !folder.slow)) {
    return [];
  }
  if (folder.status !== "ready") {
    return [told(folder.status)];
  }
  if (folder.entries.length === 0) {
    return [told("empty")];
  }
  const rows = folder.entries.flatMap((entry, i): readonly TreeRow[] => {
    const expanded = entry.folder ? open.has(entry.path) : null;
    const row: TreeRow = {
      type: "entry",
      key: entry.path,
      entry,
      label: entry.folder ? entry.name : documentLabel(entry.name),
      level,
      expanded,
      position: i + 1,
      size: folder.entries.length,
    };
    return expanded ? [row, ...rowsOf(entry.path, level + 1, folders, open)] : [row];
  });
  return folder.more > 0 ? [...rows, told("more", folder.more)] : rows;
}
