// @vitest-environment jsdom
import { redo, undo } from "@codemirror/commands";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import { openSearchPanel } from "@codemirror/search";
import { ChangeSet } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { hasLoneSurrogate } from "../text";
import {
  boxRange,
  editsOf,
  endingsOf,
  hideBox,
  insertedEndings,
  moveBox,
  replacement,
  replaceText,
  setLang,
  setReadOnly,
  setWords,
  showBox,
  versionOf,
} from "./index";
import type { Desk } from "./view.testing";
import { desk } from "./view.testing";

const open: Desk[] = [];

function at(...args: Parameters<typeof desk>): Desk {
  const d = desk(...args);
  open.push(d);
  return d;
}

afterEach(() => {
  for (const { view } of open.splice(0)) view.destroy();
});

function lines(d: Desk): readonly string[] {
  return [...d.view.contentDOM.querySelectorAll(".cm-line")].map((line) =>
    line.className.replace(/cm-\S+ ?/g, "").trim(),
  );
}

// covers: E1
describe("the page", () => {
  test("the buffer is the text, whatever is drawn over it", () => {
    const doc = "---\ntitle: a\n---\n\n# One *two*\n\n```js\nlet x = 1;\n```\n\n> quoted\n";
    const d = at(doc);
    expect(d.text()).toBe(doc);
    expect(d.view.contentDOM.querySelectorAll("[style]")).toHaveLength(0);
  });

  test("headings, code, quotes and front matter are lines of their kind", () => {
    const d = at("---\na: b\n---\n# One\n\n## Two\n\n```\nx\n```\n\n> q\n");
    expect(lines(d)).toEqual([
      "md-fm",
      "md-fm",
      "md-fm",
      "md-h md-h1",
      "",
      "md-h md-h2",
      "",
      "md-pre",
      "md-pre",
      "md-pre",
      "",
      "md-quote",
      "",
    ]);
  });

  test("marks of headings hang up to the third level, and stay text", () => {
    const d = at("# One\n\n### Three\n\n#### Four\n\n#\n");
    const hanging = [...d.view.contentDOM.querySelectorAll(".md-hang")].map((node) => node.textContent);
    expect(hanging).toEqual(["# ", "### "]);
    expect(d.view.contentDOM.querySelector(".cm-line")?.textContent).toBe("# One");
  });

  test("syntax has classes, colours come from style sheets", () => {
    const d = at("**a** *b* `c` ~~d~~ [e](f) <https://e.invalid>");
    const of = (name: string): string | undefined =>
      d.view.contentDOM.querySelector(`.${name}`)?.textContent ?? undefined;
    expect(of("md-strong")).toContain("**");
    expect(of("md-em")).toBeDefined();
    expect(of("md-code")).toBeDefined();
    expect(of("md-strike")).toBeDefined();
    expect(of("md-link")).toBeDefined();
  });

  test("language, name and words can change", () => {
    const d = at("", { placeholder: "Write", label: "Document" });
    const { contentDOM } = d.view;
    expect(contentDOM.lang).toBe("en");
    expect(contentDOM.getAttribute("aria-label")).toBe("Document");
    expect(contentDOM.textContent).toContain("Write");
    setLang(d.view, "zh");
    setWords(d.view, { label: "文稿", placeholder: "写作", phrases: { Find: "查找" } });
    expect(contentDOM.lang).toBe("zh");
    expect(contentDOM.getAttribute("aria-label")).toBe("文稿");
    expect(contentDOM.textContent).toContain("写作");
    openSearchPanel(d.view);
    expect(d.view.dom.querySelector<HTMLInputElement>(".cm-search input")?.placeholder).toBe("查找");
  });

  test("read-only is read-only, and can end", () => {
    const d = at("abc", { readOnly: true });
    expect(d.view.state.readOnly).toBe(true);
    setReadOnly(d.view, false);
    expect(d.view.state.readOnly).toBe(false);
  });

  test("styles that CodeMirror adds carry the nonce", () => {
    const d = at("abc", { cspNonce: "n0nce" });
    expect(d.view.state.facet(EditorView.cspNonce)).toBe("n0nce");
  });
});

// covers: E9
describe("a large document", () => {
  test("is plain source, from the start or when it grows", () => {
    const large = at("# one\n", { length: 3_000_000 });
    expect(syntaxTree(large.view.state).length).toBe(0);
    const grows = at("# one\n");
    expect(ensureSyntaxTree(grows.view.state, 6)?.length).toBe(6);
    grows.type(6, "x".repeat(2_000_001));
    expect(syntaxTree(grows.view.state).length).toBe(0);
    expect(lines(grows)[0]).toBe("");
  });
});

// covers: F2 P1
describe("lone surrogates", () => {
  test("are removed on input; whole pairs are not", () => {
    const d = at("ab");
    d.type(1, "\ud83d");
    d.type(1, "x\ude00y");
    d.type(1, "😀");
    expect(d.text()).toBe("a😀xyb");
  });

  test("the other half of a half-deleted pair goes too", () => {
    const d = at("a😀b");
    d.edit(1, 2, "");
    expect(d.text()).toBe("ab");
    undo(d.view);
    expect(d.text()).toBe("a😀b");
  });

  test("a half typed beside another half does not stay", () => {
    const d = at("a😀b");
    d.edit(2, 2, "-");
    expect(hasLoneSurrogate(d.text())).toBe(false);
  });

  test("no change of any kind leaves one, and annotations stay", () => {
    const parts = fc.constantFrom("a", "😀", "\ud83d", "\ude00", "\n");
    const text = fc.array(parts, { maxLength: 5 }).map((p) => p.join(""));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), text), { maxLength: 6 }), (edits) => {
        const d = desk("a😀b😀");
        try {
          for (const [where, length, insert] of edits) {
            const from = where % (d.view.state.doc.length + 1);
            d.edit(from, Math.min(d.view.state.doc.length, from + length), insert);
            expect(hasLoneSurrogate(d.text())).toBe(false);
          }
        } finally {
          d.view.destroy();
        }
      }),
      { numRuns: 30 },
    );
  });
});

// covers: F3
describe("line endings in the editor", () => {
  test("come with the document and go with each change", () => {
    const table = [
      { ending: "crlf", count: 1 },
      { ending: "lf", count: 1 },
    ] as const;
    const d = at("a\nb\nc", { endings: { table, majority: "crlf" } });
    const tr = d.view.state.update({ changes: { from: 3, insert: "x\ny" } });
    expect(insertedEndings(tr)).toEqual([{ ending: "lf", count: 1 }]);
    expect(editsOf(tr.changes)).toEqual([{ from: 3, to: 3, insert: "x\ny" }]);
    d.view.dispatch(tr);
    d.edit(0, 3, "");
    while (undo(d.view));
    expect(endingsOf(d.view.state).table).toEqual(table);
  });

  test("pasted CRLF is a break like any other", () => {
    const d = at("a");
    d.view.dispatch({ changes: { from: 1, insert: "\r\nb\rc" }, userEvent: "input.paste" });
    expect(d.text()).toBe("a\nb\nc");
  });
});

// covers: F5 F6
describe("replacing the text", () => {
  test("changes only what differs, keeps the caret, and is one step", () => {
    const d = at("one two three");
    d.view.dispatch({ selection: { anchor: 13 } });
    d.type(13, "!");
    replaceText(d.view, "one 2 three!", "input.reload");
    expect(d.text()).toBe("one 2 three!");
    expect(d.view.state.selection.main.head).toBe(12);
    undo(d.view);
    expect(d.text()).toBe("one two three!");
    redo(d.view);
    expect(d.text()).toBe("one 2 three!");
  });

  test("never cuts a pair, and can bring other endings", () => {
    const d = at("😀\n", { endings: { table: [{ ending: "lf", count: 1 }], majority: "lf" } });
    replaceText(d.view, "😁\n", "input.reload", { table: [{ ending: "crlf", count: 1 }], majority: "crlf" });
    expect(d.text()).toBe("😁\n");
    expect(endingsOf(d.view.state).table).toEqual([{ ending: "crlf", count: 1 }]);
  });

  test("leaves a caret between two changes at its words", () => {
    const d = at("# Title\n\nFirst line.\nMiddle words here.\nLast line.\n");
    const caret = d.text().indexOf("words");
    d.view.dispatch({ selection: { anchor: caret } });
    replaceText(d.view, "# A longer title\n\nFirst line.\nMiddle words here.\nLast lines.\n", "input.reload");
    expect(d.view.state.sliceDoc(d.view.state.selection.main.head).startsWith("words")).toBe(true);
  });

  test("an undo brings the endings back as well, and a redo the others", () => {
    const table = [
      { ending: "crlf", count: 1 },
      { ending: "lf", count: 2 },
    ] as const;
    const d = at("a\nb\nc\n", { endings: { table, majority: "lf" } });
    replaceText(d.view, "a\nB\nnew\nc\n", "input.reload", {
      table: [{ ending: "cr", count: 4 }],
      majority: "cr",
    });
    expect(endingsOf(d.view.state).table).toEqual([{ ending: "cr", count: 4 }]);
    undo(d.view);
    expect(d.text()).toBe("a\nb\nc\n");
    expect(endingsOf(d.view.state)).toEqual({ table, majority: "lf" });
    redo(d.view);
    expect(endingsOf(d.view.state)).toEqual({ table: [{ ending: "cr", count: 4 }], majority: "cr" });
  });

  test("what was typed while the file was read is kept, and the endings fit", () => {
    const d = at("a\nb\nc\n", { endings: { table: [{ ending: "lf", count: 3 }], majority: "lf" } });
    const before = d.view.state;
    d.type(1, "!\n?");
    const since = ChangeSet.of({ from: 1, insert: "!\n?" }, before.doc.length);
    const crlf = { table: [{ ending: "crlf", count: 4 }], majority: "crlf" } as const;
    const spec = replacement(before, "a\nB\nnew\nc\n", "input.reload", crlf, since);
    d.view.dispatch(spec ?? {});
    expect(d.text()).toBe("a!\n?\nB\nnew\nc\n");
    expect(endingsOf(d.view.state).table).toEqual([{ ending: "crlf", count: 5 }]);
    undo(d.view);
    expect(d.text()).toBe("a!\n?\nb\nc\n");
  });

  test("endings alone are a step and a version of their own", () => {
    const d = at("a\nb", { endings: { table: [{ ending: "lf", count: 1 }], majority: "lf" } });
    replaceText(d.view, "a\nb", "input.reload", { table: [{ ending: "crlf", count: 1 }], majority: "crlf" });
    expect(versionOf(d.view.state)).toBe(2);
    undo(d.view);
    expect(endingsOf(d.view.state).table).toEqual([{ ending: "lf", count: 1 }]);
  });
});

// covers: U1
describe("the box", () => {
  const make = (): HTMLElement => {
    const node = document.createElement("section");
    node.append(document.createElement("input"));
    return node;
  };

  test("is a line below the end of its range, which is highlighted", () => {
    const d = at("one two\nthree\nfour");
    const dom = make();
    showBox(d.view, { from: 4, to: 13, dom });
    expect(dom.isConnected).toBe(true);
    expect(dom.parentElement?.previousElementSibling?.textContent).toBe("three");
    expect([...d.view.contentDOM.querySelectorAll(".g-asked")].map((n) => n.textContent)).toEqual([
      "two",
      "three",
    ]);
    expect(boxRange(d.view.state)).toEqual({ from: 4, to: 13 });
  });

  test("a range that ends at a line's start has its box below the line before", () => {
    const d = at("one\ntwo");
    const dom = make();
    showBox(d.view, { from: 0, to: 4, dom });
    expect(dom.parentElement?.previousElementSibling?.textContent).toBe("one");
  });

  test("its range follows typing, without what is typed at its edges", () => {
    const d = at("one two three");
    showBox(d.view, { from: 4, to: 7, dom: make() });
    d.type(4, "x");
    d.type(8, "y");
    expect(boxRange(d.view.state)).toEqual({ from: 5, to: 8 });
    d.edit(0, 15, "");
    expect(boxRange(d.view.state)).toEqual({ from: 0, to: 0 });
  });

  test("is the same node through changes and moves", () => {
    const d = at("one two three");
    const dom = make();
    showBox(d.view, { from: 0, to: 3, dom });
    const parent = dom.parentElement;
    d.type(13, "!");
    expect(dom.parentElement).toBe(parent);
    moveBox(d.view, { from: 4, to: 7 });
    expect(boxRange(d.view.state)).toEqual({ from: 4, to: 7 });
    expect(dom.isConnected).toBe(true);
  });

  test("what is typed in it never reaches the editor; hiding it gives the focus back", () => {
    const d = at("one two three");
    const dom = make();
    showBox(d.view, { from: 0, to: 3, dom });
    const input = dom.querySelector("input");
    input?.focus();
    for (const key of ["Enter", "z", "F8", "Backspace"]) {
      const event = new KeyboardEvent("keydown", {
        key,
        ctrlKey: key === "z",
        bubbles: true,
        cancelable: true,
      });
      input?.dispatchEvent(event);
      expect(event.defaultPrevented).toBe(false);
    }
    expect(d.text()).toBe("one two three");
    hideBox(d.view);
    expect(dom.isConnected).toBe(false);
    expect(document.activeElement).toBe(d.view.contentDOM);
    expect(boxRange(d.view.state)).toBeNull();
  });
});
