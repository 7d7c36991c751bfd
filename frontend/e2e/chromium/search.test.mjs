// Searching the folder and replacing in it, by keyboard: what streams in, what
// is not saved yet, what is wrong with a query; a replacement reviewed, applied
// to files and open documents together, exact on disk, and undone as one.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import axe from "axe-core";
import { openGalley } from "../lib/browser.mjs";

const crlf = "# Ferry\r\n\r\nThe night boat leaves.\r\nNo night boat today.";
const files = {
  "crlf.md": crlf,
  "bom.md": "\ufeffnight boat\rsecond\r\nnight boats\n",
  "open.md": "A night boat.\n\nAnother night boat.\n",
  "Drafts/deep.md": "Deep: night boat.\n",
  "assets/list.md": "night boat\n",
  "many.md": "boat\n".repeat(130),
};

let app;

before(async () => {
  app = await openGalley({ files, args: (sandbox) => [sandbox.work] });
  await app.page.emulateMedia({ reducedMotion: "reduce" });
  await app.page.evaluate(axe.source);
});

after(() => app?.close());

beforeEach(() => app.tidy());

const query = () => app.page.getByLabel("Search in folder");
const replaceWith = () => app.page.getByLabel("Replace with");
const hitRows = () => app.locator(".row-hit").allInnerTexts();
const fileRows = () => app.locator(".row-file .clip").allInnerTexts();
const counts = () => app.locator(".counts").innerText();
const focused = (selector) =>
  app.until(`the focus in ${selector}`, () =>
    app.page.evaluate((s) => document.activeElement?.matches(s), selector),
  );
const selected = () =>
  app.page.evaluate(() => {
    const { state } = document.querySelector(".cm-content").cmTile.root.view;
    return state.sliceDoc(state.selection.main.from, state.selection.main.to);
  });

/** Searches for some words and waits for the end. */
async function search(words) {
  await app.press("Control+Shift+h");
  await focused(".find input");
  await query().fill(words);
  await app.until(`the end of the search for ${words}`, async () =>
    / in \d+ of \d+ file|Nothing found/.test(await app.locator(".side").innerText()),
  );
}

async function assertAccessible(what, rules) {
  const found = await app.page.evaluate(async (rules) => {
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
  assert.deepEqual(found, [], what);
}

/** In every theme; what has nothing to do with colour is the same in all of them. */
async function assertAccessibleInAll(what) {
  await assertAccessible(what);
  for (const theme of ["dark", "sepia", "contrast", "light"]) {
    await app.page.evaluate(async (theme) => {
      const { settings } = await window.go.api.Settings.Get();
      await window.go.api.Settings.Update({ ...settings, theme });
    }, theme);
    await app.until(`theme ${theme}`, () =>
      app.page.evaluate((t) => document.documentElement.dataset.theme === t, theme),
    );
    await assertAccessible(`${what}, ${theme}`, ["color-contrast"]);
  }
}

// covers: F9 E7 (results stream in order; limits are said)
test("a search streams in, in the order of the tree, and says what is cut", async () => {
  await search("boat");
  assert.deepEqual(await fileRows(), ["list assets", "deep Drafts", "bom", "crlf", "many"]);
  assert.match(await counts(), /^138 hits in 6 of 6 files$/);
  assert.ok(app.frames.some((frame) => frame.includes("search.found")));
  await app.locator(".hits").focus();
  await app.press("End", "ArrowUp", "ArrowUp", "ArrowUp");
  await app.untilShown("100 hits shown; there are 30 more");
  await assertAccessibleInAll("search results");
});

// covers: F9 (unsaved buffers are searched as they stand)
test("unsaved text is found, and a hit opens its place", async () => {
  await app.page.getByRole("tab", { name: "Files" }).click();
  await app.openFile("open");
  await app.caret("after", "Another night boat.");
  await app.type(" A kingfisher.");
  await search("kingfisher");
  assert.deepEqual(await hitRows(), ["3\nAnother night boat. A kingfisher."]);
  assert.match(await app.locator(".row-file").innerText(), /Unsaved/);
  assert.ok(!String(app.file("open.md")).includes("kingfisher"));
  await app.caret("before", "A night boat");
  await search("deep");
  await app.press("ArrowDown", "ArrowDown", "Enter");
  await app.until("the hit is selected", async () => (await selected()) === "Deep");
  await focused(".cm-content");
  // From the text: the next hits one after another, round and round.
  await search("night boat");
  await app.locator(".hits").focus();
  await app.press("Escape");
  await focused(".cm-content");
  await app.press("F4");
  await app.until("a hit", async () => (await selected()) === "night boat");
  await app.press("F4", "F4");
  await app.until("the third file", async () => (await app.text()).includes("second"));
  await app.press("Shift+F4");
  await app.until("the hit before", async () => (await app.text()) === "Deep: night boat.\n");
  await focused(".cm-content");
});

// covers: F9 (regexp in RE2 syntax, case, whole word, globs)
test("case, whole word, regular expressions and globs narrow it down", async () => {
  await search("night boat");
  const toggle = (name) => app.page.getByRole("button", { name, exact: true });
  await toggle("Regular expression").click();
  await query().fill("(night");
  await app.untilShown("Not a regular expression: missing closing )");
  await assertAccessible("a wrong expression");
  await query().fill("night boats?$");
  await app.until("the hit at an end", async () => (await hitRows()).includes("3\nnight boats"));
  await toggle("Regular expression").click();
  await query().fill("BOATS");
  await app.until("without case", async () => /^1 hit /.test(await counts()));
  await toggle("Match case").click();
  await app.untilShown("Nothing found");
  await toggle("Match case").click();
  await query().fill("night boat");
  await toggle("Whole word").click();
  await app.until("whole words", async () => /^7 hits in 5 of/.test(await counts()));
  await toggle("Whole word").click();
  await toggle("Files").click();
  await app.page.getByLabel("Not in").fill("assets/**, Drafts/**");
  await app.until("without two folders", async () => /in 3 of \d/.test(await counts()));
  await app.page.getByLabel("Only in").fill("crlf.md");
  await app.until("one file", async () => /^2 hits in 1 of/.test(await counts()));
  await app.page.getByLabel("Only in").fill("");
  await app.page.getByLabel("Not in").fill("");
  await toggle("Files").click();
});

// covers: F9 F3 (a replacement is reviewed, exact on disk, and undone as a set)
test("a replacement is reviewed, applied to files and documents, and undone as one", async () => {
  await app.page.getByRole("tab", { name: "Files" }).click();
  await app.openFile("open");
  await app.press("Control+s");
  await app.untilOnDisk("open.md", "A night boat.\n\nAnother night boat. A kingfisher.\n");
  await app.runCommand("replace in folder");
  await focused(".find input");
  await query().fill("night boat");
  await replaceWith().fill("night ferry");
  await app.press("Enter");
  await app.untilShown("8 of 8 changes ticked");
  await assertAccessibleInAll("review of a replacement");
  const lines = await app.page.evaluate(() =>
    [...document.querySelectorAll(".sizer :is(ins, del)")].map((e) => getComputedStyle(e).textDecorationLine),
  );
  assert.deepEqual([...new Set(lines)].sort(), ["line-through", "underline"]);
  assert.equal(String(app.file("crlf.md")), crlf, "nothing is written before");

  // The last change of crlf.md is left out, by keyboard.
  await app.locator(".hits").focus();
  await app.press("Home");
  await app.until("the row", async () => {
    await app.press("ArrowDown");
    return /No night boat/.test(await app.locator("[role=treeitem][aria-current]").innerText());
  });
  await app.press("Space");
  await app.untilShown("7 of 8 changes ticked");
  // Typing in a document beside the changes refuses nothing.
  await app.caret("after", "kingfisher.");
  await app.type(" More.");
  await app.button("Replace 7 in 5 files").click();
  await app.untilShown("7 changed in 5 files.");
  await assertAccessible("the receipt");
  await app.untilOnDisk("crlf.md", crlf.replace("The night boat", "The night ferry"));
  await app.untilOnDisk("bom.md", "\ufeffnight ferry\rsecond\r\nnight ferrys\n");
  await app.untilOnDisk("assets/list.md", "night ferry\n");
  assert.equal(await app.text(), "A night ferry.\n\nAnother night ferry. A kingfisher. More.\n");

  // The document's own undo takes its part back, and the set says so.
  await app.page.evaluate(() => document.querySelector(".cm-content").focus());
  await app.press("Control+z");
  assert.equal(await app.text(), "A night boat.\n\nAnother night boat. A kingfisher. More.\n");
  await app.untilShown("Undone in open already.");
  await app.press("Control+y");
  await app.untilGone("Undone in open already.");

  await app.page.getByRole("button", { name: "Undo", exact: true }).click();
  await app.untilShown("Undone. Every file is as it was.");
  await app.untilOnDisk("crlf.md", crlf);
  await app.untilOnDisk("bom.md", files["bom.md"]);
  await app.untilOnDisk("Drafts/deep.md", files["Drafts/deep.md"]);
  assert.equal(await app.text(), "A night boat.\n\nAnother night boat. A kingfisher. More.\n");
  await app.click("Done");
  await app.press("Control+s");
});

// covers: F9 F5 (the hash is checked: all or nothing)
test("nothing is replaced when a file changed after the preview, and it is named", async () => {
  await search("night boat");
  await app.press("Enter");
  if ((await replaceWith().count()) === 0)
    await app.page.getByRole("button", { name: "Replace", exact: true }).click();
  await replaceWith().fill("night train");
  await app.press("Enter");
  await app.untilShown("8 of 8 changes ticked");
  app.sandbox.write("crlf.md", "theirs: night boat\n");
  await app.button("Replace 8 in 5 files").click();
  await app.untilShown("crlf changed on disk after the preview.");
  await assertAccessible("a refusal");
  for (const name of ["bom.md", "Drafts/deep.md"]) assert.equal(String(app.file(name)), files[name]);
  await app.click("Search again");
  await app.untilShown("7 of 7 changes ticked");
  await app.click("Cancel");
  await app.untilCount(".sizer .check", 0);
  app.sandbox.write("crlf.md", crlf);
});

test("the search in Chinese, and nothing was reported on the way", async () => {
  await app.page.evaluate(async () => {
    const { settings } = await window.go.api.Settings.Get();
    await window.go.api.Settings.Update({ ...settings, language: "zh" });
  });
  await app.untilShown("预览改动");
  await assertAccessible("the search in Chinese");
  app.assertQuiet();
});
