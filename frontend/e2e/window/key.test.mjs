// The main job with a real key: a key typed into settings, a real Secret
// Service, an OpenAI-compatible server on loopback. Afterwards the key is in
// the keyring and nowhere else.
//
// covers: K3 K4
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, run, until } from "../lib/processes.mjs";
import { selectionOf, startProvider } from "../lib/provider.mjs";
import { openWindow } from "../lib/window.mjs";

const key = "sk-planted-8Qw3rTyU1oP5aSdF";
// Unlocks a keyring of its own and waits for it on the bus before the program starts.
const withKeyring = [
  "dbus-run-session",
  "--",
  "sh",
  "-c",
  `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null &&
   until dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets | grep -q 'boolean true'; do :; done
   echo bus "$DBUS_SESSION_BUS_ADDRESS"; exec "$0" "$@"`,
];

let sandbox;
let provider;
let window;
let file;

before(async () => {
  sandbox = makeSandbox();
  file = sandbox.write("key.md", "# Key\r\n\r\nThis is a very quick sentence.\r\n");
  provider = await startProvider((body) => ({ text: selectionOf(body).replace("very quick", "fast") }));
  window = await openWindow(sandbox, { args: [file], wrap: withKeyring, env: { LANG: "en_US.UTF-8" } });
  await window.focus();
});

after(async () => {
  await window?.close();
  await provider?.close();
  sandbox?.close();
});

/** Puts the focus into the field of a label and replaces its text. */
async function fill(label, text) {
  await window.clickText(label);
  await window.until(`the field of ${label}`, "document.activeElement.tagName === 'INPUT'");
  await window.keys("ctrl+a");
  await window.type(text);
  await window.keys("Tab");
}

test("a key typed into settings is stored, used, and never given back", async () => {
  await window.keys("ctrl+comma");
  await window.clickText("AI providers");
  await window.clickText("Add provider");
  await window.until("the menu or form", "document.querySelector('[role=menuitem]') !== null");
  await window.clickText("OpenAI-compatible or other address");
  await fill("Name", "Loopback");
  await fill("Address", provider.url);
  await window.until(
    "the final address",
    `document.body.textContent.includes(${JSON.stringify(`${provider.url}/chat/completions`)})`,
  );
  await fill("Model", "fern-2");
  await window.clickText("Key");
  await window.until("the key field", "document.activeElement.type === 'password'");
  await window.type(key);
  await window.until("the whole key", `document.activeElement.value.length === ${key.length}`);
  await window.clickText("Store");
  await window.until("the stored key", "/In Secret Service/.test(document.body.textContent)");
  assert.equal(await window.evaluate("document.querySelector('input[type=password]')?.value ?? ''"), "");
  await window.clickText("Test");
  await window.until("the test's result", "/Connected, 1 model/.test(document.body.textContent)");
  // The first provider that is added is the one AI uses.
  await window.until("the choice", "/AI uses this provider/.test(document.body.textContent)");
});

test("the rewrite sends it, the answer is accepted and saved", async () => {
  await window.clickText("key");
  await window.click(".cm-content .cm-line:nth-child(3)");
  await window.keys("ctrl+Home", "Down", "Down", "Home", "shift+End", "ctrl+j");
  await window.until(
    "the box",
    "document.querySelector('.rewrite input') !== null && document.activeElement === document.querySelector('.rewrite input')",
  );
  await window.keys("Return");
  await window.until("the marks", "document.querySelectorAll('.cm-content del').length > 0");
  await window.keys("ctrl+shift+Return");
  await window.until(
    "the text",
    "document.querySelector('.cm-content').textContent.includes('a fast sentence')",
  );
  await window.keys("ctrl+s");
  await until("the save", () => readFileSync(file, "utf8") === "# Key\r\n\r\nThis is a fast sentence.\r\n");
  const chats = provider.requests.filter((r) => r.url.endsWith("/chat/completions"));
  assert.ok(chats.length >= 1);
  for (const r of chats) assert.equal(r.headers.authorization, `Bearer ${key}`);
});

function* files(dir) {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    const s = statSync(path, { throwIfNoEntry: false });
    if (s?.isDirectory()) yield* files(path);
    else if (s?.isFile()) yield path;
  }
}

test("the key is in the keyring and nowhere else", async () => {
  const found = [];
  const forms = [
    key,
    Buffer.from(key).toString("base64").slice(0, 20),
    Buffer.from(key).toString("hex"),
    Buffer.from(key, "utf16le").toString("latin1"),
  ];
  const has = (data) => forms.some((f) => data.includes(Buffer.from(f, "latin1")));
  let looked = 0;
  for (const path of files(sandbox.root)) {
    looked += 1;
    if (has(readFileSync(path))) found.push(path);
  }
  assert.ok(looked > 5, "there was something to search");
  assert.deepEqual(found, [], "no file holds the key in any form");
  for (const p of await window.processes()) {
    for (const part of ["cmdline", "environ"]) {
      assert.ok(!has(readFileSync(`/proc/${p.pid}/${part}`)), `${part} of ${p.args}`);
    }
  }
  assert.ok(!window.galley.output.includes(key));
  assert.ok(!(await window.evaluate("document.documentElement.outerHTML")).includes(key));
  assert.ok(!window.inspector.log.join("\n").includes(key));

  const bus = window.galley.output.match(/^bus (.+)$/m)[1];
  const stored = await run(
    "sh",
    [
      "-c",
      "secret-tool search --all --unlock service galley 2>&1 || true; secret-tool search --all --unlock profile galley 2>&1 || true",
    ],
    {
      env: { ...window.env, DBUS_SESSION_BUS_ADDRESS: bus },
    },
  );
  assert.ok(stored.includes(key) || (await inCollection(bus)), "the keyring holds it");
});

/** Looks through every item of the login collection. */
async function inCollection(bus) {
  const items = await run(
    "sh",
    [
      "-c",
      "dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets/collection/login org.freedesktop.DBus.Properties.Get string:org.freedesktop.Secret.Collection string:Items",
    ],
    { env: { ...window.env, DBUS_SESSION_BUS_ADDRESS: bus } },
  );
  return /object path "\/org\/freedesktop\/secrets\/collection\/login\/\d+"/.test(items);
}
