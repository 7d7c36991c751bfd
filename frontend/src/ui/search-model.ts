import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  BackendError,
  decodeError,
  isFaultCode,
  type SearchEnded,
  type SearchFile,
  type SearchFound,
  type SearchHit,
  type SearchRequest,
} from "../backend";
import type { LongRow } from "./long-tree";

/** What a person has filled in. */
export interface SearchFields {
  readonly query: string;
  readonly case: boolean;
  readonly word: boolean;
  readonly regexp: boolean;
  /** Globs, separated by commas. */
  readonly include: string;
  readonly exclude: string;
  readonly replacement: string;
}

/** How the search stands. */
export interface SearchResults {
  readonly status: "none" | "searching" | "done" | "stopped" | "failed";
  /** It takes long enough to be shown, and nothing has come yet. */
  readonly slow: boolean;
  readonly files: readonly SearchFile[];
  /** Hits that are shown. */
  readonly hits: number;
  /** What the host said at the end; null before. */
  readonly ended: SearchEnded | null;
  /** Why it failed; `invalid_input` is a query that is no regular expression. */
  readonly error: BackendError | null;
}

/** A row of the results. */
export type SearchRow = LongRow &
  (
    | { readonly type: "file"; readonly file: SearchFile }
    | { readonly type: "hit"; readonly file: SearchFile; readonly hit: SearchHit }
    | { readonly type: "more"; readonly file: SearchFile }
  );

/** The search of a workspace: fields, results, rows. */
export interface Search {
  readonly fields: ReadonlySignal<SearchFields>;
  readonly results: ReadonlySignal<SearchResults>;
  readonly rows: ReadonlySignal<readonly SearchRow[]>;
  /** The key of the current row. */
  readonly at: Signal<string>;
  readonly replaceOpen: Signal<boolean>;
  readonly filesOpen: Signal<boolean>;
  /** Fills in fields. The search starts anew, unless only the replacement differs or `wait` says so. */
  readonly fill: (change: Partial<SearchFields>, wait?: boolean) => void;
  /** Searches again with the same fields. */
  readonly again: () => void;
  readonly stop: () => void;
  /** Forgets results, as when another folder was opened; searches there if there is a query. */
  readonly reset: () => void;
  readonly toggle: (path: string) => void;
  /** The request of the fields as they are, with a new id. */
  readonly request: () => SearchRequest;
  /** To be called with the host's events. */
  readonly found: (part: SearchFound) => void;
  readonly ended: (end: SearchEnded) => void;
}

/** What a search needs. */
export interface SearchConfig {
  /** Starts one at the host; also brings the host's copies of documents up to date before. */
  readonly start: (request: SearchRequest) => Promise<void>;
  readonly cancel: (id: string) => Promise<void>;
}

/** After how long a search that has found nothing yet is shown as under way, in ms. */
const slowMs = 300;

const noFields: SearchFields = {
  query: "",
  case: false,
  word: false,
  regexp: false,
  include: "",
  exclude: "",
  replacement: "",
};

const noResults: SearchResults = {
  status: "none",
  slow: false,
  files: [],
  hits: 0,
  ended: null,
  error: null,
};

/**
 * Makes a search. One call is under way at a time: what is typed meanwhile is
 * searched for when it has been answered, and only the latest id's results
 * count. What was found before stays until something new has come.
 */
export function createSearch(config: SearchConfig): Search {
  const fields = signal(noFields);
  const results = signal(noResults);
  const collapsed = signal<ReadonlySet<string>>(new Set());
  const at = signal("");
  const mark = Date.now().toString(36);
  let made = 0;
  /** The id of the search whose results count; "" for none. */
  let id = "";
  /** What is shown is of the search before. */
  let old = false;
  let calling = false;
  let wanted = false;
  /** The fields as they were last searched with. */
  let searched = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function asked(): string {
    const { replacement: _, ...rest } = fields.peek();
    return JSON.stringify(rest);
  }

  function nextId(): string {
    made += 1;
    return `search-${mark}-${made}`;
  }

  function request(): SearchRequest {
    const { replacement: _, include, exclude, ...rest } = fields.peek();
    return { id: nextId(), ...rest, include: globs(include), exclude: globs(exclude) };
  }

  function update(change: Partial<SearchResults>): void {
    results.value = { ...results.peek(), ...change };
  }

  /** Puts away what the search before has found. */
  function clear(): void {
    if (old) {
      old = false;
      at.value = "";
      collapsed.value = new Set();
      update({ files: [], hits: 0, ended: null });
    }
  }

  function settle(change: Partial<SearchResults>): void {
    clearTimeout(timer);
    clear();
    update({ slow: false, ...change });
  }

  async function search(): Promise<void> {
    if (calling) {
      wanted = true;
      return;
    }
    calling = true;
    do {
      wanted = false;
      await once();
    } while (wanted);
    calling = false;
  }

  async function once(): Promise<void> {
    const before = id;
    clearTimeout(timer);
    searched = asked();
    if (fields.peek().query === "") {
      id = "";
      old = true;
      clear();
      results.value = noResults;
      if (before !== "") {
        await config.cancel(before).catch(() => {});
      }
      return;
    }
    const next = request();
    id = next.id;
    old = true;
    update({ status: "searching", slow: false, error: null });
    timer = setTimeout(() => {
      clear();
      update({ slow: true });
    }, slowMs);
    try {
      await config.start(next);
    } catch (reason) {
      if (id === next.id) {
        settle({ status: "failed", error: decodeError(reason) });
      }
    }
  }

  function stop(): void {
    if (results.peek().status === "searching") {
      const stopped = id;
      // What still comes of it is not wanted.
      id = "";
      settle({ status: "stopped" });
      config.cancel(stopped).catch(() => {});
    }
  }

  return {
    fields,
    results,
    rows: computed(() => rowsOf(results.value.files, collapsed.value)),
    at,
    replaceOpen: signal(false),
    filesOpen: signal(false),
    fill: (change, wait = false) => {
      fields.value = { ...fields.peek(), ...change };
      if (!wait && asked() !== searched) {
        void search();
      }
    },
    again: () => void search(),
    stop,
    reset: () => {
      old = true;
      clear();
      results.value = noResults;
      void search();
    },
    toggle: (path) => {
      const next = new Set(collapsed.peek());
      if (!next.delete(path)) {
        next.add(path);
      }
      collapsed.value = next;
    },
    request,
    found: (part) => {
      if (part.id === id) {
        clear();
        const { files, hits } = results.peek();
        update({
          slow: false,
          files: [...files, ...part.files],
          hits: hits + part.files.reduce((sum, file) => sum + file.hits.length, 0),
        });
      }
    },
    ended: (end) => {
      if (end.id !== id) {
        return;
      }
      if (end.code === "" || end.code === "cancelled") {
        settle({ status: end.code === "" ? "done" : "stopped", ended: end });
      } else {
        const error = new BackendError(isFaultCode(end.code) ? end.code : "internal");
        settle({ status: "failed", ended: end, error });
      }
    },
  };
}

/** The globs of a field. */
function globs(text: string): readonly string[] {
  return text
    .split(/[,，]/)
    .map((glob) => glob.trim())
    .filter((glob) => glob !== "");
}

function rowsOf(files: readonly SearchFile[], collapsed: ReadonlySet<string>): readonly SearchRow[] {
  const rows: SearchRow[] = [];
  for (const [i, file] of files.entries()) {
    const expanded = !collapsed.has(file.path);
    const plain = { tick: null, spoken: "", off: false } as const;
    rows.push({
      ...plain,
      type: "file",
      key: file.path,
      level: 1,
      position: i + 1,
      size: files.length,
      expanded,
      file,
    });
    if (!expanded) {
      continue;
    }
    const size = file.hits.length + (file.more > 0 ? 1 : 0);
    for (const [j, hit] of file.hits.entries()) {
      rows.push({
        ...plain,
        type: "hit",
        key: `${file.path}\n${j}`,
        level: 2,
        position: j + 1,
        size,
        expanded: null,
        file,
        hit,
      });
    }
    if (file.more > 0) {
      rows.push({
        ...plain,
        off: true,
        type: "more",
        key: `${file.path}\nmore`,
        level: 2,
        position: size,
        size,
        expanded: null,
        file,
      });
    }
  }
  return rows;
}
