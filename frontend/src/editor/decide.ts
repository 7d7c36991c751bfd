/**
 * Deciding hunks. One accept action is one transaction and one undo, checked
 * before it is dispatched (P4, P9).
 */

import { isolateHistory } from "@codemirror/commands";
import type { Extension, StateEffect, Text, Transaction } from "@codemirror/state";
import { Annotation } from "@codemirror/state";
import type { Command, ViewUpdate } from "@codemirror/view";
import { EditorView } from "@codemirror/view";
import type { ChangedRange, Edit } from "../text";
import { isTouched } from "../text";
import { versionOf } from "./base";
import { isComposing } from "./composition";
import type { Decided } from "./review";
import { decideHunks, keptReview, makeCurrent, reviewOf, tellReview, tickHunk } from "./review";
import type { HunkView, Outcome, ReviewRequest, ReviewView } from "./standing";
import { isOpen } from "./standing";

/** What an accept action found identical, on the transaction that made it. */
interface Receipt {
  /** The id of the first review that hunks were accepted of. */
  readonly id: string;
  readonly accepted: number;
  readonly identicalUnits: number;
  readonly identicalBytes: number;
}

const receipt = Annotation.define<Receipt>();

/** Makes the next open hunk current and shows it. */
export const nextHunk: Command = (view) => step(view, 1);

/** Makes the previous open hunk current and shows it. */
export const previousHunk: Command = (view) => step(view, -1);

/**
 * Accepts the current hunk, locked or not, and goes to the next. A stale one is
 * refused, and one of a cut-off answer unless it was ticked by hand.
 */
export const acceptHunk: Command = (view) => onCurrent(view, (review, hunk) => accept(view, review, [hunk]));

/** Rejects the current hunk and goes to the next. The text stays as it is. */
export const rejectHunk: Command = (view) => onCurrent(view, (review, hunk) => reject(view, review, [hunk]));

/**
 * Accepts all ticked hunks that are not stale, in one transaction. Where two
 * proposals change the same words the first one of them is taken, and the other
 * is stale then.
 */
export const acceptTicked: Command = (view) => {
  const review = idle(view);
  if (review === null) return false;
  const hunks = review.hunks.filter((hunk) => isOpen(hunk) && hunk.ticked && hunk.status !== "stale");
  if (hunks.length > 0) accept(view, review, apart(hunks));
  return true;
};

/** Hunks without those that change what one before them changes. */
function apart(hunks: readonly HunkView[]): readonly HunkView[] {
  const taken: HunkView[] = [];
  let ranges: readonly ChangedRange[] = [];
  for (const hunk of hunks) {
    if (hunk.edits.some((edit) => isTouched(edit, ranges))) continue;
    taken.push(hunk);
    const own = hunk.edits.map(({ from, to }) => ({ fromA: from, toA: to, fromB: from, toB: to }));
    ranges = [...ranges, ...own].sort((a, b) => a.fromA - b.fromA || a.toA - b.toA);
  }
  return taken;
}

/** Rejects all hunks that are still open. */
export const rejectAll: Command = (view) => {
  const review = idle(view);
  if (review === null) return false;
  const hunks = review.hunks.filter(isOpen);
  if (hunks.length > 0) reject(view, review, hunks);
  return true;
};

/** Ticks or unticks the current hunk. */
export const toggleTick: Command = (view) =>
  onCurrent(view, (_review, hunk) => view.dispatch({ effects: tickHunk(hunk.id, !hunk.ticked) }));

/** Ticks or unticks the hunk with this id. */
export function setTicked(view: EditorView, hunk: string, ticked: boolean): void {
  const review = idle(view);
  if (review?.hunks.some((h) => h.id === hunk && isOpen(h)))
    view.dispatch({ effects: tickHunk(hunk, ticked) });
}

/** Makes the open hunk with this id current and shows it. */
export function goToHunk(view: EditorView, hunk: string): void {
  const found = idle(view)?.hunks.find((h) => h.id === hunk && isOpen(h));
  if (found !== undefined) go(view, found);
}

/** Asks the owner for something the editor cannot do; false when the owner does not do it. */
export function request(view: EditorView, what: ReviewRequest): boolean {
  const review = idle(view);
  const id = review?.hunks.find((hunk) => hunk.id === review.current)?.review ?? review?.id;
  if (review === null || id === undefined || !canDo(view, id, what)) return false;
  tellReview(view, { type: "requested", id, hunk: review.current, request: what });
  return true;
}

function canDo(view: EditorView, id: string, what: ReviewRequest): boolean {
  return keptReview(view.state, id)?.requests?.includes(what) === true;
}

/** Tells the listeners what transactions did to reviews; undo and redo count as well. */
export function reviewEvents(): Extension {
  return EditorView.updateListener.of((update) => {
    for (const tr of update.transactions) tellDecisions(update, tr);
    const before = reviewOf(update.startState);
    const after = reviewOf(update.state);
    if (before !== after) tellReview(update.view, { type: "changed", review: after });
    if (after?.finished === true && before?.finished === false && isSame(before, after)) {
      const count = (outcome: Outcome): number =>
        after.hunks.filter((hunk) => hunk.status === outcome).length;
      const { id } = after;
      tellReview(update.view, {
        type: "finished",
        id,
        accepted: count("accepted"),
        rejected: count("rejected"),
      });
    }
  });
}

/** Whether one view follows the other, and is not of something else. */
function isSame(before: ReviewView, after: ReviewView): boolean {
  return after.ids.some((id) => before.ids.includes(id));
}

function tellDecisions({ view }: ViewUpdate, tr: Transaction): void {
  for (const effect of tr.effects) {
    if (!effect.is(decideHunks)) continue;
    const { id, decisions } = effect.value;
    const version = versionOf(tr.state);
    const made = decisions.flatMap(({ hunk, to }) => (to === "open" ? [] : [{ id: hunk, outcome: to }]));
    const taken = decisions.flatMap(({ hunk, to }) => (to === "open" ? [{ id: hunk, outcome: to }] : []));
    if (made.length > 0) tellReview(view, { type: "decided", id, decisions: made, version });
    if (taken.length > 0) tellReview(view, { type: "reopened", id, decisions: taken, version });
  }
  const what = tr.annotation(receipt);
  if (what !== undefined) tellReview(view, { type: "receipt", ...what });
}

/** The review that is shown, unless an input method is at work. */
function idle(view: EditorView): ReviewView | null {
  return isComposing(view) ? null : reviewOf(view.state);
}

function onCurrent(view: EditorView, act: (review: ReviewView, hunk: HunkView) => void): boolean {
  const review = idle(view);
  const hunk = review?.hunks.find((h) => h.id === review.current);
  if (review === null || hunk === undefined) return false;
  act(review, hunk);
  return true;
}

function step(view: EditorView, by: 1 | -1): boolean {
  const review = idle(view);
  const open = review?.hunks.filter(isOpen) ?? [];
  if (open.length === 0) return false;
  const at = open.findIndex((hunk) => hunk.id === review?.current);
  const next = open[(at + by + open.length) % open.length];
  if (next !== undefined) go(view, next);
  return true;
}

/** Makes a hunk current without moving it on the screen when it can be seen. */
function go(view: EditorView, hunk: HunkView): void {
  const words = keptReview(view.state, hunk.review)?.labels.position(hunk) ?? "";
  const stay = keepInPlace(view, hunk.from);
  view.dispatch({
    effects: [
      makeCurrent(hunk.id),
      EditorView.announce.of(words),
      ...(stay === null ? [EditorView.scrollIntoView(hunk.from, { y: "center" })] : []),
    ],
    userEvent: "select.hunk",
  });
  stay?.(hunk.from);
}

function reject(view: EditorView, review: ReviewView, hunks: readonly HunkView[]): void {
  const tr = view.state.update({
    effects: deciding(hunks, "rejected"),
    annotations: isolateHistory.of("full"),
    userEvent: "review.reject",
  });
  decide(view, review, hunks, tr);
}

type Refusal = "stale" | "fidelity" | "cut_off";

function accept(view: EditorView, review: ReviewView, hunks: readonly HunkView[]): void {
  if (view.state.readOnly) return;
  const tr = acceptTransaction(view, hunks);
  if (typeof tr !== "string") {
    decide(view, review, hunks, tr);
    return;
  }
  const id = hunks[0]?.review ?? review.id;
  tellReview(view, { type: "refused", id, hunks: hunks.map((hunk) => hunk.id), reason: tr });
}

/** The transaction that accepts hunks, or why there is none. */
function acceptTransaction(view: EditorView, hunks: readonly HunkView[]): Transaction | Refusal {
  if (hunks.some((hunk) => hunk.status === "stale")) return "stale";
  if (hunks.some((hunk) => hunk.cutOff && !hunk.ticked)) return "cut_off";
  // A stable sort: the order of hunks stands for insertions at one place.
  const changes = hunks.flatMap((hunk) => hunk.edits).sort((a, b) => a.from - b.from || a.to - b.to);
  const kept = keptParts(view.state.doc, changes);
  // What the filters of the editor make of it is checked, not what was meant,
  // and nothing else than what was checked is dispatched.
  const tr = view.state.update({
    changes,
    effects: deciding(hunks, "accepted"),
    annotations: [
      isolateHistory.of("full"),
      receipt.of({
        id: hunks[0]?.review ?? "",
        accepted: hunks.length,
        identicalUnits: kept.reduce((sum, part) => sum + part.length, 0),
        identicalBytes: kept.reduce((sum, part) => sum + byteLength(part), 0),
      }),
    ],
    userEvent: "input.ai",
  });
  const faithful = deletesWhatWasProposed(view, hunks) && isFaithful(kept, changes, tr.newDoc);
  return faithful ? tr : "fidelity";
}

/** The effects that decide open hunks, one for each of their reviews. */
function deciding(hunks: readonly HunkView[], to: Outcome): StateEffect<Decided>[] {
  const ids = [...new Set(hunks.map((hunk) => hunk.review))];
  return ids.map((id) => {
    const own = hunks.filter((hunk) => hunk.review === id);
    return decideHunks.of({ id, decisions: own.map((hunk) => ({ hunk: hunk.id, from: "open", to })) });
  });
}

/** Dispatches a decision; the next hunk stays where it is on the screen, or comes into sight. */
function decide(view: EditorView, review: ReviewView, hunks: readonly HunkView[], tr: Transaction): void {
  const at = review.hunks.findIndex((hunk) => hunk.id === review.current);
  const order = [...review.hunks.slice(Math.max(at, 0)), ...review.hunks.slice(0, Math.max(at, 0))];
  const next = order.find((hunk) => isOpen(hunk) && !hunks.includes(hunk));
  const stay = next === undefined ? null : keepInPlace(view, next.from);
  view.dispatch(tr);
  const now = reviewOf(view.state);
  const found = now && isSame(review, now) ? now.hunks.find((hunk) => hunk.id === now.current) : undefined;
  if (found === undefined) return;
  if (stay !== null) stay(found.from);
  else view.dispatch({ effects: EditorView.scrollIntoView(found.from, { y: "nearest", yMargin: 64 }) });
}

/** The parts of a text that sorted edits leave as they are: one more than there are edits. */
function keptParts(before: Text, edits: readonly Edit[]): readonly Text[] {
  const starts = [0, ...edits.map((edit) => edit.to)];
  return starts.map((from, i) => before.slice(from, edits[i]?.from ?? before.length));
}

/** Whether `after` is the kept parts with the inserts between them, and nothing else (P9). */
function isFaithful(kept: readonly Text[], edits: readonly Edit[], after: Text): boolean {
  let at = 0;
  for (const [i, part] of kept.entries()) {
    const end = at + part.length;
    if (end > after.length || !part.eq(after.slice(at, end))) return false;
    const insert = edits[i]?.insert ?? "";
    if (after.sliceString(end, end + insert.length) !== insert) return false;
    at = end + insert.length;
  }
  return at === after.length;
}

/** The length of `text` in UTF-8. */
function byteLength(text: Text): number {
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const piece of text.iter()) bytes += encoder.encode(piece).length;
  return bytes;
}

/** Whether the words about to be deleted are those of the proposal. */
function deletesWhatWasProposed(view: EditorView, hunks: readonly HunkView[]): boolean {
  return hunks.every((hunk) => {
    const review = keptReview(view.state, hunk.review);
    const proposed = review?.hunks.find((h) => h.id === hunk.id)?.edits ?? [];
    return (
      proposed.length === hunk.edits.length &&
      hunk.edits.every((edit, i) => {
        const from = proposed[i];
        if (review === null || from === undefined || from.insert !== edit.insert) return false;
        return view.state.sliceDoc(edit.from, edit.to) === review.base.sliceString(from.from, from.to);
      })
    );
  });
}

/**
 * Prepares to leave a line where it is on the screen while lines appear and
 * vanish above it; the result is told its position afterwards. Null when it is
 * not in sight.
 */
function keepInPlace(view: EditorView, position: number): ((now: number) => void) | null {
  const before = view.coordsAtPos(position);
  const box = view.scrollDOM.getBoundingClientRect();
  // The toolbar comes below it and has to fit too.
  if (before === null || before.top < box.top || before.bottom + 64 > box.bottom) return null;
  return (now) =>
    view.requestMeasure({
      read: () => view.coordsAtPos(Math.min(now, view.state.doc.length))?.top ?? before.top,
      write: (top) => {
        if (top !== before.top) view.scrollDOM.scrollTop += top - before.top;
      },
    });
}
