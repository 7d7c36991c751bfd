/** The commands of the tabs: the next one, one by its number, its place, and the one that was closed last. */

import { signal } from "@preact/signals";
import { type Backend, BackendError, type DocumentView } from "../backend";
import type { Documents } from "../document";
import type { CommandAction, CommandId, SettingsTab } from "../ui";
import type { Files } from "./files";

/** A document that was closed, and how it stood. */
interface Closed {
  readonly path: string;
  readonly view: DocumentView;
  readonly index: number;
}

/** The tabs' commands. */
export interface TabCommands {
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  /** Remembers a document that is closed now. */
  readonly remember: (path: string, view: DocumentView, index: number) => void;
}

/** What they need. */
export interface TabCommandsConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly settingsTab: SettingsTab;
  /** Made later, since closing tells of what it closes. */
  readonly files: () => Files;
}

/** How many closed documents are remembered. */
const mostClosed = 20;

/** Makes them. */
export function createTabCommands(config: TabCommandsConfig): TabCommands {
  const { backend, documents, settingsTab } = config;
  const closed = signal<readonly Closed[]>([]);

  function show(id: string | undefined): void {
    if (id !== undefined) {
      documents.select(id);
      settingsTab.front.value = false;
      documents.view.focus();
    }
  }

  function indexOfCurrent(): number {
    return documents.tabs.peek().findIndex((tab) => tab.id === documents.current.peek()?.id);
  }

  /** The tab so many places on, going round. */
  function go(step: 1 | -1): void {
    const tabs = documents.tabs.peek();
    const at = indexOfCurrent() + step;
    show(tabs[(at + tabs.length) % tabs.length]?.id);
  }

  function move(step: 1 | -1): void {
    const at = indexOfCurrent() + step;
    const id = documents.current.peek()?.id;
    if (id !== undefined && at >= 0 && at < documents.tabs.peek().length) {
      documents.arrange(id, at);
    }
  }

  async function reopen(): Promise<void> {
    const [last, ...rest] = closed.peek();
    if (last === undefined) {
      return;
    }
    closed.value = rest;
    const info = await backend.documents.Open(last.path).catch((error: unknown) => {
      // One outside the folder is let in by the list of what was opened.
      if (error instanceof BackendError && error.code === "not_granted") {
        return backend.documents.OpenRecent(last.path);
      }
      throw error;
    });
    const isNew = !documents.tabs.peek().some((tab) => tab.id === info.id);
    await documents.show(info);
    if (isNew) {
      documents.arrange(info.id, last.index);
      documents.place({ ...last.view, id: info.id });
    }
  }

  const others = (run: () => void): CommandAction => ({
    run,
    off: () => (documents.tabs.value.length < 2 && !settingsTab.front.value ? "off.oneTab" : ""),
  });
  /** The ninth is the last one, however many there are. */
  const numbered = (number: number): CommandAction => ({
    off: () => (documents.tabs.value.length < (number === 9 ? 1 : number) ? "off.oneTab" : ""),
    run: () => show(documents.tabs.peek().at(number === 9 ? -1 : number - 1)?.id),
  });

  return {
    remember: (path, view, index) => {
      const rest = closed.peek().filter((other) => other.path !== path);
      closed.value = [{ path, view, index }, ...rest].slice(0, mostClosed);
    },
    actions: {
      "view.nextTab": others(() => go(1)),
      "view.previousTab": others(() => go(-1)),
      "view.moveTabLeft": others(() => move(-1)),
      "view.moveTabRight": others(() => move(1)),
      "view.tab1": numbered(1),
      "view.tab2": numbered(2),
      "view.tab3": numbered(3),
      "view.tab4": numbered(4),
      "view.tab5": numbered(5),
      "view.tab6": numbered(6),
      "view.tab7": numbered(7),
      "view.tab8": numbered(8),
      "view.tab9": numbered(9),
      "file.reopenClosed": {
        off: () => (closed.value.length === 0 ? "off.noClosed" : ""),
        run: () => config.files().openWith(reopen),
      },
    },
  };
}
