import type {
  AgentState,
  Approval,
  Message,
  Preview,
  Proposal,
  Run,
  RunChanged,
  RunnerState,
  Session,
} from "../backend";

/** What the page knows of the agent host. */
export interface AgentView {
  /** The seq of the newest committed event that is part of this view. */
  readonly cursor: number;
  readonly runner: RunnerState;
  readonly runs: ReadonlyMap<string, Run>;
  readonly proposals: ReadonlyMap<string, Proposal>;
  readonly sessions: ReadonlyMap<string, Session>;
  /** The questions that wait for an answer. */
  readonly approvals: ReadonlyMap<string, Approval>;
}

/** The view before the page has attached. */
export const noAgent: AgentView = {
  cursor: 0,
  runner: { status: "starting", code: "", pid: 0, restarts: 0 },
  runs: new Map(),
  proposals: new Map(),
  sessions: new Map(),
  approvals: new Map(),
};

/** The messages that change the view. */
export type AgentMessage = Message<
  | "run.accepted"
  | "run.started"
  | "run.waiting"
  | "run.resumed"
  | "run.cancelling"
  | "run.cancelled"
  | "run.succeeded"
  | "run.failed"
  | "run.interrupted"
  | "proposal.created"
  | "proposal.decided"
  | "session.created"
  | "session.changed"
  | "session.deleted"
  | "approval.asked"
  | "approval.decided"
  | "runner.changed"
>;

/** The view as it stands at the host's cursor. */
export function viewOf(state: AgentState): AgentView {
  return {
    cursor: state.cursor,
    runner: state.runner,
    runs: new Map(state.runs.map((run) => [run.id, run])),
    proposals: new Map(state.proposals.map((proposal) => [proposal.id, proposal])),
    sessions: new Map(state.sessions.map((session) => [session.id, session])),
    approvals: new Map(
      state.approvals.filter(({ state }) => state === "pending").map((approval) => [approval.id, approval]),
    ),
  };
}

/**
 * Carries the view over one message. A committed event that is already part of
 * the view (its seq is not above the cursor) changes nothing.
 */
export function reduce(view: AgentView, message: AgentMessage): AgentView {
  if (message.type === "runner.changed") {
    return { ...view, runner: message.payload };
  }
  if (message.seq <= view.cursor) {
    return view;
  }
  const next = { ...view, cursor: message.seq };
  switch (message.type) {
    case "run.accepted":
      return { ...next, runs: new Map(view.runs).set(message.payload.id, message.payload) };
    case "proposal.created":
      return { ...next, proposals: new Map(view.proposals).set(message.payload.id, message.payload) };
    case "proposal.decided": {
      const proposal = view.proposals.get(message.payload.proposalId);
      if (proposal === undefined) {
        return next;
      }
      const outcomes = new Map(message.payload.hunks.map(({ id, outcome }) => [id, outcome]));
      const changed: Proposal = {
        ...proposal,
        state: message.payload.state,
        hunks: proposal.hunks.map((hunk) => ({
          ...hunk,
          ...(outcomes.has(hunk.id) && { outcome: outcomes.get(hunk.id) ?? "open" }),
        })),
        decidedAtMs: message.payload.state === "proposed" ? 0 : message.atMs,
      };
      return { ...next, proposals: new Map(view.proposals).set(proposal.id, changed) };
    }
    case "session.created":
    case "session.changed":
      return { ...next, sessions: new Map(view.sessions).set(message.payload.id, message.payload) };
    case "session.deleted": {
      const sessions = new Map(view.sessions);
      sessions.delete(message.payload.sessionId);
      const gone = (runId: string): boolean => view.runs.get(runId)?.sessionId === message.payload.sessionId;
      return {
        ...next,
        sessions,
        runs: new Map([...view.runs].filter(([id]) => !gone(id))),
        proposals: new Map([...view.proposals].filter(([, { runId }]) => !gone(runId))),
      };
    }
    case "approval.asked":
    case "approval.decided": {
      const approvals = new Map(view.approvals);
      if (message.payload.state === "pending") {
        approvals.set(message.payload.id, message.payload);
      } else {
        approvals.delete(message.payload.id);
      }
      return { ...next, approvals };
    }
    default:
      return { ...next, runs: changeRun(view.runs, message.runId, message.payload, message.atMs) };
  }
}

function changeRun(
  runs: ReadonlyMap<string, Run>,
  id: string,
  change: RunChanged,
  atMs: number,
): ReadonlyMap<string, Run> {
  const run = runs.get(id);
  if (run === undefined) {
    return runs;
  }
  const { fault: _, ...rest } = run;
  return new Map(runs).set(id, {
    ...rest,
    state: change.state,
    reason: change.reason,
    usage: change.usage,
    ...(change.fault && { fault: change.fault }),
    ...(isFinal(change.state) && { endedAtMs: atMs }),
  });
}

/** Whether a run in this state can change no more. */
function isFinal(state: Run["state"]): boolean {
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

/** What is shown of a run's answer. */
export interface Shown {
  /** The attempt whose words these are; 0 before there are any. */
  readonly attempt: number;
  readonly text: string;
}

/**
 * What is shown after a preview: the first `keep` UTF-16 units and what was
 * added. The words of an earlier attempt are void, whenever they come.
 */
export function applyPreview(shown: Shown, preview: Preview): Shown {
  if (preview.attempt < shown.attempt) {
    return shown;
  }
  const before = preview.attempt > shown.attempt ? "" : shown.text;
  return { attempt: preview.attempt, text: before.slice(0, preview.keep) + preview.text };
}
