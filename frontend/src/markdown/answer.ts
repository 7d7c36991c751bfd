/** What a model says, read as blocks: pieces that are settled are read once, however much follows. */

import type { SyntaxNode } from "@lezer/common";
import { parser as commonmark, GFM } from "@lezer/markdown";

/** A part of a line of an answer. Its text is plain: nothing in it is markup. */
export type AnswerInline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "break" }
  | { readonly type: "strong" | "emphasis" | "strike"; readonly inlines: readonly AnswerInline[] }
  /** `target` is as it was written: whoever opens it checks it. */
  | { readonly type: "link"; readonly target: string; readonly inlines: readonly AnswerInline[] }
  | { readonly type: "image"; readonly target: string; readonly alt: string };

/** A block of an answer. */
export type AnswerBlock =
  | { readonly type: "paragraph"; readonly inlines: readonly AnswerInline[] }
  | { readonly type: "heading"; readonly level: number; readonly inlines: readonly AnswerInline[] }
  | {
      readonly type: "list";
      /** The number of its first item; null for a list without numbers. */
      readonly start: number | null;
      readonly items: readonly AnswerListItem[];
    }
  | { readonly type: "quote"; readonly blocks: readonly AnswerBlock[] }
  | { readonly type: "code"; readonly lang: string; readonly text: string }
  | {
      readonly type: "table";
      readonly head: readonly AnswerCell[];
      readonly rows: readonly (readonly AnswerCell[])[];
    }
  | { readonly type: "rule" }
  /** What is not drawn, such as HTML, is shown as it was written. */
  | { readonly type: "source"; readonly text: string };

/** An item of a list; `done` is null where it is no task. */
export interface AnswerListItem {
  readonly done: boolean | null;
  readonly blocks: readonly AnswerBlock[];
}

/** A cell of a table. */
export type AnswerCell = readonly AnswerInline[];

/** A piece of an answer: one or more blocks that are read together. */
export interface AnswerPiece {
  /** Where it begins, in UTF-16 units. */
  readonly from: number;
  readonly text: string;
  readonly blocks: readonly AnswerBlock[];
}

/** Reads one answer as it grows. */
export interface AnswerReader {
  /**
   * The pieces of the text so far. A piece that nothing can change any more is
   * the same object at every call. `whole` says that nothing follows.
   */
  readonly read: (text: string, whole: boolean) => readonly AnswerPiece[];
}

const parser = commonmark.configure(GFM);

/** Makes the reader of one answer. */
export function createAnswerReader(): AnswerReader {
  let settled: AnswerPiece[] = [];
  let prefix = "";
  let last: AnswerPiece | null = null;

  return {
    read: (text, whole) => {
      if (!text.startsWith(prefix)) {
        settled = [];
        prefix = "";
      }
      for (;;) {
        const at = nextBoundary(text, prefix.length, whole);
        if (at < 0) {
          break;
        }
        settled = [...settled, pieceOf(text, prefix.length, at)];
        prefix = text.slice(0, at);
      }
      if (text.slice(prefix.length).trim() === "") {
        last = null;
        return settled;
      }
      const rest = text.slice(prefix.length);
      if (last === null || last.text !== rest || last.from !== prefix.length) {
        last = pieceOf(text, prefix.length, text.length);
      }
      return [...settled, last];
    },
  };
}

function pieceOf(text: string, from: number, to: number): AnswerPiece {
  const piece = text.slice(from, to);
  return { from, text: piece, blocks: readBlocks(piece) };
}

/** How much of a line is to be there before it is known what it begins, in UTF-16 units. */
const telling = 12;

const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const listMarker = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;

/**
 * Where the piece that begins at `from` ends: before a line at the margin that
 * follows a blank one, outside of code, and does not go on with a list. −1 as
 * long as that cannot be told.
 */
function nextBoundary(text: string, from: number, whole: boolean): number {
  let open = "";
  let blank = false;
  let begun = false;
  let list = false;
  for (let at = from; at < text.length; ) {
    const lineEnd = text.indexOf("\n", at);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const line = text.slice(at, end);
    const known = whole || lineEnd >= 0 || line.length >= telling;
    if (open !== "") {
      const closing = fence.exec(line)?.[1] ?? "";
      if (closing.startsWith(open) && line.trim() === closing) {
        open = "";
      }
      blank = false;
    } else if (line.trim() === "") {
      blank = begun;
    } else {
      const item = listMarker.test(line);
      if (blank && !/^[ \t]/.test(line) && !(list && item)) {
        return known ? at : -1;
      }
      list = begun ? list : item;
      begun = true;
      blank = false;
      open = fence.exec(line)?.[1] ?? "";
    }
    if (lineEnd < 0) {
      return -1;
    }
    at = end + 1;
  }
  return -1;
}

/** Reads a whole piece of Markdown. */
export function readBlocks(text: string): readonly AnswerBlock[] {
  return blocksOf(parser.parse(text).topNode, text);
}

function blocksOf(node: SyntaxNode, text: string): AnswerBlock[] {
  return childrenOf(node).flatMap((child) => blockOf(child, text));
}

function blockOf(node: SyntaxNode, text: string): readonly AnswerBlock[] {
  const heading = /^(?:ATX|Setext)Heading(\d)$/.exec(node.name);
  if (heading !== null) {
    return [{ type: "heading", level: Number(heading[1]), inlines: inlinesOf(node, text) }];
  }
  switch (node.name) {
    case "Paragraph":
    case "Task":
      return [{ type: "paragraph", inlines: inlinesOf(node, text) }];
    case "BulletList":
      return [{ type: "list", start: null, items: itemsOf(node, text) }];
    case "OrderedList": {
      const mark = node.getChild("ListItem")?.getChild("ListMark");
      const start = mark ? Number.parseInt(text.slice(mark.from, mark.to), 10) : 1;
      return [{ type: "list", start, items: itemsOf(node, text) }];
    }
    case "Blockquote":
      return [{ type: "quote", blocks: blocksOf(node, text) }];
    case "FencedCode":
    case "CodeBlock": {
      const info = node.getChild("CodeInfo");
      const words = node.getChildren("CodeText").map((part) => text.slice(part.from, part.to));
      return [
        {
          type: "code",
          lang: info ? text.slice(info.from, info.to).trim() : "",
          text: node.name === "CodeBlock" ? words.join("\n") : words.join(""),
        },
      ];
    }
    case "Table": {
      const head = node.getChild("TableHeader");
      return [
        {
          type: "table",
          head: head ? cellsOf(head, text) : [],
          rows: node.getChildren("TableRow").map((row) => cellsOf(row, text)),
        },
      ];
    }
    case "HorizontalRule":
      return [{ type: "rule" }];
    case "HTMLBlock":
    case "CommentBlock":
    case "ProcessingInstructionBlock":
    case "LinkReference":
      return [{ type: "source", text: text.slice(node.from, node.to) }];
    default:
      // Marks of lists and quotations.
      return [];
  }
}

function itemsOf(list: SyntaxNode, text: string): readonly AnswerListItem[] {
  return list.getChildren("ListItem").map((item) => {
    const mark = item.getChild("Task")?.getChild("TaskMarker");
    return {
      done: mark ? /x/i.test(text.slice(mark.from, mark.to)) : null,
      blocks: blocksOf(item, text),
    };
  });
}

function cellsOf(row: SyntaxNode, text: string): readonly AnswerCell[] {
  return row.getChildren("TableCell").map((cell) => inlinesOf(cell, text));
}

function inlinesOf(node: SyntaxNode, text: string): readonly AnswerInline[] {
  const out: AnswerInline[] = [];
  let at = node.from;
  const words = (to: number): void => {
    if (to > at) {
      out.push({ type: "text", text: joinLines(text.slice(at, to)) });
    }
  };
  for (const child of childrenOf(node)) {
    words(child.from);
    out.push(...inlineOf(child, text));
    at = child.to;
    // The blanks behind the mark of a heading or a task are no words.
    if (/^(?:HeaderMark|TaskMarker|QuoteMark)$/.test(child.name)) {
      at += /^[ \t]*/.exec(text.slice(at, node.to))?.[0].length ?? 0;
    }
  }
  words(node.to);
  return trimmed(merged(out));
}

function inlineOf(node: SyntaxNode, text: string): readonly AnswerInline[] {
  const written = text.slice(node.from, node.to);
  switch (node.name) {
    case "Emphasis":
      return [{ type: "emphasis", inlines: inlinesOf(node, text) }];
    case "StrongEmphasis":
      return [{ type: "strong", inlines: inlinesOf(node, text) }];
    case "Strikethrough":
      return [{ type: "strike", inlines: inlinesOf(node, text) }];
    case "InlineCode": {
      const [open, close] = node.getChildren("CodeMark");
      const code = open && close ? text.slice(open.to, close.from) : written;
      const inner = code.replace(/\n/g, " ");
      return [{ type: "code", text: /^ .*[^ ].* $/s.test(inner) ? inner.slice(1, -1) : inner }];
    }
    case "Link": {
      const url = node.getChild("URL");
      if (url === null) {
        // A reference, which an answer has no definitions for.
        return [{ type: "text", text: joinLines(written) }];
      }
      return [{ type: "link", target: targetOf(text.slice(url.from, url.to)), inlines: labelOf(node, text) }];
    }
    case "Image": {
      const url = node.getChild("URL");
      const alt = plainText(labelOf(node, text));
      return [{ type: "image", target: url ? targetOf(text.slice(url.from, url.to)) : "", alt }];
    }
    case "Autolink": {
      const url = node.getChild("URL");
      const address = url ? text.slice(url.from, url.to) : written;
      return [{ type: "link", target: addressOf(address), inlines: [{ type: "text", text: address }] }];
    }
    case "URL":
      return [{ type: "link", target: addressOf(written), inlines: [{ type: "text", text: written }] }];
    case "Escape":
      return [{ type: "text", text: written.slice(1) }];
    case "Entity":
      return [{ type: "text", text: entityOf(written) }];
    case "HardBreak":
      return [{ type: "break" }];
    case "HTMLTag":
    case "Comment":
    case "ProcessingInstruction":
      return [{ type: "text", text: written }];
    default:
      // Marks.
      return [];
  }
}

/** What stands between the first two brackets of a link or an image. */
function labelOf(node: SyntaxNode, text: string): readonly AnswerInline[] {
  const [open, close] = node.getChildren("LinkMark");
  if (!open || !close) {
    return [];
  }
  const out: AnswerInline[] = [];
  let at = open.to;
  for (const child of childrenOf(node)) {
    if (child.from < open.to || child.to > close.from) {
      continue;
    }
    if (child.from > at) {
      out.push({ type: "text", text: joinLines(text.slice(at, child.from)) });
    }
    out.push(...inlineOf(child, text));
    at = child.to;
  }
  if (close.from > at) {
    out.push({ type: "text", text: joinLines(text.slice(at, close.from)) });
  }
  return merged(out);
}

/** The words of inlines, without what marks them. */
export function plainText(inlines: readonly AnswerInline[]): string {
  return inlines.map(wordsOf).join("");
}

function wordsOf(inline: AnswerInline): string {
  switch (inline.type) {
    case "text":
    case "code":
      return inline.text;
    case "break":
      return " ";
    case "image":
      return inline.alt;
    case "link":
    case "strong":
    case "emphasis":
    case "strike":
      return plainText(inline.inlines);
  }
}

function targetOf(written: string): string {
  return written.replace(/^<(.*)>$/s, "$1").replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

function addressOf(written: string): string {
  return /^www\./i.test(written)
    ? `https://${written}`
    : /^[^\s:/@]+@/.test(written)
      ? `mailto:${written}`
      : written;
}

/** A line break within a paragraph is a blank; between two Chinese characters it is nothing. */
function joinLines(text: string): string {
  return text.replace(/(.?)[ \t]*\n[ \t]*(?=(.?))/gsu, (_, before: string, after: string) =>
    isHan(before) && isHan(after) ? before : `${before} `,
  );
}

function isHan(character: string): boolean {
  return /[\p{Script=Han}，。；：、？！“”（）]/u.test(character);
}

const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", "\u00a0"],
  ["ndash", "–"],
  ["mdash", "—"],
  ["hellip", "…"],
]);

function entityOf(written: string): string {
  const name = written.slice(1, -1);
  const number = /^#(?:[xX]([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name);
  if (number === null) {
    return entities.get(name) ?? written;
  }
  const code = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16);
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    ? String.fromCodePoint(code)
    : "\ufffd";
}

function merged(inlines: readonly AnswerInline[]): readonly AnswerInline[] {
  const out: AnswerInline[] = [];
  for (const inline of inlines) {
    const before = out.at(-1);
    if (inline.type === "text" && before?.type === "text") {
      out[out.length - 1] = { type: "text", text: before.text + inline.text };
    } else {
      out.push(inline);
    }
  }
  return out;
}

function trimmed(inlines: readonly AnswerInline[]): readonly AnswerInline[] {
  return inlines
    .map((inline, i) => {
      if (inline.type !== "text") {
        return inline;
      }
      const { text } = inline;
      const start = i === 0 ? text.trimStart() : text;
      return { type: "text", text: i === inlines.length - 1 ? start.trimEnd() : start } as const;
    })
    .filter((inline) => inline.type !== "text" || inline.text !== "");
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    out.push(child);
  }
  return out;
}
