// Files that other programs change while they are open here: taken over,
// compared, merged, deleted, renamed; and the versions that history keeps.
import assert from "node:assert/strict";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import axe from "axe-core";
import { openGalley } from "../lib/browser.mjs";

const filler = Array.from({ length: 60 }, (_, i) => `Paragraph ${i} about ropes and tides.\n`).join("\n");
const long = `# The long one\n\n${filler}\nThe caret rests here.\n\n${filler}`;
const base =
  "# The Night Ferry\r\n\r\nIt carries about 1,200 passengers a week.\n\nThe lower deck is quiet.\r\nEnd.";

const themes = ["light", "dark", "sepia", "contrast"];

let app;

before(async () => {
  app = await openGalley({
    files: {
      "long.md": long,
      "ferry.md": base,
      "gone.md": "Here.\n",
      "old name.md": "The same.\n",
      "kept.md": "One.\n\nTwo.\n\nThree.\n",
      "latin.md": Buffer.from("caf\xe9\n", "latin1"),
    },
    args: (sandbox) => [sandbox.work],
  });
  // A colour on its way to another has no contrast of its own.
  await app.page.emulateMedia({ reducedMotion: "reduce" });
  await app.page.evaluate(axe.source);
});

after(() => app?.close());

beforeEach(() => app.tidy());

const outside = (name, data) => writeFileSync(app.path(name), data);
const notices = () => app.locator(".above .note h2").allInnerTexts();
const tab = (name) => app.page.getByRole("tab", { name: new RegExp(`^${name}`) });
const untilNotices = (...want) =>
  app.until(`notices ${want}`, async () => (await notices()).join("|") === want.join("|"));

const axeOn = (rules) =>
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

/** Runs axe on what is shown: all of it in the first theme, colours in the others. */
async function assertAccessible(what) {
  assert.deepEqual(await axeOn(), [], what);
  for (const theme of [...themes.slice(1), "light"]) {
    await app.page.evaluate(async (theme) => {
      const { settings } = await window.go.api.Settings.Get();
      await window.go.api.Settings.Update({ ...settings, theme });
    }, theme);
    await app.until(`theme ${theme}`, () =>
      app.page.evaluate((t) => document.documentElement.dataset.theme === t, theme),
    );
    assert.deepEqual(await axeOn(["color-contrast", "link-in-text-block"]), [], `${what}, ${theme}`);
  }
}

/** Where the line of the caret is on the screen, in pixels. */
const caretLine = () =>
  app.page.evaluate(() => {
    const { view } = document.querySelector(".cm-content").cmTile.root;
    return Math.round(view.coordsAtPos(view.state.selection.main.head).top);
  });

const afterCaret = (n) =>
  app.page.evaluate((n) => {
    const { state } = document.querySelector(".cm-content").cmTile.root.view;
    return state.sliceDoc(state.selection.main.head, state.selection.main.head + n);
  }, n);

// covers: F5
test("a clean document takes its file over: caret and scroll stay at their words, one undo takes it back", async () => {
  await app.openFile("long");
  await app.caret("before", "rests here");
  const before = await caretLine();
  const next = long
    .replace("# The long one", "# The longer one")
    .replace("Paragraph 3 ", "A new paragraph.\n\nParagraph 3 ");
  outside("long.md", next);
  await app.until("the file's text", async () => (await app.text()) === next);
  assert.equal(await afterCaret(10), "rests here");
  await app.until("the line at its place", async () => Math.abs((await caretLine()) - before) <= 1);
  assert.match(await app.status(), /Reloaded, changed on disk at \d\d:\d\d/);
  assert.equal(await app.count("[role=tab] .dot"), 0);
  await app.press("Control+z");
  assert.equal(await app.text(), long);
  await app.press("Control+y");
  await app.until("clean again", async () => (await app.count("[role=tab] .dot")) === 0);
});

// covers: F5
test("what a reload has changed can be looked at, and the text stays as it is", async () => {
  await app.openFile("long");
  const text = (await app.text()).replace("The caret rests here.", "The caret rests there.");
  outside("long.md", text);
  await app.until("the file's text", async () => (await app.text()) === text);
  await app.locator(".status .step").click();
  await app.until("the marks", async () => (await app.marks("ins")).join() === "here");
  assert.deepEqual(await app.marks("del"), ["there"]);
  await app.select("rests there", { caret: "before" });
  await app.press("Escape");
  await app.untilCount(".cm-content ins", 0);
  assert.equal(await app.text(), text);
  await app.press("Control+Shift+J", "Control+Shift+J");
});

// covers: F5 F3
test("both sides changed: refused, compared, merged by keys, and saved with the exact bytes", async () => {
  await app.openFile("ferry");
  await app.select("1,200");
  await app.type("1,240");
  const theirs = base.replace("1,200", "1,300").replace("quiet.\r\n", "quiet, by the urn.\r\nOne more.\r\n");
  outside("ferry.md", theirs);
  await untilNotices("Changed on disk while you were editing.");
  assert.equal(await tab("ferry").locator(".vh").innerText(), "changed on disk");
  await app.press("Control+s");
  await app.until("the save is refused", () => app.calls.some((c) => c.name === "Documents.Save"));
  assert.equal(String(app.file("ferry.md")), theirs);
  await assertAccessible("the conflict");

  await app.page.locator(".above").getByRole("button", { name: "Compare" }).click();
  await app.untilShown("1 difference is open");
  assert.equal(await app.locator(".compare-head .num").innerText(), "Difference 1 of 2");
  await assertAccessible("the comparison");
  await app.press("e");
  await app.until("the field", () => app.page.evaluate(() => document.activeElement?.tagName === "TEXTAREA"));
  await app.press("Escape");
  await app.press("2");
  await app.untilShown("Nothing is open");
  await app.press("1");
  await app.untilCount('.compare [aria-pressed="true"]:has-text("Mine")', 1);
  await app.press("Control+s");
  await app.untilOnDisk(
    "ferry.md",
    base.replace("1,200", "1,240").replace("quiet.\r\n", "quiet, by the urn.\r\nOne more.\r\n"),
  );
  await app.untilCount(".compare", 0);
  await app.until("clean", async () => (await app.count("[role=tab] .dot")) === 0);
  assert.deepEqual(await notices(), []);
  await app.press("Control+z");
  assert.equal(await app.text(), base.replace(/\r/g, "").replace("1,200", "1,240"));
  await app.press("Control+y");
});

// covers: F5
test("the file changes again while it is compared: said, compared anew, and the choice is kept", async () => {
  await app.openFile("ferry");
  await app.select("1,240");
  await app.type("1,250");
  const before = String(app.file("ferry.md"));
  outside("ferry.md", before.replace("1,240", "1,400"));
  await untilNotices("Changed on disk while you were editing.");
  await app.page.locator(".above").getByRole("button", { name: "Compare" }).click();
  await app.untilShown("1 difference is open");
  await app.press("1");
  await app.untilShown("Nothing is open");
  const again = before.replace("1,240", "1,400").replace("End.", "The end.");
  outside("ferry.md", again);
  await app.untilShown("The file changed again.");
  await app.untilShown("Nothing is open");
  await app.page.getByRole("button", { name: /^Save merged/ }).click();
  await app.untilOnDisk("ferry.md", again.replace("1,400", "1,250"));
});

// covers: F5
test("replaced by rename, deleted, written again, renamed: all are followed", async () => {
  await app.openFile("gone");
  writeFileSync(app.path("gone.md.tmp"), "There.\n");
  renameSync(app.path("gone.md.tmp"), app.path("gone.md"));
  await app.until("the replaced text", async () => (await app.text()) === "There.\n");
  rmSync(app.path("gone.md"));
  await untilNotices("gone was deleted on disk.");
  assert.match((await tab("gone").getAttribute("class")) ?? "", /missing/);
  outside("gone.md", "There.\n");
  await untilNotices();
  rmSync(app.path("gone.md"));
  await untilNotices("gone was deleted on disk.");
  await app.click("Save again");
  await app.untilOnDisk("gone.md", "There.\n");
  await untilNotices();

  await app.openFile("old name");
  renameSync(app.path("old name.md"), app.path("new name.md"));
  await app.until("the tab has the name", async () => (await tab("new name").count()) === 1);
  await app.caret("after", "same");
  await app.type(" again");
  await app.press("Control+s");
  await app.untilOnDisk("new name.md", "The same again.\n");
});

// covers: F6
test("history: listed, shown as marks, restored as one edit, undone; a single change is taken", async () => {
  await app.openFile("kept");
  await app.select("One.");
  await app.type("Eins.");
  await app.select("Three.");
  await app.type("Drei.");
  await app.press("Control+s");
  await app.untilOnDisk("kept.md", "Eins.\n\nTwo.\n\nDrei.\n");
  await app.page.locator(".bar").getByRole("button", { name: "History" }).click();
  await app.untilCount(".version", 2);
  await assertAccessible("history");
  await app.locator(".version").last().click();
  await app.until("the marks", async () => (await app.marks("ins")).join() === "One,Three");
  assert.equal(await app.text(), "Eins.\n\nTwo.\n\nDrei.\n");
  await assertAccessible("a version as marks");
  await app.press("Escape");
  await app.untilCount(".cm-content ins", 0);

  await app.locator(".version").last().click();
  await app.until("the marks", async () => (await app.marks("ins")).length === 2);
  await app.click("Restore");
  await app.until("the restored text", async () => (await app.text()) === "One.\n\nTwo.\n\nThree.\n");
  await app.untilShown("Restored: The version of");
  await app.press("Control+z");
  assert.equal(await app.text(), "Eins.\n\nTwo.\n\nDrei.\n");

  await app.locator(".version").last().click();
  await app.until("the marks", async () => (await app.marks("ins")).length === 2);
  await app.page
    .locator(".g-hbar")
    .getByRole("button", { name: /^Take back/ })
    .click();
  await app.until("one is taken", async () => (await app.text()) === "One.\n\nTwo.\n\nDrei.\n");
  assert.equal(app.calls.filter((c) => c.name === "Agent.Decide").length, 0);
  await app.select("Two.", { caret: "after" });
  await app.press("Escape");
  await app.untilCount(".cm-content ins", 0);
  await app.press("Control+s");
  await app.untilOnDisk("kept.md", "One.\n\nTwo.\n\nDrei.\n");
  await app.untilCount(".version", 3);
});

// covers: F2
test("what cannot be decoded says why it is read-only", async () => {
  await app.openFile("latin");
  await untilNotices("Read-only: the encoding of this file is not known.");
  await assertAccessible("a read-only document");
  assert.equal(readFileSync(app.path("latin.md"), "latin1"), "caf\xe9\n");
});

test("nothing went wrong on the way", () => app.assertQuiet());
