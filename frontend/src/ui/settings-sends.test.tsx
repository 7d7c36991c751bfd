// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import { setLanguage } from "../i18n";
import { prettyJson } from "./send-view";
import { stageSettings } from "./settings.testing";
import { button, click, one, settle } from "./stage.testing";

afterEach(() => setLanguage("en"));

const rows = (root: ParentNode) =>
  [...root.querySelectorAll(".send-log tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => cell.textContent),
  );

// covers: K9 (the page's part: what left, when, to whom, how much; shown, cleared, switched off)
describe("the send log", () => {
  it("says that there is nothing yet, or that it is off", async () => {
    const { root } = await stageSettings("sends");
    expect(root.textContent).toContain("Nothing has left yet");
    expect(root.textContent).toContain("Kept on this computer for 30 days and up to 67 MB");
    await click(one(root, "[role=switch]"));
    await settle();
    expect(root.textContent).toContain("The log is off, so nothing is written down.");
    expect(root.textContent).toContain("What leaves from now on is not written down.");
  });

  it("lists what left, newest first, with how it ended in words", async () => {
    const { root, backend } = await stageSettings("sends");
    const to = { providerName: "Far", model: "m-1", url: "https://api.example/v1/chat/completions" };
    backend.sends.record({ ...to, purpose: "rewrite", receivedBytes: 1500 }, "{}");
    backend.sends.record({ ...to, status: 401, code: "bad_key" }, '{"a":1}');
    backend.sends.record({ ...to, status: 0, code: "cancelled", purpose: "models" }, "");
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    expect(rows(root)).toEqual([
      ["12 Nov 14:06", "Farapi.example", "m-1", "List of models", "0 B", "–", "Stopped"],
      ["12 Nov 14:06", "Farapi.example", "m-1", "Conversation", "7 B", "–", "Far refused the key (401)."],
      ["12 Nov 14:06", "Farapi.example", "m-1", "Rewrite", "2 B", "1.5 KB", "Answered"],
    ]);
    setLanguage("zh");
    await settle();
    expect(rows(root)[1]?.[6]).toBe("Far 拒绝了这个密钥（401）。");
  });

  it("shows exactly what left, laid out or raw, and goes back to where it was", async () => {
    const { root, backend } = await stageSettings("sends");
    backend.sends.record({ providerName: "Far", model: "m", url: "https://h/v1" }, '{"text":"渡船","n":1}');
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    await click(one(root, ".send-log tbody button"));
    await settle();
    expect(one(root, "pre").textContent).toBe('{\n  "text": "渡船",\n  "n": 1\n}');
    await click(button(root, "Raw"));
    expect(one(root, "pre").textContent).toBe('{"text":"渡船","n":1}');
    await click(button(root, "Back to the log"));
    expect(rows(root)).toHaveLength(1);
  });

  it("reads a long body in pieces, and lays it out once it is whole", async () => {
    const { root, backend } = await stageSettings("sends");
    const body = JSON.stringify({ text: "渡".repeat(300_000) });
    backend.sends.record({ providerName: "Far" }, body);
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    await click(one(root, ".send-log tbody button"));
    for (let i = 0; i < 20; i++) {
      await settle();
    }
    expect(root.textContent).toContain("laid out for reading once all of it is loaded");
    const shown = one(root, "pre").textContent ?? "";
    expect(shown.length).toBeLessThan(body.length);
    expect(body.startsWith(shown)).toBe(true);
    await click(button(root, "Load more"));
    for (let i = 0; i < 20; i++) {
      await settle();
    }
    expect(one(root, "pre").textContent).toBe(JSON.stringify(JSON.parse(body), null, 2));
    expect(root.textContent).not.toContain("Load more");
  });

  it("says that a body went with its session", async () => {
    const { root, backend } = await stageSettings("sends");
    backend.sends.record({ providerName: "Far", sentBytes: 120, hasBody: false }, "");
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    await click(one(root, ".send-log tbody button"));
    await settle();
    expect(root.textContent).toContain("The content was deleted with its session.");
    expect(root.querySelector("pre")).toBeNull();
  });

  it("is cleared after it was asked, but for what came since", async () => {
    const { root, backend } = await stageSettings("sends");
    backend.sends.record({ providerName: "One" }, "{}");
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    backend.sends.record({ providerName: "Two" }, "{}");
    await click(button(root, "Clear"));
    await click(button(one(root, ".dialog"), "Clear the log"));
    await settle();
    expect(rows(root).map((row) => row[1])).toEqual(["Two"]);
  });

  it("reads older ones when told to, and says when it could not be read", async () => {
    const { root, backend } = await stageSettings("sends");
    for (let n = 0; n < 130; n++) {
      backend.sends.record({ providerName: `P${n}` }, "{}");
    }
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    expect(rows(root)).toHaveLength(100);
    await click(button(root, "Show older"));
    await settle();
    expect(rows(root)).toHaveLength(130);
    expect(rows(root).at(-1)?.[1]).toBe("P0");
    backend.refuse("Settings.Sends", "runner_gone");
    await click(one(root, "[aria-label='Read again']"));
    await settle();
    expect(one(root, ".note h2").textContent).toBe("The AI process stopped.");
    await click(button(root, "Retry"));
    await settle();
    expect(rows(root)).toHaveLength(100);
  });

  it("lays out JSON and leaves other text alone", () => {
    expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(prettyJson("data: {}")).toBeNull();
  });
});
