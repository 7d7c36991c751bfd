// @vitest-environment jsdom
import { redo, undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { type Signal, signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DecideRequest, Hunk, Proposal, Run } from "../backend";
import { BackendError, createEvents } from "../backend";
import { createFakeBackend, type FakeBackend } from "../backend/fake";
import { createDocuments, type Documents, digestOf } from "../document";
import {
  acceptHunk,
  acceptTicked,
  editorExtensions,
  goToHunk,
  proposalsOf,
  reviewOf,
  versionOf,
  versionsKept,
} from "../editor";
import { reviewLabels } from "./labels";
import { createProposals, type Proposals, pathOfUri } from "./review-proposals";
import { type AgentMessage, type AgentView, noAgent } from "./state";

const text = "one two three four five six\n";

let backend: FakeBackend;
let documents: Documents;
let proposals: Proposals;
let agentView: Signal<AgentView>;
let view: EditorView;
let decided: DecideRequest[];
/** The proposals as the host keeps them whole, by id. */
let whole: Map<string, Proposal>;
let refuse: "runner_gone" | null;
let receipts: number[];
let made: number;
/** Tells the page of a message of the host. */
let hear: (message: AgentMessage) => void;

const envelope = { n: 1, seq: 9, runId: "", sessionId: "", atMs: 1, ref: false };

beforeEach(async () => {
  Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
  backend = createFakeBackend({
    files: { "/w/a.md": text, "/w/b.md": "Other words.\n", "/w/c.md": "Shut.\n" },
    workspace: "/w",
    open: ["/w/a.md", "/w/b.md"],
  });
  decided = [];
  whole = new Map();
  receipts = [];
  refuse = null;
  made = 0;
  agentView = signal<AgentView>({ ...noAgent, runner: { ...noAgent.runner, status: "ready" } });
  view = new EditorView({ parent: document.body });
  await loadPage();
});

/** Loads the page: documents and proposals made anew, as after a reload. */
async function loadPage(): Promise<void> {
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
  const service = {
    ...backend.agent,
    Decide: async (request: DecideRequest) => {
      if (refuse !== null) {
        throw new BackendError(refuse);
      }
      decided.push(request);
      return { state: "applied" };
    },
    Proposal: async (id: string) => whole.get(id) ?? Promise.reject(new BackendError("not_found")),
  };
  proposals = createProposals({
    backend: { ...backend, agent: service },
    documents,
    agent: {
      view: agentView,
      off: signal(null),
      offFor: () => null,
      attach: async () => {},
      onMessage: (listener) => {
        hear = listener;
        return () => {};
      },
    },
    labels: reviewLabels,
    onReceipt: (accepted) => receipts.push(accepted),
    onRefused: () => {},
    newId: () => `c${++made}`,
  });
  const events = createEvents({ listen: backend.listen, attach: () => documents.attach(), settleMs: 0 });
  await events.open();
  documents.select(idOf("/w/a.md"));
}

afterEach(() => {
  view.destroy();
  document.body.replaceChildren();
});

function idOf(path: string): string {
  const tab = documents.tabs.peek().find((t) => t.info.peek().path === path);
  return tab?.id ?? expect.unreachable(`${path} is not open`);
}

const base: Run = {
  id: "r1",
  sessionId: "s1",
  commandId: "run",
  parentRunId: "",
  kind: "conversation",
  state: "running",
  reason: "",
  runtime: "native",
  model: { providerId: "mock", model: "mock-1" },
  budget: {
    timeMs: 0,
    steps: 0,
    tokens: 0,
    toolResultBytes: 0,
    toolResultsBytes: 0,
    toolMs: 0,
    connectMs: 0,
    firstTokenMs: 0,
    silenceMs: 0,
  },
  usage: { kind: "unknown", input: 0, output: 0, cached: 0, reasoning: 0 },
  docUri: "file:///w/a.md",
  createdAtMs: 1,
  startedAtMs: 2,
  endedAtMs: 0,
  tools: [],
};

function follow(...runs: readonly Run[]): void {
  const all = new Map(agentView.peek().runs);
  for (const run of runs) {
    all.set(run.id, run);
  }
  agentView.value = { ...agentView.peek(), runs: all };
}

/** A proposal of a tool: one hunk that exchanges words of a text. */
async function proposalOf(
  id: string,
  of: string,
  version: number,
  old: string,
  insert: string,
  more: Partial<Proposal> = {},
): Promise<Proposal> {
  const from = of.indexOf(old);
  const hunk: Hunk = { id: "1", first: 0, count: 1, warnings: [] };
  return {
    id,
    origin: "tool",
    runId: "r1",
    toolCallId: `t-${id}`,
    supersedes: "",
    docUri: "file:///w/a.md",
    baseDigest: await digestOf(of),
    patch: {
      baseVersion: version,
      edits: [{ from, to: from + old.length, insert }],
      summary: `Change ${old}`,
    },
    hunks: [hunk],
    cutOff: false,
    state: "proposed",
    createdAtMs: 10,
    decidedAtMs: 0,
    ...more,
  };
}

/** The host tells of proposals; resolves when they have their places. */
async function tell(...all: readonly Proposal[]): Promise<void> {
  const known = new Map(agentView.peek().proposals);
  for (const one of all) {
    known.set(one.id, one);
  }
  agentView.value = { ...agentView.peek(), proposals: known };
  await proposals.settle();
}

function type(at: number, insert: string): void {
  view.dispatch({ changes: { from: at, insert }, userEvent: "input.type" });
}

const statuses = () => proposalsOf(view.state)?.hunks.map((h) => `${h.review} ${h.status}`) ?? [];

// covers: P2 P3 P4 P8
describe("proposals of tools", () => {
  test("are shown as they come, together, and change neither text nor selection nor focus", async () => {
    view.dispatch({ selection: { anchor: 4, head: 7 } });
    const field = document.body.appendChild(document.createElement("textarea"));
    field.focus();
    await tell(await proposalOf("p2", text, 1, "five", "5"));
    await tell(await proposalOf("p1", text, 1, "one", "1"), await proposalOf("p3", text, 1, "six", "6"));
    expect(statuses()).toEqual(["p1 clean", "p2 clean", "p3 clean"]);
    expect(proposals.front.value.map((p) => p.proposal.id)).toEqual(["p2", "p1", "p3"]);
    expect(proposals.count.value).toBe(3);
    expect(view.state.doc.toString()).toBe(text);
    expect(view.state.selection.main).toMatchObject({ anchor: 4, head: 7 });
    expect(document.activeElement).toBe(field);
    expect(documents.current.value?.dirty.value).toBe(false);
  });

  test("are placed by the version they were made for, whatever was typed since", async () => {
    proposals.track("run");
    follow(base);
    type(0, "> ");
    const read = view.state.doc.toString();
    const version = versionOf(view.state);
    type(view.state.doc.length - 1, "!");
    type(0, ">");
    await tell(await proposalOf("p1", read, version, "three", "3"));
    await tell(await proposalOf("p2", text, 1, "four", "4"));
    expect(statuses()).toEqual(["p1 moved", "p2 moved"]);
    acceptTicked(view);
    expect(view.state.doc.toString()).toBe(">> one two 3 4 five six!\n");
  });

  test("are placed in a document that is not in front, and move with what is typed there before", async () => {
    proposals.track("run");
    follow(base);
    type(0, ">> ");
    documents.select(idOf("/w/b.md"));
    await tell(await proposalOf("p1", text, 1, "two", "2"));
    expect(statuses()).toEqual([]);
    expect(proposals.front.value).toEqual([]);
    expect(proposals.others.value.map((o) => [o.proposal.id, o.path])).toEqual([["p1", "/w/a.md"]]);
    expect(proposals.standing("p1")).toMatchObject({ place: "text", moved: 1 });
    documents.select(idOf("/w/a.md"));
    expect(statuses()).toEqual(["p1 moved"]);
    expect(proposals.others.value).toEqual([]);
    acceptHunk(view);
    expect(view.state.doc.toString()).toBe(">> one 2 three four five six\n");
  });

  test("each decision, undo and redo is told by the right id, with a command of its own", async () => {
    await tell(await proposalOf("p1", text, 1, "one", "1"), await proposalOf("p2", text, 1, "two", "2"));
    goToHunk(view, "p2/1");
    acceptHunk(view);
    undo(view);
    redo(view);
    await vi.waitFor(() => expect(decided).toHaveLength(3));
    expect(decided.map((d) => [d.commandId, d.proposalId, d.hunks[0]?.id, d.hunks[0]?.outcome])).toEqual([
      ["c1", "p2", "1", "accepted"],
      ["c2", "p2", "1", "open"],
      ["c3", "p2", "1", "accepted"],
    ]);
    expect(decided.map((d) => d.appliedVersion)).toEqual([2, 3, 4]);
    expect(receipts).toEqual([1]);
  });

  test("of two that overlap one goes stale by the accept of the other, and undo revives it", async () => {
    await tell(
      await proposalOf("p1", text, 1, "two three", "23"),
      await proposalOf("p2", text, 1, "three four", "34"),
    );
    acceptHunk(view);
    expect(statuses()).toEqual(["p1 accepted", "p2 stale"]);
    expect(proposals.standing("p2")).toMatchObject({ stale: 1, clean: 0 });
    expect(proposals.count.value).toBe(1);
    undo(view);
    expect(statuses()).toEqual(["p1 clean", "p2 clean"]);
    expect(proposals.count.value).toBe(2);
  });

  test("one that does not fit the text it names is only listed", async () => {
    const odd = await proposalOf("p1", text, 1, "one", "1");
    const spy = vi.spyOn(console, "error").mockImplementation(() => {});
    await tell({ ...odd, patch: { ...odd.patch, edits: [{ from: 5, to: 900, insert: "" }] } });
    expect(spy).toHaveBeenCalledOnce();
    spy.mockRestore();
    expect(proposals.front.value).toMatchObject([{ placed: false }]);
    expect(reviewOf(view.state)).toBeNull();
  });

  test("the body of a large one is fetched", async () => {
    const large = await proposalOf("p1", text, 1, "one", "1");
    whole.set("p1", large);
    await tell({ ...large, hunks: [], patch: { ...large.patch, edits: [] } });
    expect(statuses()).toEqual(["p1 clean"]);
  });

  test("one that another supersedes leaves the text", async () => {
    await tell(await proposalOf("p1", text, 1, "one", "1"), await proposalOf("p2", text, 1, "two", "2"));
    await tell(await proposalOf("p1", text, 1, "one", "1", { state: "superseded" }));
    expect(statuses()).toEqual(["p2 clean"]);
    expect(proposals.front.value.map((p) => p.proposal.id)).toEqual(["p2"]);
  });

  test("those of a session that was deleted leave it as well", async () => {
    follow(base, { ...base, id: "r2", sessionId: "s2", commandId: "other" });
    await tell(
      await proposalOf("p1", text, 1, "one", "1"),
      await proposalOf("p2", text, 1, "two", "2", { runId: "r2" }),
    );
    const rest = new Map(agentView.peek().proposals);
    rest.delete("p1");
    agentView.value = { ...agentView.peek(), proposals: rest };
    hear({ ...envelope, type: "session.deleted", payload: { sessionId: "s1" } });
    expect(statuses()).toEqual(["p2 clean"]);
    expect(proposals.standing("p1")).toBeNull();
  });

  test("a decided one that the host leaves out of its state is opened by undo all the same", async () => {
    await tell(await proposalOf("p1", text, 1, "one", "1"));
    acceptHunk(view);
    expect(proposals.front.value).toEqual([]);
    agentView.value = { ...agentView.peek(), proposals: new Map() };
    undo(view);
    expect(statuses()).toEqual(["p1 clean"]);
    expect(proposals.front.value.map((p) => p.proposal.id)).toEqual(["p1"]);
    await vi.waitFor(() => expect(decided.map((d) => d.hunks[0]?.outcome)).toEqual(["accepted", "open"]));
  });

  test("those of a state with the newest first are shown in the order they were made", async () => {
    await tell(
      await proposalOf("p2", "12", 1, "", "b", { createdAtMs: 2 }),
      await proposalOf("p1", "12", 1, "", "a", { createdAtMs: 1 }),
    );
    expect(proposals.front.value.map((p) => p.proposal.id)).toEqual(["p1", "p2"]);
  });
});

// covers: P2
describe("a text that is not known any more", () => {
  test("after a reload a proposal is placed by its digest, with what was rejected before", async () => {
    const two = await proposalOf("p1", text, 1, "one", "1");
    const hunks: readonly Hunk[] = [
      { id: "1", first: 0, count: 1, warnings: [], outcome: "rejected" },
      { id: "2", first: 1, count: 1, warnings: [] },
    ];
    const edits = [...two.patch.edits, { from: 4, to: 7, insert: "2" }];
    await tell({ ...two, hunks, patch: { ...two.patch, edits } });
    expect(statuses()).toEqual(["p1 rejected", "p1 clean"]);
    await loadPage();
    await proposals.settle();
    expect(statuses()).toEqual(["p1 rejected", "p1 clean"]);
    await proposals.dismiss("p1");
    await vi.waitFor(() => expect(decided).toMatchObject([{ hunks: [{ id: "2", outcome: "rejected" }] }]));
  });

  test("with other words it has no place, and can be put away", async () => {
    const one = await proposalOf("p1", "Another text.\n", 1, "Another", "A");
    await tell(one);
    expect(reviewOf(view.state)).toBeNull();
    expect(proposals.front.value).toMatchObject([{ placed: false, inText: false, wish: null }]);
    expect(proposals.standing("p1")).toMatchObject({ place: "unplaced" });
    expect(proposals.count.value).toBe(1);
    await proposals.dismiss("p1");
    expect(proposals.front.value).toEqual([]);
    await vi.waitFor(() =>
      expect(decided).toMatchObject([{ proposalId: "p1", hunks: [{ id: "1", outcome: "rejected" }] }]),
    );
    // What the host tells next does not bring it back before it has the decision.
    await tell(await proposalOf("p2", text, 1, "two", "2"));
    expect(proposals.front.value.map((p) => p.proposal.id)).toEqual(["p2"]);
  });

  test("a version of that number but of other words is not its text", async () => {
    proposals.track("run");
    follow(base);
    type(0, "a");
    await tell(await proposalOf("p1", `One line more.\n${text}`, 1, "two", "2"));
    expect(proposals.front.value).toMatchObject([{ placed: false }]);
    expect(statuses()).toEqual([]);
  });

  // The page had put it in and was killed before it could tell (crash matrix, row 19).
  test("what was accepted and not told is found in the text, not put in twice", async () => {
    await tell(await proposalOf("p1", text, 1, "two", "2"));
    refuse = "runner_gone";
    acceptHunk(view);
    const accepted = view.state.doc.toString();
    await documents.flush(idOf("/w/a.md"));
    await loadPage();
    await proposals.settle();
    expect(view.state.doc.toString()).toBe(accepted);
    expect(reviewOf(view.state)).toBeNull();
    expect(proposals.front.value).toMatchObject([{ placed: false, inText: true }]);
  });

  test("typing while its digest is looked for is part of what changed", async () => {
    const one = await proposalOf("p1", text, 40, "two", "2");
    const known = new Map(agentView.peek().proposals).set("p1", one);
    agentView.value = { ...agentView.peek(), proposals: known };
    // The look has begun, and waits for the digest.
    await Promise.resolve();
    type(0, ">> ");
    await proposals.settle();
    expect(statuses()).toEqual(["p1 moved"]);
    acceptHunk(view);
    expect(view.state.doc.toString()).toBe(">> one 2 three four five six\n");
  });
});

// covers: P8 H2
describe("documents that are not open", () => {
  test("their proposals are listed, and showing one opens its document at it", async () => {
    await tell(
      await proposalOf("p1", "Shut.\n", 1, "Shut", "Closed", { docUri: "file:///w/c.md", createdAtMs: 20 }),
      await proposalOf("p2", "Other words.\n", 1, "words", "text", { docUri: "file:///w/b.md" }),
      await proposalOf("p3", "x", 1, "x", "y", { docUri: "untitled:9", createdAtMs: 5 }),
      await proposalOf("p4", "x", 1, "x", "y", { docUri: "file:///w/b.md", state: "applied" }),
    );
    expect(proposals.others.value.map((o) => [o.proposal.id, o.path, o.tab === null])).toEqual([
      ["p1", "/w/c.md", true],
      ["p2", "/w/b.md", false],
      ["p3", "", true],
    ]);
    expect(proposals.standing("p1")).toMatchObject({ place: "closed", total: 1, clean: 1 });
    expect(proposals.standing("p4")).toMatchObject({ accepted: 1 });
    await proposals.show("p1");
    expect(documents.current.value?.info.value.path).toBe("/w/c.md");
    expect(reviewOf(view.state)?.current).toBe("p1/1");
    acceptHunk(view);
    expect(view.state.doc.toString()).toBe("Closed.\n");
    await expect(proposals.show("p3")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a document that is closed takes its marks along, and gets them again when it is opened as it was", async () => {
    await tell(await proposalOf("p1", text, 1, "two", "2"));
    await documents.close(idOf("/w/a.md"));
    expect(proposals.others.value.map((o) => o.proposal.id)).toEqual(["p1"]);
    await documents.open("/w/a.md");
    await proposals.settle();
    expect(statuses()).toEqual(["p1 clean"]);
  });
});

describe("versions of a document", () => {
  const kept = () => versionsKept(view.state);

  test("are kept while a run is under way that may propose for it, and let go at its end", async () => {
    proposals.track("run");
    type(0, "a");
    expect(kept()).toBe(2);
    follow({ ...base, state: "queued", startedAtMs: 0 });
    type(0, "b");
    follow({ ...base, state: "succeeded", endedAtMs: 9 });
    await proposals.settle();
    await Promise.resolve();
    expect(kept()).toBe(0);
  });

  test("a run whose proposal still looks for its place keeps them until then", async () => {
    proposals.track("run");
    follow(base);
    type(0, "a");
    const p1 = await proposalOf("p1", text, 1, "one", "1");
    const known = new Map(agentView.peek().proposals).set("p1", p1);
    agentView.value = { ...agentView.peek(), proposals: known };
    follow({ ...base, state: "succeeded", endedAtMs: 9 });
    await proposals.settle();
    expect(statuses()).toEqual(["p1 moved"]);
    await vi.waitFor(() => expect(kept()).toBe(0));
  });

  test("are kept for runs that somebody else began, from the moment they are heard of", async () => {
    type(0, "a");
    follow(base);
    const read = view.state.doc.toString();
    type(0, "b");
    expect(kept()).toBe(2);
    await tell(await proposalOf("p1", read, 2, "one", "1"));
    expect(statuses()).toEqual(["p1 moved"]);
  });

  test("a run that could not be started keeps none, and one that is never heard of not for long", () => {
    vi.useFakeTimers();
    try {
      proposals.track("run");
      proposals.release("run");
      type(0, "a");
      expect(kept()).toBe(0);
      proposals.track("lost");
      type(0, "b");
      expect(kept()).toBe(2);
      vi.advanceTimersByTime(120_000);
      expect(kept()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a rewrite's proposal is left to whoever asked for it", async () => {
    proposals.claim("run");
    follow({ ...base, kind: "rewrite" });
    await tell(await proposalOf("p1", text, 1, "one", "1", { origin: "rewrite", toolCallId: "" }));
    expect(reviewOf(view.state)).toBeNull();
    type(0, "a");
    expect(kept()).toBe(0);
  });
});

// covers: R4
test("decisions that could not be told are told again with the same command", async () => {
  await tell(await proposalOf("p1", text, 1, "one", "1"));
  refuse = "runner_gone";
  acceptHunk(view);
  await Promise.resolve();
  await Promise.resolve();
  expect(decided).toEqual([]);
  refuse = null;
  proposals.retry();
  await vi.waitFor(() => expect(decided.map((d) => d.commandId)).toEqual(["c1"]));
});

test.each([
  ["file:///w/a%20b%25.md", "/w/a b%.md"],
  ["file:///C:/Texts/%E4%B8%AD.md", "C:\\Texts\\中.md"],
  ["untitled:4", ""],
  ["https://example.org/a.md", ""],
  ["file:///w/%zz", ""],
])("the path of %s", (uri, path) => {
  expect(pathOfUri(uri)).toBe(path);
});
