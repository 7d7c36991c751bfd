package search

import (
	"math/rand/v2"
	"testing"

	"galley/backend/workspace"
)

// The quick order of names is that of a listing.
func TestCompareNames_AgreesWithListing(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	pieces := []string{"a", "A", "b", "B", "1", "01", "10", "9", " ", "-", "_", ".md", "é", "É", "茶", "0", "x"}
	name := func() string {
		s := ""
		for range 1 + r.IntN(5) {
			s += pieces[r.IntN(len(pieces))]
		}
		return s
	}
	sign := func(n int) int { return max(-1, min(n, 1)) }
	for range 50000 {
		a, b := name(), name()
		if got, want := sign(compareNames(a, b)), sign(workspace.CompareNames(a, b)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}
