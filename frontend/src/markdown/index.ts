export type { AnswerBlock, AnswerInline, AnswerPiece, AnswerReader } from "./answer";
export { createAnswerReader } from "./answer";
export { findFrontMatter, frontMatterField } from "./frontmatter";
export { documentLang } from "./lang";
export { documentLanguage } from "./language";
