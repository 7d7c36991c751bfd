// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import type { Provider } from "../backend";
import { noParameters } from "../backend/blank";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { setLanguage } from "../i18n";
import { createDialogs, DialogHost } from "./dialog";
import { SettingsPage, type SettingsSection } from "./settings";
import { createSettings, type SettingsStore } from "./settings-store";
import { button, click, one, press, settle, show, type } from "./stage.testing";

const deepseek: Provider = {
  id: "deepseek",
  name: "DeepSeek",
  kind: "openai_chat",
  profile: "deepseek",
  baseUrl: "https://api.deepseek.com",
  model: "deepseek-chat",
  contextTokens: 0,
  ...noParameters,
};
const mock: Provider = {
  ...deepseek,
  id: "mock",
  name: "Mock",
  kind: "mock",
  profile: "",
  baseUrl: "",
  model: "mock-1",
  contextTokens: 32_768,
};
const secret = "sk-TESTKEY-1";

interface Stage {
  readonly backend: FakeBackend;
  readonly settings: SettingsStore;
  readonly root: HTMLElement;
  readonly keyField: () => HTMLInputElement;
}

async function staged(options: FakeOptions = {}, section: SettingsSection = "providers"): Promise<Stage> {
  const now = () => new Date(2026, 10, 12, 14, 6).getTime();
  const backend = createFakeBackend({ providers: [deepseek], now, ...options });
  const settings = createSettings(backend);
  await settings.load();
  const dialogs = createDialogs();
  const root = await show(
    <>
      <div class="win">
        <SettingsPage
          settings={settings}
          dialogs={dialogs}
          section={section}
          provider=""
          onProvider={() => {}}
          onSection={() => {}}
        />
      </div>
      <DialogHost dialogs={dialogs} platform="linux" />
    </>,
  );
  return { backend, settings, root, keyField: () => one<HTMLInputElement>(root, "input[type=password]") };
}

async function storeKey(stage: Stage, key = secret): Promise<void> {
  await type(stage.keyField(), key);
  await act(
    () => void stage.keyField().form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })),
  );
  await settle();
}

/** Everything of the page that could hold a key: markup, field values, attributes. */
function pageText(): string {
  const values = [...document.querySelectorAll("input")].map(
    (field) => `${field.value} ${field.defaultValue}`,
  );
  return `${document.documentElement.outerHTML} ${values.join(" ")}`;
}

afterEach(() => setLanguage("en"));

// covers: K4 (the page's part: set, see whether, delete; never shown again)
describe("the key field", () => {
  it("is a password field that no browser fills in", async () => {
    const { keyField } = await staged();
    expect(keyField().type).toBe("password");
    expect(keyField().autocomplete).toBe("off");
    expect(keyField().value).toBe("");
  });

  it("leaves the page when it is stored, and then says where and since when", async () => {
    const stage = await staged();
    const { root, backend } = stage;
    expect(button(root, "Store").disabled).toBe(true);
    await storeKey(stage);
    expect(backend.keyOf("deepseek")).toBe(secret);
    expect(root.querySelector("input[type=password]")).toBeNull();
    expect(one(root, ".form [role=group]").textContent).toBe("In Secret Service, 12 NovReplaceDelete");
    expect(pageText()).not.toContain(secret);
  });

  it("is cleared while it is being stored already", async () => {
    const stage = await staged();
    let done: () => void = () => {};
    const slow = {
      ...stage.settings,
      setKey: () => new Promise<null>((resolve) => (done = () => resolve(null))),
    };
    const dialogs = createDialogs();
    const root = await show(
      <SettingsPage
        settings={slow}
        dialogs={dialogs}
        section="providers"
        provider=""
        onProvider={() => {}}
        onSection={() => {}}
      />,
    );
    const field = one<HTMLInputElement>(root, "input[type=password]");
    await type(field, secret);
    await act(() => void field.form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
    expect(field.value).toBe("");
    expect(button(root, "Storing").disabled).toBe(true);
    expect(pageText()).not.toContain(secret);
    done();
    await settle();
  });

  it("can be replaced or kept", async () => {
    const stage = await staged();
    await storeKey(stage);
    await click(button(stage.root, "Replace"));
    expect(stage.keyField().value).toBe("");
    await click(button(stage.root, "Keep the stored key"));
    expect(button(stage.root, "Replace")).toBeDefined();
    await click(button(stage.root, "Replace"));
    await storeKey(stage, "sk-TESTKEY-2");
    expect(stage.backend.keyOf("deepseek")).toBe("sk-TESTKEY-2");
    expect(button(stage.root, "Replace")).toBeDefined();
  });

  it("is deleted after it was asked", async () => {
    const stage = await staged();
    await storeKey(stage);
    await click(button(stage.root, "Delete"));
    expect(one(stage.root, ".dialog h2").textContent).toBe("Delete the key of DeepSeek?");
    await click(button(stage.root, "Cancel Esc"));
    await settle();
    expect(stage.backend.keyOf("deepseek")).toBe(secret);
    await click(button(stage.root, "Delete"));
    await click(button(one(stage.root, ".dialog"), "Delete"));
    await settle();
    expect(stage.backend.keyOf("deepseek")).toBeUndefined();
    expect(stage.keyField().value).toBe("");
  });

  it("says what a key looks like when it is none, and forgets what was typed", async () => {
    const stage = await staged();
    await storeKey(stage, "two words");
    expect(one(stage.root, ".err").textContent).toContain("This is not a key.");
    expect(stage.backend.keyOf("deepseek")).toBeUndefined();
    expect(pageText()).not.toContain("two words");
    expect(document.activeElement).toBe(stage.keyField());
  });
});

// covers: K5 C14 (told before anything is written, with the path; saved is never claimed when it was not)
describe("a key without a keyring", () => {
  it.each([
    ["missing", "No keyring on this system. Nothing has been stored."],
    ["locked", "The keyring is locked. Nothing has been stored."],
    ["silent", "The keyring does not answer. Nothing has been stored."],
  ] as const)("%s: nothing is stored, and the path is named", async (keyring, title) => {
    const stage = await staged({ keyring });
    await storeKey(stage);
    const note = one(stage.root, ".note");
    expect(note.getAttribute("role")).toBe("alert");
    expect(one(note, "h2").textContent).toBe(title);
    expect(note.textContent).toContain("plain text in ~/.config/galley/credentials.json");
    expect([...note.querySelectorAll("button")].map((b) => b.textContent)).toEqual([
      "Keep until I quit",
      "Store in plain text",
      "Look again",
    ]);
    expect(stage.backend.keyOf("deepseek")).toBeUndefined();
    expect(one(stage.root, ".prov .badge").textContent).toBe("No key");
    expect(pageText()).not.toContain(secret);
  });

  it("keeps it until the program ends when the person says so", async () => {
    const stage = await staged({ keyring: "missing" });
    await storeKey(stage);
    await click(button(stage.root, "Keep until I quit"));
    await settle();
    expect(stage.backend.keyOf("deepseek")).toBe(secret);
    expect(one(stage.root, ".form [role=group]").textContent).toContain("In memory until you quit");
    expect(stage.root.querySelector(".note")).toBeNull();
  });

  it("stores it in plain text when the person says so, and goes on saying that", async () => {
    const stage = await staged({ keyring: "missing" });
    await storeKey(stage);
    await click(button(stage.root, "Store in plain text"));
    await settle();
    expect(one(stage.root, ".form [role=group]").textContent).toContain("In a file, plain text");
    expect(one(stage.root, ".form [role=group]").textContent).toContain("~/.config/galley/credentials.json");
  });

  it("looks again, and stores it in the keyring that is there now", async () => {
    const stage = await staged({ keyring: "missing" });
    await storeKey(stage);
    await click(button(stage.root, "Look again"));
    await settle();
    expect(one(stage.root, ".note h2").textContent).toContain("Nothing has been stored.");
    stage.backend.setKeyring("present");
    await click(button(stage.root, "Look again"));
    await settle();
    expect(one(stage.root, ".form [role=group]").textContent).toContain("In Secret Service, 12 Nov");
  });

  it("drops a key that waits when another is typed, or the person backs out", async () => {
    const stage = await staged({ keyring: "missing" });
    await storeKey(stage);
    await type(stage.keyField(), "sk-other");
    expect(stage.root.querySelector(".note")).toBeNull();
    await storeKey(stage, "sk-other");
    stage.keyField().focus();
    await press("Escape");
    expect(stage.root.querySelector(".note")).toBeNull();
    expect(stage.backend.keyOf("deepseek")).toBeUndefined();
  });

  it("says it in Chinese", async () => {
    setLanguage("zh");
    const stage = await staged({ keyring: "missing" });
    await storeKey(stage);
    expect(one(stage.root, ".note h2").textContent).toBe("这台电脑上没有可用的密钥环。密钥尚未保存。");
    expect(button(stage.root, "只用到退出为止")).toBeDefined();
  });
});

// covers: K3 (add, change, delete, test, list models, final URL shown)
describe("providers", () => {
  it("shows where requests go, and what is wrong with an address", async () => {
    const { root } = await staged();
    expect(root.textContent).toContain("Requests go to https://api.deepseek.com/chat/completions");
    const address = one<HTMLInputElement>(root, "input[inputmode=url]");
    await type(address, "htp:/api.deepseek");
    await press("Enter");
    await settle();
    expect(one(root, ".err").textContent).toBe("Not an address. It starts with https:// or http://");
    expect(root.textContent).not.toContain("Requests go to");
    await type(one(root, "input[inputmode=url]"), "http://far.example/v1");
    await press("Enter");
    await settle();
    expect(one(root, ".err").textContent).toContain("Only https:// keeps the key safe");
    // It was not sent: nothing else says that something went wrong.
    expect(root.querySelector(".told .note")).toBeNull();
    await type(one(root, "input[inputmode=url]"), "https://near.example/v1");
    await press("Enter");
    await settle();
    expect(root.querySelector(".err")).toBeNull();
    expect(root.textContent).toContain("Requests go to https://near.example/v1/chat/completions");
  });

  it("adds one of each kind, and AI uses the first", async () => {
    const { root, settings } = await staged({ providers: [] });
    expect(root.textContent).toContain("No provider yet");
    await click(button(root, "Add provider"));
    expect([...root.querySelectorAll("[role=menuitem] .grow")].map((i) => i.textContent)).toEqual([
      "OpenAI (Responses)",
      "OpenAI Chat Completions",
      "Anthropic",
      "Gemini",
      "OpenRouter",
      "DeepSeek",
      "Mistral",
      "xAI",
      "Azure OpenAI",
      "Ollama",
      "LM Studio",
      "llama.cpp",
      "OpenAI-compatible or other address",
    ]);
    await click(button(one(root, "[role=menu]"), "OllamaOn this computer"));
    await settle();
    expect(settings.state.value.providers.map((p) => p.id)).toEqual(["ollama"]);
    expect(settings.state.value.settings.provider).toBe("ollama");
    expect(root.textContent).toContain("This server may need none.");
    expect(one(root, ".prov .badge").textContent).toBe("Ready");
  });

  it("tests the connection only when it can be, and lists the models", async () => {
    const stage = await staged();
    expect(button(stage.root, "Test").disabled).toBe(true);
    expect(stage.root.textContent).toContain("Needs a key first.");
    await storeKey(stage);
    await click(button(stage.root, "Test"));
    await settle();
    expect(stage.root.textContent).toContain("Connected, 2 models.");
    const result = one(stage.root, ".result");
    expect(result.textContent).toContain("It answered “OK”");
    expect(result.textContent).toContain("first word after 0.31 s · whole answer after 0.42 s");
    expect(result.textContent).toContain("11 tokens in, 2 out");
    await click(one(stage.root, "[aria-label='Choose a model']"));
    await click(one(stage.root, "[role=option][aria-label^=deepseek-reasoner]"));
    await settle();
    expect(stage.settings.state.value.providers[0]?.model).toBe("deepseek-reasoner");
  });

  it("says exactly what failed, with the next step", async () => {
    const stage = await staged();
    await storeKey(stage, "bad-key");
    await click(button(stage.root, "Test"));
    await settle();
    const note = one(stage.root, ".note");
    expect(one(note, "h2").textContent).toBe("DeepSeek refused the key (401).");
    expect(button(note, "Replace key")).toBeDefined();
    stage.backend.refuse("Settings.TestProvider", "dns", "api.exmaple.com");
    await click(button(stage.root, "Test"));
    await settle();
    expect(one(stage.root, ".note h2").textContent).toBe("api.exmaple.com was not found.");
    await click(button(one(stage.root, ".note"), "Open settings"));
    expect(document.activeElement).toBe(one(stage.root, "input[inputmode=url]"));
  });

  it("gives a test up that takes too long, and keeps the focus", async () => {
    const stage = await staged();
    await storeKey(stage);
    await type(one(stage.root, "input[id$=-model]"), "hangs-while-it-loads");
    await press("Enter");
    await settle();
    await click(button(stage.root, "Test"));
    await settle();
    expect(stage.root.textContent).toContain("Testing");
    await click(button(stage.root, "Stop"));
    await settle();
    expect(stage.backend.calls).toContain("Settings.StopTest");
    expect(stage.root.querySelector(".note.bad")).toBeNull();
    expect(button(stage.root, "Test").disabled).toBe(false);
    expect(document.activeElement).toBe(button(stage.root, "Test"));
  });

  it("drops the result of a test when the provider changes", async () => {
    const stage = await staged();
    await storeKey(stage);
    await click(button(stage.root, "Test"));
    await settle();
    await type(one(stage.root, "input[inputmode=url]"), "https://other.example");
    await press("Enter");
    await settle();
    expect(stage.root.textContent).not.toContain("Connected");
  });

  it("drops an answer that comes after the provider changed", async () => {
    const backend = createFakeBackend({ providers: [mock] });
    let answer: () => void = () => {};
    const service = {
      ...backend.settings,
      TestProvider: () => new Promise<never>((_, reject) => (answer = () => reject({ code: "dns" }))),
      SaveProvider: backend.settings.SaveProvider,
    };
    const settings = createSettings({ ...backend, settings: service });
    const test = settings.test("mock");
    expect(settings.tests.value.get("mock")?.status).toBe("busy");
    await settings.saveProvider({ ...mock, model: "mock-2" });
    answer();
    await test;
    expect(settings.tests.value.has("mock")).toBe(false);
  });

  it("refuses an empty name without asking the host", async () => {
    const { root, backend } = await staged();
    await type(one<HTMLInputElement>(root, "input[id$=-name]"), "  ");
    await press("Enter");
    await settle();
    expect(one(root, ".err").textContent).toBe("A provider needs a name.");
    expect(backend.calls).not.toContain("Settings.SaveProvider");
  });

  it("is deleted with its key after it was asked", async () => {
    const stage = await staged({ providers: [deepseek, mock] });
    await storeKey(stage);
    await click(button(stage.root, "Delete provider"));
    await click(button(one(stage.root, ".dialog"), "Delete provider"));
    await settle();
    expect(stage.settings.state.value.providers.map((p) => p.id)).toEqual(["mock"]);
    expect(stage.backend.keyOf("deepseek")).toBeUndefined();
  });

  it("says when the host did not store a change", async () => {
    const { root, backend } = await staged({ providers: [deepseek, mock] });
    backend.refuse("Settings.Update", "disk_full");
    await click(button(root, "Use for AI"));
    await settle();
    expect(one(root, ".note h2").textContent).toBe("The change was not stored.");
  });
});

// covers: E10 (a bad value voids only itself and is told) E6
describe("general settings", () => {
  it("hands a choice to the host and shows what it answers", async () => {
    const { root, settings } = await staged({}, "general");
    const theme = one<HTMLSelectElement>(root, "select[id$=-theme]");
    expect([...theme.options].map((o) => o.text)).toEqual([
      "System theme",
      "Light",
      "Dark",
      "Sepia",
      "High contrast",
    ]);
    theme.value = "sepia";
    await act(() => void theme.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(settings.state.value.settings.theme).toBe("sepia");
  });

  it("takes text sizes from 13 to 28 and no others", async () => {
    const { root, settings, backend } = await staged({}, "general");
    const size = one<HTMLInputElement>(root, "input[type=number]");
    await type(size, "40");
    await act(() => void size.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(one(root, ".err").textContent).toBe("A size is a whole number from 13 to 28.");
    expect(backend.calls).not.toContain("Settings.Update");
    await type(size, "20");
    await act(() => void size.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(settings.state.value.settings.textSize).toBe(20);
  });

  it("names settings that were not understood", async () => {
    const { root } = await staged({ problems: ["text.size"] }, "general");
    expect(one(root, ".note h2").textContent).toBe("1 setting was not understood and left out: text.size.");
  });
});

// covers: E10
describe("settings of files", () => {
  const leave = (field: Element) =>
    act(() => void field.dispatchEvent(new Event("change", { bubbles: true }))).then(settle);

  it("shows hidden files when that is wanted", async () => {
    const { root, settings } = await staged({}, "files");
    const hidden = one(root, "[role=switch]");
    expect(hidden.getAttribute("aria-checked")).toBe("false");
    await click(hidden);
    await settle();
    expect(hidden.getAttribute("aria-checked")).toBe("true");
    expect(settings.state.value.settings.showHidden).toBe(true);
  });

  it("leaves out the names of its list, one a line", async () => {
    const { root, settings } = await staged({}, "files");
    const list = one<HTMLTextAreaElement>(root, "textarea");
    expect(list.value).toBe(".git\nnode_modules");
    await type(list, " .git \n\n.git\n草稿 旧\n");
    await leave(list);
    expect(settings.state.value.settings.ignored).toEqual([".git", "草稿 旧"]);
    expect(list.value).toBe(".git\n草稿 旧");
    await type(list, "");
    await leave(list);
    expect(settings.state.value.settings.ignored).toEqual([]);
  });

  it("says which name is none, and stores nothing then", async () => {
    const { root, backend } = await staged({}, "files");
    const list = one<HTMLTextAreaElement>(root, "textarea");
    for (const name of ["a/b", "..", "x".repeat(256)]) {
      await type(list, `.git\n${name}`);
      await leave(list);
      expect(one(root, ".err").textContent).toBe(`“${name}” is not a name of a folder or file.`);
    }
    await type(list, Array.from({ length: 201 }, (_, i) => `n${i}`).join("\n"));
    await leave(list);
    expect(one(root, ".err").textContent).toBe("There is room for 200 names; these are 201.");
    expect(backend.calls).not.toContain("Settings.Update");
  });
});
