// @vitest-environment jsdom
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { afterEach, describe, expect, it } from "vitest";
import { plannedEdits, showPlanned } from "./planned";

let view: EditorView;

afterEach(() => view.destroy());

function shown(doc: string): EditorView {
  const state = EditorState.create({ doc, extensions: [plannedEdits()] });
  view = new EditorView({ state, parent: document.body });
  return view;
}

const words = (tag: string) => [...view.contentDOM.querySelectorAll(tag)].map((e) => e.textContent);

// covers: F9 (the preview of a replacement, in the text)
describe("planned edits", () => {
  it("are marks of what goes and what comes; the text is as it was", () => {
    shown("one two\nthree\n");
    view.dispatch({
      effects: showPlanned.of([
        { from: 4, to: 7, insert: "2", current: true },
        { from: 8, to: 8, insert: "a\n", current: false },
        { from: 8, to: 13, insert: "", current: false },
      ]),
    });
    expect([words("del"), words("ins")]).toEqual([
      ["two", "three"],
      ["2", "a¶"],
    ]);
    expect(view.contentDOM.querySelectorAll("del.is-current, ins.is-current")).toHaveLength(2);
    expect([...view.contentDOM.querySelectorAll(".cm-line")].map((l) => l.className)).toEqual(
      ["cm-line g-rail is-current", "cm-line g-rail", "cm-line"].map((c) =>
        expect.stringContaining(c.split(" ").at(-1) ?? ""),
      ),
    );
    expect(view.state.doc.toString()).toBe("one two\nthree\n");
  });

  it("move with the text, and go when nothing is planned", () => {
    shown("one two");
    view.dispatch({ effects: showPlanned.of([{ from: 4, to: 7, insert: "2", current: false }]) });
    view.dispatch({ changes: { from: 0, insert: "now " } });
    expect([words("del"), words("ins")]).toEqual([["two"], ["2"]]);
    view.dispatch({ effects: showPlanned.of([]) });
    expect(words("ins, del")).toEqual([]);
  });
});
