/**
 * Changed ranges, and where positions and patches of a base text are in the
 * text now (P3). The same rules stand in backend/text; the two are kept equal
 * by the shared vectors.
 */

import type { Edit } from "./edit";
import { isHighSurrogate, isLowSurrogate } from "./edit";

/** Says that [fromA, toA) of a text before became [fromB, toB) of the text after, in UTF-16 units. */
export interface ChangedRange {
  readonly fromA: number;
  readonly toA: number;
  readonly fromB: number;
  readonly toB: number;
}

/** Returns the part [from, to) of a text. */
export type Slice = (from: number, to: number) => string;

/**
 * Reduces composed changes against their base: what is equal at both edges of
 * a change is no part of it, and what was changed back is no change. `ranges`
 * are sorted, as `iterChangedRanges(f, true)` gives them; those that touch stay
 * apart where the reduction leaves them whole. Never cuts a surrogate pair.
 */
export function reduceRanges(
  ranges: readonly ChangedRange[],
  sliceA: Slice,
  sliceB: Slice,
): readonly ChangedRange[] {
  const out: ChangedRange[] = [];
  for (let i = 0; i < ranges.length; ) {
    // Touching changes are looked at together first: a deletion that was undone
    // is a deletion and an insertion side by side.
    const group: ChangedRange[] = [];
    for (let range = ranges[i]; range !== undefined; range = ranges[i]) {
      const last = group.at(-1);
      if (last !== undefined && (last.toA !== range.fromA || last.toB !== range.fromB)) break;
      group.push(range);
      i++;
    }
    reduceGroup(group, sliceA, sliceB, out);
  }
  return out;
}

/**
 * Where `position` of the text before is in the text after. `assoc` says which
 * side it sticks to: -1 before text inserted there, 1 behind it. Inside a
 * replaced range the two give its two ends; at its start a position stays at
 * the start. Agrees with `mapPos` of a CodeMirror change set of `ranges`.
 */
export function mapPosition(ranges: readonly ChangedRange[], position: number, assoc: -1 | 1): number {
  let i = firstEndingAt(ranges, position);
  for (let range = ranges[i]; range !== undefined && range.fromA <= position; range = ranges[++i]) {
    const inside = range.toA > position;
    if (!inside && (assoc > 0 || range.fromA < range.toA)) continue;
    return position === range.fromA || assoc < 0 ? range.fromB : range.toB;
  }
  const before = ranges[i - 1];
  return before === undefined ? position : position - before.toA + before.toB;
}

/** Whether a change strictly overlaps `edit`; one that only touches its edge does not (P3). */
export function isTouched(edit: Edit, ranges: readonly ChangedRange[]): boolean {
  let i = firstEndingAt(ranges, edit.from);
  while ((ranges[i]?.toA ?? edit.from + 1) <= edit.from) i++;
  const range = ranges[i];
  return range !== undefined && range.fromA < edit.to && range.toA > edit.from;
}

/** What a patch has become: `moved` when any position differs, `stale` when a change touched it. */
export type PatchStatus = "clean" | "moved" | "stale";

/** A patch on the text now. `edits` of a stale one are those of the base, unmapped. */
export interface MappedPatch {
  readonly status: PatchStatus;
  readonly edits: readonly Edit[];
}

/**
 * Moves a patch to the text now; its edits stand or fall together. Starts stick
 * to what follows, ends to what precedes, and a pure insertion lands behind
 * what was inserted at its place. `ranges` are reduced ones.
 */
export function mapPatch(edits: readonly Edit[], ranges: readonly ChangedRange[]): MappedPatch {
  if (edits.some((edit) => isTouched(edit, ranges))) return { status: "stale", edits };
  const mapped = edits.map((edit) => mapEdit(edit, ranges));
  const moved = mapped.some((edit, i) => edit.from !== edits[i]?.from || edit.to !== edits[i]?.to);
  return { status: moved ? "moved" : "clean", edits: mapped };
}

/** Moves an edit that no change touched. A pure insertion uses one side, `insertion`, for both ends. */
export function mapEdit(edit: Edit, ranges: readonly ChangedRange[], insertion: -1 | 1 = 1): Edit {
  if (edit.from === edit.to) {
    const at = mapPosition(ranges, edit.from, insertion);
    return { from: at, to: at, insert: edit.insert };
  }
  return {
    from: mapPosition(ranges, edit.from, 1),
    to: mapPosition(ranges, edit.to, -1),
    insert: edit.insert,
  };
}

interface Cut {
  readonly a: number;
  readonly b: number;
}

function reduceGroup(
  group: readonly ChangedRange[],
  sliceA: Slice,
  sliceB: Slice,
  out: ChangedRange[],
): void {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) return;
  if (sliceA(first.fromA, last.toA) === sliceB(first.fromB, last.toB)) return;
  // A replacement that was changed back by itself is none; looked at with its
  // neighbours it might be taken for another one with the same words.
  let part: ChangedRange[] = [];
  for (const range of group) {
    if (sliceA(range.fromA, range.toA) !== sliceB(range.fromB, range.toB)) {
      part.push(range);
      continue;
    }
    reducePart(part, sliceA, sliceB, out);
    part = [];
  }
  reducePart(part, sliceA, sliceB, out);
}

/** Trims touching replacements as a whole, then each whose borders the trimming left inside. */
function reducePart(part: readonly ChangedRange[], sliceA: Slice, sliceB: Slice, out: ChangedRange[]): void {
  const first = part[0];
  const last = part.at(-1);
  if (first === undefined || last === undefined) return;
  const a = sliceA(first.fromA, last.toA);
  const b = sliceB(first.fromB, last.toB);
  if (a === b) return;
  const whole = trim(a, b);
  const end: Cut = { a: a.length - whole.tail, b: b.length - whole.tail };
  const cuts: Cut[] = part.slice(0, -1).map((r) => ({ a: r.toA - first.fromA, b: r.toB - first.fromB }));
  let from: Cut = { a: whole.head, b: whole.head };
  for (const to of [...cuts, end]) {
    if (to.a < from.a || to.b < from.b || to.a > end.a || to.b > end.b) continue;
    const partA = a.slice(from.a, to.a);
    const partB = b.slice(from.b, to.b);
    if (partA !== partB) {
      const { head, tail } = trim(partA, partB);
      out.push({
        fromA: first.fromA + from.a + head,
        toA: first.fromA + to.a - tail,
        fromB: first.fromB + from.b + head,
        toB: first.fromB + to.b - tail,
      });
    }
    from = to;
  }
}

/** The lengths of the common prefix and, behind it, of the common suffix. */
function trim(a: string, b: string): { readonly head: number; readonly tail: number } {
  let rest = Math.min(a.length, b.length);
  let head = 0;
  while (head < rest && a.charCodeAt(head) === b.charCodeAt(head)) head++;
  if (head > 0 && isHighSurrogate(a.charCodeAt(head - 1))) head--;
  rest -= head;
  let tail = 0;
  while (tail < rest && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) tail++;
  if (tail > 0 && isLowSurrogate(a.charCodeAt(a.length - tail))) tail--;
  return { head, tail };
}

/** The index of the first range that ends at `position` or behind it. */
function firstEndingAt(ranges: readonly ChangedRange[], position: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.toA ?? position) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
