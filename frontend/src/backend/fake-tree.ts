import { BackendError } from "./fault";
import type { Entry, FileMatch, Recent, RecentFile, WorkspaceInfo, WorkspaceService } from "./gen";

type TreeService = Pick<
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
>;

/** The tree's, quick open's and recent part of the fake back end. */
export interface FakeTree {
  readonly workspace: TreeService;
  /** A file was opened. */
  readonly remember: (path: string) => void;
  /** A folder was opened. */
  readonly rememberFolder: (path: string) => void;
  readonly isRecent: (path: string) => boolean;
}

/** What it works on: files by path, folders that may be empty, and what is told. */
interface Config {
  readonly disk: Map<string, string>;
  readonly folders: Set<string>;
  readonly trash: Map<string, string>;
  readonly revealed: string[];
  /** The open folder; "" for none. */
  readonly folder: () => string;
  readonly openFolder: (path: string) => WorkspaceInfo;
  readonly recent: Partial<Recent>;
  readonly now: () => number;
  readonly onMoved: (from: string, to: string) => void;
  readonly onTrashed: (path: string) => void;
}

/** How many files, and how many folders, are remembered. */
const mostRecent = 20;

/** Makes it. */
export function createFakeTree(config: Config): FakeTree {
  const { disk, folders } = config;
  let files: readonly RecentFile[] = config.recent.files ?? [];
  let workspaces: readonly WorkspaceInfo[] = config.recent.workspaces ?? [];

  function isFolder(path: string): boolean {
    return folders.has(path) || [...disk.keys()].some((file) => file.startsWith(`${path}/`));
  }

  function exists(path: string): boolean {
    return disk.has(path) || isFolder(path);
  }

  function check(path: string): void {
    const root = config.folder();
    if (root === "" || !path.startsWith(`${root}/`)) {
      throw new BackendError(root === "" ? "not_granted" : "outside_workspace", baseName(path));
    }
    if (!exists(path)) {
      throw new BackendError("not_found", baseName(path));
    }
  }

  /** What a new name must be: free, and one that every system takes. */
  function checkNew(path: string): void {
    const name = baseName(path);
    if (/^(con|nul|aux|prn|com\d|lpt\d)(\.|$)|[<>:"|?*]|[ .]$/i.test(name)) {
      throw new BackendError("reserved_name", name);
    }
    if (exists(path)) {
      throw new BackendError("exists", name);
    }
  }

  function entryOf(path: string): Entry {
    return { name: baseName(path), path, folder: isFolder(path), ignored: false };
  }

  /** Gives files and folders below a path another one. */
  function relocate(from: string, to: string, keep: boolean): void {
    for (const [path, text] of [...disk]) {
      if (path === from || path.startsWith(`${from}/`)) {
        disk.set(to + path.slice(from.length), text);
        if (!keep) {
          disk.delete(path);
        }
      }
    }
    for (const path of [...folders]) {
      if (path === from || path.startsWith(`${from}/`)) {
        folders.add(to + path.slice(from.length));
        if (!keep) {
          folders.delete(path);
        }
      }
    }
  }

  /** A folder that loses its last file stays. */
  function keepFolderOf(path: string): void {
    folders.add(path.slice(0, path.lastIndexOf("/")));
  }

  const workspace: TreeService = {
    Create: async ({ folder, name, isFolder: makesFolder }) => {
      const path = `${folder}/${name}`;
      checkNew(path);
      if (makesFolder) {
        folders.add(path);
      } else {
        disk.set(path, "");
      }
      return entryOf(path);
    },
    Move: async ({ from, to }) => {
      check(from);
      if (to.startsWith(`${from}/`)) {
        throw new BackendError("invalid_input");
      }
      checkNew(to);
      keepFolderOf(from);
      relocate(from, to, false);
      config.onMoved(from, to);
      const set = { id: "", kind: "", from: "", to: "", state: "", files: [], cut: false };
      return { moved: true, entry: entryOf(to), set };
    },
    Duplicate: async (path) => {
      check(path);
      const at = disk.has(path) ? path.lastIndexOf(".") : path.length;
      const cut = at > path.lastIndexOf("/") + 1 ? at : path.length;
      let n = 2;
      while (exists(`${path.slice(0, cut)} ${n}${path.slice(cut)}`)) {
        n += 1;
      }
      const copy = `${path.slice(0, cut)} ${n}${path.slice(cut)}`;
      relocate(path, copy, true);
      return entryOf(copy);
    },
    Trash: async (path) => {
      check(path);
      keepFolderOf(path);
      for (const [file, text] of [...disk]) {
        if (file === path || file.startsWith(`${path}/`)) {
          config.trash.set(file, text);
          disk.delete(file);
        }
      }
      for (const folder of [...folders]) {
        if (folder === path || folder.startsWith(`${path}/`)) {
          folders.delete(folder);
        }
      }
      config.onTrashed(path);
    },
    Reveal: async (path) => {
      if (path !== config.folder()) {
        check(path);
      }
      config.revealed.push(path);
    },
    QuickOpen: async ({ query, limit }) => {
      const root = config.folder();
      const fits = [...disk.keys()]
        .filter((path) => root !== "" && path.startsWith(`${root}/`))
        .flatMap((path): FileMatch[] => {
          const name = path.slice(root.length + 1);
          const hits = placesOf(query, name);
          const recent = files.some((file) => file.path === path);
          return hits === null || (query === "" && !recent) ? [] : [{ path, name, hits, recent }];
        })
        .sort(query === "" ? byAge : byFit);
      return { files: fits.slice(0, limit), more: Math.max(0, fits.length - limit), cut: false };
    },
    Recent: async () => ({ files, workspaces }),
    OpenRecent: async (path) => {
      if (!workspaces.some((known) => known.path === path)) {
        throw new BackendError("not_granted", baseName(path));
      }
      if (!isFolder(path)) {
        throw new BackendError("not_found", baseName(path));
      }
      return config.openFolder(path);
    },
    ForgetRecent: async () => {
      files = [];
      workspaces = [];
    },
  };

  /** The one that was opened last comes first. */
  function byAge(a: FileMatch, b: FileMatch): number {
    const at = (path: string): number => files.findIndex((file) => file.path === path);
    return at(a.path) - at(b.path);
  }

  return {
    workspace,
    remember: (path) => {
      const file = { path, name: baseName(path), atMs: config.now() };
      files = [file, ...files.filter((other) => other.path !== path)].slice(0, mostRecent);
    },
    rememberFolder: (path) => {
      const rest = workspaces.filter((other) => other.path !== path);
      workspaces = [{ path, name: baseName(path) }, ...rest].slice(0, mostRecent);
    },
    isRecent: (path) => files.some((file) => file.path === path),
  };
}

/** Where the characters of a query are in a name, in order; null when they are not. */
function placesOf(query: string, name: string): readonly number[] | null {
  const places: number[] = [];
  let at = 0;
  for (const letter of query.toLowerCase().replaceAll(" ", "")) {
    const found = name.toLowerCase().indexOf(letter, at);
    if (found < 0) {
      return null;
    }
    for (let i = 0; i < letter.length; i++) {
      places.push(found + i);
    }
    at = found + letter.length;
  }
  return places;
}

function byFit(a: FileMatch, b: FileMatch): number {
  return spread(a.hits) - spread(b.hits) || a.name.localeCompare(b.name);
}

function spread(places: readonly number[]): number {
  return (places.at(-1) ?? 0) - (places[0] ?? 0);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
