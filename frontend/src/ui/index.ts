export { applyLook, followSystem } from "./appearance";
export { type CommandAction, type CommandBoard, createBoard } from "./board";
export { type CommandId, commands } from "./commands";
export { type Counts, countText, isCountedByCharacter } from "./count";
export { createDialogs, type Dialogs } from "./dialog";
export { FaultNotice } from "./fault-notice";
export { Icon, mountSprite } from "./icon";
export { gtkKey, keyLabel, keysOn, type Platform, platformOf } from "./keys";
export { createLayout, focusPart, type Layout } from "./layout";
export { Notice } from "./notice";
export {
  type EditsByPath,
  reviewSet,
  type SetView,
  tickEdit,
  tickFile,
  ticksOf,
} from "./set-model";
export { createSettings, type SettingsStore } from "./settings-store";
export { Plate } from "./start";
export type { StatusView } from "./status";
export { createToasts, type Toasts } from "./toast";
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
} from "./window";
