import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { documentLang, documentLanguage, findFrontMatter, frontMatterField } from "./index";

function open(doc: string): EditorState {
  return EditorState.create({ doc, extensions: [documentLanguage()] });
}

/** The names and texts of the block nodes right under the top. */
function blocks(state: EditorState): readonly string[] {
  const tree = ensureSyntaxTree(state, state.doc.length, 5000);
  const out: string[] = [];
  for (let node = tree?.topNode.firstChild ?? null; node !== null; node = node.nextSibling) {
    out.push(`${node.name}:${state.sliceDoc(node.from, node.to)}`);
  }
  return out;
}

describe("front matter", () => {
  test("is the block between the marks, whatever it holds", () => {
    expect(findFrontMatter("---\ntitle: a\n---\n\nbody\n")).toEqual({ openEnd: 3, closeStart: 13, end: 16 });
    expect(findFrontMatter("---\ntags:\n  * x: [\n...\nbody")?.end).toBe(22);
    expect(findFrontMatter("--- \n---\t")).toEqual({ openEnd: 4, closeStart: 5, end: 9 });
  });

  test.each([
    "",
    "---",
    "---\n",
    "---\ntitle: a\n",
    "\n---\na: b\n---\n",
    "----\na\n----\n",
    "a\n---\nb\n---\n",
    "---\na\n ---\n",
  ])("%j has none", (text) => expect(findFrontMatter(text)).toBeNull());

  test("is found no further than its limit", () => {
    const body = "x".repeat(70_000);
    expect(findFrontMatter(`---\n${body}\n---\n`)).toBeNull();
    const edge = `---\n${"x".repeat(64 * 1024 - 8)}\n---`;
    expect(findFrontMatter(edge)?.end).toBe(edge.length);
    expect(findFrontMatter(`${edge}-\n`)).toBeNull();
  });

  test("a field is read plainly", () => {
    const text = '---\ntitle: "House notes"\nlang: zh-Hans  # by hand\nnone:\n---\nlang: en\n';
    expect(frontMatterField(text, "lang")).toBe("zh-Hans");
    expect(frontMatterField(text, "title")).toBe("House notes");
    expect(frontMatterField(text, "none")).toBeNull();
    expect(frontMatterField("lang: en", "lang")).toBeNull();
  });
});

// covers: E1
describe("the document language", () => {
  test("front matter is a node of its own before the rest", () => {
    expect(blocks(open("---\ntitle: a\n# no heading\n---\n\n# H\n"))).toEqual([
      "FrontMatter:---\ntitle: a\n# no heading\n---",
      "ATXHeading1:# H",
    ]);
  });

  test("a text of nothing but front matter, and one without any", () => {
    expect(blocks(open("---\na: b\n---"))).toEqual(["FrontMatter:---\na: b\n---"]);
    expect(blocks(open("---\n\ntext\n"))).toEqual(["HorizontalRule:---", "Paragraph:text"]);
    expect(blocks(open(""))).toEqual([]);
  });

  test("follows as the block is closed and opened again", () => {
    let state = open("---\ntitle: a\n\ntext\n");
    expect(blocks(state)[0]).toBe("HorizontalRule:---");
    state = state.update({ changes: { from: 13, insert: "---\n" } }).state;
    expect(blocks(state)).toEqual(["FrontMatter:---\ntitle: a\n---", "Paragraph:text"]);
    state = state.update({ changes: { from: 13, to: 14 } }).state;
    expect(blocks(state)[0]).toBe("HorizontalRule:---");
  });

  test("GFM is there, other dialects are not", () => {
    const names = new Set<string>();
    const state = open("| a |\n|---|\n| b |\n\n- [x] ~~done~~ www.e.invalid\n\nH~2~O ^x^ :smile:\n");
    ensureSyntaxTree(state, state.doc.length, 5000)?.iterate({ enter: (node) => void names.add(node.name) });
    for (const name of ["Table", "Task", "Strikethrough", "URL"]) expect(names).toContain(name);
    for (const name of ["Subscript", "Superscript", "Emoji"]) expect(names).not.toContain(name);
  });

  test("an incremental parse gives the tree of a whole one", () => {
    const part = fc.constantFrom(
      "---\n",
      "a: b\n",
      "# h\n",
      "\n",
      "text\n",
      "- x\n",
      "> q\n",
      "```\n",
      "...\n",
    );
    const list = fc.array(part, { maxLength: 12 });
    const strokes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), part), { maxLength: 6 });
    fc.assert(
      fc.property(list, strokes, (parts, edits) => {
        let state = open(parts.join(""));
        blocks(state);
        for (const [at, remove, insert] of edits) {
          const line = state.doc.line((at % state.doc.lines) + 1);
          const end = state.doc.line(Math.min(state.doc.lines, line.number + remove));
          state = state.update({ changes: { from: line.from, to: end.from, insert } }).state;
          blocks(state);
        }
        expect(whole(state)).toBe(whole(open(state.doc.toString())));
      }),
      { numRuns: 300 },
    );
  });
});

function whole(state: EditorState): string | undefined {
  return ensureSyntaxTree(state, state.doc.length, 5000)?.toString();
}

describe("the language of a text", () => {
  test.each([
    ["---\nlang: de\n---\n\n今天天气很好", "de"],
    ["---\nlang: <b>\n---\n\nplain words", "en"],
    ["今天天气很好，我们去公园散步吧。", "zh"],
    ["今日はとても良い天気です。散歩に行きましょう。", "ja"],
    ["Mostly English with 中文 in it, and much more English behind it.", "en"],
    ["", "en"],
  ])("%j", (text, lang) => expect(documentLang(text, "en")).toBe(lang));

  test("a more exact fallback stands", () => {
    expect(documentLang("今天天气很好，我们去公园散步吧。", "zh-Hans")).toBe("zh-Hans");
  });
});
