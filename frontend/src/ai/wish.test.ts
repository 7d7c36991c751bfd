import { expect, test } from "vitest";
import { providerState, settingsState } from "../backend/provider.testing";
import { targetOf } from "./wish";

const large = providerState({ id: "large", name: "Large", model: "l-1" });
const small = providerState({ id: "small", name: "Small", model: "s-1" });
const state = settingsState([large, small], {
  provider: "large",
  presets: [
    { preset: "grammar", provider: "small", model: "s-2" },
    { preset: "shorten", provider: "gone", model: "g" },
    { preset: "expand", provider: "small", model: "" },
  ],
});

// covers: U1 K3 (a preset may have a model of its own)
test.each([
  ["a wish of one's own goes to the model that AI uses", { preset: "" }, "large", "l-1", false],
  ["a preset without a model too", { preset: "improve" }, "large", "l-1", false],
  ["a preset with one goes there", { preset: "grammar" }, "small", "s-2", true],
  ["a preset of a provider that is gone does not", { preset: "shorten" }, "large", "l-1", false],
  ["without a model it is that of its provider", { preset: "expand" }, "small", "s-1", true],
  [
    "what was chosen for it goes before all",
    { preset: "grammar", model: { providerId: "large", model: "l-2" } },
    "large",
    "l-2",
    false,
  ],
] as const)("%s", (_, wish, provider, model, ofPreset) => {
  const target = targetOf(state, { instruction: "", ...wish });
  expect([target?.provider.id, target?.model, target?.ofPreset]).toEqual([provider, model, ofPreset]);
});

test("there is none where nothing is chosen", () => {
  expect(targetOf(settingsState([large]), { preset: "improve", instruction: "" })).toBeNull();
  expect(targetOf(null, { preset: "improve", instruction: "" })).toBeNull();
});
