import { expect, test } from "vitest";
import type { HunkOutcome, Proposal, Run } from "../backend";
import { type AgentMessage, applyPreview, noAgent, reduce } from "./state";

const run: Run = {
  id: "r1",
  sessionId: "s1",
  commandId: "c1",
  parentRunId: "",
  kind: "rewrite",
  state: "queued",
  reason: "",
  runtime: "native",
  model: { providerId: "mock", model: "mock-1" },
  budget: {
    timeMs: 0,
    steps: 0,
    tokens: 0,
    toolResultBytes: 0,
    toolResultsBytes: 0,
    toolMs: 0,
    connectMs: 0,
    firstTokenMs: 0,
    silenceMs: 0,
  },
  tools: [],
  usage: { kind: "unknown", input: 0, output: 0, cached: 0, reasoning: 0 },
  docUri: "file:///a.md",
  createdAtMs: 1,
  startedAtMs: 0,
  endedAtMs: 0,
};

const envelope = (seq: number) => ({
  n: seq,
  seq,
  runId: "r1",
  sessionId: "s1",
  atMs: 100 + seq,
  ref: false,
});
const accepted: AgentMessage = { ...envelope(1), type: "run.accepted", payload: run };
const changed = (seq: number, type: "run.started" | "run.succeeded", state: Run["state"]): AgentMessage => ({
  ...envelope(seq),
  type,
  payload: { state, reason: "", usage: run.usage, outcome: "" },
});

// covers: R5
test("events carry the view forward once each, whatever is repeated", () => {
  const messages = [accepted, changed(2, "run.started", "running"), changed(3, "run.succeeded", "succeeded")];
  const once = messages.reduce(reduce, noAgent);
  const twice = [...messages, ...messages].reduce(reduce, noAgent);
  expect(twice).toEqual(once);
  expect(once.cursor).toBe(3);
  expect(once.runs.get("r1")).toMatchObject({ state: "succeeded", endedAtMs: 103 });
});

test("a late event of an older seq does not take a final state back", () => {
  const done = [accepted, changed(3, "run.succeeded", "succeeded")].reduce(reduce, noAgent);
  expect(reduce(done, changed(2, "run.started", "running"))).toBe(done);
});

test("a preview keeps a prefix and appends; a new attempt begins anew, an old one says nothing", () => {
  const at = (attempt: number, keep: number, text: string) => ({
    runId: "r1",
    attempt,
    keep,
    text,
    thinking: false,
  });
  const steps = [
    at(1, 0, "Sure, here"),
    at(1, 0, "The ferry"),
    at(1, 9, " leaves"),
    at(2, 0, "A ferry"),
    at(1, 16, " late"),
    at(2, 7, " goes"),
  ];
  const texts: string[] = [];
  steps.reduce(
    (shown, preview) => {
      const next = applyPreview(shown, preview);
      texts.push(next.text);
      return next;
    },
    { attempt: 0, text: "" },
  );
  expect(texts).toEqual([
    "Sure, here",
    "The ferry",
    "The ferry leaves",
    "A ferry",
    "A ferry",
    "A ferry goes",
  ]);
});

const proposal: Proposal = {
  id: "p1",
  origin: "tool",
  runId: "r1",
  toolCallId: "t1",
  supersedes: "",
  docUri: "file:///a.md",
  baseDigest: "",
  patch: { baseVersion: 1, edits: [], summary: "" },
  hunks: [
    { id: "1", first: 0, count: 1, warnings: [] },
    { id: "2", first: 1, count: 1, warnings: [] },
  ],
  cutOff: false,
  state: "proposed",
  createdAtMs: 1,
  decidedAtMs: 0,
};
const decision = (
  seq: number,
  state: Proposal["state"],
  ...hunks: readonly (readonly [id: string, outcome: HunkOutcome])[]
): AgentMessage => ({
  ...envelope(seq),
  type: "proposal.decided",
  payload: {
    proposalId: "p1",
    state,
    hunks: hunks.map(([id, outcome]) => ({ id, outcome })),
    appliedVersion: 2,
  },
});

// covers: P4
test("a decision is kept with the hunks it is about, and an undo takes it back", () => {
  const created: AgentMessage = { ...envelope(2), type: "proposal.created", payload: proposal };
  const after = (...more: readonly AgentMessage[]) => {
    const made = [accepted, created, ...more].reduce(reduce, noAgent).proposals.get("p1");
    return [made?.state, made?.decidedAtMs, ...(made?.hunks.map((h) => h.outcome) ?? [])];
  };
  const first = decision(3, "partly_applied", ["2", "accepted"]);
  expect(after(first)).toEqual(["partly_applied", 103, undefined, "accepted"]);
  expect(after(first, decision(4, "applied", ["1", "accepted"]))).toEqual([
    "applied",
    104,
    "accepted",
    "accepted",
  ]);
  expect(after(first, decision(4, "proposed", ["2", "open"]))).toEqual(["proposed", 0, undefined, "open"]);
});

test("what belongs to a session goes with it", () => {
  const created: AgentMessage = { ...envelope(2), type: "proposal.created", payload: proposal };
  const gone: AgentMessage = { ...envelope(3), type: "session.deleted", payload: { sessionId: "s1" } };
  const view = [accepted, created, gone].reduce(reduce, noAgent);
  expect([view.runs.size, view.proposals.size]).toEqual([0, 0]);
});
