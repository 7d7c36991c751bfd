/**
 * A line of the page that holds something made elsewhere, such as the rewrite
 * box, below the text it is about. It pushes text down and covers none.
 */

import type { EditorState, Extension, Range } from "@codemirror/state";
import { StateEffect, StateField } from "@codemirror/state";
import type { DecorationSet } from "@codemirror/view";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";

/** What a box is about and what it holds. */
export interface Box {
  /** The range of the text, highlighted while the box is open. */
  readonly from: number;
  readonly to: number;
  /** The box itself. It stays one and the same node for as long as it is open. */
  readonly dom: HTMLElement;
}

interface Shown extends Box {
  readonly decorations: DecorationSet;
}

const showEffect = StateEffect.define<Box>();
const moveEffect = StateEffect.define<{ readonly from: number; readonly to: number }>();
const hideEffect = StateEffect.define<null>();

const boxField = StateField.define<Shown | null>({
  create: () => null,
  update: (value, tr) => {
    let box: Box | null = value;
    if (box !== null && tr.docChanged) {
      // What is typed at either edge is not part of it.
      const from = tr.changes.mapPos(box.from, 1);
      box = { from, to: Math.max(from, tr.changes.mapPos(box.to, -1)), dom: box.dom };
    }
    for (const effect of tr.effects) {
      if (effect.is(showEffect)) box = effect.value;
      else if (effect.is(moveEffect) && box !== null) box = { ...effect.value, dom: box.dom };
      else if (effect.is(hideEffect)) box = null;
    }
    return box === value || box === null ? (box === null ? null : value) : place(box, tr.state);
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value?.decorations ?? Decoration.none),
});

/** The place for a box. */
export function boxes(): Extension {
  return boxField;
}

/** Shows a box below the line in which the range ends, in place of the one shown. */
export function showBox(view: EditorView, box: Box): void {
  view.dispatch({
    effects: [showEffect.of(box), EditorView.scrollIntoView(box.to, { y: "nearest", yMargin: 96 })],
  });
}

/** Makes the open box be about another range. */
export function moveBox(view: EditorView, range: { readonly from: number; readonly to: number }): void {
  if (boxRange(view.state) !== null) view.dispatch({ effects: moveEffect.of(range) });
}

/** Takes the box away. The focus goes to the text when it was in the box. */
export function hideBox(view: EditorView): void {
  const box = view.state.field(boxField, false);
  if (box === null || box === undefined) return;
  const inside = box.dom.contains(box.dom.ownerDocument.activeElement);
  view.dispatch({ effects: hideEffect.of(null) });
  if (inside) view.focus();
}

/** The range that the open box is about, as it is now; null when there is none. */
export function boxRange(state: EditorState): { readonly from: number; readonly to: number } | null {
  const box = state.field(boxField, false);
  return box === null || box === undefined ? null : { from: box.from, to: box.to };
}

function place(box: Box, state: EditorState): Shown {
  const out: Range<Decoration>[] = [];
  if (box.from < box.to) out.push(Decoration.mark({ class: "g-asked" }).range(box.from, box.to));
  const widget = new BoxWidget(box.dom);
  // The caret of a range that ends at a line's start is in the line before.
  const end = box.to > box.from ? box.to - 1 : box.to;
  out.push(Decoration.widget({ widget, block: true, side: 2 }).range(state.doc.lineAt(end).to));
  return { from: box.from, to: box.to, dom: box.dom, decorations: Decoration.set(out, true) };
}

/** What is left free below a box that has grown, in CSS pixels. */
const spaceBelow = 12;

/**
 * Follows a box that grows while the person is in it, so that its buttons stay
 * in sight; its first line never leaves the top for that.
 */
function keepInSight(view: EditorView, line: HTMLElement): ResizeObserver | null {
  if (typeof ResizeObserver === "undefined") return null;
  const observer = new ResizeObserver(() => {
    if (!line.contains(line.ownerDocument.activeElement)) return;
    const box = line.getBoundingClientRect();
    const pane = view.scrollDOM.getBoundingClientRect();
    const below = box.bottom + spaceBelow - pane.bottom;
    const above = Math.max(0, box.top - pane.top);
    if (below > 0) view.scrollDOM.scrollTop += Math.min(below, above);
  });
  observer.observe(line);
  return observer;
}

const observers = new WeakMap<HTMLElement, ResizeObserver>();

class BoxWidget extends WidgetType {
  constructor(private readonly dom: HTMLElement) {
    super();
  }

  override eq(other: BoxWidget): boolean {
    return other.dom === this.dom;
  }

  override get estimatedHeight(): number {
    return 140;
  }

  override toDOM(view: EditorView): HTMLElement {
    const line = document.createElement("div");
    line.className = "g-box-line";
    line.appendChild(this.dom);
    const observer = keepInSight(view, line);
    if (observer !== null) observers.set(line, observer);
    return line;
  }

  override destroy(line: HTMLElement): void {
    observers.get(line)?.disconnect();
  }

  /** Whatever happens in the box is none of the editor's business. */
  override ignoreEvent(): boolean {
    return true;
  }
}
