// @vitest-environment jsdom
import { EditorView } from "@codemirror/view";
import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createEvents, type SettingsState } from "../backend";
import { noParameters } from "../backend/blank";
import { createFakeBackend, type FakeBackend } from "../backend/fake";
import { createDocuments, type Documents } from "../document";
import { editorExtensions } from "../editor";
import { type Agent, createAgent } from "./agent";
import { type Conversations, createConversations } from "./conversations";
import { activeRun, waitingCalls } from "./timeline";

const text = "The purser counts the passengers twice.\n";

let backend: FakeBackend;
let documents: Documents;
let agent: Agent;
let conversations: Conversations;
let view: EditorView;
let attach: () => Promise<void>;
/** The words that were shown, each time that a frame was drawn. */
let frames: (() => void)[];
let composing: boolean;
let asked: string[];
let made: number;

async function start(pieceMs: number): Promise<void> {
  Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
  backend = createFakeBackend({
    files: { "/w/a.md": text, "/w/b.md": "Other passengers.\n" },
    workspace: "/w",
    open: ["/w/a.md"],
    pieceMs,
    providers: [
      {
        id: "mock",
        name: "Mock",
        kind: "mock",
        profile: "",
        baseUrl: "",
        model: "mock-1",
        contextTokens: 32_768,
        ...noParameters,
      },
    ],
    settings: { provider: "mock" },
  });
  const settings = signal<SettingsState | null>(await backend.settings.Get());
  view = new EditorView({ parent: document.body });
  documents = createDocuments({
    backend,
    view,
    extensions: (info, version, endings) => [
      editorExtensions({
        platform: "linux",
        lang: "en",
        label: "Text",
        length: info.length,
        version,
        endings,
        onReview: () => {},
      }),
      EditorView.updateListener.of((update) => documents.handleUpdate(update)),
    ],
  });
  attach = async () => {
    await documents.attach();
    await agent.attach();
    await conversations?.attach();
  };
  const events = createEvents({ listen: backend.listen, attach: () => attach(), settleMs: 0 });
  agent = createAgent({ backend, events, settings, online: signal(true) });
  conversations = createConversations({
    backend,
    events,
    agent,
    documents,
    folder: signal("/w"),
    language: () => "en",
    nextFrame: (call) => void frames.push(call),
    isComposing: () => composing,
    onAsking: (id) => asked.push(`asking ${id}`),
    onRefused: (id) => asked.push(`refused ${id}`),
    newId: () => `id ${made++}`,
  });
  await events.open();
}

beforeEach(() => {
  frames = [];
  composing = false;
  asked = [];
  made = 0;
});

afterEach(() => {
  view.destroy();
  document.body.replaceChildren();
});

const until = <T>(what: () => T): Promise<T> => vi.waitFor(what, { timeout: 5000, interval: 2 });
const shown = () => conversations.current.value.timeline.value;
const types = () => shown().items.map((item) => item.type);
const idle = () => expect(activeRun(shown())).toBeNull();

function drawFrames(): void {
  for (const frame of frames.splice(0)) {
    frame();
  }
}

async function say(words: string): Promise<void> {
  conversations.current.value.draft.value = words;
  await conversations.send();
}

// covers: R10 U2
test("a new session is shown as it happens, whichever comes first, the call's answer or its events", async () => {
  await start(1);
  await say("Hello");
  expect(conversations.current.value.draft.value).toBe("");
  expect(conversations.current.value.id.value).toBe("s1");
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  const early = shown().items;

  conversations.startNew();
  const submit = backend.agent.SubmitMessage;
  // The call answers long after its events have come.
  vi.spyOn(backend.agent, "SubmitMessage").mockImplementation(async (request) => {
    const ref = await submit(request);
    await new Promise((done) => setTimeout(done, 300));
    return ref;
  });
  await say("Hello");
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  expect(shown().items.map((item) => item.type)).toEqual(early.map((item) => item.type));
  expect(conversations.rows.value.map((row) => row.session.title)).toEqual(["Hello", "Hello"]);
});

test("the message goes with the front document as it is, everything typed before it", async () => {
  await start(1);
  view.dispatch({ changes: { from: 0, insert: "Now. " }, selection: { anchor: 2, head: 4 } });
  const submit = vi.spyOn(backend.agent, "SubmitMessage");
  await say("Hello");
  expect(submit.mock.calls[0]?.[0].place).toEqual({ documentId: "d1", version: 2, from: 2, to: 4 });
  expect(backend.textOf("d1")).toBe(`Now. ${text}`);
  expect(asked).toEqual(["asking id 0"]);
});

test("what could not be sent stays, and is sent by a second try", async () => {
  await start(1);
  backend.refuse("Agent.SubmitMessage", "busy");
  await say("Hello");
  const { draft, problem } = conversations.current.value;
  expect(draft.value).toBe("Hello");
  expect(problem.value?.error.code).toBe("busy");
  expect(asked).toEqual(["asking id 0", "refused id 0"]);
  problem.value?.again();
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  expect(problem.value).toBeNull();
});

// covers: U2
test("words that stream are shown once a frame, and not while somebody composes", async () => {
  await start(2);
  await say("Hello");
  await until(() => expect(frames.length).toBe(1));
  expect(conversations.current.value.stream.value?.text ?? "").toBe("");
  drawFrames();
  const first = conversations.current.value.stream.value?.text ?? "";
  expect(first).not.toBe("");
  composing = true;
  await until(() => expect(frames.length).toBe(1));
  drawFrames();
  expect(conversations.current.value.stream.value?.text).toBe(first);
  expect(frames.length).toBe(1);
  composing = false;
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  // Facts wait for no frame.
  expect(conversations.current.value.stream.value).toBeNull();
});

// covers: T5
test("an answer is bound to what was shown, and one that comes late is refused", async () => {
  await start(1);
  await say('/tool createDocument {"dir":"","name":"New.md","text":"x"}');
  const item = await until(() => waitingCalls(shown())[0] ?? expect.unreachable("no question"));
  expect(conversations.waiting.value).toBe(1);
  const approval = item.approval ?? expect.unreachable("no approval");
  await conversations.answer({ ...approval, inputDigest: "of something else" }, "allow_once");
  expect(conversations.current.value.answers.value.get(approval.id)).toMatchObject({
    code: "stale_approval",
  });
  expect(backend.disk.has("/w/New.md")).toBe(false);
  await conversations.answer(approval, "allow_once");
  await until(idle);
  expect(backend.disk.get("/w/New.md")).toBe("x");
  expect(conversations.waiting.value).toBe(0);
});

// covers: R7 R8
test("a further message waits, can be taken back, and a stop is over when that is said", async () => {
  await start(1);
  await say('/tool createDocument {"dir":"","name":"New.md","text":"x"}');
  await until(() => expect(waitingCalls(shown())).toHaveLength(1));
  await say("And then?");
  expect(shown().queue.map((item) => item.text)).toEqual(["And then?"]);
  await conversations.stop(shown().queue[0]?.runId ?? "");
  await until(() => expect(shown().queue).toEqual([]));
  const run = activeRun(shown()) ?? expect.unreachable("no run");
  const stop = conversations.stop(run.run.id);
  expect(conversations.current.value.stopping.value.has(run.run.id)).toBe(true);
  await stop;
  await until(idle);
  expect(shown().items.at(-1)).toMatchObject({ type: "end", state: "cancelled" });
  expect(conversations.current.value.stopping.value.size).toBe(0);
  await conversations.continueRun(run.run.id);
  await until(() => expect(types()).toContain("continued"));
});

// covers: R5 R6
test("what was missed is read again, and a call nobody saw end is settled by the person", async () => {
  await start(5);
  await say('/tool createDocument {"dir":"","name":"New.md","text":"x"}');
  const item = await until(() => waitingCalls(shown())[0] ?? expect.unreachable("no question"));
  const decided = conversations.answer(item.approval ?? expect.unreachable("no approval"), "allow_once");
  await until(() =>
    expect(shown().items.some((i) => i.type === "call" && i.call.state === "running")).toBe(true),
  );
  backend.setRunner({ status: "stopped", code: "runner_gone" });
  await decided;
  await until(() => expect(shown().items.at(-1)).toMatchObject({ type: "end", state: "interrupted" }));
  const before = shown();
  await attach();
  expect(shown().items).toEqual(before.items);
  backend.setRunner({ status: "ready", code: "" });
  await conversations.reconcile(item.call.id, "absent");
  await until(() =>
    expect(shown().items.find((i) => i.key === item.key)).toMatchObject({ verdict: { verdict: "absent" } }),
  );
});

test("a session is read again page by page when it is opened", async () => {
  await start(1);
  await say("Hello");
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  const whole = shown();
  const read = backend.agent.SessionEvents;
  vi.spyOn(backend.agent, "SessionEvents").mockImplementation(async (id, after) => {
    const { events } = await read(id, after);
    return { events: events.slice(0, 2), more: events.length > 2 };
  });
  conversations = createConversations({
    backend,
    events: { on: () => () => {} },
    agent,
    documents,
    folder: signal("/w"),
    language: () => "en",
  });
  conversations.open("s1");
  expect(conversations.current.value.loading.value).toBe("loading");
  await until(() => expect(conversations.current.value.loading.value).toBe(""));
  expect(shown().items).toMatchObject(whole.items.map(({ key, type }) => ({ key, type })));
});

// covers: R11
test("sessions are renamed, put away and deleted", async () => {
  await start(1);
  await say("Hello");
  await until(() => expect(types()).toEqual(["asked", "answer"]));
  await conversations.rename("s1", "Cargo");
  await until(() => expect(conversations.rows.value[0]?.session.title).toBe("Cargo"));
  await conversations.archive("s1", true);
  await until(() => expect(conversations.archived.value).toHaveLength(1));
  expect(conversations.rows.value).toEqual([]);
  // What was put away before this page was there is found as well.
  await attach();
  expect(agent.view.value.sessions.size).toBe(0);
  expect(conversations.archived.value).toMatchObject([{ session: { id: "s1", title: "Cargo" }, here: true }]);
  await conversations.archive("s1", false);
  await until(() => expect(conversations.rows.value).toHaveLength(1));
  expect(conversations.archived.value).toEqual([]);
  await conversations.archive("s1", true);
  await attach();
  await until(() => expect(conversations.archived.value).toHaveLength(1));
  await conversations.remove("s1");
  await until(() => expect(conversations.archived.value).toEqual([]));
  expect(conversations.current.value.id.value).toBe("");
});
