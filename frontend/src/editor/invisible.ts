/** Characters that cannot be seen are shown as boxed names, in the text and in proposals (X4). */

import type { Extension } from "@codemirror/state";
import { highlightSpecialChars } from "@codemirror/view";

const names: ReadonlyMap<number, string> = new Map([
  [0x00ad, "SHY"],
  [0x061c, "ALM"],
  [0x180e, "MVS"],
  [0x200b, "ZWSP"],
  [0x200c, "ZWNJ"],
  [0x200e, "LRM"],
  [0x200f, "RLM"],
  [0x2028, "LS"],
  [0x2029, "PS"],
  [0x202a, "LRE"],
  [0x202b, "RLE"],
  [0x202c, "PDF"],
  [0x202d, "LRO"],
  [0x202e, "RLO"],
  [0x2060, "WJ"],
  [0x2066, "LRI"],
  [0x2067, "RLI"],
  [0x2068, "FSI"],
  [0x2069, "PDI"],
  [0xfeff, "BOM"],
]);

/** What the editor's own list of special characters leaves out. */
const more = /[\u180e\u200c\u202a-\u202c\u2060-\u2064\u2068\u{e0000}-\u{e007f}]/u;

/** The same in proposals; the joiner of an emoji and Arabic number signs can be seen by what they do. */
const unseen =
  /(?![\t\n\u0600-\u0605\u06dd\u070f\u08e2])(?:[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200d)\p{Cf}|\u200d(?!\p{Extended_Pictographic}))/gu;

/** Shows invisible and bidirectional characters of the document. */
export function invisibleCharacters(): Extension {
  return highlightSpecialChars({
    addSpecialChars: more,
    render: (code, description) => boxedName(code, description ?? ""),
  });
}

/** Appends `text` to `parent`, invisible characters as boxed names. */
export function appendVisibly(parent: Node, text: string): void {
  let at = 0;
  for (const { 0: found, index } of text.matchAll(unseen)) {
    if (index > at) parent.appendChild(document.createTextNode(text.slice(at, index)));
    parent.appendChild(boxedName(found.codePointAt(0) ?? 0, ""));
    at = index + found.length;
  }
  if (at < text.length) parent.appendChild(document.createTextNode(text.slice(at)));
}

function boxedName(code: number, description: string): HTMLElement {
  const box = document.createElement("span");
  box.className = "g-unseen";
  const hex = code.toString(16).toUpperCase().padStart(4, "0");
  box.textContent = names.get(code) ?? `U+${hex}`;
  box.title = description === "" ? `U+${hex}` : description;
  return box;
}
