package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/text"
)

// show writes a link as kind|raw|target|whole.
func show(t *testing.T, s string, l Link) string {
	t.Helper()
	ix := text.NewIndex(s)
	dest, err := ix.Slice(l.DestFrom, l.DestTo)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ix.Slice(l.From, l.To)
	if err != nil {
		t.Fatal(err)
	}
	if dest != l.Raw {
		t.Errorf("%q: the range holds %q, Raw is %q", s, dest, l.Raw)
	}
	if !l.Kind.Valid() || !l.Form.Syntax.Valid() {
		t.Errorf("%q: %+v", s, l)
	}
	return fmt.Sprintf("%s|%s|%s|%s", l.Kind, dest, l.Target, whole)
}

func TestLinks_Forms(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"no links [a] (b) here", nil},
		{"[a](b.md)", []string{"inline|b.md|b.md|[a](b.md)"}},
		{"茶 🦊 [夜](夜.md) x", []string{"inline|夜.md|夜.md|[夜](夜.md)"}},
		{"[a]( b.md )", []string{"inline|b.md|b.md|[a]( b.md )"}},
		{"[a](\n  b.md\n  \"title\")", []string{"inline|b.md|b.md|[a](\n  b.md\n  \"title\")"}},
		{"[a](b.md \"t (x)\") c", []string{`inline|b.md|b.md|[a](b.md "t (x)")`}},
		{"[a](b.md 't') [c](d.md (e))", []string{"inline|b.md|b.md|[a](b.md 't')", "inline|d.md|d.md|[c](d.md (e))"}},
		{"[a](<my note.md>)", []string{"inline|my note.md|my note.md|[a](<my note.md>)"}},
		{`[a](<b\>c.md> "t")`, []string{`inline|b\>c.md|b>c.md|[a](<b\>c.md> "t")`}},
		{"[a](my%20note.md)", []string{"inline|my%20note.md|my%20note.md|[a](my%20note.md)"}},
		{"[a](%E5%A4%9C.md#h)", []string{"inline|%E5%A4%9C.md#h|%E5%A4%9C.md#h|[a](%E5%A4%9C.md#h)"}},
		{`[a](b\(c.md)`, []string{`inline|b\(c.md|b(c.md|[a](b\(c.md)`}},
		{"[a](b(c)d.md)", []string{"inline|b(c)d.md|b(c)d.md|[a](b(c)d.md)"}},
		{"[a](b&amp;c&#46;md)", []string{"inline|b&amp;c&#46;md|b&c.md|[a](b&amp;c&#46;md)"}},
		{`[a](b\&amp;c.md)`, []string{`inline|b\&amp;c.md|b&amp;c.md|[a](b\&amp;c.md)`}},
		{"[a](sub\\note.md)", []string{`inline|sub\note.md|sub\note.md|[a](sub\note.md)`}},
		{"[a](#h) [b](?q) [c](/r.md?x#y)", []string{"inline|#h|#h|[a](#h)", "inline|?q|?q|[b](?q)", "inline|/r.md?x#y|/r.md?x#y|[c](/r.md?x#y)"}},
		{"[a]() [b](<>)", nil},
		{"![a](b.png)", []string{"image|b.png|b.png|![a](b.png)"}},
		{"[![a](b.png)](c.md)", []string{"image|b.png|b.png|![a](b.png)", "inline|c.md|c.md|[![a](b.png)](c.md)"}},
		{"[a *b* `c](d)` e](f.md)", []string{"inline|f.md|f.md|[a *b* `c](d)` e](f.md)"}},
		{"[r]: b.md", []string{"definition|b.md|b.md|[r]: b.md"}},
		{"see [r]\n\n [r]:\n   <b c.md>\n   'title'\n", []string{"definition|b c.md|b c.md|[r]:\n   <b c.md>\n   'title'"}},
		{"[r]: b.md\n[s]: c.md \"x\"\ntext", []string{"definition|b.md|b.md|[r]: b.md", `definition|c.md|c.md|[s]: c.md "x"`}},
		{"> - [r]: b.md\n", []string{"definition|b.md|b.md|[r]: b.md"}},
		{"[x][r] [r] [x][]\n\n[r]: b.md\n", []string{"definition|b.md|b.md|[r]: b.md"}},
		{"[^1]: note.md\n[^2]: see [a](b.md)\n", []string{"inline|b.md|b.md|[a](b.md)"}},
		{"<https://e.invalid/a> <me@e.invalid>", []string{"autolink|https://e.invalid/a|https://e.invalid/a|<https://e.invalid/a>", "autolink|me@e.invalid|me@e.invalid|<me@e.invalid>"}},
		{"[[Name]]", []string{"wikilink|Name|Name|[[Name]]"}},
		{"a [[ Name ]] b", []string{"wikilink|Name|Name|[[ Name ]]"}},
		{"[[Name|alias]] [[Name#h]] [[Name#h|a]] [[f/Name]]", []string{
			"wikilink|Name|Name|[[Name|alias]]", "wikilink|Name|Name|[[Name#h]]", "wikilink|Name|Name|[[Name#h|a]]", "wikilink|f/Name|f/Name|[[f/Name]]",
		}},
		{"![[a b.png|100]] 前[[夜 路]]后", []string{"embed|a b.png|a b.png|![[a b.png|100]]", "wikilink|夜 路|夜 路|[[夜 路]]"}},
		{"[[#h]] [[|a]] [[ ]] [[a\nb]] [[a]b]]", nil},
		{`| a | b |` + "\n| - | - |\n" + `| [[N\|x]] | [c](d.md) |`, []string{`wikilink|N|N|[[N\|x]]`, "inline|d.md|d.md|[c](d.md)"}},
		{"\\[[a]] \\![[b]]", []string{"wikilink|b|b|[[b]]"}},
		{"> > [a](b.md)\n> > [c](\n> > d.md)\n", []string{"inline|b.md|b.md|[a](b.md)", "inline|d.md|d.md|[c](\n> > d.md)"}},
		{"- x\n\t- [a](b.md)\n\t  [c](d.md)", []string{"inline|b.md|b.md|[a](b.md)", "inline|d.md|d.md|[c](d.md)"}},
		{"# [a](b.md) #\n\n[c](d.md)\n===\n", []string{"inline|b.md|b.md|[a](b.md)", "inline|d.md|d.md|[c](d.md)"}},
		{"<img src=\"a.png\"> <a title='x' href='b.md'>t</a>", []string{`html|a.png|a.png|<img src="a.png">`, `html|b.md|b.md|<a title='x' href='b.md'>`}},
		{"<div>\n<img alt=x src=a&amp;b.png />\n<A HREF = \"c d.md\">\n</div>\n", []string{"html|a&amp;b.png|a&b.png|<img alt=x src=a&amp;b.png />", `html|c d.md|c d.md|<A HREF = "c d.md">`}},
		{"> <div>\n> <a\n> href='b.md'>\n> </div>\n", []string{"html|b.md|b.md|<a\n> href='b.md'>"}},
		{"<script>\nlet a = \"<a href='b.md'>\"\n</script>\n", nil},
		{"<pre>\n<a href='b.md'>\n</pre>\n", []string{"html|b.md|b.md|<a href='b.md'>"}},
		{"<div data-href='b.md' href>\n", nil},
		// Nothing inside of what is not prose.
		{"`[a](b.md)` ``[[c]]``", nil},
		{"```md\n[a](b.md)\n[[c]]\n```\n\n    [d](e.md)\n\n~~~\n[r]: f.md\n", nil},
		{"---\nup: \"[[a]]\"\nx: [b](c.md)\n---\n[d](e.md)", []string{"inline|e.md|e.md|[d](e.md)"}},
		{"--- \na: b\n...\n[d](e.md)", []string{"inline|e.md|e.md|[d](e.md)"}},
		{"---\n[d](e.md)\n", []string{"inline|e.md|e.md|[d](e.md)"}},
		{"$[a](b.md)$ $$[c](d.md)$$", nil},
		{"costs $5 [a](b.md), not $6", []string{"inline|b.md|b.md|[a](b.md)"}},
		{"$$\n[a](b.md)\n\n[[c]]\n$$\n[d](e.md)", []string{"inline|e.md|e.md|[d](e.md)"}},
		{"$$\n[a](b.md)\n", []string{"inline|b.md|b.md|[a](b.md)"}},
		{"x <!-- [a](b.md) --> <!--\n[[c]] --> y", nil},
		{"<!--\n[a](b.md)\n<img src=x.png>\n-->\n", nil},
		{"<div>\n<!-- <img src=x.png> --><img src=y.png>\n</div>", []string{"html|y.png|y.png|<img src=y.png>"}},
		{`\[a](b.md) [c\](d.md)`, nil},
	} {
		var got []string
		for _, l := range Links(c.text) {
			got = append(got, show(t, c.text, l))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q:\n%s", c.text, d)
		}
	}
}

func TestForm_WriteReadsBack(t *testing.T) {
	targets := []string{
		"a.md", "a b.md", "a(b.md", "a)b.md", "a(b)c.md", `a\b.md`, `a\(b.md`, `a\`, "a&amp;b.md", "a&b.md", "<a>.md", `"a".md`, "'a'.md", "夜.md", "a%20b.md", "a=b.md", "a`b.md",
		"&semi;", "&copy", "&notit;", "a#b", "a|b", " a", "[a]",
	}
	docs := map[Syntax]string{
		Plain: "[x](%s)", Angle: "[x](<%s>)", Wiki: "[[%s]]",
		DoubleQuoted: `<a href="%s">`, SingleQuoted: "<a href='%s'>", Unquoted: "<a href=%s>",
	}
	for syntax, doc := range docs {
		held := 0
		for _, target := range targets {
			written, ok := Form{syntax}.Write(target)
			if !ok {
				continue
			}
			held++
			s := "p " + strings.Replace(doc, "%s", written, 1)
			links := Links(s)
			if len(links) != 1 || links[0].Target != target || links[0].Form.Syntax != syntax || links[0].Raw != written {
				t.Errorf("%s %q: written %q, read %+v", syntax, target, written, links)
			}
		}
		if held < 10 {
			t.Errorf("%s holds only %d", syntax, held)
		}
		for _, bad := range []string{"", "a\nb", "a\tb", "a\x7fb"} {
			if _, ok := (Form{syntax}).Write(bad); ok {
				t.Errorf("%s holds %q", syntax, bad)
			}
		}
	}
}
