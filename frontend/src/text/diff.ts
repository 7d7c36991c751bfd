/**
 * What differs between two texts: lines first, then the words of lines that
 * differ. Pure and deterministic; positions are UTF-16 code units, and no range
 * begins or ends inside a character as people see it.
 */

import type { Edit } from "./edit";
import type { ChangedRange } from "./map";

/** Beyond this many differing items a stretch is taken as replaced whole: cost grows with its square. */
const mostSteps = 1000;

/** Stretches longer than this, in UTF-16 units, are not compared by word. */
const mostWords = 60_000;

/** A text's words: what lies between is never cut. */
export interface Tokens {
  readonly parts: readonly string[];
  /** The start of each part, and the text's length behind the last. */
  readonly starts: readonly number[];
}

/** The lines of a text, each with its break; only the last may be without. Joined they are the text. */
export function linesOf(text: string): readonly string[] {
  const out: string[] = [];
  let from = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
    out.push(text.slice(from, at + 1));
    from = at + 1;
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}

/** The words of a text, and what stands between them, by the rules of Unicode where the engine has them. */
export function wordsOf(text: string): Tokens {
  const parts = segment(text);
  const starts = [0];
  let at = 0;
  for (const part of parts) {
    at += part.length;
    starts.push(at);
  }
  return { parts, starts };
}

/** Whether a piece of text holds a word: a letter or a digit of any script. */
export function hasWord(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/** The stretches of lines that differ, in counts of lines. */
export function diffLines(a: readonly string[], b: readonly string[]): readonly ChangedRange[] {
  return slid(diffItems(a, b), a, b);
}

/**
 * The stretches of words that differ, in UTF-16 units. Changes with nothing but
 * a blank between them are one; where hardly a word is left, all of it is one.
 */
export function diffWords(a: string, b: string): readonly ChangedRange[] {
  if (a === b) return [];
  const whole = { fromA: 0, toA: a.length, fromB: 0, toB: b.length };
  if (a === "" || b === "" || a.length > mostWords || b.length > mostWords) return [whole];
  const before = wordsOf(a);
  const after = wordsOf(b);
  const ranges = diffItems(before.parts, after.parts).map((r) => ({
    fromA: before.starts[r.fromA] ?? a.length,
    toA: before.starts[r.toA] ?? a.length,
    fromB: after.starts[r.fromB] ?? b.length,
    toB: after.starts[r.toB] ?? b.length,
  }));
  const joined = join(ranges, (from, to) => /^[ \t]*$/.test(a.slice(from, to)));
  return isRewritten(a, b, joined) ? join(joined, () => true) : joined;
}

/** The stretches of two texts that differ: by line, then by word within the lines. */
export function diffTexts(a: string, b: string): readonly ChangedRange[] {
  if (a === b) return [];
  const before = linesOf(a);
  const after = linesOf(b);
  const out: ChangedRange[] = [];
  let atA = 0;
  let atB = 0;
  let lineA = 0;
  let lineB = 0;
  const skip = (toA: number, toB: number): void => {
    for (; lineA < toA; lineA++) atA += before[lineA]?.length ?? 0;
    for (; lineB < toB; lineB++) atB += after[lineB]?.length ?? 0;
  };
  for (const range of diffLines(before, after)) {
    skip(range.fromA, range.fromB);
    const fromA = atA;
    const fromB = atB;
    skip(range.toA, range.toB);
    for (const r of diffWords(a.slice(fromA, atA), b.slice(fromB, atB)))
      out.push({
        fromA: fromA + r.fromA,
        toA: fromA + r.toA,
        fromB: fromB + r.fromB,
        toB: fromB + r.toB,
      });
  }
  return out;
}

/** The edits that make `b` of `a`, as few and as small as the comparison finds. */
export function diffEdits(a: string, b: string): readonly Edit[] {
  return diffTexts(a, b).map((r) => ({ from: r.fromA, to: r.toA, insert: b.slice(r.fromB, r.toB) }));
}

/** Joins neighbouring ranges where what lies between them, in the first text, may go. */
function join(
  ranges: readonly ChangedRange[],
  may: (fromA: number, toA: number) => boolean,
): readonly ChangedRange[] {
  const out: ChangedRange[] = [];
  for (const range of ranges) {
    const last = out.at(-1);
    if (last !== undefined && may(last.toA, range.fromA)) {
      out[out.length - 1] = { ...last, toA: range.toA, toB: range.toB };
    } else {
      out.push(range);
    }
  }
  return out;
}

/** Whether so little of both texts stays that word by word would be confetti. */
function isRewritten(a: string, b: string, ranges: readonly ChangedRange[]): boolean {
  if (ranges.length < 4) return false;
  let kept = 0;
  let at = 0;
  for (const range of [...ranges, { fromA: a.length, toA: a.length }]) {
    kept += countWordUnits(a.slice(at, range.fromA));
    at = range.toA;
  }
  return kept * 4 < Math.max(countWordUnits(a), countWordUnits(b));
}

function countWordUnits(text: string): number {
  return text.replace(/[^\p{L}\p{N}]/gu, "").length;
}

/**
 * Moves each pure insertion or deletion as far down as it can go, as line
 * comparisons commonly do: what is added before a paragraph then ends with the
 * blank line before it, and two sides agree on the place.
 */
function slid(
  ranges: readonly ChangedRange[],
  a: readonly string[],
  b: readonly string[],
): readonly ChangedRange[] {
  const out: ChangedRange[] = [];
  for (const [i, range] of ranges.entries()) {
    let { fromA, toA, fromB, toB } = range;
    const next = ranges[i + 1];
    const room = (next?.fromA ?? a.length) - toA - (next === undefined ? 0 : 1);
    let moved = 0;
    if (fromA === toA) {
      while (moved < room && b[fromB] === b[toB]) {
        fromA++;
        toA++;
        fromB++;
        toB++;
        moved++;
      }
    } else if (fromB === toB) {
      while (moved < room && a[fromA] === a[toA]) {
        fromA++;
        toA++;
        fromB++;
        toB++;
        moved++;
      }
    }
    out.push({ fromA, toA, fromB, toB });
  }
  return out;
}

/** The stretches of two lists that differ, in counts of items; those that touch are one. */
function diffItems(a: readonly string[], b: readonly string[]): readonly ChangedRange[] {
  const ids = new Map<string, number>();
  const idsOf = (items: readonly string[]): Int32Array =>
    Int32Array.from(items, (item) => {
      const known = ids.get(item) ?? ids.size;
      ids.set(item, known);
      return known;
    });
  const work: Work = { a: idsOf(a), b: idsOf(b), out: [] };
  compare(work, 0, a.length, 0, b.length);
  const out: ChangedRange[] = [];
  for (const range of work.out.sort((x, y) => x.fromA - y.fromA || x.fromB - y.fromB)) {
    const last = out.at(-1);
    if (last !== undefined && last.toA === range.fromA && last.toB === range.fromB)
      out[out.length - 1] = { ...last, toA: range.toA, toB: range.toB };
    else out.push(range);
  }
  return out;
}

interface Work {
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly out: ChangedRange[];
}

/** Compares a stretch: what is equal at its ends, then between items that are alone of their kind on both sides. */
function compare(work: Work, fromA: number, toA: number, fromB: number, toB: number): void {
  const { a, b, out } = work;
  while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) {
    fromA++;
    fromB++;
  }
  while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) {
    toA--;
    toB--;
  }
  if (fromA === toA || fromB === toB) {
    if (fromA < toA || fromB < toB) out.push({ fromA, toA, fromB, toB });
    return;
  }
  const anchors = commonAlone(work, fromA, toA, fromB, toB);
  if (anchors.length === 0) {
    shortest(work, fromA, toA, fromB, toB);
    return;
  }
  for (const { inA, inB } of anchors) {
    // An earlier stretch may have taken the anchor along.
    if (inA < fromA || inB < fromB) continue;
    compare(work, fromA, inA, fromB, inB);
    fromA = inA + 1;
    fromB = inB + 1;
  }
  compare(work, fromA, toA, fromB, toB);
}

interface Anchor {
  readonly inA: number;
  readonly inB: number;
}

/** The longest run, in order on both sides, of items that occur once on each. */
function commonAlone(
  { a, b }: Work,
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
): readonly Anchor[] {
  const inA = placesAlone(a, fromA, toA);
  const inB = placesAlone(b, fromB, toB);
  const pairs: Anchor[] = [];
  for (let i = fromA; i < toA; i++) {
    const id = a[i] ?? -1;
    const other = inB.get(id) ?? -1;
    if (inA.get(id) === i && other >= 0) pairs.push({ inA: i, inB: other });
  }
  // Patience: the tops of the piles, and for each pair the one it follows.
  const tops: number[] = [];
  const follows: number[] = [];
  for (const [i, pair] of pairs.entries()) {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] ?? 0]?.inB ?? 0) < pair.inB) low = middle + 1;
      else high = middle;
    }
    follows.push(low > 0 ? (tops[low - 1] ?? -1) : -1);
    tops[low] = i;
  }
  const run: Anchor[] = [];
  for (let i = tops.at(-1) ?? -1; i >= 0; i = follows[i] ?? -1) {
    const pair = pairs[i];
    if (pair !== undefined) run.push(pair);
  }
  return run.reverse();
}

/** Where each item that occurs once in a stretch stands; −1 for those that occur more often. */
function placesAlone(items: Int32Array, from: number, to: number): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  for (let i = from; i < to; i++) {
    const id = items[i] ?? -1;
    places.set(id, places.has(id) ? -1 : i);
  }
  return places;
}

/** The fewest insertions and deletions (Myers, 1986); one replacement where they would be too many. */
function shortest({ a, b, out }: Work, fromA: number, toA: number, fromB: number, toB: number): void {
  const n = toA - fromA;
  const m = toB - fromB;
  const most = Math.min(n + m, mostSteps);
  const reach = new Int32Array(2 * most + 2);
  /** The furthest reach of every diagonal before each step. */
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice(most - d, most + d + 1));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(reach, most + k - 1) < at(reach, most + k + 1));
      let x = down ? at(reach, most + k + 1) : at(reach, most + k - 1) + 1;
      while (x < n && x - k < m && a[fromA + x] === b[fromB + x - k]) x++;
      reach[most + k] = x;
      if (x >= n && x - k >= m) {
        walkBack(trace, d, n, m, (x0, x1, y0, y1) =>
          out.push({ fromA: fromA + x0, toA: fromA + x1, fromB: fromB + y0, toB: fromB + y1 }),
        );
        return;
      }
    }
  }
  out.push({ fromA, toA, fromB, toB });
}

function walkBack(
  trace: readonly Int32Array[],
  last: number,
  n: number,
  m: number,
  found: (x0: number, x1: number, y0: number, y1: number) => void,
): void {
  let x = n;
  let y = m;
  for (let d = last; d > 0; d--) {
    const reach = trace[d] ?? new Int32Array(0);
    const k = x - y;
    const down = k === -d || (k !== d && at(reach, d + k - 1) < at(reach, d + k + 1));
    const from = down ? k + 1 : k - 1;
    const startX = at(reach, d + from);
    const startY = startX - from;
    if (down) found(startX, startX, startY, startY + 1);
    else found(startX, startX + 1, startY, startY);
    x = startX;
    y = startY;
  }
}

function at(array: Int32Array, index: number): number {
  return array[index] ?? 0;
}

/** Made once: it is costly. Null where the engine has none. */
const segmenter =
  typeof Intl.Segmenter === "function" ? new Intl.Segmenter("zh", { granularity: "word" }) : null;

/** Without a segmenter: runs of letters or digits, single Han characters, runs of blanks, others with their marks. */
const plain =
  /\p{Script=Han}\p{M}*|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’])+|[ \t]+|\r\n|\P{M}(?:\p{M}|\u200d\P{M}?)*|./gsu;

function segment(text: string): readonly string[] {
  return segmenter === null
    ? (text.match(plain) ?? [])
    : Array.from(segmenter.segment(text), (part) => part.segment);
}
