import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countText, isCountedByCharacter, readingMinutes, totalOf } from "./count";

// covers: E4 (counts right for CJK)
describe("countText", () => {
  it.each([
    ["", 0, 0],
    ["The last boat leaves at 22:40.", 6, 0],
    ["don’t stop — co-operate, 1,240 times", 5, 0],
    ["末班船每晚 22:40 离开北码头", 1, 10],
    ["ひらがなとカタカナ", 0, 9],
    ["한국어 문장입니다", 2, 0],
    ["naïve cafe\u0301", 2, 0],
    ["a😀b", 2, 0],
    ["𠀀𠀁", 0, 2],
  ])("%j has %d words and %d characters", (text, words, characters) => {
    expect(countText(text)).toEqual({ words, characters });
  });

  it("agrees with what the words are by definition", () => {
    const alphabet = [
      "a",
      "é",
      "e\u0301",
      "1",
      "’",
      "'",
      "-",
      ".",
      ",",
      ":",
      " ",
      "\n",
      "船",
      "か",
      "カ",
      "한",
      "😀",
      "𠀀",
      "\ud800",
      "𝒜",
      "_",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 30 }), (parts) => {
        const text = parts.join("");
        let characters = 0;
        const rest = text.replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, () => {
          characters += 1;
          return " ";
        });
        const words = rest.match(/[\p{L}\p{N}\p{M}]+(?:[’'\-.,:][\p{L}\p{N}\p{M}]+)*/gu)?.length ?? 0;
        expect(countText(text)).toEqual({ words, characters });
      }),
      { numRuns: 3000 },
    );
  });

  it("names the unit by what there is more of, and adds both up", () => {
    const mixed = countText("末班船 leaves 北码头");
    expect(isCountedByCharacter(mixed)).toBe(true);
    expect(totalOf(mixed)).toBe(7);
    expect(isCountedByCharacter(countText("The boat 船 leaves"))).toBe(false);
  });

  it("gives reading time in whole minutes", () => {
    expect(readingMinutes({ words: 1204, characters: 0 })).toBe(5);
    expect(readingMinutes({ words: 0, characters: 1846 })).toBe(5);
    expect(readingMinutes({ words: 3, characters: 0 })).toBe(1);
  });
});
