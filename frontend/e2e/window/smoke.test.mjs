// The untagged binary, as people get it: type, save, look.
//
// covers: F11
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeSandbox, run, until } from "../lib/processes.mjs";
import { openWindow } from "../lib/window.mjs";

test("type and save in the program as it is shipped", async () => {
  const sandbox = makeSandbox();
  const file = sandbox.write("note.md", "one\r\ntwo\r\n");
  const window = await openWindow(sandbox, { program: "galley", args: [file] });
  try {
    const id = await window.focus();
    const colours = async () =>
      Number(
        (
          await run("sh", ["-c", "import -window root png:- | identify -format %k -"], { env: window.env })
        ).trim(),
      );
    // More than a blank page is on the screen: the text has been drawn.
    await until("a drawn page", async () => (await colours()) > 60, { timeout: 30000, every: 250 });
    // The title tells what the page holds: no inspector is in this program.
    const titled = (what, title) =>
      until(
        what,
        async () => (await run("xdotool", ["getwindowname", id], { env: window.env })).trim() === title,
      );
    await titled("the document's name", "note.md \u2013 Galley");
    await run("xdotool", ["mousemove", "--sync", "700", "400", "click", "1"], { env: window.env });
    await window.keys("ctrl+Home");
    await window.type("# ");
    await titled("the mark of unsaved text", "\u25cf note.md \u2013 Galley");
    await window.keys("ctrl+s");
    await titled("the saved document's name", "note.md \u2013 Galley");
    assert.equal(readFileSync(file, "utf8"), "# one\r\ntwo\r\n");
    const picture = join(sandbox.root, "smoke.png");
    await window.screenshot(picture);
    assert.ok(statSync(picture).size > 10_000);
    assert.doesNotMatch(window.galley.output, /inspector/i);
  } finally {
    await window.close();
    sandbox.close();
  }
});
