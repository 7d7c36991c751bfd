import { history, redo, undo } from "@codemirror/commands";
import type { ChangeSet, Text, Transaction } from "@codemirror/state";
import { ChangeSet as Changes, EditorState } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mapPosition } from "../text";
import {
  baseAt,
  countVersion,
  keepVersions,
  oldestBase,
  releaseVersions,
  versions,
  versionsKept,
} from "./base";
import { changedRanges, replacement, versionOf } from "./index";

/** A document without a view, as one that is not in front, and its text at each version. */
class Pad {
  state: EditorState;
  readonly texts = new Map<number, string>();

  constructor(doc: string, version = 1) {
    this.state = EditorState.create({ doc, extensions: [history(), versions(version)] });
    this.texts.set(version, doc);
  }

  readonly take = (tr: Transaction): void => {
    this.state = tr.state;
    this.texts.set(versionOf(tr.state), tr.state.doc.toString());
  };

  readonly edit = (from: number, to: number, insert: string): void =>
    this.take(this.state.update({ changes: { from, to, insert }, userEvent: "input.type" }));

  keep(user: string): void {
    this.take(this.state.update({ effects: keepVersions.of(user) }));
  }

  release(user: string): void {
    this.take(this.state.update({ effects: releaseVersions.of(user) }));
  }
}

/** What a change set does, reduced against its base, as a change set again. */
function reduced(base: Text, now: Text, changes: ChangeSet): ChangeSet {
  return Changes.of(
    changedRanges(base, now, changes).map((r) => ({
      from: r.fromA,
      to: r.toA,
      insert: now.slice(r.fromB, r.toB),
    })),
    base.length,
  );
}

// covers: P2
describe("the versions of a document", () => {
  test("are kept from the one a run began with, each with its text", () => {
    const pad = new Pad("one two", 7);
    pad.edit(0, 0, "x");
    expect(baseAt(pad.state, 7)).toBeNull();
    expect(baseAt(pad.state, 8)).toBeNull();
    pad.keep("a");
    pad.edit(8, 8, "!");
    pad.edit(0, 1, "");
    expect(baseAt(pad.state, 8)?.text.toString()).toBe("xone two");
    expect(baseAt(pad.state, 9)?.text.toString()).toBe("xone two!");
    expect(baseAt(pad.state, 10)?.changes.empty).toBe(true);
    expect(baseAt(pad.state, 11)).toBeNull();
    expect(oldestBase(pad.state)?.version).toBe(8);
  });

  test("are kept for as long as anybody needs them, and no longer", () => {
    const pad = new Pad("text");
    pad.keep("a");
    pad.edit(4, 4, "1");
    pad.keep("b");
    pad.keep("b");
    pad.edit(5, 5, "2");
    expect(versionsKept(pad.state)).toBe(3);
    pad.release("a");
    expect(baseAt(pad.state, 1)).toBeNull();
    expect(baseAt(pad.state, 2)?.text.toString()).toBe("text1");
    pad.release("nobody");
    pad.release("b");
    expect(versionsKept(pad.state)).toBe(0);
    pad.edit(0, 0, "3");
    expect(versionsKept(pad.state)).toBe(0);
  });

  test("count where only line endings are replaced", () => {
    const pad = new Pad("a\nb");
    pad.keep("a");
    pad.take(pad.state.update({ effects: countVersion.of(null) }));
    pad.edit(0, 0, "x");
    expect([...pad.texts.keys()]).toEqual([1, 2, 3]);
    for (const version of [1, 2, 3])
      expect(
        baseAt(pad.state, version)?.changes.apply(baseAt(pad.state, version)?.text ?? pad.state.doc),
      ).toEqual(pad.state.doc);
  });

  test("go on when the whole text is replaced, as by a reload", () => {
    const pad = new Pad("First.\nSecond.\n");
    pad.keep("a");
    const spec = replacement(pad.state, "Zero.\nFirst.\nSecond!\n", "input.reload");
    if (spec !== null) pad.take(pad.state.update(spec));
    const base = baseAt(pad.state, 1);
    expect(base?.changes.mapPos(0, 1)).toBe(6);
  });
});

// covers: R9
describe("a long log", () => {
  test("is thinned from its oldest, but not what a run began with", () => {
    const pad = new Pad("start");
    pad.keep("a");
    for (let i = 0; i < 5000; i++) pad.edit(pad.state.doc.length, pad.state.doc.length, "y");
    expect(versionsKept(pad.state)).toBeLessThanOrEqual(4096);
    expect(baseAt(pad.state, 1)?.text.toString()).toBe("start");
    expect(
      baseAt(pad.state, 1)
        ?.changes.apply(baseAt(pad.state, 1)?.text ?? pad.state.doc)
        .eq(pad.state.doc),
    ).toBe(true);
    expect(baseAt(pad.state, 2)).toBeNull();
    expect(baseAt(pad.state, 4990)?.text.length).toBe(5 + 4989);
  }, 30_000);

  test("of a document of one long line holds no more of it than it may", () => {
    const pad = new Pad("w".repeat(1_000_000));
    pad.keep("a");
    for (let i = 0; i < 40; i++) pad.edit(10, 10, "y");
    expect(versionsKept(pad.state)).toBeLessThan(12);
    expect(baseAt(pad.state, 1)?.text.length).toBe(1_000_000);
    expect(baseAt(pad.state, 41)?.text.length).toBe(1_000_040);
  });
});

const pieces = fc.constantFrom("a", "b ", "cd", "\n", "😀", "é", "中");
const strokes = fc.array(
  fc.record({
    at: fc.nat(),
    length: fc.nat({ max: 4 }),
    insert: fc.constantFrom("", "q", "r\n", "😀"),
    way: fc.constantFrom("type", "type", "type", "undo", "redo"),
  }),
  { minLength: 1, maxLength: 24 },
);

// covers: P2 P3
test("any version leads to the text now, point by point as mapPos of its reduced changes says", () => {
  fc.assert(
    fc.property(
      fc.array(pieces, { minLength: 3, maxLength: 30 }),
      strokes,
      fc.nat(),
      (start, typed, from) => {
        const pad = new Pad(start.join(""));
        const began = from % typed.length;
        for (const [i, stroke] of typed.entries()) {
          if (i === began) pad.keep("run");
          if (stroke.way !== "type") {
            (stroke.way === "undo" ? undo : redo)({ state: pad.state, dispatch: pad.take });
            continue;
          }
          const letters = [...pad.state.doc.toString()];
          const first = stroke.at % (letters.length + 1);
          const at = letters.slice(0, first).join("").length;
          const to = at + letters.slice(first, first + stroke.length).join("").length;
          pad.edit(at, to, stroke.insert);
        }
        for (const [version, text] of pad.texts) {
          const base = baseAt(pad.state, version);
          if (base === null) continue;
          expect(base.text.toString()).toBe(text);
          expect(base.changes.apply(base.text).eq(pad.state.doc)).toBe(true);
          const ranges = changedRanges(base.text, pad.state.doc, base.changes);
          const real = reduced(base.text, pad.state.doc, base.changes);
          expect(real.apply(base.text).eq(pad.state.doc)).toBe(true);
          for (let position = 0; position <= base.text.length; position++) {
            for (const side of [-1, 1] as const) {
              expect(mapPosition(ranges, position, side)).toBe(real.mapPos(position, side));
            }
          }
        }
        expect(oldestBase(pad.state)?.version ?? 0).toBeLessThanOrEqual(versionOf(pad.state));
      },
    ),
    { numRuns: 200 },
  );
}, 60_000);
