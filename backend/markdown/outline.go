package markdown

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Heading is one heading of a text.
type Heading struct {
	// Level is 1 to 6.
	Level int
	// Line is the number of the line it begins in, from 1.
	Line int
	// Text is its content as it is written, on one line; it may be empty.
	Text string
}

// Outline returns the headings of a text in order, also those inside of quotes
// and lists, and none inside of code, front matter, math and comments. It is
// never nil.
func Outline(s string) []Heading {
	skip := frontMatterEnd(s)
	source := shallow([]byte(s[skip:]))
	pc := parser.NewContext()
	pc.Set(finderKey, &finder{source: source})
	root := blockParser().Parse(gmtext.NewReader(source), parser.WithContext(pc))
	out := []Heading{}
	line, seen := 1+strings.Count(s[:skip], "\n"), 0
	// The callback returns no error.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		at := max(h.Pos(), 0)
		words := make([]string, 0, h.Lines().Len())
		for i := range h.Lines().Len() {
			segment := h.Lines().At(i)
			if i == 0 {
				at = segment.Start
			}
			words = append(words, strings.TrimSpace(string(segment.Value(source))))
		}
		line += strings.Count(string(source[seen:max(at, seen)]), "\n")
		seen = max(at, seen)
		out = append(out, Heading{Level: h.Level, Line: line, Text: strings.Join(words, " ")})
		return ast.WalkSkipChildren, nil
	})
	return out
}

// blockParser is linkParser for what does not ask what a line holds.
var blockParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(),
			util.Prioritized(mathBlock{}, 690),
			util.Prioritized(extension.NewFootnoteBlockParser(), 999),
		)...),
		parser.WithParagraphTransformers(
			util.Prioritized(bounded{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(bounded{extension.NewTableParagraphTransformer()}, 200),
		),
	)
})

// longestParagraph is the most lines of a paragraph in which definitions and
// tables are looked for: the parser's time grows with their square.
const longestParagraph = 1000

// bounded leaves a paragraph that is too long as it is.
type bounded struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (b bounded) Transform(n *ast.Paragraph, reader gmtext.Reader, pc parser.Context) {
	if n.Lines().Len() <= longestParagraph {
		b.ParagraphTransformer.Transform(n, reader, pc)
	}
}

// deepestQuote is how many marks of a quote a line may begin with, for the same
// reason.
const deepestQuote = 100

// shallow makes text of the marks past deepestQuote that a line begins with. It
// changes source in place, and no length.
func shallow(source []byte) []byte {
	depth, start := 0, true
	for i, c := range source {
		switch {
		case c == '\n':
			depth, start = 0, true
		case !start, c == ' ', c == '\t':
		case c != '>':
			start = false
		default:
			if depth++; depth > deepestQuote {
				source[i] = 'x'
				start = false
			}
		}
	}
	return source
}
