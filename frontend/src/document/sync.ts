import { BackendError, type Change, type EndingRun, type SyncRequest, type SyncResult } from "../backend";

/** The whole document as the page holds it. */
export interface Whole {
  readonly text: string;
  readonly version: number;
  readonly endings: readonly EndingRun[];
}

/** What a sync queue needs of its surroundings. */
export interface SyncConfig {
  readonly id: string;
  /** The number this page got when it attached. */
  readonly page: () => number;
  /** The version that the host's mirror has. */
  readonly version: number;
  readonly send: (request: SyncRequest) => Promise<SyncResult>;
  /** Posts the whole text, after a gap. */
  readonly post: (whole: Whole) => Promise<void>;
  readonly whole: () => Whole;
  /** The selection in UTF-16 units, sent along. */
  readonly selection: () => { readonly anchor: number; readonly head: number };
  /** Told after each acknowledgement whether the bytes differ from the file. */
  readonly onAcknowledged: (dirty: boolean) => void;
  /** Told when the host cannot be brought up to date; the queue stays. */
  readonly onFault: (error: BackendError) => void;
}

/** Brings the host's mirror of one document up to date. */
export interface Sync {
  /** Queues the change of one transaction. */
  readonly add: (change: Change) => void;
  /**
   * Resolves with the acknowledged version as soon as everything that was
   * queued until now has been acknowledged; rejects when that fails.
   */
  readonly flush: () => Promise<number>;
  /** The next message is the whole text, whatever is queued. */
  readonly resync: () => void;
}

/**
 * Makes the queue of one document. One call is in flight; what is typed
 * meanwhile waits and goes with the next one, so nothing needs ordering. Any
 * error or gap is answered by the whole text (ADR 4).
 */
export function createSync(config: SyncConfig): Sync {
  let acknowledged = config.version;
  let waiting: Change[] = [];
  let whole = false;
  let running: Promise<void> | null = null;

  async function step(): Promise<void> {
    if (whole) {
      await postWhole();
      return;
    }
    const batch = waiting;
    waiting = [];
    const { anchor, head } = config.selection();
    try {
      const result = await config.send({
        page: config.page(),
        id: config.id,
        fromVersion: acknowledged,
        changes: batch,
        anchor,
        head,
      });
      if (result.version !== acknowledged + batch.length) {
        throw new BackendError("unknown_base");
      }
      acknowledged = result.version;
      config.onAcknowledged(result.dirty);
    } catch (error) {
      // An older page has lost its say: its text must not go over the newer's.
      if (error instanceof BackendError && error.code === "busy") {
        throw error;
      }
      whole = true;
      await postWhole();
    }
  }

  async function postWhole(): Promise<void> {
    const now = config.whole();
    waiting = [];
    await config.post(now);
    whole = false;
    acknowledged = now.version;
    // The post says nothing of dirtiness; an empty sync asks.
    const { anchor, head } = config.selection();
    const result = await config.send({
      page: config.page(),
      id: config.id,
      fromVersion: acknowledged,
      changes: [],
      anchor,
      head,
    });
    config.onAcknowledged(result.dirty);
  }

  async function work(): Promise<void> {
    while (waiting.length > 0 || whole) {
      await step();
    }
  }

  function start(): Promise<void> {
    if (running === null) {
      running = work().finally(() => {
        running = null;
      });
      running.catch((error: unknown) => {
        whole = true;
        config.onFault(error instanceof BackendError ? error : new BackendError("internal"));
      });
    }
    return running;
  }

  return {
    add: (change) => {
      waiting.push(change);
      void start().catch(() => {});
    },
    flush: async () => {
      if (running !== null) {
        await running.catch(() => {});
      }
      if (waiting.length > 0 || whole) {
        await start();
      }
      return acknowledged;
    },
    resync: () => {
      whole = true;
    },
  };
}
