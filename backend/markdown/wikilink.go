package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
)

// wikilinks parses [[Name]], [[Name#heading]], [[Name|alias]] and the same
// behind "!".
type wikilinks struct{}

// Trigger implements parser.InlineParser.
func (wikilinks) Trigger() []byte { return []byte{'!', '['} }

// Parse implements parser.InlineParser.
func (wikilinks) Parse(_ ast.Node, block gmtext.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if segment.Padding != 0 {
		return nil
	}
	kind, open := Wikilink, 2
	if line[0] == '!' {
		kind, open = Embed, 3
	}
	if !bytes.HasPrefix(line[open-2:], []byte("[[")) {
		return nil
	}
	length := bytes.IndexAny(line[open:], "[]\n")
	if length <= 0 || !bytes.HasPrefix(line[open+length:], []byte("]]")) {
		return nil
	}
	end := open + length + 2
	inner := line[open : open+length]
	name := inner
	if i := bytes.IndexAny(inner, "#|"); i >= 0 {
		name = inner[:i]
		if inner[i] == '|' {
			// Inside of a table the bar is escaped.
			name = bytes.TrimSuffix(name, []byte(`\`))
		}
	}
	trimmed := bytes.TrimLeft(name, " \t")
	from := segment.Start + open + len(name) - len(trimmed)
	trimmed = bytes.TrimRight(trimmed, " \t")
	if len(trimmed) > 0 {
		f := finderOf(pc)
		f.found = append(f.found, raw{
			kind, segment.Start, segment.Start + end, from, from + len(trimmed), Form{Syntax: Wiki},
		})
	}
	block.Advance(end)
	// What stands for the link in the tree is of no use to anybody.
	return ast.NewTextSegment(gmtext.NewSegment(segment.Start, segment.Start+end))
}
