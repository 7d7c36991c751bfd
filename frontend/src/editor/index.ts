export type { Base } from "./base";
export { baseChanges, baseOf, dropBase, startBase, versionOf } from "./base";
export type { Box } from "./box";
export { boxRange, hideBox, moveBox, showBox } from "./box";
export { changedRanges, editsOf } from "./changes";
export type { CompositionWatch, KeyLike } from "./composition";
export { isComposingEvent, watchComposition } from "./composition";
export {
  acceptHunk,
  acceptTicked,
  goToHunk,
  nextHunk,
  previousHunk,
  rejectAll,
  rejectHunk,
  setTicked,
  toggleTick,
} from "./decide";
export type { Endings } from "./endings";
export { endingsOf, insertedEndings } from "./endings";
export type { EditorOptions } from "./extensions";
export {
  editorExtensions,
  replaceText,
  setLang,
  setReadOnly,
  setWords,
} from "./extensions";
export type { ListKey, Platform, ReviewAction, ReviewKey } from "./keys";
export { keyFor, keyLabel, reviewKeys, reviewListAction, runReviewAction } from "./keys";
export type { ReviewOptions } from "./marks";
export { review } from "./marks";
export type { Segment } from "./preview";
export { previewSegments } from "./preview";
export type {
  HunkPlace,
  HunkStatus,
  HunkView,
  Outcome,
  ReviewEvent,
  ReviewHunk,
  ReviewInput,
  ReviewLabels,
  ReviewRequest,
  ReviewView,
} from "./review";
export { closeReview, openReview, reviewOf } from "./review";
export { focusToolbar } from "./toolbar";
