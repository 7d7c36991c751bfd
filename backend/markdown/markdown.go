// Package markdown owns what a Markdown text holds: its links, with the exact
// range of each destination and the forms in which one can be written, and its
// headings.
//
// It is a leaf over goldmark, whose home it is, and knows no path, no file and
// no agent: what a destination leads to is for others to find. Texts are LF
// only; positions are UTF-16 code units. All functions are pure and safe for
// concurrent use. The invariant that matters: the range of a destination holds
// exactly the characters that the parser took for it, so that an edit of it
// touches nothing else.
package markdown

import (
	"slices"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"galley/backend/text"
)

// Kind is the form of a link.
type Kind string

// The kinds. Wikilink and Embed are [[Name]] and ![[Name]]; HTML is an href or
// src attribute of a raw tag.
const (
	Inline     Kind = "inline"
	Image      Kind = "image"
	Definition Kind = "definition"
	Autolink   Kind = "autolink"
	Wikilink   Kind = "wikilink"
	Embed      Kind = "embed"
	HTML       Kind = "html"
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	switch k {
	case Inline, Image, Definition, Autolink, Wikilink, Embed, HTML:
		return true
	}
	return false
}

// Link is one place of a text that names a destination. A reference link has
// none of its own: its definition has.
type Link struct {
	Kind Kind
	// From and To are the whole link: for HTML the tag.
	From, To int
	// DestFrom and DestTo are the destination as it is written, without angle
	// brackets or quotes; for a wikilink the name up to # or |.
	DestFrom, DestTo int
	// Raw is the text between DestFrom and DestTo; never empty.
	Raw string
	// Target is Raw without the escapes of Markdown or HTML. It still is a URL,
	// with its own escapes, but for a wikilink.
	Target string
	// Form is how the destination is written; see [Form.Write].
	Form Form
}

// Links returns the links of a text in the order of their destinations. It
// finds none inside of code, front matter, math and comments, and none whose
// destination is empty.
func Links(s string) []Link {
	skip := frontMatterEnd(s)
	f := &finder{source: []byte(s[skip:])}
	pc := parser.NewContext()
	pc.Set(finderKey, f)
	root := linkParser().Parse(gmtext.NewReader(f.source), parser.WithContext(pc))
	f.walk(root)
	slices.SortFunc(f.found, func(a, b raw) int { return a.destFrom - b.destFrom })
	ix := text.NewIndex(s)
	out := make([]Link, 0, len(f.found))
	for _, r := range f.found {
		written := string(f.source[r.destFrom:r.destTo])
		out = append(out, Link{
			Kind: r.kind,
			From: ix.UTF16(skip + r.from), To: ix.UTF16(skip + r.to),
			DestFrom: ix.UTF16(skip + r.destFrom), DestTo: ix.UTF16(skip + r.destTo),
			Raw: written, Target: r.form.read(written), Form: r.form,
		})
	}
	return out
}

// raw is a link in byte offsets of the finder's source.
type raw struct {
	kind             Kind
	from, to         int
	destFrom, destTo int
	form             Form
}

// finder collects the links of one text while and after it is parsed.
type finder struct {
	source []byte
	found  []raw
	// noMath is set once it is known that no $$ follows.
	noMath bool
	// unclosed holds for each length of mark the end of a line in which no
	// closing one follows.
	unclosed [2]int
}

var finderKey = parser.NewContextKey()

func finderOf(pc parser.Context) *finder {
	// Links sets it for every parse.
	f, _ := pc.Get(finderKey).(*finder)
	return f
}

// linkParser is CommonMark with what else decides where links can be: tables,
// footnotes, math and wikilinks.
var linkParser = sync.OnceValue(func() parser.Parser {
	inline := parser.DefaultInlineParsers()
	for i, p := range inline {
		if p.Value == parser.NewLinkParser() {
			inline[i].Value = noticing{parser.NewLinkParser()}
		}
	}
	return parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(),
			util.Prioritized(mathBlock{}, 690),
			util.Prioritized(extension.NewFootnoteBlockParser(), 999),
		)...),
		parser.WithInlineParsers(append(inline,
			util.Prioritized(mathInline{}, 150),
			util.Prioritized(wikilinks{}, 199),
		)...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		)...),
	)
})

// noticing is goldmark's parser of links; it notes where each one is, which
// the tree does not tell.
type noticing struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p noticing) Parse(parent ast.Node, block gmtext.Reader, pc parser.Context) ast.Node {
	n := p.InlineParser.Parse(parent, block, pc)
	_, after := block.Position()
	switch l := n.(type) {
	case *ast.Link:
		if l.Reference == nil {
			finderOf(pc).add(Inline, l.Pos(), after.Start, l.Destination)
		}
	case *ast.Image:
		if l.Reference == nil {
			finderOf(pc).add(Image, l.Pos(), after.Start, l.Destination)
		}
	}
	return n
}

// CloseBlock implements parser.CloseBlocker.
func (p noticing) CloseBlock(parent ast.Node, block gmtext.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// add notes a link whose destination the parser cut out of the source.
func (f *finder) add(kind Kind, from, to int, dest []byte) {
	at, ok := f.offset(dest)
	if !ok {
		return
	}
	form := Form{Syntax: Plain}
	if at > 0 && f.source[at-1] == '<' {
		form.Syntax = Angle
	}
	f.found = append(f.found, raw{kind, from, to, at, at + len(dest), form})
}

// offset returns where part lies in the source. The parser hands out parts of
// the source itself, never copies of what can hold a destination, so that the
// place is known and not searched for. An empty part has no place.
func (f *finder) offset(part []byte) (int, bool) {
	if len(part) == 0 {
		return 0, false
	}
	at := cap(f.source) - cap(part)
	if at < 0 || at+len(part) > len(f.source) || &f.source[at] != &part[0] {
		return 0, false
	}
	return at, true
}

// walk notes what can be read off the tree.
func (f *finder) walk(root ast.Node) {
	// The callback returns no error.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.LinkReferenceDefinition:
			if lines := n.Lines(); lines.Len() > 0 {
				f.add(Definition, lines.At(0).Start, lines.At(lines.Len()-1).Stop, n.Destination)
			}
		case *ast.AutoLink:
			f.add(Autolink, n.Pos(), n.Pos()+len(n.Label(f.source))+2, n.Label(f.source))
		case *ast.RawHTML:
			f.html(n.Segments)
		case *ast.HTMLBlock:
			lines := *n.Lines()
			if n.HasClosure() {
				lines = *gmtext.NewSegments()
				lines.AppendAll(n.Lines().Sliced(0, n.Lines().Len()))
				lines.Append(n.ClosureLine)
			}
			f.html(&lines)
		}
		return ast.WalkContinue, nil
	})
}
