import { type ReadonlySignal, signal } from "@preact/signals";
import {
  type Backend,
  type BackendError,
  decodeError,
  defaultSettings,
  type ModelDetail,
  type ModelInfo,
  type ModelRef,
  type NetworkState,
  type Provider,
  type ProviderState,
  type SendGetResult,
  type SendListResult,
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

/** How the list of a provider's models stands; what was there before stays while it is asked for anew. */
export interface ModelList {
  readonly status: "busy" | "good" | "bad";
  readonly models: readonly ModelInfo[];
  /** Why it could not be had; null unless it is bad. */
  readonly error: BackendError | null;
}

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
  /** The models that each provider offers, by id; absent until somebody asks. */
  readonly models: ReadonlySignal<ReadonlyMap<string, ModelList>>;
  /** What is known of models, by `detailKey`; absent until somebody asks. */
  readonly details: ReadonlySignal<ReadonlyMap<string, ModelDetail>>;
  /** Models that AI used before another was chosen, the newest first. They are not kept. */
  readonly recent: ReadonlySignal<readonly ModelRef[]>;
  /** Takes a state that the host sent. */
  readonly accept: (state: SettingsState) => void;
  readonly load: () => Promise<void>;
  readonly update: (change: Partial<Settings>) => Promise<boolean>;
  readonly saveProvider: (provider: Provider) => Promise<boolean>;
  /** Adds a provider of a kind and gives its id; "" when the host refused. AI uses the first one there is. */
  readonly addProvider: (kind: ProviderKind) => Promise<string>;
  readonly deleteProvider: (id: string) => Promise<boolean>;
  /** Adds a copy with a name, without the key, and gives its id; "" when the host refused. */
  readonly duplicateProvider: (id: string, name: string) => Promise<string>;
  /** Puts a provider at another place, counted from 0 among those that are not the mock. */
  readonly moveProvider: (id: string, to: number) => Promise<boolean>;
  /** Makes AI use a model of a provider. */
  readonly chooseModel: (ref: ModelRef) => Promise<boolean>;
  /** Hands a key to the host. Gives null when it is stored, else why it is not. */
  readonly setKey: (providerId: string, key: string, place: KeyPlace) => Promise<BackendError | null>;
  readonly deleteKey: (providerId: string) => Promise<boolean>;
  /** Moves the keys in plain text into the keyring. Gives null, or why they stay. */
  readonly moveKeys: () => Promise<BackendError | null>;
  readonly test: (providerId: string) => Promise<void>;
  /** Gives a test up; it is then as if there had been none. */
  readonly stopTest: (providerId: string) => Promise<void>;
  /** Asks for the models of a provider, unless they are known or on their way; `again` asks in any case. */
  readonly loadModels: (providerId: string, again?: boolean) => Promise<void>;
  /**
   * Reads what is known of a model; with `ask` the provider is asked first, else
   * nothing is sent. A failure changes nothing.
   */
  readonly describe: (ref: ModelRef, ask: boolean) => Promise<void>;
  /** Forgets what was learned of a model. Gives null, or why it could not be. */
  readonly forget: (ref: ModelRef) => Promise<BackendError | null>;
  /** How a provider is reached; "" asks for none in particular. Rejects with a BackendError. */
  readonly network: (providerId: string) => Promise<NetworkState>;
  readonly setProxyPassword: (password: string, place: KeyPlace) => Promise<BackendError | null>;
  readonly deleteProxyPassword: () => Promise<boolean>;
  /** Lets the person choose a file of certificates. Gives null when it is used or none was chosen. */
  readonly chooseCertificates: () => Promise<BackendError | null>;
  /** The send log's entries before an id, newest first; 0 for the newest. Rejects with a BackendError. */
  readonly sends: (before: number) => Promise<SendListResult>;
  /** A part of what left with a request. Rejects with a BackendError. */
  readonly send: (id: number, offset: number) => Promise<SendGetResult>;
  /** Clears the send log up to an id. Rejects with a BackendError. */
  readonly clearSends: (upTo: number) => Promise<SendListResult>;
}

/** How many entries of the send log are asked for at once. */
const sendsAtOnce = 100;

/** How many models that were used before are remembered. */
const mostRecent = 5;

/** The key of what is known of a model. */
export function detailKey({ providerId, model }: ModelRef): string {
  return `${providerId}\n${model}`;
}

/** The model that AI uses; its provider is "" for none. */
export function chosenModel({ settings, providers }: SettingsState): ModelRef {
  const provider = providers.find((p) => p.id === settings.provider);
  return { providerId: provider?.id ?? "", model: provider?.model ?? "" };
}

/** A provider as it is stored, without what the host says of it. */
export function configOf(state: ProviderState): Provider {
  const { needsKey: _, key: __, url: ___, problem: ____, modelsUrl: _____, ...provider } = state;
  return provider;
}

/** Makes the store; `load` or `accept` fills it. */
export function createSettings(backend: Backend): SettingsStore {
  const state = signal<SettingsState>(emptySettings);
  const refused = signal<BackendError | null>(null);
  const tests = signal<ReadonlyMap<string, TestState>>(new Map());
  const models = signal<ReadonlyMap<string, ModelList>>(new Map());
  const details = signal<ReadonlyMap<string, ModelDetail>>(new Map());
  const recent = signal<readonly ModelRef[]>([]);

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

  /** As `change`, for what says itself why it could not be done. */
  async function tried(call: () => Promise<SettingsState>): Promise<BackendError | null> {
    try {
      state.value = await call();
      return null;
    } catch (reason) {
      return decodeError(reason);
    }
  }

  function setTest(id: string, test: TestState | null): void {
    tests.value = withEntry(tests.peek(), id, test);
  }

  function setModels(id: string, list: ModelList | null): void {
    models.value = withEntry(models.peek(), id, list);
  }

  /** What was found with another address or key says nothing any more. */
  function dropFound(id: string): void {
    setTest(id, null);
    setModels(id, null);
    details.value = new Map([...details.peek()].filter(([key]) => !key.startsWith(`${id}\n`)));
  }

  const store: SettingsStore = {
    state,
    refused,
    tests,
    models,
    details,
    recent,
    accept: (next) => {
      state.value = next;
    },
    load: async () => {
      state.value = await backend.settings.Get();
    },
    update: (part) => change(() => backend.settings.Update({ ...state.peek().settings, ...part })),
    saveProvider: async (provider) => {
      const before = state.peek().providers.find((p) => p.id === provider.id);
      if (before === undefined || isElsewhere(before, provider)) {
        dropFound(provider.id);
      } else if (!sameRequest(before, provider)) {
        setTest(provider.id, null);
      }
      const stored = await change(() => backend.settings.SaveProvider(provider));
      const ref = { providerId: provider.id, model: provider.model };
      if (stored && details.peek().has(detailKey(ref))) {
        // What the person sets is a part of what is known.
        await store.describe(ref, false);
      }
      return stored;
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
      dropFound(id);
      return change(() => backend.settings.DeleteProvider(id));
    },
    duplicateProvider: async (id, name) => {
      const before = new Set(state.peek().providers.map((p) => p.id));
      if (!(await change(() => backend.settings.DuplicateProvider(id, name)))) {
        return "";
      }
      return state.peek().providers.find((p) => !before.has(p.id))?.id ?? "";
    },
    moveProvider: (id, to) => change(() => backend.settings.MoveProvider(id, to)),
    chooseModel: async (ref) => {
      const { providers } = state.peek();
      const before = chosenModel(state.peek());
      const provider = providers.find((p) => p.id === ref.providerId);
      if (provider === undefined || isSame(before, ref)) {
        return provider !== undefined;
      }
      if (
        provider.model !== ref.model &&
        !(await store.saveProvider({ ...configOf(provider), model: ref.model }))
      ) {
        return false;
      }
      if (before.providerId !== ref.providerId && !(await store.update({ provider: ref.providerId }))) {
        return false;
      }
      const others = recent.peek().filter((r) => !isSame(r, before) && !isSame(r, ref));
      recent.value = (before.model === "" ? others : [before, ...others]).slice(0, mostRecent);
      return true;
    },
    setKey: async (providerId, key, place) => {
      const failed = await tried(() => backend.settings.SetKey({ providerId, key, place }));
      if (failed === null) {
        dropFound(providerId);
      }
      return failed;
    },
    deleteKey: (providerId) => {
      dropFound(providerId);
      return change(() => backend.settings.DeleteKey(providerId));
    },
    moveKeys: () => tried(() => backend.settings.MoveKeys()),
    test: async (id) => {
      const busy: TestState = { status: "busy" };
      setTest(id, busy);
      const result = await backend.settings.TestProvider(id).then(
        (value): TestState => ({ status: "good", result: value }),
        (reason): TestState => ({ status: "bad", error: decodeError(reason) }),
      );
      // A change made meanwhile, or the person, has dropped this test.
      if (tests.peek().get(id) !== busy) {
        return;
      }
      setTest(id, result);
      if (result.status === "good" && result.result.modelsCode === "") {
        setModels(id, { status: "good", models: result.result.models, error: null });
      }
    },
    stopTest: async (id) => {
      setTest(id, null);
      await asked(() => backend.settings.StopTest(id)).catch(() => undefined);
    },
    loadModels: async (id, again = false) => {
      const known = models.peek().get(id);
      if (known?.status === "busy" || (known?.status === "good" && !again)) {
        return;
      }
      const busy: ModelList = { status: "busy", models: known?.models ?? [], error: null };
      setModels(id, busy);
      const next = await backend.settings.Models(id).then(
        (result): ModelList => ({ status: "good", models: result.models, error: null }),
        (reason): ModelList => ({ status: "bad", models: busy.models, error: decodeError(reason) }),
      );
      if (models.peek().get(id) === busy) {
        setModels(id, next);
      }
    },
    describe: async (ref, ask) => {
      try {
        const detail = await backend.settings.Model(ref.providerId, ref.model, ask);
        details.value = withEntry(details.peek(), detailKey(ref), detail);
      } catch {
        // What is known stays as it was; nothing depends on more.
      }
    },
    forget: async (ref) => {
      try {
        const detail = await backend.settings.ForgetModel(ref.providerId, ref.model);
        details.value = withEntry(details.peek(), detailKey(ref), detail);
        return null;
      } catch (reason) {
        return decodeError(reason);
      }
    },
    network: (id) => asked(() => backend.settings.Network(id)),
    setProxyPassword: (key, place) =>
      tried(() => backend.settings.SetProxyPassword({ providerId: "", key, place })),
    deleteProxyPassword: () => change(() => backend.settings.DeleteProxyPassword()),
    chooseCertificates: async () => {
      const failed = await tried(() => backend.settings.ChooseCAFile());
      return failed?.code === "cancelled" ? null : failed;
    },
    sends: (before) => asked(() => backend.settings.Sends(before, sendsAtOnce)),
    send: (id, offset) => asked(() => backend.settings.Send(id, offset)),
    clearSends: (upTo) => asked(() => backend.settings.ClearSends(upTo)),
  };
  return store;
}

async function asked<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (reason) {
    throw decodeError(reason);
  }
}

function withEntry<T>(map: ReadonlyMap<string, T>, key: string, value: T | null): ReadonlyMap<string, T> {
  const next = new Map(map);
  if (value === null) {
    next.delete(key);
  } else {
    next.set(key, value);
  }
  return next;
}

/** Whether two name the same model of the same provider. */
export function isSame(a: ModelRef, b: ModelRef): boolean {
  return a.providerId === b.providerId && a.model === b.model;
}

/** Whether a provider would be asked somewhere else, or in another way, than before. */
function isElsewhere(before: Provider, next: Provider): boolean {
  return before.baseUrl !== next.baseUrl || before.kind !== next.kind || before.profile !== next.profile;
}

/** Whether a test of one is a test of the other: names, favourites and prices are not sent. */
function sameRequest(before: Provider, next: Provider): boolean {
  return (
    before.model === next.model &&
    before.temperature === next.temperature &&
    before.maxOutputTokens === next.maxOutputTokens &&
    before.effort === next.effort
  );
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
