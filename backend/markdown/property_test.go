package markdown

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"galley/backend/text"
)

// pieces are what random texts are put together from.
var pieces = []string{
	"[", "]", "(", ")", "<", ">", "!", "[[", "]]", "](", "[a](b.md)", "![i](p.png)", "[r]: ", "[r]", "[^1]: ", "[[N|x]]", "`", "```\n", "~~~", "$", "$$", "\n", "\n\n", "> ", "- ", "\t", "    ", "1. ",
	"\\", "\\(", "&amp;", "&#x41;", "%20", "夜", "🦊", "e\u0301", "a", "b.md", " ", "\"t\"", "'t'", "(t)", "#", "|", "| - |\n", "---\n", "===\n", "<a href=\"x\">", "<img src=y.png>", "<div>\n", "<!--", "-->", "<https://e.invalid>", "<script>", "</script>", "*", "_", "~",
	"\x00", "\u2028", "\ufeff",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// TestLinks_AreTheParsers: what Links finds is what the tree holds, each range
// holds the very destination, and no two overlap.
func TestLinks_AreTheParsers(t *testing.T) {
	seen := 0
	for seed := range uint64(10_000) {
		seen += checkLinks(t, randomText(rand.New(rand.NewPCG(seed, 1))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if seen < 4_000 {
		t.Errorf("only %d links were seen", seen)
	}
}

func FuzzLinks(f *testing.F) {
	for _, p := range pieces {
		f.Add(p + "[a](b.md)" + p + "[[c]]")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, '\r') || strings.ToValidUTF8(s, "") != s {
			t.Skip()
		}
		checkLinks(t, s)
	})
}

func checkLinks(t *testing.T, s string) int {
	t.Helper()
	links := Links(s)
	var want []string
	pc := parser.NewContext()
	rest := []byte(s[frontMatterEnd(s):])
	pc.Set(finderKey, &finder{source: rest})
	root := linkParser().Parse(gmtext.NewReader(rest), parser.WithContext(pc))
	note := func(kind Kind, dest []byte) {
		if len(dest) > 0 {
			want = append(want, string(kind)+" "+string(dest))
		}
	}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				if n.Reference == nil {
					note(Inline, n.Destination)
				}
			case *ast.Image:
				if n.Reference == nil {
					note(Image, n.Destination)
				}
			case *ast.LinkReferenceDefinition:
				note(Definition, n.Destination)
			case *ast.AutoLink:
				note(Autolink, n.Label(rest))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ix := text.NewIndex(s)
	last := 0
	for _, l := range links {
		raw, err := ix.Slice(l.DestFrom, l.DestTo)
		if err != nil || raw != l.Raw || raw == "" || strings.Contains(raw, "\n") {
			t.Errorf("%q: %+v holds %q, %v", s, l, raw, err)
		}
		if l.DestFrom < last || l.From > l.DestFrom || l.To < l.DestTo {
			t.Errorf("%q: %+v overlaps or lies outside of its link", s, l)
		}
		last = l.DestTo
		whole, err := ix.Slice(l.From, l.To)
		if err != nil {
			t.Errorf("%q: %+v: %v", s, l, err)
			continue
		}
		fits := map[Kind]bool{
			Inline: strings.HasPrefix(whole, "[") && strings.HasSuffix(whole, ")"), Image: strings.HasPrefix(whole, "![") && strings.HasSuffix(whole, ")"),
			Definition: strings.HasPrefix(whole, "["), Autolink: whole == "<"+raw+">",
			Wikilink: strings.HasPrefix(whole, "[[") && strings.HasSuffix(whole, "]]"), Embed: strings.HasPrefix(whole, "![[") && strings.HasSuffix(whole, "]]"),
			HTML: strings.HasPrefix(whole, "<") && strings.HasSuffix(whole, ">"),
		}
		if !fits[l.Kind] {
			t.Errorf("%q: %s is %q", s, l.Kind, whole)
		}
		switch l.Kind {
		case Inline, Image, Definition, Autolink:
			got = append(got, string(l.Kind)+" "+raw)
		case Wikilink, Embed, HTML:
		}
		if (l.Kind == Inline || l.Kind == Image || l.Kind == Definition) && !strings.Contains(raw, `\&`) {
			theirs := util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(raw))))
			if string(theirs) != l.Target {
				t.Errorf("%q: read as %q, the parser has %q", raw, l.Target, theirs)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q:\nfound %q\ntree  %q", s, got, want)
	}
	return len(links)
}
