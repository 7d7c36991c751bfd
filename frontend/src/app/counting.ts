/** Counts of the document in front, made so that a large one never holds up a key. */

import type { Text } from "@codemirror/state";
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Documents, Tab } from "../document";
import { type Counts, countText } from "../ui";

/** How long typing rests before it is counted, in ms. */
const countAfterMs = 200;
/** How long counting may take in one go, in ms: half a frame. */
const sliceMs = 8;

const nothing: Counts = { words: 0, characters: 0 };

function sum(a: Counts, b: Counts): Counts {
  return { words: a.words + b.words, characters: a.characters + b.characters };
}

/**
 * Counts the leaves of a document's tree. No word goes over the end of a line
 * and no leaf ends within one, so that counts add up; versions of a text share
 * what did not change, so that only new leaves are read.
 */
function createLeafCounts(): (doc: Text) => Generator<void, Counts> {
  const known = new WeakMap<Text, Counts>();
  return function* countLeaves(doc: Text): Generator<void, Counts> {
    const found = known.get(doc);
    if (found !== undefined) {
      return found;
    }
    let counts = nothing;
    if (doc.children === null) {
      counts = countText(doc.toString());
      yield;
    } else {
      for (const child of doc.children) {
        counts = sum(counts, yield* countLeaves(child));
      }
    }
    known.set(doc, counts);
    return counts;
  };
}

/** Runs work in slices; the result stops it. `done` gets what it returns. */
function inSlices<T>(work: Generator<void, T>, done: (result: T) => void): () => void {
  let timer = 0;
  const go = (): void => {
    const until = performance.now() + sliceMs;
    for (;;) {
      const step = work.next();
      if (step.done === true) {
        done(step.value);
        return;
      }
      if (performance.now() >= until) {
        timer = window.setTimeout(go);
        return;
      }
    }
  };
  go();
  return () => window.clearTimeout(timer);
}

/** Counts the document in front when typing rests, and its selection. */
export function countWhenResting(documents: Documents): {
  readonly whole: ReadonlySignal<Counts>;
  readonly selection: ReadonlySignal<Counts | null>;
} {
  const whole = signal(nothing);
  const selection = signal<Counts | null>(null);
  const countLeaves = createLeafCounts();
  let shown: Tab | null = null;

  function* countAll(tab: Tab): Generator<void, readonly [Counts, Counts | null]> {
    const { doc, selection: now } = tab.state();
    const all = yield* countLeaves(doc);
    const ranges = now.ranges.filter((range) => !range.empty);
    let some = nothing;
    for (const range of ranges) {
      some = sum(some, yield* countLeaves(doc.slice(range.from, range.to)));
    }
    return [all, ranges.length === 0 ? null : some];
  }

  effect(() => {
    const tab = documents.current.value;
    documents.revision.value;
    let stop = (): void => {};
    const count = (): void => {
      if (tab !== null) {
        stop = inSlices(countAll(tab), ([all, some]) => {
          whole.value = all;
          selection.value = some;
        });
      }
    };
    // Never at once: the view gets another document after the signal has changed.
    const timer = setTimeout(count, tab === shown ? countAfterMs : 0);
    shown = tab;
    return () => {
      clearTimeout(timer);
      stop();
    };
  });
  return { whole, selection };
}
