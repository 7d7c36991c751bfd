/** What a person does in the tree: make, rename, move, duplicate, put into the trash, show elsewhere. */

import {
  type Backend,
  type BackendError,
  decodeError,
  type ReviewedSet,
  type WorkspaceChanged,
} from "../backend";
import type { Documents, Tab } from "../document";
import { t } from "../i18n";
import {
  baseName,
  type CommandAction,
  type CommandBoard,
  type CommandId,
  commands,
  type Dialogs,
  describeFault,
  documentLabel,
  folderOf,
  isWithin,
  joinPath,
  keyLabel,
  type MenuItem,
  relativePath,
  type Toasts,
  type Tree,
  type TreeField,
  type TreeHandlers,
} from "../ui";
import type { Files } from "./files";

/** The tree's commands and what its rows do. */
export interface TreeFiles {
  readonly handlers: TreeHandlers;
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  /** Follows what something else did to the folder. */
  readonly follow: (change: WorkspaceChanged) => void;
}

/** What the tree's commands need. */
export interface TreeFilesConfig {
  readonly backend: Backend;
  readonly board: CommandBoard;
  readonly documents: Documents;
  readonly dialogs: Dialogs;
  readonly toasts: Toasts;
  readonly tree: Tree;
  readonly files: Files;
  /** Brings the tree into view. */
  readonly showTree: () => void;
  /** Shows the link changes that a move would bring; applying them moves. */
  readonly showSet: (set: ReviewedSet, onChanged: () => void) => void;
}

/** Endings that a new name may have of its own; any other gets `.md`. */
const textEnding = /\.(md|markdown|mdx|txt|text)$/i;

/** The commands that work on a row; the rest of the tree's work on the folder. */
const onRow: readonly CommandId[] = [
  "file.rename",
  "file.duplicate",
  "edit.cut",
  "file.copyPath",
  "file.copyRelativePath",
  "file.reveal",
  "file.trash",
];

/** The menu of a row, by groups. */
const rowMenu: readonly (readonly CommandId[])[] = [
  ["file.newInFolder", "file.newFolder"],
  ["file.rename", "file.duplicate", "edit.cut", "edit.paste"],
  ["file.copyPath", "file.copyRelativePath", "file.reveal"],
  ["file.trash"],
];

/** The menu of the place below the rows. */
const folderMenu: readonly (readonly CommandId[])[] = [
  ["file.newInFolder", "file.newFolder", "edit.paste"],
  ["file.reveal", "view.collapseFolders"],
];

/** Makes them. */
export function createTreeFiles(config: TreeFilesConfig): TreeFiles {
  const { backend, board, documents, dialogs, toasts, tree, files } = config;

  /** The folder in which something new goes for a row. */
  function folderFor(path: string): string {
    if (path === "" || path === tree.root.peek()) {
      return tree.root.peek();
    }
    return tree.entryOf(path)?.folder ? path : folderOf(path);
  }

  /** What a command means that was given no row: the one with the focus, else the document in front. */
  function target(): string {
    const near = document.activeElement?.closest("[role=tree]") ?? null;
    const focused = tree.focused.value;
    const path = documents.current.value?.info.value.path ?? "";
    if (near !== null && tree.entryOf(focused) !== null) {
      return focused;
    }
    return isInFolder(path) ? path : "";
  }

  function isInFolder(path: string): boolean {
    const root = tree.root.peek();
    return path !== "" && root !== "" && path !== root && isWithin(path, root);
  }

  async function create(field: TreeField, name: string): Promise<void> {
    const isFolder = field.type === "create" && field.folder;
    const entry = await backend.workspace.Create({
      folder: field.path,
      name: isFolder || textEnding.test(name) ? name : `${name}.md`,
      isFolder,
    });
    tree.endField();
    tree.relist([field.path]);
    if (isFolder) {
      tree.wanted.value = entry.path;
    } else {
      tree.wanted.value = "";
      tree.focused.value = entry.path;
      files.view.open(entry.path);
    }
  }

  async function rename(path: string, name: string): Promise<void> {
    const isFolder = tree.entryOf(path)?.folder ?? false;
    const ending = isFolder ? "" : (textEnding.exec(baseName(path))?.[0] ?? "");
    // The ending may be left out, and another one that makes a text may be given.
    const kept = ending === "" || textEnding.test(name) ? name : name + ending;
    await move(path, joinPath(folderOf(path), kept));
  }

  /** Moves, or shows what that would do to links. The field, if there is one, stays until the answer. */
  async function move(from: string, to: string): Promise<void> {
    const result = from === to ? null : await backend.workspace.Move({ from, to, keepLinks: false });
    tree.endField();
    if (result === null) {
      return;
    }
    if (!result.moved) {
      config.showSet(result.set, () => tree.refresh());
      return;
    }
    tree.follow(from, to);
    tree.relist([folderOf(from), folderOf(to)]);
    tree.reveal(to);
    if (hasFocus()) {
      tree.wanted.value = to;
    }
  }

  /** Whether the person is in the tree, and not in the text. */
  function hasFocus(): boolean {
    const { activeElement } = document;
    return activeElement === document.body || (activeElement?.closest("[role=tree]") ?? null) !== null;
  }

  async function duplicate(path: string): Promise<void> {
    const entry = await backend.workspace.Duplicate(path);
    tree.relist([folderOf(path)]);
    if (hasFocus()) {
      tree.wanted.value = entry.path;
    }
  }

  async function trash(path: string): Promise<void> {
    const name = labelOf(path);
    const within = (tab: Tab): boolean => isWithin(tab.info.peek().path, path);
    const open = documents.tabs.peek().filter(within);
    const unsaved = open.filter((tab) => tab.dirty.peek());
    const isFolder = tree.entryOf(path)?.folder ?? false;
    const inTree = hasFocus();
    const answer = await dialogs.ask({
      title: t("tree.trash.title", { name }),
      text: t(
        unsaved.length > 0 ? "tree.trash.unsaved" : isFolder ? "tree.trash.folder" : "tree.trash.text",
        {
          n: unsaved.length,
        },
      ),
      ...(isFolder &&
        unsaved.length > 0 && { names: unsaved.map((tab) => documentLabel(tab.info.peek().name)) }),
      buttons: [{ id: "trash", label: t("tree.trash.do"), kind: "bad" }],
    });
    if (answer !== "trash") {
      return;
    }
    const next = rowBeside(path);
    await backend.workspace.Trash(path);
    tree.relist([folderOf(path)]);
    if (inTree) {
      tree.wanted.value = next;
    }
    toasts.show({ text: t("tree.trash.done", { name }), icon: "trash-2" });
    // What is in the trash whole needs no tab; text that is nowhere else keeps its own.
    for (const tab of open) {
      if (!tab.dirty.peek() && documents.tabs.peek().includes(tab)) {
        await documents.close(tab.id);
      }
    }
  }

  /** The row that gets the focus when one and all below it go. */
  function rowBeside(path: string): string {
    const rows = tree.rows.peek();
    const at = rows.findIndex((row) => row.key === path);
    const after = rows.slice(at + 1).find((row) => !isWithin(row.key, path));
    return (after ?? rows[at - 1])?.key ?? "";
  }

  async function copy(text: string): Promise<void> {
    await backend.writeClipboard(text);
    toasts.show({ text: t("tree.copied", { text }), icon: "copy" });
  }

  function labelOf(path: string): string {
    return tree.entryOf(path)?.folder ? baseName(path) : documentLabel(baseName(path));
  }

  function startCreate(path: string, isFolder: boolean): void {
    config.showTree();
    tree.startCreate(folderFor(path), isFolder);
  }

  function run(id: CommandId, path: string): void {
    if (reasonOff(id, path) !== "") {
      return;
    }
    switch (id) {
      case "file.newInFolder":
      case "file.newFolder":
        startCreate(path, id === "file.newFolder");
        break;
      case "file.rename":
        config.showTree();
        tree.startRename(path);
        break;
      case "file.duplicate":
        files.attempt(() => duplicate(path));
        break;
      case "file.trash":
        files.attempt(() => trash(path));
        break;
      case "file.reveal":
        files.attempt(() => backend.workspace.Reveal(path || tree.root.peek()));
        break;
      case "file.copyPath":
        files.attempt(() => copy(path));
        break;
      case "file.copyRelativePath":
        files.attempt(() => copy(relativePath(path, tree.root.peek())));
        break;
      case "edit.cut":
        tree.cut.value = path;
        break;
      case "edit.paste": {
        const from = tree.cut.peek();
        const folder = folderFor(path);
        tree.cut.value = "";
        if (from !== "" && folder !== folderOf(from)) {
          files.attempt(() => move(from, joinPath(folder, baseName(from))));
        }
        break;
      }
      case "view.collapseFolders":
        tree.collapseAll();
        break;
      default:
        board.run(id);
    }
  }

  /** Why a command cannot be done to a row; "" when it can. */
  function reasonOff(id: CommandId, path: string): ReturnType<NonNullable<CommandAction["off"]>> {
    if (tree.root.value === "") {
      return "off.noFolder";
    }
    if (id === "edit.paste") {
      const cut = tree.cut.value;
      return cut === "" ? "off.nothingCut" : isWithin(folderFor(path), cut) ? "off.intoItself" : "";
    }
    const needsRow = onRow.includes(id) && !(id === "file.reveal" && path === "");
    return needsRow && !isInFolder(path) ? "off.noFile" : "";
  }

  function menuOf(path: string): readonly MenuItem[] {
    const platform = board.platform.peek();
    return (isInFolder(path) && tree.entryOf(path) !== null ? rowMenu : folderMenu).flatMap((group, at) =>
      group.map((id, i): MenuItem => {
        const command = commands.find((row) => row.id === id);
        const off = reasonOff(id, path);
        return {
          id,
          label: command === undefined ? id : t(command.label),
          ...(command?.icon && { icon: command.icon }),
          key: off === "" ? (command === undefined ? "" : keyLabel(command, platform)) : t(off),
          off: off !== "",
          apart: at > 0 && i === 0,
        };
      }),
    );
  }

  async function submit(field: TreeField, name: string): Promise<string> {
    if (/[/\\]/.test(name)) {
      return t("tree.problem.separator");
    }
    try {
      await (field.type === "create" ? create(field, name) : rename(field.path, name));
      return "";
    } catch (reason) {
      const error = decodeError(reason);
      if (field.type === "rename" && error.code !== "exists" && error.code !== "reserved_name") {
        files.fail(error);
        return "";
      }
      return problemOf(error, name);
    }
  }

  function problemOf(error: BackendError, name: string): string {
    switch (error.code) {
      case "exists":
        return t("tree.problem.exists", { name });
      case "reserved_name":
        return t("tree.problem.reserved", { name });
      default:
        return describeFault({ code: error.code, detail: error.detail, retryAfterMs: 0 }).title;
    }
  }

  const onTarget = (id: CommandId): CommandAction => ({
    off: () => reasonOff(id, target()),
    run: () => run(id, target()),
  });

  return {
    handlers: {
      open: files.view.open,
      run,
      menu: menuOf,
      submit,
      move: (path, folder) => files.attempt(() => move(path, joinPath(folder, baseName(path)))),
    },
    actions: {
      "file.newInFolder": onTarget("file.newInFolder"),
      "file.newFolder": onTarget("file.newFolder"),
      "file.rename": onTarget("file.rename"),
      "file.duplicate": onTarget("file.duplicate"),
      "file.trash": onTarget("file.trash"),
      "file.reveal": onTarget("file.reveal"),
      "file.copyPath": onTarget("file.copyPath"),
      "file.copyRelativePath": onTarget("file.copyRelativePath"),
      "view.collapseFolders": onTarget("view.collapseFolders"),
    },
    follow: ({ folders, all, gone }) => {
      if (all || gone) {
        tree.refresh();
      } else {
        tree.relist(folders);
      }
      files.gone.value = gone ? files.workspace.peek().name : "";
    },
  };
}
