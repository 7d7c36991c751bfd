import { describe, expect, test } from "vitest";
import type { Edit, Ending, EndingRun } from "./index";
import {
  applyEdits,
  breakCount,
  checkEdits,
  countBreaks,
  endingAt,
  joinEndings,
  majorityEnding,
  sliceEndings,
  stepEndings,
  writeEndings,
} from "./index";
import { isOwnCorpus, readVectors } from "./vectors.testing";

type Packed = string | { readonly repeat: readonly (readonly [string, number])[] };

interface VectorEdit {
  readonly from: number;
  readonly to: number;
  readonly insert?: string;
  readonly insertUtf16?: readonly number[];
}

interface Row {
  readonly id: string;
  readonly bytes: Packed;
  readonly saved?: Packed;
  readonly open: {
    readonly editable: boolean;
    readonly encoding: "utf-8" | "utf-16le" | "utf-16be";
    readonly bom: boolean;
    readonly endings: Readonly<Record<Ending, number>>;
    readonly lengthUtf16: number;
    readonly lines: number;
  };
  readonly steps?: readonly {
    readonly changes: readonly VectorEdit[];
    readonly undoOf?: number;
    readonly rejected?: boolean;
  }[];
}

function unpack(packed: Packed): Buffer {
  if (typeof packed === "string") return Buffer.from(packed, "base64");
  return Buffer.concat(
    packed.repeat.flatMap(([piece, count]) => Array<Buffer>(count).fill(Buffer.from(piece, "base64"))),
  );
}

/** Test-only decoding: the real one is the host's. */
function decode(bytes: Buffer, encoding: Row["open"]["encoding"], bom: boolean): string {
  const text = new TextDecoder(encoding, { ignoreBOM: true, fatal: true }).decode(bytes);
  return bom ? text.slice(1) : text;
}

function encode(text: string, encoding: Row["open"]["encoding"], bom: boolean): Buffer {
  const whole = bom ? `\ufeff${text}` : text;
  if (encoding === "utf-8") return Buffer.from(whole, "utf8");
  const little = Buffer.from(whole, "utf16le");
  return encoding === "utf-16le" ? little : Buffer.from(little).swap16();
}

function readEndings(raw: string): { readonly text: string; readonly table: readonly EndingRun[] } {
  const runs: EndingRun[] = [];
  const text = raw.replace(/\r\n|\n|\r/g, (found) => {
    runs.push({ ending: found === "\r\n" ? "crlf" : found === "\n" ? "lf" : "cr", count: 1 });
    return "\n";
  });
  return { text, table: joinEndings(runs) };
}

function insertOf(edit: VectorEdit): Edit {
  const insert = edit.insert ?? String.fromCharCode(...(edit.insertUtf16 ?? []));
  return { from: edit.from, to: edit.to, insert };
}

// covers: F1 F3 P11
describe("fidelity vectors, at the level of text", () => {
  const rows = readVectors<Row>("fidelity.json").filter((row) => row.open.editable);

  test("there are enough", () => expect(rows.length).toBeGreaterThan(isOwnCorpus ? 200 : 0));

  for (const row of rows) {
    test(row.id, () => {
      const raw = decode(unpack(row.bytes), row.open.encoding, row.open.bom);
      let { text, table } = readEndings(raw);
      const majority = majorityEnding(table);
      expect(text.length).toBe(row.open.lengthUtf16);
      expect(breakCount(table) + 1).toBe(row.open.lines);

      const deleted: (readonly EndingRun[])[] = [];
      for (const step of row.steps ?? []) {
        const edits = step.changes.map(insertOf);
        if (step.rejected === true) {
          expect(checkEdits(edits, text)).not.toBeNull();
          deleted.push([]);
          continue;
        }
        const before = text;
        const breaksBefore = (at: number) => countBreaks(before.slice(0, at));
        deleted.push(
          joinEndings(
            ...edits.map((edit) => sliceEndings(table, breaksBefore(edit.from), breaksBefore(edit.to))),
          ),
        );
        const restored = step.undoOf === undefined ? undefined : deleted[step.undoOf];
        text = applyEdits(text, edits);
        table = stepEndings(table, majority, breaksBefore, edits, restored).table;
        expect(breakCount(table)).toBe(countBreaks(text));
      }
      const saved = encode(writeEndings(text, table), row.open.encoding, row.open.bom);
      expect(saved.equals(unpack(row.saved ?? row.bytes))).toBe(true);
    }, 60_000);
  }
});

// covers: F3
describe("the table of endings", () => {
  const table: readonly EndingRun[] = [
    { ending: "crlf", count: 2 },
    { ending: "lf", count: 1 },
  ];

  test("A5: a line that grows out of a line takes its ending", () => {
    const mixed: readonly EndingRun[] = [
      { ending: "crlf", count: 1 },
      { ending: "lf", count: 1 },
      { ending: "crlf", count: 1 },
    ];
    const text = "a\nb\nc\n";
    const edits = [{ from: 2, to: 3, insert: "B1\nB2" }];
    const step = stepEndings(mixed, "crlf", (at) => countBreaks(text.slice(0, at)), edits);
    expect(writeEndings(applyEdits(text, edits), step.table)).toBe("a\r\nB1\nB2\nc\r\n");
    expect(step.inserted).toEqual([{ ending: "lf", count: 1 }]);
  });

  test("is looked up, cut and joined by break", () => {
    expect([-1, 0, 1, 2, 3].map((i) => endingAt(table, i))).toEqual([null, "crlf", "crlf", "lf", null]);
    expect(sliceEndings(table, 1, 3)).toEqual([
      { ending: "crlf", count: 1 },
      { ending: "lf", count: 1 },
    ]);
    expect(sliceEndings(table, 2, 2)).toEqual([]);
    expect(joinEndings(table, [{ ending: "lf", count: 0 }], [{ ending: "lf", count: 2 }])).toEqual([
      { ending: "crlf", count: 2 },
      { ending: "lf", count: 3 },
    ]);
  });

  test("a tie goes to LF, then CRLF; no ending is LF", () => {
    expect(majorityEnding([])).toBe("lf");
    expect(
      majorityEnding([
        { ending: "cr", count: 1 },
        { ending: "crlf", count: 1 },
      ]),
    ).toBe("crlf");
    expect(
      majorityEnding([
        { ending: "crlf", count: 1 },
        { ending: "lf", count: 1 },
      ]),
    ).toBe("lf");
    expect(
      majorityEnding([
        { ending: "cr", count: 2 },
        { ending: "lf", count: 1 },
      ]),
    ).toBe("cr");
  });

  test("a table that does not fit is never written", () => {
    expect(() => writeEndings("a\nb", table)).toThrow(RangeError);
  });
});
