// @vitest-environment jsdom
import { redo, undo, undoDepth } from "@codemirror/commands";
import { ChangeSet, EditorState, Transaction } from "@codemirror/state";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Edit } from "../text";
import { applyEdits } from "../text";
import type { ReviewEvent, ReviewHunk } from "./index";
import {
  acceptHunk,
  acceptTicked,
  baseChanges,
  baseOf,
  changedRanges,
  closeReview,
  coverReview,
  dropBase,
  goToHunk,
  nextHunk,
  openReview,
  previousHunk,
  proposalsOf,
  rejectAll,
  rejectHunk,
  replaceText,
  reviewOf,
  setTicked,
  startBase,
  toggleTick,
  versionOf,
} from "./index";
import type { Desk } from "./view.testing";
import { bareDesk, desk, hunk, proposal } from "./view.testing";

const open: Desk[] = [];

function at(
  doc: string,
  ...more: Parameters<typeof desk> extends [string, ...infer Rest] ? Rest : never
): Desk {
  const made = desk(doc, ...more);
  open.push(made);
  return made;
}

afterEach(() => {
  for (const { view } of open.splice(0)) view.destroy();
});

function statuses({ view }: Desk): readonly string[] {
  return reviewOf(view.state)?.hunks.map((h) => h.status) ?? [];
}

function told(d: Desk, type: ReviewEvent["type"]): readonly ReviewEvent[] {
  return d.events.filter((event) => event.type === type);
}

// covers: F5 P3 P8
describe("a review and a file that changed on disk", () => {
  test("its hunks go with their words when the text is replaced", () => {
    const d = at("First line.\none two three\nLast line.\n");
    openReview(d.view, proposal(d.text(), [hunk("1", 16, 19, "2"), hunk("2", 26, 30, "The last")]));
    replaceText(d.view, "The first line.\nNew.\none two three\nLast words.\n", "input.reload");
    expect(statuses(d)).toEqual(["moved", "moved"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("The first line.\nNew.\none 2 three\nLast words.\n");
  });

  test("one that another was shown in place of comes back with its decisions", () => {
    const d = at("one two three");
    openReview(d.view, proposal(d.text(), [hunk("1", 0, 3, "1"), hunk("2", 8, 13, "3")]));
    acceptHunk(d.view);
    coverReview(d.view, { ...proposal(d.text(), [hunk("a", 2, 5, "zwei")]), id: "p2" });
    expect(reviewOf(d.view.state)?.ids).toEqual(["p2"]);
    expect(proposalsOf(d.view.state)?.ids).toEqual(["p1"]);
    closeReview(d.view);
    expect(statuses(d)).toEqual(["accepted", "clean"]);
  });
});

// covers: P2 P3 P8
describe("while a person goes on typing", () => {
  test("B1: text before moves the hunk", () => {
    const d = at("one two three");
    openReview(d.view, proposal("one two three", [hunk("1", 4, 7, "2")]));
    d.type(0, ">> ");
    expect(statuses(d)).toEqual(["moved"]);
    acceptHunk(d.view);
    expect(d.text()).toBe(">> one 2 three");
  });

  test("B2: text at its end stays behind it", () => {
    const d = at("Cold tea");
    openReview(d.view, proposal("Cold tea", [hunk("1", 0, 4, "Warm")]));
    d.type(4, ", sweet");
    acceptHunk(d.view);
    expect(d.text()).toBe("Warm, sweet tea");
  });

  test("B3: a deletion beside it is no conflict", () => {
    const d = at("0123456789");
    openReview(d.view, proposal("0123456789", [hunk("1", 0, 2, "X")]));
    d.edit(2, 6, "");
    expect(statuses(d)).toEqual(["clean"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("X6789");
  });

  test("B4: its own words changed: stale, refused, and back after undo", () => {
    const d = at("Small red box");
    openReview(d.view, proposal("Small red box", [hunk("1", 6, 9, "blue")]));
    d.edit(7, 9, "aw");
    expect(statuses(d)).toEqual(["stale"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("Small raw box");
    expect(told(d, "refused")).toEqual([{ type: "refused", id: "p1", hunks: ["1"], reason: "stale" }]);
    undo(d.view);
    expect(statuses(d)).toEqual(["clean"]);
    acceptHunk(d.view);
    expect(d.text()).toBe("Small blue box");
  });

  test("one stale hunk leaves the others alive, and accepting all ticked leaves it out", () => {
    const base = "one two three four";
    const d = at(base);
    openReview(d.view, proposal(base, [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2"), hunk("3", 8, 13, "3")]));
    d.edit(5, 6, "W");
    expect(statuses(d)).toEqual(["clean", "stale", "clean"]);
    acceptTicked(d.view);
    expect(d.text()).toBe("1 tWo 3 four");
    expect(statuses(d)).toEqual(["accepted", "stale", "accepted"]);
    expect(told(d, "finished")).toEqual([]);
  });

  test("being moved by accepts is no news", () => {
    const base = "one two three";
    const d = at(base);
    openReview(
      d.view,
      proposal(base, [hunk("1", 0, 3, "first"), hunk("2", 4, 7, "2"), hunk("3", 8, 13, "3")]),
    );
    acceptHunk(d.view);
    expect(statuses(d)).toEqual(["accepted", "clean", "clean"]);
    d.type(d.text().length, "!");
    expect(statuses(d)).toEqual(["accepted", "clean", "clean"]);
    d.type(0, "?");
    expect(statuses(d)).toEqual(["accepted", "moved", "moved"]);
  });

  test("B12: a selection made backwards is replaced, not added to", () => {
    const d = at("Red, blue.");
    d.view.dispatch({ selection: { anchor: 10, head: 0 } });
    openReview(d.view, proposal("Red, blue.", [hunk("1", 0, 3, "Green")]));
    acceptHunk(d.view);
    expect(d.text()).toBe("Green, blue.");
  });

  test("a proposal for an earlier text is placed by what changed since", () => {
    const d = at("one two three");
    const base = startBase(d.view, "p1");
    d.type(0, ">> ");
    openReview(
      d.view,
      proposal(base.text.toString(), [hunk("1", 4, 7, "2")], {
        base: base.text,
        changes: baseChanges(d.view.state, "p1") ?? base.changes,
      }),
    );
    expect(statuses(d)).toEqual(["moved"]);
    acceptHunk(d.view);
    expect(d.text()).toBe(">> one 2 three");
  });

  test("a base that does not lead to the text, and an edit that does not fit, are refused", () => {
    const d = at("one two");
    expect(() => openReview(d.view, proposal("one too", [hunk("1", 0, 3, "1")]))).toThrow(RangeError);
    expect(() => openReview(d.view, proposal("one two", [hunk("1", 5, 9, "1")]))).toThrow(RangeError);
    const e = at("a😀b c");
    expect(() => openReview(e.view, proposal("a😀b c", [hunk("1", 2, 3, "")]))).toThrow(/inside_pair/);
  });
});

// covers: P4
describe("one accept is one step", () => {
  const base = "one two three";
  const hunks = [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2"), hunk("3", 8, 13, "3")];

  test("B13: one undo takes all hunks back and keeps what was typed", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    d.type(13, "!");
    acceptTicked(d.view);
    expect(d.text()).toBe("1 2 3!");
    undo(d.view);
    expect(d.text()).toBe("one two three!");
    undo(d.view);
    expect(d.text()).toBe("one two three");
  });

  test("typing right behind an accept is a step of its own", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    acceptTicked(d.view);
    d.type(1, "x");
    d.type(2, "y");
    undo(d.view);
    expect(d.text()).toBe("1 2 3");
    undo(d.view);
    expect(d.text()).toBe(base);
  });

  test("two accepts are two steps", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    acceptHunk(d.view);
    acceptHunk(d.view);
    expect(d.text()).toBe("1 2 three");
    undo(d.view);
    expect(d.text()).toBe("1 two three");
    expect(reviewOf(d.view.state)?.current).toBe("2");
  });

  test("it is marked as coming from AI and leaves no mark in the text", () => {
    const seen: (string | undefined)[] = [];
    const d = at(
      base,
      {},
      EditorState.transactionExtender.of((tr) => {
        if (tr.docChanged) seen.push(tr.annotation(Transaction.userEvent));
        return null;
      }),
    );
    openReview(d.view, proposal(base, hunks));
    acceptTicked(d.view);
    expect(seen).toContain("input.ai");
    expect(undoDepth(d.view.state)).toBe(1);
  });

  test("undo reopens, redo accepts again, each is told with its version", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    acceptTicked(d.view);
    expect(statuses(d)).toEqual(["accepted", "accepted", "accepted"]);
    expect(told(d, "finished")).toEqual([{ type: "finished", id: "p1", accepted: 3, rejected: 0 }]);
    undo(d.view);
    expect(statuses(d)).toEqual(["clean", "clean", "clean"]);
    redo(d.view);
    expect(d.text()).toBe("1 2 3");
    expect(statuses(d)).toEqual(["accepted", "accepted", "accepted"]);
    const ids = ["1", "2", "3"];
    expect(d.events.filter((e) => e.type === "decided" || e.type === "reopened")).toEqual([
      { type: "decided", id: "p1", decisions: ids.map((id) => ({ id, outcome: "accepted" })), version: 2 },
      { type: "reopened", id: "p1", decisions: ids.map((id) => ({ id, outcome: "open" })), version: 3 },
      { type: "decided", id: "p1", decisions: ids.map((id) => ({ id, outcome: "accepted" })), version: 4 },
    ]);
  });

  test("undo goes back to what was known, where equal words could be taken for each other", () => {
    const d = at("aaaa");
    const each = [0, 1, 2, 3].map((i) => hunk(String(i + 1), i, i + 1, ""));
    openReview(d.view, proposal("aaaa", each));
    d.edit(0, 1, "");
    expect(statuses(d)).toEqual(["stale", "moved", "moved", "moved"]);
    acceptTicked(d.view);
    expect(d.text()).toBe("");
    undo(d.view);
    expect(statuses(d)).toEqual(["stale", "moved", "moved", "moved"]);
    redo(d.view);
    undo(d.view);
    undo(d.view);
    expect(statuses(d)).toEqual(["clean", "clean", "clean", "clean"]);
  });

  test("undo reopens a review that was closed meanwhile", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    acceptTicked(d.view);
    closeReview(d.view);
    expect(reviewOf(d.view.state)).toBeNull();
    d.type(0, ".");
    undo(d.view);
    undo(d.view);
    expect(statuses(d)).toEqual(["clean", "clean", "clean"]);
  });

  test("a review without decisions is forgotten when closed; one that is undone is shown with the others", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    closeReview(d.view);
    openReview(d.view, proposal(base, hunks.slice(0, 1)));
    acceptHunk(d.view);
    closeReview(d.view);
    openReview(d.view, proposal("1 two three", [hunk("p2/1", 2, 5, "2")], { id: "p2" }));
    undo(d.view);
    expect(reviewOf(d.view.state)?.ids).toEqual(["p2", "p1"]);
    expect(told(d, "reopened")).toMatchObject([{ id: "p1" }]);
    expect(reviewOf(d.view.state)?.hunks.map((h) => [h.id, h.number, h.status])).toEqual([
      ["1", 1, "clean"],
      ["p2/1", 2, "clean"],
    ]);
  });

  test("rejecting changes no text and can be undone", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    rejectHunk(d.view);
    expect(d.text()).toBe(base);
    expect(versionOf(d.view.state)).toBe(1);
    expect(statuses(d)).toEqual(["rejected", "clean", "clean"]);
    undo(d.view);
    expect(statuses(d)).toEqual(["clean", "clean", "clean"]);
    rejectAll(d.view);
    expect(told(d, "finished")).toEqual([{ type: "finished", id: "p1", accepted: 0, rejected: 3 }]);
  });

  test("nothing is accepted in a read-only document", () => {
    const d = at(base, { readOnly: true });
    openReview(d.view, proposal(base, hunks));
    acceptTicked(d.view);
    expect(d.text()).toBe(base);
  });
});

// covers: P9
describe("fidelity", () => {
  const base = "Straße one\ntwo 😀";

  test("the receipt counts what was compared and found identical", () => {
    const d = at(base);
    openReview(d.view, proposal(base, [hunk("1", 7, 10, "1")]));
    acceptHunk(d.view);
    expect(d.text()).toBe("Straße 1\ntwo 😀");
    expect(told(d, "receipt")).toEqual([
      { type: "receipt", id: "p1", accepted: 1, identicalUnits: 14, identicalBytes: 17 },
    ]);
  });

  for (const [name, change] of [
    ["adds text elsewhere", { from: 0, insert: "x" }],
    ["removes text elsewhere", { from: 12, to: 13 }],
    ["changes what is put in", { from: 7, to: 8, insert: "2" }],
    ["changes as much as it keeps", { from: 0, to: 1, insert: "s" }],
  ] as const) {
    test(`an accept of which something else ${name} is refused`, () => {
      const d = at(
        base,
        {},
        EditorState.transactionFilter.of((tr) =>
          tr.isUserEvent("input.ai") ? [tr, { changes: change, sequential: true }] : tr,
        ),
      );
      openReview(d.view, proposal(base, [hunk("1", 7, 10, "1")]));
      acceptHunk(d.view);
      expect(d.text()).toBe(base);
      expect(statuses(d)).toEqual(["clean"]);
      expect(told(d, "refused")).toEqual([{ type: "refused", id: "p1", hunks: ["1"], reason: "fidelity" }]);
      expect(told(d, "receipt")).toEqual([]);
    });
  }
});

// covers: P7 P10
describe("what starts ticked", () => {
  const base = "one two three";

  test("a hunk with a warning does not, yet its own accept takes it", () => {
    const d = at(base);
    openReview(d.view, proposal(base, [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2", "number")]));
    expect(reviewOf(d.view.state)?.hunks.map((h) => h.ticked)).toEqual([true, false]);
    acceptTicked(d.view);
    expect(d.text()).toBe("1 two three");
    acceptHunk(d.view);
    expect(d.text()).toBe("1 2 three");
  });

  test("B17: nothing of a cut-off answer does, and only what was ticked by hand is taken", () => {
    const d = at(base);
    openReview(d.view, proposal(base, [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2")], { cutOff: true }));
    acceptTicked(d.view);
    acceptHunk(d.view);
    expect(d.text()).toBe(base);
    expect(told(d, "refused")).toEqual([{ type: "refused", id: "p1", hunks: ["1"], reason: "cut_off" }]);
    setTicked(d.view, "2", true);
    acceptTicked(d.view);
    expect(d.text()).toBe("one 2 three");
  });
});

// covers: P8
describe("going through", () => {
  const base = "one two three";
  const hunks = [hunk("1", 0, 3, "1"), hunk("2", 4, 7, "2"), hunk("3", 8, 13, "3")];
  const current = (d: Desk): string | null | undefined => reviewOf(d.view.state)?.current;

  test("next and previous go round; deciding goes on to the next open one", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    expect(current(d)).toBe("1");
    nextHunk(d.view);
    expect(current(d)).toBe("2");
    previousHunk(d.view);
    previousHunk(d.view);
    expect(current(d)).toBe("3");
    acceptHunk(d.view);
    expect(current(d)).toBe("1");
    goToHunk(d.view, "2");
    rejectHunk(d.view);
    expect(current(d)).toBe("1");
    acceptHunk(d.view);
    expect(current(d)).toBeNull();
    expect(nextHunk(d.view)).toBe(false);
  });

  test("ticks are toggled", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks));
    toggleTick(d.view);
    acceptTicked(d.view);
    expect(d.text()).toBe("one 2 3");
  });

  test("without a review the commands leave their keys alone", () => {
    const d = at(base);
    for (const command of [
      nextHunk,
      previousHunk,
      acceptHunk,
      rejectHunk,
      acceptTicked,
      rejectAll,
      toggleTick,
    ]) {
      expect(command(d.view)).toBe(false);
    }
  });

  test("only a change of the review is told as one", () => {
    const d = at(base);
    openReview(d.view, proposal(base, hunks.slice(0, 1)));
    d.view.dispatch({ selection: { anchor: 2 } });
    d.type(13, "!");
    expect(told(d, "changed")).toHaveLength(1);
  });
});

// covers: P1 P3
describe("tracked bases", () => {
  test("compose what happens, count versions, and are dropped", () => {
    const d = at("one two", { version: 7 });
    const base = startBase(d.view, "a");
    expect(base.version).toBe(7);
    d.type(0, "x");
    d.edit(1, 4, "");
    d.view.dispatch({ selection: { anchor: 0 } });
    expect(versionOf(d.view.state)).toBe(9);
    const changes = baseChanges(d.view.state, "a");
    expect(changes?.apply(base.text).toString()).toBe(d.text());
    expect(baseOf(d.view.state, "a")?.version).toBe(7);
    undo(d.view);
    undo(d.view);
    const now = baseChanges(d.view.state, "a") ?? ChangeSet.empty(0);
    expect(changedRanges(base.text, d.view.state.doc, now)).toEqual([]);
    dropBase(d.view, "a");
    expect(baseChanges(d.view.state, "a")).toBeNull();
  });
});

/** Random patches: cuts of a text, each deleted, replaced or inserted at, in groups. */
const pieces = fc.constantFrom("a", "b ", "cd", "\n", "😀", "é", "中");
const texts = fc.array(pieces, { minLength: 4, maxLength: 30 }).map((p) => p.join(""));

function patchOf(base: string, seeds: readonly number[]): readonly ReviewHunk[] {
  const letters = [...base];
  const hunks: ReviewHunk[] = [];
  let at = 0;
  let i = 0;
  while (i < letters.length) {
    const seed = seeds[hunks.length % Math.max(1, seeds.length)] ?? 0;
    const skip = seed % 4;
    const drop = (seed >> 2) % 3;
    at += letters.slice(i, i + skip).join("").length;
    i += skip;
    const length = letters.slice(i, i + drop).join("").length;
    if (i > letters.length) break;
    const insert = ["", "X", "Y\nZ", "😁"][(seed >> 4) % 4] ?? "";
    if (length > 0 || insert !== "") hunks.push(hunk(String(hunks.length + 1), at, at + length, insert));
    else hunks.push(hunk(String(hunks.length + 1), at, at, "+"));
    at += length;
    i += Math.max(drop, 1);
    if (drop === 0) at += letters[i - 1]?.length ?? 0;
  }
  return hunks.filter((h) => h.edits.every((e) => e.to <= base.length));
}

const seeds = fc.array(fc.nat({ max: 255 }), { minLength: 1, maxLength: 8 });
const strokes = fc.array(
  fc.record({
    at: fc.nat(),
    length: fc.nat({ max: 3 }),
    insert: fc.constantFrom("", "q", "r\n", "😀"),
    undo: fc.boolean(),
  }),
  { maxLength: 6 },
);

// covers: P2 P3 P4 P9
describe("any edits against any patch", () => {
  test("accepting gives what applying the mapped patch by itself gives, and undo takes it back whole", () => {
    fc.assert(
      fc.property(texts, seeds, strokes, (base, list, typed) => {
        const hunks = patchOf(base, list);
        const d = bareDesk(base);
        try {
          openReview(d.view, proposal(base, hunks));
          for (const stroke of typed) {
            if (stroke.undo) undo(d.view);
            else {
              const letters = [...d.text()];
              const start = stroke.at % (letters.length + 1);
              const from = letters.slice(0, start).join("").length;
              const to = from + letters.slice(start, start + stroke.length).join("").length;
              d.edit(from, to, stroke.insert);
            }
          }
          const before = d.text();
          const view = reviewOf(d.view.state);
          const alive = view?.hunks.filter((h) => h.status !== "stale") ?? [];
          const edits = alive.flatMap((h) => h.edits).sort((a, b) => a.from - b.from || a.to - b.to);
          for (const h of alive) {
            const proposed = hunks.find((other) => other.id === h.id)?.edits ?? [];
            for (const [i, edit] of h.edits.entries()) {
              expect(before.slice(edit.from, edit.to)).toBe(base.slice(proposed[i]?.from, proposed[i]?.to));
            }
          }
          acceptTicked(d.view);
          expect(d.text()).toBe(applyEdits(before, edits));
          expect(told(d, "refused")).toEqual([]);
          if (edits.length > 0) {
            undo(d.view);
            expect(d.text()).toBe(before);
            expect(reviewOf(d.view.state)?.hunks.map((h) => [h.status, h.from, h.to])).toEqual(
              view?.hunks.map((h) => [h.status, h.from, h.to]),
            );
          }
        } finally {
          d.view.destroy();
        }
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  test("accepting one by one, in any order, gives what accepting all at once gives", () => {
    fc.assert(
      fc.property(texts, seeds, fc.array(fc.nat(), { minLength: 1, maxLength: 8 }), (base, list, order) => {
        const hunks = patchOf(base, list);
        const all: readonly Edit[] = hunks.flatMap((h) => h.edits);
        const d = bareDesk(base);
        try {
          openReview(d.view, proposal(base, hunks));
          for (let i = 0; i < hunks.length; i++) {
            const left = reviewOf(d.view.state)?.hunks.filter((h) => h.status !== "accepted") ?? [];
            const next = left[(order[i % order.length] ?? 0) % Math.max(1, left.length)];
            if (next === undefined) break;
            expect(next.status).toBe("clean");
            goToHunk(d.view, next.id);
            acceptHunk(d.view);
          }
          expect(d.text()).toBe(applyEdits(base, all));
          for (let i = 0; i < hunks.length; i++) undo(d.view);
          expect(d.text()).toBe(base);
        } finally {
          d.view.destroy();
        }
      }),
      { numRuns: 12 },
    );
  }, 60_000);
});
