import { type Backend, BackendError, type HunkDecision } from "../backend";

/** Tells the host what was decided, in order, each once. */
export interface Decisions {
  readonly add: (proposalId: string, hunks: readonly HunkDecision[], appliedVersion: number) => void;
  /** Tries again what could not be told, as when the Runner is back. */
  readonly retry: () => void;
  /** How many wait. */
  readonly waiting: () => number;
}

/** Whether a decision may be taken later: the Runner will be back; anything else will not change by asking again. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof BackendError)) {
    return false;
  }
  switch (error.code) {
    case "runner_gone":
    case "store_failed":
    case "disk_full":
    case "busy":
    case "timeout":
    case "interrupted":
    case "cancelled":
      return true;
    default:
      return false;
  }
}

/**
 * Makes the queue of decisions. A decision is a fact of the document at once;
 * telling the Runner may have to wait until it lives. Each has its command id,
 * so that telling it twice is telling it once (R4).
 */
export function createDecisions(
  backend: Pick<Backend, "agent">,
  newId: () => string = () => crypto.randomUUID(),
): Decisions {
  const queue: {
    commandId: string;
    proposalId: string;
    hunks: readonly HunkDecision[];
    appliedVersion: number;
  }[] = [];
  let running = false;

  async function work(): Promise<void> {
    if (running) {
      return;
    }
    running = true;
    try {
      for (let first = queue[0]; first !== undefined; first = queue[0]) {
        try {
          await backend.agent.Decide(first);
        } catch (error) {
          if (mayPass(error)) {
            return;
          }
        }
        queue.shift();
      }
    } finally {
      running = false;
    }
  }

  return {
    add: (proposalId, hunks, appliedVersion) => {
      queue.push({ commandId: newId(), proposalId, hunks, appliedVersion });
      void work();
    },
    retry: () => void work(),
    waiting: () => queue.length,
  };
}
