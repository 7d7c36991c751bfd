// The peer of bench-open: Monaco with Markdown and nothing behind it. The text
// is in the page before the clock starts.
import * as monaco from "monaco-editor/editor/editor.api.js";
import "monaco-editor/basic-languages/monaco.contribution.js";
import EditorWorker from "monaco-editor/editor/editor.worker.js?worker";

self.MonacoEnvironment = { getWorker: () => new EditorWorker() };

let editor = null;
let model = null;

/** Shows a text and returns the milliseconds until its first line was painted. */
globalThis.openText = async (url, mark) => {
  const text = await (await fetch(url)).text();
  editor?.dispose();
  model?.dispose();
  const root = document.querySelector("#editor");
  const start = performance.now();
  model = monaco.editor.createModel(text, "markdown");
  editor = monaco.editor.create(root, { model, wordWrap: "on", automaticLayout: true });
  await painted(() => root.querySelector(".view-line")?.textContent.replaceAll("\u00a0", " ").includes(mark));
  return performance.now() - start;
};

/** Resolves in the frame after the one in which shown is true. */
async function painted(shown) {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  while (!shown()) await frame();
  await frame();
}

document.documentElement.dataset.ready = "true";
