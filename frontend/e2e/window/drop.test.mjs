// A drop opens files only when another program's drag brings them: nothing that
// the page says or drags itself does. What the page may not ask Wails for is
// kept from it.
//
// covers: F7 X2
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeSandbox, run, start, until } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

let sandbox;
let window;
let source;
let opened;

before(async () => {
  sandbox = makeSandbox();
  // A browser that writes down what it is asked to open.
  const bin = join(sandbox.root, "bin");
  opened = join(sandbox.root, "opened");
  mkdirSync(bin);
  for (const name of ["xdg-open", "x-www-browser", "www-browser"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "$1" >> '${opened}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  source = join(sandbox.root, "dragsource");
  const flags = (await run("pkg-config", ["--cflags", "--libs", "gtk+-3.0"])).trim().split(/\s+/);
  await run("cc", [resolve(import.meta.dirname, "../lib/dragsource.c"), "-o", source, ...flags]);
  window = await openWindow(sandbox, {
    args: [sandbox.write("first.md", "the first\n")],
    env: { PATH: `${bin}:${process.env.PATH}` },
  });
  await window.until("the text", "document.querySelector('.cm-content')?.textContent.includes('the first')");
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

const pointer = (...args) => run("xdotool", args.map(String), { env: window.env });

/**
 * Drags by the real pointer from one place of the screen to another. entered
 * tells whether the target has taken note: a drop before that is none.
 */
async function drag(from, to, entered = null) {
  await pointer("mousemove", "--sync", from.x, from.y);
  await pointer("mousedown", 1);
  for (let i = 1; i <= 8; i++) {
    await pointer(
      "mousemove",
      "--sync",
      Math.round(from.x + ((to.x - from.x) * i) / 8),
      Math.round(from.y + ((to.y - from.y) * i) / 8),
    );
  }
  let nudge = 0;
  await until("the target takes note", async () => {
    nudge = (nudge + 1) % 5;
    await pointer("mousemove", "--sync", to.x + nudge, to.y + nudge);
    return entered === null || (await entered());
  });
  await pointer("mouseup", 1);
}

/** Drags what another program offers onto the text. */
async function dropFromOutside(...offers) {
  const program = start(source, offers, { env: window.env });
  try {
    await until("the other program", () => program.output.includes("shown"));
    await drag({ x: 20, y: 20 }, { x: 720, y: 500 });
    await until("the end of the drag", () => program.output.includes("ended"));
  } finally {
    await program.stop();
  }
}

const inFront = (text) =>
  window.until(text, `document.querySelector('.cm-content')?.textContent.includes(${JSON.stringify(text)})`);

const tabs = () => window.evaluate("document.querySelectorAll('.tabs [role=tab]').length");

/** Waits until whatever was asked of the host before has been answered. */
async function settled() {
  await window.evaluate(
    "(window.__done = false, window.go.api.Workspace.Recent().then((r) => { window.__done = r; }), 0)",
  );
  return window.until("an answer of the host", "window.__done");
}

test("files of another program are opened, whatever their names", async () => {
  const odd = sandbox.write("a b%20c#d?\u8336.md", "the odd one\n");
  const plain = sandbox.write("plain.md", "the plain one\n");
  await dropFromOutside(`${pathToFileURL(plain)}\r\n${pathToFileURL(odd)}\r\n`);
  await inFront("the odd one");
  assert.equal(await tabs(), 3);
  assert.equal(readFileSync(odd, "utf8"), "the odd one\n");
});

test("a folder of another program becomes the workspace", async () => {
  mkdirSync(join(sandbox.work, "folder"));
  sandbox.write("folder/inside.md", "inside\n");
  await dropFromOutside(`${pathToFileURL(join(sandbox.work, "folder"))}\r\n`);
  await window.until(
    "the tree",
    "[...document.querySelectorAll('[role=treeitem]')].some((e) => /inside/.test(e.textContent))",
  );
});

test("text of another program is the text's to take, and opens nothing", async () => {
  const before = await tabs();
  await dropFromOutside("https://example.invalid/page\r\n", "dropped words");
  await settled();
  assert.equal(await tabs(), before);
  assert.equal(existsSync(opened), false);
});

test("a drop that the page makes up grants nothing", async () => {
  const secret = sandbox.write("secret.md", "secret words\n");
  const before = await tabs();
  for (const message of [`DD:10:10:${secret}`, `DD:10:10:${sandbox.work}`]) {
    await window.evaluate(`(window.WailsInvoke(${JSON.stringify(message)}), 0)`);
    await window.evaluate(
      `(window.webkit.messageHandlers.external.postMessage(${JSON.stringify(message)}), 0)`,
    );
  }
  const recent = await settled();
  assert.equal(JSON.stringify(recent).includes("secret"), false);
  assert.equal(await tabs(), before);
  await window.evaluate(
    `(window.__answer = null, window.go.api.Documents.Open(${JSON.stringify(secret)}).then(() => { window.__answer = "opened"; }, (e) => { window.__answer = String(e.message ?? e); }), 0)`,
  );
  const answer = await window.until("the refusal", "window.__answer");
  assert.match(answer, /not_granted|outside_workspace/);
});

test("a drag inside the page works, and what it says it holds opens nothing", async () => {
  const secret = sandbox.path("secret.md");
  const before = await tabs();
  await window.evaluate(`(() => {
    const box = (id, top) => {
      const e = document.createElement("div");
      e.id = id;
      Object.assign(e.style, { position: "fixed", left: "700px", top, width: "120px", height: "60px", background: "gray", zIndex: 9999 });
      document.body.append(e);
      return e;
    };
    const from = box("from", "200px");
    const to = box("to", "600px");
    from.draggable = true;
    from.addEventListener("dragstart", (e) => {
      e.dataTransfer.setData("text/uri-list", ${JSON.stringify(String(pathToFileURL("/")))} + ${JSON.stringify(secret.slice(1))});
      e.dataTransfer.setData("text/plain", "moved");
    });
    to.addEventListener("dragover", (e) => { e.preventDefault(); window.__over += 1; });
    to.addEventListener("drop", (e) => { e.preventDefault(); e.stopPropagation(); window.__dropped = [...e.dataTransfer.types].join(); });
    window.__dropped = null;
    window.__over = 0;
    return 0;
  })()`);
  const at = await window.offset();
  await drag({ x: 760 + at.x, y: 230 + at.y }, { x: 760 + at.x, y: 630 + at.y }, () =>
    window.evaluate("window.__over > 3"),
  );
  await window.until("the page's own drop", "window.__dropped?.includes('text/uri-list')");
  assert.equal(JSON.stringify(await settled()).includes("secret"), false);
  assert.equal(await tabs(), before);
  await window.evaluate(
    "(document.getElementById('from').remove(), document.getElementById('to').remove(), 0)",
  );
});

test("the page cannot have Wails open an address; the host's own call can", async () => {
  await window.evaluate("(window.runtime.BrowserOpenURL('https://example.invalid/forged'), 0)");
  await window.evaluate(
    "(window.webkit.messageHandlers.external.postMessage('BO:https://example.invalid/forged'), 0)",
  );
  await settled();
  await window.evaluate("(window.go.api.Workspace.OpenLink('https://example.invalid/asked'), 0)");
  await until("the browser", () => existsSync(opened) && readFileSync(opened, "utf8").includes("asked"));
  assert.equal(readFileSync(opened, "utf8"), "https://example.invalid/asked\n");
});
