package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
)

// mathKind marks a block of math in the tree.
var mathKind = ast.NewNodeKind("Math")

type mathNode struct{ ast.BaseBlock }

// Kind implements ast.Node.
func (*mathNode) Kind() ast.NodeKind { return mathKind }

// IsRaw implements ast.Node: nothing inside is Markdown.
func (*mathNode) IsRaw() bool { return true }

// Dump implements ast.Node.
func (n *mathNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// mathBlock parses a block between two lines with $$, which is no math where
// the second is missing.
type mathBlock struct{}

var mathMark = []byte("$$")

// Trigger implements parser.BlockParser.
func (mathBlock) Trigger() []byte { return []byte{'$'} }

// Open implements parser.BlockParser.
func (mathBlock) Open(_ ast.Node, reader gmtext.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || !bytes.HasPrefix(line[at:], mathMark) || bytes.Contains(line[at+2:], mathMark) {
		return nil, parser.NoChildren
	}
	f := finderOf(pc)
	if f.noMath || !bytes.Contains(f.source[segment.Stop:], mathMark) {
		// Asked once: every later line is behind this one.
		f.noMath = true
		return nil, parser.NoChildren
	}
	reader.AdvanceToEOL()
	return &mathNode{}, parser.NoChildren
}

// Continue implements parser.BlockParser.
func (mathBlock) Continue(_ ast.Node, reader gmtext.Reader, _ parser.Context) parser.State {
	line, _ := reader.PeekLine()
	reader.AdvanceToEOL()
	if bytes.Contains(line, mathMark) {
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

// Close implements parser.BlockParser.
func (mathBlock) Close(ast.Node, gmtext.Reader, parser.Context) {}

// CanInterruptParagraph implements parser.BlockParser.
func (mathBlock) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements parser.BlockParser.
func (mathBlock) CanAcceptIndentedLine() bool { return false }

// mathInline parses $x$ and $$x$$ within a line. As pandoc has it, a single
// opening mark stands before no blank, a closing one behind none and before no
// digit, so that prices are no math.
type mathInline struct{}

// Trigger implements parser.InlineParser.
func (mathInline) Trigger() []byte { return []byte{'$'} }

// Parse implements parser.InlineParser.
func (mathInline) Parse(_ ast.Node, block gmtext.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	mark := 1
	if bytes.HasPrefix(line, mathMark) {
		mark = 2
	}
	f := finderOf(pc)
	if segment.Padding != 0 || f.unclosed[mark-1] == segment.Stop {
		return nil
	}
	end := mathEnd(line, mark)
	if end == 0 {
		return nil
	}
	if end < 0 {
		// A later mark of the line has none either.
		f.unclosed[mark-1] = segment.Stop
		return nil
	}
	block.Advance(end)
	return ast.NewTextSegment(gmtext.NewSegment(segment.Start, segment.Start+end))
}

// mathEnd returns the length of the math that line begins with, marks of that
// length around it; 0 when it begins none and -1 when no closing mark follows.
func mathEnd(line []byte, mark int) int {
	if len(line) <= mark || mark == 1 && isBlank(line[1]) {
		return 0
	}
	for i := mark; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case mark == 2 && i > 2 && bytes.HasPrefix(line[i:], mathMark):
			return i + 2
		case mark == 1 && line[i] == '$' && !isBlank(line[i-1]) && (i+1 == len(line) || line[i+1] < '0' || line[i+1] > '9'):
			return i + 1
		}
	}
	return -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
