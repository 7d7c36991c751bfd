/** Shortens what stands around a hit, so that the hit itself is in sight. */

/** Wide characters take the room of two. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/;

/**
 * The end of what stands before a hit: at most `room` Latin letters wide, from
 * the start of a word where there is one near. Blanks at its start are left out.
 */
export function tailOf(before: string, room = 22): string {
  const text = visible(before).trimStart();
  let width = 0;
  let from = text.length;
  for (const letter of [...text].reverse()) {
    width += widthOf(letter);
    if (width > room) {
      break;
    }
    from -= letter.length;
  }
  if (from === 0) {
    return text;
  }
  const blank = text.indexOf(" ", from);
  const start = blank >= 0 && blank - from < 10 && blank + 1 < text.length ? blank + 1 : from;
  return `…${text.slice(start)}`;
}

/** A text that may be long, with its middle left out: at most `most` letters. */
export function shorten(text: string, most = 44): string {
  const letters = [...visible(text)];
  if (letters.length <= most) {
    return letters.join("");
  }
  const part = Math.floor((most - 1) / 2);
  return `${letters.slice(0, part).join("")}…${letters.slice(-part).join("")}`;
}

/** A change with what stands around it in its line. */
interface Change {
  readonly before: string;
  readonly old: string;
  readonly insert: string;
  readonly after: string;
}

/**
 * A change without what its two sides have in common at their ends, in whole
 * words: that goes to what stands around it.
 */
export function coreOf({ before, old, insert, after }: Change): Change {
  const [from, to] = [wordsOf(old), wordsOf(insert)];
  const most = Math.min(from.length, to.length);
  let start = 0;
  while (start < most && from[start] === to[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) {
    end += 1;
  }
  return {
    before: before + from.slice(0, start).join(""),
    old: from.slice(start, from.length - end).join(""),
    insert: to.slice(start, to.length - end).join(""),
    after: from.slice(from.length - end).join("") + after,
  };
}

/** Words, escaped letters among them, and the signs between them. */
function wordsOf(text: string): readonly string[] {
  return text.match(/(?:[\p{L}\p{M}\p{N}_]|%(?!20)[\dA-Fa-f]{2})+|%20|./gsu) ?? [];
}

/** Line breaks as a sign, tabs as blanks: a row is one line. */
export function visible(text: string): string {
  return text.replaceAll("\n", "¶").replaceAll("\t", " ");
}

function widthOf(letter: string): number {
  return wide.test(letter) || letter > "\uffff" ? 2 : 1;
}
