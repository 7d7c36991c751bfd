import { ChangeSet, Text } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ChangedRange, Edit } from "./index";
import { applyEdits, isInsidePair, isTouched, mapEdit, mapPatch, mapPosition, reduceRanges } from "./index";
import { readVectors } from "./vectors.testing";

/** A base text, what a person then did to it, and the changes both ways of looking at them. */
interface Story {
  readonly base: string;
  readonly now: string;
  readonly changes: ChangeSet;
  readonly reduced: readonly ChangedRange[];
}

function tell(base: string, changes: ChangeSet): Story {
  const now = changes.apply(Text.of(base.split("\n"))).toString();
  return { base, now, changes, reduced: reduce(base, now, changes) };
}

function reduce(base: string, now: string, changes: ChangeSet): readonly ChangedRange[] {
  const ranges: ChangedRange[] = [];
  changes.iterChangedRanges((fromA, toA, fromB, toB) => ranges.push({ fromA, toA, fromB, toB }), true);
  return reduceRanges(
    ranges,
    (from, to) => base.slice(from, to),
    (from, to) => now.slice(from, to),
  );
}

/** A change set of one edit, composed onto another. */
function then(story: Story, ...edits: readonly Edit[]): Story {
  return tell(story.base, story.changes.compose(ChangeSet.of([...edits], story.now.length)));
}

function start(base: string): Story {
  return tell(base, ChangeSet.empty(base.length));
}

/** The reduced ranges as a change set of their own, the judge of positions. */
function asChangeSet(story: Story): ChangeSet {
  return ChangeSet.of(
    story.reduced.map((r) => ({ from: r.fromA, to: r.toA, insert: story.now.slice(r.fromB, r.toB) })),
    story.base.length,
  );
}

const piece = fc.constantFrom("a", "b", "c", " ", "\n", "😀", "😁", "é");
const words = fc.array(piece, { maxLength: 24 }).map((parts) => parts.join(""));

/** Positions are fractions, so that they can be made before the text is known. */
const strokes = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat({ max: 5 }),
    insert: fc.array(piece, { maxLength: 4 }).map((parts) => parts.join("")),
    undone: fc.boolean(),
  }),
  { maxLength: 8 },
);

function play(base: string, list: typeof strokes extends fc.Arbitrary<infer T> ? T : never): Story {
  let story = start(base);
  for (const stroke of list) {
    const doc = Text.of(story.now.split("\n"));
    let from = Math.floor(stroke.at * doc.length);
    let to = Math.min(doc.length, from + stroke.length);
    if (isInsidePair(story.now, from)) from--;
    if (isInsidePair(story.now, to)) to++;
    const change = ChangeSet.of({ from, to, insert: stroke.insert }, doc.length);
    let composed = story.changes.compose(change);
    if (stroke.undone) composed = composed.compose(change.invert(doc));
    story = tell(base, composed);
  }
  return story;
}

const stories = fc.tuple(words, strokes).map(([base, list]) => play(base, list));

// covers: P3
describe("reduced ranges of real change sets", () => {
  test("lead from the base to the text now", () => {
    fc.assert(
      fc.property(stories, (story) => {
        const applied = asChangeSet(story)
          .apply(Text.of(story.base.split("\n")))
          .toString();
        expect(applied).toBe(story.now);
      }),
      { numRuns: 600 },
    );
  });

  test("agree point by point with mapPos of the reduced change set", () => {
    fc.assert(
      fc.property(stories, (story) => {
        const judge = asChangeSet(story);
        for (let at = 0; at <= story.base.length; at++) {
          for (const assoc of [-1, 1] as const) {
            expect(mapPosition(story.reduced, at, assoc)).toBe(judge.mapPos(at, assoc));
          }
        }
      }),
      { numRuns: 600 },
    );
  });

  test("hold nothing equal at either edge and cut no pair", () => {
    fc.assert(
      fc.property(stories, (story) => {
        for (const r of story.reduced) {
          const a = story.base.slice(r.fromA, r.toA);
          const b = story.now.slice(r.fromB, r.toB);
          expect(a).not.toBe(b);
          expect(isInsidePair(story.base, r.fromA) || isInsidePair(story.base, r.toA)).toBe(false);
          expect(isInsidePair(story.now, r.fromB) || isInsidePair(story.now, r.toB)).toBe(false);
          if (a !== "" && b !== "") {
            expect(String.fromCodePoint(a.codePointAt(0) ?? 0)).not.toBe(
              String.fromCodePoint(b.codePointAt(0) ?? 0),
            );
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test("are none when everything was undone, in whatever pieces", () => {
    fc.assert(
      fc.property(words, strokes, (base, list) => {
        const story = play(base, list);
        const back = story.changes.invert(Text.of(base.split("\n")));
        expect(tell(base, story.changes.compose(back)).reduced).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test("an edit that is not touched still replaces the very words it was made for", () => {
    fc.assert(
      fc.property(stories, fc.nat(), fc.nat({ max: 6 }), (story, at, length) => {
        const from = at % (story.base.length + 1);
        const edit = { from, to: Math.min(story.base.length, from + length), insert: "x" };
        const mapped = mapPatch([edit], story.reduced);
        if (mapped.status === "stale") {
          expect(isTouched(edit, story.reduced)).toBe(true);
          return;
        }
        const [now] = mapped.edits;
        expect(story.now.slice(now?.from, now?.to)).toBe(story.base.slice(edit.from, edit.to));
      }),
      { numRuns: 600 },
    );
  });
});

// covers: P2 P3
describe("the rules, one by one", () => {
  const apply = (story: Story, ...edits: readonly Edit[]): string => {
    const mapped = mapPatch(edits, story.reduced);
    return mapped.status === "stale" ? `stale: ${story.now}` : applyEdits(story.now, mapped.edits);
  };

  test("B1: text typed before moves the patch", () => {
    const story = then(start("one two three"), { from: 0, to: 0, insert: ">> " });
    expect(apply(story, { from: 4, to: 7, insert: "2" })).toBe(">> one 2 three");
    expect(mapPatch([{ from: 4, to: 7, insert: "2" }], story.reduced).status).toBe("moved");
  });

  test("B2: text typed at the end of the target stays behind it", () => {
    const story = then(start("Cold tea"), { from: 4, to: 4, insert: ", sweet" });
    expect(apply(story, { from: 0, to: 4, insert: "Warm" })).toBe("Warm, sweet tea");
  });

  test("B2: text typed at the start of the target stays before it", () => {
    const story = then(start("Cold tea"), { from: 0, to: 0, insert: "Very " });
    expect(apply(story, { from: 0, to: 4, insert: "warm" })).toBe("Very warm tea");
  });

  test("B3: a deletion next to the target is no conflict", () => {
    const story = then(start("0123456789"), { from: 2, to: 6, insert: "" });
    expect(apply(story, { from: 0, to: 2, insert: "X" })).toBe("X6789");
    expect(mapPatch([{ from: 0, to: 2, insert: "X" }], story.reduced).status).toBe("clean");
  });

  test("B4: words changed within the target make it stale, undone they do not", () => {
    const edit = { from: 6, to: 9, insert: "blue" };
    const typed = then(start("Small red box"), { from: 7, to: 9, insert: "aw" });
    expect(apply(typed, edit)).toBe("stale: Small raw box");
    expect(apply(then(typed, { from: 7, to: 9, insert: "ed" }), edit)).toBe("Small blue box");
  });

  test("a word selected and typed anew is reduced to what differs", () => {
    let story = then(start("Small red box"), { from: 6, to: 9, insert: "" });
    for (const [i, letter] of ["r", "e", "d"].entries()) {
      story = then(story, { from: 6 + i, to: 6 + i, insert: letter });
    }
    expect(story.reduced).toEqual([]);
    story = then(story, { from: 8, to: 9, insert: "n" });
    expect(story.reduced).toEqual([{ fromA: 8, toA: 9, fromB: 8, toB: 9 }]);
    expect(apply(story, { from: 6, to: 8, insert: "gr" })).toBe("Small grn box");
  });

  test("a pure insertion lands behind what was typed at its place and is never split", () => {
    const story = then(start("ab"), { from: 1, to: 1, insert: "xy" });
    expect(mapEdit({ from: 1, to: 1, insert: "!" }, story.reduced)).toEqual({ from: 3, to: 3, insert: "!" });
    expect(mapEdit({ from: 1, to: 1, insert: "!" }, story.reduced, -1)).toEqual({
      from: 1,
      to: 1,
      insert: "!",
    });
  });

  test("the edits of one patch stand or fall together", () => {
    const story = then(start("one two three"), { from: 5, to: 5, insert: "!" });
    const edits = [
      { from: 0, to: 3, insert: "1" },
      { from: 4, to: 7, insert: "2" },
    ];
    expect(mapPatch(edits, story.reduced)).toEqual({ status: "stale", edits });
    expect(mapPatch(edits.slice(0, 1), story.reduced).status).toBe("clean");
  });
});

interface ToolRow {
  readonly id: string;
  readonly kind: string;
  readonly document: string;
  readonly concurrent?: readonly Edit[];
  readonly expect: {
    readonly text: string;
    readonly calls?: readonly { readonly outcome: string; readonly edits?: readonly Edit[] }[];
  };
}

// covers: P2 P3 P11
describe("what a person did meanwhile, in the shared vectors", () => {
  const rows = readVectors<ToolRow>("edit-corpus.json").filter((row) => row.concurrent !== undefined);

  test("there are some", () => expect(rows.length).toBeGreaterThan(10));

  for (const row of rows) {
    test(row.id, () => {
      let story = start(row.document);
      for (const edit of row.concurrent ?? []) story = then(story, edit);
      const accepted: Edit[] = [];
      for (const call of row.expect.calls ?? []) {
        if (call.edits === undefined) continue;
        const mapped = mapPatch(call.edits, story.reduced);
        if (call.outcome === "proposed" || call.outcome === "stale") {
          expect(mapped.status === "stale").toBe(call.outcome === "stale");
        }
        if (call.outcome === "proposed") accepted.push(...mapped.edits);
      }
      accepted.sort((a, b) => a.from - b.from || a.to - b.to);
      expect(applyEdits(story.now, accepted)).toBe(row.expect.text);
    });
  }
});
