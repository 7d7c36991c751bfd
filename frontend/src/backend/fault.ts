import { type FaultCode, faultCodes } from "./gen";

/**
 * A failure that a person can be shown. `detail` is a short fact that the
 * message may quote (a host, a model, an HTTP status), "" for none;
 * `retryAfterMs` is how long the other side asked to wait, 0 for not at all.
 */
export class BackendError extends Error {
  override readonly name = "BackendError";

  constructor(
    readonly code: FaultCode,
    readonly detail = "",
    readonly retryAfterMs = 0,
  ) {
    super(detail === "" ? code : `${code} (${detail})`);
  }
}

const known: ReadonlySet<string> = new Set(faultCodes);

/** Reports whether a value from outside is one of the closed list of codes. */
export function isFaultCode(value: unknown): value is FaultCode {
  return typeof value === "string" && known.has(value);
}

/**
 * Turns whatever a call was refused with into a BackendError. The host sends
 * `{code, detail, retryAfterMs}` as JSON text, which Wails' runtime wraps in an
 * Error; the text handler sends it as an object. Words that are no JSON are
 * Wails' own complaint about the arguments, since the host's formatter does not
 * see those; anything else is internal. Its words are dropped: they may quote
 * what was sent.
 */
export function decodeError(reason: unknown): BackendError {
  if (reason instanceof BackendError) {
    return reason;
  }
  if (typeof reason === "string") {
    return decodeText(reason);
  }
  if (reason instanceof Error) {
    // A subclass is a fault of the page's own, a plain Error the runtime's.
    return reason.name === "Error" ? decodeText(reason.message) : new BackendError("internal");
  }
  return decodeBody(reason) ?? new BackendError("internal");
}

function decodeText(text: string): BackendError {
  try {
    return decodeBody(JSON.parse(text)) ?? new BackendError("internal");
  } catch {
    return new BackendError("invalid_input");
  }
}

function decodeBody(body: unknown): BackendError | null {
  if (hasFields<"code" | "detail" | "retryAfterMs">(body) && isFaultCode(body.code)) {
    return new BackendError(
      body.code,
      typeof body.detail === "string" ? body.detail : "",
      positive(body.retryAfterMs),
    );
  }
  return null;
}

/** Reports whether a value is an object, so that the fields K may be looked for in it. */
export function hasFields<K extends string>(value: unknown): value is Readonly<Partial<Record<K, unknown>>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function positive(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
