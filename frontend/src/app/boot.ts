/** Builds the page: stores, documents, AI, window, and what goes between them. */

import { computed, effect, signal } from "@preact/signals";
import { h, render } from "preact";
import { reviewLabels } from "../ai";
import { type Backend, BackendError, createEvents, type Handlers, isFaultCode } from "../backend";
import { createDocuments, type Tab } from "../document";
import type { ReviewEvent } from "../editor";
import { language, t } from "../i18n";
import {
  applyLook,
  baseName,
  type CommandAction,
  type CommandId,
  commands,
  createBoard,
  createDialogs,
  createLayout,
  createSettings,
  createSettingsTab,
  createSlots,
  createToasts,
  createTree,
  focusPart,
  followSystem,
  keyLabel,
  listenForKeys,
  mountSprite,
  Panel,
  platformOf,
  showSettings,
  Window,
} from "../ui";
import { showAbout } from "./about";
import { createAssistant } from "./assistant";
import { createComparing } from "./comparing";
import { followDisk } from "./disk";
import { editActions } from "./edits";
import { createFiles } from "./files";
import { createHistory } from "./history";
import { labelMenu } from "./menu";
import { createNotices } from "./notices";
import { createRecent } from "./recent";
import { createSearchPanel } from "./search";
import { createSession } from "./session";
import { createSets } from "./sets";
import {
  createSurface,
  followTextLanguage,
  surfaceExtensions,
  surfaceListener,
  translateSurface,
} from "./surface";
import { createTabCommands } from "./tabs";
import { createTalk } from "./talk";
import { createTreeFiles } from "./tree";

/**
 * Starts the page on a backend and puts it into `root`. Resolves when the
 * documents are there; rejects when the host does not answer.
 *
 * Where things plug in: `document/` is made here with the one editor view and
 * shown through createFiles; `ai/` is made in createAssistant, which fills the
 * window's slots and binds its commands; a new part does the same.
 */
export async function boot(backend: Backend, root: HTMLElement): Promise<void> {
  mountSprite(document);
  const settings = createSettings(backend);
  const system = followSystem(window);
  await settings.load();
  effect(() => applyLook(document.documentElement, settings.state.value, system.look.value));

  const platform = signal(platformOf(settings.state.peek().os));
  const board = createBoard(platform);
  const layout = createLayout();
  const settingsTab = createSettingsTab();
  const dialogs = createDialogs();
  const toasts = createToasts();
  const slots = createSlots();
  const inert = signal(false);
  const waiting = signal(false);
  const online = signal(navigator.onLine);
  window.addEventListener("online", () => {
    online.value = true;
  });
  window.addEventListener("offline", () => {
    online.value = false;
  });

  const view = createSurface();
  const documents = createDocuments({
    backend,
    view,
    extensions: (info, version, endings) => [
      surfaceExtensions({ platform: () => platform.peek(), onReview: handleReview }, info, version, endings),
      surfaceListener((update) => documents.handleUpdate(update)),
    ],
  });
  /** A difference that history shows is no proposal, and the other way round. */
  function handleReview(event: ReviewEvent): void {
    if (!history.handleReview(event)) {
      assistant.handleReview(event);
    } else if (event.type === "changed") {
      assistant.handleReview({ type: "changed", review: null });
    }
  }
  effect(() => {
    language.value;
    if (documents.current.value !== null) {
      // After the view has got the document.
      queueMicrotask(() => {
        translateSurface(view);
        followTextLanguage(view);
      });
    }
  });

  const tree = createTree((path) => backend.workspace.List(path));
  const session = createSession(backend, documents, layout);
  const tabCommands = createTabCommands({ backend, documents, settingsTab, files: () => files });
  const files = createFiles({
    backend,
    documents,
    dialogs,
    tree,
    settingsTab,
    runs: () => assistant.runs(),
    onClosing: tabCommands.remember,
    onQuitting: session.flush,
    reloaded: (id) => {
      const reloaded = disk.reloaded.value.get(id);
      return reloaded === undefined ? null : { atMs: reloaded.atMs, onCompare: disk.showReloaded };
    },
  });
  const history = createHistory({
    backend,
    documents,
    layout,
    labels: reviewLabels,
    onRestored: (text) =>
      toasts.show({
        text,
        action: { label: t("review.undo"), key: keyOf("edit.undo"), run: () => board.run("edit.undo") },
      }),
  });
  const comparing = createComparing({
    backend,
    documents,
    files,
    board,
    onSaved: () => toasts.show({ text: t("compare.saved") }),
  });
  const disk = followDisk({
    documents,
    files,
    compare: comparing.compare,
    showBefore: history.showText,
    onShowFile: (path) => files.attempt(() => backend.workspace.Reveal(path)),
  });

  function keyOf(id: CommandId): string {
    const command = commands.find((row) => row.id === id);
    return command === undefined ? "" : keyLabel(command, platform.peek());
  }

  const sets = createSets({
    backend,
    documents,
    reveal: (set) => {
      layout.sidebarOpen.value = true;
      layout.sideView.value = set.kind === "replace" ? "search" : "files";
    },
  });
  const recent = createRecent({ backend, documents, layout, files });
  const showTree = (): void => {
    layout.sidebarOpen.value = true;
    layout.sideView.value = "files";
    settingsTab.front.value = false;
  };
  const treeFiles = createTreeFiles({
    backend,
    board,
    documents,
    dialogs,
    toasts,
    tree,
    files,
    showTree,
    showSet: (set, onChanged) => sets.show(set, { onChanged }),
  });

  const events = createEvents({
    listen: backend.listen,
    attach: async () => {
      await documents.attach();
      // AI is one part of several: without it everything else works (K8).
      await assistant.attach().catch((error: unknown) => console.error(error));
      await talk.attach().catch((error: unknown) => console.error(error));
    },
    onError: (error) => console.error(error),
  });
  const assistant = createAssistant({
    backend,
    events,
    documents,
    settings,
    settingsTab,
    board,
    layout,
    slots,
    toasts,
    online,
    isOtherReview: () => history.review.value !== null,
    isCovered: comparing.isInFront,
    attempt: files.attempt,
  });
  const talk = createTalk({
    backend,
    events,
    assistant,
    documents,
    settings,
    settingsTab,
    layout,
    slots,
    toasts,
    dialogs,
    folder: computed(() => files.workspace.value.path),
    attempt: files.attempt,
  });
  slots.front.value = comparing.draw;
  slots.over.value = () => h(talk.Over, {});
  slots.panel.value = () =>
    h(Panel, {
      layout,
      views: [talk.panel(), assistant.panel(), history.panel()],
      onClose: () => {
        layout.panelOpen.value = false;
        view.focus();
      },
    });

  board.bind(files.actions);
  board.bind(treeFiles.actions);
  board.bind(tabCommands.actions);
  board.bind(recent.actions);
  board.bind(assistant.actions);
  board.bind(history.actions);
  board.bind(comparing.actions);
  board.bind(editActions(backend, documents, settingsTab, comparing.isInFront));
  board.bind(
    createSearchPanel({
      backend,
      events,
      documents,
      board,
      layout,
      slots,
      settingsTab,
      workspace: files.workspace,
      sets,
      attempt: files.attempt,
    }),
  );
  board.bind({
    "app.settings": { run: () => showSettings(settingsTab) },
    "help.about": { run: () => void showAbout(dialogs, settings.state.peek().version) },
    "view.palette": {
      run: () => {
        layout.paletteOpen.value = true;
      },
    },
    "view.sidebar": {
      run: () => {
        layout.sidebarOpen.value = !layout.sidebarOpen.peek();
      },
      checked: () => layout.sidebarOpen.value,
    },
    "view.files": {
      run: () => {
        showTree();
        const rows = tree.rows.peek();
        const front = documents.current.peek()?.info.peek().path;
        const at =
          rows.find((row) => row.key === tree.focused.peek()) ?? rows.find((row) => row.key === front);
        tree.wanted.value = (at ?? rows[0])?.key ?? "";
      },
      checked: () => layout.sidebarOpen.value && layout.sideView.value === "files",
    },
    "view.nextPart": { run: () => focusPart(document, 1) },
    "view.previousPart": { run: () => focusPart(document, -1) },
    ...choices("theme", ["system", "light", "dark", "sepia", "contrast"]),
    ...choices("language", ["system", "en", "zh"]),
  });

  /** The commands that choose a value of a setting. */
  function choices<S extends "theme" | "language", V extends string>(
    setting: S,
    values: readonly V[],
  ): Partial<Record<CommandId, CommandAction>> {
    return Object.fromEntries(
      values.map((value): [string, CommandAction] => [
        `view.${setting}.${value}`,
        {
          run: () => void settings.update({ [setting]: value }),
          checked: () => settings.state.value.settings[setting] === value,
        },
      ]),
    );
  }

  /** What the host opens is done in its order, however long each takes. */
  let arriving: Promise<unknown> = Promise.resolve();
  function arrive(what: () => Promise<unknown>): void {
    let first: Promise<unknown> | null = arriving.then(what);
    arriving = first.catch(() => {});
    files.attempt(() => {
      const doing = first ?? what();
      first = null;
      return doing;
    });
  }

  // What the assistant follows by itself; a type that nobody handles is a compile error here.
  const followed = (): void => {};
  const handlers: Handlers = {
    "menu.invoked": (m) => void board.run(m.payload.command),
    "window.close_requested": (m) => {
      backend.documents.AcknowledgeClose(documents.page.peek()).catch(() => {});
      files.attempt(() => files.quit(m.payload.runs.length));
    },
    "page.attached": (m) => {
      if (m.payload.page > documents.page.peek()) {
        inert.value = true;
      }
    },
    "document.opened": (m) =>
      arrive(async () => {
        if (m.payload.background) {
          await documents.add(m.payload.document);
          return;
        }
        await documents.show(m.payload.document);
        settingsTab.front.value = false;
        documents.view.focus();
      }),
    "draft.found": (m) => documents.offer(m.payload.draft),
    "workspace.opened": (m) => {
      files.setWorkspace(m.payload.workspace);
      arrive(() => documents.putAway(m.payload.putAway));
    },
    "workspace.changed": (m) => treeFiles.follow(m.payload),
    "document.disk_changed": (m) => disk.follow(m.payload),
    "open.failed": (m) => {
      const { code, path } = m.payload;
      files.fail(new BackendError(isFaultCode(code) ? code : "internal", baseName(path)));
    },
    // The search follows these by itself.
    "search.found": followed,
    "search.ended": followed,
    "settings.changed": (m) => settings.accept(m.payload),
    "session.created": followed,
    "session.changed": followed,
    "session.deleted": followed,
    "model_call.begun": followed,
    "model_call.ended": followed,
    "tool.changed": followed,
    "tool.reconciled": followed,
    "approval.asked": followed,
    "approval.decided": followed,
    "run.accepted": followed,
    "run.started": followed,
    "run.waiting": followed,
    "run.resumed": followed,
    "run.cancelling": followed,
    "run.cancelled": followed,
    "run.succeeded": followed,
    "run.failed": followed,
    "run.interrupted": followed,
    "message.committed": followed,
    "attempt.withdrawn": followed,
    "proposal.created": followed,
    "proposal.decided": followed,
    "runner.recovered": followed,
    "runner.changed": followed,
    preview: followed,
  };
  events.onEach(handlers);

  const Notices = createNotices(documents, files, comparing.compare, disk);
  slots.above.value = () => [h(Notices, { key: "notices" }), h(assistant.Refusal, { key: "refusal" })];
  listenForKeys(window, board);
  window.addEventListener("focus", () => {
    // What the system tells of changes can be lost while another window is in front.
    backend.workspace.Refresh().catch(() => {});
  });
  effect(() => {
    language.value;
    void labelMenu(backend, platform.value);
  });
  effect(() => {
    const title = titleOf(documents.current.value);
    document.title = title;
    backend.setTitle(title);
  });

  const workspace = backend.workspace
    .Current()
    .then(files.setWorkspace, (error: unknown) => console.error(error));
  await events.open();
  session.restore(documents.layout.peek());
  await workspace;
  if (files.workspace.peek().path === "" && documents.tabs.peek().length === 0) {
    // A window that was used before may be about to get back what was open in it.
    if (documents.layout.peek()?.sidebarView) {
      waiting.value = true;
      setTimeout(() => {
        waiting.value = false;
      }, longestWaitMs);
    }
    // The first window lists what was opened of late; without the list it is whole as well.
    await recent.refresh().catch((error: unknown) => console.error(error));
  }
  render(
    h(Window, {
      model: {
        board,
        layout,
        settings,
        settingsTab,
        dialogs,
        toasts,
        workspace: files.workspace,
        tree,
        treeHandlers: treeFiles.handlers,
        finder: recent.source,
        documents: files.view,
        slots,
        onSample: files.openSample,
        inert,
        waiting,
        reload: () => location.reload(),
      },
    }),
    root,
  );
  session.follow();
}

/** How long a window without anything open waits for what was open in it before it says so, in ms. */
const longestWaitMs = 300;

/** The window's title: the document in front, with a mark while it is unsaved. */
function titleOf(tab: Tab | null): string {
  if (tab === null) {
    return "Galley";
  }
  // A name may hold a line break, a title bar may not.
  const name = tab.info.value.name.replace(/\p{Cc}/gu, "\ufffd");
  return `${tab.dirty.value ? "\u25cf " : ""}${name} \u2013 Galley`;
}
