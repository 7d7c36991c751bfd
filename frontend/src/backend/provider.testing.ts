import { defaultSettings, noParameters } from "./blank";
import type { ModelInfo, ProviderState, Settings, SettingsState } from "./gen";

/** A provider that can be used, with a key in the keyring. */
export function providerState(change: Partial<ProviderState> = {}): ProviderState {
  return {
    id: "p",
    name: "P",
    kind: "openai_chat",
    profile: "",
    baseUrl: "https://api.example/v1",
    model: "m",
    contextTokens: 0,
    ...noParameters,
    needsKey: true,
    key: { place: "keyring", keyring: "Secret Service", storedAtMs: 1, path: "" },
    url: "https://api.example/v1/chat/completions",
    problem: "",
    modelsUrl: "https://api.example/v1/models",
    ...change,
  };
}

/** The settings of somebody who has these providers. */
export function settingsState(
  providers: readonly ProviderState[],
  change: Partial<Settings> = {},
): SettingsState {
  return {
    settings: { ...defaultSettings, ...change },
    providers,
    problems: [],
    file: "",
    keptAside: "",
    version: "",
    os: "linux",
    canMoveKeys: "",
  };
}

/** A model of which nothing is known but what is said. */
export function modelOf(id: string, change: Partial<ModelInfo> = {}): ModelInfo {
  return {
    id,
    name: "",
    contextTokens: 0,
    contextSource: "",
    maxOutputTokens: 0,
    tools: "",
    streamedArguments: "",
    reasoning: "",
    ...change,
  };
}
