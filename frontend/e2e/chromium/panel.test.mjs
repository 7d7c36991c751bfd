// The AI panel on the real host: a conversation, what it reads, asks and
// proposes, stopping, failing, an end that nobody saw, and the list.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import axe from "axe-core";
import { openGalley } from "../lib/browser.mjs";
import { providerEntry, startCounter, startProvider } from "../lib/provider.mjs";

const ferry =
  "# The Night Ferry\n\nThe last boat leaves the north quay at 22:40. It carries about 1,240 passengers a week.\n\nThe purser counts the passengers twice.\n";

let app;
let provider;
let counter;

before(async () => {
  provider = await startProvider();
  counter = await startCounter();
  app = await openGalley({
    settings: { provider: "mock", providers: [providerEntry(provider.url)] },
    files: { "ferry.md": ferry, "Timetable.md": "# Timetable\n\nNight: 177 passengers.\n" },
    args: (sandbox) => [sandbox.work, sandbox.path("ferry.md")],
  });
  await app.until("the document", async () => (await app.text()).includes("Night Ferry"));
  await app.press("Control+Shift+J");
  await app.until("the field has the focus", () =>
    app.page.evaluate(() => document.activeElement?.matches(".compose textarea")),
  );
});

after(async () => {
  await app?.close();
  await provider?.close();
  await counter?.close();
});

beforeEach(async () => {
  await app.tidy();
  await app.page.getByRole("button", { name: "New session", exact: true }).first().click();
  await app.untilCount(".talk-in > *", 0);
});

const field = () => app.locator(".compose textarea");

async function send(words) {
  await field().fill(words);
  await field().press("Enter");
}

/** Waits until every message that was sent has its end, and the panel shows it. */
const untilDone = () =>
  app.until("the end of the run", async () => {
    const sent = app.calls.findLast((c) => /^Agent\.(SubmitMessage|ContinueRun)$/.test(c.name)).args[0];
    const { runs } = await app.page.evaluate(() => window.go.api.Agent.Attach(0));
    return (
      runs.some((run) => run.commandId === sent.commandId) &&
      runs.every((run) => run.endedAtMs > 0) &&
      (await app.locator(".strip .spin").count()) === 0
    );
  });

async function use(id) {
  await app.page.evaluate(async (provider) => {
    const { settings } = await window.go.api.Settings.Get();
    await window.go.api.Settings.Update({ ...settings, provider });
  }, id);
  await app.until("the model", async () =>
    (await app.locator(".area .model").innerText()).includes(id === "mock" ? "Mock" : "fern-2"),
  );
}

const call = (name, input) => `/tool ${name} ${JSON.stringify(input)}`;

// covers: U2 K1 T7
test("an answer is drawn as it comes, what was read is named with its size, and opens", async () => {
  await send(
    [
      call("getActiveDocument", {}),
      call("searchWorkspace", { query: "passengers" }),
      call("readDocument", { path: "Missing.md" }),
    ].join("\n"),
  );
  await untilDone();
  const rows = await app.locator(".tool").allInnerTexts();
  assert.match(rows[0], /Read ferry\s*147 B/);
  assert.match(rows[1], /Searched “passengers”\s*3 hits/);
  assert.match(rows[2], /Read Missing\s*not found/);
  await app.locator(".tool").nth(1).click();
  const detail = app.locator(".detail");
  assert.match(await detail.innerText(), /query: passengers/);
  assert.match(await detail.innerText(), /3 hits in 2 documents/);
  await send("Hello");
  await untilDone();
  assert.equal(await app.locator(".ai strong").last().innerText(), "mock");
  assert.ok((await app.locator(".ai ol li").count()) >= 3);
  assert.match(await app.locator(".ctx").innerText(), /Context, estimated/);
});

// covers: T4 T5 U2
test("a new document is asked for, its text can be read whole, and only Create makes it", async () => {
  const text = `# Check\n\n- Night: 177.\n${"A line more.\n".repeat(12)}The last line.\n`;
  await app.select("twice");
  await field().fill(call("createDocument", { dir: "", name: "Check.md", text }));
  await field().press("Enter");
  await app.page.evaluate(() => document.querySelector(".cm-content").focus());
  await app.locator(".card.ask").waitFor();
  assert.ok(
    await app.page.evaluate(() => document.activeElement.matches(".cm-content")),
    "the question takes no focus",
  );
  assert.match(await app.locator(".card.ask").innerText(), /Create this document\?[\s\S]*Check\.md/);
  await app.untilShown("1 approval waiting");
  assert.equal(await app.locator(".tab-dot").count(), 1);
  assert.ok(!existsSync(app.path("Check.md")), "nothing is written before the answer");

  await app.locator(".card.ask").getByRole("button", { name: "Show all" }).click();
  assert.match(await app.locator(".viewer .body").innerText(), /The last line\./);
  await app.press("Escape");
  await app.untilCount(".viewer", 0);

  await app.locator(".card.ask").getByRole("button", { name: "Create", exact: true }).click();
  await app.untilOnDisk("Check.md", text);
  await app.until("the receipt", async () => /Created Check/.test(await app.locator(".card").innerText()));
  await untilDone();

  await send(call("createDocument", { dir: "", name: "Other.md", text: "x" }));
  await app.locator(".card.ask").getByRole("button", { name: "Deny" }).click();
  await app.until("the answer to the model", async () =>
    /Other was not created\s*Denied/.test(await app.locator(".card").last().innerText()),
  );
  await untilDone();
  assert.ok(!existsSync(app.path("Other.md")));
  const answer = app.calls.findLast((c) => c.name === "Agent.DecideApproval").args[0];
  assert.equal(answer.decision, "deny");
  assert.match(answer.inputDigest, /^[0-9a-f]{64}$/);
});

// covers: T4 P8 U2
test("what is proposed waits for the review and changes nothing by itself", async () => {
  // Without a selection the whole document is meant.
  await app.caret("before", "twice");
  await send(
    call("proposePatch", {
      oldText: "The purser counts the passengers twice",
      newText: "The purser counts every passenger twice",
      summary: "Says it more exactly.",
    }),
  );
  await untilDone();
  assert.match(
    await app.locator(".card").innerText(),
    /1 change in ferry[\s\S]*Says it more exactly\.[\s\S]*Wording only/,
  );
  assert.equal(await app.text(), ferry);
  await app.locator(".card").getByRole("button", { name: "Review" }).click();
  await app.until("the review", async () => (await app.locator(".hunks li").count()) > 0);
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.match(await app.text(), /counts every passenger twice/);
  await app.page.getByRole("tab", { name: /^Conversation/ }).click();
  await app.until("what became of it", async () => /1 accepted/.test(await app.locator(".card").innerText()));
});

// covers: R7 R8 U2
test("a further message waits and can be taken back, and Stop is said to have stopped", async () => {
  await use("local");
  provider.script = () => ({ pieces: ["Seven nights ", "make"], hold: true });
  await send("How many?");
  await app.until("the words", async () => /make/.test((await app.locator(".ai").allInnerTexts()).join()));
  await send("And by day?");
  await app.untilCount(".queue li", 1);
  await app.page.getByRole("button", { name: "Take back: And by day?" }).click();
  await app.untilCount(".queue li", 0);
  await app.page.getByRole("button", { name: "Stop", exact: true }).click();
  await app.until("the receipt", async () =>
    /Stopped\. Nothing was written\./.test(await app.locator(".talk-in").innerText()),
  );
  assert.match(await app.locator(".talk-in").innerText(), /Seven nights make[\s\S]*broke off here/);
  provider.script = () => ({ text: "It is 1,239." });
  await app.page.getByRole("button", { name: "Continue", exact: true }).click();
  await app.untilShown("It is 1,239.");
  await untilDone();
  assert.equal(await app.page.getByRole("button", { name: "Continue", exact: true }).count(), 0);
  await use("mock");
});

// covers: K6 U2
test("a failure keeps the message and says what can be done; another model goes on", async () => {
  await use("local");
  provider.script = () => ({ status: 429, headers: { "retry-after": "120" } });
  await send("Once more?");
  await app.until("the failure", async () =>
    /Local asks for a pause of 1\d\d s/.test((await app.locator(".note").allInnerTexts()).join()),
  );
  assert.match(await app.locator(".note button").first().innerText(), /Retry in 1\d\d s/);
  assert.ok(await app.locator(".note button").first().isDisabled());
  assert.match(await app.locator(".me").innerText(), /Once more\?/);
  await use("mock");
  await send("And now?");
  await untilDone();
  assert.match(await app.locator(".rule").innerText(), /Continued with Mock/);
});

// covers: R2 R6 R7 U2
test("after kill -9 of the Runner the truth is shown, and the run goes on in a new one", async () => {
  await use("local");
  provider.script = () => ({ pieces: ["What came ", "until then"], hold: true });
  await send("Tell me.");
  await app.until("the words", async () =>
    /until then/.test((await app.locator(".ai").allInnerTexts()).join()),
  );
  const pid = await app.runner();
  process.kill(pid, "SIGKILL");
  await app.until("the truth", async () =>
    /The run was interrupted at \d\d:\d\d\./.test((await app.locator(".note").allInnerTexts()).join()),
  );
  assert.match(await app.locator(".talk-in").innerText(), /What came[\s\S]*broke off here/);
  provider.script = () => ({ text: "Now whole." });
  await app.page.getByRole("button", { name: "Continue", exact: true }).click();
  await app.untilShown("Now whole.");
  await use("mock");
});

// covers: X2 X3
test("an answer loads nothing, and its links open only after a check", async () => {
  await use("local");
  provider.script = () => ({
    text: `![a](${counter.url}/a.png) <img src="${counter.url}/b.png"> [bank.example](${counter.url}/c) [x](javascript:alert(1))`,
  });
  await send("Show me.");
  await untilDone();
  assert.match(await app.locator(".ai").last().innerText(), /Picture from 127\.0\.0\.1:\d+, not loaded: a/);
  assert.equal(await app.locator(".ai img, .ai a, .ai iframe, .ai script").count(), 0);
  await app.locator(".ai .linked").click();
  await app.until("the question", async () =>
    /The words say something else/.test(await app.locator(".dialog").innerText()),
  );
  await app.press("Escape");
  await app.untilCount(".dialog", 0);
  assert.deepEqual(counter.hits, []);
  assert.ok(!app.calls.some((c) => c.name === "Workspace.OpenLink"));
  await use("mock");
});

// covers: U2
test("Shift+Enter breaks the line, the field grows to eight lines, and Esc goes to the text", async () => {
  const height = () => app.page.evaluate(() => document.querySelector(".compose textarea").clientHeight);
  const before = await height();
  await field().click();
  for (let i = 0; i < 14; i += 1) {
    await app.type("x");
    await app.press("Shift+Enter");
  }
  const grown = await height();
  assert.ok(grown > before && grown <= 8 * 20 + 1, `${before} to ${grown}`);
  assert.equal((await field().inputValue()).split("\n").length, 15);
  await app.press("Escape");
  await app.until("the text has the focus", () =>
    app.page.evaluate(() => document.activeElement.matches(".cm-content")),
  );
  await app.press("F6");
  await app.until("the panel has it", () =>
    app.page.evaluate(() => document.activeElement.closest(".panel") !== null),
  );
  await field().fill("");
});

// covers: U2 R11
test("sessions are listed, renamed, put away and deleted, and shown again as they were", async () => {
  await send("What is on board?");
  await untilDone();
  const shown = await app.locator(".talk-in").innerText();
  await app.page.getByRole("button", { name: "Sessions", exact: true }).click();
  const row = () => app.locator(".session", { hasText: "What is on board?" }).first();
  await row().waitFor();
  await row()
    .getByRole("button", { name: /^More for/ })
    .click();
  await app.page.getByRole("menuitem", { name: "Rename" }).click();
  await app.locator(".session input").fill("Cargo");
  await app.press("Enter");
  const cargo = () => app.locator(".session", { hasText: "Cargo" });
  await cargo().waitFor();
  await cargo().locator("> button").first().click();
  await app.until("the session", async () => (await app.locator(".talk-in").innerText()) === shown);

  await app.page.getByRole("button", { name: "Sessions", exact: true }).click();
  await cargo()
    .getByRole("button", { name: /^More for/ })
    .click();
  await app.page.getByRole("menuitem", { name: "Archive" }).click();
  await app.until("it is put away", async () => (await cargo().count()) === 0);
  await app.page.getByRole("button", { name: /archived/ }).click();
  await cargo()
    .getByRole("button", { name: /^More for/ })
    .click();
  await app.page.getByRole("menuitem", { name: "Delete" }).click();
  await app.page.getByRole("button", { name: "Delete session" }).click();
  await app.until("it is gone", async () => (await cargo().count()) === 0);
  assert.equal(await app.locator(".sessions").count(), 1);
  await app.press("Escape");
});

// covers: E7
test("axe finds nothing in the panel, in any theme", async () => {
  await app.page.emulateMedia({ reducedMotion: "reduce" });
  await app.page.evaluate(axe.source);
  await send(
    [
      call("readDocument", { path: "Missing.md" }),
      call("createDocument", { dir: "", name: "Axe.md", text: "# A\n" }),
    ].join("\n"),
  );
  await app.locator(".card.ask").waitFor();
  await send("And then?");
  await app.untilCount(".queue li", 1);
  for (const theme of ["light", "dark", "sepia", "contrast"]) {
    await app.page.evaluate(async (theme) => {
      const { settings } = await window.go.api.Settings.Get();
      await window.go.api.Settings.Update({ ...settings, theme });
    }, theme);
    await app.until(`theme ${theme}`, () =>
      app.page.evaluate((t) => document.documentElement.dataset.theme === t, theme),
    );
    const found = await app.page.evaluate(async () => {
      const { violations } = await window.axe.run(document.querySelector(".panel"), {
        resultTypes: ["violations"],
      });
      return violations.flatMap((v) =>
        v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary}`),
      );
    });
    assert.deepEqual(found, [], theme);
  }
  await app.page.getByRole("button", { name: "Take back: And then?" }).click();
  await app.untilCount(".queue li", 0);
  await app.page.getByRole("button", { name: "Stop", exact: true }).click();
  await untilDone();
});

test("nothing was thrown, and nothing was stopped by the content policy", () => {
  app.assertQuiet();
});
