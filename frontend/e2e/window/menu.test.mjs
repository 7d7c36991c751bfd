// The native menu bar in the real window: it is reached by keyboard, its items
// run the page's commands, and none of its shown keys takes a key from the page.
//
// covers: E5
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, run } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

let sandbox;
let window;

before(async () => {
  sandbox = makeSandbox();
  const file = sandbox.write("menu.md", "one\ntwo\n");
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({ language: "zh", theme: "light" }),
  );
  window = await openWindow(sandbox, { args: [file] });
  await window.focus();
  await window.until("the text", "document.activeElement?.classList.contains('cm-content')");
});

after(async () => {
  await window?.close();
  sandbox?.close();
});

const palette = "document.querySelector('.palette') !== null";

test("an item of the menu bar runs its command in the page", async () => {
  // File, Edit, AI, View: its first item is the palette.
  await window.keys("F10", "Right", "Right", "Right", "Down", "Return");
  await window.until("the palette", palette);
  assert.equal(await window.evaluate("document.querySelector('.palette input').placeholder"), "输入命令");
  await window.keys("Escape");
  await window.until("no palette", `!(${palette})`);
});

test("the dialog to save has a title, in the page's words", async () => {
  await window.keys("ctrl+shift+s");
  await run("xdotool", ["search", "--sync", "--onlyvisible", "--name", "^另存为$"], { env: window.env });
  await window.keys("Escape");
  await window.focus();
});

test("a key that the menu shows works once, in the page", async () => {
  await window.evaluate(
    "(window.__opened = 0, new MutationObserver((all) => { for (const m of all) for (const n of m.addedNodes) if (n.matches?.('.palette')) window.__opened += 1; }).observe(document.body, { childList: true, subtree: true }), 0)",
  );
  await window.keys("ctrl+shift+p");
  await window.until("the palette", palette);
  assert.equal(await window.evaluate("window.__opened"), 1);
  await window.keys("Escape");
});
