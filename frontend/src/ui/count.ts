/** What a text counts as. */
export interface Counts {
  /** Words of scripts that put blanks between them, and runs of digits. */
  readonly words: number;
  /** Characters of scripts that do not: Han, Hiragana, Katakana. */
  readonly characters: number;
}

const character = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu;
const word = /[\p{L}\p{N}\p{M}]+(?:[’'\-.,:][\p{L}\p{N}\p{M}]+)*/gu;

/**
 * Counts a text. Takes about 10 ms a million characters: to be called when
 * typing rests, not for each key.
 */
export function countText(text: string): Counts {
  let characters = 0;
  const rest = text.replace(character, () => {
    characters += 1;
    return " ";
  });
  return { words: rest.match(word)?.length ?? 0, characters };
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
