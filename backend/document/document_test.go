package document

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// bench is a folder that is granted, a home, and the documents open in them.
type bench struct {
	*Set
	t      *testing.T
	dir    string
	home   string
	grants *workspace.Grants
	page   int64
	told   *told
	log    *bytes.Buffer
}

// told is what the set said of files that changed outside.
type told struct {
	mu      sync.Mutex
	changes []DiskChange
}

func (o *told) add(c DiskChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes = append(o.changes, c)
}

// take returns what was told since the last time, as states in order.
func (o *told) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var states []string
	for _, c := range o.changes {
		states = append(states, string(c.State))
	}
	o.changes = nil
	return strings.Join(states, " ")
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, workspace.OSCalls(), t.TempDir(), t.TempDir())
}

func newBenchOn(t *testing.T, calls workspace.Calls, dir, home string) *bench {
	t.Helper()
	g := workspace.NewGrantsOn(calls)
	t.Cleanup(g.Close)
	if _, err := g.GrantFolder(dir); err != nil {
		t.Fatal(err)
	}
	heard, log := &told{}, &bytes.Buffer{}
	s, err := New(Config{
		Grants: g, Home: home, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), OnDisk: heard.add,
		Settle: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cancel()
		s.keepers.Wait()
		s.watching.Wait()
		s.history.later.Wait()
	})
	return &bench{Set: s, t: t, dir: dir, home: home, grants: g, page: s.Attach().Page, told: heard, log: log}
}

// restart opens the same folder and home anew, as the next start would.
func (b *bench) restart() *bench {
	b.t.Helper()
	b.cancel()
	b.keepers.Wait()
	b.watching.Wait()
	b.history.later.Wait()
	return newBenchOn(b.t, workspace.OSCalls(), b.dir, b.home)
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) file(name, content string) string {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

func (b *bench) open(name string) Info {
	b.t.Helper()
	i, err := b.Open(b.t.Context(), b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return i
}

// edit makes one change, choosing the endings as the page does.
func (b *bench) edit(id string, edits ...text.Edit) Synced {
	b.t.Helper()
	b.mu.Lock()
	d, err := b.find(id)
	b.mu.Unlock()
	if err != nil {
		b.t.Fatal(err)
	}
	runs, err := d.lines.Choose(edits, d.majority)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.sync(id, Change{edits, runs})
}

func (b *bench) sync(id string, changes ...Change) Synced {
	b.t.Helper()
	i, err := b.Info(id)
	if err != nil {
		b.t.Fatal(err)
	}
	done, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: i.Version, Changes: changes})
	if err != nil {
		b.t.Fatal(err)
	}
	return done
}

// replace makes the one edit that turns old, which the text holds once, into
// new.
func (b *bench) replace(id, old, new string) Synced {
	b.t.Helper()
	s, _, err := b.Text(id)
	if err != nil || strings.Count(s, old) != 1 {
		b.t.Fatalf("%q is not there once: %v", old, err)
	}
	from := text.Length(s[:strings.Index(s, old)])
	return b.edit(id, text.Edit{From: from, To: from + text.Length(old), Insert: new})
}

// request is the save request of a page that agrees with the mirror.
func (b *bench) request(id string) SaveRequest {
	b.t.Helper()
	i, err := b.Info(id)
	if err != nil {
		b.t.Fatal(err)
	}
	s, version, err := b.Text(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return SaveRequest{Page: b.page, ID: id, Version: version, Length: i.Length, Digest: text.Digest(s)}
}

func (b *bench) save(id string) Saved {
	b.t.Helper()
	saved, err := b.Save(b.t.Context(), b.request(id))
	if err != nil {
		b.t.Fatal(err)
	}
	if saved.Document.Dirty {
		b.t.Fatal("dirty after a save")
	}
	return saved
}

func (b *bench) disk(name string) string {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(got)
}

func (b *bench) wantDisk(name, want string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.disk(name)); diff != "" {
		b.t.Errorf("%s: %s", name, diff)
	}
}

func wantCode(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s: %q (%v), want %q", what, got, err, want)
	}
}

// F1: a local edit changes only its own bytes, for all that A1, A2, A3 and A5
// name, through a real file.
//
// covers: F1 F2 F3
func TestSave_ChangesOnlyWhatWasEdited(t *testing.T) {
	t.Parallel()
	utf16le := func(s string) string { return encoded(text.UTF16LE, s) }
	utf16be := func(s string) string { return encoded(text.UTF16BE, s) }
	for _, tt := range []struct{ name, disk, old, new, want string }{
		{"A1 markers", "1. a\n1. b\n1. c\n\n* x\n+ y\n- z\n", "b", "B", "1. a\n1. B\n1. c\n\n* x\n+ y\n- z\n"},
		{"A2 escapes", "see [k]\n\n[k]: https://e.invalid/a\n\np &gt; q \\# r 1\\. s \\$5\n", "see", "See", "See [k]\n\n[k]: https://e.invalid/a\n\np &gt; q \\# r 1\\. s \\$5\n"},
		{"A3 BOM", "\xEF\xBB\xBF---\nt: 1\n---\nx\n", "x", "y", "\xEF\xBB\xBF---\nt: 1\n---\ny\n"},
		{"A5 mixed endings", "a\r\nb\nc\r\n", "b", "B1\nB2", "a\r\nB1\nB2\nc\r\n"},
		{"CRLF", "a\r\nb\r\n", "b", "c\nd", "a\r\nc\r\nd\r\n"},
		{"CR", "a\rb\r", "b", "c\nd", "a\rc\rd\r"},
		{"no final newline", "a\r\nb", "b", "c\nd", "a\r\nc\r\nd"},
		{"blanks and NUL", "a  \t\n\x00b \n", "b", "c", "a  \t\n\x00c \n"},
		{"UTF-16 LE", utf16le("é😀\r\nb\n"), "b", "茶", utf16le("é😀\r\n茶\n")},
		{"UTF-16 BE", utf16be("é😀\r\nb\n"), "b", "茶\n", utf16be("é😀\r\n茶\n\n")},
		{"long line", strings.Repeat("x", 1<<20) + "b\r\n", "b", "c", strings.Repeat("x", 1<<20) + "c\r\n"},
		{"replacement character", "\uFFFD b", "b", "c", "\uFFFD c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.file("n.md", tt.disk)
			i := b.open("n.md")
			if i.Dirty || i.Version != 1 {
				t.Fatalf("opened dirty or at version %d", i.Version)
			}
			if saved := b.save(i.ID); saved.Written {
				t.Error("an untouched document was written")
			}
			b.wantDisk("n.md", tt.disk)
			if done := b.replace(i.ID, tt.old, tt.new); !done.Dirty || done.Version != 2 {
				t.Errorf("synced: %+v", done)
			}
			if saved := b.save(i.ID); !saved.Written || saved.Bytes != len(tt.want) {
				t.Errorf("saved: %+v", saved)
			}
			b.wantDisk("n.md", tt.want)
			for range 2 {
				if saved := b.save(i.ID); saved.Written {
					t.Error("written again without a change")
				}
			}
			b.wantDisk("n.md", tt.want)
		})
	}
}

// encoded returns s in a UTF-16 with its BOM, endings as they are in s.
func encoded(e text.Encoding, s string) string {
	_, lines, err := text.Decode([]byte(s))
	if err != nil {
		panic(err)
	}
	return string(text.Encode(text.Format{Encoding: e, BOM: true}, lines))
}

// covers: F1 F3
func TestSync_UndoneIsClean(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const disk = "a\r\nb\nc\rd"
	b.file("n.md", disk)
	id := b.open("n.md").ID
	if !b.edit(id, text.Edit{From: 1, To: 5, Insert: ""}).Dirty {
		t.Error("clean after a deletion")
	}
	// The text comes back, but with another ending: other bytes.
	wrong := Change{[]text.Edit{{From: 1, To: 1, Insert: "\nb\nc"}}, []text.EndingRun{{Ending: text.CRLF, Count: 2}}}
	if !b.sync(id, wrong).Dirty {
		t.Error("clean although an ending differs")
	}
	b.edit(id, text.Edit{From: 1, To: 5, Insert: ""})
	right := Change{[]text.Edit{{From: 1, To: 1, Insert: "\nb\nc"}}, []text.EndingRun{{Ending: text.CRLF, Count: 1}, {Ending: text.LF, Count: 1}}}
	if b.sync(id, right).Dirty {
		t.Error("dirty although all is undone")
	}
	if b.save(id).Written {
		t.Error("written although all is undone")
	}
	b.wantDisk("n.md", disk)
}

func TestSync_RefusesAndStaysAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a😀\n")
	id := b.open("n.md").ID
	good := Change{[]text.Edit{{From: 0, To: 1, Insert: "b"}}, nil}
	for name, tt := range map[string]struct {
		r    SyncRequest
		want fault.Code
	}{
		"gap":           {SyncRequest{Page: b.page, ID: id, FromVersion: 2, Changes: []Change{good}}, fault.UnknownBase},
		"repeat":        {SyncRequest{Page: b.page, ID: id, FromVersion: 0, Changes: []Change{good}}, fault.UnknownBase},
		"no document":   {SyncRequest{Page: b.page, ID: "x", FromVersion: 1, Changes: []Change{good}}, fault.NotFound},
		"unknown page":  {SyncRequest{Page: b.page + 1, ID: id, FromVersion: 1, Changes: []Change{good}}, fault.InvalidInput},
		"second is bad": {SyncRequest{Page: b.page, ID: id, FromVersion: 1, Changes: []Change{good, {[]text.Edit{{From: 2, To: 2}}, nil}}}, fault.InvalidInput},
		"lone":          {SyncRequest{Page: b.page, ID: id, FromVersion: 1, Changes: []Change{{[]text.Edit{{Insert: "\xed\xa0\xbd"}}, nil}}}, fault.InvalidInput},
		"no endings":    {SyncRequest{Page: b.page, ID: id, FromVersion: 1, Changes: []Change{{[]text.Edit{{Insert: "\n"}}, nil}}}, fault.InvalidInput},
	} {
		_, err := b.Sync(tt.r)
		wantCode(t, name, err, tt.want)
	}
	if s, version, err := b.Text(id); s != "a😀\n" || version != 1 || err != nil {
		t.Errorf("%q at %d, %v", s, version, err)
	}
}

func TestAttach_MakesOlderPagesInert(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	old := b.request(id)
	a := b.Attach()
	if len(a.Documents) != 1 || a.Documents[0].Version != 2 || !a.Documents[0].Dirty || a.Current != id {
		t.Errorf("attached: %+v", a)
	}
	_, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: 2})
	wantCode(t, "sync", err, fault.Busy)
	_, err = b.Save(t.Context(), old)
	wantCode(t, "save", err, fault.Busy)
	_, err = b.ReplaceText(Replacement{Page: b.page, ID: id, Version: 9, Text: "x"})
	wantCode(t, "replace", err, fault.Busy)
	_, err = b.Reload(t.Context(), b.page, id)
	wantCode(t, "reload", err, fault.Busy)
	wantCode(t, "close", b.CloseDocument(t.Context(), b.page, id, DiscardUnsaved), fault.Busy)
	wantCode(t, "current", b.SetCurrent(b.page, id), fault.Busy)
	wantCode(t, "check", b.CheckPage(b.page), fault.Busy)
	b.page = a.Page
	b.save(id)
	b.wantDisk("n.md", "b\n")
}

func TestReplaceText_ResynchronisesTheMirror(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\r\nb\n")
	id := b.open("n.md").ID
	runs := []text.EndingRun{{Ending: text.CRLF, Count: 1}, {Ending: text.LF, Count: 1}}
	for name, r := range map[string]Replacement{
		"CR":      {b.page, id, 3, "a\r\nc\n", runs},
		"invalid": {b.page, id, 3, "a\n\xff\n", runs},
		"endings": {b.page, id, 3, "a\n", runs},
		"older":   {b.page, id, 0, "a\nc\n", runs},
	} {
		_, err := b.ReplaceText(r)
		wantCode(t, name, err, fault.InvalidInput)
	}
	done, err := b.ReplaceText(Replacement{b.page, id, 7, "a\nc\n", runs})
	if err != nil || done != (Synced{7, true}) {
		t.Fatalf("%+v, %v", done, err)
	}
	b.save(id)
	b.wantDisk("n.md", "a\r\nc\n")
}

func TestSnapshot_IsOfOneVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.file("n é.md", "\xEF\xBB\xBFa\r\nb")
	id := b.open("n é.md").ID
	if _, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: 1, Anchor: 3, Head: 99}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Snapshot(id, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := Snapshot{
		ID: id, URI: fileURI(path), Path: path, Version: 1, Text: "a\nb", Digest: text.Digest("a\nb"), Anchor: 3, Head: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(got.URI, "/n%20%C3%A9.md") || !strings.HasPrefix(got.URI, "file:///") {
		t.Errorf("URI %q", got.URI)
	}
	_, err = b.Snapshot(id, 2)
	wantCode(t, "another version", err, fault.UnknownBase)
}

func TestClose_AsksBeforeUnsavedTextGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.NewUntitled().ID
	b.edit(id, text.Edit{Insert: "x"})
	if err := b.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "close", b.CloseDocument(t.Context(), b.page, id, KeepUnsaved), fault.Busy)
	if err := b.CloseDocument(t.Context(), b.page, id, DiscardUnsaved); err != nil {
		t.Fatal(err)
	}
	if len(b.List()) != 0 || len(b.draftFiles()) != 0 {
		t.Errorf("left: %v, %v", b.List(), b.draftFiles())
	}
	wantCode(t, "again", b.CloseDocument(t.Context(), b.page, id, DiscardUnsaved), fault.NotFound)
}

// draftFiles names all files in the drafts folder.
func (b *bench) draftFiles() []string {
	b.t.Helper()
	names, err := filepath.Glob(filepath.Join(b.draftFolder(), "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func TestSet_ManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "")
	id := b.open("n.md").ID
	const edits = 200
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := range edits {
			r := SyncRequest{Page: b.page, ID: id, FromVersion: v + 1, Changes: []Change{{[]text.Edit{{Insert: "x"}}, nil}}}
			if _, err := b.Sync(r); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for saving := true; saving; {
		select {
		case <-done:
			saving = false
		default:
		}
		// The mirror may move on between asking and saving.
		if _, err := b.Save(context.Background(), b.request(id)); err != nil {
			wantCode(t, "save", err, fault.UnknownBase)
		}
		if _, err := b.Open(t.Context(), b.path("n.md")); err != nil {
			t.Error(err)
		}
		b.List()
	}
	b.save(id)
	b.wantDisk("n.md", strings.Repeat("x", edits))
	if n := len(b.List()); n != 1 {
		t.Errorf("%d documents", n)
	}
}

// The end of the program can meet a start that still opens what was open last.
//
// covers: F11
func TestSet_OpenDuringClose(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var opening sync.WaitGroup
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		b.file(name, "text\n")
		opening.Go(func() {
			info, err := b.Open(t.Context(), b.path(name))
			if err != nil {
				t.Error(err)
				return
			}
			if err := b.CloseDocument(t.Context(), b.page, info.ID, KeepUnsaved); err != nil {
				t.Error(err)
			}
		})
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	opening.Wait()
}
