import { history, isolateHistory, redo, undo } from "@codemirror/commands";
import type { TransactionSpec } from "@codemirror/state";
import { EditorState, Transaction } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Ending, EndingRun } from "../text";
import { breakCount, joinEndings, majorityEnding, writeEndings } from "../text";
import { isOwnCorpus, readVectors } from "../text/vectors.testing";
import { endings, endingsOf, insertedEndings, setEndings } from "./endings";

/** A state one dispatches to, with real history. */
class Sheet {
  state: EditorState;
  inserted: readonly EndingRun[] = [];

  constructor(raw: string) {
    const { text, table } = read(raw);
    this.state = EditorState.create({
      doc: text,
      extensions: [history(), endings(table, majorityEnding(table))],
    });
  }

  readonly dispatch = (tr: Transaction): void => {
    this.inserted = insertedEndings(tr);
    this.state = tr.state;
  };

  edit(...specs: readonly TransactionSpec[]): void {
    this.dispatch(this.state.update(...specs));
  }

  get raw(): string {
    return writeEndings(this.state.doc.toString(), endingsOf(this.state).table);
  }
}

function read(raw: string): { readonly text: string; readonly table: readonly EndingRun[] } {
  const runs: EndingRun[] = [];
  const text = raw.replace(/\r\n|\n|\r/g, (found) => {
    runs.push({ ending: found === "\r\n" ? "crlf" : found === "\n" ? "lf" : "cr", count: 1 });
    return "\n";
  });
  return { text, table: joinEndings(runs) };
}

type Steps = NonNullable<Row["steps"]>;

type Packed = string | { readonly repeat: readonly (readonly [string, number])[] };

interface Row {
  readonly id: string;
  readonly bytes: Packed;
  readonly saved?: Packed;
  readonly rejected?: boolean;
  readonly open: { readonly editable: boolean; readonly encoding: string; readonly bom: boolean };
  readonly steps?: readonly {
    readonly changes: readonly { readonly from: number; readonly to: number; readonly insert?: string }[];
    readonly undoOf?: number;
  }[];
}

function decode(packed: Packed, { encoding, bom }: Row["open"]): string {
  const bytes =
    typeof packed === "string"
      ? Buffer.from(packed, "base64")
      : Buffer.concat(packed.repeat.flatMap(([p, n]) => Array<Buffer>(n).fill(Buffer.from(p, "base64"))));
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  return bom ? text.slice(1) : text;
}

/** The step that a chain of undo and redo is about. */
function rootOf(steps: Steps, step: number): number {
  const of = steps[step]?.undoOf;
  return of === undefined ? step : rootOf(steps, of);
}

/** Whether a step redoes: takes back a step that took back. */
function redoes(steps: Steps, step: number): boolean {
  const of = steps[step]?.undoOf;
  return of !== undefined && steps[of]?.undoOf !== undefined && !redoes(steps, of);
}

/** Whether one history, last in first out, can play the steps; two people's can do more. */
function isPlayable(steps: Steps): boolean {
  const remote = elsewhere(steps);
  const done: number[] = [];
  let undone: number[] = [];
  for (const [i, step] of steps.entries()) {
    if (step.changes.length === 0 || remote[i] === true) continue;
    if (step.undoOf === undefined) {
      done.push(i);
      undone = [];
      continue;
    }
    const from = redoes(steps, i) ? undone : done;
    const root = from.pop();
    if (root !== rootOf(steps, i)) return false;
    (from === done ? undone : done).push(root);
  }
  return true;
}

/** For each step, whether it stays while an earlier one is taken back: then it came from elsewhere. */
function elsewhere(steps: Steps): readonly boolean[] {
  const out = steps.map(() => false);
  const takenBack = new Set<number>();
  for (const [s, step] of steps.entries()) {
    if (step.undoOf === undefined) continue;
    for (let j = step.undoOf + 1; j < s; j++) {
      if (steps[j]?.undoOf === undefined && !takenBack.has(j)) out[j] = true;
    }
    takenBack.add(step.undoOf);
  }
  return out;
}

// covers: F3 P11
describe("fidelity vectors, through real transactions and history", () => {
  const fit = readVectors<Row>("fidelity.json").filter((row) => row.open.editable && row.rejected !== true);
  const rows = fit.filter((row) => isPlayable(row.steps ?? []));

  test("nearly all can be played by one history", () => {
    expect(fit.length - rows.length).toBeLessThan(isOwnCorpus ? 3 : fit.length / 10);
  });

  for (const row of rows) {
    test(row.id, () => {
      const sheet = new Sheet(decode(row.bytes, row.open));
      const steps = row.steps ?? [];
      const remote = elsewhere(steps);
      for (const [i, step] of steps.entries()) {
        if (step.changes.length === 0) continue;
        if (step.undoOf === undefined) {
          const changes = step.changes.map(({ from, to, insert }) => ({ from, to, insert: insert ?? "" }));
          const annotations =
            remote[i] === true ? [Transaction.addToHistory.of(false)] : [isolateHistory.of("full")];
          sheet.edit({ changes, annotations, userEvent: "input" });
        } else {
          expect((redoes(steps, i) ? redo : undo)(sheet)).toBe(true);
        }
        expect(breakCount(endingsOf(sheet.state).table)).toBe(sheet.state.doc.lines - 1);
      }
      expect(sheet.raw).toBe(decode(row.saved ?? row.bytes, row.open));
    }, 60_000);
  }
});

const raws = fc
  .array(fc.constantFrom("a", "b", "\n", "\r\n", "\r", "😀"), { maxLength: 14 })
  // A CR before an LF would be read as one break.
  .map((parts) => parts.join("|"));

const strokes = fc.array(
  fc.record({
    at: fc.nat(),
    length: fc.nat({ max: 6 }),
    insert: fc.constantFrom("", "", "x", "\n", "y\nz"),
    userEvent: fc.constantFrom("input.type", "delete.backward", "delete.forward", "input.paste", "input"),
    pause: fc.constantFrom(1, 1, 1, 10_000),
  }),
  { minLength: 1, maxLength: 12 },
);

// covers: F1 F3
describe("edit, undo all, save gives identical bytes", () => {
  const play = (
    sheet: Sheet,
    list: readonly { at: number; length: number; insert: string; userEvent: string; pause: number }[],
  ): void => {
    let time = 1_000_000;
    for (const { at, length, insert, userEvent, pause } of list) {
      time += pause;
      const size = sheet.state.doc.length;
      const from = at % (size + 1);
      const to = Math.min(size, from + length);
      sheet.edit({ changes: { from, to, insert }, userEvent, annotations: Transaction.time.of(time) });
    }
  };

  test("however steps were joined; and redo all gives what was there before", () => {
    fc.assert(
      fc.property(raws, strokes, (raw, list) => {
        const sheet = new Sheet(raw);
        play(sheet, list);
        const after = sheet.raw;
        for (let round = 0; round < 2; round++) {
          while (undo(sheet));
          expect(sheet.raw).toBe(raw);
          while (redo(sheet));
          expect(sheet.raw).toBe(after);
        }
      }),
      { numRuns: 400 },
    );
  }, 60_000);

  test("a break typed and deleted again leaves nothing to bring back in its place", () => {
    const sheet = new Sheet("a\r\nb\rc\n");
    let time = 1_000_000;
    const at = () => {
      time++;
      return Transaction.time.of(time);
    };
    sheet.edit({ changes: { from: 1, to: 2 }, userEvent: "delete.forward", annotations: at() });
    sheet.edit({ changes: { from: 1, insert: "\n" }, userEvent: "input.type", annotations: at() });
    sheet.edit({ changes: { from: 1, to: 2 }, userEvent: "delete.backward", annotations: at() });
    while (undo(sheet));
    expect(sheet.raw).toBe("a\r\nb\rc\n");
  });
});

// covers: F3
describe("what a transaction inserts", () => {
  test("A5: is told with its endings", () => {
    const sheet = new Sheet("a\r\nb\nc\r\n");
    sheet.edit({ changes: { from: 2, to: 3, insert: "B1\nB2" } });
    expect(sheet.inserted).toEqual([{ ending: "lf", count: 1 }]);
    expect(sheet.raw).toBe("a\r\nB1\nB2\nc\r\n");
    undo(sheet);
    expect(sheet.inserted).toEqual([]);
  });

  test("an undo tells the endings it brings back, in order", () => {
    const sheet = new Sheet("a\r\nb\rc\n");
    sheet.edit({ changes: { from: 0, to: 6 } });
    expect(sheet.raw).toBe("");
    undo(sheet);
    expect(sheet.inserted).toEqual([
      { ending: "crlf", count: 1 },
      { ending: "cr", count: 1 },
      { ending: "lf", count: 1 },
    ]);
  });

  test("a change from elsewhere between does not disturb the order", () => {
    const sheet = new Sheet("a\r\nb\rc\nd\n");
    sheet.edit({
      changes: [
        { from: 0, to: 2 },
        { from: 4, to: 6 },
      ],
    });
    sheet.edit({ changes: { from: 1, insert: "--\n--" }, annotations: Transaction.addToHistory.of(false) });
    undo(sheet);
    expect(sheet.raw).toBe("a\r\nb--\r--\rc\nd\n");
  });

  test("a file of one kind costs nothing and stays of one kind", () => {
    const sheet = new Sheet("a\r\nb\r\n");
    sheet.edit({ changes: { from: 1, insert: "\n\n" } });
    sheet.edit({ changes: { from: 0, to: 3 } });
    expect(endingsOf(sheet.state).table).toEqual([{ ending: "crlf", count: 2 }]);
    expect(sheet.inserted).toEqual([]);
  });

  test("a document can be given another table, but none that does not fit", () => {
    const sheet = new Sheet("a\nb");
    const table: readonly EndingRun[] = [{ ending: "cr", count: 1 }];
    sheet.edit({ effects: setEndings.of({ table, majority: "cr" satisfies Ending }) });
    expect(sheet.raw).toBe("a\rb");
    expect(() => sheet.edit({ effects: setEndings.of({ table: [], majority: "lf" }) })).toThrow(RangeError);
  });
});
