/**
 * How Markdown looks in the page: classes for the syntax, and lines of their
 * own kind. Colours and sizes are in editor.css, by tokens.
 */

import { syntaxHighlighting, syntaxTree } from "@codemirror/language";
import type { Extension, Range } from "@codemirror/state";
import type { DecorationSet, ViewUpdate } from "@codemirror/view";
import { Decoration, type EditorView, ViewPlugin } from "@codemirror/view";
import type { SyntaxNodeRef } from "@lezer/common";
import { tagHighlighter, tags } from "@lezer/highlight";
import { isComposing } from "./composition";

const classes = tagHighlighter([
  { tag: tags.heading, class: "md-heading" },
  { tag: tags.strong, class: "md-strong" },
  { tag: tags.emphasis, class: "md-em" },
  { tag: tags.strikethrough, class: "md-strike" },
  { tag: tags.link, class: "md-link" },
  { tag: tags.url, class: "md-url" },
  { tag: tags.labelName, class: "md-label" },
  { tag: tags.monospace, class: "md-code" },
  { tag: tags.processingInstruction, class: "md-mark" },
  { tag: tags.contentSeparator, class: "md-mark" },
  { tag: tags.meta, class: "md-meta" },
  { tag: tags.escape, class: "md-mark" },
  { tag: tags.character, class: "md-mark" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.tagName, tags.typeName], class: "code-key" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.attributeValue], class: "code-str" },
  { tag: [tags.number, tags.bool, tags.null, tags.attributeName, tags.propertyName], class: "code-num" },
  { tag: tags.comment, class: "code-note" },
  // Task markers are atoms as well, and nothing in prose is blue.
  { tag: tags.atom, class: "code-atom" },
]);

/** The look of Markdown. */
export function markdownLook(): Extension {
  return [syntaxHighlighting(classes), lineLook];
}

/** The class of all lines of a block. */
const blockLines: ReadonlyMap<string, string> = new Map([
  ["FrontMatter", "md-fm"],
  ["FencedCode", "md-pre"],
  ["CodeBlock", "md-pre"],
  ["HTMLBlock", "md-html"],
  ["Table", "md-table"],
  ["Blockquote", "md-quote"],
  ["HorizontalRule", "md-hr"],
]);

/** The block's own first line only, and how deep a heading's mark can hang in the margin. */
const headings: ReadonlyMap<string, number> = new Map([
  ["ATXHeading1", 1],
  ["ATXHeading2", 2],
  ["ATXHeading3", 3],
  ["ATXHeading4", 4],
  ["ATXHeading5", 5],
  ["ATXHeading6", 6],
  ["SetextHeading1", 1],
  ["SetextHeading2", 2],
]);

/** Marks of more signs than this would not fit into the margin. */
const deepestHanging = 3;

const lineLook = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = lines(view);
    }

    update(update: ViewUpdate): void {
      const parsed = syntaxTree(update.startState) !== syntaxTree(update.state);
      if (!update.docChanged && !update.viewportChanged && !parsed) return;
      // While composing, what is there moves along; the rest comes afterwards.
      this.decorations =
        isComposing(update.view) && update.docChanged
          ? this.decorations.map(update.changes)
          : lines(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function lines(view: EditorView): DecorationSet {
  const out: Range<Decoration>[] = [];
  const seen = new Set<string>();
  for (const { from, to } of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      from,
      to,
      enter: (node) => {
        const name = node.name;
        const level = headings.get(name);
        if (level !== undefined) {
          mark(view, node, `md-h md-h${level}`, from, to, seen, out);
          if (name.startsWith("ATX") && level <= deepestHanging) hang(view, node, level, seen, out);
        }
        const block = blockLines.get(name);
        if (block !== undefined) mark(view, node, block, from, to, seen, out);
      },
    });
  }
  return Decoration.set(out, true);
}

/** Gives all lines of a node that are visible a class. */
function mark(
  view: EditorView,
  node: SyntaxNodeRef,
  name: string,
  from: number,
  to: number,
  seen: Set<string>,
  out: Range<Decoration>[],
): void {
  const { doc } = view.state;
  const end = Math.min(node.to, to);
  for (let line = doc.lineAt(Math.max(node.from, from)); line.from <= end; line = doc.line(line.number + 1)) {
    const key = `${line.from} ${name}`;
    if (!seen.has(key)) {
      seen.add(key);
      out.push(Decoration.line({ class: name }).range(line.from));
    }
    if (line.number === doc.lines) break;
  }
}

/** Lets the mark of a heading that starts its line hang in the margin, so that the words do not shift. */
function hang(
  view: EditorView,
  node: SyntaxNodeRef,
  level: number,
  seen: Set<string>,
  out: Range<Decoration>[],
): void {
  const line = view.state.doc.lineAt(node.from);
  const key = `${line.from} hang`;
  if (line.from !== node.from || seen.has(key) || line.length <= level) return;
  seen.add(key);
  out.push(Decoration.mark({ class: "md-hang" }).range(line.from, line.from + level + 1));
}
