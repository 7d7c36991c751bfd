/** The marks of a review in the text (UI.md section 6): decorations by class only. */

import type { EditorState, Extension, Range, Transaction } from "@codemirror/state";
import { StateEffect, StateField } from "@codemirror/state";
import type { DecorationSet } from "@codemirror/view";
import { Decoration, EditorView, ViewPlugin, WidgetType } from "@codemirror/view";
import { isComposing } from "./composition";
import { goToHunk, reviewEvents } from "./decide";
import { icon } from "./icon";
import { appendVisibly } from "./invisible";
import type { Platform } from "./keys";
import { reviewKeymap } from "./keys";
import type { ReviewEvent } from "./review";
import { decideHunks, holdMarks, keptReview, reviewListener, reviewOf, reviewState } from "./review";
import type { HunkView, ReviewLabels, ReviewView } from "./standing";
import { isOpen } from "./standing";
import { reviewPlatform, Toolbar } from "./toolbar";

/** What a review needs to know. */
export interface ReviewOptions {
  readonly platform: Platform;
  readonly onReview?: (event: ReviewEvent, view: EditorView) => void;
}

/** Reviews of proposals: state, marks, toolbar, keys and events. */
export function review({ platform, onReview }: ReviewOptions): Extension {
  return [
    reviewState(),
    reviewPlatform.of(platform),
    marksField,
    settle,
    reviewKeymap(platform),
    reviewEvents(),
    ...(onReview === undefined ? [] : [reviewListener.of(onReview)]),
    EditorView.domEventHandlers({
      click: (event, view) => {
        const node = event.target instanceof Element ? event.target.closest("[data-hunk]") : null;
        const hunk = node?.getAttribute("data-hunk") ?? null;
        if (hunk !== null) goToHunk(view, hunk);
        return false;
      },
    }),
  ];
}

interface Marks {
  readonly decorations: DecorationSet;
  /** A composition is open: what is shown follows the text and changes in nothing else (D11). */
  readonly held: boolean;
}

/** The composition has ended and its text is in the document. */
const releaseMarks = StateEffect.define<null>();

const marksField = StateField.define<Marks>({
  create: (state) => ({ decorations: draw(state, []), held: false }),
  update: (value, tr) => {
    const before = reviewOf(tr.startState);
    const after = reviewOf(tr.state);
    if (before === null && after === null && value.decorations.size === 0) {
      return value.held ? { ...value, held: false } : value;
    }
    const composing =
      tr.isUserEvent("input.type.compose") || tr.effects.some((effect) => effect.is(holdMarks));
    const released = tr.effects.some((effect) => effect.is(releaseMarks));
    const held = composing || (value.held && !released);
    if (held) return { decorations: value.decorations.map(tr.changes), held };
    if (before === after && !tr.docChanged && !value.held) return value;
    return { decorations: draw(tr.state, accepted(tr)), held };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.decorations),
});

/** CodeMirror takes up what a composition left within this time after its end, in ms. */
const settleAfter = 60;

const settle = ViewPlugin.define(
  (view) => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    return {
      later() {
        if (timer !== null) clearTimeout(timer);
        timer = setTimeout(() => {
          timer = null;
          if (view.state.field(marksField).held && !isComposing(view)) {
            view.dispatch({ effects: releaseMarks.of(null) });
          }
        }, settleAfter);
      },
      destroy() {
        if (timer !== null) clearTimeout(timer);
      },
    };
  },
  {
    eventObservers: {
      compositionend() {
        this.later();
      },
      blur() {
        this.later();
      },
    },
  },
);

/** The ranges that an accept has put in, in the text after it. */
function accepted(tr: Transaction): readonly Range<Decoration>[] {
  const accepts = tr.effects.some(
    (effect) => effect.is(decideHunks) && effect.value.decisions.some((d) => d.to === "accepted"),
  );
  const out: Range<Decoration>[] = [];
  if (!accepts) return out;
  tr.changes.iterChangedRanges((_fromA, _toA, from, to) => {
    if (from < to) out.push(Decoration.mark({ class: "g-fresh" }).range(from, to));
  });
  return out;
}

function draw(state: EditorState, also: readonly Range<Decoration>[]): DecorationSet {
  const view = reviewOf(state);
  const out: Range<Decoration>[] = [...also];
  const open = view?.hunks.filter(isOpen) ?? [];
  if (view === null) return Decoration.set(out, true);
  for (const hunk of open) {
    const labels = keptReview(state, hunk.review)?.labels;
    if (labels === undefined) continue;
    if (hunk.status === "stale") drawStale(hunk, view, labels, out);
    else drawHunk(state, hunk, view, labels, out);
  }
  drawRail(state, open, view, out);
  const current = open.find((hunk) => hunk.id === view.current);
  const behind = current && keptReview(state, current.review);
  if (current && behind) {
    const widget = new Toolbar({
      hunk: current,
      labels: behind.labels,
      requests: behind.requests ?? [],
      platform: state.facet(reviewPlatform),
    });
    out.push(Decoration.widget({ widget, block: true, side: 1 }).range(state.doc.lineAt(current.to).to));
  }
  return Decoration.set(out, true);
}

function drawHunk(
  state: EditorState,
  hunk: HunkView,
  view: ReviewView,
  labels: ReviewLabels,
  out: Range<Decoration>[],
): void {
  const classes = classesOf(hunk, view);
  const data = { "data-hunk": hunk.id };
  for (const [i, edit] of hunk.edits.entries()) {
    const last = i === hunk.edits.length - 1;
    const gone = struck(state.sliceDoc(edit.from, edit.to), edit.from);
    if (edit.from < edit.to) {
      const words = new Spoken(labels.spoken("deleted", hunk));
      out.push(
        Decoration.widget({ widget: words, side: 1 }).range(gone.from),
        Decoration.mark({ tagName: "del", class: `g-del${classes}`, attributes: data }).range(
          gone.from,
          gone.to,
        ),
      );
      for (
        let line = state.doc.lineAt(edit.from);
        line.to < edit.to;
        line = state.doc.line(line.number + 1)
      ) {
        out.push(Decoration.widget({ widget: new DeletedBreak(), side: 1 }).range(line.to));
      }
    }
    if (edit.insert === "" && !last) continue;
    const widget = new Insertion({
      hunk: hunk.id,
      text: edit.insert,
      classes: hunk.torn && last ? `${classes} is-torn` : classes,
      words: edit.insert === "" ? "" : labels.spoken("inserted", hunk),
      number: last ? String(hunk.number) : "",
      sign: last ? signOf(hunk) : "",
      title: last && hunk.status === "moved" ? labels.moved : "",
    });
    // It stays on that side of text typed here on which it will be put in.
    const side = edit.from < edit.to ? -1 : 1;
    // A number alone stands at the words, not behind the blank after them.
    out.push(Decoration.widget({ widget, side }).range(edit.insert === "" ? gone.to : edit.to));
  }
}

/** The part of a deletion that is marked: blanks at its ends are not, unless there is nothing else. */
function struck(text: string, from: number): { readonly from: number; readonly to: number } {
  const [, before = "", middle = "", after = ""] = /^([ \t]*)(.*?)([ \t]*)$/s.exec(text) ?? [];
  return middle === ""
    ? { from, to: from + text.length }
    : { from: from + before.length, to: from + text.length - after.length };
}

function drawStale(hunk: HunkView, view: ReviewView, labels: ReviewLabels, out: Range<Decoration>[]): void {
  const classes = classesOf(hunk, view);
  if (hunk.from < hunk.to) {
    const attributes = { "data-hunk": hunk.id };
    out.push(Decoration.mark({ class: `g-stale${classes}`, attributes }).range(hunk.from, hunk.to));
  }
  const widget = new Insertion({
    hunk: hunk.id,
    text: "",
    classes,
    words: labels.spoken("stale", hunk),
    number: String(hunk.number),
    sign: "triangle-alert",
    title: labels.stale,
  });
  out.push(Decoration.widget({ widget, side: 1 }).range(hunk.to));
}

/** A line at the margin of every line that has a hunk, but not for stale ones. */
function drawRail(
  state: EditorState,
  open: readonly HunkView[],
  view: ReviewView,
  out: Range<Decoration>[],
): void {
  const lines = new Map<number, Set<string>>();
  for (const hunk of open) {
    if (hunk.status === "stale") continue;
    for (let line = state.doc.lineAt(hunk.from); ; line = state.doc.line(line.number + 1)) {
      const classes = lines.get(line.from) ?? new Set(["g-rail"]);
      if (hunk.id === view.current) classes.add("is-current");
      if (hunk.warnings.length > 0) classes.add("is-locked");
      lines.set(line.from, classes);
      if (line.to >= hunk.to) break;
    }
  }
  for (const [from, classes] of lines)
    out.push(Decoration.line({ class: [...classes].join(" ") }).range(from));
}

function classesOf(hunk: HunkView, view: ReviewView): string {
  const current = hunk.id === view.current ? " is-current" : "";
  const locked = hunk.warnings.length > 0 && hunk.status !== "stale" ? " is-locked" : "";
  const moved = hunk.status === "moved" ? " is-moved" : "";
  const stale = hunk.status === "stale" ? " is-stale" : "";
  return `${current}${locked}${moved}${stale}`;
}

const structure: readonly string[] = ["heading_level", "marker", "table_columns", "fence"];

/** The icon beside the number. */
function signOf(hunk: HunkView): string {
  if (hunk.torn) return "scissors";
  if (hunk.warnings.some((warning) => !structure.includes(warning))) return "lock";
  if (hunk.warnings.length > 0) return "list-tree";
  return hunk.status === "moved" ? "corner-down-right" : "";
}

/** Words for screen readers only. */
class Spoken extends WidgetType {
  constructor(private readonly words: string) {
    super();
  }

  override eq(other: Spoken): boolean {
    return other.words === this.words;
  }

  override toDOM(): HTMLElement {
    const node = document.createElement("span");
    node.className = "vh";
    node.textContent = this.words;
    return node;
  }
}

/** A line break that is taken out; it stands within the mark of what is deleted and is struck by that. */
class DeletedBreak extends WidgetType {
  override eq(): boolean {
    return true;
  }

  override toDOM(): HTMLElement {
    const node = document.createElement("span");
    node.className = "g-break";
    node.textContent = "¶";
    node.setAttribute("aria-hidden", "true");
    return node;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

interface InsertionContents {
  readonly hunk: string;
  readonly text: string;
  readonly classes: string;
  readonly words: string;
  /** The superscript; empty for none. */
  readonly number: string;
  readonly sign: string;
  readonly title: string;
}

/** What is put in, and the number of the hunk behind its last edit. */
class Insertion extends WidgetType {
  constructor(private readonly contents: InsertionContents) {
    super();
  }

  override eq(other: Insertion): boolean {
    const a = this.contents;
    const b = other.contents;
    return (
      a.hunk === b.hunk &&
      a.text === b.text &&
      a.classes === b.classes &&
      a.words === b.words &&
      a.number === b.number &&
      a.sign === b.sign &&
      a.title === b.title
    );
  }

  override get lineBreaks(): number {
    return this.contents.text.split("\n").length - 1;
  }

  override toDOM(): HTMLElement {
    const { hunk, text, classes, words, number, sign, title } = this.contents;
    const node = document.createElement("span");
    node.className = `g-hk${classes}`;
    node.setAttribute("data-hunk", hunk);
    if (words !== "") {
      const spoken = document.createElement("span");
      spoken.className = "vh";
      spoken.textContent = words;
      node.appendChild(spoken);
    }
    if (/^[ \t]/.test(text)) node.classList.add("is-spaced");
    const blank = text === "" ? "" : appendInserted(node, text);
    if (number !== "") {
      const sup = document.createElement("sup");
      sup.setAttribute("aria-hidden", "true");
      if (title !== "") sup.title = title;
      if (sign !== "") sup.appendChild(icon(sign));
      sup.append(number);
      node.appendChild(sup);
    }
    node.append(blank);
    return node;
  }

  /** The editor sees clicks on it, so that the hunk becomes current. */
  override ignoreEvent(event: Event): boolean {
    return !(event instanceof MouseEvent);
  }
}

/**
 * Appends inserted text line by line; blanks at its ends are shown, but not
 * marked. Returns the blank at the very end, which comes behind the number.
 */
function appendInserted(parent: HTMLElement, text: string): string {
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    const ends = text.trim() === "" ? null : /^([ \t]*)(.*?)([ \t]*)$/s.exec(line);
    const [before, middle, after] =
      ends === null ? ["", line, ""] : [ends[1] ?? "", ends[2] ?? "", ends[3] ?? ""];
    parent.append(before);
    if (middle !== "") {
      const ins = document.createElement("ins");
      ins.className = "g-ins";
      appendVisibly(ins, middle);
      parent.appendChild(ins);
    }
    if (i === lines.length - 1) return after;
    parent.append(after);
    const sign = document.createElement("ins");
    sign.className = "g-ins g-break";
    sign.setAttribute("aria-hidden", "true");
    sign.textContent = "¶";
    parent.append(sign, document.createElement("br"));
  }
  return "";
}
