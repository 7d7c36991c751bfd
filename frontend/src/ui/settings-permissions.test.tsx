// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import { noParameters } from "../backend/blank";
import { createFakeBackend, type FakeBackend, type FakeOptions } from "../backend/fake";
import { setLanguage } from "../i18n";
import { createDialogs } from "./dialog";
import { SettingsPage, type SettingsSection } from "./settings";
import { createSettings, type SettingsStore } from "./settings-store";
import { one, press, settle, show, type } from "./stage.testing";

interface Stage {
  readonly backend: FakeBackend;
  readonly settings: SettingsStore;
  readonly root: HTMLElement;
  /** The field or select of a label. */
  readonly field: <T extends HTMLElement = HTMLInputElement>(label: string) => T;
}

async function staged(section: SettingsSection = "permissions", options: FakeOptions = {}): Promise<Stage> {
  const backend = createFakeBackend(options);
  const settings = createSettings(backend);
  await settings.load();
  const root = await show(
    <SettingsPage
      settings={settings}
      dialogs={createDialogs()}
      section={section}
      provider=""
      onProvider={() => {}}
      onSection={() => {}}
    />,
  );
  return {
    backend,
    settings,
    root,
    field: <T extends HTMLElement>(label: string): T => {
      const found = [...root.querySelectorAll("label")].find((l) => l.textContent === label);
      return one<T>(root, `[id="${found?.htmlFor}"]`);
    },
  };
}

/** Types into a field and leaves it. */
async function fill(field: HTMLInputElement, text: string): Promise<void> {
  await type(field, text);
  await act(() => void field.dispatchEvent(new Event("change", { bubbles: true })));
  await settle();
}

async function choose(select: HTMLSelectElement, id: string): Promise<void> {
  select.value = id;
  await act(() => void select.dispatchEvent(new Event("change", { bubbles: true })));
  await settle();
}

const labels = (select: HTMLSelectElement) => [...select.options].map((o) => o.textContent);

afterEach(() => setLanguage("en"));

describe("permissions", () => {
  // covers: U5 T4
  it("says what a run may touch, and offers nothing that lets it write unasked", async () => {
    const { root, field } = await staged();
    expect(labels(field<HTMLSelectElement>("Read other documents"))).toEqual([
      "Without asking",
      "Ask each time",
      "Never",
    ]);
    expect(labels(field<HTMLSelectElement>("Create and rename documents"))).toEqual([
      "Ask each time",
      "Never",
    ]);
    // These hold and are no settings.
    for (const fixed of ["Only as a proposal", "Not there", "When you ask about it"]) {
      expect(root.textContent).toContain(fixed);
    }
    expect(root.textContent).toContain("Nothing is applied by itself.");
    expect(root.textContent).toContain("The operating system puts no fence of its own round it.");
    expect(root.querySelectorAll("select")).toHaveLength(2);
    expect(root.querySelectorAll("[role=switch], input[type=checkbox]")).toHaveLength(0);
  });

  // covers: T4
  it("stores each permission and leaves the other", async () => {
    const { field, backend } = await staged();
    await choose(field<HTMLSelectElement>("Read other documents"), "deny");
    expect((await backend.settings.Get()).settings.permissions).toEqual({
      workspaceRead: "deny",
      notesWrite: "confirm",
    });
    await choose(field<HTMLSelectElement>("Create and rename documents"), "deny");
    expect((await backend.settings.Get()).settings.permissions).toEqual({
      workspaceRead: "deny",
      notesWrite: "deny",
    });
  });

  // covers: R8
  it("stores a limit within its bounds, and says what would be right", async () => {
    const { root, field, backend } = await staged();
    expect(field("Minutes").value).toBe("10");
    expect(field("Steps").value).toBe("25");
    expect(field("Tokens").value).toBe("200000");
    const limits = async () => (await backend.settings.Get()).settings.limits;
    const count = () => backend.calls.filter((c) => c === "Settings.Update").length;
    for (const wrong of ["0", "201", "2.5", "-3", ""]) {
      await fill(field("Steps"), wrong);
      expect(one(root, ".err").textContent).toBe("A whole number from 1 to 200.");
      expect(field("Steps").getAttribute("aria-invalid")).toBe("true");
    }
    expect(count()).toBe(0);
    await fill(field("Steps"), "200");
    expect(root.querySelector(".err")).toBeNull();
    expect(await limits()).toEqual({ minutes: 10, steps: 200, tokens: 200_000 });
    await fill(field("Minutes"), "45");
    await fill(field("Tokens"), "1000000");
    expect(await limits()).toEqual({ minutes: 45, steps: 200, tokens: 1_000_000 });
    // What is there already is not stored again.
    await fill(field("Minutes"), "45");
    expect(count()).toBe(3);
    await fill(field("Tokens"), "999");
    expect(one(root, ".err").textContent).toBe("A whole number from 1,000 to 10,000,000.");
  });

  it("shows what the host says, whatever was typed", async () => {
    const { settings, field } = await staged();
    await type(field("Steps"), "7");
    const state = settings.state.value;
    await act(() =>
      settings.accept({
        ...state,
        settings: { ...state.settings, limits: { minutes: 3, steps: 9, tokens: 5000 } },
      }),
    );
    expect(field("Steps").value).toBe("9");
    expect(field("Minutes").value).toBe("3");
  });

  it("says it in Chinese", async () => {
    setLanguage("zh");
    const { root, field } = await staged();
    expect(one(root, "h1").textContent).toBe("权限与限制");
    expect(labels(field<HTMLSelectElement>("新建和重命名文档"))).toEqual(["每次询问", "从不"]);
    expect(root.textContent).toContain("操作系统没有另设隔离");
  });
});

describe("the size of a context", () => {
  const provider = {
    id: "far",
    name: "Far",
    kind: "openai_chat",
    profile: "",
    baseUrl: "https://api.example/v1",
    model: "m",
    contextTokens: 0,
    ...noParameters,
  };

  // covers: K10
  it("is empty when it is not known, and can be made so again", async () => {
    const { root, field, backend } = await staged("providers", { providers: [provider] });
    const stored = async () => (await backend.settings.Get()).providers[0]?.contextTokens;
    expect(field("Context size").value).toBe("");
    expect(root.textContent).toContain("In tokens; empty when you do not know.");
    await fill(field("Context size"), "64000");
    expect(await stored()).toBe(64_000);
    await fill(field("Context size"), "12");
    expect(one(root, ".err").textContent).toContain("A whole number from 1,000 to 10,000,000, or empty");
    expect(await stored()).toBe(64_000);
    await fill(field("Context size"), "");
    expect(await stored()).toBe(0);
    expect(root.querySelector(".err")).toBeNull();
    // The rest of the form leaves it alone.
    await fill(field("Context size"), "32000");
    await type(field("Name"), "Farther");
    await press("Enter");
    await settle();
    expect(await stored()).toBe(32_000);
  });

  it("is shown of the offline provider", async () => {
    const mock = { ...provider, id: "mock", name: "Mock", kind: "mock", baseUrl: "", contextTokens: 32_768 };
    const { root } = await staged("providers", { providers: [mock] });
    expect(root.textContent).toContain("32,768 tokens");
  });
});
