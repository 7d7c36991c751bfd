/**
 * The review of proposals: which are kept, which are shown, and what was
 * decided. State only; how their hunks stand is worked out in standing.ts, what
 * is shown is in marks.ts, what is done in decide.ts. Several proposals are
 * shown together, as one list of changes in the order of the text.
 */

import { invertedEffects } from "@codemirror/commands";
import type { EditorState, Extension, Text, Transaction, TransactionSpec } from "@codemirror/state";
import { ChangeSet, Facet, StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { checkEdits } from "../text";
import { changedRanges, sliceable } from "./changes";
import { isComposing } from "./composition";
import type { HunkView, Outcome, Push, Review, ReviewInput, ReviewRequest, ReviewView } from "./standing";
import { freshReview, isFinished, isOpen, look, pushedBy, sameView } from "./standing";

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

/**
 * An accept, and what was known before it. Composed changes forget which of two
 * equal words a person deleted once an accept has deleted the other as well; so
 * undoing it goes back to what was known, with what else happened since.
 */
interface Accept {
  /** The hunks that were accepted together, of all reviews. */
  readonly hunks: string;
  /** What was known of each review, by its id. */
  readonly known: ReadonlyMap<string, Pick<Review, "changes" | "pushed">>;
  /** The accept before it, as it was then; undo comes to it only after this one. */
  readonly before: Accept | null;
  /** The text before it, and all changes from there to now. */
  readonly text: Text;
  readonly since: ChangeSet;
  /** How many there are with those before it. */
  readonly depth: number;
}

/** A review and where it is shown. */
interface Kept extends Review {
  /** It is shown in place of all others, as a difference that is no proposal. */
  readonly over: boolean;
}

interface Reviews {
  readonly kept: readonly Kept[];
  /** The ids of those that are shown together, in the order they were opened. */
  readonly shown: readonly string[];
  /** The id of the one that is shown in their place; null for none. */
  readonly over: string | null;
  /** The current hunk of each of the two. */
  readonly current: string | null;
  readonly currentOver: string | null;
  /** The last accept that undo can still take back. */
  readonly accept: Accept | null;
  /** Those that are shown together, also while another is in their place. */
  readonly together: ReviewView | null;
  readonly view: ReviewView | null;
}

/** One hunk's outcome before and after; undo swaps them. */
export interface Decision {
  readonly hunk: string;
  readonly from: Outcome;
  readonly to: Outcome;
}

/** What was decided on hunks of one review. */
export interface Decided {
  readonly id: string;
  readonly decisions: readonly Decision[];
}

/** Decides hunks of a review. Belongs to the transaction that makes their edits. */
export const decideHunks = StateEffect.define<Decided>();

const openEffect = StateEffect.define<{ readonly input: ReviewInput; readonly over: boolean }>();
const closeEffect = StateEffect.define<readonly string[]>();
const currentEffect = StateEffect.define<string>();
const tickEffect = StateEffect.define<{ readonly hunk: string; readonly ticked: boolean }>();

/** Says that a composition is open, so that nothing in the text is redrawn before its end (D11). */
export const holdMarks = StateEffect.define<null>();

/** How many reviews are kept that are not shown, for undo. */
const mostHidden = 50;

/** How many accepts are remembered for undo. */
const mostAccepts = 50;

const nothing: Reviews = {
  kept: [],
  shown: [],
  over: null,
  current: null,
  currentOver: null,
  accept: null,
  together: null,
  view: null,
};

const reviewField = StateField.define<Reviews>({
  create: () => nothing,
  update: (value, tr) => {
    if (!tr.docChanged && !tr.effects.some(isReviewEffect)) return value;
    let next = tr.docChanged ? followed(value, tr.changes) : value;
    for (const effect of tr.effects) {
      if (effect.is(openEffect)) next = opened(next, effect.value.input, effect.value.over);
      else if (effect.is(closeEffect)) next = closed(next, effect.value);
      else if (effect.is(currentEffect))
        next =
          next.over === null ? { ...next, current: effect.value } : { ...next, currentOver: effect.value };
      else if (effect.is(tickEffect)) next = ticked(next, effect.value.hunk, effect.value.ticked);
    }
    const all = tr.effects.flatMap((effect) => (effect.is(decideHunks) ? [effect.value] : []));
    if (all.length > 0) next = decided(remembered(next, value, all, tr), all);
    return looked(value, next, tr.newDoc);
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
 * The transaction that shows a proposal for review, together with those that
 * are shown; ones that are decided leave. One that is still kept goes on with
 * its decisions. Throws a RangeError when base and changes do not lead to the
 * text of the state, or an edit does not fit the base.
 */
export function openingReview(state: EditorState, input: ReviewInput): TransactionSpec {
  return opening(state, input, false);
}

/** Makes the transaction of `openingReview` in a view. */
export function openReview(view: EditorView, input: ReviewInput): void {
  show(view, opening(view.state, input, false));
}

/** Shows a difference in place of all proposals, which come back when it is closed. Throws as `openingReview`. */
export function coverReview(view: EditorView, input: ReviewInput): void {
  show(view, opening(view.state, input, true));
}

function opening(state: EditorState, input: ReviewInput, over: boolean): TransactionSpec {
  const { base, changes } = input;
  if (changes.length !== base.length || !changes.apply(base).eq(state.doc)) {
    throw new RangeError("the base and its changes do not lead to the text");
  }
  for (const hunk of input.hunks) {
    const problem = checkEdits(hunk.edits, sliceable(base));
    if (problem !== null) throw new RangeError(`hunk ${hunk.id} does not fit its base: ${problem}`);
  }
  return { effects: openEffect.of({ input, over }) };
}

/**
 * Takes the marks of a review away, or of all that are shown. Decisions that
 * were made can still be undone, which shows the review again.
 */
export function closeReview(view: EditorView, id?: string): void {
  const spec = closingReview(view.state, id);
  if (spec !== null) show(view, spec);
}

/** The transaction of `closeReview`; null when nothing of it is shown. */
export function closingReview(state: EditorState, id?: string): TransactionSpec | null {
  const { over, shown } = state.field(reviewField, false) ?? nothing;
  const all = over === null ? shown : [over];
  const closing = id === undefined ? all : [over ?? "", ...shown].filter((one) => one === id);
  return closing.length === 0 ? null : { effects: closeEffect.of(closing) };
}

/** Dispatches what changes the marks; nothing in the text is redrawn while an input method is at work. */
function show(view: EditorView, spec: TransactionSpec): void {
  view.dispatch(spec, ...(isComposing(view) ? [{ effects: holdMarks.of(null) }] : []));
}

/** The review that is shown, of one proposal or of several together; null when there is none. */
export function reviewOf(state: EditorState): ReviewView | null {
  return state.field(reviewField, false)?.view ?? null;
}

/** The review of the proposals, also while something else is shown in their place; null when there is none. */
export function proposalsOf(state: EditorState): ReviewView | null {
  return state.field(reviewField, false)?.together ?? null;
}

/** The input and decisions behind a review, shown or not; null when it is not kept. */
export function keptReview(state: EditorState, id: string): Review | null {
  return state.field(reviewField, false)?.kept.find((r) => r.id === id) ?? null;
}

/** The effect that makes a hunk of what is shown current. */
export function makeCurrent(hunk: string): StateEffect<unknown> {
  return currentEffect.of(hunk);
}

/** The effect that ticks or unticks a hunk of what is shown. */
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

/** The reviews after the text has changed. */
function followed(value: Reviews, changes: ChangeSet): Reviews {
  const compose = composer(changes);
  return {
    ...value,
    kept: value.kept.map((r) => ({ ...r, changes: compose(r.changes) })),
    accept: value.accept && { ...value.accept, since: value.accept.since.compose(changes) },
  };
}

/** Composes with `changes`; what is one before is one after, so that reviews of one base share it. */
function composer(changes: ChangeSet): (before: ChangeSet) => ChangeSet {
  const known = new Map<ChangeSet, ChangeSet>();
  return (before) => {
    const after = known.get(before) ?? before.compose(changes);
    known.set(before, after);
    return after;
  };
}

function opened(value: Reviews, input: ReviewInput, over: boolean): Reviews {
  const { labels, requests } = input;
  const known = value.kept.find((r) => r.id === input.id);
  // One that is made for a text others are for knows at least what they know.
  const twin = value.kept.find((r) => r.base === input.base);
  const review: Kept =
    known === undefined
      ? { ...freshReview(twin === undefined ? input : { ...input, changes: twin.changes }), over }
      : { ...known, labels, ...(requests && { requests }) };
  const kept = [...value.kept.filter((r) => r.id !== review.id), review];
  if (over) return { ...value, kept, over: review.id, currentOver: review.hunks[0]?.id ?? null };
  const shown = value.shown.filter((id) => id !== review.id && !isDone(value.kept, id));
  return { ...value, kept, shown: [...shown, review.id] };
}

function closed(value: Reviews, ids: readonly string[]): Reviews {
  const over = value.over !== null && ids.includes(value.over) ? null : value.over;
  const shown = value.shown.filter((id) => !ids.includes(id));
  const isVisible = (id: string): boolean => id === over || shown.includes(id);
  // One with decisions stays for undo to reopen.
  const hidden = value.kept.filter((r) => !isVisible(r.id) && [...r.outcomes.values()].some(isDecided));
  const kept = value.kept.filter((r) => isVisible(r.id) || hidden.slice(-mostHidden).includes(r));
  return { ...value, kept, over, shown };
}

function isDecided(outcome: Outcome): boolean {
  return outcome !== "open";
}

/** Whether nothing of a review waits for a decision. */
function isDone(kept: readonly Kept[], id: string): boolean {
  const review = kept.find((r) => r.id === id);
  return review === undefined || isFinished(review);
}

function ticked(value: Reviews, hunk: string, on: boolean): Reviews {
  const visible = value.over === null ? value.shown : [value.over];
  const kept = value.kept.map((r) => {
    if (!visible.includes(r.id) || !r.outcomes.has(hunk)) return r;
    const next = new Set(r.ticked);
    if (on) next.add(hunk);
    else next.delete(hunk);
    return { ...r, ticked: next };
  });
  return { ...value, kept };
}

/**
 * Keeps what was known before an accept, or goes back to it when the accept is
 * undone. `next` has followed the transaction, `before` has not.
 */
function remembered(next: Reviews, before: Reviews, all: readonly Decided[], tr: Transaction): Reviews {
  const hunks = all.flatMap(({ id, decisions }) => decisions.map(({ hunk }) => `${id} ${hunk}`)).join("\n");
  const push = (r: Kept, index: number): Kept => ({ ...r, pushed: pushed(r, index, before, all, tr) });
  if (all.some(({ decisions }) => decisions.some(({ to }) => to === "accepted"))) {
    const accept: Accept = {
      hunks,
      known: new Map(before.kept.map(({ id, changes, pushed }) => [id, { changes, pushed }])),
      before: before.accept,
      text: tr.startState.doc,
      since: tr.changes,
      depth: (before.accept?.depth ?? 0) + 1,
    };
    return {
      ...next,
      kept: next.kept.map(push),
      accept: accept.depth > mostAccepts ? cut(accept, mostAccepts) : accept,
    };
  }
  if (!tr.docChanged) return next;
  const undone = next.accept;
  if (undone?.hunks !== hunks) return { ...next, kept: next.kept.map(push) };
  const ranges = changedRanges(undone.text, tr.newDoc, undone.since);
  const rest = ChangeSet.of(
    ranges.map((r) => ({ from: r.fromA, to: r.toA, insert: tr.newDoc.slice(r.fromB, r.toB) })),
    undone.text.length,
  );
  const compose = composer(rest);
  return {
    ...next,
    kept: next.kept.map((r, index) => {
      const known = undone.known.get(r.id);
      if (known === undefined) return push(r, index);
      return { ...r, changes: compose(known.changes), pushed: known.pushed };
    }),
    accept: undone.before && { ...undone.before, since: undone.before.since.compose(rest) },
  };
}

/** The last accepts, so many of them. */
function cut(accept: Accept, most: number): Accept {
  const before = accept.before === null || most <= 1 ? null : cut(accept.before, most - 1);
  return { ...accept, before, depth: Math.min(accept.depth, most) };
}

/** What an accept, or the undo of one, does to the edits of a review when hunks of others are part of it. */
function pushed(
  after: Kept,
  index: number,
  before: Reviews,
  all: readonly Decided[],
  tr: Transaction,
): ReadonlyMap<number, Push> {
  const known = before.kept.find((r) => r.id === after.id);
  if (known === undefined || all.every(({ id }) => id === after.id)) return after.pushed;
  const later = new Set(before.kept.slice(index + 1).map((r) => r.id));
  const accepted = (before.view?.hunks ?? []).filter(({ id, review }) =>
    all.some((one) => one.id === review && one.decisions.some(({ hunk }) => hunk === id)),
  );
  const places = accepted
    .filter(({ review }) => later.has(review))
    .flatMap(({ edits }) => edits.flatMap((edit) => (edit.from === edit.to ? [edit.from] : [])));
  const own = all.find(({ id }) => id === after.id);
  return pushedBy(
    known,
    tr.startState.doc,
    own === undefined ? after : withOutcomes(after, own.decisions),
    tr.newDoc,
    new Set(places),
  );
}

/** The reviews after hunks were decided. What is opened again is shown again. */
function decided(value: Reviews, all: readonly Decided[]): Reviews {
  let { shown, over, current, currentOver } = value;
  const kept = value.kept.map((r) => {
    const own = all.find(({ id }) => id === r.id);
    return own === undefined ? r : { ...withOutcomes(r, own.decisions), over: r.over };
  });
  for (const { id, decisions } of all) {
    const review = kept.find((r) => r.id === id);
    const reopened = decisions.find(({ to }) => to === "open")?.hunk;
    if (review === undefined || reopened === undefined) continue;
    if (!review.over) {
      shown = shown.includes(id) ? shown : [...shown, id];
      current = reopened;
    } else if (over === id || shown.every((other) => isDone(kept, other))) {
      over = id;
      currentOver = reopened;
    }
  }
  return { ...value, kept, shown, over, current, currentOver };
}

function withOutcomes(review: Review, decisions: readonly Decision[]): Review {
  const outcomes = new Map(review.outcomes);
  for (const { hunk, to } of decisions) if (outcomes.has(hunk)) outcomes.set(hunk, to);
  return { ...review, outcomes };
}

/** Looks at what is shown, and goes on to the next open hunk where the current one is decided. */
function looked(before: Reviews, value: Reviews, now: Text): Reviews {
  const { kept, shown, over } = value;
  const shownReviews = shown.flatMap((id) => kept.find((r) => r.id === id) ?? []);
  const together = settled(before.together, look(shownReviews, value.current, now));
  const cover = look(
    kept.filter((r) => r.id === over),
    value.currentOver,
    now,
  );
  const view = cover === null ? together : settled(before.view, cover);
  return {
    ...value,
    current: together?.current ?? null,
    currentOver: cover === null ? null : (view?.current ?? null),
    together,
    view,
  };
}

/** The view with a current hunk that is open; the one before where both are equal. */
function settled(before: ReviewView | null, view: ReviewView | null): ReviewView | null {
  const next = view && { ...view, current: openFrom(view) };
  return sameView(before, next) ? before : next;
}

/** The current hunk while it is open, else the next open one behind it, else the first. */
function openFrom({ hunks, current }: ReviewView): string | null {
  const at = Math.max(
    0,
    hunks.findIndex((hunk) => hunk.id === current),
  );
  const behind: readonly HunkView[] = [...hunks.slice(at), ...hunks.slice(0, at)];
  return behind.find(isOpen)?.id ?? null;
}
