package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"galley/backend/fault"
	"galley/backend/workspace"
)

func pathsOf(rels ...string) *paths {
	p := &paths{folder: "/w", at: map[string]int{}}
	for i, rel := range rels {
		p.list = append(p.list, newPathEntry(rel))
		p.at[rel] = i
	}
	return p
}

func found1(p *paths, query string, recent ...string) []string {
	var at []int
	for _, r := range recent {
		at = append(at, p.at[r])
	}
	out := []string{}
	for _, f := range p.find(query, at, 100).Files {
		out = append(out, f.Name)
	}
	return out
}

// covers: F10
func TestFind_Ranks(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string // of what fits, in order; the rest must not fit
		not   []string
	}{
		{"ledger", []string{"ledger.md", "ledger-old.md", "Research/ledger.md", "Research/old ledger.md", "ledger/notes.md", "l/e/d/g/e/r.md"}, []string{"ledge.md"}},
		{"nf", []string{"night-ferry.md", "The Night Ferry.md", "snowfall.md"}, []string{"fn.md"}},
		{"NiFe", []string{"NightFerry.md", "night ferry.md", "knife.md"}, nil},
		{"read", []string{"readme.md", "Drafts/reading.md", "tread.md", "read/x.md"}, nil},
		{"dr/fer", []string{"Drafts/ferry.md", "Drafts/sub/ferry.md"}, []string{"ferry/dr.md"}},
		{`dr\fer`, []string{"Drafts/ferry.md"}, nil},
		{"ferry dra", []string{"x/ferry dra.md", "Drafts/ferry.md"}, []string{"ferry.md"}},
		{"茶", []string{"茶.md", "绿茶.md", "茶/笔记.md"}, []string{"水.md"}},
		{"绿记", []string{"绿茶笔记.md", "绿/茶/记.md"}, []string{"记绿.md"}},
		{"ÉTÉ", []string{"été.md", "Carnets/été.md"}, []string{"ete.md"}},
		{"ab", []string{"ab.md", "a-b.md", "xab.md", "axxb.md"}, nil},
		{"note2", []string{"note2.md", "note-2.md", "notes 2024.md"}, nil},
		{"md", []string{"md.txt", "a.md"}, nil},
	} {
		all := append(slices.Clone(c.want), c.not...)
		slices.Reverse(all)
		got := found1(pathsOf(all...), c.query)
		// Where both fit, the order of this table counts for neighbours that differ clearly; the first must be first.
		if len(got) == 0 || got[0] != c.want[0] {
			t.Errorf("%s: %q", c.query, got)
		}
		slices.Sort(got)
		sorted := slices.Clone(c.want)
		slices.Sort(sorted)
		want(t, c.query, sorted, got)
	}
	want(t, "shorter first", []string{"a/x.md", "a/b/x.md", "a/b/c/d/e/f/g/x.md"}, found1(pathsOf("a/b/c/d/e/f/g/x.md", "a/b/x.md", "a/x.md"), "x"))
	want(t, "recent first", []string{"c/note.md", "b/note.md", "a/note.md"}, found1(pathsOf("a/note.md", "b/note.md", "c/note.md"), "note", "c/note.md", "b/note.md"))
	want(t, "recent is not all", "note.md", found1(pathsOf("note.md", "n/o/t/e.md"), "note", "n/o/t/e.md")[0])
	want(t, "no query", []string{"c", "a"}, found1(pathsOf("a", "b", "c"), " ", "c", "a", "c"))
	want(t, "no query, none recent", []string{}, found1(pathsOf("a", "b", "c"), ""))
}

func TestFind_Hits(t *testing.T) {
	for _, c := range []struct {
		rel, query string
		want       []int
	}{
		{"Drafts/The Night Ferry.md", "nf", []int{11, 17}},
		{"Drafts/The Night Ferry.md", "ferry", []int{17, 18, 19, 20, 21}},
		{"aab.md", "ab", []int{1, 2}},
		{"😀/😀x.md", "x", []int{5}},
		{"😀/😀x.md", "😀x", []int{3, 5}},
		{"绿茶笔记.md", "茶记", []int{1, 3}},
		{"a/b.md", "b a", []int{0, 2}},
		{strings.Repeat("d/", 300) + "x.md", "x", []int{600}},
		{"İstanbul.md", "tan", []int{2, 3, 4}},
	} {
		got := pathsOf(c.rel).find(c.query, nil, 1)
		if len(got.Files) != 1 {
			t.Errorf("%s does not fit %s", c.query, c.rel)
			continue
		}
		want(t, c.query+" in "+c.rel, c.want, got.Files[0].Hits)
	}
}

// What is said to be taken is there, for any path and query.
func FuzzFind(f *testing.F) {
	f.Add("Drafts/The Night Ferry.md", "nf")
	f.Add("😀/茶.md", "茶 😀")
	f.Fuzz(func(t *testing.T, rel, query string) {
		rel, query = strings.ToValidUTF8(rel, ""), strings.ToValidUTF8(query, "")
		if rel == "" {
			return
		}
		got := pathsOf(rel).find(query, nil, 1)
		if len(got.Files) == 0 {
			return
		}
		u := utf16.Encode([]rune(rel))
		hits := got.Files[0].Hits
		if !slices.IsSorted(hits) || len(slices.Compact(slices.Clone(hits))) != len(hits) {
			t.Fatalf("%v", hits)
		}
		taken := map[rune]bool{}
		for _, h := range hits {
			r := rune(u[h])
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, rune(u[h+1]))
			}
			taken[fold(r)] = true
		}
		for _, w := range strings.Fields(strings.ReplaceAll(query, `\`, "/")) {
			for _, r := range []rune(w)[:min(len([]rune(w)), maxPath)] {
				if !taken[fold(r)] {
					t.Fatalf("%q in %q: %v", query, rel, hits)
				}
			}
		}
	})
}

func newIndexBench(t *testing.T, files map[string]string, limit int, recent ...string) (*bench, *Index) {
	t.Helper()
	b := newBench(t, files, nil)
	x := NewIndex(IndexConfig{
		Folder: func() (workspace.Folder, error) { return b.grants.PermitList(b.grants.Workspace()) },
		Recent: func() []string {
			var out []string
			for _, r := range recent {
				out = append(out, filepath.Join(b.dir, r))
			}
			return out
		},
		Limit: limit,
	})
	t.Cleanup(x.Close)
	return b, x
}

func ask(t *testing.T, x *Index, query string, limit int) ([]string, Paths) {
	t.Helper()
	p, err := x.Find(t.Context(), query, limit)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, f := range p.Files {
		out = append(out, f.Name)
	}
	return out, p
}

// covers: F10
func TestIndex_FollowsChanges(t *testing.T) {
	b, x := newIndexBench(t, map[string]string{"a.md": "", "sub/ab.md": "", ".git/a": "", "node_modules/a.md": ""}, 0, "sub/ab.md", "gone.md", "../out.md")
	got, p := ask(t, x, "a", 10)
	want(t, "at first", []string{"sub/ab.md", "a.md"}, sortedAs(got, "sub/ab.md", "a.md"))
	for _, f := range p.Files {
		if f.Path != filepath.Join(b.dir, f.Name) || f.Recent != (f.Name == "sub/ab.md") {
			t.Errorf("%+v", f)
		}
	}
	got, _ = ask(t, x, "", 10)
	want(t, "recent", []string{"sub/ab.md"}, got)

	write(t, filepath.Join(b.dir, "sub/new/aa.md"), "")
	x.Invalidate([]string{filepath.Join(b.dir, ".git/objects"), filepath.Join(b.dir, "node_modules")})
	got, _ = ask(t, x, "aa", 10)
	want(t, "what is not held changed", []string{}, got)
	x.Invalidate([]string{filepath.Join(b.dir, "sub")})
	got, _ = ask(t, x, "aa", 10)
	want(t, "a folder changed", []string{"sub/new/aa.md"}, got)
	if err := os.Remove(filepath.Join(b.dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	x.InvalidateAll()
	got, p = ask(t, x, "a", 1)
	if len(got) != 1 || p.More != 1 {
		t.Errorf("after all changed %q and %d more", got, p.More)
	}

	// Another workspace.
	other := t.TempDir()
	write(t, filepath.Join(other, "other a.md"), "")
	if _, err := b.grants.GrantFolder(other); err != nil {
		t.Fatal(err)
	}
	got, _ = ask(t, x, "a", 10)
	want(t, "another workspace", []string{"other a.md"}, got)
	b.grants.Close()
	if _, err := x.Find(t.Context(), "a", 10); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("without a folder %v", err)
	}
}

func sortedAs(got []string, order ...string) []string {
	slices.SortFunc(got, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return got
}

func TestIndex_IsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("f%d.md", i)] = ""
	}
	_, x := newIndexBench(t, files, 12)
	got, p := ask(t, x, "f", 5)
	if len(got) != 5 || p.More != 7 || !p.Cut {
		t.Errorf("%q, %d more, cut %v", got, p.More, p.Cut)
	}
	_, x = newIndexBench(t, files, 20)
	if _, p := ask(t, x, "f", 50); len(p.Files) != 20 || p.More != 0 || p.Cut {
		t.Errorf("%+v", p)
	}
}

// manyPaths is as many paths as a large workspace has.
func manyPaths(n int) *paths {
	r := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("Drafts Research Archive the night ferry ledger notes meeting 2024 2025 chapter one two three reading list index 茶 笔记 会议 summary old new project plan week")
	var rels []string
	for i := range n {
		w := func() string { return words[r.IntN(len(words))] }
		rels = append(rels, fmt.Sprintf("%s/%s %s/%s-%s %d.md", w(), w(), w(), w(), w(), i))
	}
	return pathsOf(rels...)
}

func BenchmarkFind(b *testing.B) {
	p := manyPaths(20000)
	for _, q := range []string{"e", "nf", "ledger", "drafts ferry 12", "茶", "zzz"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				p.find(q, nil, 50)
			}
		})
	}
}
