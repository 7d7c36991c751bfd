import type { Provider, Settings } from "./gen";

/** What a provider has of parameters, favourites and prices before a person sets any. */
export const noParameters = {
  maxOutputTokens: 0,
  temperature: "",
  effort: "",
  favourites: [],
  prices: [],
} as const satisfies Partial<Provider>;

/** The settings of somebody who has set none; the host has the same. */
export const defaultSettings: Settings = {
  theme: "system",
  language: "system",
  face: "sans",
  textSize: 17,
  provider: "",
  showHidden: false,
  ignored: [],
  permissions: { workspaceRead: "allow", notesWrite: "confirm" },
  limits: { minutes: 10, steps: 25, tokens: 200_000 },
  presets: [],
  network: { proxy: "system", proxyUrl: "", proxyUser: "", bypass: [], caFile: "" },
  sendLog: true,
};
