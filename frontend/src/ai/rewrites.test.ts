// @vitest-environment jsdom
import { undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { type Signal, signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createEvents, type SettingsState } from "../backend";
import { noParameters } from "../backend/blank";
import { createFakeBackend, type FakeBackend } from "../backend/fake";
import { createDocuments, type Documents } from "../document";
import { acceptTicked, editorExtensions, reviewOf } from "../editor";
import { type Agent, createAgent } from "./agent";
import { reviewLabels } from "./labels";
import { createProposals, type Proposals } from "./review-proposals";
import { createRewrites, type Rewrites } from "./rewrites";

const text = "It is very quick and really quite good.\n\nSecond paragraph.\n";

let backend: FakeBackend;
let documents: Documents;
let rewrites: Rewrites;
let proposals: Proposals;
let agent: Agent;
let receipts: number[];
let told: string[];
/** The server of the next run cuts what it is sent. */
let cuts: boolean;
let view: EditorView;
let settings: Signal<SettingsState | null>;

beforeEach(async () => {
  Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
  backend = createFakeBackend({
    files: { "/w/a.md": text, "/w/b.md": "Other.\n" },
    workspace: "/w",
    open: ["/w/a.md", "/w/b.md"],
    pieceMs: 1,
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
  settings = signal<SettingsState | null>(await backend.settings.Get());
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
        onReview: (event) => proposals.handleReview(event),
      }),
      EditorView.updateListener.of((update) => documents.handleUpdate(update)),
    ],
  });
  receipts = [];
  told = [];
  cuts = false;
  const events = createEvents({
    listen: (handler) =>
      backend.listen((raw) => {
        const message = raw as { readonly type: string; readonly payload: object };
        const cut = cuts && message.type === "run.succeeded";
        handler(cut ? { ...message, payload: { ...message.payload, clipped: true } } : raw);
      }),
    attach: async () => {
      await documents.attach();
      await agent.attach();
    },
    settleMs: 0,
  });
  agent = createAgent({ backend, events, settings, online: signal(true) });
  proposals = createProposals({
    backend,
    documents,
    agent,
    labels: reviewLabels,
    onReceipt: (accepted) => receipts.push(accepted),
    onRefused: () => {},
  });
  rewrites = createRewrites({
    backend,
    documents,
    agent,
    settings,
    language: () => "en",
    proposals,
    onClipped: () => void told.push("cut"),
    draw: () => () => {},
  });
  await events.open();
  const a = documents.tabs.value.find((t) => t.info.value.path === "/w/a.md");
  documents.select(a?.id ?? expect.unreachable("no tab"));
});

afterEach(() => {
  view.destroy();
  document.body.replaceChildren();
});

const until = <T>(what: () => T): Promise<T> => vi.waitFor(what, { timeout: 3000, interval: 2 });
const first = { anchor: 0, head: text.indexOf("\n") };

function ask() {
  view.dispatch({ selection: first });
  rewrites.ask();
  return rewrites.current.value ?? expect.unreachable("no box");
}

// covers: P4 P8
test("until the accept the version stays; the accept is one transaction and one undo", async () => {
  const rewrite = ask();
  const before = view.state.doc.toString();
  await rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
  expect(view.state.doc.toString()).toBe(before);
  expect(documents.current.value?.dirty.value).toBe(false);
  expect(rewrites.current.value).toBeNull();
  acceptTicked(view);
  const accepted = view.state.doc.toString();
  expect(accepted).not.toBe(before);
  expect(receipts).toHaveLength(1);
  undo(view);
  expect(view.state.doc.toString()).toBe(before);
  expect(reviewOf(view.state)?.hunks.every((h) => h.status === "clean")).toBe(true);
  await until(() =>
    expect(backend.calls.filter((c) => c === "Agent.Decide").length).toBeGreaterThanOrEqual(2),
  );
});

test("what is typed elsewhere while the answer comes moves the proposal", async () => {
  const rewrite = ask();
  const run = rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(["waiting", "streaming"]).toContain(rewrite.phase.value.status));
  view.dispatch({ changes: { from: 0, insert: ">> " }, userEvent: "input.type" });
  await run;
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
  expect(reviewOf(view.state)?.hunks.every((h) => h.status === "moved")).toBe(true);
  acceptTicked(view);
  expect(view.state.doc.toString().startsWith(">> ")).toBe(true);
});

test("an answer that comes while another document is in front waits for its own", async () => {
  const rewrite = ask();
  const run = rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(["waiting", "streaming"]).toContain(rewrite.phase.value.status));
  const own = documents.current.value?.id ?? "";
  const other = documents.tabs.value.find((t) => t.id !== own)?.id ?? "";
  documents.select(other);
  await run;
  await until(() => expect(rewrites.current.value).toBeNull());
  await until(() => expect(backend.calls).toContain("Agent.SubmitRewrite"));
  expect(reviewOf(view.state)).toBeNull();
  documents.select(own);
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
});

// covers: R7
test("stop says stopping and then stopped, and nothing was written", async () => {
  const rewrite = ask();
  const said: string[] = [];
  const off = rewrite.phase.subscribe((p) => said.push(p.status));
  const run = rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(["waiting", "streaming"]).toContain(rewrite.phase.value.status));
  rewrites.stop(rewrite);
  await run;
  await until(() => expect(rewrite.phase.value.status).toBe("stopped"));
  off();
  expect(said.slice(-2)).toEqual(["stopping", "stopped"]);
  expect(view.state.doc.toString()).toBe(text);
  rewrites.stop(rewrite);
  expect(rewrites.current.value).toBeNull();
});

test("the Runner's end is said in the box, and the text stays", async () => {
  const rewrite = ask();
  void rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(["waiting", "streaming"]).toContain(rewrite.phase.value.status));
  backend.emit("runner.changed", { status: "stopped", code: "runner_gone", pid: 0, restarts: 0 });
  await until(() =>
    expect(rewrite.phase.value).toMatchObject({ status: "failed", error: { code: "runner_gone" } }),
  );
  expect(view.state.doc.toString()).toBe(text);
  backend.emit("runner.changed", { status: "ready", code: "", pid: 1, restarts: 1 });
  await until(() => expect(agent.off.value).toBeNull());
  await rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
});

// covers: R9
test("a server that cut what it was sent is told of", async () => {
  const rewrite = ask();
  cuts = true;
  await rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
  expect(told).toEqual(["cut"]);
});

test("without a provider the box says so at once", async () => {
  settings.value = await backend.settings.Update({
    ...(await backend.settings.Get()).settings,
    provider: "",
  });
  const rewrite = ask();
  expect(rewrite.phase.value).toMatchObject({ status: "failed", error: { code: "no_provider" } });
  expect(backend.calls).not.toContain("Agent.SubmitRewrite");
});

test("regenerate asks again for the passage as it is now", async () => {
  const rewrite = ask();
  await rewrites.run(rewrite, { preset: "shorten", instruction: "" });
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
  const before = rewrites.again.value?.proposal.id;
  rewrites.regenerate("keep it warm");
  expect(reviewOf(view.state)).toBeNull();
  await until(() => expect(reviewOf(view.state)).not.toBeNull());
  expect(rewrites.again.value?.proposal.id).not.toBe(before);
  expect(rewrites.again.value?.wish?.instruction).toBe("keep it warm");
  expect(proposals.front.value).toHaveLength(1);
});
