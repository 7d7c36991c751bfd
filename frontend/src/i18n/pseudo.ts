import type { MessageKey, Messages } from "./en";
import { mapWords } from "./message";

const plain = "aceginosuyACEGINOSUY";
const marked = "àçéğîñöšüýÀÇÉĞÎÑÖŠÜÝ";

/**
 * Makes a table for tests: every sentence with accents, a third longer and in
 * brackets, so that words which are not in the table, and places that are too
 * narrow, can be seen.
 */
export function pseudo(messages: Messages): Messages {
  const entries = Object.entries(messages).map(([key, message]) => [key, pseudoMessage(message)]);
  // Object.fromEntries forgets which keys it was given.
  return Object.fromEntries(entries) as Record<MessageKey, string>;
}

function pseudoMessage(message: string): string {
  let length = 0;
  const body = mapWords(message, (words) => {
    length += words.length;
    return words
      .split(/(<[^>]*>)/)
      .map((piece) => (piece.startsWith("<") ? piece : accent(piece)))
      .join("");
  });
  return `[${body}${"~".repeat(Math.ceil(length / 3))}]`;
}

function accent(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => marked[plain.indexOf(letter)] ?? letter);
}
