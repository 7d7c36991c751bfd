/** A Markdown parser that gives front matter a node of its own. */

import type { Input, PartialParse, TreeFragment } from "@lezer/common";
import { NodeType, Parser, Tree } from "@lezer/common";
import { styleTags, tags } from "@lezer/highlight";
import type { FrontMatter } from "./frontmatter";
import { findFrontMatter } from "./frontmatter";

const markType = NodeType.define({
  id: 0,
  name: "FrontMatterMark",
  props: [styleTags({ FrontMatterMark: tags.processingInstruction })],
});

const blockType = NodeType.define({
  id: 1,
  name: "FrontMatter",
  props: [styleTags({ FrontMatter: tags.meta })],
});

/** How much is read to find the block, in UTF-16 units; a little more than it may be long. */
const reach = 64 * 1024 + 1;

type Ranges = readonly { readonly from: number; readonly to: number }[];

/**
 * Parses front matter itself and leaves the rest to `inner`, whose top node
 * then starts with a `FrontMatter` node. Where the block ends is looked up anew
 * for each parse, since closing it changes what stands before the edit too.
 */
export class FrontMatterParser extends Parser {
  constructor(private readonly inner: Parser) {
    super();
  }

  createParse(input: Input, fragments: readonly TreeFragment[], ranges: Ranges): PartialParse {
    const whole = ranges.length === 1 && ranges[0]?.from === 0;
    const block = whole ? findFrontMatter(input.read(0, Math.min(input.length, reach))) : null;
    const to = ranges[0]?.to ?? 0;
    if (block === null || block.end > to) return this.inner.createParse(input, fragments, [...ranges]);
    if (block.end === to) return new Finished(block, this.inner, to);
    const rest = this.inner.createParse(input, fragments, [{ from: block.end, to }]);
    return new FrontMatterParse(block, rest);
  }
}

class FrontMatterParse implements PartialParse {
  constructor(
    private readonly block: FrontMatter,
    private readonly rest: PartialParse,
  ) {}

  advance(): Tree | null {
    const tree = this.rest.advance();
    return tree === null ? null : withBlock(this.block, tree);
  }

  get parsedPos(): number {
    return this.rest.parsedPos;
  }

  stopAt(position: number): void {
    // The inner parse starts behind the block and cannot stop before it.
    this.rest.stopAt(Math.max(position, this.block.end));
  }

  get stoppedAt(): number | null {
    return this.rest.stoppedAt;
  }
}

/** The parse of a text that is front matter and nothing else. */
class Finished implements PartialParse {
  stoppedAt: number | null = null;

  constructor(
    private readonly block: FrontMatter,
    private readonly inner: Parser,
    readonly parsedPos: number,
  ) {}

  advance(): Tree {
    return withBlock(this.block, this.inner.parse(""));
  }

  stopAt(position: number): void {
    this.stoppedAt = position;
  }
}

function withBlock(block: FrontMatter, rest: Tree): Tree {
  const marks = [
    new Tree(markType, [], [], block.openEnd),
    new Tree(markType, [], [], block.end - block.closeStart),
  ];
  const matter = new Tree(blockType, marks, [0, block.closeStart], block.end);
  return new Tree(
    rest.type,
    [matter, ...rest.children],
    [0, ...rest.positions.map((at) => at + block.end)],
    block.end + rest.length,
    rest.propValues,
  );
}
