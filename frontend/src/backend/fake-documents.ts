import { createFakeDisk, hashOf } from "./fake-disk";
import { createFakeSearch } from "./fake-search";
import { createFakeTree } from "./fake-tree";
import { BackendError } from "./fault";
import type {
  Change,
  Document,
  DocumentsService,
  DocumentsState,
  Draft,
  Ending,
  EndingRun,
  EventType,
  Layout,
  Listing,
  Recent,
  SaveRequest,
  SaveResult,
  SyncRequest,
  SyncResult,
  ViewReport,
  WorkspaceInfo,
  WorkspaceService,
} from "./gen";
import type { TextUpdate, VersionedText } from "./text";

/** What native dialogs answer; an absent one is cancelled. */
export interface FakeDialogs {
  readonly files?: readonly string[];
  readonly folder?: string;
  readonly saveAs?: string;
  /** The file of certificates. */
  readonly certificates?: string;
}

/** Documents and workspace held in memory. */
export interface FakeDocuments {
  readonly documents: DocumentsService;
  readonly workspace: WorkspaceService;
  /** File contents by absolute path, line endings as written. */
  readonly disk: Map<string, string>;
  /** Folders that were made and may be empty. */
  readonly folders: ReadonlySet<string>;
  /** What is in the trash, by the path it was at; folders by their files. */
  readonly trash: ReadonlyMap<string, string>;
  /** The paths that were shown in the system's file manager. */
  readonly revealed: readonly string[];
  readonly reported: () => ViewReport | null;
  /** The open folder; "" for none. */
  readonly folder: () => string;
  readonly links: readonly string[];
  /** True after Quit was accepted. */
  readonly hasQuit: () => boolean;
  readonly answerDialogs: (dialogs: FakeDialogs) => void;
  /** Another program writes a file, or with null deletes it; its documents are told of it. */
  readonly changeOutside: (path: string, raw: string | null) => void;
  readonly readText: (url: string) => Promise<string>;
  readonly getText: (url: string) => Promise<VersionedText>;
  readonly postText: (url: string, update: TextUpdate) => Promise<void>;
  /** The mirror's text of an open document. */
  readonly textOf: (id: string) => string;
  readonly describe: (id: string) => Document;
}

interface Open {
  readonly id: string;
  path: string;
  name: string;
  version: number;
  text: string;
  /** The ending of each break, in order. */
  endings: readonly Ending[];
  /** What is on disk as far as this document knows; null for untitled. */
  saved: string | null;
  anchor: number;
  head: number;
  restoredAtMs: number;
}

/** A draft of an earlier start, with its whole text. */
export type FakeDraft = Draft & { readonly text: string };

interface Config {
  readonly files: Readonly<Record<string, string>>;
  readonly workspace: string;
  readonly open: readonly string[];
  readonly drafts: readonly FakeDraft[];
  readonly layout: Partial<Layout>;
  readonly recent: Partial<Recent>;
  /** Why documents cannot be edited, by path. */
  readonly readOnly: Readonly<Record<string, string>>;
  readonly sample: string;
  readonly now: () => number;
  readonly emit: (type: EventType, payload: object) => void;
}

const largestListing = 5000;

/** Makes documents and workspace that behave as the host's do. */
export function createFakeDocuments(config: Config): FakeDocuments {
  const disk = new Map(Object.entries(config.files));
  const open = new Map<string, Open>();
  const links: string[] = [];
  const folders = new Set<string>();
  const trash = new Map<string, string>();
  const revealed: string[] = [];
  let reported: ViewReport | null = null;
  let drafts = [...config.drafts];
  let dialogs: FakeDialogs = {};
  let page = 0;
  let current = "";
  let made = 0;
  let folder = config.workspace;
  let quit = false;

  function add(path: string, raw: string, saved: string | null): Open {
    made += 1;
    const { text, endings } = splitEndings(raw);
    const doc: Open = {
      id: `d${made}`,
      path,
      name: path === "" ? "" : baseName(path),
      version: 1,
      text,
      endings,
      saved,
      anchor: 0,
      head: 0,
      restoredAtMs: 0,
    };
    open.set(doc.id, doc);
    current = doc.id;
    if (path !== "") {
      tree.remember(path);
    }
    return doc;
  }

  function openPath(path: string): Open {
    const already = [...open.values()].find((doc) => doc.path === path);
    if (already) {
      current = already.id;
      return already;
    }
    const raw = disk.get(path);
    if (raw === undefined) {
      throw new BackendError("not_found", baseName(path));
    }
    return add(path, raw, raw);
  }

  function find(id: string): Open {
    const doc = open.get(id);
    if (!doc) {
      throw new BackendError("not_found");
    }
    return doc;
  }

  function checkPage(asked: number): void {
    if (asked !== page) {
      throw new BackendError("busy");
    }
  }

  function byUrl(url: string): Open {
    return find(/^\/document\/([^/]+)\/text$/.exec(url)?.[1] ?? "");
  }

  async function write(request: SaveRequest, path: string): Promise<SaveResult> {
    const doc = find(request.id);
    checkPage(request.page);
    if (
      request.version !== doc.version ||
      request.length !== doc.text.length ||
      request.digest !== (await digestOf(doc.text))
    ) {
      throw new BackendError("unknown_base");
    }
    const there = disk.get(path);
    const seen = request.diskHash !== "" && request.diskHash === (await hashOf(there ?? ""));
    if (doc.path === path && !request.overwrite && there !== doc.saved && !seen) {
      throw new BackendError("changed_on_disk", doc.name);
    }
    const raw = joinEndings(doc.text, doc.endings);
    if (there !== undefined && there !== raw) {
      outside.keep(path, there === doc.saved ? "opened" : "overwritten", there);
    }
    outside.keep(path, "saved", raw);
    const written = disk.get(path) !== raw;
    disk.set(path, raw);
    doc.path = path;
    doc.name = baseName(path);
    doc.saved = raw;
    return {
      document: describe(doc),
      savedAtMs: config.now(),
      bytes: new TextEncoder().encode(raw).length,
      written,
      fallback: false,
      recoveryPath: "",
    };
  }

  const outside = createFakeDisk({ disk, now: config.now, find, checkPage });

  function describe(doc: Open): Document {
    const readOnly = config.readOnly[doc.path] ?? "";
    return { ...describeOpen(doc), readOnly, disk: outside.state(doc) };
  }

  const tree = createFakeTree({
    disk,
    folders,
    trash,
    revealed,
    folder: () => folder,
    openFolder: (path) => openFolder(path),
    recent: config.recent,
    now: config.now,
    onMoved: (from, to) => {
      for (const doc of open.values()) {
        if (doc.path === from || doc.path.startsWith(`${from}/`)) {
          doc.path = to + doc.path.slice(from.length);
          doc.name = baseName(doc.path);
          tellDisk(doc, "moved");
        }
      }
    },
    onTrashed: (path) => {
      for (const doc of open.values()) {
        if (doc.path === path || doc.path.startsWith(`${path}/`)) {
          tellDisk(doc, "missing");
        }
      }
    },
  });

  function tellOpen(path: string): void {
    for (const doc of open.values()) {
      if (doc.path === path) {
        tellDisk(doc, outside.state(doc));
      }
    }
  }

  function tellDisk(doc: Open, state: string): void {
    config.emit("document.disk_changed", {
      documentId: doc.id,
      state,
      document: { ...describe(doc), disk: state === "moved" ? "same" : state },
      atMs: config.now(),
    });
  }

  const documents: DocumentsService = {
    ...outside.documents,
    Attach: async (): Promise<DocumentsState> => {
      page += 1;
      config.emit("page.attached", { page });
      return {
        page,
        documents: [...open.values()].map(describe),
        current,
        drafts,
        layout: { ...noLayout, ...config.layout },
      };
    },
    OpenRecent: async (path) => {
      if (!tree.isRecent(path)) {
        throw new BackendError("not_granted", baseName(path));
      }
      return describe(openPath(path));
    },
    ReportView: async (report) => {
      checkPage(report.page);
      reported = report;
    },
    New: async () => describe(add("", "", null)),
    Open: async (path) => describe(openPath(path)),
    OpenDialog: async () => (dialogs.files ?? []).map((path) => describe(openPath(path))),
    Close: async (asked, id, discard) => {
      checkPage(asked);
      if (isDirty(find(id)) && !discard) {
        throw new BackendError("busy");
      }
      open.delete(id);
      if (current === id) {
        current = [...open.keys()].at(-1) ?? "";
      }
    },
    SetCurrent: async (asked, id) => {
      checkPage(asked);
      current = find(id).id;
    },
    Sync: async (request: SyncRequest): Promise<SyncResult> => {
      checkPage(request.page);
      const doc = find(request.id);
      if (request.fromVersion !== doc.version) {
        throw new BackendError("unknown_base");
      }
      for (const change of request.changes) {
        applyChange(doc, change);
      }
      doc.anchor = request.anchor;
      doc.head = request.head;
      return { version: doc.version, dirty: isDirty(doc) };
    },
    Save: async (request) => {
      const { path } = find(request.id);
      if (path === "") {
        throw new BackendError("invalid_input");
      }
      return write(request, path);
    },
    SaveAs: async (request) => {
      if (dialogs.saveAs === undefined) {
        throw new BackendError("cancelled");
      }
      return write(request, dialogs.saveAs);
    },
    Reload: async (asked, id) => {
      checkPage(asked);
      const doc = find(id);
      const raw = disk.get(doc.path);
      if (raw === undefined) {
        throw new BackendError("not_found", doc.name);
      }
      if (isDirty(doc)) {
        outside.keep(doc.path, "discarded", joinEndings(doc.text, doc.endings));
      }
      Object.assign(doc, splitEndings(raw), { saved: raw, version: doc.version + 1 });
      return describe(doc);
    },
    RestoreDraft: async (asked, id) => {
      checkPage(asked);
      const draft = drafts.find((d) => d.id === id);
      if (!draft) {
        throw new BackendError("not_found");
      }
      drafts = drafts.filter((d) => d !== draft);
      const doc = add(draft.path, draft.text, disk.get(draft.path) ?? null);
      doc.name = draft.name;
      doc.restoredAtMs = draft.savedAtMs;
      return describe(doc);
    },
    DiscardDraft: async (asked, id) => {
      checkPage(asked);
      drafts = drafts.filter((d) => d.id !== id);
    },
    AcknowledgeClose: async (asked) => checkPage(asked),
    Quit: async (asked, discard) => {
      checkPage(asked);
      if (discard) {
        open.clear();
      }
      quit = true;
    },
  };

  const search = createFakeSearch({
    disk,
    folder: () => folder,
    open: () => [...open.values()].map((doc) => ({ ...doc, dirty: isDirty(doc) })),
    checkPage,
    emit: config.emit,
    onWritten: (path) => tellOpen(path),
  });

  function openFolder(path: string): WorkspaceInfo {
    folder = path;
    tree.rememberFolder(path);
    return { path, name: baseName(path) };
  }

  const workspace: WorkspaceService = {
    ...tree.workspace,
    ...search.workspace,
    Current: async () => (folder === "" ? { path: "", name: "" } : openFolder(folder)),
    OpenDialog: async () => {
      if (dialogs.folder === undefined) {
        throw new BackendError("cancelled");
      }
      return openFolder(dialogs.folder);
    },
    OpenSample: async () => openFolder(config.sample),
    List: async (path): Promise<Listing> => {
      if (path !== folder && !path.startsWith(`${folder}/`)) {
        throw new BackendError("not_granted", baseName(path));
      }
      const entries = listFolder([...disk.keys(), ...[...folders].map((made) => `${made}/`)], path);
      return {
        path,
        entries: entries.slice(0, largestListing),
        more: Math.max(0, entries.length - largestListing),
      };
    },
    Refresh: async () => {
      config.emit("workspace.changed", { folders: [], all: true, gone: false });
    },
    OpenLink: async (url) => {
      if (!/^(https?|mailto):/i.test(url)) {
        throw new BackendError("invalid_input");
      }
      links.push(url);
    },
  };

  for (const path of config.open) {
    openPath(path);
  }
  const first = [...open.keys()][0];
  current = first ?? "";

  return {
    documents,
    workspace,
    disk,
    folders,
    trash,
    revealed,
    reported: () => reported,
    folder: () => folder,
    links,
    hasQuit: () => quit,
    answerDialogs: (next) => {
      dialogs = next;
    },
    changeOutside: (path, raw) => {
      if (raw === null) {
        disk.delete(path);
      } else {
        disk.set(path, raw);
      }
      tellOpen(path);
    },
    readText: async (url) => {
      const text = outside.textAt(url);
      if (text === undefined) {
        throw new BackendError("not_found");
      }
      return text;
    },
    getText: async (url) => {
      const doc = byUrl(url);
      return { text: doc.text, version: doc.version };
    },
    postText: async (url, update) => {
      checkPage(update.page);
      const doc = byUrl(url);
      doc.text = update.text;
      doc.version = update.version;
      doc.endings = update.endings.flatMap((run) => Array.from({ length: run.count }, () => run.ending));
    },
    textOf: (id) => find(id).text,
    describe: (id) => describe(find(id)),
  };
}

const noLayout: Layout = {
  sidebar: true,
  sidebarWidth: 0,
  sidebarView: "files",
  panel: false,
  panelWidth: 0,
  panelView: "",
};

function applyChange(doc: Open, change: Change): void {
  const inserted = change.endings.flatMap((run) => Array.from({ length: run.count }, () => run.ending));
  let text = "";
  const endings: Ending[] = [];
  let at = 0;
  let breaks = 0;
  const keep = (to: number): void => {
    const part = doc.text.slice(at, to);
    const count = countBreaks(part);
    text += part;
    endings.push(...doc.endings.slice(breaks, breaks + count));
    breaks += count;
    at = to;
  };
  for (const edit of change.edits) {
    if (edit.from < at || edit.to < edit.from || edit.to > doc.text.length) {
      throw new BackendError("invalid_input");
    }
    keep(edit.from);
    breaks += countBreaks(doc.text.slice(edit.from, edit.to));
    at = edit.to;
    text += edit.insert;
    endings.push(...inserted.splice(0, countBreaks(edit.insert)));
  }
  keep(doc.text.length);
  doc.text = text;
  doc.endings = endings;
  doc.version += 1;
}

function describeOpen(doc: Open): Document {
  return {
    id: doc.id,
    uri: doc.path === "" ? `untitled:${doc.id}` : `file://${encodeURI(doc.path)}`,
    path: doc.path,
    name: doc.name,
    version: doc.version,
    encoding: "utf-8",
    bom: false,
    endings: runs(doc.endings),
    majority: majority(doc.endings),
    readOnly: "",
    dirty: isDirty(doc),
    textUrl: `/document/${doc.id}/text`,
    length: doc.text.length,
    anchor: doc.anchor,
    head: doc.head,
    restoredAtMs: doc.restoredAtMs,
    top: 0,
    disk: "same",
  };
}

function isDirty(doc: Open): boolean {
  return joinEndings(doc.text, doc.endings) !== (doc.saved ?? "");
}

function splitEndings(raw: string): { text: string; endings: Ending[] } {
  const endings: Ending[] = [];
  const text = raw.replace(/\r\n|\r|\n/g, (found) => {
    endings.push(found === "\n" ? "lf" : found === "\r" ? "cr" : "crlf");
    return "\n";
  });
  return { text, endings };
}

function joinEndings(text: string, endings: readonly string[]): string {
  let i = 0;
  return text.replace(/\n/g, () => {
    const ending = endings[i];
    i += 1;
    return ending === "crlf" ? "\r\n" : ending === "cr" ? "\r" : "\n";
  });
}

function runs(endings: readonly Ending[]): readonly EndingRun[] {
  const out: { ending: Ending; count: number }[] = [];
  for (const ending of endings) {
    const last = out.at(-1);
    if (last?.ending === ending) {
      last.count += 1;
    } else {
      out.push({ ending, count: 1 });
    }
  }
  return out;
}

function majority(endings: readonly Ending[]): Ending {
  const count = (ending: Ending): number => endings.filter((e) => e === ending).length;
  const all: readonly Ending[] = ["lf", "crlf", "cr"];
  return all.reduce((best, next) => (count(next) > count(best) ? next : best));
}

function countBreaks(text: string): number {
  return text.split("\n").length - 1;
}

function listFolder(paths: Iterable<string>, folder: string): Listing["entries"][number][] {
  const found = new Map<string, boolean>();
  for (const path of paths) {
    if (path.startsWith(`${folder}/`)) {
      const rest = path.slice(folder.length + 1).split("/");
      const name = rest[0] ?? "";
      if (name === "") {
        continue;
      }
      found.set(name, rest.length > 1 || found.get(name) === true);
    }
  }
  return [...found]
    .map(([name, isFolder]) => ({
      name,
      path: `${folder}/${name}`,
      folder: isFolder,
      ignored: name === "node_modules",
    }))
    .sort((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name));
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
}
