import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { diffLines, diffTexts, diffWords, linesOf, wordsOf } from "./diff";
import { applyEdits, checkEdits, diffEdits } from "./index";

const piece = fc.constantFrom(
  "one",
  "two",
  " ",
  "\n",
  "\n\n",
  "😀",
  "👩‍👩‍👧",
  "é",
  "e\u0301",
  "去年",
  "冬天",
  "，",
  "1,240",
  ".",
);
const words = fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(""));

function said(a: string, b: string): readonly (readonly [string, string])[] {
  return diffWords(a, b).map((r) => [a.slice(r.fromA, r.toA), b.slice(r.fromB, r.toB)]);
}

// covers: F5 (the comparison behind compare and history)
describe("what differs", () => {
  test("the edits make one text of the other, and cut no character", () => {
    fc.assert(
      fc.property(words, words, (a, b) => {
        const edits = diffEdits(a, b);
        expect(checkEdits(edits, a)).toBeNull();
        expect(applyEdits(a, edits)).toBe(b);
        const clusters = [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(a)];
        const borders = new Set([...clusters.map((c) => c.index), a.length]);
        for (const edit of edits) expect(borders.has(edit.from) && borders.has(edit.to)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("equal texts have no difference, and ranges never touch", () => {
    fc.assert(
      fc.property(words, words, (a, b) => {
        expect(diffTexts(a, a)).toEqual([]);
        const lines = diffLines(linesOf(a), linesOf(b));
        for (const [i, range] of lines.entries()) {
          const next = lines[i + 1];
          expect(next === undefined || next.fromA > range.toA).toBe(true);
        }
      }),
    );
  });

  test("lines and words join to the text they are of", () => {
    fc.assert(
      fc.property(fc.oneof(words, fc.string({ unit: "binary" })), (text) => {
        expect(linesOf(text).join("")).toBe(text);
        const { parts, starts } = wordsOf(text);
        expect(parts.join("")).toBe(text);
        expect(starts.at(-1)).toBe(text.length);
      }),
    );
  });

  test("is said by word", () => {
    expect(said("about 1,200 passengers a week", "about 1,240 passengers a week")).toEqual([
      ["1,200", "1,240"],
    ]);
    expect(said("the lower deck.", "the lower deck, by the urn.")).toEqual([["", ", by the urn"]]);
    expect(said("leaves whatever the weather.", "leaves in any weather.")).toEqual([
      ["whatever the", "in any"],
    ]);
    expect(said("冬天它每周大约有 1,200 名乘客", "冬天它每周大约有 1,240 名乘客")).toEqual([
      ["1,200", "1,240"],
    ]);
  });

  test("where hardly a word is left, all of it is one change", () => {
    expect(
      said("Ships a left, b the, c port at d dawn", "Nobody a knew, b why, c bells d rang"),
    ).toHaveLength(1);
  });

  test("a paragraph that is added is added with the blank line behind it", () => {
    const a = linesOf("One.\n\nTwo.\n");
    const b = linesOf("One.\n\nNew.\n\nTwo.\n");
    expect(diffLines(a, b)).toEqual([{ fromA: 2, toA: 2, fromB: 2, toB: 4 }]);
  });

  test("two long texts with nothing in common are one replacement", () => {
    const text = (word: string) => Array.from({ length: 30_000 }, (_, i) => `${word} ${i % 900}\n`).join("");
    expect(diffTexts(text("a"), text("b"))).toHaveLength(1);
  });
});

describe("without a segmenter", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  test("words, single Han characters and marks hold together", async () => {
    vi.stubGlobal("Intl", { ...Intl, Segmenter: undefined });
    vi.resetModules();
    const bare = await import("./diff");
    const { parts } = bare.wordsOf("Lin's 去年 e\u0301t 1 👩‍👩‍👧.\r\n");
    expect(parts.slice(0, 6)).toEqual(["Lin's", " ", "去", "年", " ", "e\u0301t"]);
    expect(parts.join("")).toBe("Lin's 去年 e\u0301t 1 👩‍👩‍👧.\r\n");
  });
});
