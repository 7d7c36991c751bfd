/**
 * The table of line endings (F3): the ending of each line break of an LF text,
 * in order, run-length encoded. A table is immutable and normal: no empty run,
 * no two neighbours of one ending.
 */

import type { Edit } from "./edit";

/** What stands at the end of a line on disk. */
export type Ending = "lf" | "crlf" | "cr";

/** `count` breaks in a row with one ending. */
export interface EndingRun {
  readonly ending: Ending;
  readonly count: number;
}

const written: Readonly<Record<Ending, string>> = { lf: "\n", crlf: "\r\n", cr: "\r" };

/** The order that decides a tie for the majority. */
const order: readonly Ending[] = ["lf", "crlf", "cr"];

/** Whether `name` is an ending. */
export function isEnding(name: string): name is Ending {
  return name === "lf" || name === "crlf" || name === "cr";
}

/** Joins runs to a normal table. */
export function joinEndings(...parts: readonly (readonly EndingRun[])[]): readonly EndingRun[] {
  const out: EndingRun[] = [];
  for (const part of parts) {
    for (const run of part) {
      if (run.count <= 0) continue;
      const last = out.at(-1);
      if (last?.ending === run.ending)
        out[out.length - 1] = { ending: run.ending, count: last.count + run.count };
      else out.push(run);
    }
  }
  return out;
}

/** How many breaks the table covers. */
export function breakCount(table: readonly EndingRun[]): number {
  return table.reduce((sum, run) => sum + run.count, 0);
}

/** The ending of break `index`, counted from 0; null when there is no such break. */
export function endingAt(table: readonly EndingRun[], index: number): Ending | null {
  let left = index;
  for (const run of table) {
    if (left < run.count) return left < 0 ? null : run.ending;
    left -= run.count;
  }
  return null;
}

/** The part [from, to) of a table, in breaks. */
export function sliceEndings(table: readonly EndingRun[], from: number, to: number): readonly EndingRun[] {
  const out: EndingRun[] = [];
  let at = 0;
  for (const run of table) {
    const count = Math.min(to, at + run.count) - Math.max(from, at);
    if (count > 0) out.push({ ending: run.ending, count });
    at += run.count;
    if (at >= to) break;
  }
  return out;
}

/**
 * The majority of a table; a tie goes to LF, then CRLF, and so does a table
 * without a break. It is asked once, of the file as it was opened.
 */
export function majorityEnding(table: readonly EndingRun[]): Ending {
  const counts: Record<Ending, number> = { lf: 0, crlf: 0, cr: 0 };
  for (const run of table) counts[run.ending] += run.count;
  return order.reduce((best, ending) => (counts[ending] > counts[best] ? ending : best), "lf");
}

/** Whether a file with this table and majority can ever hold two kinds of endings. */
export function isMixed(table: readonly EndingRun[], majority: Ending): boolean {
  return table.some((run) => run.ending !== majority);
}

/** What one step does to a table. */
export interface EndingsStep {
  readonly table: readonly EndingRun[];
  /** The endings of all breaks that the step inserts, in order. */
  readonly inserted: readonly EndingRun[];
}

/**
 * Carries a table over a step. `breaksBefore` counts the breaks before a
 * position of the text before the step, whose coordinates `edits` have; edits
 * are sorted and do not overlap. All breaks that an edit inserts take the
 * ending of the line that holds its `from`, the last line that of `majority`.
 * What an undo brings back is given as `restored`: the endings of all breaks it
 * inserts, in order.
 */
export function stepEndings(
  table: readonly EndingRun[],
  majority: Ending,
  breaksBefore: (position: number) => number,
  edits: readonly Edit[],
  restored?: readonly EndingRun[],
): EndingsStep {
  const parts: (readonly EndingRun[])[] = [];
  const inserts: (readonly EndingRun[])[] = [];
  let kept = 0;
  let given = 0;
  for (const edit of edits) {
    const first = breaksBefore(edit.from);
    const count = countBreaks(edit.insert);
    const insert =
      restored === undefined
        ? [{ ending: endingAt(table, first) ?? majority, count }]
        : sliceEndings(restored, given, given + count);
    given += count;
    parts.push(sliceEndings(table, kept, first), insert);
    inserts.push(insert);
    kept = breaksBefore(edit.to);
  }
  parts.push(sliceEndings(table, kept, breakCount(table)));
  return { table: joinEndings(...parts), inserted: joinEndings(...inserts) };
}

/** How many line breaks `text` holds. */
export function countBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** `text` with each break written as its ending. Throws a RangeError when the table has other counts. */
export function writeEndings(text: string, table: readonly EndingRun[]): string {
  const lines = text.split("\n");
  if (lines.length - 1 !== breakCount(table))
    throw new RangeError("the table of endings does not fit the text");
  let line = 0;
  let out = "";
  for (const run of table) {
    for (let i = 0; i < run.count; i++) out += `${lines[line++] ?? ""}${written[run.ending]}`;
  }
  return out + (lines[line] ?? "");
}
