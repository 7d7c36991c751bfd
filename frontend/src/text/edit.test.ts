import { describe, expect, test } from "vitest";
import { applyEdits, checkEdits, type Edit, loneSurrogates } from "./index";
import { readVectors } from "./vectors.testing";

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

interface ResolveCase {
  readonly name: string;
  readonly document: string | { readonly repeat: readonly (readonly [string, number])[] };
  readonly oldText: string;
  readonly newText: string;
  readonly occurrence?: number;
  readonly expect: { readonly match?: "exact" | "folded"; readonly edits?: readonly Edit[] };
}

// covers: P11
describe("quotes resolved to edits, as the host resolves them", () => {
  const rows = readVectors<ResolveCase>("resolve.json");

  test("has the rows", () => {
    expect(rows.length).toBeGreaterThan(15);
  });

  for (const row of rows.filter((r) => r.expect.edits !== undefined)) {
    test(row.name, () => {
      const raw =
        typeof row.document === "string"
          ? row.document
          : row.document.repeat.map(([piece, count]) => piece.repeat(count)).join("");
      const text = raw.replace(/\r\n?/g, "\n");
      const edits = row.expect.edits ?? [];
      expect(
        checkEdits(edits, { length: text.length, slice: (from, to) => text.slice(from, to) }),
      ).toBeNull();
      const after = applyEdits(text, edits);
      if (row.expect.match === "exact") {
        let at = -1;
        for (let n = row.occurrence ?? 1; n > 0; n--) {
          at = text.indexOf(row.oldText, at + 1);
        }
        expect(after).toBe(text.slice(0, at) + row.newText + text.slice(at + row.oldText.length));
      } else {
        // A folded match keeps the document's own characters for what is equal.
        expect(after).not.toBe(text);
        expect(after.split("\n")).toHaveLength(text.split("\n").length);
      }
    });
  }
});
