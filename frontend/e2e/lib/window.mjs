// Drives Galley in its real WebKitGTK window: keys by xdotool, state through
// WebKit's remote inspector, which the e2e build leaves open.
import { resolve } from "node:path";
import WebSocket from "ws";
import { freePort, run, start, startDisplay, until } from "./processes.mjs";

const root = resolve(import.meta.dirname, "../../..");

/** Path of a built program in bin/. */
export const binary = (name) => resolve(root, "bin", name);

/**
 * Opens the window. display is taken over when given, else made. args are the
 * program's. wrap is a command in front (["dbus-run-session", "--"]).
 */
export async function openWindow(
  sandbox,
  { args = [], program = "galley-e2e", env = {}, display, wrap = [], size } = {},
) {
  const screen = display ?? (await startDisplay(sandbox, size ? { size } : {}));
  const port = await freePort();
  const childEnv = sandbox.env({
    DISPLAY: screen.display,
    WEBKIT_INSPECTOR_HTTP_SERVER: `127.0.0.1:${port}`,
    ...env,
  });
  const command = [...wrap, binary(program), ...args];
  const galley = start(command[0], command.slice(1), { env: childEnv });
  const window = {
    sandbox,
    galley,
    screen,
    env: childEnv,
    inspector: null,
    /** Evaluates an expression in the page and returns its JSON value. */
    evaluate: (expression) => window.inspector.evaluate(expression),
    until: (what, expression, options) => until(what, () => window.inspector.evaluate(expression), options),
    async attach() {
      window.inspector?.close();
      window.inspector = await until("the inspector", () => connect(port), { timeout: 30000 });
      await window.until("the page", "document.documentElement.dataset.ready === 'true'", { timeout: 30000 });
    },
    /** Presses keys as xdotool names them, one after another. */
    keys: (...names) =>
      run("xdotool", ["key", "--clearmodifiers", "--delay", "20", ...names], { env: childEnv }),
    type: (text) => run("xdotool", ["type", "--clearmodifiers", "--delay", "20", text], { env: childEnv }),
    async focus() {
      const id = (
        await run("xdotool", ["search", "--sync", "--onlyvisible", "--name", "Galley"], { env: childEnv })
      )
        .trim()
        .split("\n")
        .at(-1);
      await run("xdotool", ["windowactivate", "--sync", id], { env: childEnv });
      return id;
    },
    /** Clicks the first element with these words: a button, tab, label or list row. */
    clickText: (text, within = "body") =>
      window.click(
        `[...document.querySelectorAll(${JSON.stringify(`${within} :is(button, [role=tab], [role=menuitem], label, li)`)})].find((e) => e.textContent.trim() === ${JSON.stringify(text)})`,
        true,
      ),
    /** Clicks the middle of the first element that matches, with the real pointer. */
    async click(selector, isExpression = false) {
      const found = isExpression
        ? `(${selector} ?? null)`
        : `document.querySelector(${JSON.stringify(selector)})`;
      await window.until(selector, `${found} !== null`);
      const box = await window.evaluate(
        `(() => { const e = ${found}; e.scrollIntoView({ block: "nearest" }); const r = e.getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`,
      );
      const offset = await window.offset();
      const at = [Math.round(box.x + offset.x), Math.round(box.y + offset.y)].map(String);
      await run("xdotool", ["mousemove", "--sync", ...at, "click", "1"], { env: childEnv });
    },
    /** Where the page's corner lies on the screen, found by moving the pointer there. */
    async offset() {
      await window.evaluate(
        "(window.__at ??= (addEventListener('mousemove', (e) => { window.__at = { cx: e.clientX, cy: e.clientY }; }, true), { cx: 0, cy: 0 }), 0)",
      );
      let nudge = 0;
      let before = null;
      // An event of an earlier move may still be on its way: two moves must say the same.
      return until("the pointer in the page", async () => {
        nudge = (nudge + 1) % 7;
        const [x, y] = [700 + nudge, 600 + nudge];
        await run("xdotool", ["mousemove", String(x), String(y)], { env: childEnv });
        const at = await window.evaluate("window.__at");
        const now = { x: x - at.cx, y: y - at.cy };
        const same = before !== null && before.x === now.x && before.y === now.y;
        before = now;
        return same && now;
      });
    },
    /** Pids of the program and everything below it, with their command lines. */
    async processes() {
      const all = (await run("ps", ["-eo", "pid=,ppid=,args="], {}))
        .trim()
        .split("\n")
        .map((line) => {
          const [, pid, ppid, args] = line.match(/^\s*(\d+)\s+(\d+)\s+(.*)$/);
          return { pid: Number(pid), ppid: Number(ppid), args };
        });
      const tree = [];
      const add = (pid) => {
        for (const p of all.filter((q) => q.ppid === pid)) {
          tree.push(p);
          add(p.pid);
        }
      };
      tree.push(...all.filter((p) => p.pid === galley.pid));
      add(galley.pid);
      return tree;
    },
    /** The text of the document in front, from its lines (for documents that fit the screen). */
    text: () =>
      window.evaluate(
        "[...document.querySelectorAll('.cm-content .cm-line')].map((l) => { const c = l.cloneNode(true); for (const w of c.querySelectorAll('[contenteditable=false]')) w.remove(); return c.textContent; }).join('\\n')",
      ),
    /** Writes a picture of the whole screen, once what is in the page has been drawn. */
    async screenshot(path) {
      if (window.inspector !== null) {
        await window.evaluate(
          "(window.__drawn = false, requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => { window.__drawn = true; }))), 0)",
        );
        await window.until("three frames", "window.__drawn === true");
      }
      await run("import", ["-window", "root", path], { env: childEnv });
    },
    async close({ keepScreen = false } = {}) {
      window.inspector?.close();
      // A command in front ends by itself, with what it started, when the program does.
      const inner =
        wrap.length > 0
          ? (await window.processes()).find((p) => p.args.startsWith(command.at(wrap.length)))
          : null;
      if (inner) {
        process.kill(inner.pid, "SIGTERM");
        await until("the end of the program and its wrapper", () => galley.child.exitCode !== null);
      }
      await galley.stop();
      if (!keepScreen && !display) await screen.close();
    },
  };
  if (program === "galley-e2e") await window.attach();
  return window;
}

/** Connects to the inspector's page target, or throws when there is none yet. */
async function connect(port) {
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const path = page.match(/\/socket\/\d+\/\d+\/WebPage/)?.[0];
  if (!path) throw new Error("no page target yet");
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  await new Promise((ok, bad) => {
    socket.on("open", ok);
    socket.on("error", bad);
  });
  let id = 0;
  let target = null;
  const waiting = new Map();
  const inner = new Map();
  const log = [];
  let targetKnown;
  const ready = new Promise((ok) => (targetKnown = ok));
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (message.method === "Target.targetCreated") {
      target = message.params.targetInfo.targetId;
      targetKnown();
    } else if (message.method === "Target.dispatchMessageFromTarget") {
      const reply = JSON.parse(message.params.message);
      if (reply.method === "Console.messageAdded") {
        const { level, text, url, line } = reply.params.message;
        log.push(`${level}: ${text} (${url ?? ""}:${line ?? 0})`);
      }
      inner.get(reply.id)?.(reply);
      inner.delete(reply.id);
    } else if (message.id) {
      waiting.get(message.id)?.(message);
      waiting.delete(message.id);
    }
  });
  await Promise.race([
    ready,
    new Promise((_, bad) => setTimeout(() => bad(new Error("the inspector named no target")), 3000).unref()),
  ]);
  const send = (method, params) =>
    new Promise((ok, bad) => {
      const n = ++id;
      inner.set(n, ok);
      const outer = ++id;
      waiting.set(outer, (m) => m.error && bad(new Error(m.error.message)));
      socket.send(
        JSON.stringify({
          id: outer,
          method: "Target.sendMessageToTarget",
          params: { targetId: target, message: JSON.stringify({ id: n, method, params }) },
        }),
      );
      const timer = setTimeout(() => bad(new Error(`${method}: no answer`)), 8000);
      timer.unref();
    });
  await send("Console.enable", {});
  return {
    /** What the page has said on its console. */
    log,
    async evaluate(expression) {
      const reply = await send("Runtime.evaluate", {
        expression: `JSON.stringify(${expression})`,
        returnByValue: true,
      });
      const result = reply.result?.result;
      if (reply.result?.wasThrown) throw new Error(`${expression}: ${result?.description}`);
      return result?.value === undefined ? undefined : JSON.parse(result.value);
    },
    close: () => socket.close(),
  };
}
