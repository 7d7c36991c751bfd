import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Approval,
  type Backend,
  BackendError,
  decodeMessage,
  type EventRecord,
  type Events,
  type Message,
  type Part,
  type Place,
  type Proposal,
  type Run,
  type Session,
  type ToolCall,
  type ToolVerdict,
} from "../backend";
import type { Documents } from "../document";
import { versionOf } from "../editor";
import type { Agent } from "./agent";
import type { AgentView } from "./state";
import {
  activeRun,
  carry,
  emptyTimeline,
  isFinal,
  isSessionMessage,
  know,
  type SessionMessage,
  type Stream,
  type Timeline,
  timelineTypes,
} from "./timeline";

/** One conversation that is open, or was. */
export interface Conversation {
  /** The session's id; "" until its first message is accepted. */
  readonly id: ReadonlySignal<string>;
  readonly timeline: ReadonlySignal<Timeline>;
  /** What is being said now; at most as new as the last frame. Null for nothing. */
  readonly stream: ReadonlySignal<Stream | null>;
  /** Whether what was said before is there. */
  readonly loading: ReadonlySignal<"" | "loading" | BackendError>;
  /** What is being typed; it stays when another one is opened, and when it could not be sent. */
  readonly draft: Signal<string>;
  readonly sending: ReadonlySignal<boolean>;
  /** What the last thing that was asked of the host came to; null for well. */
  readonly problem: Signal<Problem | null>;
  /** The runs that were asked to stop. */
  readonly stopping: ReadonlySignal<ReadonlySet<string>>;
  /** The questions whose answer is on its way, or was refused, by the approval's id. */
  readonly answers: ReadonlySignal<ReadonlyMap<string, "sending" | BackendError>>;
}

/** Something the host refused. */
export interface Problem {
  readonly of: "send" | "continue" | "stop" | "reconcile" | "session";
  readonly error: BackendError;
  /** Tries again. */
  readonly again: () => void;
}

/** A session as the list shows it. */
export interface SessionRow {
  readonly session: Session;
  /** What its newest run is about; null when nothing is known of one. */
  readonly run: Run | null;
  /** It waits for the person. */
  readonly waiting: boolean;
  /** It belongs to the open folder. */
  readonly here: boolean;
}

/** An answer to a question. */
export type Answer = "allow_once" | "allow_session" | "deny";

/** The conversations of the window. */
export interface Conversations {
  /** The sessions that are not put away, those of the open folder first, the newest first. */
  readonly rows: ReadonlySignal<readonly SessionRow[]>;
  readonly archived: ReadonlySignal<readonly SessionRow[]>;
  readonly current: ReadonlySignal<Conversation>;
  /** How many questions wait, in whichever session. */
  readonly waiting: ReadonlySignal<number>;
  /** The conversation run that is under way, in whichever session; null for none. */
  readonly active: ReadonlySignal<Run | null>;
  /** Shows a session. */
  readonly open: (sessionId: string) => void;
  /** Shows an empty one. Nothing is made before the first message. */
  readonly startNew: () => void;
  /** Sends what is typed, in the session that is shown. */
  readonly send: () => Promise<void>;
  readonly stop: (runId: string) => Promise<void>;
  /** Goes on where a run ended, in a new one. */
  readonly continueRun: (runId: string) => Promise<void>;
  readonly answer: (approval: Approval, answer: Answer) => Promise<void>;
  /** Says what the person found out of a call whose end is not known. */
  readonly reconcile: (callId: string, verdict: Extract<ToolVerdict, "applied" | "absent">) => Promise<void>;
  readonly rename: (sessionId: string, title: string) => Promise<void>;
  readonly archive: (sessionId: string, away: boolean) => Promise<void>;
  readonly remove: (sessionId: string) => Promise<void>;
  /** What was left out of an event for its size. */
  readonly message: (sessionId: string, messageId: string) => Promise<readonly Part[]>;
  readonly call: (callId: string) => Promise<ToolCall>;
  readonly proposal: (proposalId: string) => Promise<Proposal>;
  /** Reads again what may have been missed; called after every attach. */
  readonly attach: () => Promise<void>;
}

/** What conversations need. */
export interface ConversationsConfig {
  readonly backend: Backend;
  readonly events: Pick<Events, "on">;
  readonly agent: Agent;
  readonly documents: Documents;
  /** The path of the open folder; "" for none. */
  readonly folder: ReadonlySignal<string>;
  readonly language: () => string;
  /** Told before a run is asked for with the front document as it is. */
  readonly onAsking?: (commandId: string) => void;
  /** Told when that run was refused. */
  readonly onRefused?: (commandId: string) => void;
  readonly newId?: () => string;
  readonly now?: () => number;
  /** Calls back before the next frame is drawn. */
  readonly nextFrame?: (call: () => void) => void;
  /** Whether an input method is at work anywhere: what is shown then holds still. */
  readonly isComposing?: () => boolean;
}

interface Own extends Conversation {
  readonly id: Signal<string>;
  readonly timeline: Signal<Timeline>;
  readonly stream: Signal<Stream | null>;
  readonly loading: Signal<"" | "loading" | BackendError>;
  readonly sending: Signal<boolean>;
  readonly stopping: Signal<ReadonlySet<string>>;
  readonly answers: Signal<ReadonlyMap<string, "sending" | BackendError>>;
  /** The timeline with every preview; `timeline` has those of the last frame. */
  latest: Timeline;
  /** Live messages that came while earlier ones were being read; null when none are. */
  waiting: SessionMessage[] | null;
  reading: Promise<void> | null;
}

/** How many sessions are followed besides the one that is shown. */
const mostFollowed = 8;

/** How often a submit waits for typing to pause before it gives up. */
const mostAttempts = 50;

const noPlace: Place = { documentId: "", version: 0, from: 0, to: 0 };

/** Makes the conversations of this page. */
export function createConversations(config: ConversationsConfig): Conversations {
  const { backend, events, agent, documents } = config;
  const newId = config.newId ?? (() => crypto.randomUUID());
  const now = config.now ?? (() => Date.now());
  const nextFrame = config.nextFrame ?? ((call) => void requestAnimationFrame(call));
  const isComposing = config.isComposing ?? (() => false);

  const current = signal<Own>(make(""));
  /** The conversations that are followed, by session. */
  const followed = new Map<string, Own>();
  /** How many calls are under way that may make a session known. */
  let expected = 0;
  /** Messages that came while such a call was under way, of sessions that are not known (R10). */
  let held: SessionMessage[] = [];
  let frameAsked = false;

  for (const type of timelineTypes) {
    events.on(type, receive);
  }
  /** The sessions that were put away when the page attached. What the view knows of them since is newer. */
  const put = signal<readonly Session[]>([]);
  const deleted = new Set<string>();
  events.on("session.deleted", ({ payload }) => {
    deleted.add(payload.sessionId);
    put.value = put.peek().filter(({ id }) => id !== payload.sessionId);
    forget(payload.sessionId);
  });
  events.on("runner.changed", ({ payload }) => {
    if (payload.status === "ready") {
      void attach().catch(() => {});
    }
  });

  function receive(message: Message): void {
    if (!isSessionMessage(message)) {
      return;
    }
    if (message.type === "preview") {
      receivePreview({ ...message, atMs: now() });
      return;
    }
    const own = followed.get(message.sessionId);
    if (own !== undefined) {
      deliver(own, [message]);
    } else if (expected > 0) {
      held.push(message);
    }
  }

  /** A preview names its run only. */
  function receivePreview(message: Message<"preview">): void {
    const { runId } = message.payload;
    for (const own of followed.values()) {
      if (own.latest.runs.has(runId)) {
        own.waiting?.push(message);
        own.latest = carry(own.latest, [message]);
        askForFrame();
        return;
      }
    }
    if (expected > 0) {
      held.push(message);
    }
  }

  function deliver(own: Own, messages: readonly SessionMessage[]): void {
    if (own.waiting !== null) {
      own.waiting.push(...messages);
      return;
    }
    own.latest = carry(own.latest, messages);
    publish(own);
  }

  /** Facts are shown at once; words as they stream, once a frame, and not while somebody composes. */
  function publish(own: Own): void {
    batch(() => {
      own.timeline.value = own.latest;
      const run = activeRun(own.latest);
      own.stream.value = run === null ? null : (own.latest.streams.get(run.run.id) ?? null);
    });
  }

  function askForFrame(): void {
    if (frameAsked) {
      return;
    }
    frameAsked = true;
    nextFrame(() => {
      frameAsked = false;
      if (isComposing()) {
        askForFrame();
        return;
      }
      for (const own of followed.values()) {
        const run = activeRun(own.latest);
        own.stream.value = run === null ? null : (own.latest.streams.get(run.run.id) ?? null);
      }
    });
  }

  function make(id: string): Own {
    const timeline = emptyTimeline(id);
    return {
      id: signal(id),
      timeline: signal(timeline),
      stream: signal<Stream | null>(null),
      loading: signal<"" | "loading" | BackendError>(""),
      draft: signal(""),
      sending: signal(false),
      problem: signal<Problem | null>(null),
      stopping: signal<ReadonlySet<string>>(new Set()),
      answers: signal<ReadonlyMap<string, "sending" | BackendError>>(new Map()),
      latest: timeline,
      waiting: null,
      reading: null,
    };
  }

  /** Reads what is committed after the cursor, page by page; live messages wait meanwhile. */
  function read(own: Own): Promise<void> {
    own.reading ??= readAll(own).finally(() => {
      own.reading = null;
    });
    return own.reading;
  }

  async function readAll(own: Own): Promise<void> {
    const id = own.id.peek();
    own.waiting ??= [];
    if (own.latest.cursor === 0) {
      own.loading.value = "loading";
    }
    let next = own.latest;
    try {
      for (;;) {
        const page = await backend.agent.SessionEvents(id, next.cursor);
        next = carry(next, page.events.flatMap(messagesOf));
        const last = page.events.at(-1);
        if (!page.more || last === undefined || last.seq < next.cursor) {
          break;
        }
      }
      next = await completed(next);
      own.loading.value = "";
    } catch (error) {
      own.loading.value = asBackendError(error);
    } finally {
      const waited = own.waiting ?? [];
      own.waiting = null;
      own.latest = carry(next, waited);
      publish(own);
    }
  }

  /** Asks for the runs whose first events are not kept any more. */
  async function completed(timeline: Timeline): Promise<Timeline> {
    let next = timeline;
    for (const runId of timeline.held.keys()) {
      const { run } = await backend.agent.RunDetail(runId);
      next = know(next, run);
    }
    return next;
  }

  function follow(own: Own): void {
    const id = own.id.peek();
    followed.delete(id);
    followed.set(id, own);
    for (const [oldest, other] of followed) {
      if (followed.size <= mostFollowed) {
        break;
      }
      if (other !== current.peek() && other.draft.peek() === "" && !other.sending.peek()) {
        followed.delete(oldest);
      }
    }
  }

  function open(sessionId: string): void {
    if (current.peek().id.peek() === sessionId) {
      return;
    }
    const own = followed.get(sessionId) ?? make(sessionId);
    follow(own);
    current.value = own;
    void read(own);
  }

  function startNew(): void {
    const own = current.peek();
    if (own.id.peek() === "" && !own.sending.peek()) {
      return;
    }
    current.value = make("");
  }

  function forget(sessionId: string): void {
    followed.delete(sessionId);
    if (current.peek().id.peek() === sessionId) {
      current.value = make("");
    }
  }

  /** The place in the front document, with everything that was typed known to the host. */
  async function placeNow(commandId: string): Promise<Place> {
    const others = documents.tabs.peek().filter((tab) => tab !== documents.current.peek());
    await Promise.all(others.map((tab) => documents.flush(tab.id)));
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const tab = documents.current.peek();
      if (tab === null) {
        return noPlace;
      }
      const version = await documents.flush(tab.id);
      const { state } = documents.view;
      if (documents.current.peek() !== tab || versionOf(state) !== version) {
        continue;
      }
      config.onAsking?.(commandId);
      const { from, to } = state.selection.main;
      return { documentId: tab.id, version, from, to };
    }
    throw new BackendError("busy");
  }

  async function send(): Promise<void> {
    const own = current.peek();
    const text = own.draft.peek().trim();
    if (text === "" || own.sending.peek()) {
      return;
    }
    own.sending.value = true;
    own.problem.value = null;
    const commandId = newId();
    const isNew = own.id.peek() === "";
    if (isNew) {
      expected += 1;
    }
    try {
      const place = await placeNow(commandId);
      const { sessionId } = await backend.agent.SubmitMessage({
        commandId,
        sessionId: own.id.peek(),
        text,
        place,
        providerId: "",
        model: "",
        language: config.language(),
      });
      batch(() => {
        if (own.draft.peek().trim() === text) {
          own.draft.value = "";
        }
        if (isNew) {
          own.id.value = sessionId;
          settle(own, sessionId);
        }
      });
    } catch (error) {
      config.onRefused?.(commandId);
      own.problem.value = { of: "send", error: asBackendError(error), again: () => void send() };
      if (isNew) {
        settle(own, "");
      }
    } finally {
      own.sending.value = false;
    }
  }

  /** The call has answered: what waited for its session is handled, in the order in which it came. */
  function settle(own: Own, sessionId: string): void {
    expected -= 1;
    const waited = held;
    if (sessionId !== "") {
      own.latest = { ...emptyTimeline(sessionId), cursor: 0 };
      follow(own);
      const mine = waited.filter((message) => message.type !== "preview" && message.sessionId === sessionId);
      const runs = new Set(mine.map((message) => message.runId));
      const isMine = (message: SessionMessage): boolean =>
        message.type === "preview" ? runs.has(message.payload.runId) : message.sessionId === sessionId;
      deliver(own, waited.filter(isMine));
      held = waited.filter((message) => !isMine(message));
    }
    if (expected === 0) {
      held = [];
    }
  }

  async function continueRun(runId: string): Promise<void> {
    const own = ownerOf(runId);
    if (own === null || own.sending.peek()) {
      return;
    }
    own.sending.value = true;
    own.problem.value = null;
    const commandId = newId();
    try {
      await backend.agent.ContinueRun({
        commandId,
        runId,
        place: await placeNow(commandId),
        providerId: "",
        model: "",
        language: config.language(),
      });
    } catch (error) {
      config.onRefused?.(commandId);
      own.problem.value = {
        of: "continue",
        error: asBackendError(error),
        again: () => void continueRun(runId),
      };
    } finally {
      own.sending.value = false;
    }
  }

  async function stop(runId: string): Promise<void> {
    const own = ownerOf(runId);
    if (own === null || own.stopping.peek().has(runId)) {
      return;
    }
    const mark = (asked: boolean): void => {
      const next = new Set(own.stopping.peek());
      if (asked) {
        next.add(runId);
      } else {
        next.delete(runId);
      }
      own.stopping.value = next;
    };
    mark(true);
    try {
      // "Stopped" is said by the event of the end, which may take a while.
      await backend.agent.Cancel({ commandId: newId(), runId });
    } catch (error) {
      mark(false);
      own.problem.value = { of: "stop", error: asBackendError(error), again: () => void stop(runId) };
    }
  }

  async function answer(approval: Approval, decision: Answer): Promise<void> {
    const own = ownerOf(approval.runId);
    if (own === null || own.answers.peek().get(approval.id) === "sending") {
      return;
    }
    const mark = (state: "sending" | BackendError | null): void => {
      const next = new Map(own.answers.peek());
      if (state === null) {
        next.delete(approval.id);
      } else {
        next.set(approval.id, state);
      }
      own.answers.value = next;
    };
    mark("sending");
    try {
      await backend.agent.DecideApproval({
        commandId: newId(),
        approvalId: approval.id,
        toolCallId: approval.toolCallId,
        inputDigest: approval.inputDigest,
        decision,
      });
      mark(null);
    } catch (error) {
      mark(asBackendError(error));
    }
  }

  async function reconcile(callId: string, verdict: "applied" | "absent"): Promise<void> {
    const own = current.peek();
    own.problem.value = null;
    try {
      await backend.agent.ReconcileCall({ commandId: newId(), toolCallId: callId, verdict });
    } catch (error) {
      own.problem.value = {
        of: "reconcile",
        error: asBackendError(error),
        again: () => void reconcile(callId, verdict),
      };
    }
  }

  async function change(act: () => Promise<unknown>): Promise<void> {
    const own = current.peek();
    own.problem.value = null;
    try {
      await act();
    } catch (error) {
      own.problem.value = { of: "session", error: asBackendError(error), again: () => void change(act) };
    }
  }

  function ownerOf(runId: string): Own | null {
    return [...followed.values()].find((own) => own.latest.runs.has(runId)) ?? null;
  }

  async function attach(): Promise<void> {
    await Promise.all([readArchived(), ...[...followed.values()].map(read)]);
  }

  async function readArchived(): Promise<void> {
    try {
      const sessions = await backend.agent.ArchivedSessions();
      put.value = sessions.filter(({ id }) => !deleted.has(id));
    } catch {
      // Without a Runner there is none to ask. It is asked when one is there.
    }
  }

  const all = computed(() => {
    const view = agent.view.value;
    const known = new Map(put.value.map((session) => [session.id, session]));
    for (const session of view.sessions.values()) {
      known.set(session.id, session);
    }
    return sessionRows({ ...view, sessions: known }, config.folder.value);
  });

  // What is stopping has stopped: the next run of that id does not exist, but the set would grow.
  effect(() => {
    const own = current.value;
    const { runs } = own.timeline.value;
    const left = [...own.stopping.value].filter((id) => !isFinal(runs.get(id)?.run.state ?? "running"));
    if (left.length < own.stopping.value.size) {
      own.stopping.value = new Set(left);
    }
  });

  return {
    rows: computed(() => all.value.filter((row) => row.session.archivedAtMs === 0)),
    archived: computed(() => all.value.filter((row) => row.session.archivedAtMs > 0)),
    current,
    waiting: computed(() => pendingApprovals(agent.view.value).length),
    active: computed(() => activeConversation(agent.view.value)),
    open,
    startNew,
    send,
    stop,
    continueRun,
    answer,
    reconcile,
    rename: (sessionId, title) =>
      change(() => backend.agent.ChangeSession({ commandId: newId(), sessionId, title, archive: "" })),
    archive: (sessionId, away) =>
      change(() =>
        backend.agent.ChangeSession({
          commandId: newId(),
          sessionId,
          title: "",
          archive: away ? "archive" : "restore",
        }),
      ),
    remove: (sessionId) =>
      change(async () => {
        await backend.agent.DeleteSession({ commandId: newId(), sessionId });
        forget(sessionId);
      }),
    message: async (sessionId, messageId) =>
      (await backend.agent.MessageText(sessionId, messageId)).message.parts,
    call: (id) => backend.agent.ToolCall(id),
    proposal: (id) => backend.agent.Proposal(id),
    attach,
  };
}

/** An event that is read again, as the message it was. */
function messagesOf(record: EventRecord): readonly SessionMessage[] {
  const message = decodeMessage(record);
  return message !== null && isSessionMessage(message) ? [message] : [];
}

/** The questions that can still be answered. */
function pendingApprovals(view: AgentView): readonly Approval[] {
  return [...view.approvals.values()].filter((approval) => {
    const run = view.runs.get(approval.runId);
    return run === undefined || !isFinal(run.state);
  });
}

function activeConversation(view: AgentView): Run | null {
  for (const run of view.runs.values()) {
    if (run.kind === "conversation" && run.state !== "queued" && !isFinal(run.state)) {
      return run;
    }
  }
  return null;
}

/** The sessions of conversations, those of the open folder first, the newest first. */
function sessionRows(view: AgentView, folder: string): readonly SessionRow[] {
  const newest = new Map<string, Run>();
  const rewrites = new Set<string>();
  for (const run of view.runs.values()) {
    if (run.kind === "rewrite") {
      rewrites.add(run.sessionId);
      continue;
    }
    const known = newest.get(run.sessionId);
    // A run that waits behind another says less than the one that is under way.
    if (known === undefined || isNewer(run, known)) {
      newest.set(run.sessionId, run);
    }
  }
  const asking = new Set(pendingApprovals(view).map((approval) => approval.runId));
  return [...view.sessions.values()]
    .filter((session) => !rewrites.has(session.id))
    .map((session) => {
      const run = newest.get(session.id) ?? null;
      return {
        session,
        run,
        waiting: run !== null && asking.has(run.id),
        here: session.workspaceId === folder,
      };
    })
    .sort(
      (a, b) =>
        Number(b.here) - Number(a.here) || timeOf(b) - timeOf(a) || b.session.id.localeCompare(a.session.id),
    );
}

function isNewer(run: Run, known: Run): boolean {
  const under = (r: Run): number => (r.state === "queued" ? 1 : isFinal(r.state) ? 0 : 2);
  return (
    under(run) - under(known) > 0 || (under(run) === under(known) && run.createdAtMs >= known.createdAtMs)
  );
}

/** When something last happened in a session, in ms. */
export function timeOf(row: SessionRow): number {
  return Math.max(row.session.updatedAtMs, row.run?.createdAtMs ?? 0, row.run?.endedAtMs ?? 0);
}

function asBackendError(error: unknown): BackendError {
  return error instanceof BackendError ? error : new BackendError("internal");
}
