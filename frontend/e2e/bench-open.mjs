// Measures how long a large document takes from the click to its first painted
// line, beside Monaco in the same browser: ours reads the file, sends it through
// the host and attaches; Monaco has the text in the page already. One figure a
// line; it judges nothing. docs/benchmarks.md says how the figures are made.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve } from "node:path";
import { build } from "vite";
import { openGalley } from "./lib/browser.mjs";
import { freePort, makeSandbox, startDisplay } from "./lib/processes.mjs";
import { openWindow } from "./lib/window.mjs";

const bench = resolve(import.meta.dirname, "../bench");
const rounds = 10;
const sizes = [
  { name: "1MB", bytes: 1e6, bars: true },
  { name: "10MB", bytes: 1e7, bars: true },
  { name: "49MB", bytes: 4.9e7, bars: false },
];

const say = (id, what, figures) =>
  console.log([id, what, ...Object.entries(figures).map(([name, value]) => `${name}=${value}`)].join(" "));

/** Prose in Markdown with blocks of all kinds; the first line names the size. */
function sampleOf({ name, bytes }) {
  const parts = [`# Sample of ${name}\n`];
  let length = 0;
  for (let i = 1; length < bytes; i++) {
    const part =
      `\n## Section ${i}\n\nThe *last boat* leaves at **half past ${i % 12}**, and [the next](next-${i}.md) never comes. ` +
      "It was late, and nobody on the quay looked up from what they were doing when the lamps went out.\n\n" +
      `- one item\n- another, with \`code ${i}\`\n\n> 末班船九点半开，码头上没有人抬头。\n`;
    parts.push(part);
    length += Buffer.byteLength(part);
  }
  return parts.join("");
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const spread = (list) => {
  const s = [...list].sort((a, b) => a - b);
  return (s[Math.floor(s.length * 0.75)] - s[Math.floor(s.length * 0.25)]) / median(list);
};

await build({
  root: bench,
  configFile: false,
  logLevel: "error",
  build: { outDir: join(bench, "dist"), emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 10000 },
});
const texts = new Map(sizes.map((size) => [size.name, sampleOf(size)]));
const port = await freePort();
const server = createServer((request, response) => {
  const text = texts.get(request.url.slice(1));
  if (text !== undefined) {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(text);
    return;
  }
  const path = join(bench, "dist", request.url === "/" ? "index.html" : request.url.split("?")[0]);
  if (!path.startsWith(join(bench, "dist")) || !existsSync(path)) {
    response.writeHead(404).end();
    return;
  }
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".ttf": "font/ttf" };
  response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
}).listen(port, "127.0.0.1");

try {
  await inBrowser();
  await inWindow();
} finally {
  server.close();
}

async function inBrowser() {
  const files = Object.fromEntries(sizes.map(({ name }) => [`${name}.md`, texts.get(name)]));
  const app = await openGalley({ files, args: (sandbox) => [sandbox.work] });
  try {
    const peer = await app.page.context().newPage();
    await peer.goto(`http://127.0.0.1:${port}/`);
    await peer.waitForFunction(() => document.documentElement.dataset.ready === "true");
    for (const { name } of sizes.filter(({ bars }) => bars)) {
      const ours = [];
      const theirs = [];
      const heaps = { ours: [], theirs: [] };
      const measure = {
        ours: async () => {
          await app.page.bringToFront();
          const took = await openOurs(app, name);
          heaps.ours.push(await heapOf(app.page));
          await app.page.keyboard.press("Control+w");
          await app.untilShown("No document is open");
          return took;
        },
        theirs: async () => {
          await peer.bringToFront();
          const took = await peer.evaluate(
            ([url, mark]) => globalThis.openText(url, mark),
            [`/${name}`, `Sample of ${name}`],
          );
          heaps.theirs.push(await heapOf(peer));
          return took;
        },
      };
      for (let i = -1; i < rounds; i++) {
        for (const side of i % 2 === 0 ? ["ours", "theirs"] : ["theirs", "ours"]) {
          const took = await measure[side]();
          if (i >= 0) (side === "ours" ? ours : theirs).push(took);
        }
      }
      const ratio = (median(ours) / median(theirs)).toFixed(2);
      const judged = spread(theirs) > 0.3 ? `unjudged(${ratio})` : ratio;
      say("bm-7", `open-to-paint-${name}`, {
        ratio: judged,
        ours: `${Math.round(median(ours))}ms`,
        peer: `${Math.round(median(theirs))}ms`,
        n: rounds,
      });
      say("bm-7", `page-heap-${name}`, {
        ratio: (median(heaps.ours) / median(heaps.theirs)).toFixed(2),
        ours: `${(median(heaps.ours) / 1e6).toFixed(1)}MB`,
        peer: `${(median(heaps.theirs) / 1e6).toFixed(1)}MB`,
        n: rounds,
      });
    }
  } finally {
    await app.close();
  }
}

/** Opens a file by its row in the tree; the milliseconds until its first line was painted. */
function openOurs(app, name) {
  return app.page.evaluate(async (label) => {
    const row = [...document.querySelectorAll("[role=treeitem]")].find((e) => e.textContent.trim() === label);
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const start = performance.now();
    row.click();
    while (!document.querySelector(".cm-line")?.textContent.includes(`Sample of ${label}`)) await frame();
    await frame();
    return performance.now() - start;
  }, name);
}

async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  return metrics.find((m) => m.name === "JSHeapUsedSize").value;
}

/** The same in the program's own window, which has no peer here. */
async function inWindow() {
  const sandbox = makeSandbox();
  const display = await startDisplay(sandbox);
  try {
    for (const { name } of sizes) sandbox.write(`${name}.md`, texts.get(name));
    const window = await openWindow(sandbox, { args: [sandbox.work], display });
    try {
      for (const { name } of sizes) {
        const took = [];
        for (let i = 0; i < 5; i++) {
          await window.evaluate(
            `(() => { window.__took = null; const row = [...document.querySelectorAll("[role=treeitem]")].find((e) => e.textContent.trim() === ${JSON.stringify(name)}); const start = performance.now(); const look = () => { if (document.querySelector(".cm-line")?.textContent.includes("Sample of ${name}")) requestAnimationFrame(() => { window.__took = performance.now() - start; }); else requestAnimationFrame(look); }; row.click(); look(); return 0; })()`,
          );
          await window.until("the first line", "window.__took !== null", { timeout: 60000 });
          took.push(await window.evaluate("window.__took"));
          const memory = i === 4 ? await memoryOf(window) : null;
          await window.focus();
          await window.keys("ctrl+w");
          await window.until("the tab closed", "document.body.innerText.includes('No document is open')");
          if (memory !== null) say("bm-7-window", `memory-${name}`, { pss: `${memory}MB` });
        }
        say("bm-7-window", `open-to-paint-${name}`, {
          ours: `${Math.round(median(took))}ms`,
          n: took.length,
        });
      }
    } finally {
      await window.close({ keepScreen: true });
    }
  } finally {
    await display.close();
    sandbox.close();
  }
}

/** The proportional share of memory of the program and all below it, in MB. */
async function memoryOf(window) {
  let kilobytes = 0;
  for (const { pid } of await window.processes()) {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    kilobytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  }
  return Math.round(kilobytes / 1024);
}
