/**
 * Edits that something outside plans to make in this document, such as a
 * replacement under review: shown as marks, and nothing else. The owner says
 * anew what is planned whenever that differs.
 */

import type { Extension, Range, Text } from "@codemirror/state";
import { StateEffect, StateField } from "@codemirror/state";
import type { DecorationSet } from "@codemirror/view";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";
import type { Edit } from "../text";
import { appendVisibly } from "./invisible";

/** One planned edit. */
export interface PlannedEdit extends Edit {
  /** It is the one that is looked at. */
  readonly current: boolean;
}

/** Shows these edits and no others; positions are those of the text after the transaction. */
export const showPlanned = StateEffect.define<readonly PlannedEdit[]>();

const plannedField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, tr) => {
    let next = marks.map(tr.changes);
    for (const effect of tr.effects) {
      if (effect.is(showPlanned)) next = draw(effect.value, tr.newDoc);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Lets a document show planned edits. */
export function plannedEdits(): Extension {
  return plannedField;
}

function draw(edits: readonly PlannedEdit[], doc: Text): DecorationSet {
  const marks: Range<Decoration>[] = [];
  /** Whether a line, by where it begins, has the current edit. */
  const lines = new Map<number, boolean>();
  for (const { from, to, insert, current } of edits) {
    if (to > doc.length) continue;
    const kind = `g-planned${current ? " is-current" : ""}`;
    const line = doc.lineAt(from).from;
    lines.set(line, current || lines.get(line) === true);
    if (to > from) marks.push(Decoration.mark({ tagName: "del", class: kind }).range(from, to));
    if (insert !== "") {
      marks.push(Decoration.widget({ widget: new Planned(insert, kind), side: 1 }).range(to));
    }
  }
  for (const [line, current] of lines) {
    marks.push(Decoration.line({ class: `g-rail${current ? " is-current" : ""}` }).range(line));
  }
  return Decoration.set(marks, true);
}

/** Words that are to come. */
class Planned extends WidgetType {
  constructor(
    private readonly words: string,
    private readonly kind: string,
  ) {
    super();
  }

  override eq(other: Planned): boolean {
    return other.words === this.words && other.kind === this.kind;
  }

  override toDOM(): HTMLElement {
    const node = document.createElement("ins");
    node.className = this.kind;
    appendVisibly(node, this.words.replaceAll("\n", "¶"));
    return node;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}
