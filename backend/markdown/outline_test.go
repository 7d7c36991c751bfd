package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
)

// covers: T2
func TestOutline(t *testing.T) {
	h := func(level, line int, text string) Heading { return Heading{level, line, text} }
	tests := []struct {
		name, text string
		want       []Heading
	}{
		{"none", "text\n", []Heading{}},
		{"empty", "", []Heading{}},
		{"atx", "# One\n\n### Three ###\ntext\n## *Two* `x`", []Heading{h(1, 1, "One"), h(3, 3, "Three"), h(2, 5, "*Two* `x`")}},
		{"setext", "Title\nof two lines\n===\n\nSub\n---\n\n---\n", []Heading{h(1, 1, "Title of two lines"), h(2, 5, "Sub")}},
		{"empty headings", "a\n\n#\n## \n### ###\n# b", []Heading{h(1, 3, ""), h(2, 4, ""), h(3, 5, ""), h(1, 6, "b")}},
		{"fences and indents", "```\n# no\n```\n\n~~~\nno\n===\n~~~\n\n    # no\n\n# yes\n```\n# no", []Heading{h(1, 12, "yes")}},
		{"front matter", "---\ntitle: x\n# no\n---\n# yes\n", []Heading{h(1, 5, "yes")}},
		{"math and comments", "$$\n# no\n$$\n\n<!--\n# no\n-->\n\n# yes", []Heading{h(1, 9, "yes")}},
		{"quotes and lists", "> # in a quote\n\n- # in a list\n\n1. a\n\n   ## deep", []Heading{h(1, 1, "in a quote"), h(1, 3, "in a list"), h(2, 7, "deep")}},
		{"no heading", "#no\n####### no\n\\# no\n\na\n\n===\n", []Heading{}},
		{"a definition is no title", "[a]: b\n===\n", []Heading{}},
		{"escapes and other scripts", "# 夜🦊 \\# \n", []Heading{h(1, 1, "夜🦊 \\#")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Outline(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOutline_IsTheParsers: the headings are those that the whole parser finds,
// each on the line that holds its text.
func TestOutline_IsTheParsers(t *testing.T) {
	seen := 0
	for seed := range uint64(10_000) {
		s := randomText(rand.New(rand.NewPCG(seed, 7)))
		seen += checkOutline(t, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if seen < 300 {
		t.Errorf("only %d headings were seen", seen)
	}
}

// What costs the parser the square of its length is left as text.
//
// covers: X5
func TestOutline_Pathological(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("> ", 40_000), strings.Repeat("[a]: u\n", 40_000), strings.Repeat(strings.Repeat(">", 300)+" # x\n", 1_000),
		"| a |\n" + strings.Repeat("| - ", 2_000) + "|\n" + strings.Repeat("| a |\n", 2_000),
	} {
		began := time.Now()
		got := Outline(s + "\n\n# the end\n")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%.10q: %s", s, took)
		}
		if len(got) != 1 || got[0].Text != "the end" {
			t.Errorf("%.10q: %v", s, got)
		}
	}
}

func FuzzOutline(f *testing.F) {
	for _, p := range pieces {
		f.Add(p + "\n# a\n" + p + "b\n===\n")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, '\r') || strings.ToValidUTF8(s, "") != s {
			t.Skip()
		}
		checkOutline(t, s)
	})
}

func checkOutline(t *testing.T, s string) int {
	t.Helper()
	source := []byte(s[frontMatterEnd(s):])
	pc := parser.NewContext()
	pc.Set(finderKey, &finder{source: source})
	var want []int
	err := ast.Walk(linkParser().Parse(gmtext.NewReader(source), parser.WithContext(pc)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			want = append(want, h.Level)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(s, "\n")
	got := Outline(s)
	if len(got) != len(want) {
		t.Fatalf("%q: %d headings, want %d", s, len(got), len(want))
	}
	last := 1
	for i, h := range got {
		first, _, _ := strings.Cut(h.Text, " ")
		switch {
		case h.Level != want[i]:
			t.Errorf("%q: level %d, want %d", s, h.Level, want[i])
		case h.Line < last || h.Line > len(lines):
			t.Errorf("%q: line %d after %d of %d", s, h.Line, last, len(lines))
		case !strings.Contains(lines[h.Line-1], first):
			t.Errorf("%q: line %d is %q, not %q", s, h.Line, lines[h.Line-1], h.Text)
		}
		last = h.Line
	}
	return len(got)
}
