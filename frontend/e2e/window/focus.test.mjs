// What is typed while a row or a button has the focus stays out of the text.
// WebKit would type where the selection is, and a click does not take it away.
//
// covers: E1
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

let sandbox;
let window;

before(async () => {
  sandbox = makeSandbox();
  mkdirSync(join(sandbox.work, "Drafts"));
  writeFileSync(join(sandbox.galleyHome, "settings.json"), JSON.stringify({ language: "en" }));
  window = await openWindow(sandbox, { args: [sandbox.work, sandbox.write("note.md", "one\n")] });
  await window.focus();
  await window.until("the text", "document.querySelector('.cm-content')?.textContent.includes('one')");
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

const places = {
  "a folder's row":
    "[...document.querySelectorAll('.tree [role=treeitem]')].find((e) => e.textContent === 'Drafts')",
  "the search's tab": "document.querySelectorAll('.side [role=tab]')[1]",
  "a button of the search": "document.querySelector('.folds button')",
};

for (const [name, place] of Object.entries(places)) {
  test(`${name} keeps what is typed there`, async () => {
    await window.click(".cm-content .cm-line");
    await window.until("the caret", "document.activeElement?.matches('.cm-content')");
    await window.click(place, true);
    await window.until("the focus elsewhere", "!document.activeElement?.matches('.cm-content')");
    // The last key is seen by the page after the one before it has done what it does.
    await window.evaluate(
      "(window.__up = 0, addEventListener('keyup', () => { window.__up += 1; }, { capture: true }), 0)",
    );
    await window.keys("z", "F7");
    await window.until("both keys", "window.__up >= 2");
    assert.equal(await window.text(), "one\n");
  });
}
