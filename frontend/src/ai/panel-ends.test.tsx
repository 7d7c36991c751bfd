// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";
import { setLanguage } from "../i18n";
import { endReason, helpWords, lookOf, reasonWords } from "./panel-words";
import { carry, emptyTimeline } from "./timeline";
import { answer, call, committed, noUsage, run, said } from "./timeline.testing";

afterEach(() => setLanguage("en"));

const begun = [
  committed(1, "run.accepted", run("r1")),
  committed(2, "message.committed", said("m1", "user", "Why?")),
  committed(3, "run.started", { state: "running", reason: "", usage: noUsage, outcome: "" }),
];

// covers: R6 R8
test("why a run ended is said in each language, with what can be done", () => {
  const reasons = [
    "budget_time",
    "budget_steps",
    "budget_tokens",
    "budget_tool_output",
    "budget_quotes",
    "unknown_outcome",
  ];
  for (const language of ["en", "zh"] as const) {
    setLanguage(language);
    const words = reasons.map((reason) => endReason(reason) ?? expect.unreachable(reason));
    expect(new Set(words.map(({ title }) => title)).size).toBe(reasons.length);
    expect(words.every(({ text }) => text !== "")).toBe(true);
  }
  expect(endReason("")).toBeNull();
  expect(endReason("runner_lost")).toBeNull();
});

// covers: R6 T5
test("why a call did nothing is said in each language, with what can be done", () => {
  const reasons = [
    "expired",
    "policy_denied",
    "permission_denied",
    "interrupted_read",
    "no_answer",
    "no_effect",
    "timeout",
  ];
  for (const language of ["en", "zh"] as const) {
    setLanguage(language);
    expect(new Set(reasons.map(helpWords)).size).toBe(reasons.length);
    expect(reasons.map(helpWords)).not.toContain("");
  }
  expect(helpWords("not_found")).toBe("");
  setLanguage("en");
  expect(reasonWords("expired")).toBe("not answered in time");
  expect(lookOf({ call: { ...call("c1", "cancelled"), reason: "expired" } } as never)).toBe("stopped");
});

// covers: R9
test("a run whose server cut what it was sent has an end that says so", () => {
  const end = { state: "succeeded", reason: "", usage: noUsage, outcome: "" } as const;
  const answered = [...begun, committed(4, "message.committed", answer("m2", "Because."))];
  const plain = carry(emptyTimeline("s"), [...answered, committed(5, "run.succeeded", end)]);
  expect(plain.items.map(({ type }) => type)).toEqual(["asked", "answer"]);
  const cut = carry(emptyTimeline("s"), [
    ...answered,
    committed(5, "run.succeeded", { ...end, clipped: true }),
  ]);
  expect(cut.items.at(-1)).toMatchObject({ type: "end", state: "succeeded", clipped: true });
});
