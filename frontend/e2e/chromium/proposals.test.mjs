// What tools propose: several at once, while somebody types, accepted and taken
// back, after a reload, for documents that are not open, and when the Runner dies.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";
import { providerEntry, startProvider } from "../lib/provider.mjs";

const files = {
  "both.md": "# Ferry\n\nThe old boat leaves at night.\n\nThe crew is very small.\n",
  "typing.md": "First line here.\n\nThe red door.\n\nLast line here.\n",
  "ime.md": "夜航船。\n\nThe red door.\n",
  "overlap.md": "Small red box on a table.\n",
  "again.md": "The quiet harbour.\n\nA long night.\n",
  "shut.md": "Nobody opened this.\n",
  "front.md": "What is in front.\n",
  "killed.md": "The last boat.\n",
};

let app;
let provider;

before(async () => {
  provider = await startProvider();
  app = await openGalley({
    settings: { provider: "local", providers: [providerEntry(provider.url)] },
    files,
    args: (sandbox) => [sandbox.work],
  });
});

after(async () => {
  await app?.close();
  await provider?.close();
});

beforeEach(() => app.tidy());

const decisions = () => app.calls.filter((call) => call.name === "Agent.Decide").map((call) => call.args[0]);
const proposed = (since) =>
  app.frames.slice(since).filter((frame) => frame.includes("proposal.created")).length;

const patch = (oldText, newText, more = {}) => ({
  name: "proposePatch",
  input: { oldText, newText, summary: `Change ${oldText}`, ...more },
});

/** Shows one of the panel's views. */
async function view(name) {
  if ((await app.count(".panel")) === 0) await app.press("Control+Shift+j");
  await app.locator(".panel [role=tab]", { hasText: name }).click();
}

/** Says something in a new conversation about the document in front. */
async function say(words) {
  await view("Conversation");
  await app.button("New session").click();
  const field = app.locator(".panel .compose textarea");
  await field.fill(words);
  await field.press("Enter");
}

/** Whether a request brings the results of tools, so that it is a step that ends. */
const isAnswered = (body) => body.messages.at(-1).role === "tool";

/** Lets the model call tools in its first step and end in its second. */
function callOnce(...calls) {
  provider.script = (body) => (isAnswered(body) ? { text: "Done." } : { calls });
}

/** A model whose first answer stays open until the test says which tools it calls. */
function holdThenEnd() {
  provider.script = (body) => (isAnswered(body) ? { text: "Done." } : { hold: true });
}

const untilMarks = (...inserted) =>
  app.until(`the marks ${inserted}`, async () => {
    const now = await app.marks("ins");
    if (now.join("|") !== inserted.join("|")) throw new Error(`they are ${JSON.stringify(now)}`);
    return true;
  });

// covers: P4 P8 T4
test("several proposals of one run are in the text together, and each is decided by its own id", async () => {
  await app.openFile("both");
  callOnce(patch("very small", "small"), patch("old boat", "ferry"));
  const since = app.frames.length;
  await say("Make it shorter.");
  await app.until("two proposals", () => proposed(since) === 2);
  await untilMarks("ferry");
  assert.deepEqual(
    (await app.marks("del")).map((s) => s.trim()),
    ["old boat", "very"],
  );
  assert.equal(await app.text(), files["both.md"]);
  assert.equal(String(app.file("both.md")), files["both.md"]);

  await view("Review");
  assert.equal(await app.locator(".panel [role=tab] .num").innerText(), "2");
  await app.untilShown("2 proposals");
  assert.deepEqual(await app.locator(".hunks .of").allInnerTexts(), ["Change old boat", "Change very small"]);
  assert.deepEqual(await app.locator(".hunks .hunk > .n").allInnerTexts(), ["1", "2"]);

  const told = decisions().length;
  await app.locator(".cm-content del", { hasText: "old boat" }).click();
  await app.caret("after", "at night");
  await app.press("Control+Enter");
  await app.until("one is in the text", async () => /The ferry leaves/.test(await app.text()));
  await app.press("Control+Enter");
  await app.untilDecided();
  const accepted = "# Ferry\n\nThe ferry leaves at night.\n\nThe crew is small.\n";
  assert.equal(await app.text(), accepted);
  await app.until("both are told", () => decisions().length === told + 2);
  const ids = decisions()
    .slice(told)
    .map((d) => d.proposalId);
  assert.equal(new Set(ids).size, 2);

  await app.press("Control+z", "Control+z");
  await app.until("both are open again", async () => (await app.count(".cm-content del")) === 2);
  assert.equal(await app.text(), files["both.md"]);
  await app.press("Control+y", "Control+y");
  await app.untilDecided();
  assert.equal(await app.text(), accepted);
  await app.until("six decisions", () => decisions().length === told + 6);
  assert.deepEqual(
    decisions()
      .slice(told)
      .map((d) => [ids.indexOf(d.proposalId), d.hunks[0].outcome]),
    [
      [0, "accepted"],
      [1, "accepted"],
      [1, "open"],
      [0, "open"],
      [0, "accepted"],
      [1, "accepted"],
    ],
  );
  assert.equal(new Set(decisions().map((d) => d.commandId)).size, decisions().length);
});

// covers: P2 P3 P8
test("what was typed since the model read the text moves its proposal (B1)", async () => {
  await app.openFile("typing");
  holdThenEnd();
  await say("Paint the door.");
  await app.until("the request", () => provider.held.size === 1);
  await app.caret("before", "First");
  await app.type("Quite a new line.\n\n");
  await app.until("the host has it", () => app.synced() > 0);
  provider.resume("", [patch("red", "green")]);
  await untilMarks("green");
  assert.deepEqual(await app.marks("del"), ["red"]);
  assert.equal(await app.text(), `Quite a new line.\n\n${files["typing.md"]}`);
  assert.equal((await app.locator(".g-hk.is-moved").count()) > 0, true);
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(
    await app.text(),
    "Quite a new line.\n\nFirst line here.\n\nThe green door.\n\nLast line here.\n",
  );
});

// covers: P8
test("one that comes while an input method is at work waits for its end", async () => {
  await app.openFile("ime");
  holdThenEnd();
  await say("Paint the door.");
  await app.until("the request", () => provider.held.size === 1);
  await app.caret("after", "夜航船");
  await app.compose("zai");
  const since = app.frames.length;
  provider.resume("", [patch("red", "green")]);
  await app.until("the proposal", () => proposed(since) === 1);
  await app.compose("zai wan");
  assert.deepEqual(await app.marks("ins"), []);
  await app.commit("在晚上");
  await untilMarks("green");
  assert.equal(await app.text(), "夜航船在晚上。\n\nThe red door.\n");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "夜航船在晚上。\n\nThe green door.\n");
});

// covers: P2 P3 P8
test("of two that overlap the accept of one makes the other stale, and undo revives it; so does typing", async () => {
  await app.openFile("overlap");
  // One run may not propose for the same words twice; two may.
  callOnce(patch("red box", "blue chest"));
  await say("Say it otherwise.");
  await untilMarks("blue chest");
  callOnce(patch("box on a table", "crate on the floor"));
  await say("And the table.");
  await app.until("both", async () => (await app.count(".cm-content .g-hk sup")) === 2);
  await app.locator(".cm-content del", { hasText: "red" }).first().click();
  await app.press("Control+Enter");
  await app.until("the other is stale", async () => (await app.count(".cm-content .g-hk.is-stale")) === 1);
  assert.equal(await app.text(), "Small blue chest on a table.\n");
  await app.press("Control+z");
  await app.until("it is back", async () => (await app.count(".cm-content .g-hk.is-stale")) === 0);
  assert.equal(await app.text(), files["overlap.md"]);
  await app.select("able");
  await app.type("ile");
  await app.until("typing makes it stale", async () => (await app.count(".cm-content .g-hk.is-stale")) === 1);
  await view("Review");
  await app.untilShown("You changed this text");
  await app.locator(".cm-content").click();
  await app.until("the typing is undone", async () => {
    await app.press("Control+z");
    return (await app.text()) === files["overlap.md"];
  });
  await app.until("it is back", async () => (await app.count(".cm-content .g-hk.is-stale")) === 0);
  await app.runCommand("reject all");
  await app.untilDecided();
  assert.equal(await app.text(), files["overlap.md"]);
});

// covers: P2
test("after a reload a proposal finds its text by its digest, and says so when it is another", async () => {
  await app.openFile("again");
  callOnce(patch("quiet", "silent"));
  await say("Quieter.");
  await untilMarks("silent");
  await app.page.reload();
  await app.ready();
  await untilMarks("silent");
  await app.caret("after", "long night");
  await app.type(" and day");
  await app.press("Control+s");
  await app.untilOnDisk("again.md", "The quiet harbour.\n\nA long night and day.\n");
  await app.page.reload();
  await app.ready();
  await app.until("the text is back", async () => /and day/.test(await app.text()));
  await view("Review");
  await app.untilShown("Made for an older text");
  assert.deepEqual(await app.marks("ins"), []);
  await app.click("Ask again");
  await app.until("the message is written", async () =>
    (await app.locator(".panel .compose textarea").inputValue()).includes("quiet"),
  );
  await view("Review");
  await app.click("Put away");
  await app.untilGone("Made for an older text");
  await app.until("it counts as rejected", () => decisions().at(-1)?.hunks[0]?.outcome === "rejected");
});

// covers: P8 H2
test("one of a document that was closed is listed, and opens it", async () => {
  await app.openFile("shut");
  callOnce(patch("Nobody", "Somebody"));
  await say("Who did?");
  await untilMarks("Somebody");
  await app.locator(".cm-content").click();
  await app.press("Control+w");
  await app.openFile("front");
  await view("Review");
  await app.untilShown("In other documents");
  await app.locator(".others .row", { hasText: "shut" }).click();
  await untilMarks("Somebody");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "Somebody opened this.\n");
});

// covers: P4 R4
test("a decision that the dead Runner did not hear is told to the next, as the same command", async () => {
  await app.openFile("killed");
  callOnce(patch("last", "first"));
  await say("The other one.");
  await untilMarks("first");
  await app.until(
    "the run is over",
    async () => (await app.count(".panel .compose [aria-label=Stop]")) === 0,
  );
  const told = decisions().length;
  const since = app.frames.length;
  process.kill(await app.runner(), "SIGKILL");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "The first boat.\n");
  await app.until("it is kept", () =>
    app.frames.slice(since).some((frame) => frame.includes("proposal.decided")),
  );
  const commands = new Set(
    decisions()
      .slice(told)
      .map((d) => d.commandId),
  );
  assert.equal(commands.size, 1);
});

test("nothing was reported on the way", () => app.assertQuiet());
