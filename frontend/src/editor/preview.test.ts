import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { previewSegments } from "./preview";

function show(selection: string, partial: string): string {
  const marks = { equal: ["", ""], ins: ["+", "+"], del: ["-", "-"], waiting: ["<", ">"] } as const;
  return previewSegments(selection, partial)
    .map(({ type, text }) => `${marks[type][0]}${text}${marks[type][1]}`)
    .join("");
}

// covers: P8
describe("the preview of a streaming answer", () => {
  const selection =
    "For a month I kept a notebook on the lower deck, most nights beside the urn. Three things came back.";

  test("nothing has come: all of it waits", () => {
    expect(show(selection, "")).toBe(`<${selection}>`);
  });

  test("the part behind the answer waits and is not struck", () => {
    expect(show(selection, "For a month I kept a diary on the lower deck,")).toBe(
      "For a month I kept a -notebook-+diary+ on the lower deck,< most nights beside the urn. Three things came back.>",
    );
  });

  test("words left out at the start are struck once the answer has caught up", () => {
    expect(show(selection, "I kept a notebook on the lower deck")).toBe(
      "-For a month -I kept a notebook on the lower deck<, most nights beside the urn. Three things came back.>",
    );
  });

  test("a word that changes is struck whole, however much of it stays", () => {
    expect(
      show("the deck, most nights beside the coffee urn.", "the deck for a month, beside the coffee urn."),
    ).toBe("the deck-, most nights-+ for a month,+ beside the coffee urn.");
    expect(show("on the lower deck it was warm there", "on the lower deck it is warm there")).toBe(
      "on the lower deck it -was-+is+ warm there",
    );
  });

  test("half a word is the word it begins", () => {
    expect(show("one two three", "one tw")).toBe("one tw<o three>");
    expect(show("one two three", "one tx")).toBe("one +tx+<two three>");
  });

  test("the whole answer leaves nothing waiting", () => {
    expect(show("Cold tea.", "Warm tea.")).toBe("-Cold-+Warm+ tea.");
    expect(show("the story", "the story second")).toBe("the story+ second+");
  });

  test("Chinese is taken by words", () => {
    expect(show("今天天气很好我们去公园散步吧", "今天天气很好我们去海边")).toBe(
      "今天天气很好我们去+海边+<公园散步吧>",
    );
  });

  test("a change that grows into its neighbour becomes one with it", () => {
    const segments = previewSegments("e\u0301three\neone ", "threeone eone ");
    const after = segments.filter(({ type }) => type === "equal" || type === "ins");
    expect(after.map((segment) => segment.text).join("")).toBe("threeone eone ");
  });

  test("pieces rebuild both texts, and no cluster is cut", () => {
    const piece = fc.constantFrom(
      "one ",
      "two ",
      "three",
      "\n",
      "👩🏽‍💻",
      "🇸🇪",
      "e\u0301",
      "e",
      "😀",
      "😁",
      "中",
      "文",
    );
    const text = fc.array(piece, { maxLength: 16 }).map((parts) => parts.join(""));
    const clusters = (s: string): number =>
      [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(s)].length;
    fc.assert(
      fc.property(text, text, (selection, partial) => {
        const segments = previewSegments(selection, partial);
        const of = (...types: readonly string[]): readonly string[] =>
          segments.filter(({ type }) => types.includes(type)).map((segment) => segment.text);
        const before = of("equal", "del", "waiting");
        const after = of("equal", "ins");
        expect(before.join("")).toBe(selection);
        expect(after.join("")).toBe(partial);
        expect(segments.every((segment) => segment.text !== "")).toBe(true);
        expect(before.reduce((sum, s) => sum + clusters(s), 0)).toBe(clusters(selection));
        expect(after.reduce((sum, s) => sum + clusters(s), 0)).toBe(clusters(partial));
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  test("a very long selection is shown too", () => {
    const long = "word and word ".repeat(4000);
    const segments = previewSegments(long, long.slice(0, 30_000));
    expect(segments.at(-1)?.type).toBe("waiting");
  });
});
