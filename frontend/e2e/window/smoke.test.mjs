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
    await window.focus();
    const colours = async () =>
      Number(
        (
          await run("sh", ["-c", "import -window root png:- | identify -format %k -"], { env: window.env })
        ).trim(),
      );
    // More than a blank page is on the screen: the text has been drawn.
    await until("a drawn page", async () => (await colours()) > 60, { timeout: 30000, every: 250 });
    await until(
      "the typed text on disk",
      async () => {
        // Colours come before the page listens: click until the text has the focus.
        await run("xdotool", ["mousemove", "700", "400", "click", "1"], { env: window.env });
        await window.keys("ctrl+Home");
        await window.type("# ");
        await window.keys("ctrl+s");
        return readFileSync(file, "utf8").startsWith("# ");
      },
      { every: 500 },
    );
    assert.match(readFileSync(file, "utf8"), /^(?:# )+one\r\ntwo\r\n$/);
    const picture = join(sandbox.root, "smoke.png");
    await window.screenshot(picture);
    assert.ok(statSync(picture).size > 10_000);
    assert.doesNotMatch(window.galley.output, /inspector/i);
  } finally {
    await window.close();
    sandbox.close();
  }
});
