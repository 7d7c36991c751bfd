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

/** Line breaks as a sign, tabs as blanks: a row is one line. */
export function visible(text: string): string {
  return text.replaceAll("\n", "¶").replaceAll("\t", " ");
}

function widthOf(letter: string): number {
  return wide.test(letter) || letter > "\uffff" ? 2 : 1;
}
