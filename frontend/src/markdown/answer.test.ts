import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAnswerReader, plainText, readBlocks } from "./answer";

const answer = `# Timetable check

Almost. Seven nights at **177** make 1,239, and you write
*about* \`1,240\`, which is [right](https://example.org/a "t").

1. One
2. Two

   still two

3. Three
- [x] done
- [ ] open

> A quotation
> of two lines

\`\`\`js
const a = 1;

const b = 2;
\`\`\`

| A | B |
|---|---|
| 1 | 2 |

<img src=x onerror=alert(1)>

末班船每晚
离开北码头。
`;

describe("an answer", () => {
  it("is read as blocks", () => {
    expect(readBlocks("## A *b* c")).toEqual([
      {
        type: "heading",
        level: 2,
        inlines: [
          { type: "text", text: "A " },
          { type: "emphasis", inlines: [{ type: "text", text: "b" }] },
          { type: "text", text: " c" },
        ],
      },
    ]);
    expect(readBlocks(answer).map((block) => block.type)).toEqual([
      "heading",
      "paragraph",
      "list",
      "list",
      "quote",
      "code",
      "table",
      "source",
      "paragraph",
    ]);
  });

  it("keeps code as it was written", () => {
    expect(readBlocks("```js\na\n\n  b\n```")).toEqual([{ type: "code", lang: "js", text: "a\n\n  b" }]);
    expect(readBlocks("`` a`b ``")).toEqual([
      { type: "paragraph", inlines: [{ type: "code", text: "a`b" }] },
    ]);
  });

  it("joins lines with a blank, but not between Chinese characters", () => {
    const words = (text: string) =>
      readBlocks(text).map((b) => (b.type === "paragraph" ? plainText(b.inlines) : ""));
    expect(words("one\ntwo")).toEqual(["one two"]);
    expect(words("末班船\n离开")).toEqual(["末班船离开"]);
    expect(words("> 末班船\n> 离开")).toEqual([""]);
  });

  // covers: X2 X3
  it("has links and pictures as data, and no markup", () => {
    const [block] = readBlocks(
      "[a](javascript:alert(1)) ![b](https://remote.example/x.png) <b>c</b> https://example.org",
    );
    expect(block).toEqual({
      type: "paragraph",
      inlines: [
        { type: "link", target: "javascript:alert(1)", inlines: [{ type: "text", text: "a" }] },
        { type: "text", text: " " },
        { type: "image", target: "https://remote.example/x.png", alt: "b" },
        { type: "text", text: " <b>c</b> " },
        {
          type: "link",
          target: "https://example.org",
          inlines: [{ type: "text", text: "https://example.org" }],
        },
      ],
    });
    expect(readBlocks('<script src="https://remote.example/x.js"></script>')).toEqual([
      { type: "source", text: '<script src="https://remote.example/x.js"></script>' },
    ]);
  });

  // covers: U2
  it("that grows in pieces is read as one that is there at once", () => {
    const whole = createAnswerReader().read(answer, true);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }), (steps) => {
        const reader = createAnswerReader();
        let at = 0;
        for (const step of steps) {
          at += step;
          reader.read(answer.slice(0, at), false);
        }
        expect(reader.read(answer, true)).toEqual(whole);
      }),
    );
  });

  // covers: U2
  it("keeps its settled pieces as they are", () => {
    const reader = createAnswerReader();
    let before: readonly object[] = [];
    for (let at = 0; at <= answer.length; at += 3) {
      const now = reader.read(answer.slice(0, at), false);
      // Only the last one may change.
      for (const [i, piece] of before.slice(0, -1).entries()) {
        expect(now[i]).toBe(piece);
      }
      before = now;
    }
    expect(before.length).toBeGreaterThan(5);
  });

  it("starts anew when it is another one", () => {
    const reader = createAnswerReader();
    reader.read("One\n\nTwo three four\n", false);
    expect(reader.read("Else\n\nTwo", true)).toEqual(createAnswerReader().read("Else\n\nTwo", true));
  });
});
