/**
 * What a streaming answer will change, for showing only: the proposal itself
 * comes from the host, as word-level edits.
 */

import { presentableDiff } from "@codemirror/merge";

/** A piece of the preview. `waiting` is the rest of the selection that the answer has not come to. */
export interface Segment {
  readonly type: "equal" | "ins" | "del" | "waiting";
  readonly text: string;
}

/** Above this many token pairs the alignment is left to the diff alone. */
const mostPairs = 1_000_000;

/** Stops detailed diffing of texts that have little in common; a preview may be coarse. */
const diffLimits = { scanLimit: 2000, timeout: 20 };

/**
 * Compares a selection with as much of its answer as has come. What of the
 * selection lies behind the place the answer has reached is waiting, not
 * deleted. Pieces are never empty; no word and no grapheme cluster is cut.
 */
export function previewSegments(selection: string, partial: string): readonly Segment[] {
  const reached = reach(selection, partial);
  const out: Segment[] = [];
  const push = (type: Segment["type"], text: string): void => {
    if (text !== "") out.push({ type, text });
  };
  const head = selection.slice(0, reached);
  let a = 0;
  for (const change of wordChanges(head, partial)) {
    push("equal", head.slice(a, change.fromA));
    push("del", head.slice(change.fromA, change.toA));
    push("ins", partial.slice(change.fromB, change.toB));
    a = change.toA;
  }
  push("equal", head.slice(a));
  push("waiting", selection.slice(reached));
  return out;
}

interface Span {
  readonly fromA: number;
  readonly toA: number;
  readonly fromB: number;
  readonly toB: number;
}

/**
 * The presentable changes, widened to whole words and grapheme clusters on both
 * sides. Only what is equal on both sides is taken in: a change that would have
 * to reach further becomes one with its neighbour.
 */
function wordChanges(a: string, b: string): readonly Span[] {
  const out: Span[] = [];
  const isEdgeA = wordEdges(a);
  const isEdgeB = wordEdges(b);
  const changes = presentableDiff(a, b, diffLimits);
  for (const [i, change] of changes.entries()) {
    let { fromA, toA, fromB, toB } = change;
    const last = out.at(-1);
    const low = last?.toA ?? 0;
    while (fromA > low && !(isEdgeA(fromA) && isEdgeB(fromB))) {
      fromA--;
      fromB--;
    }
    if (last !== undefined && fromA <= low) {
      out.pop();
      fromA = last.fromA;
      fromB = last.fromB;
    }
    const high = changes[i + 1]?.fromA ?? a.length;
    while (toA < high && !(isEdgeA(toA) && isEdgeB(toB))) {
      toA++;
      toB++;
    }
    out.push({ fromA, toA, fromB, toB });
  }
  return out;
}

/** Tells where no word and no grapheme cluster is cut. */
function wordEdges(text: string): (at: number) => boolean {
  const isEdge = clusterEdges(text);
  return (at) =>
    isEdge(at) && !(endsInWord.test(before(text, at)) && wordPattern.test(text.slice(at, at + 2)));
}

/** The last character before a place. */
function before(text: string, at: number): string {
  return text.slice(Math.max(0, at - 2), at);
}

/**
 * Tells the edges of grapheme clusters. Segmenting costs about 20 microseconds
 * a cluster, so it is asked only where the neighbours could join at all.
 */
function clusterEdges(text: string): (at: number) => boolean {
  const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text);
  return (at) => {
    if (at <= 0 || at >= text.length) return true;
    if (stands(text.charCodeAt(at - 1)) && stands(text.charCodeAt(at))) return true;
    return segments.containing(at)?.index === at;
  };
}

/** Whether a unit never joins another one of this kind: ASCII but CR, common Han. */
function stands(unit: number): boolean {
  return (unit < 0x80 && unit !== 0x0d) || (unit >= 0x4e00 && unit <= 0x9fff);
}

interface Token {
  readonly text: string;
  readonly end: number;
  /** What it costs to lose or gain it: words count, blanks hardly. */
  readonly weight: number;
}

const tokenPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}\p{M}'’])+|\s+|./gsu;
const wordPattern = /^(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}\p{M}'’])/u;
const endsInWord = /(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}\p{M}'’])$/u;

/** Words, blanks, signs, and East Asian letters one by one; exact enough to align by. */
function tokens(text: string): readonly Token[] {
  const out: Token[] = [];
  for (const { 0: found, index } of text.matchAll(tokenPattern)) {
    const weight = wordPattern.test(found) ? 1 : found.trim() === "" ? 0.1 : 0.5;
    out.push({ text: found, end: index + found.length, weight });
  }
  return out;
}

/**
 * How far into the selection the answer has come, in UTF-16 units: the prefix
 * of the selection that is nearest to the answer, word by word.
 */
function reach(selection: string, partial: string): number {
  if (partial === "") return 0;
  const a = tokens(selection);
  const b = tokens(partial);
  if (a.length * b.length > mostPairs) return reachByLength(selection, partial);
  // The last word may be half a word; it is judged by what it begins.
  const open = b.at(-1);
  const half = open !== undefined && wordPattern.test(open.text) ? open.text : null;
  const costs = alignment(a, half === null ? b : b.slice(0, -1));
  let best = 0;
  for (let i = 1; i <= a.length; i++) {
    if ((costs[i] ?? 0) < (costs[best] ?? 0)) best = i;
  }
  const at = best === 0 ? 0 : (a[best - 1]?.end ?? 0);
  const begins = half !== null && a[best]?.text.startsWith(half) === true ? half.length : 0;
  return edgeBefore(selection, at + begins);
}

/** costs[i]: what it takes to make the first i tokens of `a` into `b`. */
function alignment(a: readonly Token[], b: readonly Token[]): Float64Array {
  // Losing a word is cheaper than gaining one: shortening is the usual answer.
  const lose = 0.6;
  let row = new Float64Array(a.length + 1);
  for (let i = 0; i < a.length; i++) row[i + 1] = (row[i] ?? 0) + (a[i]?.weight ?? 0) * lose;
  for (const token of b) {
    const next = new Float64Array(a.length + 1);
    next[0] = (row[0] ?? 0) + token.weight;
    for (let i = 0; i < a.length; i++) {
      const gained = (row[i + 1] ?? 0) + token.weight;
      const lost = (next[i] ?? 0) + (a[i]?.weight ?? 0) * lose;
      const kept = a[i]?.text === token.text ? (row[i] ?? 0) : Number.POSITIVE_INFINITY;
      next[i + 1] = Math.min(gained, lost, kept);
    }
    row = next;
  }
  return row;
}

/** For very long selections: as far as the answer is long, to the end of a word. */
function reachByLength(selection: string, partial: string): number {
  if (partial.length >= selection.length) return selection.length;
  const blank = selection.slice(partial.length).search(/\s/);
  return blank < 0 ? selection.length : edgeBefore(selection, partial.length + blank);
}

/** `at`, moved back to where no grapheme cluster of `text` is cut. */
function edgeBefore(text: string, at: number): number {
  const isEdge = clusterEdges(text);
  let edge = at;
  while (!isEdge(edge)) edge--;
  return edge;
}
