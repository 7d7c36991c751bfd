import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventRecord, Preview } from "../backend";
import { decodeMessage } from "../backend";
import { rowsOf } from "./rows";
import {
  activeRun,
  addPreview,
  carry,
  emptyTimeline,
  isSessionMessage,
  know,
  type SessionMessage,
  type Stream,
  type Timeline,
  type TimelineItem,
} from "./timeline";
import { answer, call, committed, noUsage, run, said } from "./timeline.testing";

const folder = join(import.meta.dirname, "testdata");
const logs = readdirSync(folder).filter((name) => name.endsWith(".events.json"));

/** A recorded log of one session, as the host gives it. */
function readLog(name: string): readonly SessionMessage[] {
  const records: readonly EventRecord[] = JSON.parse(readFileSync(join(folder, name), "utf8"));
  return records.flatMap((record) => {
    const message = decodeMessage(record);
    return message !== null && isSessionMessage(message) ? [message] : [];
  });
}

/** A timeline as plain data, so that it can be compared and read. */
function plain(timeline: Timeline): object {
  return {
    ...timeline,
    runs: Object.fromEntries(timeline.runs),
    streams: Object.fromEntries(timeline.streams),
    held: Object.fromEntries(timeline.held),
  };
}

/** One line for each item: what a person sees, in short. */
function outline(timeline: Timeline): readonly string[] {
  return timeline.items.map(lineOf);
}

function lineOf(item: TimelineItem): string {
  switch (item.type) {
    case "asked":
      return `you: ${item.text.split("\n")[0]}`;
    case "answer":
      return `answer${item.partial ? ", cut" : ""}: ${item.text.split("\n")[0]}`;
    case "call": {
      const { call: made, approval, verdict } = item;
      const facts = [made.state, made.reason, approval?.state, verdict?.verdict];
      return `${made.name}: ${facts.filter(Boolean).join(" ")}`;
    }
    case "proposal":
      return `proposal: ${item.proposal.state} ${item.proposal.patch.summary}`;
    case "end":
      return `end: ${item.state} ${item.reason}`.trim();
    case "continued":
      return "continued";
    case "model":
      return `model: ${item.model.model}`;
  }
}

describe("a recorded session", () => {
  it("is there to be read", () => {
    expect(logs.length).toBeGreaterThan(3);
  });

  // covers: R3 R5 U2
  it.each(logs)("%s comes out as it did", async (name) => {
    const timeline = carry(emptyTimeline("s"), readLog(name));
    const golden = join(folder, name.replace(".events.json", ".golden.txt"));
    const text = `${JSON.stringify({ outline: outline(timeline), rows: rowsOf(timeline.items).map((row) => row.type), ...plain(timeline) }, null, 1)}\n`;
    await expect(text).toMatchFileSnapshot(golden);
    expect(timeline.held.size).toBe(0);
    expect(new Set(timeline.items.map((item) => item.key)).size).toBe(timeline.items.length);
  });

  // covers: R5 R10
  it.each(logs)("%s read in pieces, with repeats, is the same as read at once", (name) => {
    const log = readLog(name);
    const whole = plain(carry(emptyTimeline("s"), log));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(log.length), fc.nat(12)), { maxLength: 8 }), (cuts) => {
        let timeline = emptyTimeline("s");
        for (const [to, back] of [...cuts].sort((a, b) => a[0] - b[0])) {
          // An attach gives what is after the cursor; a page may begin before it.
          const first = log.findIndex((message) => message.seq > timeline.cursor);
          timeline = carry(timeline, log.slice(Math.max(0, first - back), Math.max(to, first)));
        }
        expect(plain(carry(timeline, log))).toEqual(whole);
      }),
    );
  });
});

describe("events", () => {
  const accepted = committed(1, "run.accepted", run("r1"));
  const asked = committed(2, "message.committed", said("m1", "user", "Why?"));
  const started = committed(3, "run.started", {
    state: "running",
    reason: "",
    usage: noUsage,
    outcome: "",
  });

  // covers: R10
  it("of a run that is not known wait for it, in both orders", () => {
    const inOrder = carry(emptyTimeline("s"), [accepted, asked, started]);
    const late = carry(emptyTimeline("s"), [asked, started, accepted]);
    expect(outline(inOrder)).toEqual(["you: Why?"]);
    expect(plain(late)).toEqual(plain(inOrder));
    const before = carry(emptyTimeline("s"), [asked, started]);
    expect(before.items).toEqual([]);
    expect(before.held.get("r1")).toHaveLength(2);
  });

  it("of a run whose first ones are not kept any more stand once it is known", () => {
    const before = carry(emptyTimeline("s"), [
      started,
      committed(9, "message.committed", answer("m2", "So.")),
    ]);
    const after = know(before, { ...run("r1"), state: "running" });
    expect(outline(after)).toEqual(["answer: So."]);
    expect(know(after, run("r1"))).toBe(after);
  });

  // covers: R5
  it("that came before change nothing", () => {
    const timeline = carry(emptyTimeline("s"), [accepted, asked, started]);
    expect(carry(timeline, [asked, started, accepted])).toBe(timeline);
  });

  it("about calls, questions and proposals that are not known are dropped", () => {
    const timeline = carry(emptyTimeline("s"), [accepted, asked, started]);
    const after = carry(timeline, [
      committed(7, "approval.decided", { ...approval, toolCallId: "elsewhere" }),
      committed(8, "proposal.decided", {
        proposalId: "elsewhere",
        state: "applied",
        hunks: [],
        appliedVersion: 2,
      }),
    ]);
    expect(outline(after)).toEqual(outline(timeline));
    expect(after.cursor).toBe(8);
  });

  it("leave the timeline that was given as it was", () => {
    const timeline = carry(emptyTimeline("s"), [accepted, asked]);
    const before = structuredClone(plain(timeline));
    carry(timeline, [started, committed(4, "message.committed", answer("m2", "So."))]);
    expect(plain(timeline)).toEqual(before);
  });

  const approval = {
    id: "a1",
    toolCallId: "c1",
    runId: "r1",
    inputDigest: "d",
    rule: "notes.write",
    summary: { path: "a.md", newPath: "", text: "x", bytes: 1, words: 1, links: 0, invisible: false },
    state: "pending",
    createdAtMs: 1,
    expiresAtMs: 0,
    decidedAtMs: 0,
  } as const;

  it("put an answer above the calls that it asks for, in whichever order they come", () => {
    const calls = [
      committed(4, "tool.changed", call("c1", "proposed")),
      committed(5, "tool.changed", call("c2", "proposed")),
    ];
    const words = committed(6, "message.committed", answer("m2", "I look."));
    const timeline = carry(emptyTimeline("s"), [accepted, asked, started, ...calls, words]);
    expect(outline(timeline)).toEqual([
      "you: Why?",
      "answer: I look.",
      "readDocument: proposed",
      "readDocument: proposed",
    ]);
  });

  // covers: R7
  it("of a run that was stopped say so, and late words of it are dropped", () => {
    const words: SessionMessage = {
      ...committed(0, "preview", { runId: "r1", attempt: 1, keep: 0, text: "So", thinking: false }),
      seq: 0,
    };
    const cancelling = committed(5, "run.cancelling", {
      state: "cancelling",
      reason: "",
      usage: noUsage,
      outcome: "",
    });
    const cancelled = committed(6, "run.cancelled", {
      state: "cancelled",
      reason: "person",
      usage: noUsage,
      outcome: "",
    });
    let timeline = carry(emptyTimeline("s"), [accepted, asked, started, words]);
    expect(timeline.streams.get("r1")?.text).toBe("So");
    timeline = carry(timeline, [cancelling]);
    expect(activeRun(timeline)?.run.state).toBe("cancelling");
    expect(carry(timeline, [words])).toBe(timeline);
    timeline = carry(timeline, [cancelled]);
    expect(carry(timeline, [words])).toBe(timeline);
    expect(timeline.streams.size).toBe(0);
    expect(activeRun(timeline)).toBeNull();
    expect(outline(timeline)).toEqual(["you: Why?", "end: cancelled person"]);
  });

  // covers: R8
  it("of a message that waits keep it apart until its run begins, or is taken back", () => {
    const second = { ...committed(4, "run.accepted", run("r2")), runId: "r2" };
    const more = { ...committed(5, "message.committed", said("m2", "user", "And?")), runId: "r2" };
    let timeline = carry(emptyTimeline("s"), [accepted, asked, started, second, more]);
    expect(timeline.queue.map((item) => item.text)).toEqual(["And?"]);
    expect(outline(timeline)).toEqual(["you: Why?"]);
    const back = carry(timeline, [
      {
        ...committed(6, "run.cancelled", {
          state: "cancelled",
          reason: "person",
          usage: noUsage,
          outcome: "",
        }),
        runId: "r2",
      },
    ]);
    expect(back.queue).toEqual([]);
    expect(back.items.at(-1)).toMatchObject({ type: "end", begun: false });
    timeline = carry(timeline, [
      committed(6, "message.committed", answer("m3", "So.")),
      committed(7, "run.succeeded", { state: "succeeded", reason: "", usage: noUsage, outcome: "" }),
      {
        ...committed(8, "run.started", { state: "running", reason: "", usage: noUsage, outcome: "" }),
        runId: "r2",
      },
    ]);
    expect(timeline.queue).toEqual([]);
    expect(outline(timeline)).toEqual(["you: Why?", "answer: So.", "you: And?"]);
  });

  it("say how much a request held, and whether that is an estimate", () => {
    let timeline = carry(emptyTimeline("s"), [
      accepted,
      started,
      committed(4, "model_call.begun", { step: 1, attempt: 1, contextTokens: 900, contextSize: 8192 }),
    ]);
    expect(timeline.context).toEqual({ tokens: 900, size: 8192, kind: "estimated" });
    const ended = { step: 1, attempt: 1, phase: "done", finishReason: "end_turn", code: "" } as const;
    const usage = { kind: "estimated", input: 910, output: 3, cached: 0, reasoning: 0 } as const;
    timeline = carry(timeline, [committed(5, "model_call.ended", { ...ended, usage })]);
    expect(timeline.context?.kind).toBe("estimated");
    timeline = carry(timeline, [
      committed(6, "model_call.ended", { ...ended, usage: { ...usage, kind: "exact", input: 877 } }),
    ]);
    expect(timeline.context).toEqual({ tokens: 877, size: 8192, kind: "measured" });
  });
});

describe("words as they stream", () => {
  const nothing: Stream = {
    attempt: 0,
    text: "",
    missed: 0,
    thinking: false,
    thinkingSinceMs: 0,
    thoughtMs: 0,
    done: false,
  };
  const preview = (attempt: number, keep: number, text: string, thinking = false): Preview => ({
    runId: "r1",
    attempt,
    keep,
    text,
    thinking,
  });

  it("keep what is to be kept, and take an earlier attempt back", () => {
    let stream = addPreview(nothing, preview(1, 0, "One two"), 0);
    stream = addPreview(stream, preview(1, 4, "three"), 0);
    expect(stream.text).toBe("One three");
    stream = addPreview(stream, preview(2, 0, "Anew"), 0);
    expect(stream.text).toBe("Anew");
    expect(addPreview(stream, preview(1, 0, "late"), 0)).toBe(stream);
    expect(addPreview({ ...stream, done: true }, preview(2, 4, " late"), 0).text).toBe("Anew");
  });

  it("say how long it was thought before the first of them", () => {
    let stream = addPreview(nothing, preview(1, 0, "", true), 1000);
    expect(stream).toMatchObject({ thinking: true, thinkingSinceMs: 1000 });
    stream = addPreview(stream, preview(1, 0, "So"), 4000);
    expect(stream).toMatchObject({ thinking: false, thoughtMs: 3000, text: "So" });
  });

  it("that are joined in the middle do not pretend to be whole", () => {
    let stream = addPreview(nothing, preview(1, 40, "and so"), 0);
    expect(stream).toMatchObject({ missed: 40, text: "and so" });
    stream = addPreview(stream, preview(1, 43, " on"), 0);
    expect(stream).toMatchObject({ missed: 40, text: "and on" });
    stream = addPreview(stream, preview(1, 0, "All of it"), 0);
    expect(stream).toMatchObject({ missed: 0, text: "All of it" });
  });
});

// covers: U2
it("5,000 entries become as many rows", () => {
  const log: SessionMessage[] = [];
  for (let i = 0; i < 1250; i += 1) {
    const runId = `r${i}`;
    const of = (seq: number, message: SessionMessage): SessionMessage => ({ ...message, seq, runId });
    const seq = 6 * i;
    log.push(
      of(seq + 1, committed(0, "run.accepted", run(runId))),
      of(seq + 2, committed(0, "message.committed", said(`q${i}`, "user", `Question ${i}`))),
      of(seq + 3, committed(0, "run.started", { state: "running", reason: "", usage: noUsage, outcome: "" })),
      of(seq + 4, committed(0, "tool.changed", { ...call(`c${i}`, "succeeded"), runId })),
      of(seq + 5, committed(0, "message.committed", answer(`m${i}`, `Answer ${i}`))),
      of(
        seq + 6,
        committed(0, "run.cancelled", { state: "cancelled", reason: "", usage: noUsage, outcome: "" }),
      ),
    );
  }
  const timeline = carry(emptyTimeline("s"), log);
  const rows = rowsOf(timeline.items);
  expect(timeline.items).toHaveLength(5000);
  expect(rows).toHaveLength(5000);
});
