import type { FaultCode, FaultInfo } from "../backend";
import { type MessageKey, t } from "../i18n";
import type { NoticeKind } from "./notice";

/** The next steps that failures offer. Who shows a failure does those that can be done there. */
export type FaultAction =
  | "addProvider"
  | "addKey"
  | "replaceKey"
  | "chooseModel"
  | "chooseOtherModel"
  | "useOtherModel"
  | "useLargerModel"
  | "retry"
  | "openBilling"
  | "openSettings"
  | "networkSettings"
  | "addCertificate"
  | "editRequest"
  | "shorten"
  | "continue"
  | "continueRun"
  | "restart"
  | "regenerate"
  | "saveElsewhere"
  | "keepUntilQuit"
  | "lookAgain"
  | "keepMine"
  | "takeTheirs"
  | "compare"
  | "openFolder"
  | "dismiss";

/** A failure in a person's words. */
export interface FaultText {
  /** What happened. */
  readonly title: string;
  /** What holds, or what to do. */
  readonly text: string;
  readonly kind: NoticeKind;
  /** Next steps, the best first; never empty. */
  readonly actions: readonly FaultAction[];
}

/** What is known of a failure besides its code. */
export type FaultFacts = Pick<FaultInfo, "detail" | "retryAfterMs"> & {
  readonly code: FaultCode;
  /** The provider's name; absent when none is concerned. */
  readonly provider?: string | undefined;
  /** The model that was asked; "" for none chosen. */
  readonly model?: string | undefined;
};

interface Row {
  readonly title: MessageKey;
  readonly text: MessageKey;
  readonly kind: NoticeKind;
  readonly actions: readonly FaultAction[];
}

/** Says a failure in the language of the interface. */
export function describeFault(fault: FaultFacts): FaultText {
  const row = rows[fault.code];
  const answer = answered(fault.detail);
  const more = beside(fault);
  const params = {
    provider: fault.provider ?? t("faults.provider"),
    model: fault.model ?? "",
    detail: more?.host ?? (answer === null ? fault.detail : factOf(fault.code, answer)),
    seconds: Math.ceil(fault.retryAfterMs / 1000),
  };
  const said = answer === null || answer.words === "" || fault.code === "bad_request" ? "" : answer.words;
  const text = more === null || more.text === null ? t(row.text, params) : t(more.text, { said: more.said });
  return {
    title: t(row.title, params),
    text: said === "" ? text : t("faults.said", { text, words: said }),
    kind: row.kind,
    actions: row.actions,
  };
}

/**
 * An answer that is a failure, as the host tells it: "api.deepseek.com 401 auth_error: words", or, where it came in
 * the middle of an answer that had begun well, "api.deepseek.com overloaded_error: words".
 */
interface Answer {
  readonly host: string;
  /** "" where there is none. */
  readonly status: string;
  /** What the other side said, shortened; "" for nothing. */
  readonly words: string;
}

/**
 * What the host knows of a network failure besides whom it is about: "api.example, issued by Some CA", "proxy:3128, asks
 * for NTLM". Basic needs no words: it is what the sentence asks for.
 */
function beside(fault: FaultFacts): { host: string; said: string; text: MessageKey | null } | null {
  const [, host = "", what = "", said = ""] = /^(\S+), (issued by|asks for) (.+)$/s.exec(fault.detail) ?? [];
  if (fault.code === "tls" && what === "issued by") {
    return { host, said, text: "faults.tls.issued" };
  }
  if (fault.code === "proxy_auth" && what === "asks for") {
    return { host, said, text: said === "Basic" ? null : "faults.proxy_auth.asked" };
  }
  return null;
}

/** How much of the other side's words is shown, in UTF-16 units. */
const mostWords = 200;

function answered(detail: string): Answer | null {
  const found =
    /^(\S+) (\d{3})\b[^:]*(?:: (.*))?$/s.exec(detail) ??
    /^((?:[\w-]+\.)+[\w-]+(?::\d+)?|localhost(?::\d+)?|\[[\da-f:]+\](?::\d+)?)()(?: [\w.-]+)+: (.*)$/s.exec(
      detail,
    );
  if (found === null) {
    return null;
  }
  const [, host = "", status = "", words = ""] = found;
  return { host, status, words: words.length > mostWords ? `${words.slice(0, mostWords)}…` : words };
}

/** The one fact of an answer that the sentence about a failure quotes. */
function factOf(code: FaultCode, { host, status, words }: Answer): string {
  switch (code) {
    case "not_an_api":
    case "no_key":
      return host;
    case "bad_request":
      return words || status;
    default:
      return status;
  }
}

/** The label of a next step. */
export function faultActionLabel(action: FaultAction): string {
  return t(`action.${action}`);
}

function row<C extends FaultCode>(code: C, kind: NoticeKind, ...actions: readonly FaultAction[]): Row {
  return {
    title: `faults.${code}.title`,
    text: `faults.${code}.text`,
    kind,
    actions: [...actions, "dismiss"],
  };
}

/** Every code: one that is missing is a compile error. */
const rows: Readonly<Record<FaultCode, Row>> = {
  no_provider: row("no_provider", "plain", "addProvider"),
  no_key: row("no_key", "plain", "addKey"),
  bad_key: row("bad_key", "bad", "replaceKey", "useOtherModel"),
  no_permission: row("no_permission", "bad", "chooseOtherModel", "replaceKey"),
  model_not_found: row("model_not_found", "bad", "chooseModel"),
  unsupported_by_model: row("unsupported_by_model", "warn", "chooseOtherModel"),
  rate_limited: row("rate_limited", "warn", "retry", "useOtherModel"),
  quota: row("quota", "bad", "openBilling", "useOtherModel"),
  context_too_long: row("context_too_long", "warn", "shorten", "useLargerModel"),
  cut_off: row("cut_off", "warn", "continue", "regenerate"),
  refused: row("refused", "plain", "editRequest"),
  bad_request: row("bad_request", "bad", "openSettings", "retry"),
  provider_error: row("provider_error", "bad", "retry", "useOtherModel"),
  overloaded: row("overloaded", "warn", "retry", "useOtherModel"),
  not_an_api: row("not_an_api", "bad", "openSettings", "retry"),
  protocol_error: row("protocol_error", "bad", "openSettings", "retry"),
  stream_cut: row("stream_cut", "bad", "retry"),
  stalled: row("stalled", "bad", "retry"),
  timeout: row("timeout", "bad", "retry"),
  offline: row("offline", "plain", "retry"),
  dns: row("dns", "bad", "openSettings", "retry"),
  connection_refused: row("connection_refused", "bad", "openSettings", "retry"),
  tls: row("tls", "bad", "addCertificate", "openSettings", "retry"),
  proxy: row("proxy", "bad", "networkSettings", "retry"),
  proxy_auth: row("proxy_auth", "bad", "networkSettings", "retry"),
  runner_gone: row("runner_gone", "bad", "continueRun", "restart", "retry"),
  store_failed: row("store_failed", "bad", "restart"),
  disk_full: row("disk_full", "bad", "saveElsewhere"),
  busy: row("busy", "plain", "retry"),
  cancelled: row("cancelled", "plain"),
  interrupted: row("interrupted", "warn", "continueRun", "retry"),
  command_conflict: row("command_conflict", "bad", "retry"),
  stale_approval: row("stale_approval", "plain"),
  keyring_missing: row("keyring_missing", "warn", "keepUntilQuit", "lookAgain"),
  keyring_locked: row("keyring_locked", "warn", "lookAgain", "keepUntilQuit"),
  keyring_timeout: row("keyring_timeout", "warn", "lookAgain", "keepUntilQuit"),
  key_malformed: row("key_malformed", "bad", "replaceKey"),
  not_granted: row("not_granted", "bad", "openFolder"),
  outside_workspace: row("outside_workspace", "bad", "openFolder"),
  not_found: row("not_found", "bad", "saveElsewhere", "retry"),
  exists: row("exists", "warn", "saveElsewhere"),
  changed_on_disk: row("changed_on_disk", "warn", "keepMine", "takeTheirs", "compare"),
  read_only: row("read_only", "bad", "saveElsewhere"),
  too_large: row("too_large", "warn"),
  unsupported_encoding: row("unsupported_encoding", "warn"),
  reserved_name: row("reserved_name", "warn", "saveElsewhere"),
  not_a_file: row("not_a_file", "bad"),
  stale: row("stale", "plain", "regenerate"),
  unknown_base: row("unknown_base", "plain", "regenerate"),
  not_in_document: row("not_in_document", "plain", "regenerate"),
  ambiguous: row("ambiguous", "plain", "regenerate"),
  empty_old_text: row("empty_old_text", "plain", "regenerate"),
  no_change: row("no_change", "plain", "editRequest"),
  overlap: row("overlap", "plain", "regenerate"),
  invalid_input: row("invalid_input", "bad", "retry"),
  internal: row("internal", "bad", "retry"),
};
