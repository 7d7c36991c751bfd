package resolve

import (
	"math/rand/v2"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// pieces are what random texts are made of: what breaks into lines, blocks,
// clusters and equal spellings.
var pieces = []string{
	"a", "b", "the ", "cat", " ", "  ", "\t", "\u00A0", "\u3000", "\n", "\n\n", "  \n", "\\\n", "\\", "你", "好", "，", "“", "”", "\"", "don’t", "don't",
	"-", "‑", "—", "é", "e\u0301", "👨‍👩‍👧", "🇳🇴", "\u200B", "| ", "|", " | ", "|---|---|\n", "| a | b |\n", "- ", "* ", "1. ", "> ", "# ", "===\n", "---\n",
	"```\n", "```sh\n", "`x`", "$y$", "[k](u)", "[^1]", "12", "3.5", "2031-04-09", "<b>", "</think>", "<think>", "Here is:\n",
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// mutate changes a few pieces of s.
func mutate(r *rand.Rand, s string) string {
	for range r.IntN(5) {
		runes := []rune(s)
		i := r.IntN(len(runes) + 1)
		j := min(len(runes), i+r.IntN(4))
		s = string(runes[:i]) + randomText(r, 3) + string(runes[j:])
	}
	return s
}

// checkRefine fails unless edits lead from old to new and cut no cluster.
func checkRefine(t *testing.T, old, new string) {
	t.Helper()
	edits := Refine(old, new)
	ix := text.NewIndex(old)
	got, err := ix.Apply(edits)
	if err != nil || got != new {
		t.Fatalf("old %q new %q: edits %+v give %q, %v", old, new, edits, got, err)
	}
	for _, e := range edits {
		from, _ := ix.Byte(e.From)
		to, _ := ix.Byte(e.To)
		if !isBorder(old, from) || !isBorder(old, to) {
			t.Fatalf("old %q new %q: %+v cuts a cluster", old, new, e)
		}
	}
}

// checkRewrite fails unless the reading of an answer keeps its promises.
func checkRewrite(t *testing.T, doc string, selection core.Range, answer string, finish Finish) {
	t.Helper()
	got := ReadRewrite(doc, selection, answer, finish)
	ix := text.NewIndex(doc)
	after, err := ix.Apply(got.Edits)
	if err != nil {
		t.Fatalf("doc %q %+v answer %q: %v", doc, selection, answer, err)
	}
	if (got.Outcome == Proposal) != (len(got.Edits) > 0) && got.Outcome != CutOff {
		t.Fatalf("doc %q %+v answer %q: %s with %d edits", doc, selection, answer, got.Outcome, len(got.Edits))
	}
	if got.Outcome == Proposal && after == doc {
		t.Fatalf("doc %q %+v answer %q: a proposal of nothing %+v", doc, selection, answer, got.Edits)
	}
	covered := 0
	for _, h := range got.Hunks {
		if h.First != covered || h.Count < 1 || h.Warnings == nil {
			t.Fatalf("doc %q answer %q: hunks %+v", doc, answer, got.Hunks)
		}
		covered += h.Count
	}
	if covered != len(got.Edits) {
		t.Fatalf("doc %q answer %q: hunks cover %d of %d", doc, answer, covered, len(got.Edits))
	}
	for _, e := range got.Edits {
		from, _ := ix.Byte(e.From)
		to, _ := ix.Byte(e.To)
		if !isBorder(doc, from) || !isBorder(doc, to) {
			t.Fatalf("doc %q %+v answer %q: %+v cuts a cluster", doc, selection, answer, e)
		}
	}
	NewPreview(doc, selection).Text(answer)
}

// covers: P1 P6
func TestRefine_LeadsToTheNewText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 4_000 {
		old := randomText(r, 30)
		new := mutate(r, old)
		if r.IntN(4) == 0 {
			new = randomText(r, 30)
		}
		checkRefine(t, old, new)
	}
}

// covers: P1 P6
func TestReadRewrite_KeepsItsPromises(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	finishes := []Finish{FinishStop, FinishStop, FinishStop, FinishLength, FinishDropped, FinishRefusal}
	for range 4_000 {
		doc := randomText(r, 40)
		n := text.Length(doc)
		a, b := r.IntN(n+1), r.IntN(n+1)
		selection := core.Range{From: min(a, b), To: max(a, b)}
		target := newTarget(text.NewIndex(doc), selection)
		answer := mutate(r, target.sel)
		if r.IntN(5) == 0 {
			answer = randomText(r, 40)
		}
		checkRewrite(t, doc, selection, answer, finishes[r.IntN(len(finishes))])
	}
}

// TestRefine_LooseSaysWhatTheAnswerSays checks that what the rules call equal
// is all that an answer's text and the text after it differ in.
//
// covers: P6
func TestRefine_LooseSaysWhatTheAnswerSays(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	for range 4_000 {
		old, _ := trimEdges(randomText(r, 30))
		new, _ := trimEdges(mutate(r, old))
		if strings.ContainsAny(old+new, `|\`) {
			continue // Where a table begins may change, and what breaks hard is not transitive.
		}
		var b strings.Builder
		at := 0
		for _, e := range refine(old, new, loose, false) {
			b.WriteString(old[at:e.from] + e.insert)
			at = e.to
		}
		b.WriteString(old[at:])
		tok := newTokenizer(loose)
		if d := diff(tok.tokens(b.String(), nil), tok.tokens(new, nil)); len(d) > 0 {
			t.Fatalf("old %q new %q gave %q", old, new, b.String())
		}
	}
}

func FuzzRefine(f *testing.F) {
	f.Add("The cat sat.", "The dog sat.")
	f.Add("你好\n\n世界", "你好世界")
	f.Add("e\u0301 🇳🇴🇫🇮", "e 🇫🇮")
	f.Fuzz(func(t *testing.T, old, new string) {
		checkRefine(t, normalise(old), normalise(new))
	})
}

func FuzzReadRewrite(f *testing.F) {
	f.Add("# T\n\none two three\n", 5, 18, "```markdown\none 2 three\n```", uint8(0))
	f.Add("| a | b |\n|---|---|\n| 1 | 2 |\n", 0, 30, "|a|b|\n|-|-|\n|1|3|", uint8(0))
	f.Add("- x\n- y\n", 2, 3, "- z", uint8(1))
	f.Fuzz(func(t *testing.T, doc string, from, to int, answer string, finish uint8) {
		finishes := []Finish{FinishStop, FinishLength, FinishRefusal, FinishFilter, FinishDropped}
		checkRewrite(t, normalise(doc), core.Range{From: from, To: to}, answer, finishes[int(finish)%len(finishes)])
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("He said “yes” twice.", "He said \"yes\"", "He said \"no\"", 0)
	f.Add("a\u00A0b  \nc", "a b\nc", "a b\nd", 1)
	f.Fuzz(func(t *testing.T, doc, old, new string, occurrence int) {
		doc = normalise(doc)
		r, err := Quote(doc, QuoteInput{OldText: old, NewText: new, Occurrence: occurrence})
		if err != nil {
			return
		}
		after, err := text.Apply(doc, r.Edits)
		if err != nil || after == doc {
			t.Fatalf("doc %q old %q new %q: %+v, %v", doc, old, new, r.Edits, err)
		}
	})
}
