/** Between CodeMirror's change sets and the plain edits and ranges of `text/`. */

import type { ChangeSet, Text } from "@codemirror/state";
import type { ChangedRange, Edit, Sliceable } from "../text";
import { reduceRanges } from "../text";

/** The edits of a change set, sorted, in the coordinates before it; touching ones stay apart. */
export function editsOf(changes: ChangeSet): readonly Edit[] {
  const out: Edit[] = [];
  changes.iterChanges(
    (from, to, _fromB, _toB, insert) => out.push({ from, to, insert: insert.toString() }),
    true,
  );
  return out;
}

/** What `changes`, composed from `base` to `now`, come to when reduced against the base (P3). */
export function changedRanges(base: Text, now: Text, changes: ChangeSet): readonly ChangedRange[] {
  const ranges: ChangedRange[] = [];
  changes.iterChangedRanges((fromA, toA, fromB, toB) => ranges.push({ fromA, toA, fromB, toB }), true);
  return reduceRanges(
    ranges,
    (from, to) => base.sliceString(from, to),
    (from, to) => now.sliceString(from, to),
  );
}

/** A document as something edits can be checked against. */
export function sliceable(text: Text): Sliceable {
  return { length: text.length, slice: (from, to) => text.sliceString(from, to) };
}
