/**
 * Reviewed sets: showing one, applying it to files and open documents together,
 * and taking it back. The host writes the files that are not open; the edits of
 * open documents are made here, one transaction each, since their text and undo
 * history are the page's.
 */

import { isolateHistory } from "@codemirror/commands";
import { ChangeSet, type EditorState, type Text, type Transaction } from "@codemirror/state";
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Backend,
  BackendError,
  type DocumentEdits,
  decodeError,
  type ReviewedSet,
  type SetFile,
} from "../backend";
import type { Documents, Tab } from "../document";
import { changedRanges, versionOf } from "../editor";
import { type ChangedRange, type Edit, isTouched, mapEdit, mapPosition } from "../text";
import {
  type EditsByPath,
  isTicked,
  reviewSet,
  rowKey,
  type SetView,
  tickEdit,
  tickFile,
  ticksOf,
} from "../ui";

/** What whoever shows a set wants to hear of it. */
export interface ShowOptions {
  /** Makes the set anew for the texts as they are. A move asks the host again by itself. */
  readonly again?: () => Promise<ReviewedSet>;
  /** Told when files have changed: the set was applied or undone, or the move was made without it. */
  readonly onChanged?: () => void;
}

/** The reviewed sets of the page: one at a time. */
export interface Sets {
  /** The set under review or the last that was applied; null for none. */
  readonly view: ReadonlySignal<SetView | null>;
  /** The key of the current row of its list. */
  readonly at: Signal<string>;
  /** The paths of files whose rows are shut. */
  readonly collapsed: Signal<ReadonlySet<string>>;
  /**
   * Puts a set under review, in place of another. The sidebar shows it: a move
   * over the files, a replacement in the search. Nothing is written before the
   * person applies it.
   */
  readonly show: (set: ReviewedSet, options?: ShowOptions) => void;
  /** The ticked edits of a document under review, where they are in its text now, by row; none for another. */
  readonly planned: (tab: Tab) => readonly { readonly key: string; readonly edit: Edit }[];
  readonly tickEdit: (path: string, edit: number, on: boolean) => void;
  readonly tickFile: (path: string, on: boolean) => void;
  /** Applies the ticked edits, all or none. */
  readonly apply: () => Promise<void>;
  /** Makes the move of a set of that kind and leaves all links as they are. */
  readonly moveOnly: () => Promise<void>;
  /** Takes an applied set back, all of it or nothing. */
  readonly undo: () => Promise<void>;
  /** Makes the set anew. */
  readonly again: () => void;
  /** Ends the review without applying, or puts away what was applied. */
  readonly close: () => void;
}

/** What reviewed sets need. */
export interface SetsConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  /** Brings a set into sight. */
  readonly reveal: (set: ReviewedSet) => void;
}

/** How often a set is made anew while it is applied, since its documents are typed in. */
const mostTurns = 3;

/** The text of an open document at one version, and all changes since. */
interface Track {
  readonly version: number;
  readonly text: Text;
  /** One for each version since. */
  readonly steps: ChangeSet[];
  total: ChangeSet;
}

/** What was made in an open document. */
interface Made {
  readonly path: string;
  /** The edits that take it back, in the text right after the set was applied. */
  readonly inverse: readonly Edit[];
  readonly since: Track;
}

/** Makes them. */
export function createSets(config: SetsConfig): Sets {
  const { backend, documents } = config;
  const view = signal<SetView | null>(null);
  const at = signal("");
  const collapsed = signal<ReadonlySet<string>>(new Set());
  let options: ShowOptions = {};
  /** The open documents of the set under review, by id, from the version its edits are for. */
  const tracks = new Map<string, Track>();
  /** What was made in open documents, by id, while the set can be undone. */
  const made = new Map<string, Made>();

  documents.watch((tab, tr) => {
    if (view.peek()?.status === "review" && !tracks.has(tab.id)) {
      followLate(tab, tr);
    }
    for (const track of [tracks.get(tab.id), made.get(tab.id)?.since]) {
      if (track !== undefined) {
        follow(track, tr);
      }
    }
    const now = view.peek();
    if (now?.status === "review" && tracks.has(tab.id)) {
      view.value = { ...now, changed: changedOf(now.set) };
    } else if (made.has(tab.id) && now !== null) {
      view.value = { ...now, takenBack: takenBack() };
    }
  });

  function tabOf(id: string): Tab | undefined {
    return documents.tabs.peek().find((tab) => tab.id === id);
  }

  /** The open document of a file, also one that was opened after the preview. */
  function tabFor(file: SetFile): Tab | undefined {
    const { documentId, path } = file;
    return documentId === ""
      ? documents.tabs.peek().find((tab) => tab.info.peek().path === path)
      : tabOf(documentId);
  }

  /** Begins to follow a document that was opened after the preview, when it is first changed. */
  function followLate(tab: Tab, tr: Transaction): void {
    const file = view.peek()?.set.files.find((f) => f.documentId === "" && tabFor(f) === tab);
    const was = tr.startState;
    if (file?.edits.every((edit) => was.sliceDoc(edit.from, edit.to) === edit.old)) {
      tracks.set(tab.id, trackOf(was));
    }
  }

  /** The edits whose text is another than at the preview. */
  function changedOf(set: ReviewedSet): EditsByPath {
    const changed = new Map<string, ReadonlySet<number>>();
    for (const file of set.files) {
      const tab = tabFor(file);
      const track = tracks.get(tab?.id ?? "");
      if (file.problem !== "" || (file.documentId === "" && track === undefined)) {
        continue;
      }
      const ranges = track && tab ? rangesOf(track, tab) : null;
      const touched = [...file.edits.keys()].filter((i) => {
        const edit = file.edits[i];
        return ranges === null || (edit !== undefined && isTouched(edit, ranges));
      });
      if (touched.length > 0) {
        changed.set(file.path, new Set(touched));
      }
    }
    return changed;
  }

  /** The paths of documents in which nothing of the set is left. */
  function takenBack(): ReadonlySet<string> {
    return new Set(
      [...made].flatMap(([id, { path }]) => {
        const tab = tabOf(id);
        return tab !== undefined && isTakenBack(id, tab) ? [path] : [];
      }),
    );
  }

  function isTakenBack(id: string, tab: Tab): boolean {
    const what = made.get(id);
    if (what === undefined || what.since.total.empty) {
      return false;
    }
    const ranges = rangesOf(what.since, tab);
    const { doc } = tab.state();
    return what.inverse.every(({ from, to, insert }) => {
      const [a, b] = [mapPosition(ranges, from, -1), mapPosition(ranges, to, 1)];
      return b - a === insert.length && doc.sliceString(a, b) === insert;
    });
  }

  function update(change: Partial<SetView>): void {
    if (view.peek() !== null) {
      view.value = { ...view.peek(), ...change } as SetView;
    }
  }

  function refuse(reason: unknown, undoing: boolean): void {
    const error = decodeError(reason);
    update({ status: undoing ? "applied" : "review", refusal: { error, undoing } });
  }

  /** Ends what is shown. The host forgets a set that was not applied. */
  function end(): void {
    const now = view.peek();
    tracks.clear();
    made.clear();
    view.value = null;
    if (now !== null && now.set.state === "open") {
      backend.workspace.DropSet(now.set.id).catch(() => {});
    }
  }

  /** The open documents that a set has to do with, with everything typed in them at the host. */
  async function settle(paths: ReadonlySet<string>, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const clean = new Set<string>();
    for (const tab of documents.tabs.peek()) {
      if (!ids.has(tab.id) && !paths.has(tab.info.peek().path)) {
        continue;
      }
      await documents.flush(tab.id);
      if (!tab.dirty.peek()) {
        clean.add(tab.id);
      }
      if (!tracks.has(tab.id)) {
        tracks.set(tab.id, startTrack(tab));
      }
    }
    return clean;
  }

  /** Makes the host's edits of one document, where the text has not been changed since. */
  function makeEdits({ id, version, edits }: DocumentEdits): { made: number; gaveWay: number } {
    const tab = tabOf(id);
    const track = tracks.get(id);
    const since = track && sinceVersion(track, version);
    if (tab === undefined || since === undefined || since === null || tab.state().readOnly) {
      return { made: 0, gaveWay: edits.length };
    }
    const ranges = changedRanges(since.text, tab.state().doc, since.changes);
    const fitting = edits.filter((edit) => !isTouched(edit, ranges));
    const inverse = transact(
      id,
      fitting.map((edit) => mapEdit(edit, ranges)),
      "input.set",
    );
    made.set(id, { path: tab.info.peek().path, inverse, since: startTrack(tab) });
    return { made: fitting.length, gaveWay: edits.length - fitting.length };
  }

  /** One undoable step of its own; gives the edits that take it back. */
  function transact(id: string, edits: readonly Edit[], userEvent: string): readonly Edit[] {
    const inverse: Edit[] = [];
    const off = documents.watch((tab, tr) => {
      if (tab.id === id) {
        tr.changes.iterChanges((fromA, toA, fromB, toB) => {
          inverse.push({ from: fromB, to: toB, insert: tr.startState.sliceDoc(fromA, toA) });
        }, true);
      }
    });
    try {
      documents.change(id, { changes: [...edits], annotations: isolateHistory.of("full"), userEvent });
    } finally {
      off();
    }
    return inverse;
  }

  /** Saves the documents that had no unsaved text before; a refusal is shown by the document itself. */
  async function saveAll(ids: Iterable<string>): Promise<void> {
    for (const id of ids) {
      await documents.save(id).catch(() => {});
    }
  }

  /** Follows the open documents that a set's edits are for, from the versions they are for. */
  function followDocuments(set: ReviewedSet): void {
    tracks.clear();
    for (const file of set.files) {
      const tab = tabOf(file.documentId);
      if (tab !== undefined && versionOf(tab.state()) === file.version) {
        tracks.set(tab.id, startTrack(tab));
      }
    }
  }

  /** Whether a document of the set has had any change since, be it beside the edits. */
  function hasMoved(set: ReviewedSet): boolean {
    return set.files.some((file) => {
      const tab = tabFor(file);
      if (tab === undefined) {
        return false;
      }
      const late = tracks.get(tab.id)?.total.empty === false;
      return file.documentId === "" ? late : versionOf(tab.state()) !== file.version;
    });
  }

  /** Names an edit by what it does and where that is now. */
  function nameOf(path: string, { from, to, insert }: Edit): string {
    return JSON.stringify([path, from, to, insert]);
  }

  /** The ticked edits, named by where they are in the texts now. */
  function tickedNow(now: SetView): ReadonlySet<string> {
    return new Set(
      ticksOf(now).flatMap(({ path, edits }) => {
        const file = now.set.files.find((f) => f.path === path);
        const tab = file && tabFor(file);
        const track = tracks.get(tab?.id ?? "");
        const ranges = tab && track ? rangesOf(track, tab) : [];
        return edits.flatMap((i) => {
          const edit = file?.edits[i];
          return edit === undefined ? [] : [nameOf(path, mapEdit(edit, ranges))];
        });
      }),
    );
  }

  /**
   * Makes the set anew for the texts as they are. Only what was ticked before is
   * ticked again: nothing is applied that the person has not seen.
   */
  async function renew(now: SetView): Promise<SetView | null> {
    const fresh = await makeAnew(now.set);
    if (fresh === null) {
      return null;
    }
    const ticked = tickedNow(now);
    const unticked = new Map<string, ReadonlySet<number>>();
    for (const file of fresh.files) {
      const off = [...file.edits.keys()].filter((i) => {
        const edit = file.edits[i];
        return edit !== undefined && !ticked.has(nameOf(file.path, edit));
      });
      unticked.set(file.path, new Set(off));
    }
    backend.workspace.DropSet(now.set.id).catch(() => {});
    followDocuments(fresh);
    const next = { ...reviewSet(fresh, changedOf(fresh)), unticked, status: now.status };
    view.value = next;
    return next;
  }

  /** Asks for the set again; null when it is not needed any more, since the move was made. */
  async function makeAnew(set: ReviewedSet): Promise<ReviewedSet | null> {
    if (set.kind !== "move") {
      if (options.again === undefined) {
        throw new BackendError("stale");
      }
      return options.again();
    }
    const result = await backend.workspace.Move({ from: set.from, to: set.to, keepLinks: false });
    return result.moved ? null : result.set;
  }

  function isEmpty(now: SetView): boolean {
    return ticksOf(now).length === 0 && now.set.kind !== "move";
  }

  async function apply(): Promise<void> {
    let now = view.peek();
    if (now?.status !== "review" || isEmpty(now)) {
      return;
    }
    update({ status: "applying", refusal: null });
    now = { ...now, status: "applying", refusal: null };
    try {
      for (let turn = 1; ; turn++) {
        const paths = new Set(now.set.files.map((file) => file.path));
        const ids = new Set(now.set.files.map((file) => file.documentId).filter((id) => id !== ""));
        const clean = await settle(paths, ids);
        try {
          if (hasMoved(now.set)) {
            throw new BackendError("stale");
          }
          await applyOnce(now, clean);
          return;
        } catch (error) {
          // Somebody types on: the host knows the texts by their versions only.
          const isStale = error instanceof BackendError && error.code === "stale";
          if (!isStale || turn > mostTurns) {
            throw error;
          }
        }
        now = await renew(now);
        if (now === null) {
          end();
          options.onChanged?.();
          return;
        }
        if (isEmpty(now)) {
          throw new BackendError("stale");
        }
      }
    } catch (error) {
      refuse(error, false);
    }
  }

  async function applyOnce(now: SetView, clean: ReadonlySet<string>): Promise<void> {
    const ticked = ticksOf(now);
    const result = await backend.workspace.ApplySet({
      page: documents.page.peek(),
      id: now.set.id,
      ticked,
    });
    const counts = result.documents.map(makeEdits);
    tracks.clear();
    const gaveWay = counts.reduce((sum, count) => sum + count.gaveWay, 0);
    const edits = ticked.reduce((sum, file) => sum + file.edits.length, 0) - gaveWay;
    update({
      set: { ...now.set, state: "applied" },
      status: "applied",
      takenBack: new Set(),
      receipt: { edits, files: ticked.length, gaveWay },
    });
    await saveAll(result.documents.map(({ id }) => id).filter((id) => clean.has(id)));
    options.onChanged?.();
  }

  async function undo(): Promise<void> {
    const now = view.peek();
    if (now?.status !== "applied") {
      return;
    }
    update({ status: "undoing", refusal: null });
    try {
      const left = [...made].filter(([id]) => {
        const tab = tabOf(id);
        return tab !== undefined && !isTakenBack(id, tab);
      });
      const touched = left.find(([id, { inverse, since }]) => {
        const tab = tabOf(id);
        const ranges = tab ? rangesOf(since, tab) : [];
        return inverse.some((edit) => isTouched(edit, ranges) || isSplit(edit, ranges));
      });
      if (touched !== undefined) {
        throw new BackendError("stale", tabOf(touched[0])?.info.peek().name ?? "");
      }
      const clean: string[] = [];
      for (const [id] of left) {
        await documents.flush(id);
        if (tabOf(id)?.dirty.peek() === false) {
          clean.push(id);
        }
      }
      // A file that was written may have been opened since: the host has to know of unsaved text.
      const paths = new Set(now.set.files.map((file) => file.path));
      await settle(paths, new Set());
      tracks.clear();
      await backend.workspace.UndoSet(documents.page.peek(), now.set.id);
      for (const [id, { inverse, since }] of left) {
        const tab = tabOf(id);
        if (tab !== undefined) {
          const ranges = rangesOf(since, tab);
          const fitting = inverse.filter((edit) => !isTouched(edit, ranges));
          transact(
            id,
            fitting.map((edit) => mapEdit(edit, ranges)),
            "input.set.undo",
          );
        }
      }
      made.clear();
      update({ set: { ...now.set, state: "undone" }, status: "undone", takenBack: new Set() });
      await saveAll(clean);
      options.onChanged?.();
    } catch (error) {
      refuse(error, true);
    }
  }

  /** Makes the move of a set and leaves all links as they are. */
  async function moveOnly(): Promise<void> {
    const now = view.peek();
    if (now?.status !== "review" || now.set.kind !== "move") {
      return;
    }
    update({ status: "applying", refusal: null });
    try {
      await backend.workspace.Move({ from: now.set.from, to: now.set.to, keepLinks: true });
      end();
      options.onChanged?.();
    } catch (error) {
      refuse(error, false);
    }
  }

  async function again(): Promise<void> {
    const now = view.peek();
    if (now === null) {
      return;
    }
    try {
      const fresh = await makeAnew(now.set);
      if (fresh === null) {
        end();
        options.onChanged?.();
      } else {
        sets.show(fresh, options);
      }
    } catch (error) {
      refuse(error, false);
    }
  }

  const sets: Sets = {
    view,
    at,
    collapsed,
    show: (set, told = {}) => {
      end();
      options = told;
      at.value = "";
      collapsed.value = new Set();
      followDocuments(set);
      view.value = reviewSet(set, changedOf(set));
      config.reveal(set);
    },
    planned: (tab) => {
      const now = view.peek();
      const file = now?.set.files.find((f) => tabFor(f) === tab);
      if (now === null || file === undefined || (now.status !== "review" && now.status !== "applying")) {
        return [];
      }
      const track = tracks.get(tab.id);
      const { doc } = tab.state();
      const ranges = track ? rangesOf(track, tab) : [];
      return [...file.edits.entries()].flatMap(([i, edit]) => {
        if (!isTicked(now, file.path, i)) {
          return [];
        }
        const placed = mapEdit(edit, ranges);
        const fits = doc.sliceString(placed.from, placed.to) === edit.old;
        return fits ? [{ key: rowKey(file.path, i), edit: placed }] : [];
      });
    },
    tickEdit: (path, edit, on) => {
      const now = view.peek();
      if (now?.status === "review") {
        view.value = tickEdit(now, path, edit, on);
      }
    },
    tickFile: (path, on) => {
      const now = view.peek();
      if (now?.status === "review") {
        view.value = tickFile(now, path, on);
      }
    },
    apply,
    undo,
    moveOnly,
    again: () => void again(),
    close: end,
  };
  return sets;
}

function startTrack(tab: Tab): Track {
  return trackOf(tab.state());
}

function trackOf(state: EditorState): Track {
  return {
    version: versionOf(state),
    text: state.doc,
    steps: [],
    total: ChangeSet.empty(state.doc.length),
  };
}

function follow(track: Track, tr: Transaction): void {
  track.steps.push(tr.changes);
  track.total = track.total.compose(tr.changes);
}

/** The reduced changes since a track began. */
function rangesOf(track: Track, tab: Tab): readonly ChangedRange[] {
  return changedRanges(track.text, tab.state().doc, track.total);
}

/** The text at a version that a track has seen, and what changed since; null for any other. */
function sinceVersion(
  track: Track,
  version: number,
): { readonly text: Text; readonly changes: ChangeSet } | null {
  const skip = version - track.version;
  if (skip < 0 || skip > track.steps.length) {
    return null;
  }
  const text = track.steps.slice(0, skip).reduce((doc, step) => step.apply(doc), track.text);
  const changes = track.steps
    .slice(skip)
    .reduce((all, step) => all.compose(step), ChangeSet.empty(text.length));
  return { text, changes };
}

/** Whether something was typed into the middle of what an edit takes back. */
function isSplit(edit: Edit, ranges: readonly ChangedRange[]): boolean {
  return ranges.some((range) => range.fromA > edit.from && range.toA < edit.to);
}
