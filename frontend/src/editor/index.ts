export {
  type Base,
  baseAt,
  baseChanges,
  baseOf,
  dropBase,
  forgetBase,
  keepBase,
  keepVersions,
  oldestBase,
  releaseVersions,
  startBase,
  versionOf,
  versionsKept,
} from "./base";
export { boxRange, hideBox, moveBox, showBox } from "./box";
export { changedRanges, editsOf } from "./changes";
export type { CompositionWatch } from "./composition";
export { isComposing, isComposingEvent, watchComposition } from "./composition";
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
export { endingsOf, insertedEndings, replacesEndings } from "./endings";
export type { EditorOptions } from "./extensions";
export {
  editorExtensions,
  makingReadOnly,
  setLang,
  setReadOnly,
  setWords,
} from "./extensions";
export { appendVisibly } from "./invisible";
export type { ReviewAction } from "./keys";
export { keyFor, keyLabel, reviewKeys, reviewListAction, runReviewAction } from "./keys";
export { review } from "./marks";
export { type PlannedEdit, plannedEdits, showPlanned } from "./planned";
export type { Segment } from "./preview";
export { previewSegments } from "./preview";
export { dispatchInPlace, replacement, replaceText } from "./replace";
export type { ReviewEvent } from "./review";
export {
  closeReview,
  closingReview,
  coverReview,
  makeCurrent,
  openingReview,
  openReview,
  proposalsOf,
  reviewOf,
} from "./review";
export type {
  HunkPlace,
  HunkView,
  ReviewHunk,
  ReviewInput,
  ReviewLabels,
  ReviewView,
} from "./standing";
export { isOpen } from "./standing";
export { focusToolbar } from "./toolbar";
