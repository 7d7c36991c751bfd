/** Where the letters of a query are in a text, and how well they sit there. */
export interface FuzzyHit {
  /** Higher is better. */
  readonly score: number;
  /** The places hit, as half-open ranges of UTF-16 units. */
  readonly ranges: readonly (readonly [number, number])[];
}

/**
 * Looks for the letters of a query in a text, in order, with others between.
 * Letters that begin words and that follow each other count for more. Null
 * when they are not there; an empty query hits everything, nowhere.
 */
export function fuzzyMatch(query: string, text: string): FuzzyHit | null {
  const wanted = [...fold(query)].filter((letter) => letter !== " ");
  const folded = fold(text);
  let best: FuzzyHit | null = wanted.length === 0 ? { score: 0, ranges: [] } : null;
  // Every place the first letter is at may begin the best match; labels are short.
  for (let from = 0; wanted[0] !== undefined && from < folded.length; from++) {
    if (folded.startsWith(wanted[0], from)) {
      const hit = matchFrom(wanted, folded, from);
      if (hit !== null && (best === null || hit.score > best.score)) {
        best = hit;
      }
    }
  }
  return best;
}

/** Lower case; as long as the text, so that places stay the same. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}

function matchFrom(wanted: readonly string[], text: string, from: number): FuzzyHit | null {
  const ranges: [number, number][] = [];
  let score = 0;
  let at = from;
  for (const letter of wanted) {
    const found = text.indexOf(letter, at);
    if (found < 0) {
      return null;
    }
    const last = ranges.at(-1);
    if (last?.[1] === found) {
      last[1] = found + letter.length;
      score += 4;
    } else {
      ranges.push([found, found + letter.length]);
      score += found === 0 ? 6 : /[\s:]/.test(text[found - 1] ?? "") ? 3 : 0;
      score -= Math.min(3, (found - at) / 4);
    }
    at = found + letter.length;
  }
  return { score: score - from / 100, ranges };
}
