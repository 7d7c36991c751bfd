import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linesOf } from "./diff";
import type { Choice, Chunk, EndingRun } from "./index";
import {
  breakCount,
  chunkText,
  countBreaks,
  isConflict,
  isPartlyTaken,
  mergedEndings,
  mergedText,
  mergeTexts,
  writeEndings,
} from "./index";

const line = fc.constantFrom(
  "a\n",
  "b\n",
  "c\n",
  "\n",
  "one two three\n",
  "one two four\n",
  "冬天很冷。\n",
  "😀 é\n",
);
const tail = fc.constantFrom("", "end", "😀");
const text = fc.tuple(fc.array(line, { maxLength: 14 }), tail).map(([lines, end]) => lines.join("") + end);

const none = new Map<string, Choice>();

function chosen(chunks: readonly Chunk[], by: "mine" | "theirs" | "both"): string {
  return mergedText(chunks, new Map(chunks.filter(isConflict).map((c) => [c.key, { by }]))) ?? "";
}

/** Lines that are alone of their kind, and edits that bring only new ones: then a comparison has one answer. */
const story = fc
  .record({
    length: fc.integer({ min: 0, max: 12 }),
    mine: fc.array(fc.tuple(fc.nat(12), fc.constantFrom("change", "delete", "insert")), { maxLength: 4 }),
    theirs: fc.array(fc.tuple(fc.nat(12), fc.constantFrom("change", "delete", "insert")), { maxLength: 4 }),
    same: fc.boolean(),
  })
  .map(({ length, mine, theirs, same }) => {
    const base = Array.from({ length }, (_, i) => `base${i}\n`);
    const edited = (edits: typeof mine, by: string): string => {
      const out = base.map((l) => [l]);
      for (const [at, what] of edits) {
        const i = length === 0 ? 0 : at % length;
        const now = out[i];
        if (now === undefined) out.push([`${by}${i}\n`]);
        else if (what === "insert") now.unshift(`${by}new${i}x${now.length}\n`);
        else if (what === "delete") now.splice(now.length - 1, 1);
        else now.splice(now.length - 1, 1, `${by}${i}\n`);
      }
      return out.flat().join("");
    };
    return { base: base.join(""), mine: edited(mine, "m"), theirs: edited(theirs, same ? "m" : "t") };
  });

// covers: F5 out-1
describe("the three-way merge", () => {
  test("what one side did is taken, whichever side it is", () => {
    fc.assert(
      fc.property(text, text, (base, x) => {
        expect(mergedText(mergeTexts(base, x, base), none)).toBe(x);
        expect(mergedText(mergeTexts(base, base, x), none)).toBe(x);
        expect(mergedText(mergeTexts(base, x, x), none)).toBe(x);
        expect(mergedText(mergeTexts(null, x, x), none)).toBe(x);
      }),
      { numRuns: 400 },
    );
  });

  test("the chunks join to each of the three texts", () => {
    fc.assert(
      fc.property(text, text, text, (base, mine, theirs) => {
        const chunks = mergeTexts(base, mine, theirs);
        expect(chunks.map((c) => c.base).join("")).toBe(base);
        expect(chunks.map((c) => c.mine).join("")).toBe(mine);
        expect(chunks.map((c) => c.theirs).join("")).toBe(theirs);
        for (const c of chunks) {
          expect(c.pieces.map((p) => p.base).join("")).toBe(c.base);
          expect(c.pieces.map((p) => p.mine).join("")).toBe(c.mine);
          expect(c.pieces.map((p) => p.theirs).join("")).toBe(c.theirs);
        }
        const two = mergeTexts(null, mine, theirs);
        expect(two.map((c) => c.mine).join("")).toBe(mine);
        expect(two.map((c) => c.theirs).join("")).toBe(theirs);
      }),
      { numRuns: 400 },
    );
  });

  test("is symmetric: swapping the sides swaps the answer", () => {
    fc.assert(
      fc.property(text, text, text, (base, mine, theirs) => {
        const one = mergeTexts(base, mine, theirs);
        const other = mergeTexts(base, theirs, mine);
        expect(other.map((c) => ({ m: c.mine, t: c.theirs }))).toEqual(
          one.map((c) => ({ m: c.theirs, t: c.mine })),
        );
        expect(chosen(other, "theirs")).toBe(chosen(one, "mine"));
        expect(mergedText(other, none)).toBe(mergedText(one, none));
      }),
      { numRuns: 400 },
    );
  });

  test("no line is lost: whoever keeps both has every line that either side wrote", () => {
    fc.assert(
      fc.property(story, ({ base, mine, theirs }) => {
        const known = new Set(linesOf(base));
        const merged = new Set(linesOf(chosen(mergeTexts(base, mine, theirs), "both")));
        for (const l of [...linesOf(mine), ...linesOf(theirs)]) {
          if (!known.has(l)) expect(merged.has(l)).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("the endings have one entry a break", () => {
    const by = fc.constantFrom<"mine" | "theirs" | "both">("mine", "theirs", "both");
    fc.assert(
      fc.property(text, text, text, by, (base, mine, theirs, side) => {
        const chunks = mergeTexts(base, mine, theirs);
        const choices = new Map(chunks.filter(isConflict).map((c) => [c.key, { by: side }]));
        const merged = mergedText(chunks, choices) ?? "";
        const all = (ending: "lf" | "crlf", of: string): readonly EndingRun[] => [
          { ending, count: countBreaks(of) },
        ];
        const endings = mergedEndings(chunks, choices, all("lf", mine), all("crlf", theirs), "lf");
        expect(breakCount(endings)).toBe(countBreaks(merged));
      }),
      { numRuns: 400 },
    );
  });

  test("edits of one paragraph in two places are both taken", () => {
    const base = "In winter it carries about 1,200 passengers a week, most of them cooks.\n";
    const chunks = mergeTexts(base, base.replace("1,200", "1,240"), base.replace("cooks", "nurses"));
    expect(chunks.map((c) => c.kind)).toEqual(["woven"]);
    expect(mergedText(chunks, none)).toBe(
      "In winter it carries about 1,240 passengers a week, most of them nurses.\n",
    );
  });

  test("the same word changed twice waits, and other words of both sides are taken with either", () => {
    const base = "about 1,200 passengers a week, most of them cooks, and students.\n";
    const mine = base.replace("1,200", "1,240").replace("students", "pupils");
    const [chunk] = mergeTexts(base, mine, base.replace("1,200", "1,300"));
    if (chunk === undefined) throw new Error("no chunk");
    expect(chunk.kind).toBe("conflict");
    expect(isPartlyTaken(chunk)).toBe(true);
    const text = (choice: Choice) => chunkText(chunk, new Map([[chunk.key, choice]]));
    expect(text({ by: "theirs" })).toBe("about 1,300 passengers a week, most of them cooks, and pupils.\n");
    expect(text({ by: "mine" })).toBe("about 1,240 passengers a week, most of them cooks, and pupils.\n");
    expect(text({ by: "both" })).toBe(mine + base.replace("1,200", "1,300"));
    expect(text({ by: "written", text: "x\n" })).toBe("x\n");
  });

  test("neighbouring words of two sides are a conflict, and so are two sentences at one place", () => {
    expect(mergeTexts("a b c d e f\n", "a X c d e f\n", "a b Y d e f\n").map((c) => c.kind)).toEqual([
      "conflict",
    ]);
    const both = mergeTexts("P.\n\nQ.\n", "P.\n\nOnce.\n\nQ.\n", "P.\n\nEarly.\n\nQ.\n");
    expect(both.map((c) => [c.kind, c.mine, c.theirs])).toEqual([
      ["same", "P.\n\n", "P.\n\n"],
      ["conflict", "Once.\n\n", "Early.\n\n"],
      ["same", "Q.\n", "Q.\n"],
    ]);
  });

  test("what waits for a choice is no more than it must be", () => {
    const base = "P.\n\nI kept a notebook on the lower deck.\n";
    const mine = base.replace("I kept", "Once.\n\nI kept");
    const theirs = base.replace("I kept", "Early.\n\nI kept").replace("deck.", "deck, by the urn.");
    expect(mergeTexts(base, mine, theirs).map((c) => [c.kind, c.mine, c.theirs])).toEqual([
      ["same", "P.\n\n", "P.\n\n"],
      ["conflict", "Once.\n\n", "Early.\n\n"],
      [
        "theirs",
        "I kept a notebook on the lower deck.\n",
        "I kept a notebook on the lower deck, by the urn.\n",
      ],
    ]);
  });

  test("without a base every difference waits", () => {
    const chunks = mergeTexts(null, "a\nmine\nb\n", "a\ntheirs\nb\n");
    expect(chunks.map((c) => c.kind)).toEqual(["same", "conflict", "same"]);
    expect(chosen(chunks, "theirs")).toBe("a\ntheirs\nb\n");
  });

  test("a chain of changes that touch is cut where all three texts begin a line", () => {
    const chunks = mergeTexts("0\n1\n2\n3\n4\n5\n", "0\n1\nm2\nm3\n4\n5\n", "0\nt1\n2\n3\nt4\n5\n");
    expect(chunks.filter(isConflict).map((c) => [c.base, c.mine, c.theirs])).toEqual([
      ["1\n2\n", "1\nm2\n", "t1\n2\n"],
      ["3\n4\n", "m3\n4\n", "3\nt4\n"],
    ]);
  });

  test("equal conflicts have their own names", () => {
    const chunks = mergeTexts("a\nk\nl\na\n", "b\nk\nl\nb\n", "c\nk\nl\nc\n").filter(isConflict);
    expect(new Set(chunks.map((c) => c.key)).size).toBe(2);
  });

  test("a line keeps the ending of the side it is from; what both have takes the disk's", () => {
    const chunks = mergeTexts("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\ne\n");
    const mine: readonly EndingRun[] = [{ ending: "lf", count: 4 }];
    const theirs: readonly EndingRun[] = [
      { ending: "lf", count: 1 },
      { ending: "crlf", count: 4 },
    ];
    const merged = mergedText(chunks, none) ?? "";
    expect(writeEndings(merged, mergedEndings(chunks, none, mine, theirs, "lf"))).toBe(
      "A\nb\r\nc\r\nD\r\ne\r\n",
    );
  });
});

describe("beside git merge-file", () => {
  let dir = "";
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "galley-merge-"));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  function git(
    base: string,
    mine: string,
    theirs: string,
  ): { readonly conflicts: number; readonly text: string } {
    const files = Object.entries({ mine, base, theirs }).map(([name, data]) => {
      writeFileSync(join(dir, name), data);
      return join(dir, name);
    });
    const done = spawnSync("git", ["merge-file", "-p", "--diff3", ...files], { encoding: "utf8" });
    expect(done.error).toBeUndefined();
    return { conflicts: done.status ?? -1, text: done.stdout };
  }

  test("finds a conflict where git does, maybe in smaller parts, and makes the same text where there is none", () => {
    let clean = 0;
    let open = 0;
    fc.assert(
      fc.property(story, ({ base, mine, theirs }) => {
        const chunks = mergeTexts(base, mine, theirs);
        const want = git(base, mine, theirs);
        if (want.conflicts > 0) {
          // A conflict is cut where all three texts begin a line; git's is whole.
          expect(chunks.filter(isConflict).length).toBeGreaterThanOrEqual(want.conflicts);
          open++;
          return;
        }
        expect(chunks.filter(isConflict)).toEqual([]);
        clean++;
        expect(mergedText(chunks, none)).toBe(want.text);
      }),
      { numRuns: 200 },
    );
    expect(clean).toBeGreaterThan(50);
    expect(open).toBeGreaterThan(50);
  });
});
