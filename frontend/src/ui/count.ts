/** What a text counts as. */
export interface Counts {
  /** Words of scripts that put blanks between them, and runs of digits. */
  readonly words: number;
  /** Characters of scripts that do not: Han, Hiragana, Katakana. */
  readonly characters: number;
}

/** What a character is to the count: a joint holds a word together when it stands between two parts of one. */
const unknown = 0;
const blank = 1;
const letter = 2;
const ideograph = 3;
const joint = 4;

const character = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u;
const word = /^[\p{L}\p{N}\p{M}]$/u;

/** The kinds of the characters below U+10000 that were met so far; asking a regexp is 50 times slower. */
const kinds = new Uint8Array(0x10000);

function kindOf(point: number): number {
  const known = point < kinds.length ? (kinds[point] ?? unknown) : unknown;
  if (known !== unknown) {
    return known;
  }
  const s = String.fromCodePoint(point);
  const kind = character.test(s) ? ideograph : word.test(s) ? letter : "’'-.,:".includes(s) ? joint : blank;
  if (point < kinds.length) {
    kinds[point] = kind;
  }
  return kind;
}

/**
 * Counts a text. Takes about 10 ms a million characters: a large document is
 * counted piece by piece, see createDocumentCount.
 */
export function countText(text: string): Counts {
  let words = 0;
  let characters = 0;
  let before: number = blank;
  for (let i = 0; i < text.length; i++) {
    let point = text.charCodeAt(i);
    if (point >= 0xd800 && point < 0xdc00) {
      point = text.codePointAt(i) ?? point;
      i += point > 0xffff ? 1 : 0;
    }
    let kind = kindOf(point);
    if (kind === letter) {
      words += before === letter || before === joint ? 0 : 1;
    } else if (kind === ideograph) {
      characters += 1;
    } else if (kind === joint && before !== letter) {
      // Nothing is before it that it could join.
      kind = blank;
    }
    before = kind;
  }
  return { words, characters };
}

/** Reports whether a text is one of characters rather than words: the count then says so. */
export function isCountedByCharacter(counts: Counts): boolean {
  return counts.characters > counts.words;
}

/** The number to show: a character counts as a word does. */
export function totalOf(counts: Counts): number {
  return counts.words + counts.characters;
}

/** Reading time in minutes, at 240 words or 400 characters a minute; at least 1. */
export function readingMinutes(counts: Counts): number {
  return Math.max(1, Math.round(counts.words / 240 + counts.characters / 400));
}
