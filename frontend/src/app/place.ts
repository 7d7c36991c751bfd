/** Goes to a place in a document that was found before: by its words, where they are now. */

import { EditorSelection, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { Documents } from "../document";

/** A place as it was found. Positions are UTF-16 units of the LF text then. */
export interface Place {
  readonly path: string;
  readonly from: number;
  /** What may stand there now, the likeliest first: "" is a place between words. */
  readonly words: readonly string[];
  /** The ends of its line around it, to tell it from others with the same words. */
  readonly before: string;
  readonly after: string;
}

/** How much of the line around a place is looked at, in UTF-16 units. */
const around = 24;

/** Opens the document of a place, selects what is there, and brings it into sight. */
export async function goToPlace(documents: Documents, place: Place, toText: boolean): Promise<void> {
  const before = documents.current.peek();
  const tab = await documents.open(place.path);
  const { view } = documents;
  const { from, to } = findPlace(view.state.doc, place);
  const show = EditorView.scrollIntoView(EditorSelection.range(from, to), { y: "center" });
  view.dispatch({ selection: { anchor: from, head: to }, effects: show, userEvent: "select.search" });
  if (tab !== before) {
    // A tab that comes to the front scrolls to where it was; this comes after.
    view.requestMeasure({
      read: () => {},
      write: () => queueMicrotask(() => view.dispatch({ effects: show })),
    });
  }
  if (toText) {
    view.focus();
  }
}

/**
 * Where a place is in a text: where it was, if its words still are there; else
 * the nearest place with the same words and the same line around, else with the
 * same words, else where it was, as far as the text reaches.
 */
export function findPlace(doc: Text, place: Place): { readonly from: number; readonly to: number } {
  const { from, words } = place;
  for (const found of words) {
    if (found !== "" && doc.sliceString(from, from + found.length) === found) {
      return { from, to: from + found.length };
    }
  }
  const text = doc.toString();
  const [left, right] = [lastLine(place.before).slice(-around), firstLine(place.after).slice(0, around)];
  for (const found of words) {
    if (found !== "") {
      const at = nearest(text, left + found + right, from - left.length);
      if (at >= 0) {
        return { from: at + left.length, to: at + left.length + found.length };
      }
    }
  }
  for (const found of words) {
    const at = found === "" ? -1 : nearest(text, found, from);
    if (at >= 0) {
      return { from: at, to: at + found.length };
    }
  }
  const at = Math.min(from, doc.length);
  return { from: at, to: at };
}

/** The place of some words that is nearest to a position; -1 for none. */
function nearest(text: string, words: string, position: number): number {
  const before = text.lastIndexOf(words, Math.max(0, position));
  const after = text.indexOf(words, Math.max(0, position));
  if (before < 0 || after < 0) {
    return Math.max(before, after);
  }
  return position - before <= after - position ? before : after;
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}
