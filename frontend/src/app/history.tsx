/** Earlier versions of a document: the list, the difference as marks in the text, restoring. */

import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Backend, type BackendError, decodeError, type History, type HistoryVersion } from "../backend";
import type { Documents, Tab } from "../document";
import {
  closeReview,
  coverReview,
  type Endings,
  isComposingEvent,
  type ReviewEvent,
  type ReviewHunk,
  type ReviewLabels,
  type ReviewView,
  reviewOf,
  runReviewAction,
} from "../editor";
import { formatTime, t } from "../i18n";
import { diffEdits, type Edit, isEnding, majorityEnding } from "../text";
import {
  type CommandAction,
  type CommandId,
  HistoryPanel,
  type HistoryView,
  type Layout,
  type PanelView,
} from "../ui";

/** What history needs. */
export interface HistoryConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly layout: Layout;
  /** The words of a review; those of its buttons are history's own. */
  readonly labels: () => ReviewLabels;
  /** Says that a version was restored, or parts of one. */
  readonly onRestored: (text: string) => void;
  readonly now?: () => number;
}

/** History as the window uses it. */
export interface HistoryPart {
  readonly panel: () => PanelView;
  /** How the difference that is in the text stands; null for none. */
  readonly review: ReadonlySignal<ReviewView | null>;
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  /** Shows how the text differs from an earlier one that is not in the list. */
  readonly showText: (tab: Tab, title: string, text: string, endings: Endings) => void;
  /** Takes an event of a review that is history's; false for all others. */
  readonly handleReview: (event: ReviewEvent) => boolean;
}

type Listed =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly error: BackendError }
  | { readonly status: "ready"; readonly history: History };

/** A version whose difference is in the text of a document. */
interface Chosen {
  /** As in the list; "" for one that is not in it. */
  readonly id: string;
  readonly title: string;
  readonly loaded:
    | { readonly status: "loading" }
    | { readonly status: "failed"; readonly error: BackendError }
    | { readonly status: "ready"; readonly text: string; readonly endings: Endings; readonly same: boolean };
}

/** The ids of history's reviews begin with this. */
const prefix = "history:";

/** Differences of more pieces than this are shown in fewer. */
const mostHunks = 300;

/** Makes it. */
export function createHistory(config: HistoryConfig): HistoryPart {
  const { backend, documents, layout } = config;
  const now = config.now ?? Date.now;
  const { view } = documents;
  const listed = signal<{ readonly of: string; readonly list: Listed }>({
    of: "",
    list: { status: "loading" },
  });
  const chosen = signal<ReadonlyMap<string, Chosen>>(new Map());
  const review = signal<ReviewView | null>(null);
  let made = 0;

  const isOpen = computed(() => layout.panelOpen.value && layout.panelView.value === "history");

  // Listed anew for each document, and after each save.
  effect(() => {
    const tab = documents.current.value;
    if (!isOpen.value || tab === null) {
      return;
    }
    tab.savedAtMs.value;
    if (tab.info.value.path !== "") {
      void load(tab);
    }
  });

  // Whoever turns to something else has seen enough of it.
  effect(() => {
    const tab = documents.current.value;
    if (tab !== null && !isOpen.value && chosen.peek().has(tab.id)) {
      queueMicrotask(() => leave(tab));
    }
  });

  effect(() => {
    const tab = documents.current.value;
    const shown = tab === null ? null : reviewOf(tab.state());
    review.value = shown?.id.startsWith(prefix) ? shown : null;
  });

  async function load(tab: Tab): Promise<void> {
    const { of, list } = listed.peek();
    if (of !== tab.id || list.status === "failed") {
      listed.value = { of: tab.id, list: { status: "loading" } };
    }
    const answer = await backend.documents.History(tab.id).then(
      (history): Listed => ({ status: "ready", history }),
      (reason: unknown): Listed => ({ status: "failed", error: decodeError(reason) }),
    );
    if (listed.peek().of === tab.id) {
      listed.value = { of: tab.id, list: answer };
    }
  }

  function set(tab: Tab, next: Chosen | null): void {
    const all = new Map(chosen.peek());
    if (next === null) {
      all.delete(tab.id);
    } else {
      all.set(tab.id, next);
    }
    chosen.value = all;
  }

  async function show(tab: Tab, version: HistoryVersion): Promise<void> {
    uncover(tab);
    const about = { id: version.id, title: t("history.version", { time: formatTime(version.atMs) }) };
    const loading: Chosen = { ...about, loaded: { status: "loading" } };
    set(tab, loading);
    try {
      const text = await backend.readText(version.textUrl);
      if (chosen.peek().get(tab.id) === loading && documents.current.peek() === tab) {
        const table = version.endings.flatMap(({ ending, count }) =>
          isEnding(ending) ? [{ ending, count }] : [],
        );
        mark(tab, about, text, { table, majority: majorityEnding(table) });
      }
    } catch (reason) {
      if (chosen.peek().get(tab.id) === loading) {
        set(tab, { ...about, loaded: { status: "failed", error: decodeError(reason) } });
      }
    }
  }

  /** Shows in the text how it differs from an earlier one. The text stays as it is. */
  function mark(tab: Tab, about: Omit<Chosen, "loaded">, text: string, endings: Endings): void {
    const hunks = hunksOf(view.state.doc.toString(), text);
    set(tab, { ...about, loaded: { status: "ready", text, endings, same: hunks.length === 0 } });
    if (hunks.length === 0) {
      return;
    }
    made += 1;
    coverReview(view, {
      id: `${prefix}${made}`,
      base: view.state.doc,
      changes: view.state.changes(),
      hunks,
      cutOff: false,
      labels: { ...config.labels(), accept: t("history.take"), reject: t("history.skip") },
    });
    runReviewAction(view, "next");
    runReviewAction(view, "previous");
  }

  /** Takes history's marks off the text; the proposals that were there come back. */
  function uncover(tab: Tab): void {
    const shown = reviewOf(view.state);
    if (documents.current.peek() === tab && shown?.id.startsWith(prefix)) {
      closeReview(view, shown.id);
    }
  }

  function leave(tab: Tab): void {
    uncover(tab);
    set(tab, null);
  }

  function restore(tab: Tab): void {
    const version = chosen.peek().get(tab.id);
    if (version?.loaded.status !== "ready" || tab.info.peek().readOnly !== "") {
      return;
    }
    const { text, endings } = version.loaded;
    leave(tab);
    documents.replace(tab.id, text, "input.restore", endings);
    config.onRestored(t("history.restored", { title: version.title }));
    view.focus();
  }

  function withCurrent(run: (tab: Tab) => void): void {
    const tab = documents.current.peek();
    if (tab !== null) {
      run(tab);
    }
  }

  view.dom.addEventListener("keydown", (event) => {
    const tab = documents.current.peek();
    const isEscape = event.key === "Escape" && !event.defaultPrevented && !isComposingEvent(event);
    if (isEscape && tab !== null && chosen.peek().has(tab.id)) {
      event.preventDefault();
      leave(tab);
    }
  });

  function viewNow(): HistoryView {
    const tab = documents.current.value;
    const version = tab === null ? undefined : chosen.value.get(tab.id);
    return {
      list: listNow(tab),
      shown: version === undefined ? null : { id: version.id, title: version.title, state: stateOf(version) },
      readOnly: tab !== null && tab.info.value.readOnly !== "",
    };
  }

  function listNow(tab: Tab | null): HistoryView["list"] {
    if (tab === null) {
      return { status: "noDocument" };
    }
    if (tab.info.value.path === "") {
      return { status: "untitled" };
    }
    const { of, list } = listed.value;
    if (of !== tab.id) {
      return { status: "loading" };
    }
    return list.status === "ready" ? { status: "ready", ...list.history } : list;
  }

  function stateOf({ loaded }: Chosen): NonNullable<HistoryView["shown"]>["state"] {
    if (loaded.status !== "ready") {
      return loaded;
    }
    const hunks = review.value?.hunks ?? [];
    const open = hunks.filter((hunk) => hunk.status !== "accepted" && hunk.status !== "rejected");
    if (loaded.same || open.length === 0) {
      return { status: "same" };
    }
    const current = hunks.find((hunk) => hunk.id === review.value?.current);
    return { status: "open", open: open.length, number: current?.number ?? 0, total: hunks.length };
  }

  return {
    review,
    panel: () => ({
      id: "history",
      label: t("history.title"),
      count: 0,
      content: () => (
        <HistoryPanel
          view={viewNow()}
          now={now}
          onShow={(version) => withCurrent((tab) => void show(tab, version))}
          onLeave={() => {
            withCurrent(leave);
          }}
          onRestore={() => withCurrent(restore)}
          onRetry={() => withCurrent((tab) => void load(tab))}
          onAction={(action) => runReviewAction(view, action)}
        />
      ),
    }),
    showText: (tab, title, text, endings) => {
      layout.panelView.value = "history";
      layout.panelOpen.value = true;
      uncover(tab);
      mark(tab, { id: "", title }, text, endings);
    },
    handleReview: (event) => {
      if (event.type === "changed") {
        const ours = event.review?.id.startsWith(prefix) === true;
        review.value = ours ? event.review : null;
        const tab = documents.current.peek();
        // A proposal that was asked for is shown in its place.
        if (!ours && event.review !== null && tab !== null) {
          set(tab, null);
        }
        return ours;
      }
      if (!event.id.startsWith(prefix)) {
        return false;
      }
      if (event.type === "receipt") {
        config.onRestored(t("history.taken", { n: event.accepted }));
      } else if (event.type === "finished") {
        withCurrent(leave);
      }
      return true;
    },
    actions: {
      "view.history": {
        run: () => {
          layout.panelView.value = "history";
          layout.panelOpen.value = !isOpen.peek();
        },
        checked: () => isOpen.value,
      },
    },
  };
}

/** The pieces of a difference: what changes in one line is taken or left together. */
function hunksOf(from: string, to: string): readonly ReviewHunk[] {
  const groups: Edit[][] = [];
  for (const edit of diffEdits(from, to)) {
    const last = groups.at(-1);
    const before = last?.at(-1);
    if (last !== undefined && before !== undefined && !from.slice(before.to, edit.from).includes("\n")) {
      last.push(edit);
    } else {
      groups.push([edit]);
    }
  }
  const size = Math.max(1, Math.ceil(groups.length / mostHunks));
  const out: ReviewHunk[] = [];
  for (let i = 0; i < groups.length; i += size) {
    out.push({ id: String(out.length + 1), edits: groups.slice(i, i + size).flat(), warnings: [] });
  }
  return out;
}
