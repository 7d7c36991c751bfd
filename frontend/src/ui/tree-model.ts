import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Entry, Listing } from "../backend";
import { baseName, folderOf, isWithin, joinPath, movedPath } from "./paths";

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
      /** The field that names a new document or folder. */
      readonly type: "new";
      readonly key: string;
      /** The folder that gets it. */
      readonly path: string;
      readonly folder: boolean;
      readonly level: number;
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

/** The one field that a tree may show: it names what is made, or anew what is there. */
export type TreeField =
  | {
      readonly type: "create";
      /** The folder that gets it. */
      readonly path: string;
      readonly folder: boolean;
    }
  | { readonly type: "rename"; readonly path: string };

/** The tree of a workspace: folders are listed when they are opened. */
export interface Tree {
  readonly rows: ReadonlySignal<readonly TreeRow[]>;
  /** The folder it shows; "" for none. */
  readonly root: ReadonlySignal<string>;
  /** The key of the row in the tab order; "" for the one of the document in front. */
  readonly focused: Signal<string>;
  /** The key of a row that is to have the focus as soon as it is drawn; "" for none. */
  readonly wanted: Signal<string>;
  /** The path that was cut and waits to be moved; "" for none. */
  readonly cut: Signal<string>;
  readonly field: ReadonlySignal<TreeField | null>;
  /** How far it is scrolled, in CSS pixels; kept while another view is in its place. */
  readonly scroll: Signal<number>;
  /** Shows another folder, everything below it shut; "" for none. */
  readonly setRoot: (path: string) => void;
  readonly expand: (path: string) => void;
  readonly collapse: (path: string) => void;
  readonly toggle: (path: string) => void;
  readonly collapseAll: () => void;
  /** Opens the folders on the way to a path, so that its row is there. */
  readonly reveal: (path: string) => void;
  /** Lists again what is open: a document was made, or one was saved under a new name. */
  readonly refresh: () => void;
  /** Lists those of some folders again that are shown. */
  readonly relist: (folders: readonly string[]) => void;
  /** Follows a move: what was open below the old path is open below the new one. */
  readonly follow: (from: string, to: string) => void;
  /** Shows a field for a new document or folder, in a folder that is opened for it. */
  readonly startCreate: (folder: string, isFolder: boolean) => void;
  /** Shows a field in place of a row's name. */
  readonly startRename: (path: string) => void;
  /** Takes the field away; the row it was in gets the focus. */
  readonly endField: () => void;
  /** What is known of a path; null when no folder that is listed has it. */
  readonly entryOf: (path: string) => Entry | null;
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
  const field = signal<TreeField | null>(null);
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
        checkField(path, entries);
      }
    } catch {
      if (isWanted()) {
        set(path, { status: "failed", entries: [], more: 0, slow: false });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the entries of a folder are among the rows: it is open, and all above it are. */
  function isShown(path: string): boolean {
    const from = root.peek();
    for (let at = path; from !== "" && isWithin(at, from); at = folderOf(at)) {
      if (at === from) {
        return true;
      }
      if (!open.peek().has(at)) {
        return false;
      }
    }
    return false;
  }

  /** What is being renamed may be gone meanwhile. */
  function checkField(path: string, entries: readonly Entry[]): void {
    const now = field.peek();
    const isHere = now?.type === "rename" && now.path === joinPath(path, baseName(now.path));
    if (isHere && !entries.some((entry) => entry.path === now.path)) {
      field.value = null;
    }
  }

  const tree: Tree = {
    rows: computed(() =>
      root.value === "" ? [] : rowsOf(root.value, 1, folders.value, open.value, field.value),
    ),
    root,
    focused: signal(""),
    wanted: signal(""),
    cut: signal(""),
    field,
    scroll: signal(0),
    setRoot: (path) => {
      if (path === root.peek()) {
        tree.refresh();
        return;
      }
      asked.clear();
      batch(() => {
        folders.value = new Map();
        open.value = new Set();
        field.value = null;
        tree.focused.value = "";
        tree.wanted.value = "";
        tree.cut.value = "";
        tree.scroll.value = 0;
        root.value = path;
      });
      if (path !== "") {
        void load(path);
      }
    },
    expand: (path) => {
      open.value = new Set([...open.peek(), path]);
      void load(path);
      // What was open below may have changed while this was shut.
      for (const below of open.peek()) {
        if (below !== path && isWithin(below, path) && !folders.peek().has(below)) {
          void load(below);
        }
      }
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
    collapseAll: () => {
      batch(() => {
        open.value = new Set();
        // The row that is left of where the focus was.
        const top = joinPath(root.peek(), "");
        const [first] = tree.focused.peek().slice(top.length).split(/[/\\]/);
        tree.focused.value = first ? top + first : "";
      });
    },
    reveal: (path) => {
      const from = root.peek();
      if (from === "" || !isWithin(path, from)) {
        return;
      }
      const top = joinPath(from, "");
      const separator = top.slice(-1);
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
    relist: (changed) => {
      for (const path of new Set(changed)) {
        if (isShown(path)) {
          void load(path);
        } else if (folders.peek().has(path)) {
          // Shut: it is listed anew when it is opened, and what it held is not shown until then.
          const rest = new Map(folders.peek());
          rest.delete(path);
          asked.delete(path);
          folders.value = rest;
        }
      }
    },
    follow: (from, to) => {
      batch(() => {
        open.value = new Set([...open.peek()].map((path) => movedPath(path, from, to)));
        folders.value = new Map(
          [...folders.peek()].flatMap(([path, folder]) =>
            isWithin(path, from) ? [[movedPath(path, from, to), moved(folder, from, to)]] : [[path, folder]],
          ),
        );
        tree.focused.value = movedPath(tree.focused.peek(), from, to);
        if (isWithin(tree.cut.peek(), from)) {
          tree.cut.value = "";
        }
      });
    },
    startCreate: (folder, isFolder) => {
      if (folder !== root.peek()) {
        tree.reveal(joinPath(folder, ""));
      }
      field.value = { type: "create", path: folder, folder: isFolder };
    },
    startRename: (path) => {
      tree.reveal(path);
      field.value = { type: "rename", path };
    },
    endField: () => {
      const now = field.peek();
      if (now !== null) {
        batch(() => {
          field.value = null;
          tree.wanted.value =
            now.path === root.peek() ? tree.focused.peek() || (tree.rows.peek()[0]?.key ?? "") : now.path;
        });
      }
    },
    entryOf: (path) => {
      for (const folder of folders.peek().values()) {
        const found = folder.entries.find((entry) => entry.path === path);
        if (found !== undefined) {
          return found;
        }
      }
      return null;
    },
  };
  return tree;
}

/** What is known of a folder, after it or one above it was moved. */
function moved(folder: Folder, from: string, to: string): Folder {
  return {
    ...folder,
    entries: folder.entries.map((entry) => ({ ...entry, path: movedPath(entry.path, from, to) })),
  };
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
  field: TreeField | null,
): readonly TreeRow[] {
  const folder = folders.get(path);
  const told = (what: "loading" | "failed" | "empty" | "more", n = 0): TreeRow => ({
    type: "told",
    key: `${path} ${what}`,
    what,
    path,
    name: baseName(path),
    level,
    n,
  });
  if (folder === undefined || (folder.status === "loading" && !folder.slow)) {
    return [];
  }
  if (folder.status !== "ready") {
    return [told(folder.status)];
  }
  const rows: TreeRow[] = [];
  const makesFolder = field?.type === "create" && field.path === path ? field.folder : null;
  const addField = (): void => {
    rows.push({ type: "new", key: `${path} new`, path, folder: makesFolder === true, level });
  };
  if (makesFolder === true) {
    addField();
  }
  for (const [i, entry] of folder.entries.entries()) {
    // Folders come first; so does a new one, and a new document stands before the others.
    if (makesFolder === false && !entry.folder && (folder.entries[i - 1]?.folder ?? true)) {
      addField();
    }
    const expanded = entry.folder ? open.has(entry.path) : null;
    rows.push({
      type: "entry",
      key: entry.path,
      entry,
      label: entry.folder ? entry.name : documentLabel(entry.name),
      level,
      expanded,
      position: i + 1,
      size: folder.entries.length,
    });
    if (expanded) {
      rows.push(...rowsOf(entry.path, level + 1, folders, open, field));
    }
  }
  if (makesFolder === false && !rows.some((row) => row.type === "new" && row.path === path)) {
    addField();
  }
  if (rows.length === 0) {
    return [told("empty")];
  }
  return folder.more > 0 ? [...rows, told("more", folder.more)] : rows;
}
