// Writing: the tree, typing, undo, line endings on disk, what is asked about
// unsaved text, language, theme, palette, surrogates, and input methods.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import { openGalley } from "../lib/browser.mjs";

const crlf = "# Ferry 🛳️\r\n\r\none line\r\nlast line";
const mixed = "first\r\nsecond\nthird\rfourth\r\n";

let app;

before(async () => {
  app = await openGalley({
    settings: { provider: "mock" },
    files: {
      "crlf.md": crlf,
      "mixed.md": mixed,
      "plain.md": "one\ntwo\n",
      "deep/inner/note.md": "A note.\n",
    },
    args: (sandbox) => [sandbox.work],
    manager: true,
  });
});

after(() => app?.close());

beforeEach(() => app.tidy());

const dialog = () => app.locator("[role=alertdialog]");
const dirtyTabs = () => app.count("[role=tab] .dot");
const inText = () => app.page.evaluate(() => document.activeElement?.classList.contains("cm-content"));
const front = () => app.locator("[role=tab][aria-selected=true] .clip").innerText();

// covers: E7
test("the tree opens a document by keyboard alone", async () => {
  await app.press("F6", "F6");
  await app.until("the tree has the focus", () =>
    app.page.evaluate(() => document.activeElement?.getAttribute("role") === "treeitem"),
  );
  await app.press("Home", "ArrowRight");
  await app.untilCount("[role=treeitem][aria-level='2']", 1);
  await app.press("ArrowRight", "ArrowRight");
  await app.untilCount("[role=treeitem][aria-level='3']", 1);
  await app.press("ArrowRight");
  assert.equal(await app.page.evaluate(() => document.activeElement?.textContent), "note");
  await app.press("Enter");
  await app.until("the note in front", async () => (await app.text()) === "A note.\n");
  // Opened from the tree, the text has the focus and takes the next key.
  await app.until("the text has the focus", inText);
});

// covers: F3
test("CRLF and a missing last break are kept, and a new line takes the ending of its line", async () => {
  await app.openFile("crlf");
  await app.caret("after", "one line");
  await app.press("Enter");
  await app.type("and another");
  await app.until("the unsaved mark", async () => (await dirtyTabs()) === 1);
  assert.match(await app.status(), /CRLF/);
  assert.equal(String(app.file("crlf.md")), crlf, "nothing is written before a save");
  await app.press("Control+s");
  await app.untilOnDisk("crlf.md", "# Ferry 🛳️\r\n\r\none line\r\nand another\r\nlast line");
  await app.until("no unsaved mark", async () => (await dirtyTabs()) === 0);
  assert.match(await app.status(), /Saved/);
});

// covers: F1 F3
test("a mixed file: edit, undo all, and it is clean and the same", async () => {
  await app.openFile("mixed");
  assert.match(await app.status(), /Mixed/);
  await app.caret("after", "second");
  await app.press("Enter");
  await app.type("new");
  await app.press("Delete");
  await app.until("the unsaved mark", async () => (await dirtyTabs()) === 1);
  await app.until("all undone", async () => {
    await app.press("Control+z");
    return (await app.text()) === "first\nsecond\nthird\nfourth\n";
  });
  await app.until("clean again", async () => (await dirtyTabs()) === 0);
  await app.press("Control+s");
  await app.until("the save is answered", () =>
    app.calls.some((c) => c.name === "Documents.Save" && c.args[0].length === 26),
  );
  assert.equal(String(app.file("mixed.md")), mixed);
  // One edit changes its own bytes and no others.
  await app.caret("after", "third");
  await app.type("!");
  await app.press("Control+s");
  await app.untilOnDisk("mixed.md", "first\r\nsecond\nthird!\rfourth\r\n");
});

test("closing asks about unsaved text: cancel, save, discard", async () => {
  await app.openFile("plain");
  await app.caret("after", "two");
  await app.type(" and three");
  await app.press("Control+w");
  await dialog().waitFor();
  assert.match(await dialog().innerText(), /Save plain\?/);
  assert.equal(
    await app.page.evaluate(() => document.activeElement?.textContent),
    "Save",
    "the harmless answer has the focus",
  );
  await app.press("Escape");
  await app.untilCount("[role=alertdialog]", 0);
  assert.equal(await front(), "plain");
  assert.equal(await app.text(), "one\ntwo and three\n");

  await app.press("Control+w");
  await dialog().waitFor();
  await app.press("Enter");
  await app.untilOnDisk("plain.md", "one\ntwo and three\n");
  await app.until(
    "the tab is shut",
    async () => (await app.page.getByRole("tab", { name: "plain" }).count()) === 0,
  );

  await app.openFile("plain");
  await app.caret("after", "three");
  await app.type(", never kept");
  await app.press("Control+w");
  await app.click("Discard");
  await app.until(
    "the tab is shut",
    async () => (await app.page.getByRole("tab", { name: "plain" }).count()) === 0,
  );
  assert.equal(String(app.file("plain.md")), "one\ntwo and three\n");
  await app.openFile("plain");
  assert.equal(await app.text(), "one\ntwo and three\n");
});

test("a document without a path is saved where the native dialog says", async () => {
  await app.press("Control+n");
  await app.until("an untitled document", async () => (await front()) === "Untitled");
  await app.type("untitled text");
  await app.press("Control+s");
  await app.until(
    "the dialog in front",
    async () => (await app.onScreen("getactivewindow", "getwindowname")).trim() !== "Galley",
  );
  await app.onScreen("key", "--clearmodifiers", "ctrl+a");
  await app.onScreen("type", "--clearmodifiers", "--delay", "20", app.path("given.md"));
  await app.onScreen("key", "--clearmodifiers", "Return");
  await app.untilOnDisk("given.md", "untitled text");
  await app.until("the tab has the name", async () => (await front()) === "given");
  await app.until("clean", async () => (await dirtyTabs()) === 0);
});

test("a document without a path is asked about and can be thrown away", async () => {
  await app.press("Control+n");
  await app.until("an untitled document", async () => (await front()) === "Untitled");
  await app.type("thrown away");
  await app.until("its draft", () => app.keptFiles().some((f) => f.includes("/drafts/")));
  await app.press("Control+w");
  await app.click("Discard");
  await app.until(
    "the tab is shut",
    async () => (await app.page.getByRole("tab", { name: "Untitled" }).count()) === 0,
  );
  await app.until("no draft is left", () => !app.keptFiles().some((f) => f.includes("/drafts/")));
});

// covers: E6
test("the language changes at once, and the text stays", async () => {
  await app.openFile("crlf");
  const text = await app.text();
  await app.runCommand("Language: 简体");
  await app.untilShown("文件");
  assert.equal(await app.page.evaluate(() => document.documentElement.lang), "zh-CN");
  await app.press("Control+,");
  await app.untilShown("设置");
  await app.untilShown("语言");
  await app.press("Control+w");
  await app.until("the text has the focus again", inText);
  await app.runCommand("English");
  await app.untilShown("Files");
  assert.equal(await app.page.evaluate(() => document.documentElement.lang), "en");
  assert.equal(await app.text(), text);
  assert.equal(await dirtyTabs(), 0);
});

// covers: E6
test("the theme changes at once and is kept", async () => {
  const background = () =>
    app.page.evaluate(() => getComputedStyle(document.querySelector(".cm-content")).color);
  const seen = new Set();
  for (const [words, id] of [
    ["Theme: dark", "dark"],
    ["Theme: sepia", "sepia"],
    ["Theme: high contrast", "contrast"],
    ["Theme: light", "light"],
  ]) {
    await app.runCommand(words);
    await app.until(`theme ${id}`, () =>
      app.page.evaluate((id) => document.documentElement.dataset.theme === id, id),
    );
    seen.add(await background());
  }
  assert.ok(seen.size >= 3, `the text's colour follows: ${[...seen]}`);
});

// covers: E5
test("the palette finds commands by their letters and says why one is off", async () => {
  await app.press("Control+Shift+P");
  await app.locator(".palette input").waitFor();
  assert.ok((await app.count(".palette [role=option]")) > 25);
  await app.locator(".palette input").fill("accept all");
  await app.until("it is off", async () =>
    /Off: no review is open/.test(await app.locator(".palette [aria-selected=true]").innerText()),
  );
  await app.press("Enter");
  assert.equal(await app.count(".palette"), 1, "what is off does not run");
  await app.locator(".palette input").fill("xyzzy");
  await app.untilShown("No command of that name");
  await app.press("Escape");
  await app.untilCount(".palette", 0);
  await app.until("the focus is back in the text", inText);
  await app.runCommand("sidebar");
  await app.untilCount("[role=tree]", 0);
  await app.runCommand("sidebar");
  await app.untilCount("[role=tree]", 1);
});

// covers: F2
test("half of a surrogate pair never gets into a document", async () => {
  await app.openFile("plain");
  await app.caret("after", "one");
  await app.page.evaluate(() => {
    const data = new DataTransfer();
    data.setData("text/plain", "a\ud83db\ude00c😀");
    document
      .querySelector(".cm-content")
      .dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await app.until("the paste", async () => (await app.text()).startsWith("oneabc😀"));
  await app.press("Control+s");
  await app.untilOnDisk("plain.md", "oneabc😀\ntwo and three\n");
});

test("Chinese through an input method goes into the text once, and is one undo", async () => {
  await app.openFile("plain");
  await app.caret("after", "three");
  for (const step of ["n", "ni", "ni h", "ni ha", "ni hao"]) await app.compose(step);
  await app.commit("你好");
  await app.until("the words", async () => (await app.text()) === "oneabc😀\ntwo and three你好\n");
  await app.press("Control+s");
  await app.untilOnDisk("plain.md", "oneabc😀\ntwo and three你好\n");
  await app.press("Control+z");
  await app.until("undone", async () => (await app.text()) === "oneabc😀\ntwo and three\n");
  await app.press("Control+s");
  await app.untilOnDisk("plain.md", "oneabc😀\ntwo and three\n");
});

// covers: D10
test("no Enter, Esc or Tab of an input method sends or shuts the rewrite box (D10)", async () => {
  await app.select("three");
  await app.press("Control+j");
  await app.until("the box", () =>
    app.page.evaluate(() => document.activeElement?.matches(".rewrite input")),
  );
  const sent = () => app.calls.filter((c) => c.name === "Agent.SubmitRewrite").length;
  const key = (name, fields) =>
    app.page.evaluate(
      ([name, fields]) =>
        document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key: name, code: name, bubbles: true, cancelable: true, ...fields }),
        ),
      [name, fields],
    );
  const open = async (why) => {
    assert.equal(sent(), 0, why);
    assert.equal(await app.page.evaluate(() => document.activeElement?.matches(".rewrite input")), true, why);
  };
  // Within a composition the engine itself says so.
  await app.compose("suo");
  for (const name of ["Enter", "Escape", "Tab"]) {
    await app.send("Input.dispatchKeyEvent", {
      type: "rawKeyDown",
      key: name,
      code: name,
      windowsVirtualKeyCode: 229,
    });
    await app.send("Input.dispatchKeyEvent", { type: "keyUp", key: name, code: name });
    await open(`${name} with the input method at work`);
  }
  for (const name of ["Enter", "Escape"]) {
    await key(name, { isComposing: true });
    await key(name, { keyCode: 229 });
    await open(`${name} that says it is of a composition`);
  }
  // WebKit's order: the end first, and then the Enter that made it.
  await app.page.evaluate(() => {
    const field = document.activeElement;
    field.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true, data: "缩" }));
    field.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", code: "Enter", bubbles: true, cancelable: true }),
    );
    field.dispatchEvent(new KeyboardEvent("keyup", { key: "Enter", code: "Enter", bubbles: true }));
  });
  await open("Enter right behind the end of a composition");
  await app.commit("缩短一点");
  await app.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", code: "Enter" });
  assert.equal(await app.locator(".rewrite input").inputValue(), "缩短一点");
  await open("what was composed is in the field");
  // The next Enter is the person's.
  await app.press("Enter");
  await app.until("it was sent", () => sent() === 1);
  assert.equal(app.calls.find((c) => c.name === "Agent.SubmitRewrite").args[0].instruction, "缩短一点");
  await app.until(
    "it ended",
    async () => (await app.count(".rewrite .caret")) === 0 && !(await app.shows("Waiting")),
  );
});

test("quitting asks about unsaved text and cancel keeps the program", async () => {
  await app.openFile("crlf");
  await app.caret("after", "one line");
  await app.type("?");
  await app.press("Control+q");
  await dialog().waitFor();
  await app.press("Escape");
  await app.untilCount("[role=alertdialog]", 0);
  assert.equal(app.galley.child.exitCode, null);
  await app.press("Control+z");
  await app.until("clean", async () => (await dirtyTabs()) === 0);
});

test("nothing was reported on the way", () => {
  app.assertQuiet();
  assert.ok(!existsSync(app.path("Untitled.md")));
});
