// Renaming a note that others link to, in the real window and by keyboard: the
// link changes are reviewed, applied with the rename, and undone with it.
//
// covers: F8 F9 E7
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, until } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

const files = {
  "sound.md": "# The sound\n\nHeard at [the ferry](Drafts/ferry.md).\n",
  "index.md": "# Index\r\n\r\nFirst [the sound](sound.md), then\r\n[its bell](sound.md#bell) and no more.",
  "wiki.md": "\ufeffSee [[sound]] and [[sound|what I heard]].\n",
  "Drafts/ferry.md": "I came for [the sound][s].\n\n[s]: ../sound.md\n",
  "other.md": "No sound of it: `[x](sound.md)`.\n",
};
const renamed = {
  "night sound.md": files["sound.md"],
  "wiki.md": "\ufeffSee [[night sound]] and [[night sound|what I heard]].\n",
  "other.md": files["other.md"],
};

let sandbox;
let window;

const read = (name) => readFileSync(join(sandbox.work, name), "utf8");
const shown = (words) =>
  window.until(`“${words}”`, `document.body.innerText.includes(${JSON.stringify(words)})`);
const row = (name) =>
  `[...document.querySelectorAll('.tree [role=treeitem]')].find((e) => e.textContent.trim() === ${JSON.stringify(name)})`;

before(async () => {
  sandbox = makeSandbox();
  mkdirSync(join(sandbox.work, "Drafts"));
  for (const [name, text] of Object.entries(files)) sandbox.write(name, text);
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({ language: "en", theme: "light" }),
  );
  window = await openWindow(sandbox, { args: [sandbox.work] });
  await window.focus();
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

test("rename a note that others link to, review the link changes, undo them as one", async () => {
  await window.click(row("index"), true);
  await window.until("the index", "document.querySelector('.cm-content')?.textContent.includes('Index')");

  // Rename in place, by the tree's own key.
  await window.evaluate(`(${row("sound")}.focus(), 0)`);
  await window.keys("F2");
  await window.until("the field", "document.activeElement?.matches('.tree input') === true");
  await window.keys("ctrl+a");
  await window.type("night sound");
  await window.keys("Return");
  await shown("Rename sound → night sound");
  await shown("5 links in 3 files would lead nowhere.");
  assert.ok(existsSync(join(sandbox.work, "sound.md")), "nothing has happened before the review");
  for (const [name, text] of Object.entries(files)) assert.equal(read(name), text);
  // The document in front shows what is planned in it.
  assert.deepEqual(
    await window.evaluate(
      "[...document.querySelectorAll('.cm-content del.g-planned')].map((e) => e.textContent)",
    ),
    ["sound.md", "sound.md#bell"],
  );
  const picture = join(sandbox.root, "links.png");
  await window.screenshot(picture);
  assert.ok(statSync(picture).size > 20_000);

  await window.clickText("Rename and update 5 links");
  await shown("Renamed. 5 links updated in 3 files.");
  await until("the files", () => existsSync(join(sandbox.work, "night sound.md")));
  assert.equal(existsSync(join(sandbox.work, "sound.md")), false);
  for (const [name, text] of Object.entries(renamed)) assert.equal(read(name), text, name);
  assert.match(
    read("Drafts/ferry.md"),
    /^I came for \[the sound\]\[s\]\.\n\n\[s\]: (<\.\.\/night sound\.md>|\.\.\/night%20sound\.md)\n$/,
  );
  // The open one took its part as an edit of its own and was saved, with its line ends.
  await until("the saved index", () => /night(%20| )sound\.md/.test(read("index.md")));
  assert.equal(read("index.md").split("\r\n").length, 4);
  assert.match(await window.text(), /First \[the sound\]\(.*night.*sound\.md.*\), then/);

  await window.clickText("Undo", ".side");
  await shown("Undone. Every file is as it was.");
  await until("the old name", () => existsSync(join(sandbox.work, "sound.md")));
  assert.equal(existsSync(join(sandbox.work, "night sound.md")), false);
  await until("the index as it was", () => read("index.md") === files["index.md"]);
  for (const [name, text] of Object.entries(files)) assert.equal(read(name), text, name);
});
