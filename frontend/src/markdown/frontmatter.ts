/**
 * Front matter: the block between `---` on the first line and the next line
 * that is `---` or `...`. What it holds is never parsed here, so bad YAML is
 * front matter like any other (B15).
 */

/** Where the front matter of a text is, in UTF-16 units. */
export interface FrontMatter {
  /** End of the opening mark's line, without its break. */
  readonly openEnd: number;
  /** Start of the closing mark's line. */
  readonly closeStart: number;
  /** End of the closing mark's line, without its break. */
  readonly end: number;
}

/** A block is looked for no further than this, in UTF-16 units. */
const longest = 64 * 1024;

/** Finds the front matter at the start of `text`; null when there is none or it is not closed. */
export function findFrontMatter(text: string): FrontMatter | null {
  const head = text.slice(0, longest);
  const opening = /^---[ \t]*(?=\n)/.exec(head);
  if (opening === null) return null;
  const openEnd = opening[0].length;
  const closing = /\n(?:---|\.\.\.)[ \t]*(?=\n|$)/g;
  closing.lastIndex = openEnd;
  const found = closing.exec(head);
  if (found === null) return null;
  const end = found.index + found[0].length;
  // A mark cut off by the limit might be the start of another line.
  if (end === head.length && text.length > head.length) return null;
  return { openEnd, closeStart: found.index + 1, end };
}

/** The plain value of a top-level `key: value` line in a text's front matter; null when there is none. */
export function frontMatterField(text: string, key: string): string | null {
  const block = findFrontMatter(text);
  if (block === null) return null;
  for (const line of text.slice(block.openEnd + 1, block.closeStart).split("\n")) {
    if (!line.startsWith(`${key}:`)) continue;
    const value = line
      .slice(key.length + 1)
      .replace(/\s#.*$/, "")
      .trim();
    const unquoted = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
    return unquoted === "" ? null : unquoted;
  }
  return null;
}
