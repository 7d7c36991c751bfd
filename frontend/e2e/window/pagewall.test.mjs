// The page reaches no network and cannot be navigated away: a live server on
// loopback counts zero.
//
// covers: X1 X2
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeSandbox, until } from "../lib/processes.mjs";
import { startCounter } from "../lib/provider.mjs";
import { openWindow } from "../lib/window.mjs";

let sandbox;
let window;
let counter;

before(async () => {
  sandbox = makeSandbox();
  counter = await startCounter();
  window = await openWindow(sandbox, {
    args: [
      sandbox.write(
        "a.md",
        `[link](${counter.url}/md) ![i](${counter.url}/img.png)\n\n<img src="${counter.url}/raw.png">\n`,
      ),
    ],
  });
});

after(async () => {
  await window?.close();
  await counter?.close();
  sandbox?.close();
});

const tries = {
  fetch: (u) => `(fetch('${u}/fetch').catch(() => {}), 0)`,
  image: (u) => `((new Image()).src = '${u}/image', 0)`,
  beacon: (u) => `(navigator.sendBeacon('${u}/beacon', 'x'), 0)`,
  socket: (u) => `((() => { try { new WebSocket('${u.replace("http", "ws")}/socket'); } catch {} })(), 0)`,
  script: (u) =>
    `(document.head.append(Object.assign(document.createElement('script'), { src: '${u}/script.js' })), 0)`,
  style: (u) =>
    `(document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '${u}/style.css' })), 0)`,
  prefetch: (u) =>
    `(document.head.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href: '${u}/prefetch' })), 0)`,
  frame: (u) =>
    `(document.body.append(Object.assign(document.createElement('iframe'), { src: '${u}/frame' })), 0)`,
  font: (u) => `(new FontFace('x', 'url(${u}/font.woff2)').load().catch(() => {}), 0)`,
  worker: (u) => `((() => { try { new Worker('${u}/worker.js'); } catch {} })(), 0)`,
  location: (u) => `(location.href = '${u}/location', 0)`,
  assign: (u) => `(location.assign('${u}/assign'), 0)`,
  anchor: (u) => `(Object.assign(document.createElement('a'), { href: '${u}/anchor' }).click(), 0)`,
  open: (u) => `(window.open('${u}/open'), 0)`,
  meta: (u) =>
    `(document.head.append(Object.assign(document.createElement('meta'), { httpEquiv: 'refresh', content: '0;url=${u}/meta' })), 0)`,
  form: (u) =>
    `((() => { const f = Object.assign(document.createElement('form'), { action: '${u}/form', method: 'post' }); document.body.append(f); f.submit(); })(), 0)`,
};

for (const [name, expression] of Object.entries(tries)) {
  test(`${name} reaches nothing and the page stays`, async () => {
    await window.evaluate(expression(counter.url));
    // Two round trips through the page's own origin: what was to go out has gone.
    await window.evaluate(
      "(window.__done = false, fetch('/').then(() => fetch('/')).finally(() => { window.__done = true; }), 0)",
    );
    await window.until("two round trips", "window.__done === true");
    assert.deepEqual(counter.hits, []);
    assert.equal(await window.evaluate("location.href"), "wails://wails/");
    assert.equal(await window.evaluate("document.documentElement.dataset.ready"), "true");
  });
}

test("the counter would have counted", async () => {
  await fetch(`${counter.url}/self`);
  await until("one hit", () => counter.hits.length === 1);
});
