/**
 * The review of proposals: which hunks stand where in the text now, and what
 * was decided. State only; what is shown is in marks.ts, what is done in
 * decide.ts. Several proposals can be kept, one of them is shown.
 */

import { invertedEffects } from "@codemirror/commands";
import type { EditorState, Extension, Text, Transaction } from "@codemirror/state";
import { ChangeSet, Facet, StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { ChangedRange, Edit } from "../text";
import { checkEdits, isTouched, mapEdit, mapPosition } from "../text";
import { changedRanges, sliceable } from "./changes";
import { isComposing } from "./composition";

/** What became of a hunk. Open means undecided, or that an undo took the decision back. */
export type Outcome = "open" | "accepted" | "rejected";

/**
 * How a hunk stands: `moved` when typing elsewhere moved it, `stale` when the
 * person changed the very text it is about. A stale one that is undone to its
 * text comes back by itself (P3).
 */
export type HunkStatus = "clean" | "moved" | "stale" | "accepted" | "rejected";

/** Where a hunk is among the others, for words about it. */
export interface HunkPlace {
  /** From 1. */
  readonly number: number;
  readonly total: number;
  /** The kinds of things it changes (P10), as the host names them. */
  readonly warnings: readonly string[];
}

/** What asks somebody else to act on a hunk or its proposal. */
export type ReviewRequest = "regenerate" | "continue" | "next_version" | "previous_version" | "reject_all";

/** The words of a review; the editor has none of its own. */
export interface ReviewLabels {
  /** "inserted, change 2 of 7, a number changes": read out before the words themselves. */
  spoken(kind: "inserted" | "deleted" | "stale", place: HunkPlace): string;
  /** "2 of 7" */
  position(place: HunkPlace): string;
  /** "A number changes: 1,240 to 1,420" */
  reason(place: HunkPlace, deleted: string, inserted: string): string;
  /** Name of the toolbar: "Change 2 of 7" */
  toolbar(place: HunkPlace): string;
  /** "You changed this text" */
  readonly stale: string;
  /** "Moved with your typing" */
  readonly moved: string;
  /** "The answer was cut off" */
  readonly cutOff: string;
  readonly accept: string;
  readonly reject: string;
  readonly previous: string;
  readonly next: string;
  readonly regenerate: string;
  readonly continue: string;
}

/** A hunk of a proposal: adjacent edits of the base that are decided together. */
export interface ReviewHunk {
  /** Unique within the proposal. */
  readonly id: string;
  readonly edits: readonly Edit[];
  readonly warnings: readonly string[];
}

/** A proposal to be reviewed. */
export interface ReviewInput {
  readonly id: string;
  /** The text the hunks' edits refer to. */
  readonly base: Text;
  /** From `base` to the text now. */
  readonly changes: ChangeSet;
  readonly hunks: readonly ReviewHunk[];
  /** The answer broke off: nothing starts ticked and there is no plain accept (P7). */
  readonly cutOff: boolean;
  readonly labels: ReviewLabels;
  /** What the caller can do when asked; buttons and keys of the others are not there. */
  readonly requests?: readonly ReviewRequest[];
}

/** A hunk as it stands now. */
export interface HunkView extends HunkPlace {
  readonly id: string;
  readonly status: HunkStatus;
  readonly ticked: boolean;
  /** The range it covers in the text now. */
  readonly from: number;
  readonly to: number;
  /** Its edits on the text now; empty unless it is clean or moved. */
  readonly edits: readonly Edit[];
  /** The words it takes out and puts in, as proposed. */
  readonly deleted: string;
  readonly inserted: string;
}

/** A review as it stands now. Equal views are one object. */
export interface ReviewView {
  readonly id: string;
  readonly cutOff: boolean;
  readonly hunks: readonly HunkView[];
  /** The id of the current hunk; null when none is left. */
  readonly current: string | null;
  /** Whether every hunk is decided. */
  readonly finished: boolean;
}

/** What a review tells its owner. */
export type ReviewEvent =
  | { readonly type: "changed"; readonly review: ReviewView | null }
  | {
      readonly type: "decided";
      readonly id: string;
      readonly decisions: readonly { readonly id: string; readonly outcome: "accepted" | "rejected" }[];
      /** The document's version after the decision. */
      readonly version: number;
    }
  | {
      readonly type: "reopened";
      readonly id: string;
      readonly decisions: readonly { readonly id: string; readonly outcome: "open" }[];
      readonly version: number;
    }
  | {
      readonly type: "receipt";
      readonly id: string;
      /** How many hunks were accepted by this action. */
      readonly accepted: number;
      /** How much text outside of them was compared and found identical (P9): UTF-16 units, and bytes as UTF-8. */
      readonly identicalUnits: number;
      readonly identicalBytes: number;
    }
  | {
      readonly type: "refused";
      readonly id: string;
      readonly hunks: readonly string[];
      readonly reason: "stale" | "fidelity" | "cut_off";
    }
  | {
      readonly type: "requested";
      readonly id: string;
      readonly hunk: string | null;
      readonly request: ReviewRequest;
    }
  | { readonly type: "finished"; readonly id: string; readonly accepted: number; readonly rejected: number };

/** Who hears of a review's events. Called after the view has its new state. */
export const reviewListener = Facet.define<(event: ReviewEvent, view: EditorView) => void>();

/** Tells the listeners. */
export function tellReview(view: EditorView, event: ReviewEvent): void {
  for (const listener of view.state.facet(reviewListener)) listener(event, view);
}

/** A review kept by the field, shown or not. */
export interface Review extends ReviewInput {
  /** The words of each hunk, by its id. */
  readonly words: ReadonlyMap<string, { readonly deleted: string; readonly inserted: string }>;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly ticked: ReadonlySet<string>;
  readonly current: string | null;
  /** The accepts that undo can still take back, oldest first. */
  readonly accepts: readonly Accept[];
}

/**
 * An accept, and what was known before it. Composed changes forget which of two
 * equal words a person deleted once an accept has deleted the other as well; so
 * undoing it goes back to what was known, with what else happened since.
 */
interface Accept {
  /** The hunks that were accepted together. */
  readonly hunks: readonly string[];
  readonly changes: ChangeSet;
  readonly accepts: readonly Accept[];
  /** The text before it, and all changes from there to now. */
  readonly text: Text;
  readonly since: ChangeSet;
}

interface Reviews {
  readonly kept: readonly Review[];
  /** The id of the one that is shown. */
  readonly shown: string | null;
  readonly view: ReviewView | null;
}

/** One hunk's outcome before and after; undo swaps them. */
export interface Decision {
  readonly hunk: string;
  readonly from: Outcome;
  readonly to: Outcome;
}

/** Decides hunks. Belongs to the transaction that makes their edits. */
export const decideHunks = StateEffect.define<{
  readonly id: string;
  readonly decisions: readonly Decision[];
}>();

const openEffect = StateEffect.define<ReviewInput>();
const closeEffect = StateEffect.define<null>();
const currentEffect = StateEffect.define<string>();
const tickEffect = StateEffect.define<{ readonly hunk: string; readonly ticked: boolean }>();

/** Says that a composition is open, so that nothing in the text is redrawn before its end (D11). */
export const holdMarks = StateEffect.define<null>();

/** How many reviews are kept that are not shown, for undo and for going back to a version. */
const mostKept = 20;

/** How many accepts of a review are remembered for undo. */
const mostAccepts = 50;

const reviewField = StateField.define<Reviews>({
  create: () => ({ kept: [], shown: null, view: null }),
  update: (value, tr) => {
    if (!tr.docChanged && !tr.effects.some(isReviewEffect)) return value;
    let { kept, shown } = value;
    const before = kept;
    if (tr.docChanged) kept = kept.map((r) => followed(r, tr.changes));
    for (const effect of tr.effects) {
      if (effect.is(openEffect)) {
        const known = kept.find((r) => r.id === effect.value.id);
        const review = known === undefined ? fresh(effect.value) : { ...known, ...labelsOf(effect.value) };
        kept = [...kept.filter((r) => r.id !== review.id), review].slice(-mostKept - 1);
        shown = review.id;
      } else if (effect.is(closeEffect)) {
        // One with decisions stays for undo to reopen.
        kept = kept.filter((r) => r.id !== shown || [...r.outcomes.values()].some((o) => o !== "open"));
        shown = null;
      } else if (effect.is(decideHunks)) {
        const { id, decisions } = effect.value;
        kept = kept.map((r) => {
          if (r.id !== id) return r;
          const known = before.find((b) => b.id === id) ?? r;
          return decided(remembered(r, known, decisions, tr), decisions);
        });
        const reopened = decisions.some((d) => d.to === "open") && kept.some((r) => r.id === id);
        if (reopened && (shown === null || isFinished(kept.find((r) => r.id === shown)))) shown = id;
      } else if (effect.is(currentEffect)) {
        kept = kept.map((r) => (r.id === shown ? { ...r, current: effect.value } : r));
      } else if (effect.is(tickEffect)) {
        kept = kept.map((r) => (r.id === shown ? ticked(r, effect.value.hunk, effect.value.ticked) : r));
      }
    }
    const review = kept.find((r) => r.id === shown);
    const view = review === undefined ? null : look(review, tr.newDoc);
    return { kept, shown, view: sameView(value.view, view) ? value.view : view };
  },
});

/** The state of reviews, with undo and redo of decisions. */
export function reviewState(): Extension {
  return [
    reviewField,
    invertedEffects.of((tr) =>
      tr.effects.flatMap((effect) => {
        if (!effect.is(decideHunks)) return [];
        const { id, decisions } = effect.value;
        return [
          decideHunks.of({
            id,
            decisions: decisions.map(({ hunk, from, to }) => ({ hunk, from: to, to: from })),
          }),
        ];
      }),
    ),
  ];
}

/**
 * Shows a proposal for review, in place of the one shown. One that is still
 * kept goes on with its decisions. Throws a RangeError when base and changes do
 * not lead to the text of the editor, or an edit does not fit the base.
 */
export function openReview(view: EditorView, input: ReviewInput): void {
  const { base, changes } = input;
  if (changes.length !== base.length || !changes.apply(base).eq(view.state.doc)) {
    throw new RangeError("the base and its changes do not lead to the text");
  }
  for (const hunk of input.hunks) {
    const problem = checkEdits(hunk.edits, sliceable(base));
    if (problem !== null) throw new RangeError(`hunk ${hunk.id} does not fit its base: ${problem}`);
  }
  const hold = isComposing(view) ? [holdMarks.of(null)] : [];
  view.dispatch({ effects: [openEffect.of(input), ...hold] });
}

/** Takes the marks away. Decisions that were made can still be undone, which shows the review again. */
export function closeReview(view: EditorView): void {
  const hold = isComposing(view) ? [holdMarks.of(null)] : [];
  if (reviewOf(view.state) !== null) view.dispatch({ effects: [closeEffect.of(null), ...hold] });
}

/**
 * Shows a review again that another one was shown in place of, with its
 * decisions. False when it is not kept.
 */
export function reopenReview(view: EditorView, id: string): boolean {
  const kept = view.state.field(reviewField, false)?.kept.find((r) => r.id === id);
  if (kept === undefined) return false;
  const hold = isComposing(view) ? [holdMarks.of(null)] : [];
  view.dispatch({ effects: [openEffect.of(kept), ...hold] });
  return true;
}

/** The review that is shown; null when there is none. */
export function reviewOf(state: EditorState): ReviewView | null {
  return state.field(reviewField, false)?.view ?? null;
}

/** The input and decisions behind the review that is shown. */
export function shownReview(state: EditorState): Review | null {
  const value = state.field(reviewField, false);
  return value?.kept.find((r) => r.id === value.shown) ?? null;
}

/** Whether the hunk waits for a decision. */
export function isOpen(hunk: HunkView): boolean {
  return hunk.status !== "accepted" && hunk.status !== "rejected";
}

/** The effect that makes a hunk of the shown review current. */
export function makeCurrent(hunk: string): StateEffect<unknown> {
  return currentEffect.of(hunk);
}

/** The effect that ticks or unticks a hunk of the shown review. */
export function tickHunk(hunk: string, ticked: boolean): StateEffect<unknown> {
  return tickEffect.of({ hunk, ticked });
}

function isReviewEffect(effect: StateEffect<unknown>): boolean {
  return (
    effect.is(openEffect) ||
    effect.is(closeEffect) ||
    effect.is(currentEffect) ||
    effect.is(tickEffect) ||
    effect.is(decideHunks)
  );
}

function fresh(input: ReviewInput): Review {
  const ticked = input.hunks.filter((hunk) => !input.cutOff && hunk.warnings.length === 0);
  return {
    ...input,
    words: new Map(input.hunks.map((hunk) => [hunk.id, wordsIn(input.base, hunk)])),
    outcomes: new Map(input.hunks.map((hunk) => [hunk.id, "open"])),
    ticked: new Set(ticked.map((hunk) => hunk.id)),
    current: input.hunks[0]?.id ?? null,
    accepts: [],
  };
}

/** A review after the text has changed. */
function followed(review: Review, changes: ChangeSet): Review {
  return {
    ...review,
    changes: review.changes.compose(changes),
    accepts: review.accepts.map((accept) => ({ ...accept, since: accept.since.compose(changes) })),
  };
}

/** Keeps what was known before an accept, or goes back to it when the accept is undone. */
function remembered(review: Review, before: Review, decisions: readonly Decision[], tr: Transaction): Review {
  const hunks = decisions.map((decision) => decision.hunk);
  if (decisions.some((decision) => decision.to === "accepted")) {
    const { changes, accepts } = before;
    const accept: Accept = { hunks, changes, accepts, text: tr.startState.doc, since: tr.changes };
    return { ...review, accepts: [...review.accepts, accept].slice(-mostAccepts) };
  }
  const undone = [...review.accepts].reverse().find((accept) => sameIds(accept.hunks, hunks));
  if (undone === undefined) return review;
  const ranges = changedRanges(undone.text, tr.newDoc, undone.since);
  const rest = ChangeSet.of(
    ranges.map((r) => ({ from: r.fromA, to: r.toA, insert: tr.newDoc.slice(r.fromB, r.toB) })),
    undone.text.length,
  );
  return followed({ ...review, changes: undone.changes, accepts: undone.accepts }, rest);
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}

function wordsIn(base: Text, hunk: ReviewHunk): { readonly deleted: string; readonly inserted: string } {
  return {
    deleted: hunk.edits.map((edit) => base.sliceString(edit.from, edit.to)).join(" "),
    inserted: hunk.edits.map((edit) => edit.insert).join(" "),
  };
}

/** What a proposal that is opened again brings anew. */
function labelsOf({ labels, requests }: ReviewInput): Partial<Review> {
  return requests === undefined ? { labels } : { labels, requests };
}

function decided(review: Review, decisions: readonly Decision[]): Review {
  const outcomes = new Map(review.outcomes);
  for (const { hunk, to } of decisions) if (outcomes.has(hunk)) outcomes.set(hunk, to);
  const reopened = decisions.find((d) => d.to === "open")?.hunk;
  const current = reopened ?? openFrom(review, outcomes);
  return { ...review, outcomes, current };
}

/** The current hunk while it is open, else the next open one behind it, else the first. */
function openFrom(review: Review, outcomes: ReadonlyMap<string, Outcome>): string | null {
  const at = review.hunks.findIndex((hunk) => hunk.id === review.current);
  const behind = [...review.hunks.slice(Math.max(at, 0)), ...review.hunks.slice(0, Math.max(at, 0))];
  return behind.find((hunk) => outcomes.get(hunk.id) === "open")?.id ?? null;
}

function ticked(review: Review, hunk: string, on: boolean): Review {
  const next = new Set(review.ticked);
  if (on) next.add(hunk);
  else next.delete(hunk);
  return { ...review, ticked: next };
}

function isFinished(review: Review | undefined): boolean {
  return review === undefined || [...review.outcomes.values()].every((outcome) => outcome !== "open");
}

/** How a review stands in the text now. */
function look(review: Review, now: Text): ReviewView {
  const ranges = changedRanges(review.base, now, review.changes);
  const accepted = acceptedEdits(review);
  let order = 0;
  const hunks = review.hunks.map((hunk, index) => {
    const edits = hunk.edits.map((edit) => ({ edit, order: order++ }));
    return lookAt(review, hunk, edits, index, ranges, accepted);
  });
  return {
    id: review.id,
    cutOff: review.cutOff,
    hunks,
    current: review.current,
    finished: isFinished(review),
  };
}

/** An edit and its place among all edits of its proposal. */
interface PlacedEdit {
  readonly edit: Edit;
  readonly order: number;
}

function acceptedEdits(review: Review): readonly PlacedEdit[] {
  const all = review.hunks.flatMap((hunk) => hunk.edits.map((edit) => ({ edit, hunk: hunk.id })));
  return all.flatMap(({ edit, hunk }, order) =>
    review.outcomes.get(hunk) === "accepted" ? [{ edit, order }] : [],
  );
}

function lookAt(
  review: Review,
  hunk: ReviewHunk,
  placed: readonly PlacedEdit[],
  index: number,
  ranges: readonly ChangedRange[],
  accepted: readonly PlacedEdit[],
): HunkView {
  const outcome = review.outcomes.get(hunk.id) ?? "open";
  const first = hunk.edits[0]?.from ?? 0;
  const last = hunk.edits.at(-1)?.to ?? 0;
  const about = {
    id: hunk.id,
    number: index + 1,
    total: review.hunks.length,
    warnings: hunk.warnings,
    ticked: review.ticked.has(hunk.id),
    ...(review.words.get(hunk.id) ?? { deleted: "", inserted: "" }),
  };
  if (outcome === "accepted") {
    const range = { from: mapPosition(ranges, first, -1), to: mapPosition(ranges, last, 1) };
    return { ...about, ...range, status: outcome, edits: [] };
  }
  const range = { from: outerPosition(ranges, first, -1), to: outerPosition(ranges, last, 1) };
  if (outcome === "rejected") return { ...about, ...range, status: outcome, edits: [] };
  if (hunk.edits.some((edit) => isTouched(edit, ranges)))
    return { ...about, ...range, status: "stale", edits: [] };
  const edits = placed.map((one) => mapEdit(one.edit, ranges, insertionSide(one, accepted)));
  const moved = placed.some((one, i) => edits[i]?.from !== expected(one, accepted));
  return {
    ...about,
    status: moved ? "moved" : "clean",
    edits,
    from: edits[0]?.from ?? 0,
    to: edits.at(-1)?.to ?? 0,
  };
}

/** An end of a range that may have been touched: outside of a change that covers it, tight elsewhere. */
function outerPosition(ranges: readonly ChangedRange[], position: number, side: -1 | 1): number {
  const covered = ranges.some((range) => range.fromA < position && position < range.toA);
  return mapPosition(ranges, position, covered === (side === -1) ? -1 : 1);
}

/**
 * Where an edit would start if nothing but accepts had changed the text: being
 * moved by those is no news to the person.
 */
function expected({ edit, order }: PlacedEdit, accepted: readonly PlacedEdit[]): number {
  let at = edit.from;
  for (const { edit: other, order: place } of accepted) {
    if (place < order) at += other.insert.length - (other.to - other.from);
  }
  return at;
}

/**
 * A pure insertion lands behind what was inserted at its place, unless that is
 * an accepted edit which stands behind it in the proposal.
 */
function insertionSide({ edit, order }: PlacedEdit, accepted: readonly PlacedEdit[]): -1 | 1 {
  const behind = accepted.some(
    ({ edit: other, order: place }) => place > order && other.from === edit.from && other.to === edit.from,
  );
  return behind ? -1 : 1;
}

function sameView(a: ReviewView | null, b: ReviewView | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.id === b.id &&
    a.current === b.current &&
    a.finished === b.finished &&
    a.hunks.length === b.hunks.length &&
    a.hunks.every((hunk, i) => sameHunk(hunk, b.hunks[i]))
  );
}

function sameHunk(a: HunkView, b: HunkView | undefined): boolean {
  return (
    b !== undefined &&
    a.id === b.id &&
    a.status === b.status &&
    a.ticked === b.ticked &&
    a.from === b.from &&
    a.to === b.to &&
    a.edits.every((edit, i) => edit.from === b.edits[i]?.from && edit.to === b.edits[i]?.to)
  );
}
