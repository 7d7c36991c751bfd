import { describe, expect, it } from "vitest";
import { connectBackend, hasHost } from "./client";
import { BackendError, decodeError } from "./fault";
import { getText, postText, type TextUpdate } from "./text";

function host(documents: Record<string, (...args: readonly unknown[]) => Promise<unknown>>): object {
  return { go: { api: { Documents: documents } } };
}

async function refusal(promise: Promise<unknown>): Promise<BackendError> {
  return promise.then(
    () => expect.unreachable("was not refused"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(BackendError);
      return error as BackendError;
    },
  );
}

describe("decodeError", () => {
  it("reads what the host's formatter sends", () => {
    const error = decodeError({ code: "rate_limited", detail: "429", retryAfterMs: 42_000 });
    expect(error).toMatchObject({ code: "rate_limited", detail: "429", retryAfterMs: 42_000 });
  });

  it("reads it out of the Error that the window's runtime wraps it in", () => {
    const error = decodeError(new Error('{"code":"bad_key","detail":"401","retryAfterMs":0}'));
    expect(error).toMatchObject({ code: "bad_key", detail: "401" });
    expect(decodeError(new Error("error parsing arguments: x"))).toMatchObject({ code: "invalid_input" });
  });

  it("takes a plain string for a complaint about the arguments, and drops its words", () => {
    const error = decodeError("error parsing arguments: cannot unmarshal sk-TESTKEY-1 into number");
    expect(error).toMatchObject({ code: "invalid_input", detail: "", retryAfterMs: 0 });
    expect(String(error)).not.toContain("sk-TESTKEY-1");
  });

  it.each([
    ["a code that is not on the list", { code: "exploded", detail: "x" }],
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["a fault of the page's own", new TypeError("boom")],
    ["an array", ["bad_key"]],
  ])("calls %s internal", (_, reason) => {
    expect(decodeError(reason)).toMatchObject({ code: "internal", detail: "" });
  });

  it.each([
    [{ code: "busy", detail: 7, retryAfterMs: "9" }],
    [{ code: "busy", retryAfterMs: -1 }],
    [{ code: "busy", retryAfterMs: Number.NaN }],
  ])("leaves out parts of the wrong type: %j", (reason) => {
    expect(decodeError(reason)).toMatchObject({ code: "busy", detail: "", retryAfterMs: 0 });
  });

  it("keeps an error that is decoded already", () => {
    const error = new BackendError("not_found", "a.md");
    expect(decodeError(error)).toBe(error);
  });
});

describe("connectBackend", () => {
  it("passes arguments on and results back", async () => {
    const seen: unknown[] = [];
    const scope = host({
      Sync: async (...args) => {
        seen.push(...args);
        return { version: 2, dirty: true };
      },
    });
    const request = { page: 1, id: "d", fromVersion: 1, changes: [], anchor: 0, head: 0 };
    await expect(connectBackend(scope).documents.Sync(request)).resolves.toEqual({ version: 2, dirty: true });
    expect(seen).toEqual([request]);
  });

  it("rejects with a BackendError", async () => {
    const scope = host({ New: () => Promise.reject({ code: "disk_full", detail: "", retryAfterMs: 0 }) });
    expect((await refusal(connectBackend(scope).documents.New())).code).toBe("disk_full");
  });

  it("refuses a method that is not bound", async () => {
    expect((await refusal(connectBackend({}).documents.New())).code).toBe("internal");
  });

  it("finds what is bound after it connected", async () => {
    const scope: { go?: unknown } = {};
    const backend = connectBackend(scope);
    expect(hasHost(scope)).toBe(false);
    Object.assign(scope, host({ New: async () => "made" }));
    expect(hasHost(scope)).toBe(true);
    await expect(backend.documents.New()).resolves.toBe("made");
  });

  it("has services that can be handed through an async function", async () => {
    const backend = connectBackend(host({ New: async () => "made" }));
    const service = await (async () => backend.documents)();
    await expect(service.New()).resolves.toBe("made");
  });

  it("listens to the one event name and stops", () => {
    const listeners = new Map<string, (raw: unknown) => void>();
    const scope = {
      runtime: {
        EventsOn: (name: string, handler: (raw: unknown) => void) => {
          listeners.set(name, handler);
          return () => listeners.delete(name);
        },
      },
    };
    const got: unknown[] = [];
    const off = connectBackend(scope).listen((raw) => got.push(raw));
    listeners.get("galley")?.({ n: 1 });
    expect(got).toEqual([{ n: 1 }]);
    off();
    expect(listeners.size).toBe(0);
  });
});

// covers: X1 (the page asks its own origin only)
describe("text transfer", () => {
  const answer = (body: BodyInit | null, init?: ResponseInit) => async () => new Response(body, init);

  it("gives text and version, and keeps a U+FEFF the text begins with", async () => {
    const bytes = new TextEncoder().encode("\ufeffa😀\n");
    const got = await getText(
      "/document/d/text",
      undefined,
      answer(bytes, { headers: { "Galley-Version": "7" } }),
    );
    expect(got).toEqual({ text: "\ufeffa😀\n", version: 7 });
  });

  it("refuses an answer without a version", async () => {
    expect((await refusal(getText("/document/d/text", undefined, answer("x")))).code).toBe("internal");
  });

  it("sends page, version and endings in the query", async () => {
    const calls: unknown[] = [];
    const update: TextUpdate = {
      page: 3,
      version: 9,
      text: "a\nb\n",
      endings: [
        { ending: "lf", count: 1 },
        { ending: "crlf", count: 1 },
      ],
    };
    await postText("/document/d/text", update, undefined, async (url, init) => {
      calls.push(url, init?.method, init?.body);
      return new Response(null, { status: 204 });
    });
    expect(calls).toEqual(["/document/d/text?page=3&version=9&endings=lf%3A1%2Ccrlf%3A1", "POST", "a\nb\n"]);
  });

  it.each(["https://elsewhere.example/x", "//elsewhere.example/x", "/\\elsewhere.example", "x", ""])(
    "never asks another origin: %j",
    async (url) => {
      const error = await refusal(getText(url, undefined, () => expect.unreachable("asked")));
      expect(error.code).toBe("invalid_input");
    },
  );

  it("decodes a fault in the body, and calls any other failure internal", async () => {
    const fault = JSON.stringify({ code: "unknown_base", detail: "", retryAfterMs: 0 });
    const update = { page: 1, version: 1, text: "", endings: [] };
    expect((await refusal(postText("/t", update, undefined, answer(fault, { status: 409 })))).code).toBe(
      "unknown_base",
    );
    expect((await refusal(getText("/t", undefined, answer("<html>", { status: 502 })))).code).toBe(
      "internal",
    );
    expect((await refusal(getText("/t", undefined, () => Promise.reject(new TypeError("no"))))).code).toBe(
      "internal",
    );
  });

  it("calls a fetch that was given up on cancelled", async () => {
    const control = new AbortController();
    control.abort();
    const error = await refusal(
      getText("/t", control.signal, (_, init) => Promise.reject(init?.signal?.reason)),
    );
    expect(error.code).toBe("cancelled");
  });
});
