// The tree, quick open, the recent list and the session, on the real back end
// and the disk: what is made, renamed, moved and trashed is looked for there.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import axe from "axe-core";
import { openGalley } from "../lib/browser.mjs";

let app;

before(async () => {
  app = await openGalley({
    files: {
      "Ferry.md": "# Ferry\n\nThe last boat leaves.\n",
      "Ledger.md": "# Ledger\n",
      "Drafts/Bell.md": "# Bell\n",
      "Drafts/夜航船.md": "# 夜航船\n",
      "Old/keep.md": "kept\n",
      "Long.md": Array.from({ length: 400 }, (_, i) => `Line ${i + 1}\n`).join(""),
    },
    args: (sandbox) => [sandbox.work],
    manager: true,
  });
  await app.page.emulateMedia({ reducedMotion: "reduce" });
  await app.page.evaluate(axe.source);
});

after(() => app?.close());

beforeEach(() => app.tidy());

const row = (name) => app.page.getByRole("treeitem", { name: new RegExp(`^${name}( Unsaved)?$`) });
const rows = () => app.page.locator("[role=treeitem]").allInnerTexts();
const focused = () => app.page.evaluate(() => document.activeElement?.textContent ?? "");
const tabs = () => app.page.locator(".tab > .clip").allInnerTexts();
const onDisk = (name) => existsSync(app.path(name));
const until = (what, probe) => app.until(what, probe);

/** What axe finds on the page as it is. */
const findings = () =>
  app.page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}`));
  });

const choose = (change) =>
  app.page.evaluate(async (change) => {
    const { settings } = await window.go.api.Settings.Get();
    await window.go.api.Settings.Update({ ...settings, ...change });
  }, change);

/** Types a name into the field of the tree and takes it. */
async function name(text) {
  await app.locator(".tree input").waitFor();
  await app.press("Control+a");
  await app.type(text);
  await app.press("Enter");
}

// covers: F8 E7
test("a document and a folder are made in place, by keyboard", async () => {
  await row("Drafts").focus();
  await app.runCommand("new document in this");
  await name("Night");
  await app.untilOnDisk("Drafts/Night.md", "");
  await until("its tab", async () => (await tabs()).includes("Night"));
  await row("Old").focus();
  await app.runCommand("new folder");
  await name("Notes");
  await until("the folder", () => onDisk("Old/Notes"));
  await until("the focus on it", async () => (await focused()) === "Notes");
});

// covers: F8
test("a name that is taken or reserved is refused below the field", async () => {
  await row("Ledger").focus();
  await app.press("F2");
  assert.equal(await app.page.evaluate(() => getSelection().toString()), "Ledger");
  await name("Ferry");
  await app.untilShown("Ferry exists already. Choose another name.");
  assert.deepEqual(await findings(), []);
  await app.press("Control+a");
  await app.type("CON");
  await app.press("Enter");
  await app.untilShown("This name does not work on every system. Choose another one.");
  await app.press("Escape");
  await until("the row has the focus", async () => (await focused()) === "Ledger");
  assert.deepEqual(readdirSync(app.sandbox.work).sort(), [
    "Drafts",
    "Ferry.md",
    "Ledger.md",
    "Long.md",
    "Old",
  ]);
});

// covers: F8 F5 (the page's part: a renamed file is followed)
test("a rename keeps the ending, and the open document follows with its unsaved text", async () => {
  await app.openFile("Ledger");
  await app.caret("after", "# Ledger");
  await app.type(" of 1912");
  await row("Ledger").focus();
  await app.press("F2");
  await name("Accounts");
  await until("the file", () => onDisk("Accounts.md") && !onDisk("Ledger.md"));
  await until("the tab follows", async () => (await tabs()).includes("Accounts"));
  assert.equal(await app.text(), "# Ledger of 1912\n");
  await app.page.locator(".cm-content").focus();
  await app.press("Control+s");
  await app.untilOnDisk("Accounts.md", "# Ledger of 1912\n");
  assert.equal(onDisk("Ledger.md"), false);
});

// covers: F8
test("a document is dragged into a folder, and moved back by cut and paste", async () => {
  const from = await row("Ferry").boundingBox();
  const to = await row("Old").boundingBox();
  await app.page.mouse.move(from.x + 60, from.y + 14);
  await app.page.mouse.down();
  await app.page.mouse.move(to.x + 60, to.y + 10, { steps: 4 });
  await app.page.mouse.move(to.x + 60, to.y + 14, { steps: 2 });
  await app.untilCount(".tree > .drop", 1);
  await app.page.mouse.up();
  await until("the file in the folder", () => onDisk("Old/Ferry.md") && !onDisk("Ferry.md"));
  await until("the focus on its new row", () =>
    app.page.evaluate(() => document.activeElement?.matches("[aria-level='2']")),
  );
  assert.equal(await focused(), "Ferry");
  await app.press("Control+x");
  await app.untilCount(".tree > .cut", 1);
  await row("Accounts").focus();
  await app.press("Control+v");
  await until("the file is back", () => onDisk("Ferry.md") && !onDisk("Old/Ferry.md"));
  // Its two folders are listed one after the other.
  await until("one row of it", async () => (await row("Ferry").count()) === 1);
});

// covers: F8
test("a document goes to the system's trash after one question, and text that is not saved stays", async () => {
  await app.openFile("Ferry");
  await app.caret("after", "leaves.");
  await app.type(" Twice.");
  await row("Ferry").focus();
  await app.press("Delete");
  await app.untilShown("Move Ferry to the trash?");
  await app.untilShown("This document has unsaved text, which stays open in its tab.");
  await until("the harmless answer", async () => /^Cancel/.test(await focused()));
  assert.deepEqual(await findings(), []);
  await app.press("Escape");
  assert.equal(onDisk("Ferry.md"), true);
  await row("Ferry").focus();
  await app.press("Delete");
  await app.click("Move to trash");
  await until("it is gone from the folder", () => !onDisk("Ferry.md"));
  const trash = join(app.sandbox.root, "home/.local/share/Trash");
  assert.deepEqual(readdirSync(join(trash, "files")), ["Ferry.md"]);
  assert.equal(
    String(readFileSync(join(trash, "files/Ferry.md"))),
    "# Ferry\n\nThe last boat leaves.\n",
    "the file as it was saved",
  );
  assert.match(String(readFileSync(join(trash, "info/Ferry.md.trashinfo"))), /^Path=.*\/Ferry\.md$/m);
  await until("its row is gone", async () => !(await rows()).includes("Ferry"));
  assert.match(await app.text(), /The last boat leaves\. Twice\./);
});

// covers: F8 (follows outside changes)
test("what another program does to the folder is followed, and a name that is being typed stays", async () => {
  await row("Accounts").focus();
  await app.press("F2");
  await app.locator(".tree input").waitFor();
  await app.press("Control+a");
  await app.type("Half a na");
  writeFileSync(app.path("Another.md"), "new\n");
  await until("its row", async () => (await rows()).includes("Another"));
  assert.equal(await app.locator(".tree input").inputValue(), "Half a na");
  await app.press("Escape");
  rmSync(app.path("Another.md"));
  await until("its row is gone", async () => !(await rows()).includes("Another"));
});

// covers: F8 E7
test("the menu of a row is opened and used by keyboard", async () => {
  await row("Accounts").focus();
  await app.press("Shift+F10");
  await app.locator("[role=menu]").waitFor();
  assert.deepEqual(await findings(), []);
  await app.press("d", "Enter");
  await until("the copy", () => readdirSync(app.sandbox.work).some((file) => /^Accounts.+\.md$/.test(file)));
  await app.untilCount("[role=menu]", 0);
});

// covers: F10 (quick open) E7
test("quick open finds a file by its letters, also by Chinese ones", async () => {
  await app.press("Control+p");
  await app.locator(".palette input").waitFor();
  await app.type("dbell");
  await until("the one that fits", async () =>
    (await app.locator(".palette [role=option]").first().innerText()).startsWith("Bell"),
  );
  assert.ok((await app.count(".palette mark")) > 0, "hits are marked");
  await app.press("Enter");
  await until("it is in front", async () => (await app.text()) === "# Bell\n");

  await app.press("Control+p");
  await app.locator(".palette input").waitFor();
  // The one that was opened last is the first.
  await until("the recent ones", async () =>
    (await app.locator(".palette [role=option]").first().innerText()).startsWith("Bell"),
  );
  assert.deepEqual(await findings(), []);
  const asked = () => app.calls.filter((call) => call.name === "Workspace.QuickOpen").length;
  const before = asked();
  await app.compose("yehang");
  await app.page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(asked(), before, "nothing was asked while composing");
  await app.commit("夜航");
  await until("the Chinese name", async () =>
    (await app.locator(".palette [role=option]").first().innerText()).startsWith("夜航船"),
  );
  await app.press("Enter");
  await until("it is in front", async () => (await app.text()) === "# 夜航船\n");
});

// covers: F10 (tabs, recent, session restore)
test("tabs keep their order, caret and scroll over a reload, and a closed one comes back", async () => {
  await app.openFile("Long");
  await app.caret("after", "Line 300");
  const state = () =>
    app.page.evaluate(() => {
      const { view } = document.querySelector(".cm-content").cmTile.root;
      const top = view.scrollDOM.getBoundingClientRect().top - view.documentTop;
      return {
        head: view.state.selection.main.head,
        top: view.state.doc.lineAt(view.lineBlockAtHeight(Math.max(0, top)).from).number,
      };
    });
  const reported = () => app.calls.filter((call) => call.name === "Documents.ReportView").at(-1)?.args[0];
  const ids = () => (reported()?.views ?? []).map((view) => view.id).join();
  const count = (await tabs()).length;
  await until("the report of the caret", () =>
    reported()?.views.some((view) => view.head > 2000 && reported().views.length === count),
  );
  const unmoved = ids();
  await app.runCommand("move tab to the left");
  await until("the report of the order", () => ids() !== unmoved);
  const order = await tabs();
  const before = await state();
  assert.ok(before.top > 200, `scrolled to ${before.top}`);

  await app.page.reload();
  await app.ready();
  await app.page.evaluate(axe.source);
  await until("the same tabs", async () => (await tabs()).join() === order.join());
  await until("the caret", async () => (await state()).head === before.head);
  await until("the scroll", async () => Math.abs((await state()).top - before.top) <= 1);

  await app.page.locator(".cm-content").focus();
  await app.press("Control+w");
  await until("it is closed", async () => !(await tabs()).includes("Long"));
  await app.press("Control+Shift+t");
  await until("it is back in its place", async () => (await tabs()).join() === order.join());
  await until("with its caret", async () => (await state()).head === before.head);
  await app.press("Control+1");
  await until(
    "the first",
    async () => (await app.locator("[role=tab]").first().getAttribute("aria-selected")) === "true",
  );
});

// covers: E7 E6
test("nothing is inaccessible in Chinese either, and nothing was reported on the way", async () => {
  await choose({ language: "zh", theme: "dark" });
  await app.untilShown("文件");
  await row("Drafts").click({ button: "right" });
  await app.locator("[role=menu]").waitFor();
  assert.deepEqual(await findings(), []);
  await app.press("Escape");
  await app.press("Control+p");
  await app.locator(".palette input").waitFor();
  assert.deepEqual(await findings(), []);
  await app.press("Escape");
  app.assertQuiet();
});
