// Measures what a start costs: bytes, milliseconds and memory, one figure a
// line. It judges nothing and always ends well; docs/benchmarks.md says how
// the figures are made.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { makeSandbox, startDisplay, until } from "./lib/processes.mjs";
import { binary, openWindow } from "./lib/window.mjs";

const dist = resolve(import.meta.dirname, "../dist");
const sample = resolve(import.meta.dirname, "../../backend/api/sample/Drafts/The Night Ferry.md");
const runs = 10;
/** How long the window is left alone before its memory is read, in ms. */
const settleTime = 5000;
/** Prints the time and becomes the program: the clock starts with the process. */
const clock = ["sh", "-c", 'date +%s%3N; exec "$0" "$@"'];

const say = (what, figures) =>
  console.log(
    ["bench-start", what, ...Object.entries(figures).map(([name, value]) => `${name}=${value}`)].join(" "),
  );

bytes();
await starts();

function bytes() {
  const program = ["galley", "galley-e2e"].map(binary).find(existsSync);
  say("binary", { name: basename(program), bytes: statSync(program).size });
  const page = readFileSync(join(dist, "index.html"), "utf8");
  const named = (pattern) => [...page.matchAll(pattern)].map(([, path]) => join(dist, path));
  weigh("start-js", named(/<script[^>]+src="([^"]+)"/g));
  weigh("start-css", named(/<link[^>]+rel="stylesheet"[^>]+href="([^"]+)"/g));
  weigh(
    "all-assets",
    readdirSync(join(dist, "assets")).map((name) => join(dist, "assets", name)),
  );
}

function weigh(what, paths) {
  const data = paths.map((path) => readFileSync(path));
  const sum = (of) => data.reduce((total, file) => total + of(file), 0);
  say(what, {
    files: data.length,
    bytes: sum((file) => file.length),
    gzip: sum((file) => gzipSync(file, { level: 9 }).length),
  });
}

async function starts() {
  const sandbox = makeSandbox();
  const display = await startDisplay(sandbox);
  const paints = [];
  const readies = [];
  const memory = [];
  try {
    // The first start fills the caches of the system and is not counted.
    for (let i = 0; i <= runs; i++) {
      const window = await openWindow(sandbox, { args: [sample], display, wrap: clock });
      try {
        const started = Number(/^\d{13}/m.exec(window.galley.output)?.[0]);
        const at = await until("the first paint", () =>
          window.evaluate(
            "(() => { const p = performance.getEntriesByName('first-contentful-paint')[0], r = performance.getEntriesByName('ready')[0]; return p && r ? { paint: performance.timeOrigin + p.startTime, ready: performance.timeOrigin + r.startTime } : null; })()",
          ),
        );
        if (i > 0) {
          paints.push(Math.round(at.paint - started));
          readies.push(Math.round(at.ready - started));
        }
        if (i === runs) {
          await new Promise((done) => setTimeout(done, settleTime));
          memory.push(
            ...(await window.processes()).map(({ pid, args }) => ({ name: nameOf(args), ...sizeOf(pid) })),
          );
        }
      } finally {
        await window.close();
      }
    }
  } finally {
    await display.close();
    sandbox.close();
  }
  say("first-paint-ms", spread(paints));
  say("ready-ms", spread(readies));
  for (const { name, rss, pss } of memory) say("memory-kB", { process: name, rss, pss });
  const sum = (key) => memory.reduce((total, process) => total + process[key], 0);
  say("memory-kB", { process: "all", rss: sum("rss"), pss: sum("pss") });
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    runs: sorted.length,
    min: sorted[0],
    median: sorted[Math.floor(sorted.length / 2)],
    max: sorted.at(-1),
  };
}

function nameOf(args) {
  const [program, first = ""] = args.split(" ");
  return basename(program) + (first === "runner" ? "-runner" : "");
}

/** Resident and proportional size of a process, in kB; 0 for one that has ended. */
function sizeOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
    return { rss: field("Rss"), pss: field("Pss") };
  } catch {
    return { rss: 0, pss: 0 };
  }
}
