/** Events of a session, for tests. */

import type { BackendEvent, MessageCommitted, Run, ToolCall, ToolCallState, Usage } from "../backend";
import type { SessionMessage } from "./timeline";

/** Usage that nobody counted. */
export const noUsage: Usage = { kind: "unknown", input: 0, output: 0, cached: 0, reasoning: 0 };

/** A run of session `s` that has just been accepted. */
export function run(id: string): Run {
  return {
    id,
    sessionId: "s",
    commandId: `command of ${id}`,
    parentRunId: "",
    kind: "conversation",
    state: "queued",
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
    usage: noUsage,
    docUri: "",
    tools: [],
    createdAtMs: 1,
    startedAtMs: 0,
    endedAtMs: 0,
  };
}

/** A committed event of run `r1` in session `s`. */
export function committed<T extends SessionMessage["type"]>(
  seq: number,
  type: T,
  payload: Extract<BackendEvent, { readonly type: T }>["payload"],
): SessionMessage {
  // The type says what the payload is.
  return {
    n: seq,
    type,
    seq,
    runId: "r1",
    sessionId: "s",
    atMs: 1000 + seq,
    ref: false,
    payload,
  } as unknown as SessionMessage;
}

/** A message of a person or a model. */
export function said(messageId: string, role: "user" | "assistant", text: string): MessageCommitted {
  return {
    messageId,
    ord: 1,
    message: { role, parts: [{ type: "text", text }] },
    status: "complete",
    attempt: role === "user" ? 0 : 1,
  };
}

/** An answer of a model. */
export function answer(messageId: string, text: string): MessageCommitted {
  return said(messageId, "assistant", text);
}

/** A call of readDocument in run `r1`. */
export function call(id: string, state: ToolCallState): ToolCall {
  return {
    id,
    runId: "r1",
    modelCallId: "",
    ord: 1,
    providerCallId: "",
    name: "readDocument",
    kind: "read",
    input: { path: "a.md" },
    inputDigest: "d",
    state,
    reason: "",
    attempt: 1,
    result: "",
    truncated: false,
    artifactId: "",
    facts: { path: "", bytes: 0, hits: 0, files: 0, version: 0, more: false },
    proposedAtMs: 1,
    readyAtMs: 0,
    startedAtMs: 0,
    endedAtMs: 0,
  };
}
