import { defaultSettings } from "./blank";
import { createFakeModels, createFakeSends, type FakeModels, type FakeSends } from "./fake-models";
import { BackendError } from "./fault";
import type {
  EventType,
  KeyState,
  MenuLabel,
  Provider,
  ProviderState,
  Settings,
  SettingsService,
  SettingsState,
} from "./gen";

/** What the fake's keyring does: it answers, is absent, is locked, or hangs. */
export type FakeKeyring = "present" | "missing" | "locked" | "silent";

/** Settings and providers held in memory. */
export interface FakeSettings {
  readonly settings: SettingsService;
  readonly state: () => SettingsState;
  /** The key the host holds: the page has no call for it, a test may look. */
  readonly keyOf: (providerId: string) => string | undefined;
  readonly setKeyring: (keyring: FakeKeyring) => void;
  /** The labels of the native menu, as last set. */
  readonly menu: () => readonly MenuLabel[];
  readonly models: FakeModels;
  readonly sends: FakeSends;
}

interface Config {
  readonly settings: Partial<Settings>;
  readonly providers: readonly Provider[];
  readonly keyring: FakeKeyring;
  readonly os: string;
  readonly problems: readonly string[];
  readonly now: () => number;
  /** The file that a person chooses in the dialog; "" for none. */
  readonly chooseFile: () => string;
  readonly emit: (type: EventType, payload: object) => void;
}

const keyFile = "~/.config/galley/credentials.json";
/** The name of the proxy's password among the keys. */
const proxyRef = "network-proxy";
const keyringNames: Readonly<Record<string, string>> = {
  darwin: "Keychain",
  windows: "Credential Manager",
};

/** Makes settings that behave as the host's do: keys go in and never come out. */
export function createFakeSettings(config: Config): FakeSettings {
  let settings: Settings = {
    ...defaultSettings,
    ignored: [".git", "node_modules"],
    ...config.settings,
  };
  let providers = [...config.providers];
  let keyring = config.keyring;
  let menu: readonly MenuLabel[] = [];
  /** What gives up the tests of models whose name begins with "hangs". */
  const stops = new Map<string, () => void>();
  const keys = new Map<string, { key: string; state: KeyState }>();
  const keyringName = keyringNames[config.os] ?? "Secret Service";
  const models = createFakeModels(config.now);
  const sends = createFakeSends(config.now);

  const canMove = (): boolean =>
    keyring === "present" && [...keys.values()].some(({ state: { place } }) => place === "file");

  /** Puts a key where it is told to, or says why not. */
  function store(ref: string, key: string, place: string): void {
    if (key === "" || key.length > 2000 || /[^\x21-\x7e]/.test(key)) {
      throw new BackendError("key_malformed");
    }
    if (place === "keyring" && keyring !== "present") {
      const codes = {
        missing: "keyring_missing",
        locked: "keyring_locked",
        silent: "keyring_timeout",
      } as const;
      throw new BackendError(codes[keyring]);
    }
    if (place !== "keyring" && place !== "memory" && place !== "file") {
      throw new BackendError("invalid_input");
    }
    const name = place === "keyring" ? keyringName : "";
    keys.set(ref, { key, state: { place, keyring: name, storedAtMs: config.now(), path: keyFile } });
  }

  const keyState = (ref: string): KeyState =>
    keys.get(ref)?.state ?? { place: "none", keyring: "", storedAtMs: 0, path: keyFile };

  function state(): SettingsState {
    return {
      settings,
      providers: providers.map(describe),
      problems: config.problems,
      file: "~/.config/galley/settings.json",
      keptAside: "",
      version: "0.1.0",
      os: config.os,
      canMoveKeys: canMove() ? keyringName : "",
    };
  }

  function describe(provider: Provider): ProviderState {
    const problem = problemOf(provider);
    return {
      ...provider,
      needsKey: provider.kind !== "mock" && !isLoopback(provider.baseUrl),
      key: keyState(provider.id),
      url: provider.kind === "mock" || problem !== "" ? "" : requestUrl(provider),
      problem,
      modelsUrl: provider.kind === "mock" || problem !== "" ? "" : `${rootOf(provider)}/models`,
    };
  }

  function find(id: string): Provider {
    const provider = providers.find((p) => p.id === id);
    if (!provider) {
      throw new BackendError("not_found");
    }
    return provider;
  }

  /** A provider that a request can be sent to. */
  function usable(id: string): Provider {
    const provider = describe(find(id));
    if (provider.problem !== "") {
      throw new BackendError("invalid_input");
    }
    if (provider.needsKey && provider.key.place === "none") {
      throw new BackendError("no_key");
    }
    return find(id);
  }

  function changed(): SettingsState {
    config.emit("settings.changed", state());
    return state();
  }

  const service: SettingsService = {
    Get: async () => state(),
    Update: async (next) => {
      if (next.textSize < 13 || next.textSize > 28) {
        throw new BackendError("invalid_input", "textSize");
      }
      if (!["confirm", "deny"].includes(next.permissions.notesWrite)) {
        throw new BackendError("invalid_input", "permissions.notesWrite");
      }
      settings = next;
      return changed();
    },
    SaveProvider: async (provider) => {
      if (!/^[a-z0-9-]+$/.test(provider.id) || provider.name.trim() === "") {
        throw new BackendError("invalid_input");
      }
      if (provider.baseUrl !== "" && problemOf(provider) !== "") {
        throw new BackendError("invalid_input", "baseUrl");
      }
      if (provider.contextTokens !== 0 && provider.contextTokens < 1000) {
        throw new BackendError("invalid_input", "contextTokens");
      }
      if (!/^([01](\.\d{1,2})?|2(\.0{1,2})?)?$/.test(provider.temperature)) {
        throw new BackendError("invalid_input", "temperature");
      }
      if (!["", "none", "low", "medium", "high"].includes(provider.effort)) {
        throw new BackendError("invalid_input", "effort");
      }
      if (provider.favourites.length > 50 || new Set(provider.favourites).size < provider.favourites.length) {
        throw new BackendError("invalid_input", "favourites");
      }
      if (provider.prices.some((p) => p.currency === "" || p.input < 0 || p.output < 0 || p.cached < 0)) {
        throw new BackendError("invalid_input", "prices");
      }
      const known = providers.some((p) => p.id === provider.id);
      providers = known
        ? providers.map((p) => (p.id === provider.id ? provider : p))
        : [...providers, provider];
      return changed();
    },
    DeleteProvider: async (id) => {
      find(id);
      providers = providers.filter((p) => p.id !== id);
      keys.delete(id);
      if (settings.provider === id) {
        settings = { ...settings, provider: "" };
      }
      settings = { ...settings, presets: settings.presets.filter((p) => p.provider !== id) };
      return changed();
    },
    SetKey: async ({ providerId, key, place }) => {
      find(providerId);
      store(providerId, key, place);
      return changed();
    },
    DeleteKey: async (id) => {
      find(id);
      keys.delete(id);
      return changed();
    },
    SetMenu: async (labels) => {
      menu = labels;
    },
    MoveProvider: async (id, to) => {
      const moved = find(id);
      const others = providers.filter((p) => p.kind !== "mock" && p.id !== id);
      if (moved.kind === "mock" || to < 0 || to > others.length) {
        throw new BackendError("invalid_input");
      }
      others.splice(to, 0, moved);
      providers = [...others, ...providers.filter((p) => p.kind === "mock")];
      return changed();
    },
    DuplicateProvider: async (id, name) => {
      const from = find(id);
      let copy = `${id}-2`;
      for (let n = 3; providers.some((p) => p.id === copy); n++) {
        copy = `${id}-${n}`;
      }
      providers = providers.flatMap((p) => (p === from ? [p, { ...p, id: copy, name }] : [p]));
      return changed();
    },
    MoveKeys: async () => {
      if (keyring !== "present") {
        throw new BackendError("keyring_missing");
      }
      for (const [ref, { key, state: at }] of keys) {
        if (at.place === "file") {
          store(ref, key, "keyring");
        }
      }
      return changed();
    },
    Models: async (id) => ({ models: models.offered(usable(id)) }),
    Model: async (id, model, ask) => models.detail(find(id), model, ask),
    ForgetModel: async (id, model) => models.forget(find(id), model),
    Network: async (id) => {
      const { proxy, proxyUrl, bypass, caFile } = settings.network;
      const host = id === "" ? "" : new URL(find(id).baseUrl || "http://localhost").hostname;
      const direct =
        proxy !== "manual" || proxyUrl === "" || bypass.includes(host) || isLoopback(`http://${host}`);
      const lost = caFile.includes("gone");
      return {
        proxy: direct ? "" : new URL(proxyUrl).host,
        source: direct ? "none" : "manual",
        certificates: caFile === "" || lost ? [] : ["CN=Harbour Root CA, O=Harbour Office"],
        problem: lost ? "not_found" : "",
        problemDetail: lost ? caFile : "",
        password: keyState(proxyRef),
      };
    },
    SetProxyPassword: async ({ key, place }) => {
      if (settings.network.proxyUrl === "") {
        throw new BackendError("invalid_input", "network.proxyUrl");
      }
      store(proxyRef, key, place);
      return changed();
    },
    DeleteProxyPassword: async () => {
      keys.delete(proxyRef);
      return changed();
    },
    ChooseCAFile: async () => {
      const caFile = config.chooseFile();
      if (caFile === "") {
        throw new BackendError("cancelled");
      }
      if (!/\.(pem|crt|cer)$/.test(caFile)) {
        throw new BackendError("invalid_input", "no_certificate");
      }
      settings = { ...settings, network: { ...settings.network, caFile } };
      return changed();
    },
    Sends: async (before, limit) => sends.list(before, limit),
    Send: async (id, offset) => sends.get(id, offset),
    ClearSends: async (upTo) => sends.clear(upTo),
    StopTest: async (id) => stops.get(id)?.(),
    TestProvider: async (id) => {
      const provider = describe(usable(id));
      if (keys.get(id)?.key.startsWith("bad")) {
        throw new BackendError("bad_key", "401");
      }
      if (provider.model.startsWith("hangs")) {
        await new Promise((_, reject) => stops.set(id, () => reject(new BackendError("cancelled"))));
      }
      const usage = { kind: "exact", input: 11, output: 2, cached: 0, reasoning: 0 } as const;
      const answer = "OK";
      if (settings.sendLog && provider.kind !== "mock") {
        sends.record(
          {
            providerId: id,
            providerName: provider.name,
            model: provider.model,
            purpose: "test",
            url: provider.url,
            receivedBytes: 420,
          },
          JSON.stringify({ model: provider.model, messages: [{ role: "user", content: "Say OK." }] }),
        );
      }
      return {
        url: provider.url,
        models: models.offered(provider),
        modelsCode: "",
        answer,
        firstTokenMs: 310,
        totalMs: 420,
        usage,
      };
    },
  };

  return {
    settings: service,
    state,
    keyOf: (id) => keys.get(id)?.key,
    menu: () => menu,
    models,
    sends,
    setKeyring: (next) => {
      keyring = next;
    },
  };
}

function problemOf(provider: Provider): string {
  if (provider.kind === "mock") {
    return "";
  }
  try {
    const { protocol } = new URL(provider.baseUrl);
    const allowed = protocol === "https:" || (protocol === "http:" && isLoopback(provider.baseUrl));
    return allowed ? "" : "invalid_input";
  } catch {
    return "invalid_input";
  }
}

function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/i.test(address);
}

const tails = /\/(chat\/completions|responses|messages|models)$/;

function rootOf(provider: Provider): string {
  return provider.baseUrl.replace(/\/+$/, "").replace(tails, "");
}

function requestUrl(provider: Provider): string {
  const root = rootOf(provider);
  switch (provider.kind) {
    case "openai_responses":
      return `${root}/responses`;
    case "anthropic_messages":
      return `${root}/messages`;
    case "gemini":
      return `${root}/models/${provider.model || "MODEL"}:streamGenerateContent?alt=sse`;
  }
  return `${root}/chat/completions`;
}
