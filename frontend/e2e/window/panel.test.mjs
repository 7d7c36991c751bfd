// The panel in the real window: a question that makes the model search, read
// and propose; a document that is asked for; stop; the Runner killed; the
// truth after a restart.
//
// covers: R2 R6 R7 T4 T5 U2
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox } from "../lib/processes.mjs";
import { providerEntry, startProvider } from "../lib/provider.mjs";
import { openWindow } from "../lib/window.mjs";

const text = "# Ferry\n\nThe purser counts the passengers twice.\n";

let sandbox;
let window;
let provider;
let file;

before(async () => {
  provider = await startProvider();
  sandbox = makeSandbox();
  file = sandbox.write("ferry.md", text);
  sandbox.write("Timetable.md", "# Timetable\n\nNight: 177 passengers.\n");
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({
      provider: "mock",
      providers: [providerEntry(provider.url)],
      language: "en",
      theme: "light",
    }),
  );
  window = await openWindow(sandbox, { args: [sandbox.work, file] });
  await window.focus();
  await window.until("the document", "document.querySelector('.cm-content')?.textContent.includes('Ferry')");
  await openPanel();
});

after(async () => {
  await window?.close();
  await provider?.close();
  sandbox?.close();
});

async function openPanel() {
  await window.keys("ctrl+shift+j");
  await window.until("the field", "document.activeElement?.matches('.compose textarea')");
}

async function send(words) {
  await window.evaluate("(document.querySelector('.compose textarea').focus(), 0)");
  await window.type(words);
  await window.keys("Return");
}

const shown = (words) => `document.querySelector('.talk-in')?.innerText.includes(${JSON.stringify(words)})`;
const idle =
  "document.querySelectorAll('.talk-in > *').length > 1 && document.querySelector('.strip .spin') === null";

test("it searches, reads and proposes, and asks before it writes", async () => {
  await send('/tool searchWorkspace {"query":"passengers"}');
  await window.until("the search", shown("2 hits"));
  await window.until("the end", idle);
  await send('/tool readDocument {"path":"Timetable.md"}');
  await window.until("the reading", shown("Read Timetable"));
  await window.until("the end", idle);
  await send(
    '/tool proposePatch {"oldText":"the passengers twice","newText":"every passenger twice","summary":"Says it more exactly."}',
  );
  await window.until("the proposal", shown("1 change in ferry"));
  await window.until("the end", idle);
  assert.equal(readFileSync(file, "utf8"), text);

  await send('/tool createDocument {"dir":"","name":"Check.md","text":"177 a night."}');
  await window.until("the question", "document.querySelector('.card.ask') !== null");
  assert.ok(!existsSync(sandbox.path("Check.md")));
  const picture = join(sandbox.root, "panel.png");
  await window.screenshot(picture);
  assert.ok(statSync(picture).size > 20_000);
  await window.click(".card.ask .btn.primary");
  await window.until("the receipt", shown("Created Check"));
  assert.equal(readFileSync(sandbox.path("Check.md"), "utf8"), "177 a night.");
  await window.until("the end", idle);
});

test("after kill -9 and a restart the truth is on screen", async () => {
  await window.evaluate(
    "window.go.api.Settings.Get().then(({settings}) => window.go.api.Settings.Update({...settings, provider: 'local'})).then(() => 0)",
  );
  await window.until("the model", "document.querySelector('.area .model')?.innerText.includes('fern-2')");
  provider.script = () => ({ pieces: ["Seven nights ", "make"], hold: true });
  await send("How many a week?");
  await window.until("the words", shown("make"));
  await window.clickText("Stop", ".compose");
  await window.until("the receipt", shown("Stopped. Nothing was written."));

  await send("Once more?");
  await window.until("the words", "document.querySelector('.ai.is-live') !== null");
  const runner = (await window.processes()).find((p) => / runner /.test(`${p.args} `));
  process.kill(runner.pid, "SIGKILL");
  await window.until("the truth", shown("The run was interrupted at"));
  await window.close();

  window = await openWindow(sandbox, { args: [sandbox.work, file] });
  await window.focus();
  await window.until("the document", "document.querySelector('.cm-content')?.textContent.includes('Ferry')");
  if (!(await window.evaluate("document.querySelector('.panel') !== null"))) await openPanel();
  await window.evaluate("(document.querySelector('.panel .bar [aria-label=Sessions]').click(), 0)");
  await window.until(
    "the list",
    "document.querySelector('.session .badge.bad')?.innerText === 'Interrupted'",
  );
  await window.click(".session > button");
  await window.until("what was said", shown("How many a week?"));
  await window.until("the truth", shown("The run was interrupted at"));
  await window.until("what was written", shown("Created Check"));
});
