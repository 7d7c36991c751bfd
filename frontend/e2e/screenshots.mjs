// Takes the pictures of docs/images in the real window: thirteen moments in two
// themes and two languages. Nothing in them depends on the day or the machine
// but the fonts. A name or a part of one as an argument takes only those.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { makeSandbox, run, startDisplay } from "./lib/processes.mjs";
import { selectionOf, startProvider } from "./lib/provider.mjs";
import { openWindow } from "./lib/window.mjs";
import { stories } from "./stories.mjs";

const images = resolve(import.meta.dirname, "../../docs/images");
/** The inner size of the window, the menu bar within. */
const size = { width: 1440, height: 900 };
/** What a picture may weigh, in bytes. */
const heaviest = 150_000;
/** The program's folder, which one picture names. */
const home = join(tmpdir(), "galley-pictures");
const wanted = process.argv.slice(2);

/** Every picture of one language and theme. */
async function takeAll(story, language, theme) {
  const name = (moment) => `${moment}-${theme}-${language}.png`;
  const want = (moment) => wanted.length === 0 || wanted.some((part) => name(moment).includes(part));
  const look = { language, theme };

  if (want("first-run")) {
    await inWindow(look, {}, async (window) => {
      await take(window, name("first-run"));
    });
  }
  if (want("writing") || want("settings")) {
    await inWindow(look, { story }, async (window) => {
      await caret(window, story.caret);
      if (want("writing")) await take(window, name("writing"));
      if (!want("settings")) return;
      await window.keys("ctrl+comma");
      await window.click(".set-nav li:nth-child(3) button");
      await window.click(".prov li:nth-child(2) button");
      await window.click(".form [type=password]");
      await window.type("sk-not-a-real-key-of-anybody");
      await window.keys("Return");
      await window.until("what was said of the keyring", "document.querySelector('.form .note') !== null");
      await take(window, name("settings"));
    });
  }
  if (want("settings-models")) {
    const answer = () => ({
      text: "OK",
      usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 14 },
    });
    await inWindow(look, { story, answer, uses: "openrouter" }, async (window) => {
      await settingsAt(window, 3);
      await window.click(".prov li:nth-child(3) .pick");
      await window.click("[...document.querySelectorAll('.form .btn')].at(-2)", true);
      await window.until("the test's result", "document.querySelector('.form .result') !== null");
      await window.evaluate("(document.querySelector('.form [role=combobox]').focus(), 0)");
      await window.keys("Down", "Down");
      await window.until("the list", "document.querySelectorAll('.models [role=option]').length > 6");
      await take(window, name("settings-models"));
    });
  }
  if (want("settings-network")) {
    await inWindow(look, { story, uses: "none", more: await networkOf() }, async (window) => {
      await settingsAt(window, 5);
      await window.until("the certificates", "document.querySelector('.subjects li') !== null");
      await window.until("what is used", "/3128/.test(document.querySelector('.used')?.innerText)");
      await take(window, name("settings-network"));
    });
  }
  if (want("settings-sends")) {
    let refused = false;
    const answer = (body) =>
      refused
        ? { status: 429, headers: { "retry-after": "42" }, body: { error: { message: "Slow down." } } }
        : { text: selectionOf(body).replace(/[.。]/, "") || "OK" };
    await inWindow(look, { story, answer, uses: "openrouter" }, async (window) => {
      await settingsAt(window, 3);
      await window.click(".prov li:nth-child(3) .pick");
      await window.click("[...document.querySelectorAll('.form .btn')].at(-2)", true);
      await window.until("the test's result", "document.querySelector('.form .result') !== null");
      await window.click(".tabs [role=tab]:nth-last-child(2)");
      await select(window, story.passage);
      await ask(window, story.wish, 3);
      await window.until("the marks", "document.querySelector('.cm-content .g-hk') !== null");
      refused = true;
      await settingsAt(window, 3);
      await window.click("[...document.querySelectorAll('.form .btn')].at(-2)", true);
      await window.until("the failure", "document.querySelector('.form .note') !== null");
      await settingsAt(window, 6);
      await window.until("the entries", "document.querySelectorAll('.send-log tbody tr').length > 3");
      await take(window, name("settings-sends"));
    });
  }
  if (want("rewrite")) {
    await inWindow(
      look,
      { story, answer: (body) => ({ pieces: story.pieces(selectionOf(body)), hold: true }) },
      async (window) => {
        await select(window, story.passage);
        await ask(window, story.wish, 3);
        await window.until(
          "the third second",
          "/\\D3\\D/.test(document.querySelector('.rewrite [role=status]')?.textContent)",
          { every: 20 },
        );
        await take(window, name("rewrite"));
      },
    );
  }
  if (want("review")) {
    await inWindow(
      look,
      { story, answer: (body) => ({ text: story.rewritten(selectionOf(body)) }) },
      async (window) => {
        await select(window, story.whole);
        await ask(window, story.remark, null);
        await window.until(
          "the marks",
          "document.querySelectorAll('.cm-content .g-hk').length > 3 && document.querySelector('.rewrite') === null",
        );
        await window.keys("ctrl+shift+j");
        await window.until("the panel", "document.querySelectorAll('.hunks li').length > 3");
        await toLocked(window);
        await window.evaluate("(document.querySelector('.cm-scroller').scrollTop = 0, 0)");
        await take(window, name("review"));
      },
    );
  }
  if (want("panel") || want("interrupted")) {
    const { talk } = story;
    const turns = [
      ...talk.answer,
      { calls: [{ name: "createDocument", input: talk.create }] },
      { pieces: [], hold: true },
    ];
    let turn = 0;
    const answer = () => turns[turn++];
    await inWindow(look, { story, answer }, async (window) => {
      await window.keys("ctrl+shift+j");
      await say(window, talk.question);
      await window.until("the answer", says(talk.answer.at(-1).text));
      await window.until("its end", "document.querySelector('.strip .spin') === null");
      await say(window, talk.reply);
      await window.until("the question", "document.querySelector('.card.ask') !== null");
      await window.evaluate("(document.querySelector('.cm-scroller').scrollTop = 0, 0)");
      if (want("panel")) await take(window, name("panel"));
      if (!want("interrupted")) return;
      // The Runner dies while a person is asked.
      process.kill(await runnerOf(window), "SIGKILL");
      await window.until("the truth", "document.querySelector('.card.ask .btn.primary') === null");
      await window.until(
        "the end",
        "/14:06|\\d\\d:\\d\\d/.test(document.querySelector('.talk-in').lastElementChild?.innerText)",
      );
      await take(window, name("interrupted"));
    });
  }
  if (want("conflict")) {
    await inWindow(look, { story }, async (window, folder) => {
      await edit(window, story.mine);
      writeFileSync(join(folder, story.file), story.theirs(story.files[story.file]));
      await window.keys("ctrl+s");
      await window.until("the notice", "document.querySelectorAll('.above .note button').length === 3");
      await window.click(".above .note button:nth-child(3)");
      await window.until("the comparison", "document.querySelector('.compare-row[aria-current]') !== null");
      await window.keys("1");
      await window.until("the choice", "document.querySelector('.compare [aria-pressed=true]') !== null");
      await take(window, name("conflict"));
    });
  }
  if (want("history")) {
    await inWindow(look, { story }, async (window) => {
      await edit(window, story.mine);
      await window.keys("ctrl+s");
      await window.until("the save", "document.querySelector('.tab .dot') === null");
      await window.click(".mid > .bar > .ib");
      await window.until("the versions", "document.querySelectorAll('.version').length === 2");
      await window.click(".versions li:last-child .version");
      await window.until("the marks", "document.querySelectorAll('.cm-content ins').length > 0");
      await take(window, name("history"));
    });
  }
  if (want("error")) {
    const answer = () => ({
      status: 401,
      body: { error: { message: "No such key.", type: "authentication_error" } },
    });
    await inWindow(look, { story, answer, uses: "deepseek" }, async (window) => {
      await select(window, story.passage);
      await ask(window, story.wish, 3);
      await window.until("the failure", "document.querySelector('.rewrite .note') !== null");
      await take(window, name("error"));
    });
  }
}

/** Opens the window on a story (none: as at the first start), and closes all again. */
async function inWindow({ language, theme }, { story, answer, uses = "ollama", more }, act) {
  const sandbox = makeSandbox();
  const provider = story && (await startProvider(answer));
  if (provider) provider.models = offered;
  let display;
  let window;
  try {
    quietDesktop(sandbox);
    const settings = {
      language,
      theme,
      ...(story && { provider: uses === "none" ? "deepseek" : uses, providers: providers(provider, uses) }),
      ...more?.settings,
    };
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home);
    for (const [path, text] of Object.entries(more?.files ?? {})) writeFileSync(join(home, path), text);
    writeFileSync(join(home, "settings.json"), JSON.stringify(settings));
    const args = story ? [folderOf(sandbox, story), join(folderOf(sandbox, story), story.file)] : [];
    for (const [path, text] of Object.entries(story?.files ?? {})) {
      const to = join(folderOf(sandbox, story), path);
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, text);
    }
    display = await startDisplay(sandbox, { size: "1500x1000" });
    window = await openWindow(sandbox, {
      args,
      display,
      env: {
        GALLEY_HOME: home,
        GTK_THEME: theme === "dark" ? "Adwaita:dark" : "Adwaita",
        LANG: "en_US.UTF-8",
      },
    });
    window.id = await window.focus();
    await run("xdotool", ["windowsize", "--sync", window.id, String(size.width), String(size.height)], {
      env: window.env,
    });
    if (story)
      await window.until(
        "the document",
        `document.querySelector('.cm-content')?.textContent.includes(${JSON.stringify(story.caret)})`,
      );
    await act(window, story && folderOf(sandbox, story));
  } catch (error) {
    if (window) {
      const out = resolve(import.meta.dirname, ".out");
      mkdirSync(out, { recursive: true });
      await window.screenshot(join(out, "failed.png"));
      console.error(readFileSync(join(home, "logs", "galley.log"), "utf8"));
    }
    throw error;
  } finally {
    await window?.close();
    await display?.close();
    await provider?.close();
    sandbox.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const folderOf = (sandbox, story) => join(sandbox.work, story.folder);

/** A desktop on which nothing blinks or glides, as people can set it. */
function quietDesktop(sandbox) {
  const dir = join(sandbox.env().XDG_CONFIG_HOME, "gtk-3.0");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "settings.ini"), "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n");
}

/** What the provider on loopback offers, as a router tells it. */
const offered = [
  ["harbour/moss-large", "Moss Large", 200_000, ["tools", "reasoning"]],
  ["harbour/moss-small", "Moss Small", 131_072, ["tools"]],
  ["harbour/fern-2", "Fern 2", 64_000, ["tools"]],
  ["lantern/drift-70b", "Drift 70B", 32_768, ["tools"]],
  ["lantern/drift-8b", "Drift 8B", 8192, []],
  ["quay/ledger-pro", "Ledger Pro", 1_000_000, ["tools", "reasoning"]],
  ["quay/ledger-mini", "Ledger Mini", 400_000, ["tools"]],
].map(([id, name, context_length, supported_parameters]) => ({
  id,
  name,
  object: "model",
  context_length,
  supported_parameters,
}));

/** A proxy that is set by hand, and a file of certificates. */
async function networkOf() {
  const path = join(tmpdir(), "galley-harbour.pem");
  await run("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"],
    ...["-subj", "/O=Harbour Office/CN=Harbour Root CA", "-keyout", "/dev/null", "-out", path],
  ]);
  const pem = readFileSync(path, "utf8");
  rmSync(path);
  return {
    files: { "harbour.pem": pem },
    settings: {
      network: {
        proxy: "manual",
        proxyUrl: "http://proxy.harbour.example:3128",
        proxyUser: "",
        bypass: ["*.harbour.example", "10.0.0.0/8"],
        caFile: join(home, "harbour.pem"),
      },
    },
  };
}

/** Opens the settings at a section, counted from 1. */
async function settingsAt(window, section) {
  await window.keys("ctrl+comma");
  await window.click(`.set-nav li:nth-child(${section}) button`);
  await window.until(
    "the section",
    `document.querySelector('.set-nav li:nth-child(${section}) button')?.getAttribute('aria-current') === 'page'`,
  );
}

/** Some providers; the one that is used is on loopback. */
function providers(provider, uses) {
  const kind = "openai_chat";
  return [
    {
      id: "ollama",
      name: "Ollama",
      kind,
      profile: "ollama",
      baseUrl: "http://localhost:11434/v1",
      model: "qwen2.5:14b",
    },
    {
      id: "deepseek",
      name: "DeepSeek",
      kind,
      profile: "deepseek",
      baseUrl: "https://api.deepseek.com",
      model: "deepseek-chat",
    },
    ...(uses === "openrouter"
      ? [
          {
            id: "openrouter",
            name: "OpenRouter",
            kind,
            profile: "openrouter",
            baseUrl: provider.url,
            model: "harbour/moss-large",
            favourites: ["harbour/moss-large", "quay/ledger-pro"],
            prices: [{ model: "harbour/moss-large", currency: "$", input: 1.25, output: 5, cached: 0.125 }],
          },
        ]
      : []),
  ].map((p) => (p.id === uses && p.id !== "openrouter" ? { ...p, profile: "", baseUrl: provider.url } : p));
}

/** The line that begins with some words. */
const lineOf = (words) =>
  `[...document.querySelectorAll('.cm-line')].find((l) => l.textContent.startsWith(${JSON.stringify(words)}))`;

/** Selects from the start of one line to the end of another. */
async function select(window, [first, last]) {
  await window.evaluate("(document.querySelector('.cm-content').focus(), 0)");
  await window.evaluate(
    `(() => { const a = ${lineOf(first)}, b = ${lineOf(last)}; getSelection().setBaseAndExtent(a, 0, b, b.childNodes.length); return 0; })()`,
  );
  await window.until(
    "the selection",
    "/\\d\\D+\\d/.test(document.querySelector('.status')?.textContent ?? '') && !getSelection().isCollapsed",
  );
}

/** Goes from change to change until a locked one is current. */
async function toLocked(window) {
  const at = () =>
    window.evaluate(
      "[...document.querySelectorAll('.hunks li')].findIndex((li) => li.hasAttribute('aria-current'))",
    );
  const locked = await window.evaluate(
    "[...document.querySelectorAll('.hunks li')].findIndex((li) => li.querySelector('.badge.lock') !== null)",
  );
  if (locked < 0) throw new Error("no change is locked");
  for (let now = await at(); now < locked; now += 1) {
    await window.keys("F8");
    await window.until(
      "the next change",
      `document.querySelectorAll('.hunks li')[${now + 1}]?.hasAttribute('aria-current')`,
    );
  }
}

/** Replaces the first of each pair of words by its second, as typing does. */
async function edit(window, pairs) {
  await window.evaluate(
    `(() => { const { view } = document.querySelector('.cm-content').cmTile.root; for (const [from, insert] of ${JSON.stringify(pairs)}) { const at = view.state.doc.toString().indexOf(from); if (at < 0) throw new Error(from); view.dispatch({ changes: { from: at, to: at + from.length, insert }, userEvent: "input.type" }); } view.dispatch({ selection: { anchor: 0 } }); view.focus(); return 0; })()`,
  );
  await window.until("the edit", "document.querySelector('.tab .dot') !== null");
}

/** The process that runs the agent of a window. */
async function runnerOf(window) {
  return (await window.processes()).find((p) => / runner /.test(`${p.args} `)).pid;
}

/** Sends a message in the panel. */
async function say(window, words) {
  await window.until("the field", "document.querySelector('.compose textarea') !== null");
  await window.evaluate(
    `(() => { const f = document.querySelector('.compose textarea'); f.focus(); f.value = ${JSON.stringify(words)}; f.dispatchEvent(new Event('input', { bubbles: true })); return 0; })()`,
  );
  await window.keys("Return");
}

/** Whether the conversation shows some words. */
const says = (words) => `document.querySelector('.talk-in')?.innerText.includes(${JSON.stringify(words)})`;

/** Puts the caret behind some words. */
async function caret(window, words) {
  await window.evaluate("(document.querySelector('.cm-content').focus(), 0)");
  await window.evaluate(
    `(() => { const w = document.createTreeWalker(document.querySelector('.cm-content'), NodeFilter.SHOW_TEXT); for (let n = w.nextNode(); n; n = w.nextNode()) { const at = n.data.indexOf(${JSON.stringify(words)}); if (at >= 0) { getSelection().collapse(n, at + ${words.length}); return at; } } return -1; })()`,
  );
}

/** Opens the rewrite box, writes a wish into it, and runs it: by Enter, or by the chip with this number. */
async function ask(window, wish, chip) {
  await window.keys("ctrl+j");
  await window.until("the box", "document.activeElement?.closest('.rewrite') != null");
  await window.evaluate(
    `(() => { const i = document.querySelector('.rewrite input'); i.value = ${JSON.stringify(wish)}; i.dispatchEvent(new Event('input', { bubbles: true })); return 0; })()`,
  );
  if (chip === null) await window.keys("Return");
  else await window.click(`.rewrite .chips button:nth-child(${chip})`);
}

/** Writes the picture of the window alone, small. */
async function take(window, name) {
  // Times of day are those of whenever this runs.
  await window.evaluate(
    `(() => { for (const part of document.querySelectorAll(".status, .versions, .panel .foot .line, .compare, .talk-in .note")) { const w = document.createTreeWalker(part, NodeFilter.SHOW_TEXT); for (let n = w.nextNode(); n; n = w.nextNode()) if (!n.parentElement.closest(".cell")) n.data = n.data.replace(/\\b\\d\\d:\\d\\d\\b/g, "14:06"); } return 0; })()`,
  );
  // Ports and days are those of whenever this runs.
  await window.evaluate(
    `(() => { const set = document.querySelector(".set-in"); if (set === null) return 0; const w = document.createTreeWalker(set, NodeFilter.SHOW_TEXT); for (let n = w.nextNode(); n; n = w.nextNode()) { n.data = n.data.replace(/127\\.0\\.0\\.1:\\d+/g, "127.0.0.1:8090"); if (n.parentElement.closest(".send-log")) n.data = n.data.replace(/\\d+ [A-Z][a-z]+ \\d\\d:\\d\\d/, "12 Nov 14:06").replace(/\\d+月\\d+日 \\d\\d:\\d\\d/, "11月12日 14:06"); if (n.parentElement.closest(".result")) n.data = n.data.replace(/\\d+\\.\\d+( s|(?= 秒))/g, "0.42$1"); } for (const f of set.querySelectorAll("input")) f.value = f.value.replace(/127\\.0\\.0\\.1:\\d+/, "127.0.0.1:8090"); return 0; })()`,
  );
  // The pointer shows nothing where there is nothing.
  await run("xdotool", ["mousemove", "1499", "999"], { env: window.env });
  await window.evaluate(
    "(window.__drawn = false, requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => { window.__drawn = true; }))), 0)",
  );
  await window.until("three frames", "window.__drawn === true");
  const to = join(images, name);
  await run(
    "import",
    [
      "-window",
      window.id,
      "-strip",
      "-dither",
      "None",
      "-colors",
      "256",
      "-define",
      "png:compression-level=9",
      `png8:${to}`,
    ],
    {
      env: window.env,
    },
  );
  const bytes = statSync(to).size;
  if (bytes > heaviest) throw new Error(`${name} weighs ${bytes} bytes`);
  console.log(`${name} ${bytes} bytes`);
}

mkdirSync(images, { recursive: true });
for (const language of ["en", "zh"]) {
  for (const theme of ["light", "dark"]) {
    await takeAll(stories[language], language, theme);
  }
}
