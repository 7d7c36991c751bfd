import type { MessageKey } from "../i18n";
import type { IconName } from "./icon";

/** Where a command stands in the palette and in the native menu. */
export type CommandGroup = "file" | "edit" | "view" | "review" | "ai" | "app";

/**
 * The keys of a command, in the order they are shown; the first is the one
 * that menus and tooltips name. Written as CodeMirror writes them: modifiers
 * `Mod Ctrl Cmd Alt Shift` and a key as `KeyboardEvent.key` has it, joined by
 * hyphens; `Mod` is Cmd on macOS and Ctrl elsewhere.
 */
export interface CommandKeys {
  readonly mac: readonly string[];
  readonly other: readonly string[];
}

/** One row of the table of commands. */
export interface Command {
  readonly id: CommandId;
  readonly label: MessageKey;
  readonly group: CommandGroup;
  readonly icon?: IconName;
  readonly keys: CommandKeys;
  /**
   * Who listens for the keys: `page`, the window's keymap; `text`, whichever
   * text has the focus (editor or field), so that the window's keymap leaves
   * them alone and menus only show them; `tree`, the tree while it has the focus.
   */
  readonly keymap: "page" | "text" | "tree";
  /** Whether the native menu has it. The menu is built in Go from the same ids. */
  readonly menu: boolean;
  /** Whether the palette has it: what only its key makes sense of is left out. */
  readonly palette: boolean;
}

interface Row {
  readonly label: MessageKey;
  readonly group: CommandGroup;
  readonly icon?: IconName;
  /** One key for all systems, or one list for each. */
  readonly keys?: string | CommandKeys;
  readonly keymap?: "text" | "tree";
  readonly menu?: false;
  readonly palette?: false;
}

/**
 * The one table of commands: it feeds the palette, the native menu's ids and
 * labels, and the page's keymap, which is the only home of keys.
 */
const table = {
  "file.new": { label: "commands.file.new", group: "file", icon: "file-plus", keys: "Mod-n" },
  "file.open": { label: "commands.file.open", group: "file", icon: "file-text", keys: "Mod-Shift-o" },
  "file.openFolder": { label: "commands.file.openFolder", group: "file", icon: "folder-open", keys: "Mod-o" },
  "file.quickOpen": { label: "commands.file.quickOpen", group: "file", icon: "file-text", keys: "Mod-p" },
  "file.openRecent": { label: "commands.file.openRecent", group: "file", icon: "clock" },
  "file.clearRecent": { label: "commands.file.clearRecent", group: "file", menu: false },
  "file.newInFolder": {
    label: "commands.file.newInFolder",
    group: "file",
    icon: "file-plus",
    menu: false,
  },
  "file.newFolder": { label: "commands.file.newFolder", group: "file", icon: "folder" },
  "file.save": { label: "commands.file.save", group: "file", keys: "Mod-s" },
  "file.saveAs": { label: "commands.file.saveAs", group: "file", keys: "Mod-Shift-s" },
  "file.close": { label: "commands.file.close", group: "file", icon: "x", keys: "Mod-w" },
  "file.reopenClosed": { label: "commands.file.reopenClosed", group: "file", keys: "Mod-Shift-t" },
  "file.rename": {
    label: "commands.file.rename",
    group: "file",
    icon: "pencil-line",
    keys: "F2",
    keymap: "tree",
  },
  "file.duplicate": { label: "commands.file.duplicate", group: "file", icon: "copy" },
  "file.reveal": { label: "commands.file.reveal", group: "file", icon: "folder-search" },
  "file.copyPath": { label: "commands.file.copyPath", group: "file", menu: false },
  "file.copyRelativePath": { label: "commands.file.copyRelativePath", group: "file", menu: false },
  "file.trash": {
    label: "commands.file.trash",
    group: "file",
    icon: "trash-2",
    keys: { mac: ["Cmd-Backspace"], other: ["Delete"] },
    keymap: "tree",
  },
  "file.compare": { label: "commands.file.compare", group: "file", icon: "file-text", menu: false },
  "app.quit": { label: "commands.app.quit", group: "app", keys: "Mod-q" },
  "edit.undo": { label: "commands.edit.undo", group: "edit", icon: "undo-2", keys: "Mod-z", keymap: "text" },
  "edit.redo": {
    label: "commands.edit.redo",
    group: "edit",
    keys: { mac: ["Mod-Shift-z"], other: ["Mod-Shift-z", "Mod-y"] },
    keymap: "text",
  },
  "edit.cut": { label: "commands.edit.cut", group: "edit", icon: "scissors", keys: "Mod-x", keymap: "text" },
  "edit.copy": { label: "commands.edit.copy", group: "edit", icon: "copy", keys: "Mod-c", keymap: "text" },
  "edit.paste": { label: "commands.edit.paste", group: "edit", keys: "Mod-v", keymap: "text" },
  "edit.selectAll": { label: "commands.edit.selectAll", group: "edit", keys: "Mod-a", keymap: "text" },
  "edit.find": { label: "commands.edit.find", group: "edit", icon: "search", keys: "Mod-f" },
  "edit.searchFolder": {
    label: "commands.edit.searchFolder",
    group: "edit",
    icon: "folder-search",
    keys: { mac: ["Mod-Shift-f"], other: ["Mod-Shift-h"] },
  },
  "edit.replaceFolder": { label: "commands.edit.replaceFolder", group: "edit", icon: "replace" },
  "edit.nextHit": {
    label: "commands.edit.nextHit",
    group: "edit",
    icon: "chevron-down",
    keys: "F4",
    menu: false,
  },
  "edit.previousHit": {
    label: "commands.edit.previousHit",
    group: "edit",
    icon: "chevron-up",
    keys: "Shift-F4",
    menu: false,
  },
  "view.sidebar": { label: "commands.view.sidebar", group: "view", icon: "panel-left", keys: "Mod-\\" },
  "view.palette": { label: "commands.view.palette", group: "view", keys: "Mod-Shift-p" },
  "view.panel": {
    label: "commands.view.panel",
    group: "view",
    icon: "message-square-text",
    keys: "Mod-Shift-j",
  },
  "view.history": { label: "commands.view.history", group: "view", icon: "history", menu: false },
  "view.nextPart": { label: "commands.view.nextPart", group: "view", keys: "F6", menu: false },
  "view.previousPart": { label: "commands.view.previousPart", group: "view", keys: "Shift-F6", menu: false },
  "view.files": { label: "commands.view.files", group: "view", icon: "list-tree", menu: false },
  "view.collapseFolders": { label: "commands.view.collapseFolders", group: "view", menu: false },
  "view.nextTab": { label: "commands.view.nextTab", group: "view", keys: "Ctrl-Tab", menu: false },
  "view.previousTab": {
    label: "commands.view.previousTab",
    group: "view",
    keys: "Ctrl-Shift-Tab",
    menu: false,
  },
  "view.moveTabLeft": { label: "commands.view.moveTabLeft", group: "view", menu: false },
  "view.moveTabRight": { label: "commands.view.moveTabRight", group: "view", menu: false },
  "view.tab1": { label: "commands.view.tab", group: "view", keys: "Mod-1", menu: false, palette: false },
  "view.tab2": { label: "commands.view.tab", group: "view", keys: "Mod-2", menu: false, palette: false },
  "view.tab3": { label: "commands.view.tab", group: "view", keys: "Mod-3", menu: false, palette: false },
  "view.tab4": { label: "commands.view.tab", group: "view", keys: "Mod-4", menu: false, palette: false },
  "view.tab5": { label: "commands.view.tab", group: "view", keys: "Mod-5", menu: false, palette: false },
  "view.tab6": { label: "commands.view.tab", group: "view", keys: "Mod-6", menu: false, palette: false },
  "view.tab7": { label: "commands.view.tab", group: "view", keys: "Mod-7", menu: false, palette: false },
  "view.tab8": { label: "commands.view.tab", group: "view", keys: "Mod-8", menu: false, palette: false },
  "view.tab9": { label: "commands.view.tab", group: "view", keys: "Mod-9", menu: false, palette: false },
  "view.theme.system": { label: "commands.view.theme.system", group: "view", icon: "palette", menu: false },
  "view.theme.light": { label: "commands.view.theme.light", group: "view", icon: "palette", menu: false },
  "view.theme.dark": { label: "commands.view.theme.dark", group: "view", icon: "palette", menu: false },
  "view.theme.sepia": { label: "commands.view.theme.sepia", group: "view", icon: "palette", menu: false },
  "view.theme.contrast": {
    label: "commands.view.theme.contrast",
    group: "view",
    icon: "palette",
    menu: false,
  },
  "view.language.system": {
    label: "commands.view.language.system",
    group: "view",
    icon: "type",
    menu: false,
  },
  "view.language.en": { label: "commands.view.language.en", group: "view", icon: "type", menu: false },
  "view.language.zh": { label: "commands.view.language.zh", group: "view", icon: "type", menu: false },
  "ai.rewrite": { label: "commands.ai.rewrite", group: "ai", icon: "pencil-line", keys: "Mod-j" },
  "ai.review.next": {
    label: "commands.ai.review.next",
    group: "review",
    icon: "chevron-down",
    keys: { mac: ["Ctrl-Cmd-ArrowDown", "F8"], other: ["F8"] },
  },
  "ai.review.previous": {
    label: "commands.ai.review.previous",
    group: "review",
    icon: "chevron-up",
    keys: { mac: ["Ctrl-Cmd-ArrowUp", "Shift-F8"], other: ["Shift-F8"] },
  },
  "ai.review.accept": {
    label: "commands.ai.review.accept",
    group: "review",
    icon: "check",
    keys: "Mod-Enter",
  },
  "ai.review.reject": {
    label: "commands.ai.review.reject",
    group: "review",
    icon: "x",
    keys: "Mod-Shift-Backspace",
  },
  "ai.review.acceptAll": {
    label: "commands.ai.review.acceptAll",
    group: "review",
    icon: "check",
    keys: "Mod-Shift-Enter",
  },
  "ai.review.rejectAll": { label: "commands.ai.review.rejectAll", group: "review", icon: "x" },
  "ai.regenerate": {
    label: "commands.ai.regenerate",
    group: "review",
    icon: "refresh-cw",
    keys: { mac: ["Ctrl-Cmd-r"], other: ["Shift-F9"] },
  },
  "app.settings": { label: "commands.app.settings", group: "app", icon: "settings", keys: "Mod-," },
  "help.about": { label: "commands.help.about", group: "app", icon: "info" },
} as const satisfies Readonly<Record<string, Row>>;

/** The id of a command, the same in Go's menu. */
export type CommandId = keyof typeof table;

/** All commands, in the order of the table. */
export const commands: readonly Command[] = Object.entries(table).map(([id, row]: [string, Row]) => ({
  id: id as CommandId,
  label: row.label,
  group: row.group,
  ...(row.icon && { icon: row.icon }),
  keys:
    typeof row.keys === "string"
      ? { mac: [row.keys], other: [row.keys] }
      : (row.keys ?? { mac: [], other: [] }),
  keymap: row.keymap ?? "page",
  menu: row.menu ?? true,
  palette: row.palette ?? true,
}));

/** Reports whether a string names a command. */
export function isCommandId(value: string): value is CommandId {
  return Object.hasOwn(table, value);
}
