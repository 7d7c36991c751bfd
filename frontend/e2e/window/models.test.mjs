// A provider from nothing to a rewritten passage, all in Chinese: a compatible
// address on loopback is added, tested, its model picked from the list, and a
// passage rewritten with it. What left is in the send log, to the letter.
//
// covers: K2 K3 K9 K10 E6
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { makeSandbox, until } from "../lib/processes.mjs";
import { selectionOf, startProvider } from "../lib/provider.mjs";
import { openWindow } from "../lib/window.mjs";

const text = "# 渡船\r\n\r\n这班渡船其实真的非常快。\r\n\r\n末班船 22:40 开。\r\n";

let sandbox;
let provider;
let window;
let file;

before(async () => {
  sandbox = makeSandbox();
  file = sandbox.write("渡船.md", text);
  writeFileSync(
    join(sandbox.galleyHome, "settings.json"),
    JSON.stringify({ language: "zh", theme: "light" }),
  );
  provider = await startProvider((body) => ({
    text: selectionOf(body) === "" ? "好的" : selectionOf(body).replace("其实真的非常快", "很快"),
  }));
  provider.models = ["fern-1", "fern-2", "moss-small", "moss-large"].map((id) => ({ id, object: "model" }));
  window = await openWindow(sandbox, { args: [file], env: { LANG: "zh_CN.UTF-8" } });
  await window.focus();
});

after(async () => {
  await window?.close();
  await provider?.close();
  sandbox?.close();
});

const shows = (words) => `document.body.innerText.includes(${JSON.stringify(words)})`;

/** Keeps a picture of the moment where pictures are asked for. */
async function picture(name) {
  const dir = process.env.GALLEY_PICTURES;
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  await window.screenshot(resolve(dir, `${name}.png`));
}

/** Puts the focus into the field of a label. */
async function into(label) {
  await window.clickText(label, ".form");
  await window.until(`the field of ${label}`, "document.activeElement.tagName === 'INPUT'");
}

test("在中文界面中添加服务、测试、选择模型", async () => {
  await window.keys("ctrl+comma");
  await window.clickText("AI 服务");
  await window.clickText("添加服务");
  await window.until("the catalogue", "document.querySelectorAll('[role=menuitem]').length === 13");
  await picture("models-catalogue");
  await window.clickText("OpenAI 兼容或其他地址");
  await into("地址");
  await window.keys("ctrl+a");
  await window.type(provider.url);
  await window.keys("Tab");
  await window.until("where requests go", shows(`请求将发往 ${provider.url}/chat/completions`));

  // The list of models, narrowed down by typing, taken by the keyboard.
  await into("模型");
  await window.keys("Down");
  await window.until("the list", "document.querySelectorAll('.models [role=option]').length === 4");
  await window.type("moss");
  await window.until("a shorter list", "document.querySelectorAll('.models [role=option]').length === 2");
  await window.keys("Down", "Down");
  await picture("models-list");
  await window.keys("ctrl+d");
  await window.until(
    "the star, which puts it first",
    "document.querySelector('.models [role=option]')?.getAttribute('aria-label')?.startsWith('moss-large') && document.querySelector('.models .fav.on') !== null",
  );
  await window.keys("Up", "Return");
  await window.until(
    "the model",
    "document.querySelector('.models') === null && document.querySelector('.form [role=combobox]').value === 'moss-large'",
  );

  await window.clickText("测试", ".form");
  await window.until("the result", shows("已连接，4 个模型。"));
  await window.until("what it answered", shows("回答：“好的”"));
  await window.until("how long it took", shows("秒答完"));
  await window.until("that AI uses it", shows("AI 正在使用这个服务。"));
  await picture("models-tested");
  const kept = JSON.parse(readFileSync(join(sandbox.galleyHome, "settings.json"), "utf8"));
  assert.equal(kept.providers[0].model, "moss-large");
  assert.deepEqual(kept.providers[0].favourites, ["moss-large"]);
});

test("用它改写一段文字并保存", async () => {
  await window.clickText("渡船");
  await window.click(".cm-content .cm-line:nth-child(3)");
  await window.keys("ctrl+Home", "Down", "Down", "Home", "shift+End", "ctrl+j");
  await window.until(
    "the box",
    "document.activeElement?.closest('.rewrite') != null && document.querySelector('.rewrite .ask').innerText.includes('moss-large')",
  );
  await picture("models-rewrite");
  await window.keys("Return");
  await window.until("the marks", "document.querySelectorAll('.cm-content del').length > 0");
  await window.keys("ctrl+shift+Return");
  await window.until("the text", "document.querySelector('.cm-content').textContent.includes('渡船很快。')");
  await window.keys("ctrl+s");
  await until("the save", () => readFileSync(file, "utf8") === text.replace("其实真的非常快", "很快"));
  const last = provider.requests.filter((r) => r.url.endsWith("/chat/completions")).at(-1);
  assert.equal(last.body.model, "moss-large");
});

test("发送记录里有发出的全部内容", async () => {
  await window.keys("ctrl+comma");
  await window.clickText("发送记录");
  await window.until("the entries", "document.querySelectorAll('.send-log tbody tr').length >= 2");
  await window.until("what they were for", `${shows("改写")} && ${shows("测试")}`);
  await picture("models-sends");
  await window.click(".send-log tbody tr:first-child button");
  await window.until(
    "what left",
    "document.querySelector('.send-view pre')?.textContent.includes('moss-large') && document.querySelector('.send-view pre').textContent.includes('其实真的非常快')",
  );
  const raw = provider.requests.filter((r) => r.url.endsWith("/chat/completions")).at(-1).body;
  assert.deepEqual(
    await window.evaluate("JSON.parse(document.querySelector('.send-view pre').textContent)"),
    raw,
  );
  await picture("models-send");
});
