// kill -9 of the Runner in mid-stream, of the web process, and of the whole
// program with unsaved text and an open proposal.
//
// covers: F6 R2 K8
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, until } from "../lib/processes.mjs";
import { selectionOf, startProvider } from "../lib/provider.mjs";
import { openWindow } from "../lib/window.mjs";

const text = "First paragraph, very quick.\n\nSecond paragraph.\n";
let sandbox;
let provider;
let window;
let file;
let hold = true;

before(async () => {
  sandbox = makeSandbox();
  file = sandbox.write("crash.md", text);
  provider = await startProvider((body) =>
    hold
      ? { pieces: ["First para", "graph, fa"], hold: true }
      : { text: selectionOf(body).replace("very quick", "fast") },
  );
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({
      provider: "local",
      language: "en",
      theme: "light",
      providers: [
        {
          id: "local",
          name: "Local",
          kind: "openai_chat",
          profile: "compatible",
          baseUrl: provider.url,
          model: "fern-2",
        },
      ],
    }),
  );
  window = await openWindow(sandbox, { args: [file] });
  await window.focus();
});

after(async () => {
  await window?.close();
  await provider?.close();
  sandbox?.close();
});

const runner = async () => (await window.processes()).find((p) => / runner /.test(`${p.args} `));

async function ask() {
  await window.click(".cm-content .cm-line:first-child");
  await window.keys("ctrl+Home", "shift+End", "ctrl+j");
  await window.until(
    "the box",
    "document.querySelector('.rewrite input') === document.activeElement && document.activeElement !== null",
  );
  await window.keys("Return");
}

test("the Runner dies in mid-stream: the text is whole, the box says so, the next rewrite works", async () => {
  await ask();
  await window.until(
    "the stream",
    "/First/.test(document.querySelector('.rewrite .body')?.textContent ?? '')",
  );
  const before = await window.text();
  const child = await runner();
  assert.ok(child, "the Runner is a process that ps shows");
  process.kill(child.pid, "SIGKILL");
  await window.until(
    "the message",
    "/AI process stopped/.test(document.querySelector('.rewrite')?.textContent ?? '')",
  );
  assert.equal(await window.text(), before);
  const next = await until("the next Runner", async () => {
    const p = await runner();
    return p && p.pid !== child.pid ? p : null;
  });
  assert.notEqual(next.pid, child.pid);
  await window.keys("Escape");
  await window.until("no box", "document.querySelector('.rewrite') === null");

  hold = false;
  await until("a rewrite that works", async () => {
    await ask();
    await window.until(
      "an end",
      "document.querySelectorAll('.cm-content del').length > 0 || document.querySelector('.rewrite .note') !== null",
    );
    const done = await window.evaluate("document.querySelectorAll('.cm-content del').length > 0");
    if (!done) await window.keys("Escape");
    return done;
  });
});

test("the web process dies: the page comes back with the text", async () => {
  await window.click(".cm-content .cm-line:last-child");
  await window.keys("ctrl+End");
  await window.type("typed before the end of the page");
  await until("the draft", () => drafts().some((d) => d.includes("typed before the end of the page")));
  const web = (await window.processes()).find((p) => /WebKitWebProcess/.test(p.args));
  assert.ok(web);
  process.kill(web.pid, "SIGKILL");
  await until("another web process", async () =>
    (await window.processes()).some((p) => /WebKitWebProcess/.test(p.args) && p.pid !== web.pid),
  );
  await window.attach();
  await window.until(
    "the text",
    "document.querySelector('.cm-content')?.textContent.includes('typed before the end of the page')",
  );
  await window.focus();
  await window.click(".cm-content .cm-line:last-child");
  await window.keys("ctrl+End");
  await window.type(" and after");
  await window.until(
    "typing works",
    "document.querySelector('.cm-content')?.textContent.includes('end of the page and after')",
  );
});

const drafts = () =>
  readdirSync(join(sandbox.galleyHome, "drafts")).map((name) =>
    readFileSync(join(sandbox.galleyHome, "drafts", name), "utf8"),
  );

test("the whole program dies: the next start brings tab and unsaved text back by itself", async () => {
  await until("the draft of all of it", () => drafts().some((d) => d.includes("and after")));
  await until("the session", () =>
    readFileSync(join(sandbox.galleyHome, "session.json"), "utf8").includes("crash.md"),
  );
  for (const p of (await window.processes()).reverse()) {
    try {
      process.kill(p.pid, "SIGKILL");
    } catch (error) {
      assert.equal(error.code, "ESRCH");
    }
  }
  await window.galley.exited;
  assert.equal(readFileSync(file, "utf8"), text, "the file is as it was");
  window.inspector.close();
  const display = window.screen;
  window = await openWindow(sandbox, { args: [], display });
  window.close = ((close) => async () => {
    await close.call(window);
    await display.close();
  })(window.close);
  await window.focus();
  await window.until(
    "the text",
    "document.querySelector('.cm-content')?.textContent.includes('end of the page and after')",
  );
  await window.keys("ctrl+s");
  await until("the save", () => readFileSync(file, "utf8").includes("and after"));
});
