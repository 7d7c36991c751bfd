package resolve

import (
	"fmt"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// sized returns Markdown of about n bytes with a sentence in its middle that
// occurs nowhere else.
func sized(n int) string {
	var b strings.Builder
	for i, put := 0, false; b.Len() < n; i++ {
		if !put && b.Len() >= n/2 {
			put = true
			b.WriteString("The “needle” lies in the hay, and nobody looks for it.\n\n")
		}
		fmt.Fprintf(&b, "## Part %d\n\nThe tide comes in, and the tide goes out; 水从石缝里流出来，绕过竹林。\n\n- one `code`\n- two [link](a%d.md)\n\n", i, i)
	}
	return b.String()
}

var benchSizes = []struct {
	name  string
	bytes int
}{{"10kB", 10_000}, {"1MB", 1_000_000}, {"5MB", 5_000_000}}

// BenchmarkQuote is bm-15: resolve and refine one edit.
func BenchmarkQuote(b *testing.B) {
	for _, size := range benchSizes {
		doc := sized(size.bytes)
		for _, c := range []struct{ name, old, new string }{
			{"exact", "lies in the hay, and nobody looks", "lies in the straw, and nobody looks"},
			{"folded", `The "needle" lies in the hay`, `The "needle" lies in the straw`},
			{"missing", "The needle sleeps in hay, and somebody looks for it.", "x"},
		} {
			b.Run(size.name+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					_, err := Quote(doc, QuoteInput{OldText: c.old, NewText: c.new})
					if (err != nil) != (c.name == "missing") {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReadRewrite(b *testing.B) {
	for _, size := range benchSizes {
		doc := sized(size.bytes)
		answer := strings.Replace(doc, "in the hay", "in the straw", 1)
		b.Run(size.name+"/whole", func(b *testing.B) {
			for b.Loop() {
				if r := ReadRewrite(doc, core.Range{To: text.Length(doc)}, answer, FinishStop); len(r.Edits) != 1 {
					b.Fatal(r.Outcome, len(r.Edits))
				}
			}
		})
	}
}

// BenchmarkRefine is the word diff of bm-10: 200 edits in 100 kB.
func BenchmarkRefine(b *testing.B) {
	old := strings.Repeat("The tide comes in and the tide goes out over the grey sand. ", 1700)
	words := strings.Fields(old)
	for i := range 200 {
		words[i*90+7] = fmt.Sprintf("word%d", i)
	}
	new := strings.Join(words, " ")
	for b.Loop() {
		if len(Refine(old, new)) < 200 {
			b.Fatal("too few edits")
		}
	}
}

// BenchmarkPreview shows an answer of 100 kB as it stands near its end; a page
// asks for it 30 times a second.
func BenchmarkPreview(b *testing.B) {
	doc := sized(100_000)
	p := NewPreview(doc, core.Range{To: text.Length(doc)})
	answer := "Here is the corrected text:\n\n```markdown\n" + doc
	for b.Loop() {
		if len(p.Text(answer)) < 90_000 {
			b.Fatal("too short")
		}
	}
}
