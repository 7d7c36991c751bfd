// Closing the window asks about unsaved text; SIGTERM asks nobody and keeps a
// draft.
//
// covers: F6 R2
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, until } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

let sandbox;
let window;
let file;

before(async () => {
  sandbox = makeSandbox();
  file = sandbox.write("quit.md", "first\n");
  window = await openWindow(sandbox, { args: [file] });
  await window.focus();
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

const drafts = () =>
  readdirSync(join(sandbox.galleyHome, "drafts")).filter((name) => name.endsWith(".draft"));

const draft = (name) => readFileSync(join(sandbox.galleyHome, "drafts", name), "utf8");

test("closing with unsaved text asks, and cancel keeps the window", async () => {
  await window.click(".cm-content .cm-line:first-child");
  await window.keys("ctrl+End");
  await window.type("more");
  await window.until("the text", "document.querySelector('.cm-content').textContent.includes('more')");
  await until("a draft", () => drafts().length === 1);
  await window.keys("alt+F4");
  await window.until(
    "the question",
    "document.querySelector('[role=dialog], [role=alertdialog], dialog') !== null",
  );
  await window.keys("Escape");
  await window.until(
    "no question",
    "document.querySelector('[role=dialog], [role=alertdialog], dialog') === null",
  );
  assert.equal(window.galley.child.exitCode, null);
  assert.equal(readFileSync(file, "utf8"), "first\n");
});

test("save and quit: the file is written, no draft stays, the Runner is gone", async () => {
  const runner = (await window.processes()).find((p) => / runner /.test(`${p.args} `));
  await window.keys("alt+F4");
  await window.until(
    "the question",
    "document.querySelector('[role=dialog], [role=alertdialog], dialog') !== null",
  );
  await window.clickText("Save");
  const { code } = await window.galley.exited;
  assert.equal(code, 0);
  assert.equal(readFileSync(file, "utf8"), "first\nmore");
  assert.deepEqual(drafts(), []);
  assert.throws(() => process.kill(runner.pid, 0), { code: "ESRCH" });
});

test("SIGTERM ends it at once and the text is in a draft", async () => {
  const { screen } = window;
  window.inspector.close();
  window = await openWindow(sandbox, { args: [file], display: screen });
  const close = window.close;
  window.close = async () => {
    await close.call(window);
    await screen.close();
  };
  await window.focus();
  await window.click(".cm-content .cm-line:first-child");
  await window.keys("ctrl+Home");
  await window.type("unsaved ");
  // Acknowledged: the host's mirror has all of it.
  await window.until(
    "the text",
    "document.querySelector('.cm-content').textContent.includes('unsaved first')",
  );
  await until("the draft", () => drafts().some((name) => /unsaved first/.test(draft(name))));
  window.galley.child.kill("SIGTERM");
  const { code, signal } = await window.galley.exited;
  assert.equal(code, 0, `${signal} ${window.galley.output}`);
  assert.equal(readFileSync(file, "utf8"), "first\nmore");
  assert.equal(drafts().length, 1);
  assert.match(draft(drafts()[0]), /unsaved first/);
});

test("a page that hangs holds the window for ten seconds, and the text is in a draft", async () => {
  const { screen } = window;
  window.inspector.close();
  window = await openWindow(sandbox, { display: screen });
  const close = window.close;
  window.close = async () => {
    await close.call(window);
    await screen.close();
  };
  await window.focus();
  // The draft of the start before came back by itself.
  await window.until(
    "the text",
    "document.querySelector('.cm-content')?.textContent.includes('unsaved first')",
  );
  await window.click(".cm-content .cm-line:first-child");
  await window.keys("ctrl+Home");
  await window.type("still ");
  await until("the draft", () => drafts().some((name) => /still unsaved first/.test(draft(name))));
  await window.evaluate("(setTimeout(() => { for (;;); }, 0), 0)");
  const asked = Date.now();
  await window.keys("alt+F4");
  const { code } = await window.galley.exited;
  assert.equal(code, 0, window.galley.output);
  assert.ok(Date.now() - asked > 9000, "the page had its time");
  assert.equal(readFileSync(file, "utf8"), "first\nmore");
  assert.equal(drafts().length, 1);
  assert.match(draft(drafts()[0]), /still unsaved first/);
});
