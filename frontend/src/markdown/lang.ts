/** The language of a document's text, for fonts, line breaking and hyphenation. */

import { frontMatterField } from "./frontmatter";

/** How much of the text is measured, in UTF-16 units. */
const sample = 8 * 1024;

/**
 * The BCP 47 language of `text`: its front matter's `lang`, else `zh` or `ja`
 * where their letters are a good part of it, else `fallback`.
 */
export function documentLang(text: string, fallback: string): string {
  const named = frontMatterField(text, "lang");
  if (named !== null && /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(named)) return named;
  let han = 0;
  let kana = 0;
  let letters = 0;
  for (const letter of text.slice(0, sample)) {
    if (/\p{Script=Han}/u.test(letter)) han++;
    else if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(letter)) kana++;
    else if (/\p{L}/u.test(letter)) letters++;
  }
  // A Han character says about as much as three Latin letters.
  if ((han + kana) * 3 <= letters || han + kana < 4) return fallback;
  if (kana * 10 > han) return "ja";
  return fallback.startsWith("zh") ? fallback : "zh";
}
