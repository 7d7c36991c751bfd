/**
 * How proposals stand in the text now: which of their hunks are clean, moved or
 * stale, and where. Words and pure functions; the state is in review.ts.
 */

import type { ChangeSet, Text } from "@codemirror/state";
import type { ChangedRange, Edit } from "../text";
import { isTouched, mapEdit, mapPosition } from "../text";
import { changedRanges } from "./changes";

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
  /** Unique among the hunks of all reviews that are shown together. */
  readonly id: string;
  readonly edits: readonly Edit[];
  readonly warnings: readonly string[];
  /** What was decided before; open when absent. */
  readonly outcome?: Outcome;
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
  /** The id of its review. */
  readonly review: string;
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
  /** The answer it is of broke off, and with `torn` in this very hunk. */
  readonly cutOff: boolean;
  readonly torn: boolean;
}

/**
 * What is under review as it stands now: one proposal, or several as one.
 * Equal views are one object.
 */
export interface ReviewView {
  /** The id of the first review that is shown. */
  readonly id: string;
  /** The ids of all of them, in the order they were opened. */
  readonly ids: readonly string[];
  /** Whether the answer of any of them broke off. */
  readonly cutOff: boolean;
  /** Those of one review in its order, those of several in that of the text. */
  readonly hunks: readonly HunkView[];
  /** The id of the current hunk; null when none is left. */
  readonly current: string | null;
  /** Whether every hunk is decided. */
  readonly finished: boolean;
}

/** A review that is kept, shown or not. */
export interface Review extends ReviewInput {
  /** The words of each hunk, by its id. */
  readonly words: ReadonlyMap<string, { readonly deleted: string; readonly inserted: string }>;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly ticked: ReadonlySet<string>;
  /** What accepts of other reviews did to its edits, by their places among all its edits. */
  readonly pushed: ReadonlyMap<number, Push>;
}

/** What accepts of other reviews did to an edit. It is no news to the person either. */
export interface Push {
  /** How far they moved it. */
  readonly by: number;
  /** An insertion of a later review was accepted at its very place, which it stays before. */
  readonly before: boolean;
}

/** A review at its start. */
export function freshReview(input: ReviewInput): Review {
  const ticked = input.hunks.filter((hunk) => !input.cutOff && hunk.warnings.length === 0);
  return {
    ...input,
    words: new Map(input.hunks.map((hunk) => [hunk.id, wordsIn(input.base, hunk)])),
    outcomes: new Map(input.hunks.map((hunk) => [hunk.id, hunk.outcome ?? "open"])),
    ticked: new Set(ticked.map((hunk) => hunk.id)),
    pushed: new Map(),
  };
}

function wordsIn(base: Text, hunk: ReviewHunk): { readonly deleted: string; readonly inserted: string } {
  return {
    deleted: hunk.edits.map((edit) => base.sliceString(edit.from, edit.to)).join(" "),
    inserted: hunk.edits.map((edit) => edit.insert).join(" "),
  };
}

/** Whether the hunk waits for a decision. */
export function isOpen(hunk: HunkView): boolean {
  return hunk.status !== "accepted" && hunk.status !== "rejected";
}

/** Whether every hunk of a review is decided. */
export function isFinished(review: Review): boolean {
  return [...review.outcomes.values()].every((outcome) => outcome !== "open");
}

/** How reviews that are shown together stand in the text now; null for none. */
export function look(reviews: readonly Review[], current: string | null, now: Text): ReviewView | null {
  const first = reviews[0];
  if (first === undefined) return null;
  // Reviews of one base share their changes.
  const known = new Map<ChangeSet, readonly ChangedRange[]>();
  const all = reviews.flatMap((review) => {
    const ranges = known.get(review.changes) ?? changedRanges(review.base, now, review.changes);
    known.set(review.changes, ranges);
    return lookAtAll(review, ranges);
  });
  if (reviews.length > 1) all.sort((a, b) => a.from - b.from || a.to - b.to);
  return {
    id: first.id,
    ids: reviews.map((review) => review.id),
    cutOff: reviews.some((review) => review.cutOff),
    hunks: all.map((hunk, index) => ({ ...hunk, number: index + 1, total: all.length })),
    current,
    finished: reviews.every(isFinished),
  };
}

type Unnumbered = Omit<HunkView, "number" | "total">;

function lookAtAll(review: Review, ranges: readonly ChangedRange[]): readonly Unnumbered[] {
  const accepted = acceptedEdits(review);
  let order = 0;
  return review.hunks.map((hunk, index) => {
    const edits = hunk.edits.map((edit) => ({ edit, order: order++ }));
    const about = {
      id: hunk.id,
      review: review.id,
      warnings: hunk.warnings,
      ticked: review.ticked.has(hunk.id),
      cutOff: review.cutOff,
      torn: review.cutOff && index === review.hunks.length - 1,
      ...(review.words.get(hunk.id) ?? { deleted: "", inserted: "" }),
    };
    return { ...about, ...lookAt(review, hunk, edits, ranges, accepted) };
  });
}

/** An edit and its place among all edits of its proposal. */
interface PlacedEdit {
  readonly edit: Edit;
  readonly order: number;
}

function placedEdits(review: Review): readonly (PlacedEdit & { readonly hunk: string })[] {
  return review.hunks
    .flatMap((hunk) => hunk.edits.map((edit) => ({ edit, hunk: hunk.id })))
    .map((placed, order) => ({ ...placed, order }));
}

function acceptedEdits(review: Review): readonly PlacedEdit[] {
  return placedEdits(review).filter(({ hunk }) => review.outcomes.get(hunk) === "accepted");
}

function lookAt(
  review: Review,
  hunk: ReviewHunk,
  placed: readonly PlacedEdit[],
  ranges: readonly ChangedRange[],
  accepted: readonly PlacedEdit[],
): Pick<HunkView, "status" | "from" | "to" | "edits"> {
  const outcome = review.outcomes.get(hunk.id) ?? "open";
  const first = hunk.edits[0]?.from ?? 0;
  const last = hunk.edits.at(-1)?.to ?? 0;
  if (outcome === "accepted") {
    const range = { from: mapPosition(ranges, first, -1), to: mapPosition(ranges, last, 1) };
    return { ...range, status: outcome, edits: [] };
  }
  const range = { from: outerPosition(ranges, first, -1), to: outerPosition(ranges, last, 1) };
  if (outcome === "rejected") return { ...range, status: outcome, edits: [] };
  if (hunk.edits.some((edit) => isTouched(edit, ranges))) return { ...range, status: "stale", edits: [] };
  const edits = placed.map((one) => mapEdit(one.edit, ranges, insertionSide(review, one, accepted)));
  const moved = placed.some((one, i) => edits[i]?.from !== expected(review, one, accepted));
  return {
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
function expected(review: Review, { edit, order }: PlacedEdit, accepted: readonly PlacedEdit[]): number {
  let at = edit.from + (review.pushed.get(order)?.by ?? 0);
  for (const { edit: other, order: place } of accepted) {
    if (place < order) at += other.insert.length - (other.to - other.from);
  }
  return at;
}

/**
 * A pure insertion lands behind what was inserted at its place, unless that is
 * an accepted edit which stands behind it in the proposal.
 */
function insertionSide(review: Review, { edit, order }: PlacedEdit, accepted: readonly PlacedEdit[]): -1 | 1 {
  const behind = accepted.some(
    ({ edit: other, order: place }) => place > order && other.from === edit.from && other.to === edit.from,
  );
  return behind || review.pushed.get(order)?.before === true ? -1 : 1;
}

/**
 * What an accept of other reviews' hunks does to the edits of one: `before` and
 * `after` are the review around it, `inserted` the places at which insertions
 * of later reviews went in, in the text before.
 */
export function pushedBy(
  before: Review,
  then: Text,
  after: Review,
  now: Text,
  inserted: ReadonlySet<number>,
): ReadonlyMap<number, Push> {
  const rangesThen = changedRanges(before.base, then, before.changes);
  const rangesNow = changedRanges(after.base, now, after.changes);
  const acceptedThen = acceptedEdits(before);
  const acceptedNow = acceptedEdits(after);
  const out = new Map<number, Push>();
  for (const placed of placedEdits(after)) {
    const { edit, order } = placed;
    if (after.outcomes.get(placed.hunk) === "accepted") continue;
    const was = mapEdit(edit, rangesThen, insertionSide(before, placed, acceptedThen)).from;
    const isBefore = edit.from === edit.to && inserted.has(was);
    const known = before.pushed.get(order) ?? { by: 0, before: false };
    const review = { ...after, pushed: new Map([[order, { by: 0, before: known.before || isBefore }]]) };
    const is = mapEdit(edit, rangesNow, insertionSide(review, placed, acceptedNow)).from;
    // The person's own typing has moved it as far as before.
    const by = is - expected(review, placed, acceptedNow) - (was - expected(before, placed, acceptedThen));
    if (by !== 0 || known.before || isBefore) out.set(order, { by, before: known.before || isBefore });
  }
  return out;
}

/** Whether two views show the same. */
export function sameView(a: ReviewView | null, b: ReviewView | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.current === b.current &&
    a.finished === b.finished &&
    a.ids.length === b.ids.length &&
    a.ids.every((id, i) => id === b.ids[i]) &&
    a.hunks.length === b.hunks.length &&
    a.hunks.every((hunk, i) => sameHunk(hunk, b.hunks[i]))
  );
}

function sameHunk(a: HunkView, b: HunkView | undefined): boolean {
  return (
    b !== undefined &&
    a.id === b.id &&
    a.review === b.review &&
    a.status === b.status &&
    a.ticked === b.ticked &&
    a.from === b.from &&
    a.to === b.to &&
    a.edits.every((edit, i) => edit.from === b.edits[i]?.from && edit.to === b.edits[i]?.to)
  );
}
