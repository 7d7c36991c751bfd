import { BackendError, decodeError } from "./fault";
import type { AgentService, DocumentsService, SettingsService, WorkspaceService } from "./gen";
import { getText, postText, readText, type TextUpdate, type VersionedText } from "./text";

/** The host as the page sees it. Every promise rejects with a BackendError. */
export interface Backend {
  readonly documents: DocumentsService;
  readonly workspace: WorkspaceService;
  readonly agent: AgentService;
  readonly settings: SettingsService;
  /** Listens to the raw event channel, see createEvents; the result stops. */
  readonly listen: (handler: (raw: unknown) => void) => () => void;
  /** What the clipboard holds as text. A page may not read it by itself everywhere. */
  readonly readClipboard: () => Promise<string>;
  /** Puts a text on the clipboard. */
  readonly writeClipboard: (text: string) => Promise<void>;
  /** Sets the title of the native window. */
  readonly setTitle: (title: string) => void;
  /** Fetches the text behind a document's `textUrl`. */
  readonly getText: (url: string, signal?: AbortSignal) => Promise<VersionedText>;
  /** Fetches a text without a version: one side of a comparison, or a version of before. */
  readonly readText: (url: string, signal?: AbortSignal) => Promise<string>;
  /** Replaces the text behind a document's `textUrl`. */
  readonly postText: (url: string, update: TextUpdate, signal?: AbortSignal) => Promise<void>;
}

/** The one event name of the host. */
const eventName = "galley";

/** What Wails puts on `window`, as far as the page uses it. */
interface Bound {
  readonly go?: { readonly api?: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
  readonly runtime?: {
    readonly ClipboardGetText?: () => Promise<string>;
    readonly ClipboardSetText?: (text: string) => Promise<boolean>;
    readonly WindowSetTitle?: (title: string) => void;
    readonly EventsOn?: (name: string, handler: (...data: readonly unknown[]) => void) => () => void;
  };
}

/** Reports whether the page runs inside the program. */
export function hasHost(scope: object = window): boolean {
  return bound(scope).go?.api !== undefined;
}

/**
 * Connects to the host. Nothing else in the page touches `window.go` or
 * `window.runtime`.
 */
export function connectBackend(scope: object = window): Backend {
  return {
    documents: service<DocumentsService>(scope, "Documents"),
    workspace: service<WorkspaceService>(scope, "Workspace"),
    agent: service<AgentService>(scope, "Agent"),
    settings: service<SettingsService>(scope, "Settings"),
    listen: (handler) => {
      const off = bound(scope).runtime?.EventsOn?.(eventName, (raw) => handler(raw));
      return off ?? (() => {});
    },
    readClipboard: async () => {
      const read = bound(scope).runtime?.ClipboardGetText;
      if (read === undefined) {
        throw new BackendError("internal", "clipboard");
      }
      return read();
    },
    writeClipboard: async (text) => {
      const write = bound(scope).runtime?.ClipboardSetText;
      if (write === undefined || !(await write(text))) {
        throw new BackendError("internal", "clipboard");
      }
    },
    setTitle: (title) => bound(scope).runtime?.WindowSetTitle?.(title),
    getText: (url, signal) => getText(url, signal),
    readText: (url, signal) => readText(url, signal),
    postText: (url, update, signal) => postText(url, update, signal),
  };
}

function bound(scope: object): Bound {
  return scope as Bound;
}

/**
 * Makes the proxy of one bound service. A method is looked up when it is
 * called, since Wails binds after the page's scripts have started.
 */
function service<T extends object>(scope: object, name: string): T {
  const proxy = new Proxy(
    {},
    {
      get: (_, method) => {
        // Not a thenable: an async function may return a service.
        if (typeof method !== "string" || method === "then") {
          return undefined;
        }
        return async (...args: readonly unknown[]) => {
          const call = bound(scope).go?.api?.[name]?.[method];
          if (typeof call !== "function") {
            throw new BackendError("internal", `${name}.${method}`);
          }
          try {
            return await call(...args);
          } catch (reason) {
            throw decodeError(reason);
          }
        };
      },
    },
  );
  // The decoding point of calls: gen.ts is written from the same Go source.
  return proxy as T;
}
