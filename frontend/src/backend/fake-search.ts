import { joinEndings, majorityEnding, stepEndings, writeEndings } from "../text";
import { applyEdits, type Edit } from "../text/edit";
import { BackendError } from "./fault";
import type {
  AppliedSet,
  DocumentEdits,
  Ending,
  EndingRun,
  EventType,
  ReviewedSet,
  SearchEnded,
  SearchFile,
  SearchHit,
  SearchRequest,
  SetEdit,
  SetFile,
  WorkspaceService,
} from "./gen";

/** The search's and reviewed sets' part of the fake back end. */
export interface FakeSearch {
  readonly workspace: Pick<
    WorkspaceService,
    "Search" | "CancelSearch" | "PreviewReplace" | "ApplySet" | "UndoSet" | "DropSet"
  >;
  /**
   * Keeps a set of another part, such as the link changes of a move; `then` is
   * called once it was applied, and `back` once it was undone.
   */
  readonly keep: (set: Omit<ReviewedSet, "id" | "state">, then: () => void, back: () => void) => ReviewedSet;
}

/** An open document as the search sees it. */
export interface FakeOpenText {
  readonly id: string;
  readonly path: string;
  readonly version: number;
  readonly text: string;
  readonly dirty: boolean;
}

/** What it works on. */
interface Config {
  /** File contents by absolute path, line endings as written. */
  readonly disk: Map<string, string>;
  /** The open folder; "" for none. */
  readonly folder: () => string;
  readonly open: () => readonly FakeOpenText[];
  readonly checkPage: (page: number) => void;
  readonly emit: (type: EventType, payload: object) => void;
  /** Told of a file that was written, which may be open by now. */
  readonly onWritten: (path: string) => void;
}

/** A set with what its files were like, and what they have become. */
interface Kept {
  set: ReviewedSet;
  /** Contents by path: of files on disk as they are written, of open documents their text. */
  readonly before: ReadonlyMap<string, string>;
  /** What was written, by path; the page writes open documents itself. */
  readonly written: Map<string, string>;
  /** The edits that take it back, by the id of an open document. */
  readonly inverse: Map<string, readonly Edit[]>;
  readonly then: () => void;
  readonly back: () => void;
}

interface Source {
  readonly path: string;
  readonly name: string;
  readonly raw: string;
  readonly text: string;
  readonly doc: FakeOpenText | undefined;
}

const mostHits = 100;
const largest = 4_000_000;
const mostEdits = 10_000;

/** Makes it. */
export function createFakeSearch(config: Config): FakeSearch {
  const { disk } = config;
  const sets = new Map<string, Kept>();
  let current = "";
  let made = 0;

  function sources(request: SearchRequest): readonly Source[] {
    const root = config.folder();
    if (root === "") {
      throw new BackendError("not_granted");
    }
    const open = new Map(config.open().map((doc) => [doc.path, doc]));
    return [...disk.keys()]
      .filter((path) => path.startsWith(`${root}/`) && !path.includes("/node_modules/"))
      .map((path) => ({ path, name: path.slice(root.length + 1) }))
      .filter(({ name }) => isIncluded(name, request))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ path, name }) => {
        const doc = open.get(path);
        const raw = disk.get(path) ?? "";
        return { path, name, raw, text: doc?.text ?? splitText(raw).text, doc };
      });
  }

  /** Finds file by file, each in a turn of its own, until another search or a cancel ends it. */
  async function find(request: SearchRequest, pattern: RegExp, all: readonly Source[]): Promise<void> {
    const end = { searched: 0, files: 0, hits: 0, tooLarge: 0 };
    for (const source of all) {
      await Promise.resolve();
      if (current !== request.id) {
        break;
      }
      if (source.raw.length > largest) {
        end.tooLarge += 1;
        continue;
      }
      end.searched += 1;
      const hits = [...hitsIn(source.text, pattern)];
      if (hits.length === 0) {
        continue;
      }
      end.files += 1;
      end.hits += hits.length;
      const file: SearchFile = {
        path: source.path,
        name: source.name,
        unsaved: source.doc?.dirty === true,
        hits: hits.slice(0, mostHits).map((hit) => describeHit(source.text, hit, 120)),
        more: Math.max(0, hits.length - mostHits),
      };
      config.emit("search.found", { id: request.id, files: [file] });
    }
    const code = current === request.id ? "" : "cancelled";
    const told: SearchEnded = {
      id: request.id,
      code,
      ...end,
      pastLimit: 0,
      unread: 0,
      tooDeep: 0,
      tookMs: 0,
    };
    config.emit("search.ended", told);
  }

  function keep(
    set: Omit<ReviewedSet, "id" | "state">,
    before: ReadonlyMap<string, string>,
    then: () => void = () => {},
    back: () => void = () => {},
  ): ReviewedSet {
    made += 1;
    const whole: ReviewedSet = { ...set, id: `set${made}`, state: "open" };
    sets.set(whole.id, { set: whole, before, written: new Map(), inverse: new Map(), then, back });
    return whole;
  }

  function kept(id: string, state: string): Kept {
    const found = sets.get(id);
    if (found === undefined) {
      throw new BackendError("not_found");
    }
    if (found.set.state !== state) {
      throw new BackendError("stale");
    }
    return found;
  }

  function docAt(path: string): FakeOpenText | undefined {
    return config.open().find((doc) => doc.path === path);
  }

  const workspace: FakeSearch["workspace"] = {
    Search: async (request) => {
      const pattern = patternOf(request);
      const all = sources(request);
      current = request.id;
      void find(request, pattern, all);
    },
    CancelSearch: async (id) => {
      if (current === id) {
        current = "";
      }
    },
    PreviewReplace: async ({ search, with: replacement }) => {
      const pattern = patternOf(search);
      const files: SetFile[] = [];
      const before = new Map<string, string>();
      let count = 0;
      for (const { path, name, raw, text, doc } of sources(search)) {
        const edits: SetEdit[] = [];
        for (const hit of hitsIn(text, pattern)) {
          const insert = search.regexp ? expand(replacement, hit) : replacement;
          if (insert !== hit[0] && count < mostEdits) {
            count += 1;
            const { from, to, line, before: left, after } = describeHit(text, hit, 80);
            edits.push({ from, to, insert, old: hit[0], line, before: left, after });
          }
        }
        if (edits.length > 0) {
          before.set(path, doc?.text ?? raw);
          files.push({
            path,
            name,
            documentId: doc?.id ?? "",
            version: doc?.version ?? 0,
            edits,
            problem: "",
            left: 0,
          });
        }
      }
      return keep(
        { kind: "replace", from: search.query, to: replacement, files, cut: count === mostEdits },
        before,
      );
    },
    ApplySet: async ({ page, id, ticked }): Promise<AppliedSet> => {
      config.checkPage(page);
      const what = kept(id, "open");
      const documents: DocumentEdits[] = [];
      const writes = new Map<string, string>();
      for (const { path, edits: chosen } of ticked) {
        const file = what.set.files.find((f) => f.path === path);
        const edits = chosen
          .flatMap((i) => file?.edits[i] ?? [])
          .map(({ from, to, insert }) => ({ from, to, insert }));
        if (file === undefined || file.problem !== "" || edits.length !== chosen.length) {
          throw new BackendError("invalid_input");
        }
        const doc = docAt(path);
        const raw = disk.get(path) ?? "";
        const was = what.before.get(path);
        if (doc !== undefined) {
          const same =
            doc.text === splitText(was ?? "").text &&
            (file.documentId !== doc.id || doc.version === file.version);
          if (!same) {
            throw new BackendError("stale", path);
          }
          documents.push({ id: doc.id, version: doc.version, edits });
          what.inverse.set(doc.id, invert(doc.text, edits));
        } else if (raw !== was) {
          throw new BackendError("changed_on_disk", path);
        } else {
          writes.set(path, edit(raw, edits));
        }
      }
      for (const [path, raw] of writes) {
        disk.set(path, raw);
        what.written.set(path, raw);
      }
      what.set = { ...what.set, state: "applied" };
      what.then();
      return { set: what.set, documents };
    },
    UndoSet: async (page, id): Promise<AppliedSet> => {
      config.checkPage(page);
      const what = kept(id, "applied");
      const documents: DocumentEdits[] = [];
      const writes = new Map<string, string>();
      for (const [path, raw] of what.written) {
        if (docAt(path)?.dirty === true) {
          throw new BackendError("stale", path);
        }
        if (disk.get(path) !== raw) {
          throw new BackendError("changed_on_disk", path);
        }
        writes.set(path, what.before.get(path) ?? "");
      }
      for (const [path, raw] of writes) {
        disk.set(path, raw);
        config.onWritten(path);
      }
      for (const doc of config.open()) {
        const edits = what.inverse.get(doc.id);
        if (edits !== undefined) {
          documents.push({ id: doc.id, version: doc.version, edits });
        }
      }
      what.set = { ...what.set, state: "undone" };
      what.back();
      return { set: what.set, documents };
    },
    DropSet: async (id) => {
      sets.delete(id);
    },
  };

  return {
    workspace,
    keep: (set, then, back) => {
      const before = set.files.map(({ path }): [string, string] => [
        path,
        docAt(path)?.text ?? disk.get(path) ?? "",
      ]);
      return keep(set, new Map(before), then, back);
    },
  };
}

/** The regular expression behind a query. */
function patternOf({ query, case: matchCase, word, regexp }: SearchRequest): RegExp {
  const body = regexp ? query.replaceAll("(?P<", "(?<") : query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const whole = word ? `(?<![\\p{L}\\p{N}_])(?:${body})(?![\\p{L}\\p{N}_])` : body;
  try {
    return new RegExp(whole, `gmu${matchCase ? "" : "i"}`);
  } catch (error) {
    const words = error instanceof Error ? error.message : "";
    throw new BackendError("invalid_input", words.slice(words.lastIndexOf(": ") + 2));
  }
}

function* hitsIn(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  for (const hit of text.matchAll(pattern)) {
    if (hit[0] !== "") {
      yield hit;
    }
  }
}

function describeHit(text: string, hit: RegExpExecArray, room: number): SearchHit {
  const from = hit.index;
  const to = from + hit[0].length;
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const end = text.indexOf("\n", to);
  return {
    from,
    to,
    line: text.slice(0, from).split("\n").length,
    before: text.slice(start, from).slice(-room),
    match: hit[0],
    after: text.slice(to, end < 0 ? text.length : end).slice(0, room),
  };
}

/** Puts groups into a replacement: $1, ${1}, ${name}. */
function expand(replacement: string, hit: RegExpExecArray): string {
  return replacement.replace(/\$(?:\$|(\w+)|\{(\w+)\})/g, (whole, plain?: string, braced?: string) => {
    const name = plain ?? braced;
    if (name === undefined) {
      return whole === "$$" ? "$" : whole;
    }
    return (/^\d+$/.test(name) ? hit[Number(name)] : hit.groups?.[name]) ?? "";
  });
}

function isIncluded(name: string, { include, exclude }: SearchRequest): boolean {
  const fits = (glob: string): boolean => globPattern(glob).test(name);
  return (include.length === 0 || include.some(fits)) && !exclude.some(fits);
}

/** A glob without a slash is about a name at any depth; one that names a folder is about all inside. */
function globPattern(glob: string): RegExp {
  const body = glob
    .replace(/\/(\*\*)?$/, "")
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/?|\*|\?/g, (found) =>
      found.startsWith("**") ? "(?:.*)" : found === "*" ? "[^/]*" : "[^/]",
    );
  return new RegExp(`${glob.replace(/\/$/, "").includes("/") ? "^" : "^(?:.*/)?"}${body}(?:/.*)?$`);
}

/** The edits that take edits of a text back, in the text after them. */
function invert(text: string, edits: readonly Edit[]): readonly Edit[] {
  let moved = 0;
  return edits.map(({ from, to, insert }) => {
    const start = from + moved;
    moved += insert.length - (to - from);
    return { from: start, to: start + insert.length, insert: text.slice(from, to) };
  });
}

/** Makes edits of the LF text in a file's contents; the endings of other lines stay. */
function edit(raw: string, edits: readonly Edit[]): string {
  const { text, endings } = splitText(raw);
  const before = (at: number): number => text.slice(0, at).split("\n").length - 1;
  const step = stepEndings(endings, majorityEnding(endings), before, edits);
  return writeEndings(applyEdits(text, edits), step.table);
}

function splitText(raw: string): { readonly text: string; readonly endings: readonly EndingRun[] } {
  const endings: { ending: Ending; count: number }[] = [];
  const text = raw.replace(/\r\n|\r|\n/g, (found) => {
    endings.push({ ending: found === "\n" ? "lf" : found === "\r" ? "cr" : "crlf", count: 1 });
    return "\n";
  });
  return { text, endings: joinEndings(endings) };
}
