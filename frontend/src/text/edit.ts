/**
 * Edits of a text: what makes a set of them valid, and applying it. Positions
 * are UTF-16 code units into LF text without BOM.
 */

/** Replaces the half-open range [from, to) of a text by `insert`, which holds LF only. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** What edits are checked against: a string, or an adapter over a rope. */
export interface Sliceable {
  readonly length: number;
  slice(from: number, to: number): string;
}

/** Why a set of edits is refused. */
export type EditProblem =
  | "out_of_range"
  | "inside_pair"
  | "reversed"
  | "overlap"
  | "carriage_return"
  | "lone_surrogate";

/**
 * Returns why `edits` cannot be applied to `text`, or null when they can. They
 * must be in range, sorted and free of strict overlap; no end may lie inside a
 * surrogate pair and no insert may hold CR or a lone surrogate. Ranges that
 * touch and several insertions at one place are allowed.
 */
export function checkEdits(edits: readonly Edit[], text: Sliceable): EditProblem | null {
  let end = 0;
  for (const edit of edits) {
    if (!Number.isSafeInteger(edit.from) || !Number.isSafeInteger(edit.to)) return "out_of_range";
    if (edit.from < 0 || edit.to > text.length || edit.from > text.length) return "out_of_range";
    if (edit.from > edit.to) return "reversed";
    if (edit.from < end) return "overlap";
    if (isInsidePair(text, edit.from) || isInsidePair(text, edit.to)) return "inside_pair";
    if (edit.insert.includes("\r")) return "carriage_return";
    if (hasLoneSurrogate(edit.insert)) return "lone_surrogate";
    end = edit.to;
  }
  return null;
}

/** Returns `text` with `edits` made. Throws a RangeError for edits that `checkEdits` refuses. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const problem = checkEdits(edits, text);
  if (problem !== null) throw new RangeError(`edits cannot be applied: ${problem}`);
  let out = "";
  let end = 0;
  for (const edit of edits) {
    out += text.slice(end, edit.from) + edit.insert;
    end = edit.to;
  }
  return out + text.slice(end);
}

/** Whether `position` lies between the two halves of a surrogate pair. */
export function isInsidePair(text: Sliceable, position: number): boolean {
  if (position <= 0 || position >= text.length) return false;
  const around = text.slice(position - 1, position + 1);
  return isHighSurrogate(around.charCodeAt(0)) && isLowSurrogate(around.charCodeAt(1));
}

/** Whether `text` holds half of a surrogate pair without the other. */
export function hasLoneSurrogate(text: string): boolean {
  return loneSurrogates(text).length > 0;
}

/** The positions in `text` of surrogates that stand alone, in order. */
export function loneSurrogates(text: string): readonly number[] {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) i++;
    else if (isHighSurrogate(unit) || isLowSurrogate(unit)) out.push(i);
  }
  return out;
}

/** Whether `unit` is the first half of a surrogate pair. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Whether `unit` is the second half of a surrogate pair. NaN is none. */
export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
