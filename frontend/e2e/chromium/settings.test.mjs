// Settings: a provider from nothing to use, its address, its key that only
// goes in, and that the key is afterwards nowhere it should not be.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";
import { selectionOf, startProvider } from "../lib/provider.mjs";

const key = "sk-planted-4Hn7WqZx9LmV2bTe";
const second = "sk-planted-9Kd3PzRy6CvN8gUo";

let app;
let provider;

before(async () => {
  provider = await startProvider((body) => ({ text: selectionOf(body).replace("very ", "") || "OK" }));
  app = await openGalley({
    files: { "note.md": "A very short note.\n" },
    args: (sandbox) => [sandbox.path("note.md")],
  });
  await app.press("Control+,");
  await app.click("AI providers");
});

after(async () => {
  await app?.close();
  await provider?.close();
});

beforeEach(async () => {
  if ((await app.count(".dialog, [role=menu]")) > 0) await app.press("Escape");
});

const field = (label) => app.page.getByLabel(label, { exact: true });
const kept = () => JSON.parse(readFileSync(join(app.sandbox.galleyHome, "settings.json"), "utf8"));

async function fill(label, words) {
  await field(label).fill(words);
  await field(label).blur();
}

/** Types a key like a person and gives it to the host. */
async function storeKey(words) {
  await field("Key").click();
  await app.type(words);
  await app.click("Store");
}

// covers: K3 K7
test("a provider is added; its final address is shown, and http is for this computer only", async () => {
  await app.click("Add provider");
  await app.page.getByRole("menuitem", { name: "OpenAI-compatible" }).click();
  await app.until("the form", async () => (await field("Name").inputValue()) === "OpenAI-compatible");
  await fill("Name", "Loopback");
  await app.until("its name in the list", async () => (await app.button(/^Loopback/).count()) === 1);
  await fill("Address", "not an address");
  await app.untilShown("Not an address. It starts with https:// or http://");
  await fill("Address", "http://api.example.com/v1");
  await app.untilShown("Only https:// keeps the key safe on the way. http:// is for this computer only.");
  assert.equal(await app.button("Test").isDisabled(), true);
  await fill("Address", "https://api.example.com/v1/");
  await app.untilShown("Requests go to https://api.example.com/v1/chat/completions");
  assert.equal(await app.shows("Only https://"), false);
  await fill("Address", provider.url);
  await app.untilShown(`Requests go to ${provider.url}/chat/completions`);
  await app.until("it is kept", () => kept().providers?.[0]?.baseUrl === provider.url);
  assert.equal(kept().providers[0].name, "Loopback");
});

// covers: K10
test("the size of a model's context is kept with its provider", async () => {
  await fill("Context size", "12");
  await app.untilShown("A whole number from 1,000 to 10,000,000");
  await fill("Context size", "64000");
  await app.until("it is kept", () => kept().providers[0].contextTokens === 64000);
  assert.equal(await app.shows("A whole number"), false);
  await fill("Context size", "");
  await app.until("it is not known again", () => kept().providers[0].contextTokens === 0);
});

// covers: U5 T4 R8
test("what a run may touch is said, and can only be tightened", async () => {
  await app.click("Permissions and limits");
  await app.untilShown("Nothing is applied by itself.");
  const options = (label) => field(label).locator("option").allInnerTexts();
  assert.deepEqual(await options("Read other documents"), ["Without asking", "Ask each time", "Never"]);
  assert.deepEqual(await options("Create and rename documents"), ["Ask each time", "Never"]);
  await field("Read other documents").selectOption("Never");
  await app.until("it is kept", () => kept().permissions?.workspaceRead === "deny");
  await fill("Steps", "900");
  await app.untilShown("A whole number from 1 to 200.");
  await fill("Steps", "12");
  await app.until("the limit is kept", () => kept().limits?.steps === 12);
  await app.click("AI providers");
  await app.until("the form", async () => (await field("Name").count()) === 1);
});

// covers: K4 K5
test("without a keyring nothing is stored before the person has decided where", async () => {
  await storeKey(key);
  await app.untilShown("No keyring on this system. Nothing has been stored.");
  assert.equal(await field("Key").inputValue(), "", "the key has left the field");
  const path = join(app.sandbox.galleyHome, "credentials.json");
  const notice = await app.locator(".set .note").innerText();
  assert.ok(notice.includes(path), notice);
  assert.match(notice, /in plain text/);
  assert.equal(existsSync(path), false);
  assert.equal(await app.shows("In memory until you quit"), false);
  await app.click("Keep until I quit");
  await app.untilShown("In memory until you quit");
  assert.equal(existsSync(path), false);
  assert.equal(await app.count("input[type=password]"), 0);
});

// covers: K3
test("Test lists the models of the same address, and one is chosen", async () => {
  await app.click("Test");
  await app.untilShown("Connected, 1 model.");
  assert.equal(provider.requests.at(-1).url, "/v1/models");
  assert.equal(provider.requests.at(-1).headers.authorization, `Bearer ${key}`);
  await app.click("Choose a model");
  await app.page.getByRole("option", { name: "fern-2" }).click();
  await app.until("the model is kept", () => kept().providers[0].model === "fern-2");
  await app.click("Test");
  await app.untilShown("It answered “OK”");
  await app.untilShown("whole answer after");
  assert.equal(
    provider.requests.filter((r) => r.url.endsWith("/chat/completions")).at(-1).body.model,
    "fern-2",
  );
});

// covers: K3 R11
test("parameters, prices, favourites and the order are kept", async () => {
  await app.click(/^Parameters/);
  await fill("Temperature", "0.4");
  await app.until("the temperature", () => kept().providers[0].temperature === "0.4");
  await field("Effort").selectOption("Low");
  await app.until("the effort", () => kept().providers[0].effort === "low");
  await field("Effort").selectOption("As the provider has it");
  await app.click(/^Prices/);
  await fill("Input", "2");
  await fill("Output", "8");
  await app.until("the price", () => kept().providers[0].prices?.[0]?.output === 8);
  assert.deepEqual(kept().providers[0].prices, [
    { model: "fern-2", currency: "$", input: 2, output: 8, cached: 2 },
  ]);
  await app.page.getByRole("button", { name: "Favourite", exact: true }).click();
  await app.until("the favourite", () => kept().providers[0].favourites?.[0] === "fern-2");

  await app.click("More for Loopback");
  await app.page.getByRole("menuitem", { name: "Duplicate" }).click();
  await app.until("the copy", () => kept().providers.length === 2);
  assert.equal(kept().providers[1].name, "Loopback copy");
  await app.button(/^Loopback copy/).focus();
  await app.press("Alt+ArrowUp");
  await app.until("the other order", () => kept().providers[0].name === "Loopback copy");
  await app.click("More for Loopback copy");
  await app.page.getByRole("menuitem", { name: "Delete provider" }).click();
  await app.locator(".dialog").getByRole("button", { name: "Delete provider" }).click();
  await app.until("one again", () => kept().providers.length === 1);
});

// covers: K7
test("the network is set, and what would be used is said", async () => {
  await app.click("Network");
  await field("Proxy").selectOption("Set here");
  await fill("Address", "proxy:3128");
  await app.untilShown("An address such as http://proxy.example.com:3128");
  await fill("Address", "http://127.0.0.1:3128");
  await app.until("it is kept", () => kept().network?.proxyUrl === "http://127.0.0.1:3128");
  await app.untilShown("Directly, without a proxy");
  await field("Proxy").selectOption("As the system has it");
  await app.until("it is kept", () => kept().network?.proxy === "system");
});

// covers: K9
test("the send log shows what left to the letter, and is cleared", async () => {
  await app.click("Send log");
  await app.until("the entries", async () => (await app.count(".send-log tbody tr")) >= 2);
  await app.page.locator(".send-log tbody tr", { hasText: "Test" }).first().locator("button").click();
  const sent = provider.requests.filter((r) => r.url.endsWith("/chat/completions")).at(-1).body;
  await app.until("what left", async () => (await app.count(".send-view pre")) === 1);
  assert.deepEqual(JSON.parse(await app.locator(".send-view pre").innerText()), sent);
  await app.click("Raw");
  assert.equal(await app.locator(".send-view pre").innerText(), JSON.stringify(sent));
  await app.click("Back to the log");
  await app.click("Clear");
  await app.locator(".dialog").getByRole("button", { name: "Clear the log" }).click();
  await app.untilShown("Nothing has left yet");
  await app.click("AI providers");
});

// covers: K4
test("a rewrite uses the key", async () => {
  await app.until("it is in use", async () =>
    /AI uses this provider\./.test(await app.locator(".set").innerText()),
  );
  await app.press("Control+w");
  await app.select("A very short note.");
  await app.ask();
  await app.press("Enter");
  await app.untilReview();
  const chat = provider.requests.at(-1);
  assert.equal(chat.url, "/v1/chat/completions");
  assert.equal(chat.headers.authorization, `Bearer ${key}`);
  assert.equal(chat.body.model, "fern-2");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(await app.text(), "A short note.\n");
});

/** Every file of the sandbox: the program's, the browser's, the documents. */
function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else if (entry.isFile()) yield path;
  }
}

const forms = (words) => [
  words,
  Buffer.from(words).toString("base64").slice(0, 24),
  Buffer.from(words).toString("hex"),
  Buffer.from(words, "utf16le").toString("latin1"),
];
const holds = (data, words) => forms(words).some((form) => data.includes(Buffer.from(form, "latin1")));

/** Where a key is found, of all places but the provider's. */
async function findKey(words) {
  const found = [];
  const look = (where, data) => holds(Buffer.from(data), words) && found.push(where);
  let looked = 0;
  for (const path of files(app.sandbox.root)) {
    let data;
    try {
      data = readFileSync(path);
    } catch (error) {
      // The browser clears its cache while it is read; what is gone holds nothing.
      if (error.code === "ENOENT") continue;
      throw error;
    }
    looked += 1;
    look(path, data);
  }
  assert.ok(looked > 20, "there was something to search");
  look("page", await app.page.content());
  look(
    "fields",
    await app.page.evaluate(() =>
      [...document.querySelectorAll("input, textarea")]
        .map((f) => `${f.value} ${f.defaultValue} ${f.placeholder}`)
        .join("\n"),
    ),
  );
  look(
    "storage",
    await app.page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    ),
  );
  assert.ok(app.frames.length > 20);
  look("what the host sent", app.frames.join("\n"));
  look(
    "calls besides the one that stores it",
    JSON.stringify(app.calls.filter((call) => call.name !== "Settings.SetKey")),
  );
  look("output", app.galley.output);
  for (const pid of [app.galley.pid, await app.runner()]) {
    look(`arguments of ${pid}`, readFileSync(`/proc/${pid}/cmdline`));
    look(`environment of ${pid}`, readFileSync(`/proc/${pid}/environ`));
  }
  return found;
}

// covers: K4
test("the key is found in no element, event, file, argument or environment", async () => {
  assert.deepEqual(await findKey(key), []);
  // The search finds what is there to be found.
  assert.ok((await findKey("A short note")).includes("page"));
});

// covers: K4 K5
test("a key in plain text is only where the person was told, and can be deleted", async () => {
  await app.press("Control+,");
  await app.click("Replace");
  await storeKey(second);
  await app.click("Store in plain text");
  await app.untilShown("In a file, plain text");
  const path = join(app.sandbox.galleyHome, "credentials.json");
  await app.untilShown(`Stored in plain text in ${path}`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(await findKey(second), [path]);
  assert.deepEqual(await findKey(key), [], "the key before it is gone");
  await app.click("Test");
  await app.untilShown("Connected, 1 model.");
  assert.equal(provider.requests.at(-1).headers.authorization, `Bearer ${second}`);

  await app.click("Delete");
  await app.untilShown("Delete the key of Loopback?");
  await app.press("Escape");
  await app.untilCount(".dialog", 0);
  assert.equal(await app.shows("In a file, plain text"), true);
  await app.click("Delete");
  await app.locator(".dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await app.untilGone("In a file, plain text");
  assert.deepEqual(await findKey(second), []);
  await field("Key").waitFor();
  await app.click("Test");
  await app.until("a test without a key", () => provider.requests.at(-1).headers.authorization === undefined);
});

// covers: K4
test("what is not a key is refused, and Esc drops what waits", async () => {
  await field("Key").click();
  await app.type("这不是密钥");
  await app.click("Store");
  await app.untilShown("This is not a key.");
  await app.page.keyboard.type("sk-another");
  await app.click("Store");
  await app.untilShown("Not stored yet. Choose below.");
  await field("Key").focus();
  await app.press("Escape");
  await app.untilGone("Not stored yet");
  assert.equal(await field("Key").inputValue(), "");
});

// covers: K3
test("a provider is deleted with what belongs to it", async () => {
  await app.click("Delete provider");
  await app.untilShown("Delete Loopback?");
  await app.locator(".dialog").getByRole("button", { name: "Delete provider" }).click();
  await app.until("it is gone from the list", async () => (await app.button(/^Loopback/).count()) === 0);
  assert.deepEqual(kept().providers ?? [], []);
  await app.press("Control+w");
  await app.select("A short note.");
  await app.ask();
  await app.press("Enter");
  await app.untilShown("No AI provider is set up.");
});

test("nothing was reported on the way", () => app.assertQuiet());
