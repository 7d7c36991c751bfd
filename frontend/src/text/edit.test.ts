import { describe, expect, test } from "vitest";
import { applyEdits, checkEdits, loneSurrogates } from "./index";

// covers: P1
describe("edits", () => {
  test("B8: an edit next to a pair is made in UTF-16 units; one inside the pair is refused", () => {
    expect(applyEdits("a😀b c", [{ from: 3, to: 4, insert: "B" }])).toBe("a😀B c");
    expect(checkEdits([{ from: 2, to: 3, insert: "" }], "a😀b c")).toBe("inside_pair");
    expect(() => applyEdits("a😀b c", [{ from: 2, to: 2, insert: "x" }])).toThrow(RangeError);
  });

  test("B10: nothing in an insert is expanded", () => {
    expect(applyEdits("[m]", [{ from: 1, to: 2, insert: "$$x$$ $& $1 $'" }])).toBe("[$$x$$ $& $1 $']");
  });

  test("all refer to the text before", () => {
    const edits = [
      { from: 0, to: 1, insert: "long" },
      { from: 1, to: 1, insert: "-" },
      { from: 1, to: 1, insert: "+" },
      { from: 2, to: 3, insert: "" },
    ];
    expect(applyEdits("abcd", edits)).toBe("long-+bd");
  });

  const bad: readonly [string, number, number, string, string][] = [
    ["below 0", -1, 1, "", "out_of_range"],
    ["past the end", 1, 4, "", "out_of_range"],
    ["beyond both ends", 5, 4, "", "out_of_range"],
    ["not whole", 0.5, 1, "", "out_of_range"],
    ["not a number", Number.NaN, 1, "", "out_of_range"],
    ["reversed", 2, 1, "", "reversed"],
    ["with CR", 1, 1, "a\rb", "carriage_return"],
    ["with half a pair", 1, 1, "a\ud83d", "lone_surrogate"],
    ["with halves in the wrong order", 1, 1, "\ude00\ud83d", "lone_surrogate"],
  ];
  for (const [name, from, to, insert, problem] of bad) {
    test(`${name} is refused`, () => expect(checkEdits([{ from, to, insert }], "abc")).toBe(problem));
  }

  test("strict overlap and wrong order are refused, touching is not", () => {
    const pair = (a: number, b: number, c: number, d: number) => [
      { from: a, to: b, insert: "" },
      { from: c, to: d, insert: "" },
    ];
    expect(checkEdits(pair(0, 2, 1, 3), "abc")).toBe("overlap");
    expect(checkEdits(pair(0, 2, 1, 1), "abc")).toBe("overlap");
    expect(checkEdits(pair(2, 3, 0, 1), "abc")).toBe("overlap");
    expect(checkEdits(pair(0, 2, 2, 3), "abc")).toBeNull();
  });

  test("lone surrogates are found where they stand", () => {
    expect(loneSurrogates("😀a\ud83db\ude00😀")).toEqual([3, 5]);
  });
});
