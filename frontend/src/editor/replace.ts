/** Replacing the whole text by another: a file that changed on disk, a version of before, a merge. */

import { isolateHistory } from "@codemirror/commands";
import type { EditorState, TransactionSpec } from "@codemirror/state";
import { ChangeSet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { diffEdits, stepEndings } from "../text";
import { countVersion } from "./base";
import { editsOf } from "./changes";
import type { Endings } from "./endings";
import { setEndings } from "./endings";

/**
 * The transaction that replaces the text as one step of its own in the history
 * and only in the parts that differ: caret, scroll and open proposals stay with
 * their words. `table` gives the text other line endings. `since` are changes
 * that were made to `state` in the meantime; they are kept, and the transaction
 * is one on the text after them. Null when nothing would change.
 */
export function replacement(
  state: EditorState,
  text: string,
  userEvent: string,
  table?: Endings,
  since: ChangeSet = ChangeSet.empty(state.doc.length),
): TransactionSpec | null {
  const edits = diffEdits(state.doc.toString(), text);
  if (edits.length === 0 && table === undefined) return null;
  const changes = ChangeSet.of(
    edits.map(({ from, to, insert }) => ({ from, to, insert: state.toText(insert) })),
    state.doc.length,
  );
  const after = table === undefined ? undefined : carried(state, changes, table, since);
  return {
    changes: changes.map(since, true),
    annotations: isolateHistory.of("full"),
    effects: [
      ...(after === undefined ? [] : [setEndings.of(after)]),
      // The host counts what it is given anew as a version, and so does the page.
      ...(changes.empty ? [countVersion.of(null)] : []),
    ],
    userEvent,
  };
}

/** Makes the transaction of `replacement` in a view. */
export function replaceText(view: EditorView, text: string, userEvent: string, table?: Endings): void {
  const spec = replacement(view.state, text, userEvent, table);
  if (spec !== null) view.dispatch(spec);
}

/**
 * Dispatches a transaction without a jump: the line of the caret stays where it
 * is on the screen, or the first line that is seen when the caret is not.
 */
export function dispatchInPlace(view: EditorView, spec: TransactionSpec): void {
  const { scrollDOM, documentTop } = view;
  const box = scrollDOM.getBoundingClientRect();
  const from = box.top - documentTop;
  const { head } = view.state.selection.main;
  const caret = view.lineBlockAt(head);
  const isSeen = caret.bottom > from && caret.top < from + box.height;
  const at = isSeen ? head : view.lineBlockAtHeight(Math.max(0, from)).from;
  const before = view.lineBlockAt(at).top;
  const tr = view.state.update(spec);
  view.dispatch(tr);
  const now = tr.changes.mapPos(at, 1);
  const sought = before - from;
  // Once by what is known of the lines above, and once when those that came into sight are measured.
  const settle = (again: boolean): void =>
    view.requestMeasure({
      read: () => view.lineBlockAt(Math.min(now, view.state.doc.length)).top,
      write: (top) => {
        const off = top - (scrollDOM.getBoundingClientRect().top - view.documentTop) - sought;
        if (Math.abs(off) > 0.5) scrollDOM.scrollTop += off;
        if (again) settle(false);
      },
    });
  settle(true);
}

/** The endings of the new text after what was typed meanwhile has been put into it. */
function carried(state: EditorState, changes: ChangeSet, table: Endings, since: ChangeSet): Endings {
  if (since.empty) return table;
  const doc = changes.apply(state.doc);
  const breaksBefore = (position: number): number => doc.lineAt(position).number - 1;
  const step = stepEndings(table.table, table.majority, breaksBefore, editsOf(since.map(changes)));
  return { table: step.table, majority: table.majority };
}
