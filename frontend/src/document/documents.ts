import type { Extension, Transaction, TransactionSpec } from "@codemirror/state";
import { ChangeSet, EditorSelection, EditorState } from "@codemirror/state";
import { EditorView, type ViewUpdate } from "@codemirror/view";
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Backend,
  BackendError,
  type Document,
  type DocumentsState,
  type DocumentView,
  type Draft,
  type Layout,
  type SaveResult,
} from "../backend";
import {
  dispatchInPlace,
  type Endings,
  editsOf,
  endingsOf,
  insertedEndings,
  makingReadOnly,
  replacement,
  replacesEndings,
  versionOf,
} from "../editor";
import { isEnding } from "../text";
import { digestOf } from "./digest";
import { createSync, type Sync } from "./sync";

/** One open document as the page holds it. */
export interface Tab {
  readonly id: string;
  /** What the host last said of it. */
  readonly info: ReadonlySignal<Document>;
  /** The bytes differ from the file. True at once while typing, exact after the acknowledgement. */
  readonly dirty: ReadonlySignal<boolean>;
  readonly saving: ReadonlySignal<boolean>;
  /** Why the last save or sync did not happen; null when it did. */
  readonly problem: ReadonlySignal<BackendError | null>;
  /** When the last save happened, in ms; 0 before. */
  readonly savedAtMs: ReadonlySignal<number>;
  /** The undo history was lost when the page was loaded anew. */
  readonly reattached: boolean;
  /** The editor's state; that of the view while the tab is in front. */
  readonly state: () => EditorState;
}

interface OwnTab extends Tab {
  readonly info: Signal<Document>;
  readonly dirty: Signal<boolean>;
  readonly saving: Signal<boolean>;
  readonly problem: Signal<BackendError | null>;
  readonly savedAtMs: Signal<number>;
  readonly sync: Sync;
  stored: EditorState;
  scrollTop: number;
  /** The start of the first line that is seen, in UTF-16 units. */
  top: number;
  /** `top` is of an earlier start and has not been scrolled to. */
  untouched: boolean;
}

/** How a save treats a file that changed outside; without either it is refused. */
export interface SaveOptions {
  /** Writes over it, whatever it is. */
  readonly overwrite?: boolean;
  /** Writes over the one state of it that the person has seen. */
  readonly diskHash?: string;
}

/** What the open documents need. */
export interface DocumentsConfig {
  readonly backend: Backend;
  readonly view: EditorView;
  /** The extensions of a document's editor, at a version and with its endings. */
  readonly extensions: (info: Document, version: number, endings: Endings) => Extension;
  /** Told of each update of the view that belongs to a document. */
  readonly onUpdate?: (tab: Tab, update: ViewUpdate) => void;
}

/** The open documents of this page and the one editor view they share. */
export interface Documents {
  readonly tabs: ReadonlySignal<readonly Tab[]>;
  readonly current: ReadonlySignal<Tab | null>;
  /** Unsaved texts of an earlier start that wait for a decision. */
  readonly drafts: ReadonlySignal<readonly Draft[]>;
  /** What of the window was open when it was last used; null before the page attached. */
  readonly layout: ReadonlySignal<Layout | null>;
  /** Counts updates of the current document's text or selection. */
  readonly revision: ReadonlySignal<number>;
  /** This page's number; 0 before it attached. */
  readonly page: ReadonlySignal<number>;
  readonly view: EditorView;
  /** Gets the open documents from the host; also after a gap in the events. */
  readonly attach: () => Promise<void>;
  readonly open: (path: string) => Promise<Tab>;
  /** Shows a document that the host opened. */
  readonly show: (info: Document) => Promise<Tab>;
  /** Loads a document that the host opened, without bringing it to the front. */
  readonly add: (info: Document) => Promise<void>;
  /** Closes those of these documents that have nothing unsaved. */
  readonly putAway: (ids: readonly string[]) => Promise<void>;
  readonly openDialog: () => Promise<void>;
  readonly create: () => Promise<Tab>;
  /** Closes without asking; unsaved text is thrown away. */
  readonly close: (id: string) => Promise<void>;
  readonly select: (id: string) => void;
  /** Gives a tab another place among the tabs, from 0. */
  readonly arrange: (id: string, index: number) => void;
  /** How the tabs stand, in their order. */
  readonly views: () => readonly DocumentView[];
  /** Puts caret and scroll of a document where they were, as far as its text still goes. */
  readonly place: (view: DocumentView) => void;
  /** To be called when the view has come into the page: it cannot be scrolled before. */
  readonly mounted: () => void;
  readonly save: (id: string, options?: SaveOptions) => Promise<SaveResult>;
  readonly saveAs: (id: string) => Promise<SaveResult | null>;
  /**
   * Takes the file's text as one undoable edit of what differs, also in a
   * document that is not in front. What is typed meanwhile is kept.
   */
  readonly reload: (id: string) => Promise<void>;
  /** Replaces the text as one undoable edit of what differs, with the endings of the new one. */
  readonly replace: (id: string, text: string, userEvent: string, endings: Endings) => void;
  /** Takes over what the host says of the file of a document: its place, and how it stands. */
  readonly followFile: (info: Document) => void;
  readonly restoreDraft: (id: string) => Promise<Tab>;
  readonly discardDraft: (id: string) => Promise<void>;
  /** Adds a draft that was found after attaching. */
  readonly offer: (draft: Draft) => void;
  /** Resolves with the version when the host has everything of a document. */
  readonly flush: (id: string) => Promise<number>;
  /**
   * Makes a transaction in a document, also one that is not in front: its
   * stored state takes it, with its own undo history, and the host hears of it.
   */
  readonly change: (id: string, spec: TransactionSpec) => void;
  /**
   * Calls `handler` for each transaction that changes the text of a document,
   * in front or not, in order; the result takes it off.
   */
  readonly watch: (handler: (tab: Tab, tr: Transaction) => void) => () => void;
  /** To be called by the view for each update. */
  readonly handleUpdate: (update: ViewUpdate) => void;
}

function endingsIn(info: Document): Endings {
  return {
    table: info.endings.flatMap(({ ending, count }) => (isEnding(ending) ? [{ ending, count }] : [])),
    majority: isEnding(info.majority) ? info.majority : "lf",
  };
}

/** Makes the open documents. */
export function createDocuments(config: DocumentsConfig): Documents {
  const { backend, view } = config;
  const tabs = signal<readonly OwnTab[]>([]);
  const current = signal<OwnTab | null>(null);
  const drafts = signal<readonly Draft[]>([]);
  const revision = signal(0);
  const page = signal(0);
  const layout = signal<Layout | null>(null);
  const watchers = new Set<(tab: Tab, tr: Transaction) => void>();

  function find(id: string): OwnTab {
    const tab = tabs.value.find((t) => t.id === id);
    if (tab === undefined) {
      throw new BackendError("not_found");
    }
    return tab;
  }

  async function load(info: Document, reattached: boolean): Promise<OwnTab> {
    const { text, version } = await backend.getText(info.textUrl);
    const open = tabs.value.find((t) => t.id === info.id);
    if (open !== undefined) {
      return open;
    }
    const state = makeState(info, text, version);
    const tab: OwnTab = {
      id: info.id,
      info: signal(info),
      dirty: signal(info.dirty),
      saving: signal(false),
      problem: signal<BackendError | null>(null),
      savedAtMs: signal(0),
      reattached,
      stored: state,
      scrollTop: 0,
      top: Math.min(info.top, state.doc.length),
      untouched: info.top > 0,
      state: () => (current.peek() === tab ? view.state : tab.stored),
      sync: createSync({
        id: info.id,
        page: () => page.peek(),
        version,
        send: (request) => backend.documents.Sync(request),
        post: (whole) => backend.postText(info.textUrl, { ...whole, page: page.peek() }),
        whole: () => {
          const now = tab.state();
          return { text: now.doc.toString(), version: versionOf(now), endings: endingsOf(now).table };
        },
        selection: () => tab.state().selection.main,
        onAcknowledged: (dirty) => {
          tab.dirty.value = dirty;
          if (tab.problem.peek()?.code === "internal") {
            tab.problem.value = null;
          }
        },
        onFault: (error) => {
          tab.problem.value = error;
        },
      }),
    };
    tabs.value = [...tabs.value, tab];
    return tab;
  }

  /** Marks and sends what a transaction changed in the text of a document. */
  function record(tab: OwnTab, tr: Transaction): void {
    if (tab.info.peek().readOnly !== "") {
      // Only a reload changes it, and the host has made that one itself.
      return;
    }
    const all = replacesEndings(tr);
    if (all) {
      // Breaks that stand still may end otherwise now, which a change cannot say.
      tab.sync.resync();
    }
    if (all && !tr.docChanged) {
      void tab.sync.flush().catch(() => {});
    }
    if (tr.docChanged) {
      tab.dirty.value = true;
      tab.sync.add({ edits: editsOf(tr.changes), endings: insertedEndings(tr) });
      for (const watcher of [...watchers]) {
        watcher(tab, tr);
      }
    }
  }

  /** Makes a transaction of which the person sees only what changes. */
  function changeInPlace(tab: OwnTab, spec: TransactionSpec): void {
    if (current.peek() === tab) {
      dispatchInPlace(view, spec);
    } else {
      documents.change(tab.id, spec);
    }
  }

  function makeState(info: Document, text: string, version: number): EditorState {
    const doc = EditorState.create({ doc: text }).doc;
    const limit = (position: number) => Math.min(Math.max(position, 0), doc.length);
    return EditorState.create({
      doc,
      selection: EditorSelection.single(limit(info.anchor), limit(info.head)),
      extensions: config.extensions(info, version, endingsIn(info)),
    });
  }

  function select(tab: OwnTab | null): void {
    const before = current.peek();
    if (before === tab) {
      return;
    }
    if (before !== null) {
      before.stored = view.state;
      before.scrollTop = view.scrollDOM.scrollTop;
      before.top = topOf(before);
    }
    // The view first: whoever follows the current tab reads the view's state.
    view.setState(tab?.stored ?? EditorState.create());
    batch(() => {
      current.value = tab;
      revision.value += 1;
    });
    if (tab?.untouched) {
      scrollToTop(tab);
    } else if (tab !== null) {
      const { scrollTop } = tab;
      view.requestMeasure({
        read: () => {},
        write: () => {
          view.scrollDOM.scrollTop = scrollTop;
        },
      });
    }
    if (tab !== null) {
      // Only remembered for the next start; an older page may not say it.
      backend.documents.SetCurrent(page.peek(), tab.id).catch(() => {});
    }
  }

  /** The start of the first line that is seen, in UTF-16 units. */
  function topOf(tab: OwnTab): number {
    if (current.peek() !== tab || tab.untouched || !view.dom.isConnected) {
      return Math.min(tab.top, tab.state().doc.length);
    }
    const seen = view.scrollDOM.getBoundingClientRect().top - view.documentTop;
    return view.lineBlockAtHeight(Math.max(0, seen)).from;
  }

  /** Scrolls to where a document was at an earlier start, as soon as the view is in the page. */
  function scrollToTop(tab: OwnTab): void {
    if (view.dom.isConnected) {
      tab.untouched = false;
      const at = Math.min(tab.top, view.state.doc.length);
      view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start", yMargin: 0 }) });
    }
  }

  async function show(info: Document): Promise<OwnTab> {
    const tab = tabs.value.find((t) => t.id === info.id) ?? (await load(info, false));
    select(tab);
    return tab;
  }

  async function putAway(ids: readonly string[]): Promise<void> {
    const leaving = tabs.peek().filter((tab) => ids.includes(tab.id) && !tab.dirty.peek());
    // Out of the view first, so that nothing more can be typed into one.
    if (leaving.some((tab) => tab === current.peek())) {
      select(tabs.peek().find((tab) => !leaving.includes(tab)) ?? null);
    }
    for (const tab of leaving) {
      try {
        await tab.sync.flush();
        // The host refuses when something is unsaved after all.
        await backend.documents.Close(page.peek(), tab.id, false);
      } catch {
        continue;
      }
      tabs.value = tabs.value.filter((other) => other !== tab);
    }
  }

  async function attach(): Promise<void> {
    const state: DocumentsState = await backend.documents.Attach();
    page.value = state.page;
    drafts.value = state.drafts;
    layout.value = state.layout;
    const open = new Set(state.documents.map((d) => d.id));
    const first = tabs.peek().length === 0;
    for (const info of state.documents) {
      const tab = tabs.peek().find((t) => t.id === info.id);
      if (tab === undefined) {
        await load(info, info.version > 1);
      } else {
        // After a gap the page's own text stands; the host gets it whole.
        tab.info.value = info;
        tab.sync.resync();
        await tab.sync.flush().catch(() => {});
      }
    }
    tabs.value = tabs.value.filter((t) => open.has(t.id));
    const chosen = tabs.value.find((t) => t.id === state.current) ?? tabs.value[0] ?? null;
    if (first || current.peek() === null || !open.has(current.peek()?.id ?? "")) {
      select(chosen);
    }
  }

  async function saveWith(
    tab: OwnTab,
    options: SaveOptions,
    call: (request: Parameters<Backend["documents"]["Save"]>[0]) => Promise<SaveResult>,
  ): Promise<SaveResult> {
    tab.saving.value = true;
    try {
      const result = await attempt(tab, options, call).catch(async (error: unknown) => {
        if (!(error instanceof BackendError) || error.code !== "unknown_base") {
          throw error;
        }
        tab.sync.resync();
        return attempt(tab, options, call);
      });
      batch(() => {
        tab.info.value = { ...result.document };
        tab.dirty.value = result.document.dirty || versionOf(tab.state()) !== result.document.version;
        tab.problem.value = null;
        tab.savedAtMs.value = result.savedAtMs;
      });
      return result;
    } catch (error) {
      tab.problem.value = error instanceof BackendError ? error : new BackendError("internal");
      throw error;
    } finally {
      tab.saving.value = false;
    }
  }

  async function attempt(
    tab: OwnTab,
    options: SaveOptions,
    call: (request: Parameters<Backend["documents"]["Save"]>[0]) => Promise<SaveResult>,
  ): Promise<SaveResult> {
    // What is typed during the save belongs to the next one: the version and
    // the digest are of one moment, and the mirror must have reached it.
    for (;;) {
      await tab.sync.flush();
      const state = tab.state();
      const version = versionOf(state);
      const text = state.doc.toString();
      const digest = await digestOf(text);
      if (versionOf(tab.state()) !== version) {
        continue;
      }
      return call({
        page: page.peek(),
        id: tab.id,
        version,
        length: text.length,
        digest,
        overwrite: options.overwrite === true,
        diskHash: options.diskHash ?? "",
      });
    }
  }

  const documents: Documents = {
    tabs,
    current: computed(() => current.value),
    drafts,
    revision,
    page,
    layout,
    view,
    attach,
    open: async (path) => show(await backend.documents.Open(path)),
    show,
    add: async (info) => {
      if (!tabs.peek().some((tab) => tab.id === info.id)) {
        await load(info, false);
      }
    },
    putAway,
    openDialog: async () => {
      for (const info of await backend.documents.OpenDialog()) {
        await show(info);
      }
    },
    create: async () => show(await backend.documents.New()),
    close: async (id) => {
      const tab = find(id);
      await backend.documents.Close(page.peek(), id, true);
      const at = tabs.value.indexOf(tab);
      const rest = tabs.value.filter((t) => t !== tab);
      if (current.peek() === tab) {
        select(rest[Math.min(at, rest.length - 1)] ?? null);
      }
      tabs.value = rest;
    },
    select: (id) => select(find(id)),
    arrange: (id, index) => {
      const tab = find(id);
      const rest = tabs.value.filter((t) => t !== tab);
      tabs.value = [...rest.slice(0, index), tab, ...rest.slice(index)];
    },
    views: () =>
      tabs.value.map((tab) => {
        const { anchor, head } = tab.state().selection.main;
        return { id: tab.id, anchor, head, top: topOf(tab) };
      }),
    place: ({ id, anchor, head, top }) => {
      const tab = find(id);
      const { length } = tab.state().doc;
      tab.top = Math.min(top, length);
      tab.untouched = true;
      const selection = EditorSelection.single(Math.min(anchor, length), Math.min(head, length));
      if (current.peek() === tab) {
        view.dispatch({ selection });
        scrollToTop(tab);
      } else {
        tab.stored = tab.stored.update({ selection }).state;
      }
    },
    mounted: () => {
      const tab = current.peek();
      if (tab?.untouched) {
        scrollToTop(tab);
      }
    },
    save: (id, options) => saveWith(find(id), options ?? {}, (request) => backend.documents.Save(request)),
    saveAs: async (id) => {
      try {
        return await saveWith(find(id), {}, (request) => backend.documents.SaveAs(request));
      } catch (error) {
        if (error instanceof BackendError && error.code === "cancelled") {
          find(id).problem.value = null;
          return null;
        }
        throw error;
      }
    },
    reload: async (id) => {
      const tab = find(id);
      // The host keeps what is given up, so it needs all of it.
      await tab.sync.flush();
      const before = tab.state();
      let since = ChangeSet.empty(before.doc.length);
      const stop = documents.watch((other, tr) => {
        since = other === tab ? since.compose(tr.changes) : since;
      });
      try {
        const info = await backend.documents.Reload(page.peek(), id);
        const { text } = await backend.getText(info.textUrl);
        const spec = replacement(before, text, "input.reload", endingsIn(info), since);
        tab.info.value = info;
        changeInPlace(tab, spec ?? {});
        documents.change(id, { effects: makingReadOnly(info.readOnly !== "") });
      } finally {
        stop();
      }
      await tab.sync.flush();
      tab.problem.value = null;
    },
    replace: (id, text, userEvent, endings) => {
      const tab = find(id);
      changeInPlace(tab, replacement(tab.state(), text, userEvent, endings) ?? {});
    },
    followFile: (info) => {
      const tab = tabs.peek().find((t) => t.id === info.id);
      if (tab !== undefined) {
        const { uri, path, name, disk } = info;
        tab.info.value = { ...tab.info.peek(), uri, path, name, disk };
      }
    },
    restoreDraft: async (id) => {
      const info = await backend.documents.RestoreDraft(page.peek(), id);
      drafts.value = drafts.value.filter((d) => d.id !== id);
      return show(info);
    },
    discardDraft: async (id) => {
      await backend.documents.DiscardDraft(page.peek(), id);
      drafts.value = drafts.value.filter((d) => d.id !== id);
    },
    offer: (draft) => {
      drafts.value = [...drafts.value.filter((d) => d.id !== draft.id), draft];
    },
    flush: (id) => find(id).sync.flush(),
    change: (id, spec) => {
      const tab = find(id);
      if (current.peek() === tab) {
        view.dispatch(spec);
        return;
      }
      const tr = tab.stored.update(spec);
      tab.stored = tr.state;
      record(tab, tr);
    },
    watch: (handler) => {
      watchers.add(handler);
      return () => watchers.delete(handler);
    },
    handleUpdate: (update) => {
      const tab = current.peek();
      if (tab === null) {
        return;
      }
      for (const tr of update.transactions) {
        record(tab, tr);
      }
      if (update.docChanged || update.selectionSet) {
        revision.value += 1;
      }
      config.onUpdate?.(tab, update);
    },
  };
  return documents;
}
