export { applyLook, followSystem, pickTheme, type SystemLook, type Theme } from "./appearance";
export { type CommandAction, type CommandBoard, createBoard } from "./board";
export { type Command, type CommandId, type CommandKeys, commands, isCommandId } from "./commands";
export { type Counts, countText, isCountedByCharacter, readingMinutes, totalOf } from "./count";
export { createDialogs, type Dialogs, type Question, type UnsavedDecision } from "./dialog";
export { describeFault, type FaultAction, type FaultFacts, type FaultText } from "./fault";
export { FaultNotice } from "./fault-notice";
export { Icon, type IconName, mountSprite } from "./icon";
export { keyLabel, type Platform, platformOf } from "./keys";
export { createLayout, focusPart, type Layout } from "./layout";
export { MenuButton, type MenuItem } from "./menu";
export { isModalOpen } from "./modal";
export { Notice } from "./notice";
export type { SettingsSection } from "./settings";
export { createSettings, type SettingsStore } from "./settings-store";
export { Plate } from "./start";
export type { SaveState, StatusView } from "./status";
export type { TabView } from "./tabs";
export { createToasts, type Toast, type Toasts } from "./toast";
export { createTree, type Tree } from "./tree-model";
export {
  createSettingsTab,
  createSlots,
  type DocumentsView,
  listenForKeys,
  type SettingsTab,
  type Slots,
  showSettings,
  Window,
  type WindowModel,
} from "./window";
