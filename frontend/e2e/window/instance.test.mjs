// One window a home: a second start hands its files to it and ends. A session
// comes back at the next start.
//
// covers: F10 F7
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, start, until } from "../lib/processes.mjs";
import { binary, openWindow } from "../lib/window.mjs";

let sandbox;
let window;
let screen;

before(async () => {
  sandbox = makeSandbox();
  mkdirSync(join(sandbox.work, "folder"));
  sandbox.write("folder/README.md", "read me\n");
  sandbox.write("folder/note.md", "a note\n");
  window = await openWindow(sandbox, { args: [sandbox.write("first.md", "the first\n")] });
  screen = window.screen;
});

after(async () => {
  await window?.close({ keepScreen: true });
  await screen?.close();
  sandbox?.close();
});

/** Starts the program once more and waits for its end. */
async function again(...args) {
  const second = start(binary("galley-e2e"), args, { env: window.env, cwd: sandbox.work });
  const { code } = await second.exited;
  return { code, output: second.output };
}

const inFront = (text) =>
  window.until(text, `document.querySelector('.cm-content')?.textContent.includes(${JSON.stringify(text)})`);

const tabs = () =>
  window.evaluate("[...document.querySelectorAll('.tabs [role=tab]')].map((e) => e.textContent.trim())");

test("a second start with a file opens a tab in the first window and ends with 0", async () => {
  await inFront("the first");
  sandbox.write("sec ond.md", "the second\n");
  // Relative to where it was started.
  const { code, output } = await again("sec ond.md");
  assert.equal(code, 0, output);
  await inFront("the second");
  assert.equal(window.galley.child.exitCode, null);
});

test("a second start with a folder opens it, and its README", async () => {
  const { code } = await again(join(sandbox.work, "folder"));
  assert.equal(code, 0);
  await window.until(
    "the tree",
    "[...document.querySelectorAll('[role=treeitem]')].some((e) => /note/.test(e.textContent))",
  );
  await inFront("read me");
});

test("a second start with nothing only shows the window", async () => {
  const before = await tabs();
  assert.equal((await again()).code, 0);
  assert.deepEqual(await tabs(), before);
});

test("a file that is not there is told and opens nothing", async () => {
  const before = await tabs();
  assert.equal((await again("none.md")).code, 0);
  assert.equal((await again("first.md")).code, 0);
  await inFront("the first");
  assert.deepEqual(await tabs(), before);
});

test("a window that hangs is told, and no second one opens", async () => {
  process.kill(window.galley.pid, "SIGSTOP");
  try {
    const { code, output } = await again("first.md");
    assert.equal(code, 1);
    assert.match(output, /does not answer/);
  } finally {
    process.kill(window.galley.pid, "SIGCONT");
  }
  await inFront("the first");
});

test("the next start has folder and tabs again", async () => {
  const had = await tabs();
  await until("the session", () => {
    const { sessions } = JSON.parse(readFileSync(join(sandbox.galleyHome, "session.json"), "utf8"));
    return sessions[0].tabs.length >= 3 && sessions[0].current.endsWith("first.md");
  });
  await window.close({ keepScreen: true });
  window = await openWindow(sandbox, { display: screen });
  await inFront("the first");
  await window.until(
    "the tree",
    "[...document.querySelectorAll('[role=treeitem]')].some((e) => /note/.test(e.textContent))",
  );
  await window.until("the tabs", `document.querySelectorAll('.tabs [role=tab]').length === ${had.length}`);
  assert.deepEqual(await tabs(), had);
  const log = readFileSync(join(sandbox.galleyHome, "logs", "galley.log"), "utf8");
  assert.doesNotMatch(log, /first\.md|the first/, "no path and no text in the log");
});
