import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createEvents, type Events, type EventsConfig, type Handlers } from "./events";

function message(n: number, type = "menu.invoked"): object {
  return { n, type, seq: 0, runId: "", sessionId: "", atMs: 0, payload: { command: `c${n}` } };
}

interface Rig {
  readonly events: Events;
  readonly send: (raw: unknown) => void;
  readonly got: string[];
  readonly attached: () => number;
  readonly errors: unknown[];
  readonly listening: () => boolean;
}

function rig(config: Partial<EventsConfig> = {}): Rig {
  let send: (raw: unknown) => void = () => expect.unreachable("not listening");
  let listening = false;
  let attached = 0;
  const got: string[] = [];
  const errors: unknown[] = [];
  const events = createEvents({
    listen: (handler) => {
      send = handler;
      listening = true;
      return () => {
        listening = false;
      };
    },
    attach: async () => {
      attached += 1;
    },
    onError: (error) => errors.push(error),
    ...config,
  });
  events.on("menu.invoked", (m) => got.push(m.payload.command));
  return {
    events,
    send: (raw) => send(raw),
    got,
    attached: () => attached,
    errors,
    listening: () => listening,
  };
}

// covers: R10 (the page's part: order, gap, attach anew)
describe("createEvents", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  async function opened(config: Partial<EventsConfig> = {}, first = 1): Promise<Rig> {
    const r = rig(config);
    await r.events.open();
    r.send(message(first));
    await vi.advanceTimersByTimeAsync(50);
    return r;
  }

  it("delivers messages that come in order", async () => {
    const r = await opened();
    r.send(message(2));
    r.send(message(3));
    expect(r.got).toEqual(["c1", "c2", "c3"]);
  });

  it("delivers messages that come out of order in order", async () => {
    const r = await opened();
    r.send(message(4));
    r.send(message(3));
    expect(r.got).toEqual(["c1"]);
    r.send(message(2));
    expect(r.got).toEqual(["c1", "c2", "c3", "c4"]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(r.attached()).toBe(1);
  });

  it("delivers each once", async () => {
    const r = await opened();
    r.send(message(2));
    r.send(message(2));
    r.send(message(1));
    expect(r.got).toEqual(["c1", "c2"]);
  });

  it("starts at the lowest number among the first, for a page that loads later", async () => {
    const r = rig();
    await r.events.open();
    r.send(message(71));
    r.send(message(70));
    expect(r.got).toEqual([]);
    await vi.advanceTimersByTimeAsync(50);
    r.send(message(72));
    expect(r.got).toEqual(["c70", "c71", "c72"]);
  });

  it("attaches again when a message stays missing for a second, and goes on", async () => {
    const r = await opened();
    r.send(message(3));
    r.send(message(4));
    await vi.advanceTimersByTimeAsync(999);
    expect(r.attached()).toBe(1);
    expect(r.got).toEqual(["c1"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(r.attached()).toBe(2);
    expect(r.got).toEqual(["c1", "c3", "c4"]);
    r.send(message(2));
    r.send(message(5));
    expect(r.got).toEqual(["c1", "c3", "c4", "c5"]);
  });

  it("gives each missing message its own second", async () => {
    const r = await opened();
    r.send(message(3));
    r.send(message(5));
    await vi.advanceTimersByTimeAsync(900);
    r.send(message(2));
    expect(r.got).toEqual(["c1", "c2", "c3"]);
    await vi.advanceTimersByTimeAsync(900);
    expect(r.attached()).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(r.attached()).toBe(2);
    expect(r.got).toEqual(["c1", "c2", "c3", "c5"]);
  });

  it("holds what comes while it attaches", async () => {
    let done: () => void = () => {};
    const r = rig({ attach: () => new Promise((resolve) => (done = resolve)) });
    const open = r.events.open();
    r.send(message(8));
    r.send(message(7));
    await vi.advanceTimersByTimeAsync(5000);
    expect(r.got).toEqual([]);
    done();
    await open;
    expect(r.got).toEqual(["c7", "c8"]);
  });

  it("holds what is left when a handler attaches again", async () => {
    const r = await opened();
    r.events.on("page.attached", () => void r.events.open());
    r.send(message(4));
    r.send(message(3));
    r.send({ ...message(2, "page.attached"), payload: { page: 2 } });
    expect(r.got).toEqual(["c1"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(r.got).toEqual(["c1", "c3", "c4"]);
  });

  it("delivers although the attach failed, and says so", async () => {
    const r = rig({ attach: () => Promise.reject(new Error("no")) });
    await expect(r.events.open()).rejects.toThrow("no");
    r.send(message(1));
    await vi.advanceTimersByTimeAsync(50);
    expect(r.got).toEqual(["c1"]);
    r.send(message(3));
    await vi.advanceTimersByTimeAsync(1000);
    expect(r.got).toEqual(["c1", "c3"]);
    expect(r.errors).toHaveLength(1);
  });

  it("goes on after a handler that throws", async () => {
    const r = await opened();
    r.events.on("menu.invoked", () => {
      throw new Error("mine");
    });
    const after: number[] = [];
    r.events.on("menu.invoked", (m) => after.push(m.n));
    r.send(message(2));
    r.send(message(3));
    expect(after).toEqual([2, 3]);
    expect(r.errors).toHaveLength(2);
  });

  it("counts a message it cannot read and reports one without a number", async () => {
    const r = await opened();
    r.send({ n: 2, type: 5 });
    r.send(message(3, "of.a_newer_host"));
    r.send(message(4));
    r.send("nonsense");
    expect(r.got).toEqual(["c1", "c4"]);
    expect(r.errors).toHaveLength(1);
  });

  it("fans out by type, to all of one type, until taken off", async () => {
    const r = await opened();
    const pages: number[] = [];
    const off = r.events.on("page.attached", (m) => pages.push(m.payload.page));
    r.send({ ...message(2, "page.attached"), payload: { page: 4 } });
    off();
    r.send({ ...message(3, "page.attached"), payload: { page: 5 } });
    expect(pages).toEqual([4]);
    expect(r.got).toEqual(["c1"]);
  });

  it("takes a table with a handler for every type", async () => {
    const r = await opened();
    const seen: string[] = [];
    const handlers = new Proxy({} as Handlers, {
      ownKeys: () => ["menu.invoked", "preview"],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: (_, type) => () => seen.push(String(type)),
    });
    const off = r.events.onEach(handlers);
    r.send(message(2));
    r.send(message(3, "preview"));
    off();
    r.send(message(4));
    expect(seen).toEqual(["menu.invoked", "preview"]);
  });

  it("stops", async () => {
    const r = await opened();
    r.send(message(3));
    r.events.close();
    await vi.advanceTimersByTimeAsync(5000);
    expect(r.listening()).toBe(false);
    expect(r.attached()).toBe(1);
    expect(r.got).toEqual(["c1"]);
  });
});
