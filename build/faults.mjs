// Prints what came of each fault of the wire, and what the person is told: the
// sentences are made by the page's own code, bundled as the first argument. The
// second is the file that TestWireFaults writes.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [bundle, table] = process.argv.slice(2);
const { describeFault, faultActionLabel } = await import(pathToFileURL(bundle).href);
const cells = readFileSync(table, "utf8").trim().split("\n").map((line) => JSON.parse(line));

let passed = 0;
let failed = 0;
let row = 0;
for (const cell of cells) {
  if (cell.n !== row) {
    row = cell.n;
    console.log(`\nfault ${cell.n}: ${cell.fault}`);
  }
  if (cell.passed) {
    passed++;
  } else {
    failed++;
  }
  const head = `${cell.passed ? "ok  " : "FAIL"} ${cell.dialect.padEnd(18)} `;
  const way = cell.what === "" ? "" : `${cell.what}: `;
  if (cell.never !== "") {
    console.log(`${head}${"cannot occur".padEnd(18)} ${cell.never}`);
  } else if (cell.code === "") {
    console.log(`${head}${"no fault".padEnd(18)} ${way}${cell.answer}`);
  } else {
    console.log(`${head}${cell.code.padEnd(18)} ${way}${seen(cell)}`);
  }
}
console.log(`\nfaults: ${passed} passed, ${failed} failed; ${row} faults in ${new Set(cells.map((c) => c.dialect)).size} dialects`);
process.exitCode = failed === 0 ? 0 : 1;

/** What the page says and offers, with the port of the test server left out. */
function seen(cell) {
  const { title, text, actions } = describeFault({
    code: cell.code,
    detail: cell.detail.replace(/^127\.0\.0\.1:\d+/, "localhost"),
    retryAfterMs: cell.retryAfterMs,
    provider: cell.vendor,
    model: "fern-2",
  });
  const kept = cell.answer === "" ? "" : ` (kept: ${cell.answer})`;
  const steps = actions.filter((action) => action !== "dismiss").map((action) => `[${faultActionLabel(action)}]`);
  return `“${title} ${text}” ${steps.join(" ")}${kept}`;
}
