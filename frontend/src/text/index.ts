export { diffEdits, diffWords } from "./diff";
export type { Edit, Sliceable } from "./edit";
export {
  applyEdits,
  checkEdits,
  hasLoneSurrogate,
  isInsidePair,
  loneSurrogates,
} from "./edit";
export type { Ending, EndingRun, EndingsStep } from "./lineending";
export {
  breakCount,
  countBreaks,
  endingAt,
  isEnding,
  isMixed,
  joinEndings,
  majorityEnding,
  sliceEndings,
  stepEndings,
  writeEndings,
} from "./lineending";
export type { ChangedRange } from "./map";
export { isTouched, mapEdit, mapPatch, mapPosition, reduceRanges } from "./map";
export type { Choice, Choices, Chunk } from "./merge";
export {
  chunkText,
  isConflict,
  isPartlyTaken,
  mergedEndings,
  mergedText,
  mergeTexts,
} from "./merge";
