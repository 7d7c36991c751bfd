import { hasFields } from "./fault";
import type { BackendEvent, Envelope, EventType } from "./gen";

/** One message of the event channel: the envelope, its type and its payload. */
export type Message<T extends EventType = EventType> = Envelope & Extract<BackendEvent, { readonly type: T }>;

/** A handler for every event type: a missing one is a compile error. */
export type Handlers = { readonly [T in EventType]: (message: Message<T>) => void };

/** What the page listens to. */
export interface Events {
  /** Calls `handler` for each message of one type; the result takes it off. */
  readonly on: <T extends EventType>(type: T, handler: (message: Message<T>) => void) => () => void;
  /** Calls one of `handlers` for each message; the result takes them off. */
  readonly onEach: (handlers: Handlers) => () => void;
  /**
   * Listens, attaches, and from then on delivers in order. Rejects with what
   * the first attach rejected with; messages are delivered all the same.
   */
  readonly open: () => Promise<void>;
  readonly close: () => void;
}

/** What a stream of events needs. */
export interface EventsConfig {
  /** Starts listening to the raw channel; the result stops. */
  readonly listen: (handler: (raw: unknown) => void) => () => void;
  /**
   * Fetches the state anew, at the start and after a gap. Delivery waits for
   * it. What is delivered then may repeat what the state already holds:
   * committed events carry `seq` for that reason.
   */
  readonly attach: () => Promise<void>;
  /** How long a missing message is waited for, in ms; 1000 by default. */
  readonly gapMs?: number;
  /**
   * How long the first messages are collected, in ms, to find the lowest
   * number among them; 50 by default. Counting starts there, since a page that
   * loads later joins in the middle.
   */
  readonly settleMs?: number;
  /** Told what a handler threw and what could not be read. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Makes the one stream of events of a page. The host numbers its messages;
 * they are delivered in that order, each once, whatever the order they come
 * in. When one stays missing, the page attaches again and goes on.
 */
export function createEvents(config: EventsConfig): Events {
  const { listen, attach, gapMs = 1000, settleMs = 50, onError = () => {} } = config;
  const handlers = new Map<string, Set<(message: Message) => void>>();
  /** Messages that wait, by number. */
  const held = new Map<number, Message | null>();
  /** The number to deliver next; 0 before it is known. */
  let next = 0;
  let attaching = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: (() => void) | undefined;

  function receive(raw: unknown): void {
    const n = numberOf(raw);
    if (n === 0) {
      onError(new Error("event without a number"));
      return;
    }
    if (n < next || held.has(n)) {
      return;
    }
    held.set(n, decodeMessage(raw));
    drain();
  }

  function drain(): void {
    if (attaching) {
      return;
    }
    if (next === 0) {
      if (held.size > 0 && timer === undefined) {
        timer = setTimeout(startCounting, settleMs);
      }
      return;
    }
    const before = next;
    // A handler may close the stream or make it attach: look again each time.
    while (!attaching && held.has(next)) {
      const message = held.get(next);
      held.delete(next);
      next += 1;
      if (message) {
        deliver(message);
      }
    }
    if (timer !== undefined && (next !== before || held.size === 0)) {
      clearTimeout(timer);
      timer = undefined;
    }
    if (held.size > 0 && timer === undefined && !attaching) {
      timer = setTimeout(reattach, gapMs);
    }
  }

  function startCounting(): void {
    timer = undefined;
    next = Math.min(...held.keys());
    drain();
  }

  function reattach(): void {
    timer = undefined;
    void attachThenDrain().catch(onError);
  }

  async function attachThenDrain(): Promise<void> {
    attaching = true;
    try {
      await attach();
    } finally {
      attaching = false;
      if (held.size > 0) {
        next = Math.min(...held.keys());
      }
      drain();
    }
  }

  function deliver(message: Message): void {
    for (const handler of [...(handlers.get(message.type) ?? [])]) {
      try {
        handler(message);
      } catch (error) {
        onError(error);
      }
    }
  }

  function add(type: string, handler: (message: Message) => void): () => void {
    const set = handlers.get(type) ?? new Set();
    handlers.set(type, set);
    set.add(handler);
    return () => set.delete(handler);
  }

  return {
    on: (type, handler) => add(type, narrow(handler)),
    onEach: (all) => {
      const offs = Object.entries(all).map(([type, handler]) => add(type, narrow(handler)));
      return () => {
        for (const off of offs) {
          off();
        }
      };
    },
    open: () => {
      stop ??= listen(receive);
      return attachThenDrain();
    },
    close: () => {
      stop?.();
      stop = undefined;
      clearTimeout(timer);
      timer = undefined;
      held.clear();
      handlers.clear();
    },
  };
}

/** A handler is only ever called with messages of the type it was added for. */
function narrow(handler: (message: never) => void): (message: Message) => void {
  return handler as (message: Message) => void;
}

function numberOf(raw: unknown): number {
  const n = hasFields<"n">(raw) ? raw.n : undefined;
  return typeof n === "number" && Number.isSafeInteger(n) && n > 0 ? n : 0;
}

/** Returns null for a message that cannot be read: its number still counts. An event that is read again is one too. */
export function decodeMessage(raw: unknown): Message | null {
  if (!hasFields<"type" | "payload">(raw) || typeof raw.type !== "string" || !hasFields(raw.payload)) {
    return null;
  }
  // The decoding point of events: the host is the same program.
  return raw as unknown as Message;
}
