package resolve

import (
	"math/rand/v2"
	"strings"
	"testing"

	"galley/backend/text"
)

func TestRefine_QuickCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "b", " ", "\n", "the", "你", "好", "“", "\"", "👨‍👩‍👧", "é", "|", "-", "> ", "- ", "\\", "  "}
	gen := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 20000 {
		old := gen(r.IntN(30))
		new := old
		if r.IntN(3) == 0 {
			new = gen(r.IntN(30))
		} else {
			for range r.IntN(4) {
				i := r.IntN(len(new) + 1)
				j := min(len(new), i+r.IntN(4))
				new = strings.ToValidUTF8(new[:i], "") + gen(r.IntN(3)) + strings.ToValidUTF8(new[j:], "")
			}
		}
		edits := Refine(old, new)
		got, err := text.Apply(old, edits)
		if err != nil || got != new {
			t.Fatalf("old %q new %q edits %+v got %q err %v", old, new, edits, got, err)
		}
	}
}
