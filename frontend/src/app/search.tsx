/** The search of the folder and the review of changes to several files, in the window. */

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import {
  type Backend,
  type BackendError,
  decodeError,
  type Events,
  type ReviewedSet,
  type SearchRequest,
  type WorkspaceInfo,
} from "../backend";
import type { Documents } from "../document";
import { showPlanned } from "../editor";
import { t } from "../i18n";
import {
  type CommandAction,
  type CommandBoard,
  type CommandId,
  createSearch,
  describeFault,
  type Layout,
  type PreviewState,
  type SearchRow,
  SearchView,
  type SetActions,
  SetReceipt,
  SetReview,
  type SetRow,
  type SettingsTab,
  type Slots,
  setRows,
} from "../ui";
import { goToPlace } from "./place";
import type { Sets } from "./sets";

/** What the search needs of the window. */
export interface SearchPanelConfig {
  readonly backend: Backend;
  readonly events: Events;
  readonly documents: Documents;
  readonly board: CommandBoard;
  readonly layout: Layout;
  readonly slots: Slots;
  readonly settingsTab: SettingsTab;
  readonly workspace: ReadonlySignal<WorkspaceInfo>;
  readonly sets: Sets;
  /** Does something that may be refused, and shows it if it is. */
  readonly attempt: (what: () => Promise<unknown>) => void;
}

/** The longest selection that becomes a query, in UTF-16 units. */
const longestSeed = 200;

/** Makes the search, fills the window's slots with it, and gives its commands' actions. */
export function createSearchPanel(
  config: SearchPanelConfig,
): Readonly<Partial<Record<CommandId, CommandAction>>> {
  const { backend, events, documents, board, layout, slots, sets, workspace } = config;
  const preview = signal<PreviewState>({ busy: false, told: "" });
  const focus = signal(false);
  /** The id of the preview that is wanted; "" for none. */
  let previewing = "";

  const search = createSearch({
    start: async (request) => {
      await flushUnsaved();
      await backend.workspace.Search(request);
    },
    cancel: (id) => backend.workspace.CancelSearch(id),
  });
  events.on("search.found", (message) => search.found(message.payload));
  events.on("search.ended", (message) => search.ended(message.payload));

  let folder = workspace.peek().path;
  effect(() => {
    const { path } = workspace.value;
    if (path !== folder) {
      folder = path;
      search.reset();
    }
  });
  // A review is of the fields as they were: other ones are another search.
  let asked = "";
  effect(() => {
    const now = JSON.stringify(search.fields.value);
    if (now === asked) {
      return;
    }
    asked = now;
    stopPreview();
    preview.value = { busy: false, told: "" };
    if (sets.view.peek()?.set.kind === "replace") {
      sets.close();
    }
  });

  /** Unsaved text is searched as it stands, so the host has to have it. */
  async function flushUnsaved(): Promise<void> {
    const unsaved = documents.tabs.peek().filter((tab) => tab.dirty.peek());
    await Promise.all(unsaved.map((tab) => documents.flush(tab.id).catch(() => {})));
  }

  /** Asks for the set of what replacing would change. */
  async function replacement(request: SearchRequest): Promise<ReviewedSet> {
    await flushUnsaved();
    return backend.workspace.PreviewReplace({ search: request, with: search.fields.peek().replacement });
  }

  async function makePreview(): Promise<void> {
    const request = search.request();
    if (request.query === "") {
      return;
    }
    stopPreview();
    previewing = request.id;
    preview.value = { busy: true, told: "" };
    const isWanted = (): boolean => previewing === request.id;
    try {
      const set = await replacement(request);
      if (!isWanted()) {
        await backend.workspace.DropSet(set.id).catch(() => {});
        return;
      }
      preview.value = { busy: false, told: set.files.length === 0 ? t("set.nothing") : "" };
      if (set.files.length > 0) {
        sets.show(set, { again: () => replacement(search.request()) });
      }
    } catch (reason) {
      if (isWanted()) {
        preview.value = { busy: false, told: tellFault(decodeError(reason)) };
      }
    } finally {
      if (isWanted()) {
        previewing = "";
      }
    }
  }

  function stopPreview(): void {
    if (previewing !== "") {
      const id = previewing;
      previewing = "";
      backend.workspace.CancelSearch(id).catch(() => {});
      preview.value = { busy: false, told: t("search.previewStopped") };
    }
  }

  const leave = (): void => documents.view.focus();

  function openHit(row: SearchRow, toText: boolean): void {
    if (row.type === "hit") {
      const { from, match, before, after } = row.hit;
      open({ path: row.file.path, from, words: [match], before, after }, toText);
    }
  }

  function openEdit(row: SetRow, toText: boolean): void {
    if (row.type === "edit") {
      const { from, old, insert, before, after } = row.edit;
      const applied = sets.view.peek()?.status === "applied";
      const words = applied ? [insert, old] : [old, insert];
      open({ path: row.file.path, from, words, before, after }, toText);
    }
  }

  function open(place: Parameters<typeof goToPlace>[1], toText: boolean): void {
    config.attempt(async () => {
      await goToPlace(documents, place, toText);
      config.settingsTab.front.value = false;
    });
  }

  const actions: SetActions = {
    tickEdit: sets.tickEdit,
    tickFile: sets.tickFile,
    apply: () => void sets.apply(),
    moveOnly: () => void sets.moveOnly(),
    undo: () => void sets.undo(),
    again: sets.again,
    close: () => {
      const isReplace = sets.view.peek()?.set.kind === "replace";
      const changed = sets.view.peek()?.status !== "review";
      sets.close();
      // The button that had the focus is gone.
      if (isReplace) {
        focus.value = true;
      } else {
        board.run("view.files");
      }
      if (isReplace && changed) {
        search.again();
      }
    },
    open: openEdit,
    leave,
  };

  // What is planned in the document in front is marked in its text.
  let marked: unknown = null;
  effect(() => {
    const tab = documents.current.value;
    const at = sets.at.value;
    const status = sets.view.value?.status;
    queueMicrotask(() => {
      if (tab === null || documents.current.peek() !== tab || documents.view.composing) {
        return;
      }
      const edits = sets.planned(tab).map(({ key, edit }) => ({ ...edit, current: key === at }));
      const now = JSON.stringify([tab.id, status, edits]);
      if (now !== marked) {
        marked = now;
        documents.view.dispatch({ effects: showPlanned.of(edits) });
      }
    });
  });

  /** The set that is reviewed in a place; a move gives way to the tree once it is made. */
  function reviewIn(kind: "move" | "replace") {
    const view = sets.view.value;
    if (view === null || (view.set.kind === "move") !== (kind === "move")) {
      return null;
    }
    const isOver = view.status !== "review" && view.status !== "applying";
    return kind === "move" && isOver ? null : (
      <SetReview key={view.set.id} view={view} at={sets.at} collapsed={sets.collapsed} actions={actions} />
    );
  }

  slots.search.value = () => (
    <SearchView
      search={search}
      hasFolder={workspace.value.path !== ""}
      review={reviewIn("replace")}
      preview={preview}
      focus={focus}
      onOpenFolder={() => board.run("file.openFolder")}
      onPreview={() => void makePreview()}
      onStopPreview={stopPreview}
      onOpen={openHit}
      onLeave={leave}
    />
  );
  slots.cover.value = () => reviewIn("move");
  slots.below.value = () => {
    const view = sets.view.value;
    const isOver = view?.set.kind === "move" && view.status !== "review" && view.status !== "applying";
    return view !== null && isOver ? (
      <div class="foot">
        <SetReceipt view={view} actions={actions} />
      </div>
    ) : null;
  };

  /** Brings the search to the front; what is selected in the text becomes the query. */
  function reveal(): void {
    layout.sidebarOpen.value = true;
    layout.sideView.value = "search";
    config.settingsTab.front.value = false;
    const { state } = documents.view;
    const { from, to } = state.selection.main;
    const seed = to - from > 0 && to - from <= longestSeed ? state.sliceDoc(from, to) : "";
    if (documents.view.hasFocus && seed !== "" && !seed.includes("\n")) {
      search.fill({ query: seed, regexp: false });
    }
    focus.value = true;
  }

  /** Goes to the next hit of what is shown, or the next change of a review, and opens it. */
  function step(by: 1 | -1): void {
    const view = sets.view.peek();
    if (view !== null) {
      const rows = setRows(view, new Set(), () => "").filter((row) => row.type === "edit");
      const row = beside(rows, sets.at.peek(), by);
      if (row !== undefined) {
        show(sets.collapsed, row.file.path);
        sets.at.value = row.key;
        openEdit(row, false);
      }
      return;
    }
    const rows = search.rows.peek();
    const row = beside(
      rows.filter((other) => other.type === "hit"),
      search.at.peek(),
      by,
    );
    if (row !== undefined) {
      search.at.value = row.key;
      openHit(row, false);
    }
  }

  const withHits = (run: () => void): CommandAction => ({
    off: () => (sets.view.value === null && search.rows.value.length === 0 ? "off.noHits" : ""),
    run,
  });

  return {
    "edit.searchFolder": { run: reveal },
    "edit.replaceFolder": {
      run: () => {
        search.replaceOpen.value = true;
        reveal();
      },
    },
    "edit.nextHit": withHits(() => step(1)),
    "edit.previousHit": withHits(() => step(-1)),
  };
}

/** The row before or behind the current one, going round; the first or last when none is current. */
function beside<R extends { readonly key: string }>(
  rows: readonly R[],
  at: string,
  by: 1 | -1,
): R | undefined {
  const index = rows.findIndex((row) => row.key === at);
  if (index < 0) {
    // A file's own row: its first hit is the next one.
    const inside = rows.findIndex((row) => row.key.startsWith(`${at}\n`));
    return inside >= 0 && at !== "" ? rows[inside] : rows[by > 0 ? 0 : rows.length - 1];
  }
  return rows[(index + by + rows.length) % rows.length];
}

function show(collapsed: Sets["collapsed"], path: string): void {
  if (collapsed.peek().has(path)) {
    collapsed.value = new Set([...collapsed.peek()].filter((other) => other !== path));
  }
}

function tellFault(error: BackendError): string {
  if (error.code === "cancelled") {
    return t("search.previewStopped");
  }
  if (error.code === "no_change") {
    return t("search.noChange");
  }
  if (error.code === "invalid_input") {
    return t("search.regexp.wrong", { detail: error.detail });
  }
  const { title, text } = describeFault(error);
  return `${title} ${text}`;
}
