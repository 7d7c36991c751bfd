export { applyLook, followSystem } from "./appearance";
export { type CommandAction, type CommandBoard, createBoard } from "./board";
export { type CommandId, commands } from "./commands";
export { type CompareActions, type CompareView, Comparing } from "./compare";
export { type Counts, countText, isCountedByCharacter } from "./count";
export { createDialogs, type Dialogs } from "./dialog";
export { describeFault } from "./fault";
export { FaultNotice } from "./fault-notice";
export type { FinderSource } from "./finder";
export { HistoryPanel, type HistoryView } from "./history";
export { mountSprite } from "./icon";
export { gtkKey, keyLabel, keysOn, type Platform, platformOf } from "./keys";
export { createLayout, focusPart, type Layout, widths } from "./layout";
export type { MenuItem } from "./menu";
export { modelChoices, modelRows, refOfRow } from "./model-choices";
export { Notice } from "./notice";
export { Panel, type PanelView } from "./panel";
export { baseName, folderOf, isWithin, joinPath, relativePath } from "./paths";
export { type PreviewState, SearchView } from "./search";
export { createSearch, type Search, type SearchRow } from "./search-model";
export { type SetActions, SetReceipt, SetReview } from "./set";
export {
  type EditsByPath,
  isTicked,
  reviewSet,
  rowKey,
  type SetRow,
  type SetView,
  setRows,
  tickEdit,
  tickFile,
  ticksOf,
} from "./set-model";
export { chosenModel, createSettings, detailKey, type SettingsStore } from "./settings-store";
export { Plate } from "./start";
export type { StatusView } from "./status";
export { createToasts, type Toasts } from "./toast";
export type { TreeHandlers } from "./tree";
export { createTree, documentLabel, type Tree, type TreeField } from "./tree-model";
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
