import type { Backend } from "./client";
import { createFakeAgent, type FakeAgent } from "./fake-agent";
import type { FakeTools } from "./fake-conversation";
import { createFakeDocuments, type FakeDialogs, type FakeDocuments, type FakeDraft } from "./fake-documents";
import { createFakeSettings, type FakeKeyring, type FakeSettings } from "./fake-settings";
import { BackendError } from "./fault";
import type {
  BackendEvent,
  EventType,
  FaultCode,
  Layout,
  Provider,
  Recent,
  RunnerState,
  Settings,
} from "./gen";

/** How a fake backend starts. Paths are absolute, with forward slashes. */
export interface FakeOptions {
  /** File contents by path; folders are those that the paths name. */
  readonly files?: Readonly<Record<string, string>>;
  /** The open folder; "" for none. */
  readonly workspace?: string;
  /** The folder that OpenSample opens. */
  readonly sample?: string;
  /** Paths of the documents that are open. */
  readonly open?: readonly string[];
  readonly drafts?: readonly FakeDraft[];
  /** Why documents cannot be edited, by path: `too_large` or `unsupported_encoding`. */
  readonly readOnly?: Readonly<Record<string, FaultCode>>;
  /** What of the window was open at the last use. */
  readonly layout?: Partial<Layout>;
  /** What was opened of late. */
  readonly recent?: Partial<Recent>;
  readonly dialogs?: FakeDialogs;
  readonly settings?: Partial<Settings>;
  readonly providers?: readonly Provider[];
  readonly keyring?: FakeKeyring;
  /** As Go's GOOS. */
  readonly os?: string;
  /** Keys of settings.json that were not understood. */
  readonly problems?: readonly string[];
  /** The text on the clipboard. */
  readonly clipboard?: string;
  /** How long a streamed piece takes, in ms; 30 by default. */
  readonly pieceMs?: number;
  readonly now?: () => number;
}

/** A backend in memory that behaves as the host does, for tests and for work without Go. */
export interface FakeBackend extends Backend {
  readonly disk: FakeDocuments["disk"];
  /** The folders that were made and may be empty. */
  readonly folders: FakeDocuments["folders"];
  readonly trash: FakeDocuments["trash"];
  readonly revealed: FakeDocuments["revealed"];
  /** The last report of ReportView; null before it. */
  readonly reported: FakeDocuments["reported"];
  readonly links: FakeDocuments["links"];
  readonly hasQuit: () => boolean;
  /** The title of the window, as last set. */
  readonly title: () => string;
  readonly textOf: (id: string) => string;
  /** The key the host holds; the page has no such call. */
  readonly keyOf: FakeSettings["keyOf"];
  readonly answerDialogs: (dialogs: FakeDialogs) => void;
  readonly changeOutside: FakeDocuments["changeOutside"];
  readonly setKeyring: (keyring: FakeKeyring) => void;
  /** What models are known to do; a test can teach it. */
  readonly models: FakeSettings["models"];
  /** The send log; a test can write into it. */
  readonly sends: FakeSettings["sends"];
  /** The labels of the native menu, as last set. */
  readonly menu: FakeSettings["menu"];
  readonly setRunner: (runner: Partial<RunnerState>) => void;
  /** Sends an event of the host's own. */
  readonly emit: <T extends EventType>(
    type: T,
    payload: Extract<BackendEvent, { type: T }>["payload"],
  ) => void;
  /** Refuses the next call of a method ("Documents.Save") with a fault. */
  readonly refuse: (method: string, code: FaultCode, detail?: string, retryAfterMs?: number) => void;
  /** The methods that were called, in order. */
  readonly calls: readonly string[];
}

/** What tools can do with files in memory. Paths are relative to the folder. */
function toolsOf(files: FakeDocuments, emit: (type: EventType, payload: object) => void): FakeTools {
  const absolute = (path: string): string => `${files.folder()}/${path}`;
  const changed = (path: string): void => {
    const folder = path.slice(0, path.lastIndexOf("/"));
    emit("workspace.changed", { folders: [folder], all: false, gone: false });
  };
  return {
    folder: files.folder,
    document: (id) => ({ ...files.describe(id), text: files.textOf(id) }),
    list: () =>
      [...files.disk.keys()].flatMap((path) =>
        path.startsWith(`${files.folder()}/`) ? [path.slice(files.folder().length + 1)] : [],
      ),
    read: (path) => files.disk.get(absolute(path)) ?? null,
    create: (path, text) => {
      files.changeOutside(absolute(path), text);
      changed(absolute(path));
    },
    rename: (path, to) => {
      files.changeOutside(absolute(to), files.disk.get(absolute(path)) ?? "");
      files.changeOutside(absolute(path), null);
      changed(absolute(to));
    },
  };
}

/** Makes a fake backend. */
export function createFakeBackend(options: FakeOptions = {}): FakeBackend {
  const now = options.now ?? Date.now;
  const listeners = new Set<(raw: unknown) => void>();
  const refusals = new Map<string, BackendError>();
  const calls: string[] = [];
  let n = 0;

  function emit(type: EventType, payload: object, of = { runId: "", sessionId: "", seq: 0 }): void {
    n += 1;
    const message = { n, type, ...of, atMs: now(), payload };
    for (const listener of [...listeners]) {
      listener(structuredClone(message));
    }
  }

  const files: FakeDocuments = createFakeDocuments({
    files: options.files ?? {},
    workspace: options.workspace ?? "",
    open: options.open ?? [],
    drafts: options.drafts ?? [],
    readOnly: options.readOnly ?? {},
    layout: options.layout ?? {},
    recent: options.recent ?? {},
    sample: options.sample ?? "/sample",
    now,
    emit,
  });
  let dialogs = options.dialogs ?? {};
  files.answerDialogs(dialogs);
  const settings = createFakeSettings({
    settings: options.settings ?? {},
    providers: options.providers ?? [],
    keyring: options.keyring ?? "present",
    os: options.os ?? "linux",
    problems: options.problems ?? [],
    chooseFile: () => dialogs.certificates ?? "",
    now,
    emit,
  });
  const agent: FakeAgent = createFakeAgent({
    now,
    pieceMs: options.pieceMs ?? 30,
    emit,
    documentText: (id) => {
      const text = files.textOf(id);
      return { ...files.describe(id), text };
    },
    chosenModel: () => {
      const { settings: chosen, providers } = settings.state();
      const model = providers.find((p) => p.id === chosen.provider)?.model ?? "";
      return { providerId: chosen.provider, model };
    },
    tools: toolsOf(files, emit),
    checkProvider: (id) => {
      const provider = settings.state().providers.find((p) => p.id === id);
      if (!provider) {
        throw new BackendError("no_provider");
      }
      if (provider.needsKey && provider.key.place === "none") {
        throw new BackendError("no_key");
      }
    },
  });

  /** Every call goes through here: counted, refused when a test says so, and never by reference. */
  function wrap<T extends object>(name: string, service: T): T {
    return new Proxy(service, {
      get: (target, method) => {
        const call: unknown = Reflect.get(target, method);
        if (typeof call !== "function") {
          return undefined;
        }
        return async (...args: readonly unknown[]) => {
          const key = `${name}.${String(method)}`;
          calls.push(key);
          const refusal = refusals.get(key);
          if (refusal) {
            refusals.delete(key);
            throw refusal;
          }
          return structuredClone(await call(...structuredClone(args)));
        };
      },
    });
  }

  let title = "";
  let clipboard = options.clipboard ?? "";
  return {
    documents: wrap("Documents", files.documents),
    workspace: wrap("Workspace", files.workspace),
    agent: wrap("Agent", agent.agent),
    settings: wrap("Settings", settings.settings),
    listen: (handler) => {
      listeners.add(handler);
      return () => listeners.delete(handler);
    },
    readClipboard: async () => clipboard,
    writeClipboard: async (text) => {
      clipboard = text;
    },
    setTitle: (next) => {
      title = next;
    },
    title: () => title,
    getText: (url) => files.getText(url),
    readText: (url) => files.readText(url),
    postText: (url, update) => files.postText(url, update),
    disk: files.disk,
    folders: files.folders,
    trash: files.trash,
    revealed: files.revealed,
    reported: files.reported,
    links: files.links,
    hasQuit: files.hasQuit,
    textOf: files.textOf,
    keyOf: settings.keyOf,
    models: settings.models,
    sends: settings.sends,
    answerDialogs: (next) => {
      dialogs = next;
      files.answerDialogs(next);
    },
    changeOutside: files.changeOutside,
    setKeyring: settings.setKeyring,
    menu: settings.menu,
    setRunner: agent.setRunner,
    emit: (type, payload) => emit(type, payload),
    refuse: (method, code, detail = "", retryAfterMs = 0) => {
      refusals.set(method, new BackendError(code, detail, retryAfterMs));
    },
    calls,
  };
}
