// Drives Galley's page in Chromium on the real back end: the development build
// serves the page on loopback and talks to it over a socket, while its own
// window stays behind on a screen of its own.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { freePort, makeSandbox, run, start, startDisplay, until } from "./processes.mjs";

const root = resolve(import.meta.dirname, "../../..");

const switches = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Starts a back end in a sandbox of its own and opens its page. settings are
 * those of settings.json, files the documents in the work folder by name, args
 * what the program is started with, given the sandbox.
 */
export async function openGalley({
  settings = {},
  files = {},
  args = () => [],
  viewport,
  manager = false,
} = {}) {
  const sandbox = makeSandbox();
  const undo = [() => sandbox.close()];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    writeFileSync(
      join(sandbox.galleyHome, "settings.json"),
      JSON.stringify({ language: "en", theme: "light", ...settings }),
    );
    for (const [name, data] of Object.entries(files)) {
      mkdirSync(resolve(sandbox.work, name, ".."), { recursive: true });
      sandbox.write(name, data);
    }
    const screen = await startDisplay(sandbox, { manager });
    undo.push(() => screen.close());
    const port = await freePort();
    const galley = start(
      resolve(root, "bin/galley-dev"),
      ["-devserver", `localhost:${port}`, "-assetdir", resolve(root, "frontend/dist"), ...args(sandbox)],
      // No session bus: there is no keyring to be found.
      { env: sandbox.env({ DISPLAY: screen.display, DBUS_SESSION_BUS_ADDRESS: "disabled:" }) },
    );
    undo.push(() => galley.stop());
    const url = `http://localhost:${port}/`;
    await until(
      "the development server",
      async () => {
        if (galley.child.exitCode !== null) throw new Error(`galley-dev ended\n${galley.output}`);
        return (await fetch(url)).ok;
      },
      { timeout: 30000 },
    );
    const context = await chromium.launchPersistentContext(join(sandbox.root, "chromium"), {
      executablePath: "/usr/bin/chromium",
      args: switches,
      locale: "en-GB",
      timezoneId: "UTC",
      colorScheme: "light",
      viewport: viewport ?? { width: 1440, height: 900 },
      env: sandbox.env(),
    });
    undo.push(() => context.close());
    context.setDefaultTimeout(15000);
    const app = createApp({
      sandbox,
      screen,
      galley,
      context,
      page: context.pages()[0] ?? (await context.newPage()),
      url,
      close,
    });
    await app.open();
    return app;
  } catch (error) {
    await close();
    throw error;
  }
}

function createApp({ sandbox, screen, galley, context, page, url, close }) {
  /** Calls of the page, as {name, args}; messages of the host; what went wrong. */
  const calls = [];
  const frames = [];
  const errors = [];
  const violations = [];
  let session = null;

  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => {
      const text = String(payload);
      if (!text.startsWith("C")) return;
      const { name, args } = JSON.parse(text.slice(1));
      calls.push({ name: name.replace(/^api\./, ""), args });
    });
    socket.on("framereceived", ({ payload }) => frames.push(String(payload)));
  });
  page.on("pageerror", (error) => {
    // The overlay of the development server looks for elements that are not there.
    if (!/reading 'nodes'/.test(error.message)) errors.push(error.stack ?? error.message);
  });
  page.on("console", (message) => {
    const text = message.text();
    if (text.startsWith("galley-violation ")) violations.push(text);
    // A page that goes tells where it stood; the development server's socket may be shut by then.
    else if (message.type() === "error" && !/^Refused to |reading 'send'/.test(text)) errors.push(text);
  });

  const app = {
    sandbox,
    screen,
    galley,
    page,
    calls,
    frames,
    close,
    errors,
    violations,

    /** Loads the page and waits until it is the one in charge. */
    async open() {
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (e) =>
          console.warn(
            `galley-violation ${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`,
          ),
        );
      });
      await page.goto(url);
      await app.ready();
      // The program's own window loads the page as well; the later one is in charge.
      if (pageNumber() === 1) {
        await app.until("the window behind", () => app.shows("This page is no longer in use"), {
          timeout: 30000,
        });
        await page.reload();
        await app.ready();
      }
      session = await context.newCDPSession(page);
    },
    ready: () =>
      app.until("the page", () => page.evaluate(() => document.documentElement.dataset.ready === "true"), {
        timeout: 30000,
      }),

    until: (what, probe, options) =>
      until(what, probe, { timeout: 15000, ...options }).catch(async (error) => {
        error.message += `\n${await outline(page)}${errors.length > 0 ? `\nerrors: ${errors.join("\n")}` : ""}`;
        throw error;
      }),
    locator: (...args) => page.locator(...args),
    count: (selector) => page.locator(selector).count(),
    /** Whether the page shows these words anywhere. */
    shows: (words) => page.evaluate((w) => document.body.innerText.includes(w), words),
    untilShown: (words, options) => app.until(`“${words}”`, () => app.shows(words), options),
    untilGone: (words) => app.until(`no “${words}”`, async () => !(await app.shows(words))),
    untilCount: (selector, n) =>
      app.until(`${n} of ${selector}`, async () => (await page.locator(selector).count()) === n),

    press: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    },
    type: (text) => page.keyboard.type(text),
    /** A DevTools call, such as Input.imeSetComposition. */
    send: (method, params) => session.send(method, params),
    /** Text as an input method composes it, then commits it. */
    compose: (text) =>
      session.send("Input.imeSetComposition", {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      }),
    commit: (text) => session.send("Input.insertText", { text }),
    button: (name) => page.getByRole("button", { name }),
    click: (name) => page.getByRole("button", { name }).first().click(),

    /** The text of the document in front, as the editor holds it. */
    text: () =>
      page.evaluate(() => document.querySelector(".cm-content").cmTile.root.view.state.doc.toString()),
    /** Selects the first occurrence of some words and puts the focus into the text. */
    select: (words, { caret } = {}) =>
      page.evaluate(
        ([words, caret]) => {
          const { view } = document.querySelector(".cm-content").cmTile.root;
          const at = view.state.doc.toString().indexOf(words);
          if (at < 0) throw new Error(`not in the text: ${words}`);
          const to = at + words.length;
          const [anchor, head] = caret === "before" ? [at, at] : caret === "after" ? [to, to] : [at, to];
          view.focus();
          view.dispatch({ selection: { anchor, head }, scrollIntoView: true });
        },
        [words, caret],
      ),
    /** Puts the caret before or behind some words. */
    caret: (side, words) => app.select(words, { caret: side }),
    /** The words that have the mark of an insertion or deletion in the text. */
    marks: (tag) =>
      page.evaluate(
        (tag) =>
          [...document.querySelectorAll(`.cm-content ${tag}`)]
            .map((e) => e.textContent)
            .filter((s) => s !== "¶"),
        tag,
      ),
    /** Runs xdotool on the screen of the program's own window. */
    onScreen: (...args) => run("xdotool", args, { env: sandbox.env({ DISPLAY: screen.display }) }),
    status: () => page.locator(".status").innerText(),
    file: (name) => readFileSync(join(sandbox.work, name)),
    path: (name) => join(sandbox.work, name),
    untilOnDisk: (name, data) =>
      app.until(`${name} on disk`, () => {
        const now = existsSync(join(sandbox.work, name))
          ? String(readFileSync(join(sandbox.work, name)))
          : null;
        if (now !== data) throw new Error(`it is ${JSON.stringify(now)}`);
        return true;
      }),
    async runCommand(words) {
      await page.keyboard.press("Control+Shift+P");
      await page.locator(".palette input").waitFor();
      await page.locator(".palette input").fill(words);
      await page.keyboard.press("Enter");
      await app.untilCount(".palette", 0);
    },
    /** Shuts what a test that failed has left open, so that the next one has its own faults only. */
    async tidy() {
      for (const [what, key] of [
        [".palette, .dialog", "Escape"],
        [".set", "Control+w"],
      ]) {
        if ((await page.locator(what).count()) > 0) await page.keyboard.press(key);
      }
    },
    /** Opens the rewrite box for what is selected; the field has the focus then. */
    async ask() {
      await page.keyboard.press("Control+j");
      await app.until("the rewrite box", () =>
        page.evaluate(() => document.activeElement?.matches(".rewrite input")),
      );
    },
    /** Waits until a proposal is under review in the text. */
    untilReview: () =>
      app.until(
        "the marks",
        async () =>
          (await page.locator(".rewrite").count()) === 0 &&
          (await page.locator(".cm-content .g-hk").count()) > 0,
      ),
    untilDecided: () => app.untilCount(".cm-content .g-hk", 0),
    /** How often the page has sent changes of a document to the host. */
    synced: () => calls.filter((call) => call.name === "Documents.Sync").length,
    /** Opens a document by its name in the tree. */
    async openFile(label) {
      await page.getByRole("treeitem", { name: new RegExp(`^${label}( Unsaved)?$`) }).click();
      await app.until(`${label} in front`, async () =>
        (await page.locator("[role=tab][aria-selected=true] .clip").allInnerTexts()).includes(label),
      );
    },
    /** The child process that runs AI. */
    async runner() {
      const all = (await run("ps", ["-eo", "pid=,ppid=,args="])).trim().split("\n");
      const children = all
        .map((line) => line.trim().split(/\s+/))
        .filter(([, ppid]) => Number(ppid) === galley.pid);
      const found = children.find(([, , , sub]) => sub === "runner");
      return found === undefined ? 0 : Number(found[0]);
    },
    /** Every file below the folder that keeps what the program keeps. */
    keptFiles: () =>
      readdirSync(sandbox.galleyHome, { recursive: true, withFileTypes: true })
        .filter((e) => e.isFile())
        .map((e) => join(e.parentPath ?? e.path, e.name)),
    /** Nothing was thrown, logged as an error, or stopped by the content policy. */
    assertQuiet() {
      assert.deepEqual(errors, []);
      assert.deepEqual(violations, []);
    },
  };

  /** This page's number among those that have attached. */
  function pageNumber() {
    const numbers = frames.flatMap((frame) =>
      [...frame.matchAll(/\\?"page\\?":(\d+),\\?"documents/g)].map((m) => Number(m[1])),
    );
    assert.ok(numbers.length > 0, `no attach was answered:\n${frames.slice(0, 5).join("\n").slice(0, 2000)}`);
    return numbers.at(-1);
  }
  return app;
}

/** What a page shows, for the message of a failure. */
async function outline(page) {
  try {
    return await page.evaluate(() => {
      const near = document.activeElement;
      return `shown: ${document.body.innerText.replace(/\s*\n\s*/g, " | ").slice(0, 1500)}\nfocus: ${near?.tagName} ${near?.className} ${near?.getAttribute("aria-label") ?? ""}`;
    });
  } catch (error) {
    return `nothing shown: ${error.message}`;
  }
}
