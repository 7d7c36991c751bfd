// @vitest-environment jsdom
import { redo, undo, undoDepth } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { applyEdits, isTouched, mapPatch } from "../text";
import { keepVersions, versions } from "./base";
import type { HunkView, ReviewEvent } from "./index";
import {
  acceptHunk,
  acceptTicked,
  baseAt,
  changedRanges,
  closeReview,
  coverReview,
  goToHunk,
  nextHunk,
  openingReview,
  openReview,
  previousHunk,
  proposalsOf,
  rejectAll,
  rejectHunk,
  reviewOf,
  setTicked,
  versionOf,
} from "./index";
import { keptReview, reviewState } from "./review";
import type { Desk } from "./view.testing";
import { bareDesk, desk, hunk, proposal } from "./view.testing";

const open: Desk[] = [];
const text = "one two three four five six";

function at(doc = text, more: Parameters<typeof desk>[1] = {}): Desk {
  const d = desk(doc, more);
  open.push(d);
  return d;
}

afterEach(() => {
  for (const { view } of open.splice(0)) view.destroy();
});

/** Opens proposals of one hunk each for the text as it is, as tools make them. */
function propose(
  d: Desk,
  ...edits: readonly (readonly [id: string, from: number, to: number, insert: string])[]
) {
  for (const [id, from, to, insert] of edits) {
    openReview(d.view, { ...proposal(d.text(), [hunk(`${id}/1`, from, to, insert)]), id });
  }
}

function hunks(d: Desk): readonly HunkView[] {
  return reviewOf(d.view.state)?.hunks ?? [];
}

function statuses(d: Desk): Readonly<Record<string, string>> {
  return Object.fromEntries(hunks(d).map((h) => [h.review, h.status]));
}

function told(d: Desk, ...types: readonly ReviewEvent["type"][]): readonly ReviewEvent[] {
  return d.events.filter((event) => types.includes(event.type));
}

// covers: P8
describe("several proposals", () => {
  test("are one list in the order of the text, whatever the order they came in", () => {
    const d = at();
    propose(d, ["late", 19, 23, "5"], ["early", 0, 3, "1"], ["middle", 8, 13, "3"]);
    expect(hunks(d).map((h) => [h.review, h.number, h.total])).toEqual([
      ["early", 1, 3],
      ["middle", 2, 3],
      ["late", 3, 3],
    ]);
    expect(reviewOf(d.view.state)?.ids).toEqual(["late", "early", "middle"]);
    // The one that was there first is current.
    expect(reviewOf(d.view.state)?.current).toBe("late/1");
    nextHunk(d.view);
    expect(reviewOf(d.view.state)?.current).toBe("early/1");
    nextHunk(d.view);
    nextHunk(d.view);
    previousHunk(d.view);
    expect(reviewOf(d.view.state)?.current).toBe("middle/1");
    expect([...d.view.contentDOM.querySelectorAll(".g-hk sup")].map((node) => node.textContent)).toEqual([
      "1",
      "2",
      "3",
    ]);
  });

  test("each is clean, moved or stale as one types", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"], ["c", 19, 23, "5"]);
    d.edit(10, 12, "u");
    expect(statuses(d)).toEqual({ a: "clean", b: "stale", c: "moved" });
    undo(d.view);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean", c: "clean" });
  });

  test("each decision is told by the id of its own", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"], ["c", 19, 23, "5"]);
    acceptHunk(d.view);
    rejectHunk(d.view);
    expect(d.text()).toBe("1 two three four five six");
    expect(told(d, "decided")).toEqual([
      { type: "decided", id: "a", decisions: [{ id: "a/1", outcome: "accepted" }], version: 2 },
      { type: "decided", id: "b", decisions: [{ id: "b/1", outcome: "rejected" }], version: 2 },
    ]);
    expect(told(d, "finished")).toEqual([]);
    acceptHunk(d.view);
    expect(told(d, "finished")).toEqual([{ type: "finished", id: "a", accepted: 2, rejected: 1 }]);
  });

  test("one that comes later is shown with those that are open; those that are decided leave", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"]);
    acceptHunk(d.view);
    expect(reviewOf(d.view.state)?.ids).toEqual(["a", "b"]);
    propose(d, ["c", 17, 21, "5"]);
    expect(reviewOf(d.view.state)?.ids).toEqual(["b", "c"]);
    undo(d.view);
    expect(reviewOf(d.view.state)?.ids).toEqual(["b", "c", "a"]);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean", c: "clean" });
  });

  test("one of them is closed, and the others stay", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"]);
    closeReview(d.view, "a");
    expect(reviewOf(d.view.state)?.ids).toEqual(["b"]);
    expect(reviewOf(d.view.state)?.current).toBe("b/1");
    closeReview(d.view, "a");
    closeReview(d.view);
    expect(reviewOf(d.view.state)).toBeNull();
  });

  test("a difference of history is shown in their place, and what is decided beneath is theirs", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"]);
    goToHunk(d.view, "b/1");
    coverReview(d.view, { ...proposal(text, [hunk("1", 4, 7, "II")]), id: "history" });
    expect(reviewOf(d.view.state)?.ids).toEqual(["history"]);
    propose(d, ["c", 19, 23, "5"]);
    expect(reviewOf(d.view.state)?.ids).toEqual(["history"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("one II three four five six");
    closeReview(d.view);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean", c: "clean" });
    expect(reviewOf(d.view.state)?.current).toBe("b/1");
    expect(proposalsOf(d.view.state)).toBe(reviewOf(d.view.state));
  });
});

// covers: P4 P9
describe("accepting all ticked of several", () => {
  test("is one transaction, one undo and one receipt, told once for each", () => {
    const d = at();
    propose(d, ["a", 0, 3, "1"], ["b", 8, 13, "3"], ["c", 19, 23, "5"]);
    setTicked(d.view, "b/1", false);
    const depth = undoDepth(d.view.state);
    acceptTicked(d.view);
    expect(d.text()).toBe("1 two three four 5 six");
    expect(undoDepth(d.view.state)).toBe(depth + 1);
    expect(versionOf(d.view.state)).toBe(2);
    expect(told(d, "decided")).toMatchObject([{ id: "a" }, { id: "c" }]);
    expect(told(d, "receipt")).toEqual([
      { type: "receipt", id: "a", accepted: 2, identicalUnits: 20, identicalBytes: 20 },
    ]);
    undo(d.view);
    expect(d.text()).toBe(text);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean", c: "clean" });
    redo(d.view);
    expect(d.text()).toBe("1 two three four 5 six");
    expect(told(d, "decided", "reopened").map((e) => ("id" in e ? [e.type, e.id] : []))).toEqual([
      ["decided", "a"],
      ["decided", "c"],
      ["reopened", "a"],
      ["reopened", "c"],
      ["decided", "a"],
      ["decided", "c"],
    ]);
  });

  test("takes the first of two that change the same words, and the other is stale until it is undone", () => {
    const d = at();
    propose(d, ["a", 4, 13, "23"], ["b", 8, 18, "34"], ["c", 24, 27, "6"]);
    acceptTicked(d.view);
    expect(d.text()).toBe("one 23 four five 6");
    expect(statuses(d)).toEqual({ a: "accepted", b: "stale", c: "accepted" });
    acceptHunk(d.view);
    expect(told(d, "refused")).toEqual([{ type: "refused", id: "b", hunks: ["b/1"], reason: "stale" }]);
    undo(d.view);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean", c: "clean" });
    goToHunk(d.view, "b/1");
    acceptHunk(d.view);
    expect(d.text()).toBe("one two 34 five six");
    expect(statuses(d)).toEqual({ a: "stale", b: "accepted", c: "clean" });
  });

  test("an insertion inside of what another takes out is not taken with it", () => {
    const d = at();
    propose(d, ["a", 4, 13, ""], ["b", 8, 8, "and "]);
    acceptTicked(d.view);
    expect(d.text()).toBe("one  four five six");
    expect(statuses(d)).toEqual({ a: "accepted", b: "stale" });
  });

  test("being moved by an accept of another, or its undo, is no news; by typing it is", () => {
    const d = at();
    propose(d, ["a", 0, 3, "the first"], ["b", 8, 13, "3"]);
    acceptHunk(d.view);
    expect(statuses(d)).toEqual({ a: "accepted", b: "clean" });
    d.type(0, ">");
    expect(statuses(d)).toEqual({ a: "accepted", b: "moved" });
    undo(d.view);
    undo(d.view);
    expect(statuses(d)).toEqual({ a: "clean", b: "clean" });
    redo(d.view);
    expect(statuses(d)).toEqual({ a: "accepted", b: "clean" });
  });

  test("insertions at one place stand in the order of their proposals, whichever is accepted first", () => {
    for (const order of [
      ["a/1", "b/1", "c/1"],
      ["c/1", "b/1", "a/1"],
      ["b/1", "c/1", "a/1"],
    ]) {
      const d = at("12");
      propose(d, ["a", 1, 1, "a"], ["b", 1, 1, "b"], ["c", 1, 1, "c"]);
      for (const id of order) {
        goToHunk(d.view, id);
        acceptHunk(d.view);
      }
      expect(d.text()).toBe("1abc2");
      for (const _ of order) undo(d.view);
      expect(d.text()).toBe("12");
      acceptTicked(d.view);
      expect(d.text()).toBe("1abc2");
    }
  });

  test("what is proposed twice is taken once", () => {
    const d = at();
    propose(d, ["a", 4, 7, "2"], ["b", 4, 7, "2"]);
    acceptTicked(d.view);
    expect(d.text()).toBe("one 2 three four five six");
    expect(statuses(d)).toEqual({ a: "accepted", b: "stale" });
    rejectAll(d.view);
    expect(told(d, "finished")).toHaveLength(1);
  });

  test("a cut-off answer among them keeps its own rules", () => {
    const d = at();
    openReview(d.view, { ...proposal(text, [hunk("a/1", 0, 3, "1")]), id: "a", cutOff: true });
    propose(d, ["b", 8, 13, "3"]);
    acceptTicked(d.view);
    expect(d.text()).toBe("one two 3 four five six");
    goToHunk(d.view, "a/1");
    acceptHunk(d.view);
    expect(told(d, "refused")).toMatchObject([{ id: "a", reason: "cut_off" }]);
  });
});

const pieces = fc.constantFrom("a", "b ", "cd", "\n", "😀", "é", "中");
const step = fc.record({
  kind: fc.constantFrom("type", "type", "propose", "propose", "accept", "undo", "redo"),
  at: fc.nat(),
  length: fc.nat({ max: 4 }),
  insert: fc.constantFrom("", "q", "r\n", "😀", "XY"),
  back: fc.nat({ max: 6 }),
});

/** The range of whole letters that a step speaks of, in UTF-16 units. */
function rangeIn(doc: string, at: number, length: number): { readonly from: number; readonly to: number } {
  const letters = [...doc];
  const first = at % (letters.length + 1);
  const from = letters.slice(0, first).join("").length;
  return { from, to: from + letters.slice(first, first + length).join("").length };
}

// covers: P2 P3 P4 P8 P9
test("proposals for any version, whatever is typed, accepted and undone meanwhile", () => {
  fc.assert(
    fc.property(
      fc.array(pieces, { minLength: 4, maxLength: 24 }),
      fc.array(step, { maxLength: 24 }),
      (start, steps) => {
        const d = bareDesk(start.join(""));
        d.view.dispatch({ effects: keepVersions.of("run") });
        const made = new Map<string, { version: number; from: number; to: number; insert: string }>();
        try {
          for (const { kind, at: place, length, insert, back } of steps) {
            const { state } = d.view;
            if (kind === "type") {
              const { from, to } = rangeIn(d.text(), place, length);
              d.edit(from, to, insert);
            } else if (kind === "undo") undo(d.view);
            else if (kind === "redo") redo(d.view);
            else if (kind === "accept") {
              const alive = hunks(d).filter((h) => h.edits.length > 0);
              const chosen = alive[place % Math.max(1, alive.length)];
              if (chosen === undefined) continue;
              const before = d.text();
              const view = hunks(d).map((h) => [h.id, h.status, h.from, h.to]);
              goToHunk(d.view, chosen.id);
              acceptHunk(d.view);
              expect(d.text()).toBe(applyEdits(before, chosen.edits));
              undo(d.view);
              expect(d.text()).toBe(before);
              expect(hunks(d).map((h) => [h.id, h.status, h.from, h.to])).toEqual(view);
              redo(d.view);
              expect(hunks(d).find((h) => h.id === chosen.id)?.status).toBe("accepted");
            } else {
              const version = Math.max(1, versionOf(state) - back);
              const base = baseAt(state, version);
              if (base === null) continue;
              const { from, to } = rangeIn(base.text.toString(), place, length);
              if (from === to && insert === "") continue;
              const id = `p${made.size}`;
              made.set(id, { version, from, to, insert });
              const one = proposal(base.text.toString(), [hunk(`${id}/1`, from, to, insert)]);
              openReview(d.view, { ...one, id, base: base.text, changes: base.changes });
            }
          }
          // Each is where its changes say, looked at by itself.
          const now = d.view.state;
          for (const h of hunks(d)) {
            const one = made.get(h.review);
            const base = one === undefined ? null : baseAt(now, one.version);
            if (one === undefined || base === null || h.status === "accepted") continue;
            const edit = { from: one.from, to: one.to, insert: one.insert };
            if (h.status !== "stale") {
              for (const mapped of h.edits) {
                expect(mapped.insert).toBe(edit.insert);
                expect(d.text().slice(mapped.from, mapped.to)).toBe(
                  base.text.sliceString(edit.from, edit.to),
                );
              }
            }
            const alone = mapPatch([edit], changedRanges(base.text, now.doc, base.changes));
            // Changes composed over an accept know less than a review, which goes back to what it knew.
            if (alone.status !== "stale") expect(h.status).not.toBe("stale");
          }
          const before = d.text();
          const alive = hunks(d).filter((h) => h.edits.length > 0 && h.ticked);
          acceptTicked(d.view);
          expect(told(d, "refused")).toEqual([]);
          const taken = hunks(d).filter((h) => h.status === "accepted" && alive.some((a) => a.id === h.id));
          const edits = alive
            .filter((a) => taken.some((h) => h.id === a.id))
            .flatMap((a) => a.edits)
            .sort((a, b) => a.from - b.from || a.to - b.to);
          expect(d.text()).toBe(applyEdits(before, edits));
          for (const left of alive.filter((a) => !taken.some((h) => h.id === a.id))) {
            const ranges = edits.map(({ from, to }) => ({ fromA: from, toA: to, fromB: from, toB: to }));
            expect(left.edits.some((edit) => isTouched(edit, ranges))).toBe(true);
            expect(edits.length).toBeGreaterThan(0);
          }
        } finally {
          d.view.destroy();
        }
      },
    ),
    { numRuns: 120 },
  );
}, 120_000);

// covers: E9
test("those of one text share what is composed, so that a hundred cost a key what one costs", () => {
  const doc = Array.from({ length: 300 }, (_, i) => `Line ${i} of the text.`).join("\n");
  let state = EditorState.create({ doc, extensions: [versions(), reviewState()] });
  state = state.update({ effects: keepVersions.of("run") }).state;
  for (let i = 0; i < 100; i++) {
    const base = baseAt(state, 1);
    if (base === null) expect.unreachable("the version is kept");
    const one = proposal(doc, [hunk(`p${i}/1`, i * 50, i * 50 + 4, "Row")]);
    const input = { ...one, id: `p${i}`, base: base.text, changes: base.changes };
    state = state.update(openingReview(state, input)).state;
    state = state.update({ changes: { from: doc.length, insert: "x" } }).state;
  }
  const all = reviewOf(state)?.hunks.map((h) => keptReview(state, h.review)?.changes) ?? [];
  expect(new Set(all).size).toBe(1);
  expect(all).toHaveLength(100);
});
