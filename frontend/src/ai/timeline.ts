import type {
  Approval,
  CallPhase,
  EventType,
  FaultInfo,
  MessageCommitted,
  Message as MessageOf,
  ModelRef,
  Preview,
  Proposal,
  Run,
  RunChanged,
  ToolCall,
  ToolVerdict,
} from "../backend";

/** One session as a person sees it: what happened, in order, and what is happening. */
export interface Timeline {
  readonly sessionId: string;
  /** The newest seq that is part of it. */
  readonly cursor: number;
  readonly items: readonly TimelineItem[];
  readonly runs: ReadonlyMap<string, RunView>;
  /** Messages whose run has not begun, the oldest first. */
  readonly queue: readonly AskedItem[];
  /** What of answers has arrived but is not committed, by run. */
  readonly streams: ReadonlyMap<string, Stream>;
  /** What the newest request to a model held; null before there was one. */
  readonly context: ContextUse | null;
  /** Events of runs that are not known yet, by run (R10). */
  readonly held: ReadonlyMap<string, readonly SessionMessage[]>;
}

/** What every item has. `key` is stable and unique in its session. */
interface Item {
  readonly key: string;
  readonly runId: string;
  /** When it was committed, in ms since 1970. */
  readonly atMs: number;
}

/** What the person said. */
export interface AskedItem extends Item {
  readonly type: "asked";
  readonly messageId: string;
  readonly text: string;
  /** False while the text is to be fetched by its id. */
  readonly whole: boolean;
}

/** What a model said in one step. */
export interface AnswerItem extends Item {
  readonly type: "answer";
  readonly messageId: string;
  readonly text: string;
  /** What it thought before, where the provider tells; "" for nothing. */
  readonly thinking: string;
  /** How long it thought, in ms, as seen while it came; 0 when nobody watched. */
  readonly thoughtMs: number;
  /** It broke off: what came is kept. */
  readonly partial: boolean;
  readonly whole: boolean;
}

/** One call of a tool, from when it was proposed. */
export interface CallItem extends Item {
  readonly type: "call";
  readonly call: ToolCall;
  /** The newest question to the person about it; null for none. */
  readonly approval: Approval | null;
  /** What was found out of it afterwards; null for nothing. */
  readonly verdict: { readonly verdict: ToolVerdict; readonly by: string } | null;
  readonly whole: boolean;
}

/** A proposal that a tool call led to. */
export interface ProposalItem extends Item {
  readonly type: "proposal";
  readonly proposal: Proposal;
  readonly whole: boolean;
}

/** How a run ended, where there is something to say of it. */
export interface EndItem extends Item {
  readonly type: "end";
  readonly state: "succeeded" | "failed" | "cancelled" | "interrupted";
  readonly reason: string;
  readonly outcome: string;
  readonly fault: FaultInfo | null;
  /** The run had begun. */
  readonly begun: boolean;
  /** A server cut what it was sent, without a word. */
  readonly clipped?: true;
}

/** A run goes on where another ended. */
export interface ContinuedItem extends Item {
  readonly type: "continued";
  readonly parentRunId: string;
}

/** From here on another model answers. */
export interface ModelItem extends Item {
  readonly type: "model";
  readonly model: ModelRef;
}

/** One thing that happened. */
export type TimelineItem =
  | AskedItem
  | AnswerItem
  | CallItem
  | ProposalItem
  | EndItem
  | ContinuedItem
  | ModelItem;

/** A run, and how far it is. */
export interface RunView {
  readonly run: Run;
  /** Of its newest request to the model; 0 before the first. */
  readonly step: number;
  readonly attempt: number;
  /** Where that request stands; "" before the first. */
  readonly phase: CallPhase | "";
  /** The fault that ended it; "" for none. */
  readonly code: string;
  /** When that request was begun, in ms; 0 before the first. */
  readonly begunAtMs: number;
  /** Its item of the model or of the run it continues has been put down. */
  readonly placed: boolean;
}

/** What of an answer has arrived. Nothing of it is kept yet. */
export interface Stream {
  /** Whose words these are. Words of this one and earlier ones are void when `done`. */
  readonly attempt: number;
  readonly text: string;
  /** How much before `text` was missed, in UTF-16 units; 0 for nothing. */
  readonly missed: number;
  /** The model reasons, and no word has come. */
  readonly thinking: boolean;
  /** When the first sign of reasoning came, in ms; 0 for never. */
  readonly thinkingSinceMs: number;
  /** How long it reasoned, once the first word has come, in ms. */
  readonly thoughtMs: number;
  /** The attempt is committed or withdrawn: what comes of it late is dropped. */
  readonly done: boolean;
}

/** How much a request held. */
export interface ContextUse {
  readonly tokens: number;
  /** What the model takes; 0 when that is not known. */
  readonly size: number;
  readonly kind: "estimated" | "measured";
}

/** The types of event that change a timeline. */
const sessionTypes = [
  "run.accepted",
  "run.started",
  "run.waiting",
  "run.resumed",
  "run.cancelling",
  "run.cancelled",
  "run.succeeded",
  "run.failed",
  "run.interrupted",
  "message.committed",
  "attempt.withdrawn",
  "model_call.begun",
  "model_call.ended",
  "tool.changed",
  "tool.reconciled",
  "approval.asked",
  "approval.decided",
  "proposal.created",
  "proposal.decided",
  "preview",
] as const;

/** A message about a session. Previews carry the time at which they came. */
export type SessionMessage = MessageOf<(typeof sessionTypes)[number]>;

/** The types of event that change a timeline, previews among them. */
export const timelineTypes: readonly SessionMessage["type"][] = sessionTypes;

/** Reports whether a message is one of those that change a timeline. */
export function isSessionMessage(message: MessageOf): message is SessionMessage {
  const types: readonly EventType[] = sessionTypes;
  return types.includes(message.type);
}

/** A session of which nothing is known yet. */
export function emptyTimeline(sessionId: string): Timeline {
  return {
    sessionId,
    cursor: 0,
    items: [],
    runs: new Map(),
    queue: [],
    streams: new Map(),
    context: null,
    held: new Map(),
  };
}

/**
 * Carries a timeline over messages, in their order. A committed event that is
 * already part of it is dropped by its seq, a preview of an attempt that is
 * over by its number, and an event of a run that is not known waits until the
 * run is (R10). The timeline that was given stays as it is.
 */
export function carry(timeline: Timeline, messages: Iterable<SessionMessage>): Timeline {
  const draft = draftOf(timeline);
  let changed = false;
  for (const message of messages) {
    changed = take(draft, message) || changed;
  }
  return changed ? { ...draft } : timeline;
}

/** Makes a run known that no event made known, as one whose first events are cleaned away. */
export function know(timeline: Timeline, run: Run): Timeline {
  if (timeline.runs.has(run.id)) {
    return timeline;
  }
  const draft = draftOf(timeline);
  draft.runs.set(run.id, viewOf(run));
  release(draft, run.id);
  return { ...draft };
}

/** The run that holds the session: it is running, waits for a person, or is being stopped. */
export function activeRun(timeline: Timeline): RunView | null {
  for (const view of timeline.runs.values()) {
    const { state } = view.run;
    if (state === "running" || state === "waiting_for_approval" || state === "cancelling") {
      return view;
    }
  }
  return null;
}

/** The calls that wait for a person's answer. */
export function waitingCalls(timeline: Timeline): readonly CallItem[] {
  return timeline.items.filter(
    (item): item is CallItem => item.type === "call" && item.approval?.state === "pending",
  );
}

/** The calls of a run, in order. */
export function callsOf(timeline: Timeline, runId: string): readonly CallItem[] {
  return timeline.items.filter((item): item is CallItem => item.type === "call" && item.runId === runId);
}

/** A timeline that is being changed. */
interface Draft extends Timeline {
  cursor: number;
  items: TimelineItem[];
  runs: Map<string, RunView>;
  queue: readonly AskedItem[];
  streams: Map<string, Stream>;
  context: ContextUse | null;
  held: Map<string, readonly SessionMessage[]>;
}

function draftOf(timeline: Timeline): Draft {
  return {
    ...timeline,
    items: [...timeline.items],
    runs: new Map(timeline.runs),
    streams: new Map(timeline.streams),
    held: new Map(timeline.held),
  };
}

/** Takes one message in. Reports whether it changed anything. */
function take(draft: Draft, message: SessionMessage): boolean {
  if (message.type === "preview") {
    return takePreview(draft, message);
  }
  if (message.type === "run.accepted" && !draft.runs.has(message.payload.id)) {
    // Whatever its seq: what waited for it may have a higher one.
    draft.cursor = Math.max(draft.cursor, message.seq);
    draft.runs.set(message.payload.id, viewOf(message.payload));
    release(draft, message.payload.id);
    return true;
  }
  if (message.seq <= draft.cursor) {
    return false;
  }
  draft.cursor = message.seq;
  if (!draft.runs.has(message.runId)) {
    hold(draft, message.runId, message);
    return true;
  }
  apply(draft, message);
  return true;
}

function hold(draft: Draft, runId: string, message: SessionMessage): void {
  draft.held.set(runId, [...(draft.held.get(runId) ?? []), message]);
}

function release(draft: Draft, runId: string): void {
  const waiting = draft.held.get(runId) ?? [];
  draft.held.delete(runId);
  for (const message of [...waiting].sort((a, b) => a.seq - b.seq)) {
    apply(draft, message);
  }
}

function takePreview(draft: Draft, message: MessageOf<"preview">): boolean {
  const { runId } = message.payload;
  const view = draft.runs.get(runId);
  if (view === undefined) {
    // They say what is to be kept of the ones before: none may be left out.
    const waiting = draft.held.get(runId) ?? [];
    draft.held.set(runId, [...waiting, message]);
    return true;
  }
  if (isFinal(view.run.state) || view.run.state === "cancelling") {
    return false;
  }
  const before = draft.streams.get(runId) ?? noStream;
  const after = addPreview(before, message.payload, message.atMs);
  draft.streams.set(runId, after);
  return after !== before;
}

const noStream: Stream = {
  attempt: 0,
  text: "",
  missed: 0,
  thinking: false,
  thinkingSinceMs: 0,
  thoughtMs: 0,
  done: false,
};

/** What has arrived after a preview. One of an attempt that is over changes nothing. */
export function addPreview(stream: Stream, preview: Preview, atMs: number): Stream {
  const { attempt, keep, text, thinking } = preview;
  if (attempt < stream.attempt || (attempt === stream.attempt && stream.done)) {
    return stream;
  }
  const before = attempt > stream.attempt ? noStream : stream;
  // Who joins in the middle has not what is to be kept.
  const kept = keep - before.missed;
  const joins = kept >= 0 && kept <= before.text.length;
  const words = joins ? before.text.slice(0, kept) + text : text;
  const since = before.thinkingSinceMs || (thinking ? atMs : 0);
  const first = before.text === "" && words !== "" && since > 0;
  return {
    attempt,
    text: words,
    missed: joins ? before.missed : keep,
    thinking: thinking && words === "",
    thinkingSinceMs: since,
    thoughtMs: first ? Math.max(0, atMs - since) : before.thoughtMs,
    done: false,
  };
}

function apply(draft: Draft, message: SessionMessage): void {
  const { runId, atMs } = message;
  const view = draft.runs.get(runId);
  if (view === undefined) {
    return;
  }
  switch (message.type) {
    case "run.accepted":
      return;
    case "preview":
      takePreview(draft, message);
      return;
    case "run.started":
      begin(draft, changed(draft, view, message.payload, atMs), atMs);
      return;
    case "run.waiting":
    case "run.resumed":
    case "run.cancelling":
      changed(draft, view, message.payload, atMs);
      return;
    case "run.cancelled":
    case "run.succeeded":
    case "run.failed":
    case "run.interrupted":
      end(draft, view, message);
      return;
    case "message.committed":
      commit(draft, view, message.payload, !message.ref, atMs);
      return;
    case "attempt.withdrawn":
      close(draft, runId, message.payload.attempt);
      return;
    case "model_call.begun": {
      const { step, attempt, contextTokens, contextSize } = message.payload;
      draft.runs.set(runId, { ...view, step, attempt, phase: "prepared", code: "", begunAtMs: atMs });
      draft.context = { tokens: contextTokens, size: contextSize, kind: "estimated" };
      return;
    }
    case "model_call.ended": {
      const { attempt, phase, usage, code } = message.payload;
      if (attempt === view.attempt) {
        draft.runs.set(runId, { ...view, phase, code });
      }
      if (usage.kind === "exact" && usage.input > 0 && draft.context !== null) {
        draft.context = { ...draft.context, tokens: usage.input, kind: "measured" };
      }
      return;
    }
    case "tool.changed":
      putCall(draft, message.payload, !message.ref, atMs);
      return;
    case "tool.reconciled": {
      const { call, verdict, by } = message.payload;
      putCall(draft, call, !message.ref, atMs);
      update(draft, "call", call.id, (item) => ({ ...item, verdict: { verdict, by } }));
      return;
    }
    case "approval.asked":
    case "approval.decided": {
      const approval = message.payload;
      update(draft, "call", approval.toolCallId, (item) => ({ ...item, approval }));
      return;
    }
    case "proposal.created": {
      const proposal = message.payload;
      if (!draft.items.some((item) => item.key === proposal.id)) {
        draft.items.push({
          type: "proposal",
          key: proposal.id,
          runId,
          atMs,
          proposal,
          whole: !message.ref,
        });
      }
      return;
    }
    case "proposal.decided": {
      const { proposalId, state, hunks } = message.payload;
      const outcomes = new Map(hunks.map((hunk) => [hunk.id, hunk.outcome]));
      update(draft, "proposal", proposalId, (item) => ({
        ...item,
        proposal: {
          ...item.proposal,
          state,
          decidedAtMs: atMs,
          hunks: item.proposal.hunks.map((hunk) => {
            const outcome = outcomes.get(hunk.id);
            return outcome === undefined ? hunk : { ...hunk, outcome };
          }),
        },
      }));
      return;
    }
  }
}

/** Puts a run's new state down; the result is the run as it is then. */
function changed(draft: Draft, view: RunView, change: RunChanged, atMs: number): RunView {
  const { fault: _, ...rest } = view.run;
  const next: RunView = {
    ...view,
    run: {
      ...rest,
      state: change.state,
      reason: change.reason,
      usage: change.usage,
      ...(change.fault && { fault: change.fault }),
      ...(change.state === "running" && view.run.startedAtMs === 0 && { startedAtMs: atMs }),
      ...(isFinal(change.state) && { endedAtMs: atMs }),
    },
  };
  draft.runs.set(view.run.id, next);
  return next;
}

/** A run begins: what it answers leaves the queue and takes its place. */
function begin(draft: Draft, view: RunView, atMs: number): void {
  if (view.placed) {
    return;
  }
  const { run } = view;
  draft.runs.set(run.id, { ...view, placed: true });
  const before = lastPlaced(draft, run.id);
  if (run.parentRunId !== "") {
    draft.items.push({
      type: "continued",
      key: `${run.id} continued`,
      runId: run.id,
      atMs,
      parentRunId: run.parentRunId,
    });
  }
  if (before !== null && !isSameModel(before.run.model, run.model)) {
    draft.items.push({ type: "model", key: `${run.id} model`, runId: run.id, atMs, model: run.model });
  }
  const asked = draft.queue.filter((item) => item.runId === run.id);
  draft.queue = draft.queue.filter((item) => item.runId !== run.id);
  draft.items.push(...asked);
}

/** The run that was put down before this one; null for none. */
function lastPlaced(draft: Draft, runId: string): RunView | null {
  for (let at = draft.items.length - 1; at >= 0; at -= 1) {
    const item = draft.items[at];
    if (item !== undefined && item.runId !== runId) {
      return draft.runs.get(item.runId) ?? null;
    }
  }
  return null;
}

function isSameModel(a: ModelRef, b: ModelRef): boolean {
  return a.providerId === b.providerId && a.model === b.model;
}

type Ended = Extract<
  SessionMessage,
  { readonly type: "run.cancelled" | "run.succeeded" | "run.failed" | "run.interrupted" }
>;

function end(draft: Draft, view: RunView, message: Ended): void {
  const { runId, atMs, payload } = message;
  const begun = view.placed;
  const next = changed(draft, view, payload, atMs);
  // What was asked is shown also when the run never began.
  begin(draft, next, atMs);
  draft.streams.delete(runId);
  const state = endState(message.type);
  const said = state !== "succeeded" || payload.outcome === "cut_off" || payload.outcome === "refused";
  if (said || payload.fault !== undefined || payload.clipped === true) {
    draft.items.push({
      type: "end",
      key: `${runId} end`,
      runId,
      atMs,
      state,
      reason: payload.reason,
      outcome: payload.outcome,
      fault: payload.fault ?? null,
      begun,
      ...(payload.clipped === true && { clipped: true }),
    });
  }
}

function endState(type: Ended["type"]): EndItem["state"] {
  switch (type) {
    case "run.cancelled":
      return "cancelled";
    case "run.succeeded":
      return "succeeded";
    case "run.failed":
      return "failed";
    case "run.interrupted":
      return "interrupted";
  }
}

function commit(
  draft: Draft,
  view: RunView,
  committed: MessageCommitted,
  whole: boolean,
  atMs: number,
): void {
  const { messageId, message, status, attempt } = committed;
  const runId = view.run.id;
  if (message.role === "user") {
    const item: AskedItem = {
      type: "asked",
      key: messageId,
      runId,
      atMs,
      messageId,
      text: textOf(committed, "text"),
      whole,
    };
    if (view.placed) {
      draft.items.push(item);
    } else {
      draft.queue = [...draft.queue, item];
    }
    return;
  }
  if (message.role !== "assistant") {
    return;
  }
  const thoughtMs = draft.streams.get(runId)?.thoughtMs ?? 0;
  close(draft, runId, attempt);
  const text = textOf(committed, "text");
  const thinking = textOf(committed, "reasoning");
  if (status === "discarded" || (whole && text.trim() === "" && thinking.trim() === "")) {
    return;
  }
  const item: AnswerItem = {
    type: "answer",
    key: messageId,
    runId,
    atMs,
    messageId,
    text,
    thinking,
    thoughtMs,
    partial: status === "partial",
    whole,
  };
  // The calls it asks for are committed with it and stand below it.
  let at = draft.items.length;
  while (isNewCall(draft.items[at - 1], runId)) {
    at -= 1;
  }
  draft.items.splice(at, 0, item);
}

function isNewCall(item: TimelineItem | undefined, runId: string): boolean {
  return item?.type === "call" && item.runId === runId && item.call.state === "proposed";
}

/** The words of a message, those of one kind of part. */
function textOf(committed: MessageCommitted, type: "text" | "reasoning"): string {
  return committed.message.parts
    .filter((part) => part.type === type)
    .map((part) => part.text ?? "")
    .join("\n\n");
}

/** An attempt is over, by its commit or because it failed: what arrived of it is void. */
function close(draft: Draft, runId: string, attempt: number): void {
  const stream = draft.streams.get(runId) ?? noStream;
  draft.streams.set(runId, { ...noStream, attempt: Math.max(attempt, stream.attempt), done: true });
}

function putCall(draft: Draft, call: ToolCall, whole: boolean, atMs: number): void {
  const known = update(draft, "call", call.id, (item) => ({ ...item, call, whole }));
  if (!known) {
    const item: CallItem = {
      type: "call",
      key: call.id,
      runId: call.runId,
      atMs,
      call,
      approval: null,
      verdict: null,
      whole,
    };
    draft.items.push(item);
  }
}

/** Changes the item of an id, which is most often near the end. Reports whether there is one. */
function update<T extends TimelineItem["type"]>(
  draft: Draft,
  type: T,
  key: string,
  change: (item: Extract<TimelineItem, { readonly type: T }>) => TimelineItem,
): boolean {
  for (let at = draft.items.length - 1; at >= 0; at -= 1) {
    const item = draft.items[at];
    if (item !== undefined && item.key === key && isOf(item, type)) {
      draft.items[at] = change(item);
      return true;
    }
  }
  return false;
}

function isOf<T extends TimelineItem["type"]>(
  item: TimelineItem,
  type: T,
): item is Extract<TimelineItem, { readonly type: T }> {
  return item.type === type;
}

function viewOf(run: Run): RunView {
  return {
    run,
    step: 0,
    attempt: 0,
    phase: "",
    code: "",
    begunAtMs: 0,
    // One that is known from elsewhere may have begun long ago.
    placed: run.state !== "queued",
  };
}

/** Whether a run in this state can change no more. */
export function isFinal(state: Run["state"]): boolean {
  switch (state) {
    case "cancelled":
    case "succeeded":
    case "failed":
    case "interrupted":
      return true;
    case "queued":
    case "running":
    case "waiting_for_approval":
    case "cancelling":
      return false;
  }
}
