// Accessibility and style: axe on every part of the window in every theme, and
// what marks changes other than by colour.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { openGalley } from "../lib/browser.mjs";
import { providerEntry, selectionOf, startProvider } from "../lib/provider.mjs";

const themes = ["light", "dark", "sepia", "contrast"];

let app;
let provider;

before(async () => {
  provider = await startProvider();
  app = await openGalley({
    settings: {
      providers: [
        providerEntry(provider.url),
        providerEntry("https://api.example.invalid/v1", { id: "remote", name: "Remote" }),
      ],
    },
  });
  // A colour on its way to another has no contrast of its own.
  await app.page.emulateMedia({ reducedMotion: "reduce" });
  await app.page.evaluate(axe.source);
});

after(async () => {
  await app?.close();
  await provider?.close();
});

const choose = (change) =>
  app.page.evaluate(async (change) => {
    const { settings } = await window.go.api.Settings.Get();
    await window.go.api.Settings.Update({ ...settings, ...change });
  }, change);

/** What axe finds on the page as it is; only by some of its rules when they are named. */
const findings = (rules) =>
  app.page.evaluate(async (rules) => {
    const { violations } = await window.axe.run(document, {
      resultTypes: ["violations"],
      ...(rules && { runOnly: { type: "rule", values: rules } }),
    });
    return violations.flatMap((v) =>
      v.nodes.map(
        (n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary?.split("\n").slice(1).join(" ")}`,
      ),
    );
  }, rules);

/** Runs axe on what is shown in every theme; what has nothing to do with colour is the same in all of them. */
async function assertAccessible(what) {
  assert.deepEqual(await findings(), [], what);
  for (const theme of themes.slice(1)) {
    await show(theme);
    assert.deepEqual(await findings(["color-contrast", "link-in-text-block"]), [], `${what}, ${theme}`);
  }
  await show("light");
}

async function show(theme) {
  await choose({ theme });
  await app.until(`theme ${theme}`, () =>
    app.page.evaluate((t) => document.documentElement.dataset.theme === t, theme),
  );
}

/** Every mark of a change that is shown has a line, in every theme. */
async function assertMarked(selector, line) {
  for (const theme of themes) {
    await show(theme);
    const lines = await app.page.evaluate(
      (selector) =>
        [...document.querySelectorAll(selector)].map((e) => getComputedStyle(e).textDecorationLine),
      selector,
    );
    assert.ok(lines.length > 0, `there is a ${selector}`);
    assert.deepEqual([...new Set(lines)], [line], `${selector}, ${theme}`);
  }
  await show("light");
}

test("axe finds what is there to be found", async () => {
  await app.page.evaluate(() => {
    const bad = document.createElement("div");
    bad.className = "bad-on-purpose";
    bad.style.cssText = "position: fixed; inset: 0 auto auto 0; z-index: 99; color: #999; background: #aaa";
    bad.innerHTML = "<p>faint words</p><img src='/none.png'><button></button>";
    document.querySelector("#app").append(bad);
  });
  const found = new Set((await findings()).map((line) => line.split(":")[0]));
  await app.page.evaluate(() => document.querySelector(".bad-on-purpose").remove());
  app.errors.length = 0; // the picture was not there
  for (const rule of ["color-contrast", "image-alt", "button-name"]) {
    assert.ok(found.has(rule), `${rule} in ${[...found]}`);
  }
});

// covers: E7
test("first run", async () => {
  await app.untilShown("Galley reads only what you open.");
  await assertAccessible("first run");
});

// covers: E7
test("a document, with the sidebar and the status bar", async () => {
  await app.click("open the sample folder");
  await app.page.getByRole("treeitem", { name: "Drafts" }).click();
  await app.openFile("The Night Ferry");
  await app.until("the document", async () => (await app.text()).includes("The last boat leaves"));
  await assertAccessible("document");
  await app.caret("after", "whatever the weather");
  await app.type(" ever");
  await app.press("Control+f");
  await app.until("the search panel", async () => (await app.count(".cm-search input")) > 0);
  await assertAccessible("unsaved document and search panel");
  await app.press("Escape");
  await app.press("Control+z");
});

// covers: E7
test("the palette and a menu", async () => {
  await app.press("Control+Shift+P");
  await app.locator(".palette input").waitFor();
  await assertAccessible("palette");
  await app.press("Escape");
  await app.untilCount(".palette", 0);
});

// covers: E7
test("the rewrite box: asking, streaming, failed", async () => {
  await choose({ provider: "local" });
  await app.select("The last boat leaves the north quay at 22:40, whatever the weather.");
  await app.ask();
  await assertAccessible("rewrite box");
  provider.script = () => ({ pieces: ["The last ferry leaves the north"], hold: true });
  await app.locator(".rewrite input").focus();
  await app.press("Enter");
  await app.until("the stream", async () => (await app.count(".rewrite .body ins")) > 0);
  await assertAccessible("streaming");
  await assertMarked(".rewrite .body ins", "underline");
  await assertMarked(".rewrite .body del", "line-through");
  provider.resume(" quay at 22:40.");
  await app.untilReview();
  await app.runCommand("reject all");
  await app.untilDecided();

  provider.script = () => ({ status: 401 });
  await app.select("The last boat leaves");
  await app.ask();
  await app.press("Enter");
  await app.untilShown("Local refused the key (401).");
  await assertAccessible("a failure in the box");
  await app.click("Close");
  await app.untilCount(".rewrite", 0);
});

// covers: E7
test("a review in the text and its panel", async () => {
  provider.script = (body) => ({
    text: selectionOf(body)
      .replace("whatever the weather", "in any weather")
      .replace("1,240", "1,420")
      .replace("nurses, cooks", "nurses, pilots, cooks")
      .replace("quiet enough", "so quiet that one is able"),
  });
  await app.select((await app.text()).split("\n").find((line) => line.startsWith("The last boat")));
  await app.ask();
  await app.press("Enter");
  await app.untilReview();
  await app.press("Control+Shift+j");
  await app.until("the panel", async () => (await app.count(".hunk")) >= 3);
  await assertAccessible("review");
  await assertMarked(".cm-content ins", "underline");
  await assertMarked(".cm-content del", "line-through");
  await assertMarked(".hunks ins", "underline");
  await assertMarked(".hunks del", "line-through");

  // One stale, one accepted: both are said, and still nothing is by colour alone.
  await app.select("hatever the weathe");
  await app.type("x");
  await app.until(
    "it is stale",
    async () => (await app.count(".cm-content .g-stale, .cm-content .is-stale")) > 0,
  );
  await app.press("F8", "Control+Enter");
  await assertAccessible("a review half decided");
  await app.runCommand("reject all");
  await app.untilDecided();
  await app.press("Control+Shift+j");
});

// covers: E7
test("the settings, their sections, and a key that waits", async () => {
  await app.press("Control+,");
  await app.untilShown("How Galley looks");
  await assertAccessible("settings: general");
  await app.click("Permissions and limits");
  await app.untilShown("Limits of one run");
  await app.page.getByLabel("Steps", { exact: true }).fill("900");
  await app.untilShown("A whole number from 1 to 200.");
  await assertAccessible("settings: permissions, and a limit that is none");
  await app.click("AI providers");
  await app.untilShown("Text goes only to the provider you choose");
  await assertAccessible("settings: the offline provider");
  await app.button(/^Remote/).click();
  await app.page.getByLabel("Key", { exact: true }).fill("sk-waiting");
  await app.click("Store");
  await app.untilShown("No keyring on this system. Nothing has been stored.");
  await assertAccessible("settings: a key that waits");
  await app.page.getByLabel("Address", { exact: true }).fill("nowhere");
  await app.page.getByLabel("Address", { exact: true }).blur();
  await app.untilShown("Not an address.");
  await app.click("Add provider");
  await app.locator("[role=menu]").waitFor();
  await assertAccessible("settings: a wrong address and a menu");
  await app.press("Escape");
  await app.page.getByLabel("Model", { exact: true }).focus();
  await app.press("ArrowDown");
  await app.locator(".models").waitFor();
  await app.click(/^Parameters/);
  await app.click(/^Prices/);
  await assertAccessible("settings: a list of models, parameters and prices");
  await app.press("Escape");
  await app.click("Network");
  await app.page.getByLabel("Proxy", { exact: true }).selectOption("Set here");
  await app.untilShown("The same proxy for every provider");
  await assertAccessible("settings: a proxy that is set here");
  await app.page.getByLabel("Proxy", { exact: true }).selectOption("As the system has it");
  await app.click("Send log");
  await app.untilShown("Keep a log");
  await assertAccessible("settings: the send log");
  await app.press("Control+w");
});

// covers: E7
test("a dialog", async () => {
  await app.press("Control+w");
  await app.locator(".dialog").waitFor();
  await assertAccessible("dialog");
  await app.press("Escape");
  await app.untilCount(".dialog", 0);
});

test("the interface in Chinese", async () => {
  await choose({ language: "zh" });
  await app.untilShown("文件");
  assert.deepEqual(await findings(), []);
});

test("nothing was reported on the way, and what is reported would be seen", async () => {
  app.assertQuiet();
  await app.page.evaluate(() => {
    document.querySelector("#app").insertAdjacentHTML("beforeend", "<p style='color: red'>x</p>");
    setTimeout(() => {
      throw new Error("on purpose");
    });
  });
  await app.until("a violation", () => app.violations.some((v) => v.includes("style-src")));
  await app.until("an error", () => app.errors.some((e) => e.includes("on purpose")));
});
