/** Keeps halves of surrogate pairs out of documents (P1, F2). */

import type { Extension, TransactionSpec } from "@codemirror/state";
import { EditorState } from "@codemirror/state";
import { loneSurrogates } from "../text";

/**
 * Removes lone surrogates that a transaction brings in or leaves behind, such
 * as the other half of a pair that was deleted by one half. The host would read
 * them as U+FFFD.
 */
export function surrogateFilter(): Extension {
  return EditorState.transactionFilter.of((tr) => {
    if (!tr.docChanged) return tr;
    const lone = new Set<number>();
    tr.changes.iterChangedRanges((_fromA, _toA, fromB, toB) => {
      // One more on each side shows whether a neighbour is whole.
      const from = Math.max(0, fromB - 2);
      const near = tr.newDoc.sliceString(from, Math.min(tr.newDoc.length, toB + 2));
      for (const at of loneSurrogates(near)) {
        const position = from + at;
        if (position >= fromB - 1 && position <= toB) lone.add(position);
      }
    });
    if (lone.size === 0) return tr;
    const changes = [...lone].sort((a, b) => a - b).map((from) => ({ from, to: from + 1 }));
    const repair: TransactionSpec = { changes, sequential: true };
    return [tr, repair];
  });
}
