import type { FakeJournal } from "./fake-journal";
import { BackendError } from "./fault";
import type {
  AgentService,
  Approval,
  ContextReport,
  ContinueRequest,
  MessageCommitted,
  MessageRequest,
  ModelCallEnded,
  ModelRef,
  Place,
  Proposal,
  Run,
  RunChanged,
  RunRef,
  RunState,
  Session,
  ToolCall,
  ToolCallState,
  ToolFacts,
  ToolSummary,
  Usage,
} from "./gen";

/** The part of the fake agent host that converses. */
export interface FakeConversation {
  readonly agent: Pick<
    AgentService,
    | "SubmitMessage"
    | "ContinueRun"
    | "DecideApproval"
    | "ReconcileCall"
    | "ChangeSession"
    | "ArchivedSessions"
    | "DeleteSession"
    | "SessionEvents"
    | "RunDetail"
    | "ToolCall"
    | "MessageText"
    | "ExplainContext"
    | "ArtifactText"
  >;
  readonly sessions: () => readonly Session[];
  readonly runs: () => readonly Run[];
  readonly approvals: () => readonly Approval[];
  /** Asks a run to stop; null when it is not one of a conversation. */
  readonly cancel: (runId: string) => { readonly receipt: string; readonly state: RunState } | null;
  /** The Runner is gone: what runs is interrupted, and a write that was under way is unknown. */
  readonly lose: () => void;
}

/** A document as the tools see it. */
export interface FakeToolDocument {
  readonly uri: string;
  readonly name: string;
  readonly version: number;
  readonly text: string;
}

/** What the tools of the fake can do. Paths are relative to the folder. */
export interface FakeTools {
  readonly folder: () => string;
  /** The document of a place, as it is now; null for none. */
  readonly document: (id: string) => FakeToolDocument | null;
  readonly list: () => readonly string[];
  /** The text of a document of the folder; null when there is none. */
  readonly read: (path: string) => string | null;
  readonly create: (path: string, text: string) => void;
  readonly rename: (path: string, to: string) => void;
}

interface Config {
  readonly now: () => number;
  readonly pieceMs: number;
  readonly journal: FakeJournal;
  readonly tools: FakeTools;
  readonly checkProvider: (id: string) => void;
  readonly chosenModel: () => ModelRef;
  readonly isReady: () => boolean;
  /** Keeps a proposal among those that are decided. */
  readonly propose: (proposal: Proposal) => void;
  readonly newRunId: () => string;
  readonly newSessionId: () => string;
  readonly newProposalId: () => string;
}

interface Active {
  run: Run;
  readonly text: string;
  readonly place: Place;
  readonly calls: ToolCall[];
  readonly messages: MessageCommitted[];
  readonly modelCalls: ModelCallEnded[];
  readonly contexts: ContextReport[];
  readonly stop: AbortController;
  /** The Runner is gone: nothing of it is committed any more. */
  lost: boolean;
}

type CallRequest = Pick<ToolCall, "name" | "input">;

const writes: ReadonlySet<string> = new Set(["proposePatch", "createDocument", "renameDocument"]);
const reads: ReadonlySet<string> = new Set([
  "getActiveDocument",
  "getSelection",
  "getOutline",
  "searchWorkspace",
  "readDocument",
  "listWorkspace",
  "system_echo",
  "math_add",
]);

const noUsage: Usage = { kind: "unknown", input: 0, output: 0, cached: 0, reasoning: 0 };
const noFacts: ToolFacts = { path: "", bytes: 0, hits: 0, files: 0, version: 0, more: false };
const contextSize = 32_768;
/** How many events a page of a session holds. */
const pageSize = 500;
/** How many runs may wait. */
const mostQueued = 8;

/** Makes conversations that behave as the real ones, with a model that does what `/tool` lines say. */
export function createFakeConversation(config: Config): FakeConversation {
  const { journal, tools, now } = config;
  const sessions = new Map<string, Session>();
  const actives = new Map<string, Active>();
  const approvals = new Map<string, Approval>();
  const answers = new Map<string, (approval: Approval) => void>();
  const commands = new Map<string, { readonly input: string; readonly result: unknown }>();
  let made = 0;

  function once<T>(commandId: string, request: object, act: () => T): T {
    const input = JSON.stringify(request);
    const known = commands.get(commandId);
    if (known !== undefined) {
      if (known.input !== input) {
        throw new BackendError("command_conflict");
      }
      // The same type of command gave it.
      return known.result as T;
    }
    const result = act();
    commands.set(commandId, { input, result });
    return result;
  }

  function commit(active: Active, type: Parameters<FakeJournal["commit"]>[0], payload: object): void {
    if (!active.lost) {
      journal.commit(type, active.run, payload);
    }
  }

  function move(active: Active, type: MoveType, change: Partial<RunChanged> = {}): void {
    const state = stateOf[type];
    const { fault: _, ...run } = active.run;
    active.run = {
      ...run,
      state,
      reason: change.reason ?? "",
      ...(change.fault && { fault: change.fault }),
      usage: change.usage ?? active.run.usage,
      startedAtMs: active.run.startedAtMs || (state === "running" ? now() : 0),
      endedAtMs: isFinal(state) ? now() : 0,
    };
    commit(active, type, {
      state,
      reason: active.run.reason,
      usage: active.run.usage,
      outcome: change.outcome ?? "",
      ...(change.fault && { fault: change.fault }),
    });
  }

  function submit(request: MessageRequest | (ContinueRequest & { readonly from: Active })): RunRef {
    if (!config.isReady()) {
      throw new BackendError("runner_gone");
    }
    const chosen = config.chosenModel();
    const model = {
      providerId: request.providerId || chosen.providerId,
      model: request.model || chosen.model,
    };
    config.checkProvider(model.providerId);
    const queued = [...actives.values()].filter((a) => a.run.state === "queued");
    if (queued.length >= mostQueued) {
      throw new BackendError("busy");
    }
    const doc = request.place.documentId === "" ? null : tools.document(request.place.documentId);
    if (doc !== null && doc.version !== request.place.version) {
      throw new BackendError("stale");
    }
    const from = "from" in request ? request.from : null;
    const text = "text" in request ? request.text : (from?.text ?? "");
    if (text.trim() === "") {
      throw new BackendError("invalid_input");
    }
    const wanted = "sessionId" in request ? request.sessionId : (from?.run.sessionId ?? "");
    const session = wanted === "" ? newSession(text, doc?.uri ?? "", model) : sessions.get(wanted);
    if (session === undefined) {
      throw new BackendError("not_found");
    }
    const run: Run = {
      id: config.newRunId(),
      sessionId: session.id,
      commandId: request.commandId,
      parentRunId: from?.run.id ?? "",
      kind: "conversation",
      state: "queued",
      reason: "",
      runtime: "builtin",
      model,
      budget: {
        timeMs: 600_000,
        steps: 25,
        tokens: 200_000,
        toolResultBytes: 262_144,
        toolResultsBytes: 4_194_304,
        toolMs: 30_000,
        connectMs: 15_000,
        firstTokenMs: 300_000,
        silenceMs: 120_000,
      },
      usage: noUsage,
      docUri: doc?.uri ?? "",
      tools: [...reads, ...writes],
      createdAtMs: now(),
      startedAtMs: 0,
      endedAtMs: 0,
    };
    const active: Active = {
      run,
      text,
      place: request.place,
      calls: [],
      messages: [],
      modelCalls: [],
      contexts: [],
      stop: new AbortController(),
      lost: false,
    };
    actives.set(run.id, active);
    commit(active, "run.accepted", run);
    say(active, "user", from === null ? text : "Go on.", "complete", 0);
    queueMicrotask(schedule);
    return { runId: run.id, sessionId: session.id };
  }

  function newSession(text: string, docUri: string, model: ModelRef): Session {
    const session: Session = {
      id: config.newSessionId(),
      title: text.trim().split("\n")[0]?.slice(0, 80) ?? "",
      workspaceId: tools.folder(),
      docUri,
      runtime: "builtin",
      model,
      createdAtMs: now(),
      updatedAtMs: now(),
      archivedAtMs: 0,
    };
    sessions.set(session.id, session);
    journal.commit("session.created", { id: "", sessionId: session.id }, session);
    return session;
  }

  /** One conversation runs at a time. */
  function schedule(): void {
    const all = [...actives.values()];
    if (all.some((a) => a.run.state !== "queued" && !isFinal(a.run.state))) {
      return;
    }
    const next = all.find((a) => a.run.state === "queued");
    if (next !== undefined) {
      move(next, "run.started");
      void converse(next).finally(schedule);
    }
  }

  async function converse(active: Active): Promise<void> {
    try {
      const calls = callsIn(active.text);
      if (calls.length === 0) {
        await speak(active, 1, chat(active.text), []);
      } else {
        const proposed = await speak(active, 1, "", calls);
        let size = 0;
        for (const call of proposed) {
          size += (await carryOut(active, call)).length;
        }
        await speak(active, 2, `The tools answered with ${size} characters.`, []);
      }
      move(active, "run.succeeded");
    } catch (error) {
      if (active.lost) {
        return;
      }
      if (!active.stop.signal.aborted) {
        throw error;
      }
      for (const call of active.calls) {
        if (!isCallFinal(call.state)) {
          setCall(active, call.id, { state: "cancelled", reason: "cancelled" });
        }
      }
      move(active, "run.cancelled", { reason: "person" });
    }
  }

  /** One step: a request, the words of the answer as they come, and the commit of both. */
  async function speak(
    active: Active,
    step: number,
    text: string,
    calls: readonly CallRequest[],
  ): Promise<readonly ToolCall[]> {
    const { run } = active;
    const doc = active.place.documentId === "" ? null : tools.document(active.place.documentId);
    const tokens = 900 + Math.ceil(((doc?.text.length ?? 0) + active.text.length) / 4) + 200 * (step - 1);
    active.contexts.push({
      runId: run.id,
      step,
      tokens,
      size: contextSize,
      reserve: 4096,
      basis: "utf16/4",
      parts: [],
      degraded: false,
    });
    commit(active, "model_call.begun", { step, attempt: step, contextTokens: tokens, contextSize });
    await wait(active);
    let sent = 0;
    try {
      while (sent < text.length) {
        const piece = text.slice(sent, sent + 24);
        if (!active.lost) {
          journal.preview(run, { runId: run.id, attempt: step, keep: sent, text: piece, thinking: false });
        }
        sent += piece.length;
        await wait(active);
      }
    } catch (error) {
      if (sent > 0) {
        say(active, "assistant", text.slice(0, sent), "partial", step);
      }
      throw error;
    }
    const usage: Usage = {
      kind: "estimated",
      input: tokens,
      output: Math.ceil(text.length / 4),
      cached: 0,
      reasoning: 0,
    };
    const ended: ModelCallEnded = {
      step,
      attempt: step,
      phase: "done",
      finishReason: calls.length > 0 ? "tool_calls" : "end_turn",
      usage,
      code: "",
    };
    active.modelCalls.push(ended);
    commit(active, "model_call.ended", ended);
    const made = calls.map((call) => newCall(active, call));
    say(active, "assistant", text, "complete", step, made);
    for (const call of made) {
      active.calls.push(call);
      commit(active, "tool.changed", call);
    }
    return made;
  }

  function say(
    active: Active,
    role: "user" | "assistant",
    text: string,
    status: string,
    attempt: number,
    calls: readonly ToolCall[] = [],
  ): void {
    made += 1;
    const committed: MessageCommitted = {
      messageId: `m${made}`,
      ord: made,
      message: {
        role,
        parts: [
          ...(text === "" ? [] : [{ type: "text" as const, text }]),
          ...calls.map((call) => ({
            type: "tool_call" as const,
            toolCallId: call.id,
            name: call.name,
            input: call.input,
          })),
        ],
      },
      status,
      attempt,
    };
    active.messages.push(committed);
    commit(active, "message.committed", committed);
  }

  function newCall(active: Active, { name, input }: CallRequest): ToolCall {
    made += 1;
    return {
      id: `c${made}`,
      runId: active.run.id,
      modelCallId: "",
      ord: active.calls.length + 1,
      providerCallId: `mock_${made}`,
      name,
      kind: writes.has(name) ? "write" : "read",
      input,
      inputDigest: `digest of ${JSON.stringify(input)}`,
      state: "proposed",
      reason: "",
      attempt: 1,
      result: "",
      truncated: false,
      artifactId: "",
      facts: noFacts,
      proposedAtMs: now(),
      readyAtMs: 0,
      startedAtMs: 0,
      endedAtMs: 0,
    };
  }

  function setCall(active: Active, id: string, change: Partial<ToolCall>): ToolCall {
    const at = active.calls.findIndex((call) => call.id === id);
    const call = active.calls[at];
    if (call === undefined) {
      throw new BackendError("not_found");
    }
    const next: ToolCall = {
      ...call,
      ...change,
      ...(change.state === "ready" && { readyAtMs: now() }),
      ...(change.state === "running" && { startedAtMs: now() }),
      ...(change.state !== undefined && isCallFinal(change.state) && { endedAtMs: now() }),
    };
    active.calls[at] = next;
    commit(active, "tool.changed", next);
    return next;
  }

  /** Judges, asks, and carries out one call. Returns what the model is told. */
  async function carryOut(active: Active, call: ToolCall): Promise<string> {
    if (!writes.has(call.name) && !reads.has(call.name)) {
      return setCall(active, call.id, {
        state: "failed",
        reason: "policy_denied",
        result: `There is no tool ${call.name}.`,
      }).result;
    }
    if (call.name === "createDocument" || call.name === "renameDocument") {
      const approval = await ask(active, call);
      if (approval.state === "denied") {
        return setCall(active, call.id, {
          state: "failed",
          reason: "permission_denied",
          result: "permission_denied",
        }).result;
      }
    }
    setCall(active, call.id, { state: "ready" });
    setCall(active, call.id, { state: "running" });
    await wait(active);
    const done = await perform(active, call);
    return setCall(active, call.id, {
      state: done.code === "" ? "succeeded" : "failed",
      reason: done.code,
      result: done.text,
      facts: done.facts,
    }).result;
  }

  async function ask(active: Active, call: ToolCall): Promise<Approval> {
    made += 1;
    const approval: Approval = {
      id: `a${made}`,
      toolCallId: call.id,
      runId: active.run.id,
      inputDigest: call.inputDigest,
      rule: "notes.write",
      summary: summaryOf(call),
      state: "pending",
      createdAtMs: now(),
      expiresAtMs: 0,
      decidedAtMs: 0,
    };
    approvals.set(approval.id, approval);
    setCall(active, call.id, { state: "waiting_for_approval" });
    commit(active, "approval.asked", approval);
    move(active, "run.waiting");
    const decided = await new Promise<Approval>((resolve, reject) => {
      answers.set(approval.id, resolve);
      active.stop.signal.addEventListener("abort", () => {
        const dropped: Approval = { ...approval, state: "cancelled", decidedAtMs: now() };
        approvals.set(approval.id, dropped);
        commit(active, "approval.decided", dropped);
        reject(new BackendError("cancelled"));
      });
    });
    move(active, "run.resumed");
    return decided;
  }

  async function perform(
    active: Active,
    call: ToolCall,
  ): Promise<{ readonly text: string; readonly code: string; readonly facts: ToolFacts }> {
    const input = fieldsOf(call.input);
    const doc = active.place.documentId === "" ? null : tools.document(active.place.documentId);
    const fail = (code: string) => ({ text: code, code, facts: noFacts });
    const well = (text: string, facts: Partial<ToolFacts> = {}) => ({
      text,
      code: "",
      facts: { ...noFacts, bytes: bytesOf(text), ...facts },
    });
    switch (call.name) {
      case "getActiveDocument":
        return doc === null ? fail("not_found") : well(doc.text, { path: doc.name, version: doc.version });
      case "getSelection":
        return doc === null
          ? fail("not_found")
          : well(doc.text.slice(active.place.from, active.place.to), { path: doc.name });
      case "getOutline": {
        const lines = doc === null ? [] : doc.text.split("\n").filter((line) => /^#{1,6} /.test(line));
        return doc === null ? fail("not_found") : well(lines.join("\n"), { path: doc.name });
      }
      case "listWorkspace":
        return well(tools.list().join("\n"), { files: tools.list().length });
      case "readDocument": {
        const text = tools.read(input("path"));
        return text === null ? fail("not_found") : well(text, { path: input("path") });
      }
      case "searchWorkspace": {
        const query = input("query");
        const lines = tools.list().flatMap((path) =>
          (tools.read(path) ?? "").split("\n").flatMap((line, i) => {
            return query !== "" && line.includes(query) ? [`${path}:${i + 1}: ${line}`] : [];
          }),
        );
        const files = new Set(lines.map((line) => line.split(":")[0])).size;
        return well(lines.join("\n"), { hits: lines.length, files });
      }
      case "system_echo":
        return well(input("text"));
      case "math_add":
        return well(String(Number(input("left")) + Number(input("right"))));
      case "createDocument": {
        const path = pathOf(input("dir"), input("name"));
        if (tools.read(path) !== null) {
          return fail("exists");
        }
        tools.create(path, input("text"));
        return well(`Created ${path}.`, { path, bytes: bytesOf(input("text")) });
      }
      case "renameDocument": {
        const to = pathOf(folderOf(input("path")), input("newName"));
        if (tools.read(input("path")) === null) {
          return fail("not_found");
        }
        if (tools.read(to) !== null) {
          return fail("exists");
        }
        tools.rename(input("path"), to);
        return well(`Renamed to ${to}.`, { path: to });
      }
      case "proposePatch": {
        const old = input("oldText");
        const at = doc === null ? -1 : doc.text.indexOf(old);
        if (doc === null || at < 0 || old === "") {
          return fail("not_in_document");
        }
        const proposal: Proposal = {
          id: config.newProposalId(),
          origin: "tool",
          runId: active.run.id,
          toolCallId: call.id,
          supersedes: "",
          docUri: doc.uri,
          baseDigest: await digestOf(doc.text),
          patch: {
            baseVersion: doc.version,
            edits: [{ from: at, to: at + old.length, insert: input("newText") }],
            summary: input("summary"),
          },
          hunks: [
            {
              id: "1",
              first: 0,
              count: 1,
              warnings: /\d/.test(old) ? ["number"] : [],
            },
          ],
          cutOff: false,
          state: "proposed",
          createdAtMs: now(),
          decidedAtMs: 0,
        };
        config.propose(proposal);
        commit(active, "proposal.created", proposal);
        return well("Proposed, not applied.", { path: doc.name });
      }
      default:
        return fail("policy_denied");
    }
  }

  function wait(active: Active): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = active.stop;
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, config.pieceMs);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(new BackendError("cancelled"));
      };
      if (signal.aborted) {
        onAbort();
      } else {
        signal.addEventListener("abort", onAbort, { once: true });
      }
    });
  }

  function find(runId: string): Active {
    const active = actives.get(runId);
    if (active === undefined) {
      throw new BackendError("not_found");
    }
    return active;
  }

  function sessionOf(id: string): Session {
    const session = sessions.get(id);
    if (session === undefined) {
      throw new BackendError("not_found");
    }
    return session;
  }

  function callById(id: string): { readonly active: Active; readonly call: ToolCall } {
    for (const active of actives.values()) {
      const call = active.calls.find((c) => c.id === id);
      if (call !== undefined) {
        return { active, call };
      }
    }
    throw new BackendError("not_found");
  }

  return {
    sessions: () => [...sessions.values()],
    runs: () => [...actives.values()].map((active) => active.run),
    approvals: () => [...approvals.values()].filter((a) => a.state === "pending"),
    cancel: (runId) => {
      const active = actives.get(runId);
      if (active === undefined) {
        return null;
      }
      if (isFinal(active.run.state)) {
        return { receipt: "already_terminal", state: active.run.state };
      }
      if (active.run.state === "queued") {
        move(active, "run.cancelled", { reason: "person" });
      } else if (active.run.state !== "cancelling") {
        move(active, "run.cancelling");
        active.stop.abort();
      }
      return { receipt: "accepted", state: active.run.state };
    },
    lose: () => {
      for (const active of actives.values()) {
        if (isFinal(active.run.state)) {
          continue;
        }
        for (const approval of approvals.values()) {
          if (approval.runId === active.run.id && approval.state === "pending") {
            const expired: Approval = { ...approval, state: "expired", decidedAtMs: now() };
            approvals.set(approval.id, expired);
            commit(active, "approval.decided", expired);
          }
        }
        for (const call of active.calls) {
          if (call.state === "running") {
            const unknown = call.kind === "write";
            setCall(active, call.id, {
              state: unknown ? "unknown" : "failed",
              reason: unknown ? "runner_lost" : "interrupted_read",
            });
          } else if (!isCallFinal(call.state)) {
            setCall(active, call.id, { state: "cancelled", reason: "runner_lost" });
          }
        }
        move(active, "run.interrupted", {
          reason: active.run.startedAtMs === 0 ? "never_started" : "runner_lost",
        });
        active.lost = true;
        active.stop.abort();
      }
    },
    agent: {
      SubmitMessage: async (request) => once(request.commandId, request, () => submit(request)),
      ContinueRun: async (request) =>
        once(request.commandId, request, () => {
          const from = find(request.runId);
          if (!isFinal(from.run.state) || from.run.state === "succeeded") {
            throw new BackendError("invalid_input");
          }
          return submit({ ...request, from });
        }),
      DecideApproval: async (request) =>
        once(request.commandId, request, () => {
          const approval = approvals.get(request.approvalId);
          if (
            approval === undefined ||
            approval.state !== "pending" ||
            approval.inputDigest !== request.inputDigest ||
            approval.toolCallId !== request.toolCallId
          ) {
            throw new BackendError("stale_approval");
          }
          if (request.decision === "allow_session") {
            throw new BackendError("invalid_input");
          }
          const decided: Approval = {
            ...approval,
            state: request.decision === "deny" ? "denied" : "allowed_once",
            decidedAtMs: now(),
          };
          approvals.set(approval.id, decided);
          commit(find(approval.runId), "approval.decided", decided);
          answers.get(approval.id)?.(decided);
          return decided;
        }),
      ReconcileCall: async (request) =>
        once(request.commandId, request, () => {
          const { active, call } = callById(request.toolCallId);
          if (call.state !== "unknown") {
            throw new BackendError("invalid_input");
          }
          journal.commit("tool.reconciled", active.run, { call, verdict: request.verdict, by: "person" });
        }),
      ChangeSession: async (request) =>
        once(request.commandId, request, () => {
          const session = sessionOf(request.sessionId);
          const next: Session = {
            ...session,
            title: request.title || session.title,
            archivedAtMs:
              request.archive === "" ? session.archivedAtMs : request.archive === "archive" ? now() : 0,
          };
          sessions.set(session.id, next);
          journal.commit("session.changed", { id: "", sessionId: session.id }, next);
          return next;
        }),
      ArchivedSessions: async () =>
        [...sessions.values()]
          .filter((session) => session.archivedAtMs > 0)
          .sort((a, b) => b.archivedAtMs - a.archivedAtMs),
      DeleteSession: async (request) =>
        once(request.commandId, request, () => {
          const session = sessionOf(request.sessionId);
          const runs = [...actives.values()].filter((a) => a.run.sessionId === session.id);
          if (runs.some((a) => !isFinal(a.run.state))) {
            throw new BackendError("busy");
          }
          sessions.delete(session.id);
          for (const { run } of runs) {
            actives.delete(run.id);
          }
          journal.forget(session.id);
          journal.commit("session.deleted", { id: "", sessionId: session.id }, { sessionId: session.id });
        }),
      SessionEvents: async (sessionId, after) => {
        sessionOf(sessionId);
        const events = journal.events(sessionId).filter((event) => event.seq > after);
        return { events: events.slice(0, pageSize), more: events.length > pageSize };
      },
      RunDetail: async (runId) => {
        const active = find(runId);
        return {
          run: active.run,
          session: sessionOf(active.run.sessionId),
          calls: active.calls,
          approvals: [...approvals.values()].filter((a) => a.runId === runId),
          proposals: [],
          messages: active.messages,
          modelCalls: active.modelCalls,
          reconciled: [],
        };
      },
      ToolCall: async (id) => callById(id).call,
      MessageText: async (sessionId, messageId) => {
        for (const active of actives.values()) {
          const found = active.messages.find((m) => m.messageId === messageId);
          if (found !== undefined && active.run.sessionId === sessionId) {
            return { message: found.message };
          }
        }
        throw new BackendError("not_found");
      },
      ExplainContext: async (runId) => find(runId).contexts,
      ArtifactText: async () => {
        throw new BackendError("not_found");
      },
    },
  };
}

type MoveType = keyof typeof stateOf;

const stateOf = {
  "run.started": "running",
  "run.waiting": "waiting_for_approval",
  "run.resumed": "running",
  "run.cancelling": "cancelling",
  "run.cancelled": "cancelled",
  "run.succeeded": "succeeded",
  "run.failed": "failed",
  "run.interrupted": "interrupted",
} as const satisfies Readonly<Record<string, RunState>>;

function isFinal(state: RunState): boolean {
  return state === "cancelled" || state === "succeeded" || state === "failed" || state === "interrupted";
}

function isCallFinal(state: ToolCallState): boolean {
  return state === "cancelled" || state === "succeeded" || state === "failed" || state === "unknown";
}

/** The lines "/tool name {json}" of a message; the JSON may go on over lines. */
function callsIn(text: string): readonly CallRequest[] {
  return `\n${text.trim()}`
    .split("\n/tool ")
    .slice(1)
    .map((part) => {
      const [, name = "", json = ""] = /^(\S+)\s*([\s\S]*)$/.exec(part.trim()) ?? [];
      try {
        return { name, input: json === "" ? {} : JSON.parse(json) };
      } catch {
        return { name, input: {} };
      }
    });
}

function chat(text: string): string {
  const words = text.trim().split(/\s+/).join(" ").slice(0, 60);
  return /\p{Script=Han}/u.test(text)
    ? `你写的是：${words}\n\n我是离线的 **mock**，不联网，也不需要密钥，只用来试用。可以这样试：\n\n1. 选中一段文字，按改写快捷键。\n2. 输入 \`/tool 名称 {json}\`，看看工具调用。\n\n要得到真正的回答，请在设置中添加一个服务。`
    : `You wrote: ${words}\n\nI am **mock**, a provider that works offline and without a key, for trying things out. You can:\n\n1. Select a passage and rewrite it.\n2. Type \`/tool name {json}\` to see a tool call.\n\nFor real answers, add a provider in the settings.`;
}

function summaryOf(call: ToolCall): ToolSummary {
  const input = fieldsOf(call.input);
  const text = input("text");
  const create = call.name === "createDocument";
  return {
    path: create ? pathOf(input("dir"), input("name")) : input("path"),
    newPath: create ? "" : pathOf(folderOf(input("path")), input("newName")),
    text: create ? text : "",
    bytes: create ? bytesOf(text) : 0,
    words: create ? text.split(/\s+/).filter((word) => word !== "").length : 0,
    links: 0,
    invisible: /\p{Cf}/u.test(text),
  };
}

/** Looks fields of a call's input up, as text. */
function fieldsOf(input: unknown): (name: string) => string {
  const fields: Readonly<Record<string, unknown>> =
    typeof input === "object" && input !== null ? { ...input } : {};
  return (name) => {
    const value = fields[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
}

function pathOf(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The digest that the host gives a text. */
export async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
}
