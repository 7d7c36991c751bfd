/**
 * The table of line endings beside the text (F3). The document holds LF only;
 * this field knows what stands at the end of each line on disk. An undo brings
 * back the endings of the breaks it brings back.
 */

import { invertedEffects } from "@codemirror/commands";
import type { EditorState, Extension, Text, Transaction } from "@codemirror/state";
import { ChangeSet, MapMode, StateEffect, StateField } from "@codemirror/state";
import type { Ending, EndingRun, EndingsStep } from "../text";
import { breakCount, countBreaks, isMixed, joinEndings, sliceEndings, stepEndings } from "../text";
import { editsOf } from "./changes";

/** The endings of a document. */
export interface Endings {
  readonly table: readonly EndingRun[];
  /** The ending of a new line that grows from none: the majority of the file as it was opened. */
  readonly majority: Ending;
}

/** Gives the document another table, as after a reload. It must fit the text after the transaction. */
export const setEndings = StateEffect.define<Endings>();

/**
 * Gives the table back that an undone transaction had replaced. Unlike
 * setEndings it is only taken where it fits: what happened since may have left
 * other breaks.
 */
const restoreTable = StateEffect.define<Endings>();

interface State extends Endings {
  /**
   * False while the file cannot hold a second kind of ending. Then nothing need
   * be kept for undo, and no table be cut.
   */
  readonly mixed: boolean;
}

/** A deleted break, by its position in the text that holds it. */
interface DeletedBreak {
  readonly at: number;
  readonly ending: Ending;
}

/**
 * The endings of all breaks that undoing a transaction inserts. Their order is
 * what counts. Joined transactions compose their inverses, and the positions
 * follow exactly; a break that the other one had inserted itself is dropped.
 */
const restoreEndings = StateEffect.define<readonly DeletedBreak[]>({
  map: (breaks, mapping) => {
    // A change from elsewhere maps the undone change, not the text after it:
    // positions do not follow exactly then, but their order stays.
    if (!(mapping instanceof ChangeSet)) return breaks;
    const out: DeletedBreak[] = [];
    for (const { at, ending } of breaks) {
      const to = at < mapping.length ? mapping.mapPos(at, 1, MapMode.TrackAfter) : null;
      if (to !== null) out.push({ at: to, ending });
    }
    return out;
  },
});

/** The field; present where `endings()` is. */
const endingsField = StateField.define<State>({
  create: (state) => uniform(state.doc),
  update: (value, tr) => {
    for (const effect of tr.effects) {
      if (effect.is(setEndings)) return fitting(effect.value, tr.newDoc);
      if (effect.is(restoreTable) && breakCount(effect.value.table) === tr.newDoc.lines - 1)
        return fitting(effect.value, tr.newDoc);
    }
    if (!tr.docChanged) return value;
    return { ...value, table: plan(value, tr).table };
  },
});

/** Keeps the endings of a document that was opened with this table and majority. */
export function endings(table: readonly EndingRun[], majority: Ending): Extension {
  return [
    endingsField.init((state) => fitting({ table, majority }, state.doc)),
    invertedEffects.of((tr) => {
      const value = tr.startState.field(endingsField, false);
      if (value !== undefined && replacesEndings(tr))
        return [restoreTable.of({ table: value.table, majority: value.majority })];
      const deleted = value?.mixed === true ? deletedBreaks(value, tr) : [];
      return deleted.length === 0 ? [] : [restoreEndings.of(deleted)];
    }),
  ];
}

/** The table of endings now. */
export function endingsOf(state: EditorState): Endings {
  const { table, majority } = state.field(endingsField);
  return { table, majority };
}

/**
 * Whether a transaction gives the document another table, so that more than the
 * breaks it inserts may have other endings.
 */
export function replacesEndings(tr: Transaction): boolean {
  return tr.effects.some((effect) => effect.is(setEndings) || effect.is(restoreTable));
}

/** The endings of the breaks that a transaction inserts, in order. */
export function insertedEndings(tr: Transaction): readonly EndingRun[] {
  const value = tr.startState.field(endingsField, false);
  return value === undefined || !tr.docChanged ? [] : plan(value, tr).inserted;
}

function plan(value: State, tr: Transaction): EndingsStep {
  const before = tr.startState.doc;
  if (!value.mixed) {
    const run = (count: number): readonly EndingRun[] => joinEndings([{ ending: value.majority, count }]);
    let inserted = 0;
    tr.changes.iterChanges((_fromA, _toA, _fromB, _toB, insert) => {
      inserted += insert.lines - 1;
    });
    return { table: run(tr.newDoc.lines - 1), inserted: run(inserted) };
  }
  const edits = editsOf(tr.changes);
  const restored = restoredEndings(
    tr,
    edits.reduce((sum, edit) => sum + countBreaks(edit.insert), 0),
  );
  return stepEndings(value.table, value.majority, (at) => breaksBefore(before, at), edits, restored);
}

/** What an undo or redo brings back; undefined for any other transaction. */
function restoredEndings(tr: Transaction, inserted: number): readonly EndingRun[] | undefined {
  const breaks: DeletedBreak[] = [];
  for (const effect of tr.effects) {
    if (effect.is(restoreEndings)) breaks.push(...effect.value);
  }
  // Fewer or more than were deleted cannot be told apart by order: then the
  // rule for new breaks is the better guess.
  if (inserted === 0 || breaks.length !== inserted) return undefined;
  breaks.sort((a, b) => a.at - b.at);
  return joinEndings(breaks.map(({ ending }) => ({ ending, count: 1 })));
}

function deletedBreaks(value: State, tr: Transaction): readonly DeletedBreak[] {
  const before = tr.startState.doc;
  const out: DeletedBreak[] = [];
  tr.changes.iterChangedRanges((from, to) => {
    const first = before.lineAt(from).number;
    const runs = sliceEndings(value.table, first - 1, before.lineAt(to).number - 1);
    let line = first;
    for (const { ending, count } of runs) {
      for (let i = 0; i < count; i++) out.push({ at: before.line(line++).to, ending });
    }
  }, true);
  return out;
}

function breaksBefore(text: Text, position: number): number {
  return text.lineAt(position).number - 1;
}

function uniform(text: Text): State {
  return { table: joinEndings([{ ending: "lf", count: text.lines - 1 }]), majority: "lf", mixed: false };
}

function fitting({ table, majority }: Endings, text: Text): State {
  const normal = joinEndings(table);
  if (breakCount(normal) !== text.lines - 1)
    throw new RangeError("the table of endings does not fit the text");
  return { table: normal, majority, mixed: isMixed(normal, majority) };
}
