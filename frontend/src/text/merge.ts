/**
 * The three-way merge of texts: what only one side changed is taken, what both
 * changed differently waits for a choice. By line, then by word where both
 * sides changed the same lines in different places. Pure.
 */

import { diffLines, diffWords, hasWord, linesOf } from "./diff";
import type { Ending, EndingRun } from "./lineending";
import { countBreaks, endingAt, joinEndings, sliceEndings } from "./lineending";
import type { ChangedRange } from "./map";

/** Where something comes from. `both` is the same change on both sides. */
export type Source = "same" | "mine" | "theirs" | "both";

/** A stretch within the lines of a chunk. Null of `source` is a conflict. */
export interface Piece {
  readonly source: Source | null;
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/**
 * Whole lines of the three texts that belong together. `woven` lines were
 * changed by both sides, in different places; both changes are taken.
 */
export interface Chunk {
  readonly kind: Source | "woven" | "conflict";
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
  /** The first line of it in each text, counted from 0. */
  readonly mineLine: number;
  readonly theirsLine: number;
  /** Its stretches in order; one unless the chunk was compared by word. */
  readonly pieces: readonly Piece[];
  /** Names a conflict by its words and its place among equal ones, so that a choice can outlive another comparison. */
  readonly key: string;
}

/** What a person decided about a conflict. */
export type Choice =
  | { readonly by: "mine" | "theirs" | "both" }
  | { readonly by: "written"; readonly text: string };

/** The choices by the key of their chunk. */
export type Choices = ReadonlyMap<string, Choice>;

/** Stretches that both sides changed are woven only while half of the words stay, and up to this length. */
const mostWoven = 20_000;

/**
 * Merges two texts that grew out of `base`. Without one (null) every
 * difference is a conflict, since nobody knows who made it.
 */
export function mergeTexts(base: string | null, mine: string, theirs: string): readonly Chunk[] {
  const linesMine = linesOf(mine);
  const linesTheirs = linesOf(theirs);
  const regions =
    base === null
      ? regionsOfTwo(diffLines(linesMine, linesTheirs))
      : regionsOf(
          diffLines(linesOf(base), linesMine),
          diffLines(linesOf(base), linesTheirs),
          (from, to) => from < to,
        );
  const linesBase = base === null ? linesMine : linesOf(base);
  const out: Chunk[] = [];
  const seen = new Map<string, number>();
  let atBase = 0;
  let atMine = 0;
  let atTheirs = 0;
  const add = (toBase: number, toMine: number, toTheirs: number, differs: boolean): void => {
    if (toBase === atBase && toMine === atMine && toTheirs === atTheirs) return;
    const texts = {
      base: base === null && differs ? "" : linesBase.slice(atBase, toBase).join(""),
      mine: linesMine.slice(atMine, toMine).join(""),
      theirs: linesTheirs.slice(atTheirs, toTheirs).join(""),
    };
    let mineLine = atMine;
    let theirsLine = atTheirs;
    for (const pieces of piecesOf(texts, differs, base !== null)) {
      const chunk = { ...chunkOf(pieces, seen), mineLine, theirsLine };
      out.push(chunk);
      mineLine += countBreaks(chunk.mine);
      theirsLine += countBreaks(chunk.theirs);
    }
    atBase = toBase;
    atMine = toMine;
    atTheirs = toTheirs;
  };
  for (const region of regions) {
    const same = region.fromBase - atBase;
    add(region.fromBase, atMine + same, atTheirs + same, false);
    add(region.toBase, region.toMine, region.toTheirs, true);
  }
  add(linesBase.length, linesMine.length, linesTheirs.length, false);
  return out;
}

/** Whether a chunk waits for a choice. */
export function isConflict(chunk: Chunk): boolean {
  return chunk.kind === "conflict";
}

/** Whether choosing a side of a conflict still takes other words of the other side. */
export function isPartlyTaken(chunk: Chunk): boolean {
  return isConflict(chunk) && chunk.pieces.some(({ source }) => source === "mine" || source === "theirs");
}

/** What a chunk comes to; null for a conflict without a choice. */
export function chunkText(chunk: Chunk, choices: Choices): string | null {
  const parts = partsOf(chunk, choices);
  return parts === null ? null : parts.map((part) => part.text).join("");
}

/** The merged text; null while a conflict waits for a choice. */
export function mergedText(chunks: readonly Chunk[], choices: Choices): string | null {
  const texts = chunks.map((chunk) => chunkText(chunk, choices));
  return texts.includes(null) ? null : texts.join("");
}

/**
 * The endings of the merged text's breaks: each break keeps the ending it has
 * where it comes from. Lines that both sides have take what is on disk, since
 * the page changes no ending. What was written by hand takes the ending of its
 * place.
 */
export function mergedEndings(
  chunks: readonly Chunk[],
  choices: Choices,
  mine: readonly EndingRun[],
  theirs: readonly EndingRun[],
  majority: Ending,
): readonly EndingRun[] {
  const runs: (readonly EndingRun[])[] = [];
  for (const chunk of chunks) {
    for (const part of partsOf(chunk, choices) ?? []) {
      const count = countBreaks(part.text);
      if (part.from === "written") {
        const ending = endingAt(mine, chunk.mineLine) ?? endingAt(theirs, chunk.theirsLine) ?? majority;
        runs.push([{ ending, count }]);
      } else {
        const table = part.from === "mine" ? mine : theirs;
        runs.push(sliceEndings(table, part.firstBreak, part.firstBreak + count));
      }
    }
  }
  return joinEndings(...runs);
}

/** A stretch of merged text and where it is from. */
interface Part {
  readonly from: "mine" | "theirs" | "written";
  readonly text: string;
  /** The number of its first break in the text it is from. */
  readonly firstBreak: number;
}

function partsOf(chunk: Chunk, choices: Choices): readonly Part[] | null {
  const choice = isConflict(chunk) ? choices.get(chunk.key) : { by: "mine" as const };
  if (choice === undefined) return null;
  if (choice.by === "written") return [{ from: "written", text: choice.text, firstBreak: 0 }];
  if (choice.by === "both") {
    const gap = chunk.mine !== "" && chunk.theirs !== "" && !chunk.mine.endsWith("\n") ? "\n" : "";
    return [
      { from: "mine", text: chunk.mine, firstBreak: chunk.mineLine },
      { from: "written", text: gap, firstBreak: 0 },
      { from: "theirs", text: chunk.theirs, firstBreak: chunk.theirsLine },
    ];
  }
  let breakMine = chunk.mineLine;
  let breakTheirs = chunk.theirsLine;
  return chunk.pieces.map((piece) => {
    const side = piece.source ?? choice.by;
    const from = side === "mine" ? "mine" : "theirs";
    const part: Part = { from, text: piece[from], firstBreak: from === "mine" ? breakMine : breakTheirs };
    breakMine += countBreaks(piece.mine);
    breakTheirs += countBreaks(piece.theirs);
    return part;
  });
}

interface Texts {
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/** The pieces of a stretch of whole lines, a list for each chunk that it makes. */
function piecesOf(texts: Texts, differs: boolean, hasBase: boolean): readonly (readonly Piece[])[] {
  const source = differs ? sourceOf(texts, hasBase) : "same";
  if (source !== null) return [[{ source, ...texts }]];
  return hasBase ? inLines(weave(texts)) : [[{ source, ...texts }]];
}

function chunkOf(
  pieces: readonly Piece[],
  seen: Map<string, number>,
): Omit<Chunk, "mineLine" | "theirsLine"> {
  const joined = (side: "base" | "mine" | "theirs"): string => pieces.map((piece) => piece[side]).join("");
  const texts = { base: joined("base"), mine: joined("mine"), theirs: joined("theirs") };
  const kind = kindOf(pieces);
  if (kind !== "conflict") return { kind, ...texts, pieces, key: "" };
  const words = JSON.stringify([texts.base, texts.mine, texts.theirs]);
  const count = seen.get(words) ?? 0;
  seen.set(words, count + 1);
  return { kind, ...texts, pieces, key: `${count} ${words}` };
}

function kindOf(pieces: readonly Piece[]): Chunk["kind"] {
  const sources = new Set(pieces.map((piece) => piece.source));
  if (sources.has(null)) return "conflict";
  sources.delete("same");
  const [first] = sources;
  return sources.size > 1 ? "woven" : (first ?? "same");
}

/** Cuts pieces where all three texts begin a line, so that what waits for a choice is no more than it must be. */
function inLines(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const out: Piece[][] = [];
  let open: Piece[] = [];
  const isCut = (side: "base" | "mine" | "theirs"): boolean => {
    const last = open.map((piece) => piece[side]).filter((part) => part !== "");
    return last.at(-1)?.endsWith("\n") ?? true;
  };
  for (const piece of pieces) {
    const parts = piece.source === "same" ? linesOf(piece.base) : [null];
    for (const part of parts) {
      open.push(part === null ? piece : { source: "same", base: part, mine: part, theirs: part });
      if (!isCut("base") || !isCut("mine") || !isCut("theirs")) continue;
      const last = out.at(-1);
      // Lines that nobody changed stay together.
      if (last !== undefined && kindOf(last) === "same" && kindOf(open) === "same") last.push(...open);
      else out.push(open);
      open = [];
    }
  }
  return open.length === 0 ? out : [...out, open];
}

/** Who made a difference; null when both did, differently. */
function sourceOf({ base, mine, theirs }: Texts, hasBase: boolean): Source | null {
  if (mine === theirs) return mine === base && hasBase ? "same" : "both";
  if (!hasBase) return null;
  if (theirs === base) return "mine";
  return mine === base ? "theirs" : null;
}

/** Merges by word lines that both sides changed; one conflict where too little of them is left to go by. */
function weave(texts: Texts): readonly Piece[] {
  const { base, mine, theirs } = texts;
  const whole: readonly Piece[] = [{ source: null, ...texts }];
  if (base === "" || base.length + mine.length + theirs.length > mostWoven) return whole;
  const rangesMine = diffWords(base, mine);
  const rangesTheirs = diffWords(base, theirs);
  if (!keepsHalf(base, rangesMine) || !keepsHalf(base, rangesTheirs)) return whole;
  const regions = regionsOf(rangesMine, rangesTheirs, (from, to) => hasWord(base.slice(from, to)));
  const out: Piece[] = [];
  let atBase = 0;
  let atMine = 0;
  let atTheirs = 0;
  const add = (toBase: number, toMine: number, toTheirs: number): void => {
    const piece = {
      base: base.slice(atBase, toBase),
      mine: mine.slice(atMine, toMine),
      theirs: theirs.slice(atTheirs, toTheirs),
    };
    if (piece.base !== "" || piece.mine !== "" || piece.theirs !== "")
      out.push({ source: sourceOf(piece, true), ...piece });
    atBase = toBase;
    atMine = toMine;
    atTheirs = toTheirs;
  };
  for (const region of regions) {
    const same = region.fromBase - atBase;
    add(region.fromBase, atMine + same, atTheirs + same);
    add(region.toBase, region.toMine, region.toTheirs);
  }
  add(base.length, mine.length, theirs.length);
  return out;
}

/** Whether half of the words of a text stay. */
function keepsHalf(text: string, ranges: readonly ChangedRange[]): boolean {
  const count = (part: string): number => part.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  const gone = ranges.reduce((sum, range) => sum + count(text.slice(range.fromA, range.toA)), 0);
  return gone * 2 <= count(text);
}

/** A stretch that somebody changed, in the three texts; it starts where the last one and what is equal end. */
interface Region {
  readonly fromBase: number;
  readonly toBase: number;
  readonly toMine: number;
  readonly toTheirs: number;
}

function regionsOfTwo(ranges: readonly ChangedRange[]): readonly Region[] {
  return ranges.map((r) => ({ fromBase: r.fromA, toBase: r.toA, toMine: r.toA, toTheirs: r.toB }));
}

/**
 * Joins the changes of two sides where they meet: where they overlap or touch,
 * or where what lies between them in the base does not keep them `apart`.
 */
function regionsOf(
  mine: readonly ChangedRange[],
  theirs: readonly ChangedRange[],
  apart: (from: number, to: number) => boolean,
): readonly Region[] {
  const out: Region[] = [];
  let m = 0;
  let t = 0;
  for (;;) {
    const nextMine = mine[m];
    const nextTheirs = theirs[t];
    const first =
      nextMine === undefined || (nextTheirs !== undefined && nextTheirs.fromA < nextMine.fromA)
        ? nextTheirs
        : nextMine;
    if (first === undefined) return out;
    const fromBase = first.fromA;
    let endMine = -1;
    let endTheirs = -1;
    if (first === nextMine) {
      endMine = first.toA;
      m++;
    } else {
      endTheirs = first.toA;
      t++;
    }
    const meets = (end: number, next: ChangedRange | undefined): next is ChangedRange =>
      end >= 0 && next !== undefined && (next.fromA <= end || !apart(end, next.fromA));
    for (;;) {
      const a = mine[m];
      const b = theirs[t];
      if (meets(endTheirs, a)) {
        endMine = a.toA;
        m++;
      } else if (meets(endMine, b)) {
        endTheirs = b.toA;
        t++;
      } else {
        break;
      }
    }
    const toBase = Math.max(endMine, endTheirs);
    out.push({
      fromBase,
      toBase,
      toMine: toBase + shift(mine[m - 1]),
      toTheirs: toBase + shift(theirs[t - 1]),
    });
  }
}

/** How far behind a change positions differ between base and side. */
function shift(last: ChangedRange | undefined): number {
  return last === undefined ? 0 : last.toB - last.toA;
}
