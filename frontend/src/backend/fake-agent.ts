import { createFakeConversation, digestOf, type FakeTools } from "./fake-conversation";
import { createFakeJournal } from "./fake-journal";
import { BackendError } from "./fault";
import type {
  AgentService,
  AgentState,
  Budget,
  Edit,
  EventType,
  Hunk,
  ModelRef,
  Proposal,
  RewriteRequest,
  Run,
  RunnerState,
  RunRef,
  RunState,
  Session,
  Usage,
} from "./gen";
import type { VersionedText } from "./text";

/** Agent state held in memory, with a provider that rewrites visibly. */
export interface FakeAgent {
  readonly agent: AgentService;
  /** Makes the Runner ready, stopped or failed, and ends what runs. */
  readonly setRunner: (runner: Partial<RunnerState>) => void;
}

interface Config {
  readonly now: () => number;
  readonly documentText: (id: string) => VersionedText & { readonly uri: string };
  /** Throws the fault that keeps a provider from being used. */
  readonly checkProvider: (id: string) => void;
  /** The model that the settings name. */
  readonly chosenModel: () => ModelRef;
  readonly tools: FakeTools;
  /** How long a streamed piece takes, in ms. */
  readonly pieceMs: number;
  readonly emit: (
    type: EventType,
    payload: object,
    of?: { runId: string; sessionId: string; seq: number },
  ) => void;
}

interface Active {
  run: Run;
  readonly request: RewriteRequest;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const budget: Budget = {
  timeMs: 600_000,
  steps: 25,
  tokens: 200_000,
  toolResultBytes: 262_144,
  toolResultsBytes: 4_194_304,
  toolMs: 30_000,
  connectMs: 15_000,
  firstTokenMs: 300_000,
  silenceMs: 120_000,
};
const noUsage: Usage = { kind: "unknown", input: 0, output: 0, cached: 0, reasoning: 0 };

/** Makes an agent host that behaves as the real one does for rewrites and conversations. */
export function createFakeAgent(config: Config): FakeAgent {
  const sessions: Session[] = [];
  const runs = new Map<string, Active>();
  const proposals = new Map<string, Proposal>();
  const commands = new Map<string, { readonly input: string; readonly ref: RunRef }>();
  let runner: RunnerState = { status: "ready", code: "", pid: 4242, restarts: 0 };
  const made = new Map<string, number>();
  const journal = createFakeJournal(config);
  const conversation = createFakeConversation({
    now: config.now,
    pieceMs: config.pieceMs,
    journal,
    tools: config.tools,
    checkProvider: config.checkProvider,
    chosenModel: config.chosenModel,
    isReady: () => runner.status === "ready",
    propose: (proposal) => void proposals.set(proposal.id, proposal),
    newRunId: () => newId("r"),
    newSessionId: () => newId("s"),
    newProposalId: () => newId("p"),
  });

  function newId(kind: string): string {
    const n = (made.get(kind) ?? 0) + 1;
    made.set(kind, n);
    return `${kind}${n}`;
  }

  function commit(type: EventType, run: Run, payload: object): void {
    journal.commit(type, run, payload);
  }

  function move(active: Active, type: EventType, state: RunState, outcome = ""): void {
    const ended = state === "cancelled" || state === "succeeded" || state === "failed";
    active.run = {
      ...active.run,
      state,
      startedAtMs: active.run.startedAtMs || config.now(),
      endedAtMs: ended ? config.now() : 0,
    };
    commit(type, active.run, { state, reason: active.run.reason, usage: noUsage, outcome });
  }

  function find(id: string): Active {
    const active = runs.get(id);
    if (!active) {
      throw new BackendError("not_found");
    }
    return active;
  }

  function submit(request: RewriteRequest): RunRef {
    const input = JSON.stringify(request);
    const before = commands.get(request.commandId);
    if (before) {
      if (before.input !== input) {
        throw new BackendError("command_conflict");
      }
      return before.ref;
    }
    if (runner.status !== "ready") {
      throw new BackendError("runner_gone");
    }
    config.checkProvider(request.providerId);
    const doc = config.documentText(request.documentId);
    if (request.version !== doc.version) {
      throw new BackendError("unknown_base");
    }
    if (request.from < 0 || request.to <= request.from || request.to > doc.text.length) {
      throw new BackendError("invalid_input");
    }
    const session: Session = {
      id: newId("s"),
      title: "",
      workspaceId: "",
      docUri: doc.uri,
      runtime: "builtin",
      model: { providerId: request.providerId, model: request.model },
      createdAtMs: config.now(),
      updatedAtMs: config.now(),
      archivedAtMs: 0,
    };
    const run: Run = {
      id: newId("r"),
      sessionId: session.id,
      commandId: request.commandId,
      parentRunId: "",
      kind: "rewrite",
      state: "queued",
      reason: "",
      runtime: "builtin",
      model: session.model,
      budget,
      tools: [],
      usage: noUsage,
      docUri: doc.uri,
      createdAtMs: config.now(),
      startedAtMs: 0,
      endedAtMs: 0,
    };
    const ref = { runId: run.id, sessionId: session.id };
    commands.set(request.commandId, { input, ref });
    sessions.push(session);
    const active: Active = { run, request, timer: undefined };
    runs.set(run.id, active);
    commit("session.created", run, session);
    commit("run.accepted", run, run);
    const selected = doc.text.slice(request.from, request.to);
    active.timer = setTimeout(() => {
      move(active, "run.started", "running");
      stream(active, selected, 0, doc);
    }, config.pieceMs);
    return ref;
  }

  function stream(active: Active, selected: string, sent: number, doc: { uri: string; text: string }): void {
    const edits = rewriteEdits(selected, active.request.instruction || active.request.preset);
    const answer = apply(selected, edits);
    if (sent < answer.length) {
      const piece = answer.slice(sent, sent + 24);
      journal.preview(active.run, {
        runId: active.run.id,
        attempt: 1,
        keep: sent,
        text: piece,
        thinking: false,
      });
      active.timer = setTimeout(() => stream(active, selected, sent + piece.length, doc), config.pieceMs);
      return;
    }
    void propose(active, edits, doc);
  }

  async function propose(
    active: Active,
    edits: readonly Edit[],
    doc: { uri: string; text: string },
  ): Promise<void> {
    const base = active.request.from;
    const hunks: Hunk[] = edits.map((_, i) => ({ id: String(i + 1), first: i, count: 1, warnings: [] }));
    const proposal: Proposal = {
      id: newId("p"),
      origin: "rewrite",
      runId: active.run.id,
      toolCallId: "",
      supersedes: active.request.supersedes,
      docUri: doc.uri,
      baseDigest: await digestOf(doc.text),
      patch: {
        baseVersion: active.request.version,
        edits: edits.map((e) => ({ from: e.from + base, to: e.to + base, insert: e.insert })),
        summary: active.request.instruction,
      },
      hunks,
      cutOff: false,
      state: "proposed",
      createdAtMs: config.now(),
      decidedAtMs: 0,
    };
    if (active.run.state !== "running") {
      return;
    }
    if (edits.length > 0) {
      proposals.set(proposal.id, proposal);
      commit("proposal.created", active.run, proposal);
    }
    move(active, "run.succeeded", "succeeded", edits.length > 0 ? "proposed" : "no_change");
  }

  const agent: AgentService = {
    Attach: async (): Promise<AgentState> => ({
      cursor: journal.cursor(),
      runner,
      sessions: [...sessions, ...conversation.sessions().filter((session) => session.archivedAtMs === 0)],
      runs: [...[...runs.values()].map((active) => active.run), ...conversation.runs()],
      proposals: [...proposals.values()],
      approvals: conversation.approvals(),
    }),
    ...conversation.agent,
    SubmitRewrite: async (request) => submit(request),
    Cancel: async ({ runId }) => {
      const receipt = conversation.cancel(runId);
      if (receipt !== null) {
        return { runId, ...receipt };
      }
      const active = find(runId);
      if (active.run.state === "queued" || active.run.state === "running") {
        clearTimeout(active.timer);
        move(active, "run.cancelling", "cancelling");
        active.timer = setTimeout(() => move(active, "run.cancelled", "cancelled"), config.pieceMs);
        return { runId, receipt: "cancelling", state: "cancelling" };
      }
      return { runId, receipt: "already_ended", state: active.run.state };
    },
    Decide: async (request) => {
      const proposal = proposals.get(request.proposalId);
      if (!proposal) {
        throw new BackendError("not_found");
      }
      const accepted = request.hunks.filter((h) => h.outcome === "accepted").length;
      const open = proposal.hunks.length - request.hunks.filter((h) => h.outcome !== "open").length;
      const state =
        accepted === 0 && open === 0
          ? "rejected"
          : open > 0
            ? accepted > 0
              ? "partly_applied"
              : "proposed"
            : "applied";
      const decided: Proposal = { ...proposal, state, decidedAtMs: config.now() };
      proposals.set(proposal.id, decided);
      const run = conversation.runs().find((r) => r.id === proposal.runId) ?? find(proposal.runId).run;
      commit("proposal.decided", run, {
        proposalId: proposal.id,
        state,
        hunks: request.hunks,
        appliedVersion: request.appliedVersion,
      });
      return { state };
    },
    Proposal: async (id) => {
      const proposal = proposals.get(id);
      if (!proposal) {
        throw new BackendError("not_found");
      }
      return proposal;
    },
    RestartRunner: async () => {
      setRunner({ status: "ready", code: "", restarts: runner.restarts + 1 });
      return runner;
    },
  };

  function setRunner(next: Partial<RunnerState>): void {
    runner = { ...runner, ...next };
    if (runner.status !== "ready" && runner.status !== "elsewhere") {
      conversation.lose();
      for (const active of runs.values()) {
        if (active.run.state === "queued" || active.run.state === "running") {
          clearTimeout(active.timer);
          move(active, "run.interrupted", "interrupted");
        }
      }
    }
    config.emit("runner.changed", runner);
  }

  return { agent, setRunner };
}

/** Rewrites so that it can be seen: a word here and there is exchanged or, to shorten, left out. */
function rewriteEdits(selected: string, wish: string): readonly Edit[] {
  const shorten = /short|brief|精简|缩短/i.test(wish);
  const edits: Edit[] = [];
  const words = [...new Intl.Segmenter("en", { granularity: "word" }).segment(selected)].filter(
    (s) => s.isWordLike,
  );
  for (const [i, { segment, index }] of words.entries()) {
    if (i % 4 !== 1 || /\d/.test(segment)) {
      continue;
    }
    if (shorten && selected[index + segment.length] === " ") {
      edits.push({ from: index, to: index + segment.length + 1, insert: "" });
    } else {
      edits.push({ from: index, to: index + segment.length, insert: exchange(segment) });
    }
  }
  return edits;
}

function exchange(word: string): string {
  return /^\p{Script=Han}+$/u.test(word) ? `新${word}` : `re${word.toLowerCase()}`;
}

function apply(text: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.from) + edit.insert;
    at = edit.to;
  }
  return out + text.slice(at);
}
