// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FaultNotice } from "./fault-notice";
import { button, click, show } from "./stage.testing";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

// covers: K6 R8 (a pause is counted down, and nothing is sent by itself)
it("counts a pause down, lets it be tried again at its end, and tries nothing by itself", async () => {
  const tries: number[] = [];
  const drawn = signal(0);
  function Around() {
    // Whoever shows a failure makes it anew each time it is drawn.
    return (
      <div data-drawn={drawn.value}>
        <FaultNotice
          fault={{ code: "rate_limited", detail: "429", retryAfterMs: 3000, provider: "P" }}
          actions={{ retry: () => void tries.push(Date.now()) }}
        />
      </div>
    );
  }
  const root = await show(<Around />);
  expect(button(root, "Retry in 3 s").disabled).toBe(true);
  await act(() => void vi.advanceTimersByTime(1000));
  expect(button(root, "Retry in 2 s").disabled).toBe(true);
  await act(() => {
    drawn.value = 1;
  });
  expect(button(root, "Retry in 2 s").disabled).toBe(true);
  await act(() => void vi.advanceTimersByTime(2000));
  expect(button(root, "Retry").disabled).toBe(false);
  await act(() => void vi.advanceTimersByTime(60_000));
  expect(tries).toEqual([]);
  await click(button(root, "Retry"));
  expect(tries).toHaveLength(1);
});
