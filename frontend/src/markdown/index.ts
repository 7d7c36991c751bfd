export { findFrontMatter, frontMatterField } from "./frontmatter";
export { documentLang } from "./lang";
export { documentLanguage } from "./language";
