// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import type { Provider } from "../backend";
import { noParameters } from "../backend/blank";
import { modelOf } from "../backend/provider.testing";
import { setLanguage } from "../i18n";
import { modelChoices } from "./model-choices";
import { rowsOf } from "./model-field";
import { isTemperature } from "./provider-parameters";
import { priceFrom } from "./provider-prices";
import { stageSettings } from "./settings.testing";
import { button, click, one, press, settle, type } from "./stage.testing";

afterEach(() => setLanguage("en"));

const local: Provider = {
  id: "local",
  name: "Local",
  kind: "openai_chat",
  profile: "ollama",
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3:8b",
  contextTokens: 0,
  ...noParameters,
};
const router: Provider = { ...local, id: "router", name: "Router", profile: "openrouter", model: "" };
const mock: Provider = { ...local, id: "mock", name: "Mock", kind: "mock", profile: "", baseUrl: "" };

const names = (root: ParentNode) => [...root.querySelectorAll(".prov b")].map((b) => b.textContent);
const options = (root: ParentNode) =>
  [...root.querySelectorAll(".models [role=option]")].map((o) => o.querySelector(".clip")?.textContent);
async function leave(field: HTMLElement): Promise<void> {
  await act(() => field.blur());
  await settle();
}

// covers: K3 (order, copy, the dialect of a compatible address)
describe("the list of providers", () => {
  it("is put in another order by keys, and by the menu of a row", async () => {
    const { root, settings } = await stageSettings("providers", { providers: [mock, local, router] });
    // The mock, which nobody added, stands at the end.
    expect(names(root)).toEqual(["Local", "Router", "Mock"]);
    one(root, ".prov [data-id=local]").focus();
    await press("ArrowDown", { altKey: true });
    await settle();
    expect(names(root)).toEqual(["Router", "Local", "Mock"]);
    expect(document.activeElement).toBe(one(root, ".prov [data-id=local]"));
    expect(root.textContent).toContain("Local is now 2 of 2");
    await press("ArrowDown", { altKey: true });
    await settle();
    expect(settings.state.value.providers.map((p) => p.id)).toEqual(["router", "local", "mock"]);
    await click(one(root, "[aria-label='More for Local']"));
    await click(button(root, "Move up"));
    await settle();
    expect(names(root)).toEqual(["Local", "Router", "Mock"]);
  });

  it("is put in another order by dragging", async () => {
    const { root } = await stageSettings("providers", { providers: [local, router] });
    const [first, second] = [...root.querySelectorAll(".prov li")];
    const drag = (what: string, on: Element | undefined, clientY = 0): Promise<void> => {
      const event = new MouseEvent(what, { bubbles: true, cancelable: true, clientY });
      return act(() => void on?.dispatchEvent(Object.assign(event, { dataTransfer: null })));
    };
    await drag("dragstart", first);
    await drag("dragover", second, 10);
    expect(root.querySelector(".drop-after")).not.toBeNull();
    await drag("drop", second, 10);
    await settle();
    expect(names(root)).toEqual(["Router", "Local"]);
  });

  it("takes a copy without the key, under a name of its own", async () => {
    const { root, settings } = await stageSettings("providers", { providers: [local] });
    await click(one(root, "[aria-label='More for Local']"));
    await click(button(root, "Duplicate"));
    await settle();
    await click(one(root, "[aria-label='More for Local']"));
    await click(button(root, "Duplicate"));
    await settle();
    expect(settings.state.value.providers.map((p) => p.name).sort()).toEqual([
      "Local",
      "Local copy",
      "Local copy 2",
    ]);
  });

  it("lets a compatible address speak another dialect, and shows where it goes then", async () => {
    const compatible = { ...local, profile: "compatible" };
    const { root, settings } = await stageSettings("providers", { providers: [compatible] });
    const dialect = one<HTMLSelectElement>(root, "select[id$=-dialect]");
    dialect.value = "anthropic_messages";
    await act(() => void dialect.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(settings.state.value.providers[0]).toMatchObject({
      kind: "anthropic_messages",
      profile: "compatible",
    });
    expect(root.textContent).toContain("Requests go to http://localhost:11434/v1/messages");
  });
});

// covers: K2 K3 K10 (list, search, favourites, what a model can do)
describe("the field of a model", () => {
  it("lists what is offered, favourites first, and takes one by the keyboard", async () => {
    const { root, settings, field } = await stageSettings("providers", {
      providers: [{ ...local, favourites: ["gemma3:4b"] }],
    });
    field("Model").focus();
    await press("ArrowDown");
    await settle();
    await press("ArrowDown");
    expect(options(root)).toEqual(["gemma3:4b", "qwen3:8b"]);
    expect(one(root, "[role=option]:first-child").textContent).toContain("no tools · 8,192");
    expect(field("Model").getAttribute("aria-activedescendant")).toBe(
      one(root, "[role=option][aria-selected=true]").id,
    );
    await press("ArrowUp");
    await press("ArrowUp");
    await press("ArrowDown");
    await press("Enter");
    await settle();
    expect(settings.state.value.providers[0]?.model).toBe("gemma3:4b");
    expect(root.querySelector(".models")).toBeNull();
    expect(root.textContent).toContain("This model cannot use tools");
    expect(root.textContent).toContain("8,192 tokens, told by the provider.");
  });

  it("draws only what is in sight of hundreds, and narrows them down as one types", async () => {
    const { root, field, settings } = await stageSettings("providers", { providers: [router] });
    await type(field("Model"), "");
    await settle();
    expect(root.querySelectorAll("[role=option]").length).toBeLessThan(40);
    expect(one(root, "[role=option]:first-child").getAttribute("aria-setsize")).toBe("400");
    await type(field("Model"), "maker-3 399");
    expect(root.textContent).toContain("“maker-3 399” is not in the list.");
    await type(field("Model"), "model-399 maker-19");
    expect(options(root)).toEqual(["maker-19/model-399"]);
    await press("d", { ctrlKey: true });
    await press("ArrowDown");
    await press("d", { ctrlKey: true });
    await settle();
    expect(settings.state.value.providers[0]?.favourites).toEqual(["maker-19/model-399"]);
    await press("End");
    await press("Escape");
    expect(root.querySelector(".models")).toBeNull();
    expect(field("Model").value).toBe("");
  });

  it("takes a name that is not in the list, and stars the one that is set", async () => {
    const { root, field, settings } = await stageSettings("providers", { providers: [local] });
    await type(field("Model"), "my-own:latest");
    await press("Enter");
    await settle();
    expect(settings.state.value.providers[0]?.model).toBe("my-own:latest");
    await click(one(root, "[aria-label=Favourite]"));
    await settle();
    expect(settings.state.value.providers[0]?.favourites).toEqual(["my-own:latest"]);
    expect(one(root, "[aria-label=Favourite]").getAttribute("aria-pressed")).toBe("true");
  });

  it("says why there is no list, and asks again when told to", async () => {
    const { root, field, backend } = await stageSettings("providers", { providers: [local] });
    backend.refuse("Settings.Models", "connection_refused", "localhost:11434");
    field("Model").focus();
    await press("ArrowDown");
    await settle();
    expect(one(root, ".note h2").textContent).toBe("Nothing answers at localhost:11434.");
    expect(one(root, ".models .none").textContent).toContain("A name can be typed.");
    await press("Escape");
    await click(button(one(root, ".note"), "Retry"));
    await settle();
    expect(root.querySelector(".note")).toBeNull();
    await press("ArrowDown");
    expect(options(root)).toHaveLength(2);
  });

  it("keeps the provider's order, and finds every word of a query in id and name", () => {
    const models = [modelOf("b-large"), modelOf("a-small", { name: "Quick" }), modelOf("c-small")];
    expect(rowsOf(models, [], "").map((m) => m.id)).toEqual(["b-large", "a-small", "c-small"]);
    expect(rowsOf(models, ["c-small"], "").map((m) => m.id)).toEqual(["c-small", "b-large", "a-small"]);
    expect(rowsOf(models, [], "QUICK sm").map((m) => m.id)).toEqual(["a-small"]);
  });
});

// covers: K10 (learned, shown, forgotten)
describe("what was learned of a model", () => {
  it("is shown in words, and forgotten when told to", async () => {
    const { root, backend, field } = await stageSettings("providers", { providers: [local] });
    await settle();
    // What is known is read; nobody is asked before a person does.
    expect(backend.calls).toContain("Settings.Model");
    expect(root.textContent).not.toContain("told by the provider");
    backend.models.learn("local", "qwen3:8b", "param:temperature", "refused");
    backend.models.learn("local", "qwen3:8b", "context_tokens", "4096");
    backend.models.learn("local", "gemma3:4b", "tools", "no");
    await type(field("Model"), "gemma3:4b");
    await press("Enter");
    await settle();
    expect([...root.querySelectorAll(".learned li span:first-child")].map((e) => e.textContent)).toEqual([
      "This model cannot use tools.",
    ]);
    await type(field("Model"), "qwen3:8b");
    await press("Enter");
    await settle();
    expect([...root.querySelectorAll(".learned li span:first-child")].map((e) => e.textContent)).toEqual([
      "This model takes 4,096 tokens.",
      "This model does not take temperature.",
    ]);
    expect(root.textContent).toContain("4,096 tokens, learned when the model refused more.");
    await click(button(root, "Forget"));
    await settle();
    expect(root.querySelector(".learned")).toBeNull();
    // The provider itself is asked only when the person wants it.
    expect(root.textContent).not.toContain("told by the provider");
    await click(button(root, "Ask the provider about it"));
    await settle();
    expect(root.textContent).toContain("32,768 tokens, told by the provider.");
  });
});

describe("parameters and prices", () => {
  it("are shut at first and say what is set", async () => {
    const { root, field, settings } = await stageSettings("providers", { providers: [local] });
    const [parameters, prices] = [...root.querySelectorAll<HTMLButtonElement>(".more")];
    expect(parameters?.textContent).toBe("ParametersAs the provider has them");
    expect(prices?.textContent).toBe("PricesNone set, so no cost is shown");
    await click(parameters ?? expect.unreachable());
    await type(field("Temperature"), "2.5");
    await leave(field("Temperature"));
    expect(one(root, ".err").textContent).toContain("A number from 0 to 2");
    await type(field("Temperature"), "0,7");
    await leave(field("Temperature"));
    expect(settings.state.value.providers[0]?.temperature).toBe("0.7");
    expect(parameters?.textContent).toBe("Parameterstemperature 0.7");
  });

  // covers: R11
  it("take a price of the model, and drop it when it is emptied", async () => {
    const { root, settings } = await stageSettings("providers", { providers: [local] });
    const [, prices] = [...root.querySelectorAll<HTMLButtonElement>(".more")];
    await click(prices ?? expect.unreachable());
    const amount = (name: string) => one<HTMLInputElement>(root, `[id$=-price-${name}]`);
    await type(amount("input"), "two");
    await type(amount("output"), "10");
    await leave(amount("output"));
    expect(one(root, ".err").textContent).toContain("amounts from 0 to 1,000,000");
    await type(amount("input"), "2.5");
    await leave(amount("input"));
    expect(settings.state.value.providers[0]?.prices).toEqual([
      { model: "qwen3:8b", currency: "$", input: 2.5, output: 10, cached: 2.5 },
    ]);
    expect(prices?.textContent).toBe("Prices$2.50 / $10.00 for a million tokens in / out");
    for (const name of ["input", "output", "cached"]) {
      await type(amount(name), "");
    }
    await leave(amount("cached"));
    expect(settings.state.value.providers[0]?.prices).toEqual([]);
  });

  it("know what can be a temperature and a price", () => {
    for (const right of ["", "0", "0.7", "1.25", "2", "2.0"]) {
      expect(isTemperature(right), right).toBe(true);
    }
    for (const wrong of ["2.1", "-1", ".5", "1.234", "warm"]) {
      expect(isTemperature(wrong), wrong).toBe(false);
    }
    const draft = { currency: "", input: "1", output: "2", cached: "" };
    expect(priceFrom("m", draft)).toEqual({ model: "m", currency: "$", input: 1, output: 2, cached: 1 });
    expect(priceFrom("m", { ...draft, currency: "3€" })).toBeUndefined();
    expect(priceFrom("m", { ...draft, output: "" })).toBeUndefined();
    expect(priceFrom("m", { currency: "$", input: "", output: "", cached: "" })).toBeNull();
  });
});

// covers: K3
describe("models for presets", () => {
  it("are chosen among those of all providers, and go with their provider", async () => {
    const { root, settings } = await stageSettings("providers", {
      providers: [local, { ...router, model: "maker-1/model-1", favourites: ["maker-2/model-2"] }],
    });
    const grammar = [...root.querySelectorAll("label")].find((l) => l.textContent === "Fix grammar");
    const select = document.getElementById(grammar?.htmlFor ?? "");
    if (!(select instanceof HTMLSelectElement)) {
      throw new Error("no field for the preset");
    }
    expect([...select.options].map((o) => o.text)).toEqual([
      "The model that AI uses",
      "Local, qwen3:8b",
      "Router, maker-1/model-1",
      "Router, maker-2/model-2",
    ]);
    select.value = "model router maker-2/model-2";
    await act(() => void select.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(settings.state.value.settings.presets).toEqual([
      { preset: "grammar", provider: "router", model: "maker-2/model-2" },
    ]);
    await settings.deleteProvider("router");
    expect(settings.state.value.settings.presets).toEqual([]);
  });

  it("keep what was used before within reach, and say why a model is off", async () => {
    const { settings } = await stageSettings("providers", {
      providers: [local, { ...router, baseUrl: "https://router.example", model: "far" }],
      settings: { provider: "local" },
    });
    await settings.chooseModel({ providerId: "local", model: "gemma3:4b" });
    const choices = modelChoices(settings.state.value, settings.recent.value);
    expect(choices.map((c) => [c.label, c.off])).toEqual([
      ["Local, gemma3:4b", ""],
      ["Local, qwen3:8b", ""],
      ["Router, far", "noKey"],
    ]);
  });
});

// covers: K5 C14
describe("a keyring that has appeared", () => {
  it("is told of, and takes the keys by one button", async () => {
    const { root, settings, backend } = await stageSettings("providers", {
      providers: [{ ...local, baseUrl: "https://far.example/v1" }],
      keyring: "missing",
    });
    await settings.setKey("local", "sk-TESTKEY-1", "file");
    await settle();
    expect(root.querySelector(".told .note")).toBeNull();
    backend.setKeyring("present");
    await act(() => settings.load());
    const note = one(root, ".told .note");
    expect(one(note, "h2").textContent).toBe("Secret Service answers now.");
    expect(note.textContent).toContain("~/.config/galley/credentials.json");
    backend.refuse("Settings.MoveKeys", "keyring_locked");
    await click(button(note, "Move keys to the keyring"));
    await settle();
    expect(one(root, ".told h2").textContent).toBe("The keys were not all moved to Secret Service.");
    expect(settings.state.value.providers[0]?.key.place).toBe("file");
    await click(button(one(root, ".told .note"), "Retry"));
    await settle();
    expect(settings.state.value.providers[0]?.key.place).toBe("keyring");
    expect(root.querySelector(".told .note")).toBeNull();
  });
});
