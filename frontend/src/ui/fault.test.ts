import { afterEach, describe, expect, it } from "vitest";
import { type FaultCode, faultCodes } from "../backend";
import { setLanguage } from "../i18n";
import { describeFault, faultActionLabel } from "./fault";

afterEach(() => setLanguage("en"));

// covers: K6 C17 (different failures, different words, each with its next step)
describe("describeFault", () => {
  const facts = { detail: "", retryAfterMs: 0, provider: "DeepSeek" };

  it.each(faultCodes)("says %s in both languages, with a next step", (code) => {
    const english = describeFault({ ...facts, code });
    expect(english.actions.length).toBeGreaterThan(0);
    expect(english.title).not.toContain("{");
    expect(english.actions.map(faultActionLabel).every((label) => label !== "")).toBe(true);
    setLanguage("zh");
    const chinese = describeFault({ ...facts, code });
    expect(chinese.title).toMatch(/\p{Script=Han}/u);
    expect(chinese.text).toMatch(/\p{Script=Han}/u);
  });

  it("tells the seven failures of C17 apart", () => {
    const codes = [
      "bad_key",
      "model_not_found",
      "rate_limited",
      "dns",
      "tls",
      "context_too_long",
      "overloaded",
    ] as const;
    const said = codes.map((code) => describeFault({ ...facts, code }));
    expect(new Set(said.map((fault) => fault.title)).size).toBe(7);
    expect(new Set(said.map((fault) => fault.actions[0])).size).toBeGreaterThan(4);
  });

  it("uses the words of the design", () => {
    const say = (
      code: "no_key" | "bad_key" | "rate_limited" | "dns",
      detail = "",
      retryAfterMs = 0,
    ): string => {
      const { title, text } = describeFault({ ...facts, code, detail, retryAfterMs });
      return `${title} ${text}`;
    };
    expect(say("no_key")).toBe("No key for DeepSeek. Add one to use it.");
    expect(say("bad_key", "401")).toBe("DeepSeek refused the key (401). It may be mistyped or expired.");
    expect(say("rate_limited", "", 42_000)).toBe("DeepSeek asks for a pause of 42 s. Your message is kept.");
    expect(say("bad_key", "api.deepseek.com 401 authentication_error: No such key.")).toBe(
      "DeepSeek refused the key (401). It may be mistyped or expired. It says: No such key.",
    );
    expect(say("dns", "api.exmaple.com")).toBe("api.exmaple.com was not found. Check the address.");
  });

  it("quotes of an answer only what the sentence is about", () => {
    const say = (code: FaultCode, detail: string, model = "fern-2") =>
      describeFault({ ...facts, code, detail, model });
    const missing = say("model_not_found", "api.example 404 not_found: no fern-2 here");
    expect(missing.title).toBe("“fern-2” is not offered at this address.");
    expect(missing.text).toBe("Choose one of the models that are. It says: no fern-2 here");
    expect(say("model_not_found", "", "").title).toBe("No model is chosen.");
    expect(say("provider_error", "127.0.0.1:8080 500").title).toBe("DeepSeek failed (500).");
    expect(say("not_an_api", "example.com 404, a web page").text).toMatch(/^example\.com answered/);
    expect(say("bad_request", "example.com 400: no such field").text).toBe("It says: no such field");
    // A failure in the middle of an answer has no status of its own.
    const broke = say("overloaded", "api.example overloaded_error: Too busy now");
    expect(broke.title).toBe("DeepSeek is overloaded.");
    expect(broke.text).toMatch(/ It says: Too busy now$/);
    expect(say("provider_error", "127.0.0.1:8080 error: it broke").title).toBe("DeepSeek failed.");
    expect(say("overloaded", "api.example overloaded_error").title).toBe(
      "DeepSeek is overloaded (api.example overloaded_error).",
    );
    expect(say("exists", "my notes: a.md").title).toBe("my notes: a.md exists already.");
    expect(say("tls", "api.example, issued by Some: CA").title).not.toMatch(/It says/);
    expect(say("tls", "api.example, issued by Some: CA")).toMatchObject({
      title: "The certificate of api.example is not trusted.",
      text: "It was issued by Some: CA. A company network may need its own.",
    });
    expect(say("proxy_auth", "proxy:3128, asks for NTLM")).toMatchObject({
      title: "The proxy proxy:3128 asks for a name and a password.",
      text: expect.stringContaining("NTLM, which Galley does not know"),
    });
    expect(say("proxy_auth", "proxy:3128, asks for Basic").text).toMatch(/^Nothing was sent/);
    expect(say("overloaded", `a.example 529: ${"x".repeat(900)}`).text.length).toBeLessThan(320);
  });
});
