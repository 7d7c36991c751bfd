package text

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// composed applies steps one after another and returns their composition.
func composed(t *testing.T, base string, steps ...[]Edit) (Changes, string) {
	t.Helper()
	c, now := NoChanges(Length(base)), base
	for _, edits := range steps {
		var err error
		if now, err = Apply(now, edits); err != nil {
			t.Fatal(err)
		}
		if c, err = c.Compose(edits); err != nil {
			t.Fatal(err)
		}
	}
	return c, now
}

func rangesOf(t *testing.T, c Changes, base string) []ChangedRange {
	t.Helper()
	r, err := c.Ranges(NewIndex(base))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// covers: P3
func TestMapEdits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		base  string
		edit  Edit
		steps [][]Edit
		want  string // empty: touched
	}{
		"B1 inserted before":            {"one two three", Edit{4, 7, "2"}, [][]Edit{{{0, 0, ">> "}}}, ">> one 2 three"},
		"B2 inserted at the end":        {"Cold tea", Edit{0, 4, "Warm"}, [][]Edit{{{4, 4, ", sweet"}}}, "Warm, sweet tea"},
		"inserted at the start":         {"Cold tea", Edit{0, 4, "Warm"}, [][]Edit{{{0, 0, "Very "}}}, "Very Warm tea"},
		"B3 adjacent deletion":          {"0123456789", Edit{0, 2, "X"}, [][]Edit{{{2, 6, ""}}}, "X6789"},
		"B4 overlap":                    {"Small red box", Edit{6, 9, "blue"}, [][]Edit{{{7, 9, "aw"}}}, ""},
		"B4 overlap undone":             {"Small red box", Edit{6, 9, "blue"}, [][]Edit{{{7, 9, "aw"}}, {{7, 9, "ed"}}}, "Small blue box"},
		"inserted inside":               {"abcd", Edit{1, 3, "X"}, [][]Edit{{{2, 2, "y"}}}, ""},
		"typed and taken away":          {"abcd", Edit{1, 3, "X"}, [][]Edit{{{2, 2, "y"}}, {{2, 3, ""}}}, "aXd"},
		"deleted key by key and undone": {"abcd", Edit{1, 3, "X"}, [][]Edit{{{3, 4, ""}}, {{2, 3, ""}}, {{1, 2, ""}}, {{1, 1, "bcd"}}}, "aXd"},
		"insertion beside insertion":    {"abcd", Edit{2, 2, "X"}, [][]Edit{{{2, 2, "y"}}}, "abyXcd"},
		"insertion inside a deletion":   {"abcd", Edit{2, 2, "X"}, [][]Edit{{{1, 3, ""}}}, ""},
		"same word retyped longer":      {"ab cd", Edit{0, 2, "X"}, [][]Edit{{{0, 5, "ab cde"}}}, "X cde"},
		"neighbour put back as it was":  {"ab", Edit{1, 2, "X"}, [][]Edit{{{0, 1, "ab"}, {1, 2, "b"}}}, "abX"},
		"emoji doubled":                 {"😀b", Edit{0, 2, "X"}, [][]Edit{{{0, 0, "😁"}}}, "😁Xb"},
	}
	for name, tt := range tests {
		c, now := composed(t, tt.base, tt.steps...)
		mapped, touched := MapEdits([]Edit{tt.edit}, rangesOf(t, c, tt.base))
		if touched[0] != (tt.want == "") {
			t.Errorf("%s: touched = %v", name, touched[0])
			continue
		}
		if touched[0] {
			continue
		}
		if got, err := Apply(now, mapped); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

// covers: P3
func TestChanges_RandomSteps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := randomText(r, r.IntN(12))
		c, now := NoChanges(Length(base)), base
		for range 1 + r.IntN(5) {
			edits := randomEdits(r, now)
			var err error
			if now, err = Apply(now, edits); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if c, err = c.Compose(edits); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if got, err := Apply(base, c.Edits()); err != nil || got != now {
			t.Fatalf("seed %d: composed gives %q, %v, want %q", seed, got, err, now)
		}
		if c.LenA() != Length(base) || c.LenB() != Length(now) {
			t.Fatalf("seed %d: lengths %d, %d", seed, c.LenA(), c.LenB())
		}
		ranges := rangesOf(t, c, base)
		if base == now && len(ranges) > 0 {
			// A text can come back in pieces that do not line up, but never when
			// one group holds it all.
			if len(c.sections) == 1 {
				t.Fatalf("seed %d: equal texts give %v", seed, ranges)
			}
		}
		a, b := NewIndex(base), NewIndex(now)
		var rebuilt []Edit
		for _, x := range ranges {
			ins, err := b.Slice(x.FromB, x.ToB)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			old, err := a.Slice(x.FromA, x.ToA)
			if err != nil || old == ins {
				t.Fatalf("seed %d: range %v holds %q and %q, %v", seed, x, old, ins, err)
			}
			rebuilt = append(rebuilt, Edit{x.FromA, x.ToA, ins})
		}
		if got, err := Apply(base, rebuilt); err != nil || got != now {
			t.Fatalf("seed %d: ranges give %q, %v, want %q", seed, got, err, now)
		}
	}
}

func randomText(r *rand.Rand, n int) string {
	letters := []string{"a", "b", "a", "é", "😀", "😁", "\n"}
	s := ""
	for range n {
		s += letters[r.IntN(len(letters))]
	}
	return s
}

// randomEdits returns up to three edits of s at character borders, at random
// places or close together.
func randomEdits(r *rand.Rand, s string) []Edit {
	var borders []int
	unit := 0
	for _, c := range s {
		borders = append(borders, unit)
		unit += utf16.RuneLen(c)
	}
	borders = append(borders, unit)
	var edits []Edit
	at := 0
	for range 1 + r.IntN(3) {
		reach := len(borders) - at
		if r.IntN(2) == 0 {
			reach = min(reach, 4)
		}
		from := at + r.IntN(reach)
		to := min(len(borders)-1, from+r.IntN(3))
		if r.IntN(8) == 0 {
			to = from + r.IntN(len(borders)-from)
		}
		edits = append(edits, Edit{borders[from], borders[to], randomText(r, r.IntN(3))})
		at = to
	}
	return edits
}

func TestDigest(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Digest("")); diff != "" {
		t.Error(diff)
	}
}

// The page composes and reduces with real change sets; its results are in
// testdata, made by changes.mjs.
//
// covers: P3
func TestChanges_AgreeWithThePage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/changes.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Base, Now      string
		Steps          [][]Edit
		Composed       []ChangedRange
		Reduced        []ChangedRange
		Before, Behind []int
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		c, now := composed(t, v.Base, v.Steps...)
		if now != v.Now {
			t.Fatalf("%d: %q, want %q", i, now, v.Now)
		}
		raw, shift := []ChangedRange{}, 0
		for _, e := range c.Edits() {
			n := Length(e.Insert)
			raw = append(raw, ChangedRange{e.From, e.To, e.From + shift, e.From + shift + n})
			shift += n - (e.To - e.From)
		}
		if diff := cmp.Diff(v.Composed, raw); diff != "" {
			t.Fatalf("%d: composed: %s", i, diff)
		}
		ranges := rangesOf(t, c, v.Base)
		if diff := cmp.Diff(v.Reduced, append([]ChangedRange{}, ranges...)); diff != "" {
			t.Fatalf("%d: %q to %q: %s", i, v.Base, now, diff)
		}
		ix, k := NewIndex(v.Base), 0
		for at := range v.Base + "." {
			pos := ix.UTF16(at)
			if before, behind := MapPos(ranges, pos, -1), MapPos(ranges, pos, 1); before != v.Before[k] || behind != v.Behind[k] {
				t.Fatalf("%d: %d goes to %d and %d, want %d and %d", i, pos, before, behind, v.Before[k], v.Behind[k])
			}
			k++
		}
	}
}
