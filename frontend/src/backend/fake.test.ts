import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { noParameters } from "./blank";
import { createEvents, type Message } from "./events";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "./fake";
import type { Document, Provider, RewriteRequest, SaveRequest } from "./gen";

const files = { "/w/a.md": "one\r\ntwo\nthree", "/w/sub/b.md": "b\n", "/w/node_modules/x.md": "" };
const deepseek: Provider = {
  id: "deepseek",
  name: "DeepSeek",
  kind: "openai_chat",
  profile: "deepseek",
  baseUrl: "https://api.deepseek.com",
  model: "deepseek-chat",
  contextTokens: 0,
  ...noParameters,
};
const mock: Provider = {
  ...deepseek,
  id: "mock",
  name: "Mock",
  kind: "mock",
  profile: "",
  baseUrl: "",
  model: "mock-1",
  contextTokens: 32_768,
};

async function saveRequest(backend: FakeBackend, page: number, doc: Document): Promise<SaveRequest> {
  const { text, version } = await backend.getText(doc.textUrl);
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const digest = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return { page, id: doc.id, version, length: text.length, digest, overwrite: false, diskHash: "" };
}

describe("fake documents", () => {
  async function opened(
    options: FakeOptions = {},
  ): Promise<{ backend: FakeBackend; page: number; doc: Document }> {
    const backend = createFakeBackend({ files, workspace: "/w", ...options });
    const { page } = await backend.documents.Attach();
    return { backend, page, doc: await backend.documents.Open("/w/a.md") };
  }

  it("keeps line endings through a change", async () => {
    const { backend, page, doc } = await opened();
    expect(doc.endings).toEqual([
      { ending: "crlf", count: 1 },
      { ending: "lf", count: 1 },
    ]);
    const result = await backend.documents.Sync({
      page,
      id: doc.id,
      fromVersion: 1,
      changes: [
        { edits: [{ from: 3, to: 3, insert: "\n1½" }], endings: [{ ending: "crlf", count: 1 }] },
        { edits: [{ from: 0, to: 3, insert: "One" }], endings: [] },
      ],
      anchor: 6,
      head: 6,
    });
    expect(result).toEqual({ version: 3, dirty: true });
    await backend.documents.Save(await saveRequest(backend, page, doc));
    expect(backend.disk.get("/w/a.md")).toBe("One\r\n1½\r\ntwo\nthree");
  });

  it("refuses a gap, an old page, a mirror that differs, and a file that changed", async () => {
    const { backend, page, doc } = await opened();
    const sync = { page, id: doc.id, fromVersion: 2, changes: [], anchor: 0, head: 0 };
    await expect(backend.documents.Sync(sync)).rejects.toMatchObject({ code: "unknown_base" });
    await expect(backend.documents.Sync({ ...sync, page: page - 1 })).rejects.toMatchObject({ code: "busy" });
    const request = await saveRequest(backend, page, doc);
    await expect(backend.documents.Save({ ...request, digest: "0" })).rejects.toMatchObject({
      code: "unknown_base",
    });
    backend.disk.set("/w/a.md", "theirs");
    await expect(backend.documents.Save(request)).rejects.toMatchObject({ code: "changed_on_disk" });
    expect(backend.disk.get("/w/a.md")).toBe("theirs");
    await backend.documents.Save({ ...request, overwrite: true });
    expect(backend.disk.get("/w/a.md")).toBe(files["/w/a.md"]);
  });

  it("lists what was opened and nothing else, folders first", async () => {
    const { backend } = await opened();
    const listing = await backend.workspace.List("/w");
    expect(listing.entries.map((e) => [e.name, e.folder, e.ignored])).toEqual([
      ["node_modules", true, true],
      ["sub", true, false],
      ["a.md", false, false],
    ]);
    await expect(backend.workspace.List("/etc")).rejects.toMatchObject({ code: "not_granted" });
  });

  it("makes an older page's calls fail and tells it so", async () => {
    const { backend, page, doc } = await opened();
    const pages: unknown[] = [];
    backend.listen((raw) => pages.push(raw));
    const state = await backend.documents.Attach();
    expect(state.page).toBe(page + 1);
    expect(pages).toMatchObject([{ type: "page.attached", payload: { page: page + 1 } }]);
    await expect(backend.documents.Close(page, doc.id, false)).rejects.toMatchObject({ code: "busy" });
  });

  it("restores a draft as unsaved text", async () => {
    const draft = {
      id: "x",
      path: "/w/a.md",
      name: "a.md",
      savedAtMs: 5,
      length: 4,
      preview: "",
      conflict: false,
    };
    const { backend, page } = await opened({ drafts: [{ ...draft, text: "mine" }] });
    const doc = await backend.documents.RestoreDraft(page, "x");
    expect(doc).toMatchObject({ dirty: true, restoredAtMs: 5 });
    expect(backend.textOf(doc.id)).toBe("mine");
    expect((await backend.documents.Attach()).drafts).toEqual([]);
  });

  it("closes unsaved text only when it is to be thrown away", async () => {
    const { backend, page, doc } = await opened();
    await backend.postText(doc.textUrl, { page, version: 2, text: "x", endings: [] });
    await expect(backend.documents.Close(page, doc.id, false)).rejects.toMatchObject({ code: "busy" });
    await backend.documents.Close(page, doc.id, true);
    expect((await backend.documents.Attach()).documents).toEqual([]);
  });

  it("quits", async () => {
    const { backend, page } = await opened();
    await expect(backend.documents.Quit(page + 1, false)).rejects.toMatchObject({ code: "busy" });
    expect(backend.hasQuit()).toBe(false);
    await backend.documents.Quit(page, false);
    expect(backend.hasQuit()).toBe(true);
  });
});

// covers: K3 (the fake's part is what the settings tests run against)
describe("fake settings", () => {
  it("takes a key and never gives it back", async () => {
    const backend = createFakeBackend({ providers: [deepseek] });
    const before = await backend.settings.Get();
    expect(before.providers[0]).toMatchObject({ needsKey: true, key: { place: "none" } });
    const state = await backend.settings.SetKey({
      providerId: "deepseek",
      key: "sk-TESTKEY-1",
      place: "keyring",
    });
    expect(state.providers[0]?.key).toMatchObject({ place: "keyring", keyring: "Secret Service" });
    expect(JSON.stringify([state, await backend.settings.Get()])).not.toContain("sk-TESTKEY-1");
    expect(backend.keyOf("deepseek")).toBe("sk-TESTKEY-1");
  });

  it.each([
    ["missing", "keyring_missing"],
    ["locked", "keyring_locked"],
    ["silent", "keyring_timeout"],
  ] as const)("stores nothing with the keyring %s", async (keyring, code) => {
    const backend = createFakeBackend({ providers: [deepseek], keyring });
    const request = { providerId: "deepseek", key: "sk-1", place: "keyring" };
    await expect(backend.settings.SetKey(request)).rejects.toMatchObject({ code });
    expect(backend.keyOf("deepseek")).toBeUndefined();
    const state = await backend.settings.SetKey({ ...request, place: "memory" });
    expect(state.providers[0]?.key.place).toBe("memory");
  });

  it("shows the address a request goes to, or what is wrong with it", async () => {
    const plain = { ...deepseek, id: "plain", baseUrl: "http://far.example" };
    const local = { ...deepseek, id: "local", baseUrl: "http://localhost:11434/v1/" };
    const backend = createFakeBackend({ providers: [deepseek, plain, local] });
    const { providers } = await backend.settings.Get();
    expect(providers.map((p) => [p.url, p.problem, p.needsKey])).toEqual([
      ["https://api.deepseek.com/chat/completions", "", true],
      ["", "invalid_input", true],
      ["http://localhost:11434/v1/chat/completions", "", false],
    ]);
  });

  it("refuses the next call when told to", async () => {
    const backend = createFakeBackend({ providers: [mock] });
    backend.refuse("Settings.TestProvider", "rate_limited", "429", 42_000);
    await expect(backend.settings.TestProvider("mock")).rejects.toMatchObject({ retryAfterMs: 42_000 });
    await expect(backend.settings.TestProvider("mock")).resolves.toMatchObject({
      models: [{ id: "mock-1" }],
    });
  });
});

describe("fake agent", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  async function submitted(change: Partial<RewriteRequest> = {}): Promise<{
    backend: FakeBackend;
    messages: Message[];
    request: RewriteRequest;
  }> {
    const backend = createFakeBackend({
      files: { "/w/a.md": "The last boat leaves at dawn.\n" },
      providers: [mock],
    });
    const messages: Message[] = [];
    const events = createEvents({ listen: backend.listen, attach: async () => {}, settleMs: 0 });
    const keep = (m: Message): void => void messages.push(m);
    for (const type of [
      "run.accepted",
      "run.started",
      "preview",
      "proposal.created",
      "run.succeeded",
      "run.cancelling",
      "run.cancelled",
      "run.interrupted",
    ] as const) {
      events.on(type, keep);
    }
    await events.open();
    const doc = await backend.documents.Open("/w/a.md");
    const request = {
      commandId: "c1",
      documentId: doc.id,
      version: doc.version,
      from: 4,
      to: 28,
      preset: "improve",
      instruction: "",
      providerId: "mock",
      model: "mock-1",
      language: "en",
      supersedes: "",
      ...change,
    };
    await backend.agent.SubmitRewrite(request);
    return { backend, messages, request };
  }

  const types = (messages: readonly Message[]): string[] => [...new Set(messages.map((m) => m.type))];

  it("streams a rewrite and proposes edits within the selection", async () => {
    const { messages } = await submitted();
    await vi.runAllTimersAsync();
    await vi.waitFor(() => expect(types(messages)).toContain("run.succeeded"));
    expect(types(messages)).toEqual([
      "run.accepted",
      "run.started",
      "preview",
      "proposal.created",
      "run.succeeded",
    ]);
    const created = messages.find((m) => m.type === "proposal.created");
    expect(created?.type === "proposal.created" && created.payload.patch.edits).toEqual([
      { from: 9, to: 13, insert: "reboat" },
    ]);
  });

  it("answers a repeated command with the same run, and refuses the same id with another input", async () => {
    const { backend, request } = await submitted();
    await expect(backend.agent.SubmitRewrite(request)).resolves.toMatchObject({ runId: "r1" });
    await expect(backend.agent.SubmitRewrite({ ...request, to: 27 })).rejects.toMatchObject({
      code: "command_conflict",
    });
  });

  it("stops: stopping first, then stopped, and proposes nothing", async () => {
    const { backend, messages } = await submitted();
    await vi.advanceTimersByTimeAsync(30);
    await expect(backend.agent.Cancel({ commandId: "c2", runId: "r1" })).resolves.toMatchObject({
      receipt: "cancelling",
    });
    await vi.runAllTimersAsync();
    expect(types(messages).slice(-2)).toEqual(["run.cancelling", "run.cancelled"]);
    expect((await backend.agent.Attach(0)).proposals).toEqual([]);
  });

  it("is off without a Runner", async () => {
    const { backend, messages, request } = await submitted();
    backend.setRunner({ status: "stopped", code: "runner_gone" });
    await vi.advanceTimersByTimeAsync(0);
    expect(types(messages)).toContain("run.interrupted");
    const again = { ...request, commandId: "c3" };
    await expect(backend.agent.SubmitRewrite(again)).rejects.toMatchObject({ code: "runner_gone" });
    await backend.agent.RestartRunner();
    await expect(backend.agent.SubmitRewrite(again)).resolves.toMatchObject({ runId: "r2" });
  });
});
