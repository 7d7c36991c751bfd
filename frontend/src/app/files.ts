/** What a person does with documents: open, save, close, quit, and what is asked on the way. */

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type Backend,
  type BackendError,
  type DocumentView,
  decodeError,
  type SaveResult,
  type WorkspaceInfo,
} from "../backend";
import type { Documents, Tab } from "../document";
import { endingsOf } from "../editor";
import { t } from "../i18n";
import {
  type CommandAction,
  type CommandId,
  type Counts,
  type Dialogs,
  type DocumentsView,
  documentLabel,
  type SettingsTab,
  type StatusView,
  type Tree,
} from "../ui";
import { countWhenResting } from "./counting";

/** A failure that is shown above the text until it is dealt with. */
export interface Failure {
  readonly error: BackendError;
  /** Tries again; null where that would be senseless. */
  readonly retry: (() => void) | null;
}

/** A save that could not be done in one step. */
export interface Fallback {
  readonly path: string;
}

/** Documents and workspace as the window and the commands use them. */
export interface Files {
  readonly view: DocumentsView;
  readonly workspace: ReadonlySignal<WorkspaceInfo>;
  readonly failure: ReadonlySignal<Failure | null>;
  readonly fallback: ReadonlySignal<Fallback | null>;
  /** The name of the open folder while it is not there any more; "" else. */
  readonly gone: Signal<string>;
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  readonly dismiss: () => void;
  /** Does something that may be refused, and shows it if it is. */
  readonly attempt: (what: () => Promise<unknown>) => void;
  /** Shows a failure of something that the person did elsewhere. */
  readonly fail: (error: BackendError) => void;
  /** Opens a document, and gives the text the focus. */
  readonly openWith: (open: () => Promise<unknown>) => void;
  readonly setWorkspace: (info: WorkspaceInfo) => void;
  readonly openSample: () => void;
  readonly save: (tab: Tab, overwrite?: boolean) => Promise<boolean>;
  readonly saveAs: (tab: Tab) => Promise<boolean>;
  /** Asks about unsaved text and running tasks, then quits. */
  readonly quit: (runs: number) => Promise<void>;
}

/** What the files of the window need. */
export interface FilesConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly dialogs: Dialogs;
  readonly tree: Tree;
  readonly settingsTab: SettingsTab;
  /** How many AI tasks are under way. */
  readonly runs: () => number;
  /** What the status bar says of a file that was taken over by itself; null for nothing. */
  readonly reloaded: (id: string) => StatusView["reloaded"];
  /** Told of a document with a file before its tab is closed, with its place among the tabs. */
  readonly onClosing: (path: string, view: DocumentView, index: number) => void;
  /** Told before the program is to quit. */
  readonly onQuitting: () => Promise<void>;
}

/** Makes them. */
export function createFiles(config: FilesConfig): Files {
  const { backend, documents, dialogs, tree, settingsTab } = config;
  const workspace = signal<WorkspaceInfo>({ path: "", name: "" });
  const failure = signal<Failure | null>(null);
  const fallback = signal<Fallback | null>(null);
  const gone = signal("");
  const counts = countWhenResting(documents);

  function attempt(what: () => Promise<unknown>): void {
    void what().then(
      () => {
        failure.value = null;
      },
      (reason) => {
        const error = decodeError(reason);
        // Backing out of a native dialog is no failure.
        failure.value = error.code === "cancelled" ? null : { error, retry: () => attempt(what) };
      },
    );
  }

  function setWorkspace(info: WorkspaceInfo): void {
    workspace.value = info;
    gone.value = "";
    tree.setRoot(info.path);
  }

  function toFront(): void {
    settingsTab.front.value = false;
  }

  function openWith(open: () => Promise<unknown>): void {
    attempt(async () => {
      await open();
      toFront();
      documents.view.focus();
    });
  }

  async function save(tab: Tab, overwrite = false): Promise<boolean> {
    // One without a place gets one first.
    return tab.info.peek().path === "" ? saveAs(tab) : saved(documents.save(tab.id, { overwrite }));
  }

  async function saveAs(tab: Tab): Promise<boolean> {
    return saved(documents.saveAs(tab.id));
  }

  /** Whether a save was made; null is one that the person backed out of. */
  async function saved(saving: Promise<SaveResult | null>): Promise<boolean> {
    try {
      const result = await saving;
      if (result === null) {
        return false;
      }
      fallback.value = result.fallback ? { path: result.recoveryPath } : null;
      if (result.written) {
        tree.refresh();
      }
      return true;
    } catch {
      // The tab holds the reason; it is shown above the text.
      return false;
    }
  }

  async function close(id: string): Promise<void> {
    const tab = documents.tabs.peek().find((other) => other.id === id);
    if (tab?.dirty.peek()) {
      const decision = await dialogs.askUnsaved([nameOf(tab)]);
      if (decision === "cancel" || (decision === "save" && !(await save(tab)))) {
        return;
      }
    }
    tellClosing(id);
    await documents.close(id);
  }

  function tellClosing(id: string): void {
    const index = documents.tabs.peek().findIndex((tab) => tab.id === id);
    const view = documents.views()[index];
    const path = documents.tabs.peek()[index]?.info.peek().path ?? "";
    if (view !== undefined && path !== "") {
      config.onClosing(path, view, index);
    }
  }

  async function quit(runs: number): Promise<void> {
    const unsaved = documents.tabs.peek().filter((tab) => tab.dirty.peek());
    let discard = false;
    if (unsaved.length > 0) {
      const decision = await dialogs.askUnsaved(unsaved.map(nameOf));
      if (decision === "cancel") {
        return;
      }
      discard = decision === "discard";
      for (const tab of discard ? [] : unsaved) {
        if (!(await save(tab))) {
          documents.select(tab.id);
          toFront();
          return;
        }
      }
    }
    if (runs > 0) {
      const answer = await dialogs.ask({
        title: t("dialogs.running.title", { n: runs }),
        text: t("dialogs.running.text"),
        buttons: [{ id: "quit", label: t("dialogs.running.quit"), kind: "plain" }],
      });
      if (answer !== "quit") {
        return;
      }
    }
    await config.onQuitting();
    await backend.documents.Quit(documents.page.peek(), discard);
  }

  const withTab = (run: (tab: Tab) => void): CommandAction => ({
    off: () => (documents.current.value === null || settingsTab.front.value ? "off.noDocument" : ""),
    run: () => {
      const tab = documents.current.peek();
      if (tab !== null) {
        run(tab);
      }
    },
  });

  return {
    workspace,
    failure,
    fallback,
    gone,
    attempt,
    fail: (error) => {
      failure.value = { error, retry: null };
    },
    openWith,
    setWorkspace,
    save,
    saveAs,
    quit,
    dismiss: () => {
      failure.value = null;
      fallback.value = null;
    },
    openSample: () => attempt(async () => setWorkspace(await backend.workspace.OpenSample())),
    view: {
      tabs: computed(() => documents.tabs.value.map(tabView)),
      current: computed(() => documents.current.value?.id ?? ""),
      status: computed(() => {
        const tab = documents.current.value;
        return tab && statusView(tab, counts.whole.value, counts.selection.value, config.reloaded(tab.id));
      }),
      mount: (host) => {
        host.append(documents.view.dom);
        documents.mounted();
      },
      focusText: () => documents.view.focus(),
      open: (path) => openWith(() => documents.open(path)),
      select: (id) => documents.select(id),
      arrange: (id, index) => documents.arrange(id, index),
      close: (id) => attempt(() => close(id)),
    },
    actions: {
      "file.new": { run: () => openWith(() => documents.create()) },
      "file.open": { run: () => openWith(() => documents.openDialog()) },
      "file.openFolder": {
        run: () =>
          attempt(async () => {
            const info = await backend.workspace.OpenDialog();
            if (info.path !== "") {
              setWorkspace(info);
              toFront();
            }
          }),
      },
      "file.save": withTab((tab) => void save(tab)),
      "file.saveAs": withTab((tab) => void saveAs(tab)),
      "file.close": {
        off: () => (documents.current.value === null && !settingsTab.open.value ? "off.noDocument" : ""),
        run: () => {
          const tab = documents.current.peek();
          if (settingsTab.open.peek() && settingsTab.front.peek()) {
            settingsTab.open.value = false;
            settingsTab.front.value = false;
          } else if (tab !== null) {
            attempt(() => close(tab.id));
          }
        },
      },
      "app.quit": { run: () => attempt(() => quit(config.runs())) },
    },
  };
}

/** The name of a document; one without a file has it in the language of the interface. */
function nameOf(tab: Tab): string {
  return documentLabel(tab.info.peek().name) || t("tabs.untitled");
}

function tabView(tab: Tab) {
  const info = tab.info.value;
  return {
    id: tab.id,
    name: info.name,
    path: info.path,
    dirty: tab.dirty.value,
    readOnly: info.readOnly !== "",
    conflict: tab.problem.value?.code === "changed_on_disk" || (info.disk === "changed" && tab.dirty.value),
    missing: info.disk === "missing",
  };
}

function statusView(
  tab: Tab,
  counts: Counts,
  selection: Counts | null,
  reloaded: StatusView["reloaded"],
): StatusView {
  const info = tab.info.value;
  const savedAtMs = tab.savedAtMs.value;
  return {
    save: saveState(tab, savedAtMs),
    savedAtMs,
    counts,
    selection,
    encoding: info.encoding,
    bom: info.bom,
    endings: endingsName(endingsOf(tab.state()).table.map((run) => run.ending)),
    reloaded,
  };
}

function saveState(tab: Tab, savedAtMs: number): StatusView["save"] {
  if (tab.info.value.readOnly !== "") {
    return "readOnly";
  }
  if (tab.saving.value) {
    return "saving";
  }
  if (tab.dirty.value) {
    return tab.problem.value === null ? "unsaved" : "failed";
  }
  return savedAtMs > 0 ? "saved" : "unchanged";
}

function endingsName(endings: readonly string[]): string {
  const kinds = new Set(endings);
  return kinds.size > 1 ? "mixed" : ([...kinds][0] ?? "");
}
