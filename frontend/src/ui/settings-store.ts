import { type ReadonlySignal, signal } from "@preact/signals";
import {
  type Backend,
  type BackendError,
  decodeError,
  defaultSettings,
  type Provider,
  type Settings,
  type SettingsState,
  type TestResult,
} from "../backend";
import { newProvider, type ProviderKind } from "./kinds";

/** Where a key may go; only the keyring needs no consent. */
export type KeyPlace = "keyring" | "memory" | "file";

/** How the test of a connection stands. */
export type TestState =
  | { readonly status: "busy" }
  | { readonly status: "good"; readonly result: TestResult }
  | { readonly status: "bad"; readonly error: BackendError };

/**
 * The settings as the host has them. Every change goes to the host, and what
 * it answers is shown; a key passes through and is not kept.
 */
export interface SettingsStore {
  readonly state: ReadonlySignal<SettingsState>;
  /** Why the last change was not stored; null when it was. */
  readonly refused: ReadonlySignal<BackendError | null>;
  /** The test of each provider's connection, by id. */
  readonly tests: ReadonlySignal<ReadonlyMap<string, TestState>>;
  /** Takes a state that the host sent. */
  readonly accept: (state: SettingsState) => void;
  readonly load: () => Promise<void>;
  readonly update: (change: Partial<Settings>) => Promise<boolean>;
  readonly saveProvider: (provider: Provider) => Promise<boolean>;
  /** Adds a provider of a kind and gives its id; "" when the host refused. AI uses the first one there is. */
  readonly addProvider: (kind: ProviderKind) => Promise<string>;
  readonly deleteProvider: (id: string) => Promise<boolean>;
  /** Hands a key to the host. Gives null when it is stored, else why it is not. */
  readonly setKey: (providerId: string, key: string, place: KeyPlace) => Promise<BackendError | null>;
  readonly deleteKey: (providerId: string) => Promise<boolean>;
  readonly test: (providerId: string) => Promise<void>;
}

/** Makes the store; `load` or `accept` fills it. */
export function createSettings(backend: Backend): SettingsStore {
  const state = signal<SettingsState>(emptySettings);
  const refused = signal<BackendError | null>(null);
  const tests = signal<ReadonlyMap<string, TestState>>(new Map());

  async function change(call: () => Promise<SettingsState>): Promise<boolean> {
    try {
      state.value = await call();
      refused.value = null;
      return true;
    } catch (reason) {
      refused.value = decodeError(reason);
      return false;
    }
  }

  function setTest(id: string, test: TestState | null): void {
    const next = new Map(tests.peek());
    if (test === null) {
      next.delete(id);
    } else {
      next.set(id, test);
    }
    tests.value = next;
  }

  const store: SettingsStore = {
    state,
    refused,
    tests,
    accept: (next) => {
      state.value = next;
    },
    load: async () => {
      state.value = await backend.settings.Get();
    },
    update: (part) => change(() => backend.settings.Update({ ...state.peek().settings, ...part })),
    saveProvider: (provider) => {
      setTest(provider.id, null);
      return change(() => backend.settings.SaveProvider(provider));
    },
    addProvider: async (kind) => {
      const provider = newProvider(kind, state.peek().providers);
      if (!(await store.saveProvider(provider))) {
        return "";
      }
      if (state.peek().settings.provider === "") {
        await store.update({ provider: provider.id });
      }
      return provider.id;
    },
    deleteProvider: (id) => {
      setTest(id, null);
      return change(() => backend.settings.DeleteProvider(id));
    },
    setKey: async (providerId, key, place) => {
      try {
        state.value = await backend.settings.SetKey({ providerId, key, place });
        setTest(providerId, null);
        return null;
      } catch (reason) {
        return decodeError(reason);
      }
    },
    deleteKey: (providerId) => {
      setTest(providerId, null);
      return change(() => backend.settings.DeleteKey(providerId));
    },
    test: async (id) => {
      const busy: TestState = { status: "busy" };
      setTest(id, busy);
      const result = await backend.settings.TestProvider(id).then(
        (value): TestState => ({ status: "good", result: value }),
        (reason): TestState => ({ status: "bad", error: decodeError(reason) }),
      );
      // A change made meanwhile has dropped this test.
      if (tests.peek().get(id) === busy) {
        setTest(id, result);
      }
    },
  };
  return store;
}

const emptySettings: SettingsState = {
  settings: defaultSettings,
  providers: [],
  problems: [],
  file: "",
  keptAside: "",
  version: "",
  os: "",
  canMoveKeys: "",
};
