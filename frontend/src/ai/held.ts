/**
 * Messages of runs that are not known yet. The answer of the call that starts
 * a run and the first events of it come on two ways, so either can be first
 * (R10): an event of an unknown run waits until the call that makes it known
 * has answered, and is dropped when no call is under way.
 */
export interface Held<M extends { readonly runId: string }> {
  /** A call that may make a run known has started. */
  readonly expect: () => void;
  /** The call has answered: `runId` is known now; null when it failed. Returns what waited for it. */
  readonly settle: (runId: string | null) => readonly M[];
  /** Takes a message; true when its run is known and it is to be handled now. */
  readonly take: (message: M) => boolean;
  /** The run is done with; later messages of it are dropped. */
  readonly forget: (runId: string) => void;
}

/** Makes an empty hold. */
export function createHeld<M extends { readonly runId: string }>(): Held<M> {
  const known = new Set<string>();
  let expected = 0;
  let waiting: M[] = [];
  return {
    expect: () => {
      expected += 1;
    },
    settle: (runId) => {
      expected -= 1;
      if (runId !== null) {
        known.add(runId);
      }
      const ready = waiting.filter((m) => m.runId === runId);
      waiting = expected > 0 ? waiting.filter((m) => m.runId !== runId) : [];
      return ready;
    },
    take: (message) => {
      if (known.has(message.runId)) {
        return true;
      }
      if (expected > 0) {
        waiting.push(message);
      }
      return false;
    },
    forget: (runId) => {
      known.delete(runId);
    },
  };
}
