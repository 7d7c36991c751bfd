// The main job in the real window: open, select by keyboard, rewrite with the
// offline provider, look at the diff, accept, undo, accept, save.
//
// covers: P4 P8 P9 U1 K1
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

const sentence = "It is really very quick to say that the ferry 🚢 leaves in order to be on time.";
const text = `# Ferry 🛳️\r\n\r\n${sentence}\r\n\r\nUntouched 😀 line, 末班船 22:40.\r\nlast line without a break`;

let sandbox;
let window;
let file;

before(async () => {
  sandbox = makeSandbox();
  file = sandbox.write("ferry.md", text);
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({ provider: "mock", language: "en", theme: "light" }),
  );
  window = await openWindow(sandbox, { args: [file] });
  await window.focus();
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

test("rewrite, see the diff, accept, undo, accept again, save", async () => {
  await window.until("the document", "document.querySelector('.cm-content')?.textContent.includes('Ferry')");
  await window.click(".cm-content .cm-line:nth-child(3)");
  await window.keys("ctrl+Home", "Down", "Down", "Home", "shift+End");
  await window.keys("ctrl+j");
  await window.until(
    "the rewrite box",
    "document.activeElement?.closest('.rewrite') !== null && document.activeElement !== document.body",
  );
  const before = await window.text();
  await window.keys("Return");
  await window.until(
    "the marks",
    "document.querySelectorAll('.cm-content del').length > 0 && document.querySelector('.rewrite') === null",
  );
  assert.equal(readFileSync(file, "utf8"), text, "nothing is written before a save");
  const picture = join(sandbox.root, "diff.png");
  await window.screenshot(picture);
  assert.ok(statSync(picture).size > 20_000);

  await window.keys("ctrl+shift+Return");
  await window.until(
    "no marks",
    "document.querySelectorAll('.cm-content del, .cm-content ins').length === 0",
  );
  const accepted = await window.text();
  assert.notEqual(accepted, before);

  await window.keys("ctrl+z");
  await window.until("the marks are back", "document.querySelectorAll('.cm-content del').length > 0");
  assert.equal(await window.text(), before, "one undo restores the text");

  await window.keys("ctrl+shift+Return");
  await window.until(
    "no marks again",
    "document.querySelectorAll('.cm-content del, .cm-content ins').length === 0",
  );
  assert.equal(await window.text(), accepted);

  await window.keys("ctrl+s");
  await window.until(
    "the save",
    "!document.querySelector('[role=tab] .dot') && /Saved/.test(document.querySelector('.status')?.textContent ?? '')",
  );
  const saved = readFileSync(file, "utf8");
  const lines = accepted.split("\n");
  assert.equal(saved, lines.join("\r\n"), "CRLF, emoji and the missing last break are kept");
  assert.equal(saved.split("\r\n").length, text.split("\r\n").length);
  for (const [i, line] of text.split("\r\n").entries()) {
    if (line !== sentence) assert.equal(saved.split("\r\n")[i], line, `line ${i} is untouched`);
  }
});
