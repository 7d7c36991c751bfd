/** What the editor's tests share: a real editor in jsdom, and a proposal. For tests only. */

import { history } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { ChangeSet, EditorState, Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { versions } from "./base";
import type { EditorOptions, ReviewEvent, ReviewHunk, ReviewInput, ReviewLabels } from "./index";
import { editorExtensions, review } from "./index";

// jsdom lays nothing out and lacks what CodeMirror asks for a position.
const empty = (): DOMRectList => Object.assign([], { item: () => null });
Range.prototype.getClientRects ??= empty;
Range.prototype.getBoundingClientRect ??= () => new DOMRect();

/** An editor with everything on, and all events of its reviews. */
export interface Desk {
  readonly view: EditorView;
  readonly events: ReviewEvent[];
  /** The text now. */
  text(): string;
  /** Types at a position, as a person does. */
  type(at: number, text: string): void;
  /** Replaces a range, as a person does. */
  edit(from: number, to: number, insert: string): void;
}

/** Opens an editor on `doc` with nothing but history, versions and reviews: for many runs. */
export function bareDesk(doc: string, more: Extension = []): Desk {
  const events: ReviewEvent[] = [];
  const onReview = (event: ReviewEvent): void => void events.push(event);
  return place(doc, [history(), versions(), review({ platform: "linux", onReview }), more], events);
}

/** Opens an editor on `doc`. */
export function desk(doc: string, options: Partial<EditorOptions> = {}, more: Extension = []): Desk {
  const events: ReviewEvent[] = [];
  const all: EditorOptions = {
    platform: "linux",
    lang: "en",
    label: "Document",
    length: doc.length,
    onReview: (event) => events.push(event),
    ...options,
  };
  return place(doc, [editorExtensions(all), more], events);
}

function place(doc: string, extensions: Extension, events: ReviewEvent[]): Desk {
  const view = new EditorView({ state: EditorState.create({ doc, extensions }), parent: document.body });
  const edit = (from: number, to: number, insert: string): void =>
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      userEvent: "input.type",
    });
  return {
    view,
    events,
    text: () => view.state.doc.toString(),
    type: (at, text) => edit(at, at, text),
    edit,
  };
}

/** Plain English words. */
const labels: ReviewLabels = {
  spoken: (kind, place) =>
    `${kind}, change ${place.number} of ${place.total}${place.warnings.map((w) => `, ${w} changes`).join("")}: `,
  position: (place) => `${place.number} of ${place.total}`,
  reason: (place, deleted, inserted) => `${place.warnings.join(", ")}: ${deleted} to ${inserted}`,
  toolbar: (place) => `Change ${place.number} of ${place.total}`,
  stale: "You changed this text",
  moved: "Moved with your typing",
  cutOff: "The answer was cut off",
  accept: "Accept",
  reject: "Reject",
  previous: "Previous change",
  next: "Next change",
  regenerate: "Regenerate",
  continue: "Continue",
};

/** A hunk of one edit. */
export function hunk(
  id: string,
  from: number,
  to: number,
  insert: string,
  ...warnings: readonly string[]
): ReviewHunk {
  return { id, edits: [{ from, to, insert }], warnings };
}

/** A proposal made for the text `base`, which has become `now`. */
export function proposal(
  base: string,
  hunks: readonly ReviewHunk[],
  more: Partial<ReviewInput> = {},
): ReviewInput {
  const text = Text.of(base.split("\n"));
  return {
    id: "p1",
    base: text,
    changes: ChangeSet.empty(text.length),
    hunks,
    cutOff: false,
    labels,
    ...more,
  };
}
