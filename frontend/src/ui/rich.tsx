import type { ComponentChildren } from "preact";

/** What the marks of a message become, by name: `<a>words</a>`, or `<path/>` with no words. */
export type Marks = Readonly<Record<string, (words: string) => ComponentChildren>>;

/**
 * Turns a message with marks into elements, so that a sentence with a link or
 * a path in it can be translated as one. Words that no mark is around stay text.
 */
export function rich(message: string, marks: Marks): ComponentChildren {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const found of message.matchAll(/<(\w+)>(.*?)<\/\1>|<(\w+)\/>/g)) {
    const render = marks[found[1] ?? found[3] ?? ""];
    out.push(message.slice(at, found.index));
    out.push(render === undefined ? found[0] : render(found[2] ?? ""));
    at = found.index + found[0].length;
  }
  out.push(message.slice(at));
  return out;
}
