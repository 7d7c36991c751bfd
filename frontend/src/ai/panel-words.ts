import type { ProposalState, ToolCall, ToolSummary } from "../backend";
import { formatNumber, type MessageKey, t } from "../i18n";
import type { IconName } from "../ui/icon";
import { baseName, folderOf } from "../ui/paths";
import { documentLabel } from "../ui/tree-model";
import type { CallItem, TimelineItem } from "./timeline";

/** How a call stands, as its row shows it. */
export type CallLook = "waiting" | "running" | "done" | "failed" | "denied" | "stopped" | "unknown";

/** How a call stands. One that waits for an answer that cannot come any more has stopped. */
export function lookOf({ call }: CallItem): CallLook {
  switch (call.state) {
    case "proposed":
    case "waiting_for_approval":
      return "waiting";
    case "ready":
    case "running":
      return "running";
    case "succeeded":
      return "done";
    case "failed":
      return call.reason === "permission_denied" || call.reason === "policy_denied" ? "denied" : "failed";
    case "cancelled":
      return "stopped";
    case "unknown":
      return "unknown";
  }
}

/** The icon of a call's state. */
export function lookIcon(look: CallLook): IconName {
  switch (look) {
    case "waiting":
      return "clock";
    case "running":
      return "loader-circle";
    case "done":
      return "check";
    case "failed":
      return "circle-alert";
    case "denied":
    case "stopped":
      return "x";
    case "unknown":
      return "circle-question-mark";
  }
}

const icons: Readonly<Record<string, IconName>> = {
  getActiveDocument: "file-text",
  getSelection: "file-text",
  getOutline: "list-tree",
  searchWorkspace: "search",
  readDocument: "file-text",
  listWorkspace: "folder",
  proposePatch: "pencil-line",
  createDocument: "file-plus",
  renameDocument: "pencil-line",
};

/** The icon of a tool. */
export function toolIcon(name: string): IconName {
  return icons[name] ?? "square-arrow-up";
}

const tools: Readonly<Record<string, MessageKey>> = {
  getActiveDocument: "panel.tool.getActiveDocument",
  getSelection: "panel.tool.getSelection",
  getOutline: "panel.tool.getOutline",
  searchWorkspace: "panel.tool.searchWorkspace",
  readDocument: "panel.tool.readDocument",
  listWorkspace: "panel.tool.listWorkspace",
  proposePatch: "panel.tool.proposePatch",
  createDocument: "panel.tool.createDocument",
  renameDocument: "panel.tool.renameDocument",
};

/** What a call does and to what: "Read Timetable 2026". */
export function callWords({ call }: CallItem, look: CallLook): string {
  const key = tools[call.name];
  const name = objectOf(call);
  return key === undefined
    ? t("panel.tool.other", { name: call.name })
    : t(key, { state: look === "running" || look === "done" ? look : "other", name });
}

/** What a call is about, in a few words; "" when it does not say. */
export function objectOf(call: ToolCall): string {
  const input = inputOf(call.input);
  switch (call.name) {
    case "searchWorkspace":
      return input("query");
    case "createDocument":
      return documentLabel(input("name"));
    case "listWorkspace":
      return input("path");
    case "proposePatch":
      return "";
    default:
      return documentLabel(baseName(input("path") || call.facts.path));
  }
}

const reasons: Readonly<Record<string, MessageKey>> = {
  permission_denied: "panel.reason.denied",
  expired: "panel.reason.expired",
  policy_denied: "panel.reason.notAllowed",
  invalid_input: "panel.reason.input",
  interrupted_read: "panel.reason.interrupted",
  no_effect: "panel.reason.noEffect",
  not_granted: "panel.reason.notGranted",
  outside_workspace: "panel.reason.notGranted",
  not_found: "panel.reason.notFound",
  exists: "panel.reason.exists",
  read_only: "panel.reason.readOnly",
  too_large: "panel.reason.tooLarge",
  timeout: "panel.reason.timeout",
  stale: "panel.reason.stale",
  not_in_document: "panel.reason.notInDocument",
  empty_old_text: "panel.reason.notInDocument",
  ambiguous: "panel.reason.ambiguous",
  no_change: "panel.reason.noChange",
};

/** Why a call did not do what it was to do, in a word or two. */
export function reasonWords(reason: string): string {
  return t(reasons[reason] ?? "panel.reason.failed");
}

const helps: Readonly<Record<string, MessageKey>> = {
  permission_denied: "panel.help.denied",
  policy_denied: "panel.help.notAllowed",
  expired: "panel.help.expired",
  interrupted_read: "panel.help.interrupted",
  no_answer: "panel.help.noAnswer",
  no_effect: "panel.help.noEffect",
  timeout: "panel.help.timeout",
};

/** What happened to a call and what can be done now; "" where its result says it. */
export function helpWords(reason: string): string {
  const key = helps[reason];
  return key === undefined ? "" : t(key);
}

const ends: Readonly<Record<string, readonly [title: MessageKey, text: MessageKey]>> = {
  budget_time: ["panel.end.time.title", "panel.end.limit.text"],
  budget_steps: ["panel.end.steps.title", "panel.end.limit.text"],
  budget_tokens: ["panel.end.tokens.title", "panel.end.limit.text"],
  budget_tool_output: ["panel.end.output.title", "panel.end.limit.text"],
  budget_quotes: ["panel.end.quotes.title", "panel.end.quotes.text"],
  unknown_outcome: ["panel.end.unknown.title", "panel.end.unknown.text"],
};

/** Why a run ended before it was done, and what can be done now; null where its fault says it. */
export function endReason(reason: string): { readonly title: string; readonly text: string } | null {
  const words = ends[reason];
  return words === undefined ? null : { title: t(words[0]), text: t(words[1]) };
}

/** What stands at the end of a call's row: how much, or why not. */
export function callNote(item: CallItem, look: CallLook): string {
  const { facts, reason, name } = item.call;
  switch (look) {
    case "waiting":
    case "running":
      return "";
    case "done":
      if (name === "searchWorkspace") {
        return facts.more ? t("panel.hits.more", { n: facts.hits }) : t("panel.hits", { n: facts.hits });
      }
      if (name === "listWorkspace" && facts.files > 0) {
        return t("panel.files", { n: facts.files });
      }
      return facts.bytes > 0 ? byteWords(facts.bytes) : "";
    case "failed":
    case "denied":
      return reasonWords(reason);
    case "stopped":
      return t(reason === "expired" ? "panel.reason.expired" : "panel.reason.stopped");
    case "unknown":
      return t(
        item.verdict?.verdict === "applied"
          ? "panel.verdict.applied"
          : item.verdict?.verdict === "absent"
            ? "panel.verdict.absent"
            : "panel.reason.unknown",
      );
  }
}

/** A size: "3,118 B", "18 KB". */
function byteWords(bytes: number): string {
  return bytes < 10_000 ? `${formatNumber(bytes)} B` : `${formatNumber(Math.round(bytes / 1000))} KB`;
}

/** The question that an approval puts. */
export function questionOf(item: CallItem, summary: ToolSummary): string {
  switch (item.call.name) {
    case "createDocument":
      return t("panel.ask.create");
    case "renameDocument":
      return t("panel.ask.rename", { name: documentLabel(baseName(summary.path)) });
    case "readDocument":
    case "getActiveDocument":
      return t("panel.ask.read", {
        path: summary.path,
        size: summary.bytes > 0 ? byteWords(summary.bytes) : "",
      });
    case "searchWorkspace":
      return t("panel.ask.search", { query: summary.text || objectOf(item.call) });
    case "listWorkspace":
      return t("panel.ask.list");
    default:
      return t("panel.ask.other", { name: item.call.name });
  }
}

/** The name of the document of a URI: "The Night Ferry". */
export function documentOf(uri: string): string {
  if (!uri.startsWith("file:")) {
    return t("panel.untitled");
  }
  const last = uri.slice(uri.lastIndexOf("/") + 1);
  try {
    return documentLabel(decodeURIComponent(last));
  } catch {
    return documentLabel(last);
  }
}

/** Whether nothing of a proposal is left to decide. */
export function isDecided(state: ProposalState): boolean {
  return state !== "proposed" && state !== "partly_applied";
}

/** Looks the fields of a call's input up, as text. */
export function inputOf(input: unknown): (name: string) => string {
  const fields: Readonly<Record<string, unknown>> =
    typeof input === "object" && input !== null ? { ...input } : {};
  return (name) => {
    const value = fields[name];
    return typeof value === "string" ? value : "";
  };
}

/** A call's input as lines, one a field. */
export function inputLines(input: unknown): string {
  if (typeof input !== "object" || input === null) {
    return String(input ?? "");
  }
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}

/** The folder, relative to the workspace, that a call writes to. */
export function targetFolder(call: ToolCall): string {
  const input = inputOf(call.input);
  return call.name === "createDocument" ? input("dir") : folderOf(input("path"));
}

/** How many calls changed something on the disk. */
export function callsWrote(calls: readonly CallItem[]): number {
  return calls.filter(({ call }) => call.state === "succeeded" && isWrite(call.name)).length;
}

function isWrite(name: string): boolean {
  return name === "createDocument" || name === "renameDocument";
}

/** What is said of a run that was stopped: whether it had begun, and what it had done. */
export function endWords(begun: boolean, wrote: number): string {
  return begun ? t("panel.stopped", { n: wrote }) : t("panel.takenBack");
}

/** How much of an answer is read out, in UTF-16 units. */
const mostSpoken = 2000;

/** What a screen reader is told of an item that is new. */
export function plainWords(item: TimelineItem): string[] {
  switch (item.type) {
    case "answer":
      return item.text.trim() === ""
        ? []
        : [t("panel.spoken.answer", { text: item.text.slice(0, mostSpoken) })];
    case "call":
      return item.approval?.state === "pending"
        ? [t("panel.spoken.ask", { text: questionOf(item, item.approval.summary) })]
        : [];
    case "end":
      switch (item.state) {
        case "cancelled":
          return [t("panel.spoken.stopped")];
        case "failed":
          return [t("panel.spoken.failed")];
        case "interrupted":
          return [t("panel.spoken.interrupted")];
        case "succeeded":
          return [];
      }
      return [];
    case "asked":
    case "proposal":
    case "continued":
    case "model":
      return [];
  }
}
