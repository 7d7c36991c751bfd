// @vitest-environment jsdom
import { EditorState } from "@codemirror/state";
import { signal } from "@preact/signals";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { Documents, Tab } from "../document";
import { countText } from "../ui";
import { countWhenResting } from "./counting";

/** The part of the open documents that counting looks at. */
function openText(text: string) {
  let state = EditorState.create({ doc: text });
  const revision = signal(0);
  const tab = { state: () => state } as unknown as Tab;
  const documents = { current: signal(tab), revision } as unknown as Documents;
  return {
    counts: countWhenResting(documents),
    change: (from: number, to: number, insert: string, select = false) => {
      const length = state.doc.length;
      state = state.update({
        changes: { from: from % (length + 1), to: Math.min(length, (from % (length + 1)) + to), insert },
      }).state;
      if (select) {
        state = state.update({ selection: { anchor: 0, head: Math.floor(state.doc.length / 2) } }).state;
      }
      revision.value += 1;
    },
    text: () => state.doc.toString(),
    selected: () => state.sliceDoc(state.selection.main.from, state.selection.main.to),
  };
}

// covers: E4 (counts right for CJK, of the selection too) E9
it("counts what the whole text counts, however it came to be", async () => {
  vi.useFakeTimers();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(40_000), fc.nat(300), fc.constantFrom("", "x", " a\nb ", "船\n\nboat’s")), {
        maxLength: 8,
      }),
      async (changes) => {
        const open = openText("The last boat, 末班船\n\nleaves at 22:40.\n".repeat(900));
        for (const [from, length, insert] of changes) open.change(from, length, insert, insert === "x");
        await vi.runAllTimersAsync();
        expect(open.counts.whole.value).toEqual(countText(open.text()));
        expect(open.counts.selection.value).toEqual(
          open.selected() === "" ? null : countText(open.selected()),
        );
      },
    ),
    { numRuns: 40 },
  );
  vi.useRealTimers();
});

it("yields to the page while it counts a large text", async () => {
  const open = openText("The last boat leaves at half past nine.\n".repeat(200_000));
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    if (open.counts.whole.value.words === 0) setTimeout(turn);
  };
  turn();
  await vi.waitFor(() => expect(open.counts.whole.value.words).toBe(1_600_000), { timeout: 20_000 });
  expect(turns).toBeGreaterThan(3);
});
