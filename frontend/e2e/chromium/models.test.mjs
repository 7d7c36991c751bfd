// The models one can choose without going to the settings: in the rewrite box
// for one rewrite, by preset, and in the composer for all that follows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";
import { providerEntry, selectionOf, startProvider } from "../lib/provider.mjs";

let app;
let provider;

before(async () => {
  provider = await startProvider((body) => ({
    text: selectionOf(body).replace("very ", "") || "A short note.",
    usage: { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 },
  }));
  provider.models = ["fern-2", "fern-3", "moss"].map((id) => ({ id, object: "model" }));
  app = await openGalley({
    settings: {
      provider: "local",
      providers: [
        providerEntry(provider.url, {
          favourites: ["fern-3", "moss"],
          prices: [{ model: "moss", currency: "€", input: 2, output: 10, cached: 2 }],
        }),
      ],
      presets: [{ preset: "grammar", provider: "local", model: "fern-3" }],
    },
    files: { "note.md": "A very short note.\n\nAnother very short one.\n" },
    args: (sandbox) => [sandbox.path("note.md")],
  });
});

after(async () => {
  await app?.close();
  await provider?.close();
});

const chats = () => provider.requests.filter((r) => r.url.endsWith("/chat/completions"));
const kept = () => JSON.parse(readFileSync(join(app.sandbox.galleyHome, "settings.json"), "utf8"));
const picture = async (name) => {
  if (process.env.GALLEY_PICTURES)
    await app.page.screenshot({ path: join(process.env.GALLEY_PICTURES, `${name}.png`) });
};

// covers: U1 K3
test("the box says and uses the model of a preset, or one chosen for this rewrite", async () => {
  await app.select("A very short note.");
  await app.ask();
  assert.match(await app.locator(".rewrite .ask").innerText(), /Local, fern-2/);
  await app.page.getByRole("radio", { name: "Fix grammar" }).click();
  await app.untilReview();
  assert.equal(chats().at(-1).body.model, "fern-3");
  await app.press("Control+Enter");
  await app.untilDecided();

  await app.select("Another very short one.");
  await app.ask();
  await app.page.getByRole("button", { name: /^Provider and model/ }).click();
  await app.locator(".rewrite [role=menu]").waitFor();
  await picture("box-models");
  await app.page.getByRole("menuitemradio", { name: "Local, moss" }).click();
  await app.untilShown("Goes to Local, moss.");
  await app.press("Enter");
  await app.untilReview();
  assert.equal(chats().at(-1).body.model, "moss");
  await app.press("Control+Enter");
  await app.untilDecided();
  assert.equal(kept().providers[0].model, "fern-2", "the choice was for one rewrite");
});

// covers: K3 R11
test("the composer chooses for all that follows, and says what a run used and cost", async () => {
  await app.press("Control+Shift+J");
  await app.locator(".compose textarea").waitFor();
  await app.locator(".area .model").click();
  await app.locator(".area [role=menu]").waitFor();
  await picture("composer-models");
  await app.page.getByRole("menuitemradio", { name: "Local, moss" }).click();
  await app.until("the choice", () => kept().providers[0].model === "moss");
  await app.locator(".compose textarea").fill("What is this about?");
  await app.press("Enter");
  await app.untilShown("1,000 tokens in, 200 out, €0.0040");
  assert.equal(chats().at(-1).body.model, "moss");
  await picture("composer-used");
  // What was used before stays within reach, though it is no favourite.
  await app.locator(".area .model").click();
  await app.page.getByRole("menuitemradio", { name: "Local, fern-2" }).waitFor();
  await app.press("Escape");
});

test("nothing was reported on the way", () => app.assertQuiet());
