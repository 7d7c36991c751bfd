import { expect, test } from "vitest";
import { createHeld } from "./held";

const message = (runId: string, n: number) => ({ runId, n });

// covers: R10
test("the answer first: events of the run are handled as they come", () => {
  const held = createHeld<{ runId: string; n: number }>();
  held.expect();
  expect(held.settle("r1")).toEqual([]);
  expect(held.take(message("r1", 1))).toBe(true);
});

test("the events first: they wait for the answer, in order", () => {
  const held = createHeld<{ runId: string; n: number }>();
  held.expect();
  expect(held.take(message("r1", 1))).toBe(false);
  expect(held.take(message("r2", 2))).toBe(false);
  expect(held.take(message("r1", 3))).toBe(false);
  expect(held.settle("r1").map((m) => m.n)).toEqual([1, 3]);
  expect(held.take(message("r1", 4))).toBe(true);
});

test("events of a run that nobody waits for are dropped", () => {
  const held = createHeld<{ runId: string; n: number }>();
  expect(held.take(message("r9", 1))).toBe(false);
  held.expect();
  expect(held.settle("r9")).toEqual([]);
  held.forget("r9");
  expect(held.take(message("r9", 2))).toBe(false);
});

test("two calls under way keep each other's events", () => {
  const held = createHeld<{ runId: string; n: number }>();
  held.expect();
  held.expect();
  held.take(message("r2", 1));
  held.take(message("r1", 2));
  expect(held.settle("r1").map((m) => m.n)).toEqual([2]);
  expect(held.settle("r2").map((m) => m.n)).toEqual([1]);
});

test("a call that failed leaves nothing behind", () => {
  const held = createHeld<{ runId: string; n: number }>();
  held.expect();
  held.take(message("r1", 1));
  expect(held.settle(null)).toEqual([]);
  held.expect();
  expect(held.settle("r1")).toEqual([]);
});
