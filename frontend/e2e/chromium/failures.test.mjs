// Failures: each with its own message and next step in both languages, and
// everything but AI goes on.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";
import { freePort } from "../lib/processes.mjs";
import { providerEntry, selectionOf, startProvider } from "../lib/provider.mjs";

const text = "The very first line.\n\nThe second line.\n";

let app;
let provider;
let gone;

before(async () => {
  provider = await startProvider();
  gone = await freePort();
  app = await openGalley({
    settings: {
      provider: "local",
      providers: [
        providerEntry(provider.url),
        providerEntry("https://api.example.invalid/v1", { id: "remote", name: "Remote" }),
        providerEntry(`http://127.0.0.1:${gone}/v1`, { id: "gone", name: "Gone" }),
      ],
    },
    files: { "note.md": text },
    args: (sandbox) => [sandbox.path("note.md")],
  });
});

after(async () => {
  await app?.close();
  await provider?.close();
});

beforeEach(() => app.tidy());

/** Changes settings as the settings page does. */
const choose = (change) =>
  app.page.evaluate(async (change) => {
    const { settings } = await window.go.api.Settings.Get();
    await window.go.api.Settings.Update({ ...settings, ...change });
  }, change);

const notice = () => app.locator(".rewrite .note");
/** How often a model was asked; what a run looks up about it is not meant. */
const chats = () => provider.requests.filter((r) => r.url.endsWith("/chat/completions")).length;
const buttons = () => notice().getByRole("button");

async function ask() {
  if ((await app.count(".rewrite")) === 0) {
    await app.select("The very first line.");
    await app.ask();
  } else {
    await app.locator(".rewrite input").focus();
  }
  await app.press("Enter");
}

const json = (status, error, headers) => ({ status, headers, body: { error } });

/** What the model does, and what is said then: title and next step, in English and in Chinese. */
const rows = [
  {
    name: "a key that is refused",
    act: json(401, { message: "Incorrect API key provided", code: "invalid_api_key" }),
    en: ["Local refused the key (401).", "Replace key"],
    zh: ["Local 拒绝了这个密钥（401）。", "更换密钥"],
  },
  {
    name: "a model that is not there",
    act: json(404, { message: "The model `fern-2` does not exist", code: "model_not_found" }),
    en: ["“fern-2” is not offered at this address.", "Choose a model"],
    zh: ["该地址没有 “fern-2” 这个模型。", "选择模型"],
  },
  {
    name: "a text that is too long",
    act: json(400, {
      message: "This model's maximum context length is 4096 tokens",
      code: "context_length_exceeded",
    }),
    en: ["The text is too long for this model.", "Send less text"],
    zh: ["内容超出该模型的上限。", "少发送一些"],
  },
  {
    name: "a provider that is overloaded",
    act: json(529, { message: "Overloaded", type: "overloaded_error" }),
    tries: 3,
    en: ["Local is overloaded (529).", "Retry"],
    zh: ["Local 负载过高（529）。", "重试"],
  },
  {
    name: "a web page in place of an answer",
    act: {
      status: 200,
      headers: { "content-type": "text/html" },
      body: "<!doctype html><title>Welcome</title>",
    },
    en: ["There is no such service at this address.", "Open settings"],
    zh: ["这个地址没有这样的服务。", "打开设置"],
  },
  {
    name: "a stream that breaks before its first word",
    act: { pieces: [], cut: true },
    tries: 3,
    en: ["The connection broke in the middle of the answer.", "Retry"],
    zh: ["回答中途连接断开。", "重试"],
  },
  {
    name: "no provider",
    choose: { provider: "" },
    tries: 0,
    en: ["No AI provider is set up.", "Add provider"],
    zh: ["还没有设置 AI 服务。", "添加服务"],
  },
  {
    name: "no key",
    choose: { provider: "remote" },
    tries: 0,
    en: ["No key for Remote.", "Add key"],
    zh: ["Remote 还没有密钥。", "添加密钥"],
  },
  {
    name: "nothing at the address",
    choose: { provider: "gone" },
    tries: 0,
    en: [() => `Nothing answers at 127.0.0.1:${gone}.`, "Open settings"],
    zh: [() => `127.0.0.1:${gone} 没有应答。`, "打开设置"],
  },
];

const said = new Set();

for (const row of rows) {
  // covers: K6
  test(`${row.name}: its own message and next step, in both languages`, async () => {
    await choose({ provider: "local", ...row.choose });
    provider.script = () => row.act;
    const before = chats();
    const synced = app.synced();
    await ask();
    for (const [language, [title, step]] of Object.entries({ en: row.en, zh: row.zh })) {
      await choose({ language });
      const words = typeof title === "function" ? title() : title;
      await app.until(`“${words}”`, async () => (await notice().locator("h2").innerText()) === words);
      assert.equal(await buttons().first().innerText(), step);
      said.add(words);
    }
    await choose({ language: "en" });
    assert.equal(chats() - before, row.tries ?? 1, "tried again only where it can help");
    assert.equal(app.synced(), synced);
    assert.equal(await app.text(), text);
    await app.until("English again", async () => (await buttons().last().innerText()) === "Close");
    await buttons().last().click();
    await app.untilCount(".rewrite", 0);
  });
}

// covers: K6
test("a pause that was asked for is counted down and then tried again by hand", async () => {
  await choose({ provider: "local" });
  provider.script = () => json(429, { message: "Slow down" }, { "retry-after": "90" });
  const before = chats();
  await ask();
  await app.until(
    "the message",
    async () => (await notice().locator("h2").innerText()) === "Local asks for a pause of 90 s.",
  );
  said.add("Local asks for a pause of 90 s.");
  const seconds = async () => Number((await buttons().first().innerText()).match(/^Retry in (\d+) s$/)[1]);
  const first = await seconds();
  assert.ok(first <= 90 && first > 80);
  assert.equal(await buttons().first().isDisabled(), true);
  await app.until("it counts down", async () => (await seconds()) < first);
  await choose({ language: "zh" });
  await app.until("in Chinese", async () => /^\d+ 秒后重试$/.test(await buttons().first().innerText()));
  assert.equal(await notice().locator("h2").innerText(), "Local 要求等待 90 秒。");
  await choose({ language: "en" });
  assert.equal(chats() - before, 1, "nothing is tried by itself");

  // A short pause is kept to, and Retry works when it is over.
  await app.until("English again", async () => (await buttons().last().innerText()) === "Close");
  provider.script = () => json(429, { message: "Slow down" }, { "retry-after-ms": "1" });
  await ask();
  await app.until("Retry can be pressed", async () => (await buttons().first().innerText()) === "Retry", {
    timeout: 20000,
  });
  provider.script = (body) => ({ text: selectionOf(body).replace("very ", "") });
  await buttons().first().click();
  await app.untilReview();
  await app.runCommand("reject all");
  await app.untilDecided();
});

// covers: P7
test("a stream that breaks after some words leaves them unticked, without a plain accept (C7)", async () => {
  provider.script = () => ({ text: "The first line, and th", cut: true });
  await ask();
  await app.untilReview();
  assert.match(await app.locator(".g-hbar").innerText(), /The answer was cut off/);
  await app.press("Control+Shift+Enter");
  assert.equal(await app.text(), text);
  await app.runCommand("reject all");
  await app.untilDecided();
});

// covers: K6
test("no two failures say the same", () => {
  // Two languages each; the pause was noted in one.
  assert.equal(said.size, 2 * rows.length + 1, [...said].join("\n"));
});

// covers: K8
test("the next step leads there: settings at the provider, with its key field", async () => {
  await choose({ provider: "remote" });
  await ask();
  await app.click("Add key");
  await app.untilShown("AI providers");
  assert.equal(await app.locator("[aria-current=true] b").innerText(), "Remote");
  await app.locator("input[type=password]").waitFor();
  await app.press("Control+w");
  await choose({ provider: "local" });
  await app.locator(".rewrite input").focus();
  await app.press("Escape");
  await app.untilCount(".rewrite", 0);
});

/** The state of the AI process as the host last told it. */
function runnerState() {
  let last = null;
  for (const frame of app.frames) {
    if (!frame.includes('"runner.changed"')) continue;
    const message = JSON.parse(frame.slice(1)).data[0];
    // The development server may send in another order.
    if (last === null || message.n > last.n) last = message;
  }
  return last?.payload ?? { status: "ready", pid: 0 };
}

// covers: K8 R2
test("the AI process dies until it is given up: all else goes on, and one step brings it back", async () => {
  await choose({ provider: "local" });
  provider.script = () => ({ pieces: ["The very first", " "], hold: true });
  await ask();
  await app.until("the stream", async () => /first/.test(await app.locator(".rewrite .body").innerText()));
  const killed = new Set();
  await app.until(
    "it is given up",
    async () => {
      const pid = await app.runner();
      if (pid !== 0 && !killed.has(pid)) {
        killed.add(pid);
        process.kill(pid, "SIGKILL");
      }
      return runnerState().status === "failed";
    },
    { timeout: 40000 },
  );
  assert.equal(killed.size, 4, "once, and three restarts");
  await app.until(
    "the message",
    async () => (await notice().locator("h2").innerText()) === "The AI process stopped.",
  );
  assert.equal(await app.text(), text);

  // Writing, saving, opening go on.
  await app.caret("after", "second line");
  await app.type(" goes on");
  await app.press("Control+s");
  await app.untilOnDisk("note.md", "The very first line.\n\nThe second line goes on.\n");
  await app.press("Control+n");
  await app.until(
    "a new document",
    async () => (await app.locator("[role=tab][aria-selected=true] .clip").innerText()) === "Untitled",
  );
  await app.press("Control+w");

  // A new wish is told why it cannot be.
  await app.until("the note is in front", async () => (await app.text()).startsWith("The very"));
  await ask();
  await app.until(
    "the reason",
    async () => (await notice().locator("h2").innerText()) === "The AI process stopped.",
  );
  await app.click("Start it again");
  await app.until("a new one is ready", () => runnerState().status === "ready");
  assert.ok(!killed.has(await app.runner()));
  provider.script = (body) => ({ text: selectionOf(body).replace("very ", "") });
  await app.until("it rewrites again", async () => {
    if ((await app.count(".cm-content .g-hk")) > 0) return true;
    // The page hears of it a moment after the socket does.
    if ((await notice().count()) > 0) await ask();
    return false;
  });
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "The first line.\n\nThe second line goes on.\n");
});

test("nothing was reported on the way", () => app.assertQuiet());
