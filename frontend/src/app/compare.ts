/** Comparing a document with its file: mine, theirs, and what becomes of both. */

import { undo } from "@codemirror/commands";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Backend, type BackendError, type Comparison, decodeError } from "../backend";
import type { Documents, Tab } from "../document";
import { type Endings, endingsOf, versionOf } from "../editor";
import {
  type Choice,
  type Choices,
  type Chunk,
  isConflict,
  mergedEndings,
  mergedText,
  mergeTexts,
} from "../text";
import type { CompareView } from "../ui";

/** How a comparison stands. */
export interface Compared {
  readonly comparison: Comparison;
  readonly chunks: readonly Chunk[];
  readonly choices: Choices;
  /** The place among the chunks of the difference that keys are about; −1 for none. */
  readonly current: number;
  /** Mine, as it was compared. */
  readonly mineVersion: number;
  readonly mineEndings: Endings;
  readonly mineAtMs: number;
  readonly hasBase: boolean;
  /** The file changed once more, and this is the comparison with what it is now. */
  readonly again: boolean;
}

type Session =
  | { readonly status: "loading"; readonly tab: Tab; readonly before: Compared | null }
  | { readonly status: "failed"; readonly tab: Tab; readonly error: BackendError }
  | { readonly status: "open"; readonly tab: Tab; readonly compared: Compared; readonly saving: boolean };

/** What comparing needs. */
export interface CompareConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly now?: () => number;
  /** Told that a merge was saved. */
  readonly onSaved: (tab: Tab) => void;
}

/** Comparisons, one a document. */
export interface Compare {
  /** The comparison of the document in front; null for none. */
  readonly front: ReadonlySignal<CompareView | null>;
  readonly open: (tab: Tab) => Promise<void>;
  /** Leaves a comparison; nothing is changed. */
  readonly leave: (tab: Tab) => void;
  /** The file of a document changed once more: compares anew and keeps the choices that still apply. */
  readonly refresh: (tab: Tab) => Promise<void>;
  readonly choose: (choice: Choice) => void;
  readonly go: (chunk: number) => void;
  /** To the next difference (1) or the one before (−1), round the ends. */
  readonly step: (by: 1 | -1) => void;
  /** Puts the merge into the text as one edit and saves it; nothing while a conflict waits. */
  readonly save: () => Promise<void>;
}

/** Makes them. */
export function createCompare(config: CompareConfig): Compare {
  const { backend, documents } = config;
  const now = config.now ?? Date.now;
  const sessions = signal<ReadonlyMap<string, Session>>(new Map());

  const session = computed(() => sessions.value.get(documents.current.value?.id ?? "") ?? null);

  function set(next: Session): void {
    sessions.value = new Map(sessions.peek()).set(next.tab.id, next);
  }

  function drop(tab: Tab): void {
    const rest = new Map(sessions.peek());
    rest.delete(tab.id);
    sessions.value = rest;
  }

  /** Compares a document with its file as both are now. */
  async function compare(tab: Tab, before: Compared | null): Promise<void> {
    const loading: Session = { status: "loading", tab, before };
    set(loading);
    try {
      const comparison = await backend.documents.Compare(documents.page.peek(), tab.id);
      const [base, theirs] = await Promise.all([
        comparison.baseUrl === "" ? null : backend.readText(comparison.baseUrl),
        backend.readText(comparison.diskUrl),
      ]);
      if (sessions.peek().get(tab.id) === loading) {
        open(tab, comparison, base, theirs, before);
      }
    } catch (reason) {
      if (sessions.peek().get(tab.id) === loading) {
        set({ status: "failed", tab, error: decodeError(reason) });
      }
    }
  }

  function open(
    tab: Tab,
    comparison: Comparison,
    base: string | null,
    theirs: string,
    before: Compared | null,
  ): void {
    const state = tab.state();
    const chunks = mergeTexts(base, state.doc.toString(), theirs);
    const keys = new Set(chunks.map((chunk) => chunk.key));
    const choices = new Map([...(before?.choices ?? [])].filter(([key]) => keys.has(key)));
    const again = before !== null && before.comparison.diskHash !== comparison.diskHash;
    const compared: Compared = {
      comparison,
      chunks,
      choices,
      current: firstOf(chunks, choices),
      mineVersion: versionOf(state),
      mineEndings: endingsOf(state),
      mineAtMs: now(),
      hasBase: base !== null,
      again,
    };
    set({ status: "open", tab, compared, saving: false });
  }

  function change(by: (compared: Compared) => Compared): void {
    const shown = session.peek();
    if (shown?.status === "open" && !shown.saving) {
      set({ ...shown, compared: by(shown.compared) });
    }
  }

  async function save(): Promise<void> {
    const shown = session.peek();
    if (shown?.status !== "open" || shown.saving) {
      return;
    }
    const { tab, compared } = shown;
    const text = mergedText(compared.chunks, compared.choices);
    if (text === null) {
      return;
    }
    set({ ...shown, saving: true });
    try {
      const { diskHash } = await backend.documents.Compare(documents.page.peek(), tab.id);
      if (diskHash !== compared.comparison.diskHash || versionOf(tab.state()) !== compared.mineVersion) {
        await compare(tab, compared);
        return;
      }
      const theirs = compared.comparison.diskEndings;
      const { table, majority } = compared.mineEndings;
      const endings = mergedEndings(compared.chunks, compared.choices, table, theirs, majority);
      documents.replace(tab.id, text, "input.merge", { table: endings, majority });
      const merged = versionOf(tab.state());
      try {
        await documents.save(tab.id, { diskHash });
      } catch (reason) {
        const { code } = decodeError(reason);
        const untouched = documents.current.peek() === tab && versionOf(tab.state()) === merged;
        if (code === "changed_on_disk" && untouched) {
          // The merge is the last step: mine is compared anew, not the merge.
          undo(documents.view);
          await compare(tab, compared);
        } else {
          // The merge stands in the text, unsaved, and the notice above it says why.
          drop(tab);
        }
        return;
      }
      drop(tab);
      config.onSaved(tab);
    } catch (reason) {
      set({ status: "failed", tab, error: decodeError(reason) });
    }
  }

  return {
    front: computed(() => {
      const shown = session.value;
      return shown === null ? null : viewOf(shown);
    }),
    open: (tab) => compare(tab, null),
    leave: drop,
    refresh: async (tab) => {
      const known = sessions.peek().get(tab.id);
      if (known?.status === "open" && !known.saving) {
        await compare(tab, known.compared);
      } else if (known?.status === "failed") {
        await compare(tab, null);
      }
    },
    choose: (choice) =>
      change((compared) => {
        const chunk = compared.chunks[compared.current];
        if (chunk === undefined || !isConflict(chunk)) {
          return compared;
        }
        const choices = new Map(compared.choices).set(chunk.key, choice);
        const next = nextOpen(compared.chunks, choices, compared.current);
        return { ...compared, choices, current: next < 0 ? compared.current : next };
      }),
    go: (chunk) => change((compared) => ({ ...compared, current: chunk })),
    step: (by) =>
      change((compared) => {
        const all = differencesOf(compared.chunks);
        const at = all.indexOf(compared.current);
        const next = all[(at + by + all.length) % Math.max(all.length, 1)];
        return next === undefined ? compared : { ...compared, current: next };
      }),
    save,
  };
}

function viewOf(session: Session): CompareView {
  const { tab } = session;
  const about = { id: tab.id, name: tab.info.value.name, conflict: tab.info.value.disk === "changed" };
  switch (session.status) {
    case "loading":
      return { ...about, status: "loading" };
    case "failed":
      return { ...about, status: "failed", error: session.error };
    case "open": {
      const { compared, saving } = session;
      const { chunks, choices } = compared;
      const differences = differencesOf(chunks);
      return {
        ...about,
        status: "open",
        saving,
        chunks,
        choices,
        current: compared.current,
        number: differences.indexOf(compared.current) + 1,
        total: differences.length,
        open: chunks.filter((chunk) => isConflict(chunk) && !choices.has(chunk.key)).length,
        hasBase: compared.hasBase,
        again: compared.again,
        sinceMs: tab.savedAtMs.value,
        mineAtMs: compared.mineAtMs,
        theirsAtMs: compared.comparison.modifiedMs,
        missing: compared.comparison.missing,
      };
    }
  }
}

/** The places of the chunks that differ. */
function differencesOf(chunks: readonly Chunk[]): readonly number[] {
  return chunks.flatMap((chunk, i) => (chunk.kind === "same" ? [] : [i]));
}

/** The first conflict that waits, else the first difference; −1 for none. */
function firstOf(chunks: readonly Chunk[], choices: Choices): number {
  const open = nextOpen(chunks, choices, -1);
  return open >= 0 ? open : (differencesOf(chunks)[0] ?? -1);
}

/** The next conflict behind a place that waits for a choice, going round; −1 for none. */
function nextOpen(chunks: readonly Chunk[], choices: Choices, from: number): number {
  const open = chunks.flatMap((chunk, i) => (isConflict(chunk) && !choices.has(chunk.key) ? [i] : []));
  return open.find((i) => i > from) ?? open[0] ?? -1;
}
