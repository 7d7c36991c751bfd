import { BackendError, decodeError } from "./fault";
import type { EndingRun } from "./gen";

/** `fetch`, or what stands in for it in a test. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** A document's LF text without BOM, and the version it is the text of. */
export interface VersionedText {
  readonly text: string;
  readonly version: number;
}

/** The page's whole text, to become the host's mirror. */
export interface TextUpdate extends VersionedText {
  /** The number this page got when it attached. */
  readonly page: number;
  /** The endings of all breaks in order, run-length encoded. */
  readonly endings: readonly EndingRun[];
}

/**
 * Fetches a document's text from its `textUrl`. Text travels by GET and POST
 * on the page's own origin, since a bound call takes three times as long.
 * Rejects with a BackendError; `signal` gives up on it as cancelled.
 */
export async function getText(
  url: string,
  signal?: AbortSignal,
  fetchText: Fetch = fetch,
): Promise<VersionedText> {
  const { text, response } = await fetchDecoded(url, signal, fetchText);
  const version = Number(response.headers.get("Galley-Version"));
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new BackendError("internal");
  }
  return { text, version };
}

/**
 * Fetches a text that has no version: one side of a comparison, or a version of
 * before. Rejects as getText does.
 */
export async function readText(url: string, signal?: AbortSignal, fetchText: Fetch = fetch): Promise<string> {
  return (await fetchDecoded(url, signal, fetchText)).text;
}

async function fetchDecoded(
  url: string,
  signal: AbortSignal | undefined,
  fetchText: Fetch,
): Promise<{ readonly text: string; readonly response: Response }> {
  const response = await send(fetchText, url, { method: "GET" }, signal);
  // Not response.text(): that drops a U+FEFF the document begins with.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await response.arrayBuffer());
  return { text, response };
}

/**
 * Replaces the host's mirror of a document by the page's whole text, after a
 * gap or an error. Rejects with a BackendError.
 */
export async function postText(
  url: string,
  update: TextUpdate,
  signal?: AbortSignal,
  fetchText: Fetch = fetch,
): Promise<void> {
  const query = new URLSearchParams({
    page: String(update.page),
    version: String(update.version),
    endings: update.endings.map((run) => `${run.ending}:${run.count}`).join(","),
  });
  const headers = { "Content-Type": "text/plain; charset=utf-8" };
  await send(fetchText, `${url}?${query}`, { method: "POST", headers, body: update.text }, signal);
}

async function send(
  fetchText: Fetch,
  url: string,
  init: RequestInit,
  signal: AbortSignal | undefined,
): Promise<Response> {
  // Only a path of this origin: "//host/x" and "https://host/x" name another.
  if (!/^\/(?![/\\])/.test(url)) {
    throw new BackendError("invalid_input");
  }
  let response: Response;
  try {
    response = await fetchText(url, { cache: "no-store", ...init, ...(signal && { signal }) });
  } catch {
    throw new BackendError(signal?.aborted ? "cancelled" : "internal");
  }
  if (!response.ok) {
    throw await decodeBody(response);
  }
  return response;
}

async function decodeBody(response: Response): Promise<BackendError> {
  try {
    const body: unknown = await response.json();
    return typeof body === "string" ? new BackendError("internal") : decodeError(body);
  } catch {
    return new BackendError("internal");
  }
}
