import type { EventRecord, EventType, Preview } from "./gen";

/** What an event belongs to. `id` is the run's; "" for none. */
export interface EventOwner {
  readonly id: string;
  readonly sessionId: string;
}

/** Committed events held in memory, in the order of their seq. */
export interface FakeJournal {
  /** Commits an event and then tells of it. */
  readonly commit: (type: EventType, of: EventOwner, payload: object) => void;
  /** Tells of streamed words; nothing of it is kept. */
  readonly preview: (of: EventOwner, preview: Preview) => void;
  readonly cursor: () => number;
  readonly events: (sessionId: string) => readonly EventRecord[];
  /** Deletes the events of a session. */
  readonly forget: (sessionId: string) => void;
}

interface Config {
  readonly now: () => number;
  readonly emit: (
    type: EventType,
    payload: object,
    of?: { runId: string; sessionId: string; seq: number },
  ) => void;
}

/** Makes an empty journal. */
export function createFakeJournal(config: Config): FakeJournal {
  let events: EventRecord[] = [];
  let seq = 0;
  return {
    commit: (type, { id, sessionId }, payload) => {
      seq += 1;
      events.push({ n: 0, type, seq, runId: id, sessionId, atMs: config.now(), ref: false, payload });
      config.emit(type, payload, { runId: id, sessionId, seq });
    },
    // As the host sends them: with nothing but their run.
    preview: ({ id }, preview) => config.emit("preview", preview, { runId: id, sessionId: "", seq: 0 }),
    cursor: () => seq,
    events: (sessionId) => events.filter((event) => event.sessionId === sessionId),
    forget: (sessionId) => {
      events = events.filter((event) => event.sessionId !== sessionId);
    },
  };
}
