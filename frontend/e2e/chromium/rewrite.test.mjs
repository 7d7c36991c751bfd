// The rewrite: ask, watch it arrive, review, accept, take back; with the
// offline provider and with one on loopback.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";
import { providerEntry, selectionOf, startProvider } from "../lib/provider.mjs";

const files = {
  "mock.md": "# Ferry\n\nIt is really very quick to say that the ferry leaves in order to be on time.\n",
  "b1.md": "Count one two three\n",
  "b4.md": "Small red box\n",
  "hunks.md": "The red cat sat.\n\nKept as it is.\n\nThe old dog ran.\n\nThe big bird flew.\n",
  "hunks2.md": "The red cat sat.\n\nThe old dog ran.\n\nThe big bird flew.\n",
  "remark.md": "The quick fox jumps.\n",
  "stop.md": "A sentence that stays.\n",
  "cutoff.md": "First one here.\n\nSecond one here.\n\nThird one here.\n",
  "warn.md": "There are 1,240 people on board.\n\nThey are very tired.\n",
  "talk.md": "The very cold tea.\n",
  "front.md": "Behind the very first words.\n",
  "other.md": "Another document.\n",
  "chinese.md": "夜航船在冬天非常非常安静。\n",
};

let app;
let provider;

before(async () => {
  provider = await startProvider();
  app = await openGalley({
    settings: { provider: "mock", providers: [providerEntry(provider.url)] },
    files,
    args: (sandbox) => [sandbox.work],
  });
});

after(async () => {
  await app?.close();
  await provider?.close();
});

beforeEach(() => app.tidy());

/** Selects words of a document, asks for a rewrite, and says what the model does. */
async function rewrite(label, words, act, instruction = "Do it") {
  provider.script = typeof act === "function" ? act : () => act;
  await app.openFile(label);
  await app.select(words);
  await app.ask();
  await app.type(instruction);
  await app.press("Enter");
}

const lastSubmit = () => app.calls.findLast((call) => call.name === "Agent.SubmitRewrite").args[0];
const decisions = () => app.calls.filter((call) => call.name === "Agent.Decide").map((call) => call.args[0]);

/** Whether text and version are what they were: no change was sent, and the file is untouched. */
async function assertUntouched(name, text, synced) {
  assert.equal(await app.text(), text);
  assert.equal(app.synced(), synced, "the version has not changed");
  assert.equal(String(app.file(name)), files[name]);
}

// covers: K1 U1 P8
test("a preset of the offline provider runs at once and shows its changes in place", async () => {
  await app.openFile("mock");
  await app.select("It is really very quick to say that the ferry leaves in order to be on time.");
  await app.ask();
  await app.page.getByRole("radio", { name: "Shorten" }).click();
  await app.untilReview();
  assert.equal(lastSubmit().preset, "shorten");
  assert.ok((await app.marks("del")).length > 0);
  await assertUntouched("mock.md", files["mock.md"], 0);
  await app.runCommand("reject all");
  await app.untilDecided();
  await assertUntouched("mock.md", files["mock.md"], 0);
  await app.until("the decision is kept", () =>
    decisions()
      .at(-1)
      ?.hunks.every((h) => h.outcome === "rejected"),
  );
});

test("another provider is chosen in the settings and used from then on", async () => {
  await app.press("Control+,");
  await app.click("AI providers");
  await app.button(/^Local/).click();
  await app.click("Use for AI");
  await app.untilShown("AI uses this provider.");
  await app.press("Control+w");
});

// covers: P3 P4 P8
test("the answer is seen while it comes, the text does not change, typing elsewhere moves it (B1)", async () => {
  await rewrite("b1", "Count one two three", { pieces: ["Count one 2"], hold: true }, "Use a digit");
  await app.until(
    "the preview",
    async () => (await app.locator(".rewrite .body ins").allInnerTexts()).join("") === "2",
  );
  await app.untilShown("Your text stays as it is until you accept.");
  const [{ body }] = provider.requests.slice(-1);
  assert.equal(selectionOf(body), "Count one two three");
  assert.match(body.messages.at(-1).content, /Use a digit/);
  assert.doesNotMatch(body.messages.at(-1).content, /<preset>/);
  await assertUntouched("b1.md", files["b1.md"], 0);

  await app.caret("before", "Count");
  await app.type(">> ");
  provider.resume(" three");
  await app.untilReview();
  assert.deepEqual(await app.marks("del"), ["two"]);
  assert.deepEqual(await app.marks("ins"), ["2"]);
  assert.equal(await app.text(), ">> Count one two three\n");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), ">> Count one 2 three\n");
  assert.equal(String(app.file("b1.md")), files["b1.md"], "an accept does not save");
  await app.untilShown("1 accepted. Everything else is identical, 20 bytes.");
});

// covers: P2 P3
test("typing in a hunk makes it stale, and undoing that revives it (B4)", async () => {
  await rewrite("b4", "Small red box", { text: "Small blue box" });
  await app.untilReview();
  await app.select("ed ");
  await app.type("aw ");
  await app.until("it is stale", async () =>
    /You changed this text/.test(await app.locator(".g-hbar").innerText()),
  );
  assert.deepEqual(await app.marks("ins"), []);
  assert.deepEqual(
    await app.locator(".g-hbar button").evaluateAll((all) => all.map((b) => b.getAttribute("data-action"))),
    ["regenerate", "reject", "previous", "next"],
  );
  await app.press("Control+Enter");
  await app.untilShown("You changed this text after it was proposed. Nothing was applied.");
  assert.equal(await app.text(), "Small raw box\n");
  await app.until("the typing is undone", async () => {
    await app.press("Control+z");
    return (await app.text()) === "Small red box\n";
  });
  await app.until("it is back", async () => (await app.marks("ins")).join() === "blue");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "Small blue box\n");
});

const threeHunks = (body) => ({
  text: selectionOf(body).replace("red", "grey").replace("old", "young").replace("big", "small"),
});

// covers: P8
test("hunks are decided one by one, by keys and by mouse", async () => {
  await rewrite("hunks", files["hunks.md"].trim(), threeHunks);
  await app.untilReview();
  assert.deepEqual(await app.marks("del"), ["red", "old", "big"]);
  const current = () => app.locator(".cm-content del.is-current").allInnerTexts();
  assert.deepEqual(await current(), ["red"]);
  await app.press("F8");
  await app.until("the second is current", async () => (await current()).join() === "old");
  await app.press("Shift+F8");
  await app.until("the first is current", async () => (await current()).join() === "red");
  // By keys: accepted, and the next one is current.
  await app.press("Control+Enter");
  await app.until("two are left", async () => (await app.marks("del")).join() === "old,big");
  assert.deepEqual(await current(), ["old"]);
  // By mouse: a click makes it current, a button of its toolbar rejects.
  await app.locator(".cm-content del", { hasText: "big" }).click();
  await app.until("the last is current", async () => (await current()).join() === "big");
  await app.locator(".g-hbar button[data-action=reject]").click();
  await app.until("one is left", async () => (await app.marks("del")).join() === "old");
  await app.locator(".g-hbar button[data-action=accept]").click();
  await app.untilDecided();
  assert.equal(
    await app.text(),
    "The grey cat sat.\n\nKept as it is.\n\nThe young dog ran.\n\nThe big bird flew.\n",
  );
  await app.until("all three are kept", () => decisions().flatMap((d) => d.hunks).length >= 6);

  // A rejection is taken back by undo like an accept is.
  await app.press("Control+z");
  await app.until("the last accept is open again", async () => (await app.marks("del")).join() === "old");
  await app.press("Control+Shift+Backspace");
  await app.untilDecided();
  assert.equal(
    await app.text(),
    "The grey cat sat.\n\nKept as it is.\n\nThe old dog ran.\n\nThe big bird flew.\n",
  );
});

// covers: P4 P9
test("accepting all is one undo and swallows no typing (B13)", async () => {
  await rewrite("hunks2", files["hunks2.md"].trim(), threeHunks);
  await app.untilReview();
  await app.caret("after", "flew.");
  await app.type("!");
  await app.caret("after", "big");
  await app.press("Control+Shift+Enter");
  await app.untilDecided();
  const accepted = "The grey cat sat.\n\nThe young dog ran.\n\nThe small bird flew.!\n";
  assert.equal(await app.text(), accepted);
  // Typed at once and right beside a change, and still a step of its own.
  await app.type("est");
  await app.press("Control+z");
  await app.until("only the typing is undone", async () => (await app.text()) === accepted);
  await app.press("Control+z");
  await app.until("the hunks are open again", async () => (await app.marks("del")).join() === "red,old,big");
  assert.equal(await app.text(), "The red cat sat.\n\nThe old dog ran.\n\nThe big bird flew.!\n");
  await app.press("Control+z");
  await app.until("the typing is undone", async () => (await app.text()) === files["hunks2.md"]);
  await app.press("Control+y");
  await app.press("Control+y");
  await app.until("all is done again", async () => (await app.text()) === accepted);
  await app.untilDecided();
  await app.press("Control+s");
  await app.untilOnDisk("hunks2.md", accepted);
});

// covers: P8
test("regenerate with a remark asks again and replaces the proposal", async () => {
  await rewrite("remark", "The quick fox jumps.", { text: "The fast fox jumps." }, "Other words");
  await app.untilReview();
  const first = lastSubmit();
  await app.press("Control+Shift+j");
  const remark = app.page.getByLabel("Remark, then regenerate");
  await remark.fill("even shorter");
  provider.script = () => ({ text: "A fox jumps." });
  await remark.press("Enter");
  await app.until("the second proposal", async () => (await app.marks("ins")).join() === "A");
  assert.notEqual(lastSubmit().supersedes, "");
  assert.notEqual(lastSubmit().commandId, first.commandId);
  assert.match(provider.requests.at(-1).body.messages.at(-1).content, /Other words\s+even shorter/);
  await app.runCommand("accept all");
  await app.untilDecided();
  assert.equal(await app.text(), "A fox jumps.\n");
  await app.press("Control+Shift+j");
  await app.untilCount(".panel .hunks", 0);
});

// covers: R7
test("Esc stops: it says stopping, then stopped, and nothing is written", async () => {
  await rewrite("stop", "A sentence that stays.", { pieces: ["A sentence", " that"], hold: true });
  await app.until("the stream", async () => /that/.test(await app.locator(".rewrite .body").innerText()));
  const synced = app.synced();
  await app.page.evaluate(() => {
    window.said = [];
    const box = document.querySelector(".rewrite");
    new MutationObserver(() =>
      window.said.push(box.querySelector("[role=status]")?.textContent ?? ""),
    ).observe(box, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  await app.press("Escape");
  await app.untilShown("Stopped. Nothing was written.");
  const said = await app.page.evaluate(() => window.said);
  assert.ok(said.indexOf("Stopping") >= 0, `it said ${said}`);
  assert.ok(said.indexOf("Stopping") < said.indexOf("Stopped. Nothing was written."));
  await app.until("the connection is gone", () => provider.held.size === 0);
  await assertUntouched("stop.md", files["stop.md"], synced);
  await app.press("Escape");
  await app.untilCount(".rewrite", 0);
  await app.until("the focus is in the text", () =>
    app.page.evaluate(() => document.activeElement?.classList.contains("cm-content")),
  );
});

// covers: P7
test("an answer that was cut off starts unticked and has no plain accept (B17)", async () => {
  await rewrite("cutoff", files["cutoff.md"].trim(), {
    text: "First two here.\n\nSecond two here.\n\nThi",
    finish: "length",
  });
  await app.untilReview();
  const text = await app.text();
  await app.until("it says so", async () =>
    /The answer was cut off/.test(await app.locator(".g-hbar").innerText()),
  );
  assert.equal(await app.count(".g-hbar button[data-action=accept]"), 0);
  await app.press("Control+Enter");
  await app.untilShown("The answer was cut off. Tick what you want to accept.");
  assert.equal(await app.text(), text);
  await app.press("Control+Shift+Enter");
  assert.equal(await app.text(), text);
  await app.press("Control+Shift+j");
  const checks = app.page.getByRole("checkbox", { name: /Include change/ });
  assert.deepEqual(
    await checks.evaluateAll((all) => [...new Set(all.map((c) => c.getAttribute("aria-checked")))]),
    ["false"],
  );
  assert.equal(await app.button(/Accept 0 ticked/).isDisabled(), true);
  await checks.first().click();
  await app.button(/Accept 1 ticked/).click();
  await app.until("the first hunk is in", async () => (await app.text()).startsWith("First two here."));
  assert.ok((await app.text()).includes("Third one here."), "what did not come is not deleted");
  await app.runCommand("reject all");
  await app.untilDecided();
  await app.press("Control+Shift+j");
});

// covers: P10
test("a change of a number says so and starts unticked; the others do not", async () => {
  await rewrite("warn", files["warn.md"].trim(), (body) => ({
    text: selectionOf(body).replace("1,240", "1,420").replace("very ", ""),
  }));
  await app.untilReview();
  await app.press("Control+Shift+j");
  const rows = app.locator(".hunk");
  await app.untilCount(".hunk", 2);
  assert.match(await rows.nth(0).innerText(), /A number changes, so it starts unticked/);
  assert.equal(await rows.nth(0).getByRole("checkbox").getAttribute("aria-checked"), "false");
  assert.equal(await rows.nth(1).getByRole("checkbox").getAttribute("aria-checked"), "true");
  assert.doesNotMatch(await rows.nth(1).innerText(), /unticked/);
  await app.until("the toolbar says what", async () =>
    /A number changes: 1,240 to 1,420/.test(await app.locator(".g-hbar").innerText()),
  );
  await app.button(/Accept 1 ticked/).click();
  await app.until(
    "only the other is in",
    async () => (await app.text()) === "There are 1,240 people on board.\n\nThey are tired.\n",
  );
  // By hand it can be had: the person saw it.
  await app.select("people");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "There are 1,420 people on board.\n\nThey are tired.\n");
  await app.press("Control+Shift+j");
});

// covers: P7
test("only the text of an answer is proposed: no talk, no thinking, no fence (B16)", async () => {
  await rewrite("talk", "The very cold tea.", {
    text: "<think>They want it shorter.</think>Sure, here it is:\n\n```markdown\nThe cold tea.\n```\n\nLet me know if you need more.",
  });
  await app.untilReview();
  assert.deepEqual(
    (await app.marks("del")).map((s) => s.trim()),
    ["very"],
  );
  assert.deepEqual(await app.marks("ins"), []);
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "The cold tea.\n");
});

for (const [what, act, words] of [
  [
    "declined",
    { text: "I'm sorry, but I can't help with that." },
    "The model declined. Nothing was changed.",
  ],
  ["was filtered", { text: "Ano", finish: "content_filter" }, "The model declined."],
  ["said nothing", { text: "" }, "The model answered with nothing. Your text was not touched."],
  ["changed nothing", (body) => ({ text: selectionOf(body) }), "The model changed nothing."],
]) {
  // covers: P7
  test(`a model that ${what} is told so, and the text stays`, async () => {
    const synced = app.synced();
    await rewrite("other", "Another document.", act);
    await app.untilShown(words);
    assert.equal(await app.count(".cm-content .g-hk"), 0);
    await assertUntouched("other.md", files["other.md"], synced);
    await app.press("Escape");
    await app.untilCount(".rewrite", 0);
  });
}

// covers: P8
test("an answer that comes while another tab is in front waits in its own", async () => {
  await rewrite("front", "Behind the very first words.", { pieces: ["Behind the "], hold: true });
  await app.until("the stream", async () => /Behind/.test(await app.locator(".rewrite .body").innerText()));
  await app.openFile("other");
  assert.equal(await app.count(".rewrite"), 0);
  const before = app.frames.length;
  provider.resume("first words.");
  await app.until("the proposal has arrived", () =>
    app.frames.slice(before).some((f) => f.includes('"proposal.created"')),
  );
  await app.until("the run is over", () =>
    app.frames.slice(before).some((f) => f.includes('"run.succeeded"')),
  );
  assert.equal(await app.text(), "Another document.\n");
  assert.equal(await app.count(".cm-content .g-hk"), 0);
  await app.caret("after", "Another");
  await app.type(" short");
  await app.openFile("front");
  await app.untilReview();
  assert.deepEqual(
    (await app.marks("del")).map((s) => s.trim()),
    ["very"],
  );
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "Behind the first words.\n");
  await app.openFile("other");
  assert.equal(await app.text(), "Another short document.\n");
});

// covers: P6
test("a Chinese sentence is refined by its words", async () => {
  await rewrite("chinese", "夜航船在冬天非常非常安静。", { text: "夜航船在冬天非常安静。" }, "精简");
  await app.untilReview();
  assert.deepEqual(await app.marks("del"), ["非常"]);
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "夜航船在冬天非常安静。\n");
});

test("nothing was reported on the way", () => app.assertQuiet());
