/** The Markdown language of documents: CommonMark, GFM, front matter, code by its own languages. */

import { commonmarkLanguage, markdown } from "@codemirror/lang-markdown";
import { Language, LanguageSupport } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { GFM } from "@lezer/markdown";
import { FrontMatterParser } from "./parser";

/**
 * The language support of a document. Languages of code blocks are loaded when
 * a block of theirs is first seen.
 */
export function documentLanguage(): LanguageSupport {
  const support = markdown({
    base: commonmarkLanguage,
    extensions: [GFM],
    codeLanguages: languages,
    completeHTMLTags: false,
  });
  const { data, parser } = support.language;
  return new LanguageSupport(
    new Language(data, new FrontMatterParser(parser), [], "markdown"),
    support.support,
  );
}
