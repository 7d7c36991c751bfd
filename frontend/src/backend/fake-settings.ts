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
}

interface Config {
  readonly settings: Partial<Settings>;
  readonly providers: readonly Provider[];
  readonly keyring: FakeKeyring;
  readonly os: string;
  readonly problems: readonly string[];
  readonly now: () => number;
  readonly emit: (type: EventType, payload: object) => void;
}

const keyFile = "~/.config/galley/credentials.json";
const keyringNames: Readonly<Record<string, string>> = {
  darwin: "Keychain",
  windows: "Credential Manager",
};

/** Makes settings that behave as the host's do: keys go in and never come out. */
export function createFakeSettings(config: Config): FakeSettings {
  let settings: Settings = {
    theme: "system",
    language: "system",
    face: "sans",
    textSize: 17,
    provider: "",
    showHidden: false,
    ignored: [".git", "node_modules"],
    permissions: { workspaceRead: "allow", notesWrite: "confirm" },
    limits: { minutes: 10, steps: 25, tokens: 200_000 },
    ...config.settings,
  };
  let providers = [...config.providers];
  let keyring = config.keyring;
  let menu: readonly MenuLabel[] = [];
  const keys = new Map<string, { key: string; state: KeyState }>();

  function state(): SettingsState {
    return {
      settings,
      providers: providers.map(describe),
      problems: config.problems,
      file: "~/.config/galley/settings.json",
      keptAside: "",
      version: "0.1.0",
      os: config.os,
    };
  }

  function describe(provider: Provider): ProviderState {
    const problem = problemOf(provider);
    return {
      ...provider,
      needsKey: provider.kind !== "mock" && !isLoopback(provider.baseUrl),
      key: keys.get(provider.id)?.state ?? { place: "none", keyring: "", storedAtMs: 0, path: keyFile },
      url: provider.kind === "mock" || problem !== "" ? "" : chatUrl(provider.baseUrl),
      problem,
    };
  }

  function find(id: string): Provider {
    const provider = providers.find((p) => p.id === id);
    if (!provider) {
      throw new BackendError("not_found");
    }
    return provider;
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
      return changed();
    },
    SetKey: async ({ providerId, key, place }) => {
      find(providerId);
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
      const name = place === "keyring" ? (keyringNames[config.os] ?? "Secret Service") : "";
      keys.set(providerId, {
        key,
        state: { place, keyring: name, storedAtMs: config.now(), path: keyFile },
      });
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
    TestProvider: async (id) => {
      const provider = describe(find(id));
      if (provider.problem !== "") {
        throw new BackendError("invalid_input");
      }
      if (provider.needsKey && provider.key.place === "none") {
        throw new BackendError("no_key");
      }
      if (keys.get(id)?.key.startsWith("bad")) {
        throw new BackendError("bad_key", "401");
      }
      return { url: provider.url, models: modelsOf(provider) };
    },
  };

  return {
    settings: service,
    state,
    keyOf: (id) => keys.get(id)?.key,
    menu: () => menu,
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

function chatUrl(address: string): string {
  return `${address.replace(/\/+$/, "").replace(/\/chat\/completions$/, "")}/chat/completions`;
}

function modelsOf(provider: Provider): readonly string[] {
  if (provider.kind === "mock") {
    return ["mock-1"];
  }
  return provider.profile === "deepseek" ? ["deepseek-chat", "deepseek-reasoner"] : ["model-a", "model-b"];
}
