package search

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// bench is a folder with an engine on it.
type bench struct {
	t      testing.TB
	dir    string
	grants *workspace.Grants
	engine *Engine

	mu     sync.Mutex
	events []event
	more   chan struct{}
}

// event is one call of Found or Ended.
type event struct {
	id    string
	files []File
	ended *Ended
}

// newBench writes files and opens their folder; change adapts the engine.
func newBench(t testing.TB, files map[string]string, change func(*Config)) *bench {
	t.Helper()
	return newBenchOn(t, workspace.OSCalls(), files, change)
}

func newBenchOn(t testing.TB, calls workspace.Calls, files map[string]string, change func(*Config)) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	b := &bench{t: t, dir: dir, grants: workspace.NewGrantsOn(calls), more: make(chan struct{})}
	t.Cleanup(b.grants.Close)
	if _, err := b.grants.GrantFolder(dir); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Folder: func() (workspace.Folder, error) { return b.grants.PermitList(dir) },
		Found:  func(id string, files []File) { b.note(event{id: id, files: files}) },
		Ended:  func(e Ended) { b.note(event{id: e.ID, ended: &e}) },
		Log:    slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	b.engine = New(cfg)
	t.Cleanup(b.engine.Close)
	return b
}

func (b *bench) note(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	close(b.more)
	b.more = make(chan struct{})
}

// ended waits for the end of a search.
func (b *bench) ended(id string) Ended {
	b.t.Helper()
	for {
		b.mu.Lock()
		more := b.more
		for _, e := range b.events {
			if e.id == id && e.ended != nil {
				b.mu.Unlock()
				return *e.ended
			}
		}
		b.mu.Unlock()
		select {
		case <-more:
		case <-b.t.Context().Done():
			b.t.Fatalf("%s did not end", id)
		}
	}
}

// run searches and returns all files that were found.
func (b *bench) run(q Query) ([]File, Summary) {
	b.t.Helper()
	var files []File
	s, err := b.engine.Run(b.t.Context(), "run", q, func(part []File) { files = append(files, part...) })
	if err != nil {
		b.t.Fatalf("%+v: %v", q, err)
	}
	s.Took = 0
	return files, s
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(files []File) []string {
	out := []string{}
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

func want[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("%s:\n%s", what, d)
	}
}

// toldFile and toldHit are a File and a Hit in plain view.
type toldFile struct {
	Path, Name string
	Hits       []toldHit
}

type toldHit struct {
	Match
	Line                int
	Before, Text, After string
}

func toldOf(files []File) []toldFile {
	var out []toldFile
	for _, f := range files {
		told := toldFile{Path: f.Path, Name: f.Name}
		for _, h := range f.Hits {
			told.Hits = append(told.Hits, toldHit{h.Match, h.Line, h.Before(), h.Text(), h.After()})
		}
		out = append(out, told)
	}
	return out
}

func TestRun_TellsWhereHitsAre(t *testing.T) {
	b := newBench(t, map[string]string{
		"Notes/b10.md": "one\r\ntwo Tea three\r\ntea",
		"Notes/b9.md":  "\xEF\xBB\xBF茶 tea 😀tea\rtea",
		"a.md":         "no such thing",
		"z.md":         string(text.Encode(text.Format{Encoding: text.UTF16BE, BOM: true}, linesOf(t, "x\ny 😀 TEA"))),
	}, nil)
	files, s := b.run(Query{Text: "tea"})
	want(t, "files", []toldFile{
		{Path: filepath.Join(b.dir, "Notes/b9.md"), Name: "Notes/b9.md", Hits: []toldHit{
			{Match: Match{2, 5}, Line: 1, Before: "茶 ", Text: "tea", After: " 😀tea"},
			{Match: Match{8, 11}, Line: 1, Before: "茶 tea 😀", Text: "tea"},
			{Match: Match{12, 15}, Line: 2, Text: "tea"},
		}},
		{Path: filepath.Join(b.dir, "Notes/b10.md"), Name: "Notes/b10.md", Hits: []toldHit{
			{Match: Match{8, 11}, Line: 2, Before: "two ", Text: "Tea", After: " three"},
			{Match: Match{18, 21}, Line: 3, Text: "tea"},
		}},
		{Path: filepath.Join(b.dir, "z.md"), Name: "z.md", Hits: []toldHit{{Match: Match{7, 10}, Line: 2, Before: "y 😀 ", Text: "TEA"}}},
	}, toldOf(files))
	want(t, "summary", Summary{Searched: 4, Files: 3, Hits: 6}, s)
}

func linesOf(t testing.TB, s string) text.Lines {
	t.Helper()
	l, err := text.NewLines(s, []text.EndingRun{{Ending: "lf", Count: strings.Count(s, "\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A hit's strings are of its line and are cut between two characters as they
// are seen.
func TestHit_StringsAreCut(t *testing.T) {
	family := "👨\u200d👩\u200d👧" // eight units, one character
	for name, c := range map[string]struct {
		q, s                string
		before, hit, behind string
	}{
		"short":         {"x", "a\nbxc\nd", "b", "x", "c"},
		"ascii":         {"x", strings.Repeat("a", 500) + "x" + strings.Repeat("b", 500), strings.Repeat("a", 120), "x", strings.Repeat("b", 120)},
		"exactly":       {"x", strings.Repeat("a", 120) + "x" + strings.Repeat("b", 120), strings.Repeat("a", 120), "x", strings.Repeat("b", 120)},
		"chinese":       {"x", strings.Repeat("茶", 500) + "x" + strings.Repeat("水", 500), strings.Repeat("茶", 120), "x", strings.Repeat("水", 120)},
		"pairs":         {"x", strings.Repeat("😀", 200) + "ax" + "a" + strings.Repeat("😀", 200), strings.Repeat("😀", 59) + "a", "x", "a" + strings.Repeat("😀", 59)},
		"families":      {"x", strings.Repeat(family, 40) + "ax" + "a" + strings.Repeat(family, 40), strings.Repeat(family, 14) + "a", "x", "a" + strings.Repeat(family, 14)},
		"accents":       {"x", "x" + strings.Repeat("a", 119) + "e\u0301" + "rest", "", "x", strings.Repeat("a", 119)},
		"long match":    {"a+", "b" + strings.Repeat("a", 500) + "c", "b", strings.Repeat("a", 120), "c"},
		"two lines":     {`o\nt`, "one two\nthree o\ntwo\n", "one tw", "o", "hree o"},
		"line break":    {`\n`, "one\ntwo", "one", "", "two"},
		"empty":         {`$`, "one", "one", "", ""},
		"one long line": {"x", strings.Repeat("ab ", 100000) + "x" + strings.Repeat(" cd", 100000), strings.Repeat("ab ", 40), "x", strings.Repeat(" cd", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a.md": c.s}, nil)
			files, _ := b.run(Query{Text: c.q, Regexp: true})
			if len(files) != 1 {
				t.Fatalf("%d files", len(files))
			}
			h := files[0].Hits[0]
			want(t, "strings", []string{c.before, c.hit, c.behind}, []string{h.Before(), h.Text(), h.After()})
		})
	}
}

// randomFile is a text as some editor left it on disk.
func randomFile(r *rand.Rand) (raw []byte, lf string) {
	lf = randomText(r, 120)
	s := lf
	switch r.IntN(4) {
	case 0:
		s = strings.ReplaceAll(lf, "\n", "\r\n")
	case 1:
		s = strings.ReplaceAll(lf, "\n", "\r")
	}
	switch r.IntN(6) {
	case 0:
		return []byte("\xEF\xBB\xBF" + s), lf
	case 1, 2:
		enc := text.UTF16LE
		if r.IntN(2) == 0 {
			enc = text.UTF16BE
		}
		runs := []text.EndingRun{{Ending: "lf", Count: strings.Count(lf, "\n")}}
		l, err := text.NewLines(lf, runs)
		if err != nil {
			panic(err)
		}
		return text.Encode(text.Format{Encoding: enc, BOM: true}, l), lf
	}
	if strings.HasPrefix(s, "\ufeff") { // it would be a mark
		return []byte("x" + s), "x" + lf
	}
	return []byte(s), lf
}

// What a search of many files tells is what a naive search of each finds, with
// every flag, in the order of the tree.
//
// covers: F9
func TestRun_AgreesWithNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	texts := map[string]string{}
	files := map[string]string{}
	for i := range 150 {
		name := fmt.Sprintf("d%d/e%d/f%d.md", r.IntN(12), r.IntN(3), i)
		raw, lf := randomFile(r)
		files[name], texts[name] = string(raw), lf
	}
	unsaved := map[string]string{}
	b := newBench(t, files, func(c *Config) {
		c.Limits = Limits{HitsPerFile: -1, Hits: -1}
		c.Unsaved = func() map[string]string { return unsaved }
	})
	for name := range texts {
		if r.IntN(10) == 0 {
			texts[name] = randomText(r, 50)
			unsaved[filepath.Join(b.dir, name)] = texts[name]
		}
	}
	queries := []Query{}
	for range 60 {
		queries = append(queries, Query{Text: randomText(r, 2)})
	}
	for _, p := range patterns {
		queries = append(queries, Query{Text: p, Regexp: true})
	}
	for _, q := range queries {
		q.Case, q.Word = r.IntN(2) == 0, r.IntN(3) == 0
		found, sum := b.run(q)
		got := map[string][]Match{}
		for _, f := range found {
			if _, isUnsaved := unsaved[f.Path]; f.Unsaved != isUnsaved || f.More != 0 {
				t.Errorf("%s: unsaved %v, more %d", f.Name, f.Unsaved, f.More)
			}
			for _, h := range f.Hits {
				got[f.Name] = append(got[f.Name], h.Match)
				line := 1 + strings.Count(texts[f.Name][:byteOf(t, texts[f.Name], h.From)], "\n")
				if h.Line != line {
					t.Errorf("%s: line %d, want %d", f.Name, h.Line, line)
				}
			}
		}
		wanted := map[string][]Match{}
		hits := 0
		for name, s := range texts {
			ix := text.NewIndex(s)
			for _, m := range naive(t, q, s) {
				wanted[name] = append(wanted[name], Match{ix.UTF16(m[0]), ix.UTF16(m[1])})
				hits++
			}
		}
		if d := gocmp.Diff(wanted, got); d != "" {
			t.Fatalf("%+v:\n%s", q, d)
		}
		want(t, "summary", Summary{Searched: len(texts), Files: len(wanted), Hits: hits}, sum)
		if !slices.IsSortedFunc(found, func(a, b File) int { return compareNames(a.Name, b.Name) }) {
			t.Errorf("order: %q", names(found))
		}
	}
}

func byteOf(t testing.TB, s string, pos int) int {
	t.Helper()
	at, err := text.NewIndex(s).Byte(pos)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// covers: F9
func TestRun_Limits(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("f%d.md", i)] = strings.Repeat("x", i)
	}
	folder := ""
	for i := range 15 {
		folder += fmt.Sprintf("d%d/", i+1)
		files[folder+"deep.md"] = "y"
	}
	files["large.md"] = strings.Repeat("z", 300) + strings.Repeat("a", 4<<20-299)
	files["full.md"] = strings.Repeat("z", 300) + strings.Repeat("a", 4<<20-300)
	small := newBench(t, files, func(c *Config) { c.Limits = Limits{Files: 20, FileBytes: 25, HitsPerFile: 3, Hits: 10, Depth: 2} })
	found, s := small.run(Query{Text: "x"})
	// In order: d1/d2, d1, then f0 …; 20 files leave 14 of the 30 and full and large.
	want(t, "summary", Summary{Searched: 20, Files: 17, Hits: 17 * 18 / 2, PastLimit: 14, TooDeep: 1}, s)
	told, more := 0, 0
	for i, f := range found {
		if len(f.Hits) != min(3, i+1, 10-told) || len(f.Hits)+f.More != i+1 {
			t.Errorf("%s: %d hits and %d more", f.Name, len(f.Hits), f.More)
		}
		told += len(f.Hits)
		more += f.More
	}
	if told != 10 || told+more != s.Hits {
		t.Errorf("%d told and %d more", told, more)
	}

	usual := newBench(t, files, nil)
	found, s = usual.run(Query{Text: "z"})
	want(t, "summary", Summary{Searched: 30 + 12 + 1, Files: 1, Hits: 300, TooLarge: 1, TooDeep: 1}, s)
	if len(found) != 1 || len(found[0].Hits) != 100 || found[0].More != 200 {
		t.Errorf("found %q", names(found))
	}
	found, _ = usual.run(Query{Text: "y"})
	if len(found) != 12 || found[0].Name != "d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/d12/deep.md" {
		t.Errorf("found %q", names(found))
	}

	none := newBench(t, files, func(c *Config) { c.Limits = Limits{Files: -1, FileBytes: -1, HitsPerFile: -1, Hits: -1, Depth: -1} })
	_, s = none.run(Query{Text: "z"})
	want(t, "summary", Summary{Searched: 47, Files: 2, Hits: 600}, s)
}

func TestRun_DefaultLimits(t *testing.T) {
	want(t, "limits", Limits{Files: 20_000, FileBytes: 4 << 20, HitsPerFile: 100, Depth: 12, Hits: 20_000}, Limits{}.withDefaults())
}

// More folders than are kept open.
func TestRun_ManyFolders(t *testing.T) {
	files := map[string]string{}
	for i := range maxKept + 150 {
		files[fmt.Sprintf("d%d/e/a.md", i)] = "x"
		files[fmt.Sprintf("d%d/b.md", i)] = "x"
	}
	b := newBench(t, files, nil)
	found, s := b.run(Query{Text: "x"})
	want(t, "summary", Summary{Searched: len(files), Files: len(files), Hits: len(files)}, s)
	if !slices.IsSortedFunc(found, func(a, b File) int {
		// Of one folder the deeper comes first.
		x, y := strings.Split(a.Name, "/"), strings.Split(b.Name, "/")
		return cmp.Or(compareNames(x[0], y[0]), cmp.Compare(len(y), len(x)))
	}) {
		t.Errorf("order: %q", names(found)[:20])
	}
}

// What a tree sets aside is not searched, nor is what is no text.
func TestRun_LeavesOut(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md": "x", ".hidden.md": "x", ".git/a": "x", "node_modules/a.md": "x", "sub/.hidden/a": "x", "sub/a.txt": "x",
		"latin1.md": "caf\xe9 x", "utf32": "\xff\xfe\x00\x00x\x00\x00\x00", "odd": "\xff\xfex", "picture.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("\xff\x00x", 100000),
		"nul.md": "a\x00x", "late.md": strings.Repeat("a", 70000) + "\xffx", "split.md": strings.Repeat("a", 64<<10-1) + "é x", "empty.md": "", ".galley-1.tmp": "x",
	}, nil)
	found, s := b.run(Query{Text: "x"})
	want(t, "files", []string{"sub/a.txt", "a.md", "nul.md", "split.md"}, names(found))
	want(t, "summary", Summary{Searched: 5, Files: 4, Hits: 4, Unread: 5}, s)
}

// What the person chose to leave out is left out, of unsaved texts too.
//
// covers: F8 F9
func TestRun_LeavesOutWhatWasChosen(t *testing.T) {
	unsaved := map[string]string{}
	b := newBench(t, map[string]string{"a.md": "x", "attic/b.md": "x", ".hidden.md": "x", "node_modules/c.md": "x"}, func(c *Config) {
		c.Unsaved = func() map[string]string { return unsaved }
	})
	unsaved[filepath.Join(b.dir, "attic/new.md")] = "x"
	unsaved[filepath.Join(b.dir, ".new.md")] = "x"
	found, _ := b.run(Query{Text: "x"})
	want(t, "by default", []string{"attic/b.md", "attic/new.md", "a.md"}, names(found))
	b.grants.SetIgnored(true, []string{"attic"})
	found, _ = b.run(Query{Text: "x"})
	want(t, "as chosen", []string{"node_modules/c.md", ".hidden.md", ".new.md", "a.md"}, names(found))
}

// covers: F9
func TestRun_Globs(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md": "x", "b.txt": "x", "notes/a.md": "x", "notes/deep/b.md": "x", "notes/deep/c.txt": "x", "other/notes/d.md": "x", "x.md/e.txt": "x",
		"茶/f.md": "x", "notes2/g.md": "x",
	}, nil)
	all := []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md", "notes2/g.md", "other/notes/d.md", "x.md/e.txt", "茶/f.md", "a.md", "b.txt"}
	for _, c := range []struct {
		include, exclude []string
		want             []string
	}{
		{nil, nil, all},
		{[]string{"", " "}, []string{""}, all},
		{[]string{"**"}, nil, all},
		{[]string{"*.md"}, nil, []string{"notes/deep/b.md", "notes/a.md", "notes2/g.md", "other/notes/d.md", "x.md/e.txt", "茶/f.md", "a.md"}},
		{[]string{"*.txt"}, nil, []string{"notes/deep/c.txt", "x.md/e.txt", "b.txt"}},
		{[]string{"/*.md"}, nil, []string{"x.md/e.txt", "a.md"}},
		{[]string{"./*.txt"}, nil, []string{"b.txt"}},
		{[]string{"notes/**"}, nil, []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md"}},
		{[]string{"/notes"}, nil, []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md"}},
		{[]string{"notes"}, nil, []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md", "other/notes/d.md"}},
		{[]string{"notes/"}, nil, []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md", "other/notes/d.md"}},
		{[]string{"**/notes/*.md"}, nil, []string{"notes/a.md", "other/notes/d.md"}},
		{[]string{"**/c.txt"}, nil, []string{"notes/deep/c.txt"}},
		{[]string{"notes/**/*.md"}, nil, []string{"notes/deep/b.md", "notes/a.md"}},
		{[]string{"{a,b}.*"}, nil, []string{"notes/deep/b.md", "notes/a.md", "a.md", "b.txt"}},
		{[]string{"{notes,茶}/**"}, nil, []string{"notes/deep/b.md", "notes/deep/c.txt", "notes/a.md", "茶/f.md"}},
		{[]string{"[d-g].md", "b.txt"}, nil, []string{"notes2/g.md", "other/notes/d.md", "茶/f.md", "b.txt"}},
		{nil, []string{"*.md"}, []string{"notes/deep/c.txt", "b.txt"}},
		{nil, []string{"notes"}, []string{"notes2/g.md", "x.md/e.txt", "茶/f.md", "a.md", "b.txt"}},
		{nil, []string{"notes/**"}, []string{"notes2/g.md", "other/notes/d.md", "x.md/e.txt", "茶/f.md", "a.md", "b.txt"}},
		{[]string{"*.md"}, []string{"notes/deep", "?.md"}, []string{}},
		{[]string{"notes"}, []string{"*.txt"}, []string{"notes/deep/b.md", "notes/a.md", "other/notes/d.md"}},
	} {
		found, _ := b.run(Query{Text: "x", Include: c.include, Exclude: c.exclude})
		want(t, fmt.Sprintf("%q without %q", c.include, c.exclude), c.want, names(found))
	}
}

// Open documents that are not saved are searched as they stand, also where
// their file is gone, within the same bounds.
//
// covers: F9
func TestRun_Unsaved(t *testing.T) {
	unsaved := map[string]string{}
	b := newBench(t, map[string]string{"a.md": "disk", "b.md": "disk", "sub/c.md": "disk", ".git/d": "disk"}, func(c *Config) {
		c.Unsaved = func() map[string]string { return unsaved }
	})
	for _, name := range []string{"a.md", "sub/new.md", "gone/x/new.md", ".git/d", ".git/e", "../outside.md", "deep" + strings.Repeat("/d", 13), "binary.png"} {
		unsaved[filepath.Join(b.dir, name)] = "buffer"
	}
	unsaved["relative"] = "buffer"
	found, s := b.run(Query{Text: "buffer", Exclude: []string{"*.png"}})
	want(t, "files", []string{"gone/x/new.md", "sub/new.md", "a.md"}, names(found))
	for _, f := range found {
		if !f.Unsaved {
			t.Errorf("%s counts as saved", f.Name)
		}
	}
	want(t, "summary", Summary{Searched: 5, Files: 3, Hits: 3}, s)
	found, _ = b.run(Query{Text: "disk"})
	want(t, "files", []string{"sub/c.md", "b.md"}, names(found))
	for _, f := range found {
		if f.Unsaved {
			t.Errorf("%s counts as unsaved", f.Name)
		}
	}
}

// Links are left out: what they lead to inside is found where it is, and what
// lies outside is nobody's business. A file that changes into something else
// between listing and reading is not read either.
//
// covers: F7 F9
func TestRun_LinksAndWhatChanges(t *testing.T) {
	for name, calls := range map[string]workspace.Calls{"quick": workspace.OSCalls(), "seam": filefault.New(workspace.OSCalls())} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			write(t, filepath.Join(outside, "secret.md"), "x")
			change := func() {}
			b := newBenchOn(t, calls, map[string]string{"a.md": "x", "sub/b.md": "x", "gone.md": "x", "swapped.md": "x", "folder.md": "x", "dir/c.md": "x"}, func(c *Config) {
				c.Unsaved = func() map[string]string { change(); return nil }
			})
			at := func(name string) string { return filepath.Join(b.dir, name) }
			try := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			try(os.Symlink(outside, at("out")))
			try(os.Symlink(filepath.Join(outside, "secret.md"), at("out.md")))
			try(os.Symlink("sub", at("in")))
			try(os.Symlink("a.md", at("in.md")))
			try(os.Symlink("..", at("sub/up")))
			try(os.Symlink("nowhere", at("dangling")))
			found, s := b.run(Query{Text: "x"})
			want(t, "files", []string{"dir/c.md", "sub/b.md", "a.md", "folder.md", "gone.md", "swapped.md"}, names(found))
			want(t, "summary", Summary{Searched: 6, Files: 6, Hits: 6}, s)

			change = func() {
				try(os.Remove(at("gone.md")))
				try(os.Remove(at("swapped.md")))
				try(os.Symlink(filepath.Join(outside, "secret.md"), at("swapped.md")))
				try(os.Remove(at("folder.md")))
				try(os.Mkdir(at("folder.md"), 0o755))
			}
			found, s = b.run(Query{Text: "x"})
			want(t, "files", []string{"dir/c.md", "sub/b.md", "a.md"}, names(found))
			want(t, "summary", Summary{Searched: 3, Files: 3, Hits: 3, Unread: 3}, s)
		})
	}
}

// Each call of the file system fails once: the others are found all the same,
// and what could not be read is counted.
func TestRun_FailuresAreCounted(t *testing.T) {
	calls := filefault.New(workspace.OSCalls())
	files := map[string]string{"a.md": "x", "sub/b.md": "x", "sub/deep/c.md": "x"}
	b := newBenchOn(t, calls, files, func(c *Config) { c.Workers = 1 })
	failed := 0
	for at := 1; ; at++ {
		calls.Arm(filefault.Plan{At: at, Mode: filefault.Before, Err: os.ErrPermission})
		s, err := b.engine.Run(t.Context(), "run", Query{Text: "x"}, nil)
		name := calls.Fired()
		if name == "" {
			break
		}
		failed++
		if err == nil && s.Searched != len(files) && s.Unread == 0 {
			t.Errorf("call %d, %s: %+v", at, name, s)
		}
	}
	if failed < 10 {
		t.Errorf("only %d calls", failed)
	}
}

func TestRun_NoFolder(t *testing.T) {
	b := newBench(t, nil, nil)
	b.grants.Revoke(b.dir)
	_, err := b.engine.Run(t.Context(), "run", Query{Text: "x"}, nil)
	if fault.CodeOf(err) != fault.NotGranted {
		t.Errorf("got %v", err)
	}
	if err := b.engine.Start("1", Query{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if e := b.ended("1"); e.Code != fault.NotGranted {
		t.Errorf("ended %+v", e)
	}
	if err := b.engine.Start("2", Query{Text: "(", Regexp: true}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("got %v", err)
	}
}

// A new search ends the one before, each has one end, and nothing of a search
// comes after it.
//
// covers: F9
func TestStart_OneAtATime(t *testing.T) {
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d%d/f%d.md", i%20, i)] = strings.Repeat("x\n", 50)
	}
	var b *bench
	hold, held := make(chan struct{}), make(chan struct{})
	running := 0
	b = newBench(t, files, func(c *Config) {
		found := c.Found
		c.Found = func(id string, files []File) {
			if id == "first" {
				close(held)
				<-hold
			}
			found(id, files)
		}
		folder := c.Folder
		c.Folder = func() (workspace.Folder, error) {
			running++ // by one search at a time, or the race detector says so
			return folder()
		}
	})
	start := func(id string) {
		if err := b.engine.Start(id, Query{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	start("first")
	<-held
	for i := range 20 {
		start(strconv.Itoa(i))
	}
	b.engine.Cancel("first") // is none any more
	start("last")
	close(hold)
	if e := b.ended("last"); e.Code != "" || e.Searched != 400 || e.Hits != 20000 || e.Files != 400 {
		t.Errorf("ended %+v", e)
	}
	ends := map[string]int{}
	told := map[string]int{}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if ends[e.id] > 0 {
			t.Errorf("%s goes on after its end", e.id)
		}
		if e.ended != nil {
			ends[e.id]++
			if e.id != "last" && e.ended.Code != fault.Cancelled {
				t.Errorf("%s ended with %q", e.id, e.ended.Code)
			}
			continue
		}
		told[e.id] += len(e.files)
	}
	if len(ends) != 22 || told["last"] != 400 || told["first"] >= 400 {
		t.Errorf("%d ends, told %v", len(ends), told)
	}
	if running > 3 {
		t.Errorf("%d searches ran", running)
	}
}

// Cancelling ends a search at once, whatever it is at.
//
// covers: F9
func TestCancel(t *testing.T) {
	slow := strings.Repeat("ab", 2<<19)
	b := newBench(t, map[string]string{"a.md": slow, "b.md": slow, "c.md": slow}, nil)
	// An expression with more states than can be kept.
	q := Query{Text: `(a|b)*a(a|b){40}c`, Regexp: true}
	if err := b.engine.Start("1", q); err != nil {
		t.Fatal(err)
	}
	b.engine.Cancel("other")
	b.engine.Cancel("1")
	if e := b.ended("1"); e.Code != fault.Cancelled {
		t.Errorf("ended %+v", e)
	}
	b.engine.Cancel("1")

	// From the callback, which is in the middle of it.
	_, err := b.engine.Run(t.Context(), "2", Query{Text: "a"}, func([]File) { b.engine.Cancel("2") })
	if fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
	if err := b.engine.Start("3", q); err != nil {
		t.Fatal(err)
	}
	b.engine.Close()
	if e := b.ended("3"); e.Code != fault.Cancelled {
		t.Errorf("ended %+v", e)
	}
}

// FuzzDecode: a search reads the files that the editor opens, and reads the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\rc\n", "\xEF\xBB\xBFa", "\xFF\xFEa\x00", "\xFE\xFF\xD8\x00", "茶😀é\x00", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "abcdefg\xE4\xB8", "茶茶茶\xE4\xB8x茶茶茶"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, lines, err := text.Decode(raw)
		m, _ := Compile(Query{Text: `(?s).`, Regexp: true})
		r := &reading{ctx: t.Context(), m: m, scanner: newScanner(m)}
		b, ok := r.decode(bytes.Clone(raw))
		if ok != (err == nil) {
			t.Fatalf("%q: read %v, opened %v", raw, ok, err)
		}
		if ok && string(b) != lines.Text() {
			t.Fatalf("%q: read %q, opened %q", raw, b, lines.Text())
		}
		if ok && units(b) != text.Length(string(b)) {
			t.Fatalf("%q has %d units", b, units(b))
		}
	})
}

func TestReading_DecodesWhatOpens(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	m, err := Compile(Query{Text: `(?s).`, Regexp: true})
	if err != nil {
		t.Fatal(err)
	}
	read := &reading{ctx: t.Context(), m: m, scanner: newScanner(m)}
	broken := 0
	for range 20000 {
		raw, _ := randomFile(r)
		if r.IntN(2) == 0 {
			raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
		}
		_, lines, err := text.Decode(raw)
		b, ok := read.decode(raw)
		if ok != (err == nil) || ok && string(b) != lines.Text() || ok && units(b) != text.Length(string(b)) {
			t.Fatalf("%q: read %q %v, opened %v", raw, b, ok, err)
		}
		if !ok {
			broken++
		}
	}
	if broken < 500 {
		t.Errorf("only %d were broken", broken)
	}
}
