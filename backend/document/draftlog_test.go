package document

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/text"
	"galley/backend/workspace"
)

// large is a text whose draft is kept by its changes.
func large() string { return strings.Repeat("a line 😀 of text\r\n", largeText/19+1) }

// changesFile is the file of changes of the only draft.
func (b *bench) changesFile() string {
	b.t.Helper()
	for _, name := range b.draftFiles() {
		if strings.HasSuffix(name, changesExt) {
			return name
		}
	}
	b.t.Fatal("no changes are kept")
	return ""
}

func (b *bench) flush() {
	b.t.Helper()
	b.outside(b.FlushDrafts(b.t.Context()))
}

// A large text costs its changes, not itself, and comes back as it was.
//
// covers: F6
func TestKeeper_KeepsChangesOfALargeText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", large())
	id := b.open("n.md").ID
	b.edit(id, text.Edit{Insert: "first\n"})
	b.flush()
	if got := b.draftFiles(); len(got) != 1 {
		t.Fatalf("files %v", got)
	}
	whole, err := os.Stat(b.draftFiles()[0])
	b.outside(err)
	for i := range 50 {
		b.edit(id, text.Edit{From: 1, To: 2, Insert: fmt.Sprintf("\n%d茶\u2028\n", i)}, text.Edit{From: 3, To: 4, Insert: "x"})
		b.flush()
	}
	after, err := os.Stat(b.draftFiles()[1])
	b.outside(err)
	if !os.SameFile(whole, after) {
		t.Error("the whole text was written again")
	}
	changes, err := os.Stat(b.changesFile())
	if err != nil || changes.Size() > 50*400 {
		t.Errorf("50 changes take %d bytes, %v", changes.Size(), err)
	}
	i := b.info(id)
	b.outside(func() error {
		_, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: i.Version, Changes: []Change{{Edits: []text.Edit{{Insert: "y"}}}}, Anchor: 7, Head: 9})
		return err
	}())
	b.flush()
	want, _, err := b.Text(id)
	b.outside(err)
	endings := b.info(id).Endings
	b = b.restart()
	left := b.drafts()
	if len(left) != 1 || left[0].Length != text.Length(want) || left[0].Conflict {
		t.Fatalf("drafts %+v", left)
	}
	i = b.restore(left[0].ID)
	got, _, err := b.Text(i.ID)
	if got != want || err != nil || i.Anchor != 7 || i.Head != 9 || fmt.Sprint(i.Endings) != fmt.Sprint(endings) {
		t.Errorf("restored another text, %v: %+v", err, i)
	}
	// What is typed now belongs to a draft that is whole again.
	b.edit(i.ID, text.Edit{Insert: "z"})
	b.flush()
	if got := b.kept(); got != "z"+want {
		t.Error("the draft after a restore is another text")
	}
	b.save(i.ID)
	b.flush()
	if got := b.draftFiles(); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

// Whatever was cut or changed in the file of changes, the draft is the text
// after some of them, in order.
//
// covers: F6
func TestReplay_TornAndForeignChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", large())
	id := b.open("n.md").ID
	b.edit(id, text.Edit{Insert: "0 "})
	b.flush()
	var texts []string
	note := func() {
		s, _, err := b.Text(id)
		b.outside(err)
		texts = append(texts, s)
	}
	note()
	for i := 1; i < 4; i++ {
		b.edit(id, text.Edit{Insert: fmt.Sprintf("%d ", i)})
		b.flush()
		note()
	}
	draft, changes := "", b.changesFile()
	for _, name := range b.draftFiles() {
		if strings.HasSuffix(name, draftExt) {
			draft = name
		}
	}
	data, err := os.ReadFile(changes)
	b.outside(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) != 5 { // the first, three changes, nothing
		t.Fatalf("%d lines", len(lines))
	}
	read := func(data []byte) int {
		b.outside(os.WriteFile(changes, data, 0o600))
		st, _, err := readDraft(draft)
		b.outside(err)
		for i, s := range texts {
			if st.lines.Text() == s {
				return i
			}
		}
		t.Fatal("another text")
		return 0
	}
	for cut := range len(data) + 1 {
		// At the ends of lines each byte counts, within them any.
		if near := bytes.IndexByte(data[max(0, cut-2):min(len(data), cut+2)], '\n') >= 0; !near && cut%9 != 0 {
			continue
		}
		whole := max(0, bytes.Count(data[:cut], []byte("\n"))-1)
		if got := read(data[:cut]); got != whole {
			t.Fatalf("cut at %d: text %d, want %d", cut, got, whole)
		}
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, tt := range map[string]struct {
		data []byte
		want int
	}{
		"one is left out":   {join(lines[0], lines[2], lines[3]), 0},
		"one comes twice":   {join(lines[0], lines[1], lines[1], lines[2]), 1},
		"out of order":      {join(lines[0], lines[1], lines[3], lines[2]), 1},
		"flipped":           {join(lines[0], lines[1], bytes.Replace(lines[2], []byte("2 "), []byte("9 "), 1), lines[3]), 1},
		"zeros after":       {join(data, make([]byte, 4096)), 3},
		"of another draft":  {join([]byte(changesMagic+strings.Repeat("0", 64)+"\n"), lines[1]), 0},
		"no first line":     {join(lines[1], lines[2]), 0},
		"nothing but zeros": {make([]byte, 100), 0},
	} {
		if got := read(tt.data); got != tt.want {
			t.Errorf("%s: text %d, want %d", name, got, tt.want)
		}
	}
}

// The file of changes does not grow without end, and a text that is put whole
// is kept whole.
func TestKeeper_WritesWholeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", large())
	id := b.open("n.md").ID
	for i := range 6 {
		b.edit(id, text.Edit{Insert: strings.Repeat(fmt.Sprint(i), maxChanges/4)})
		b.flush()
		for _, name := range b.draftFiles() {
			info, err := os.Stat(name)
			b.outside(err)
			if strings.HasSuffix(name, changesExt) && info.Size() > 2*maxChanges {
				t.Errorf("changes of %d bytes", info.Size())
			}
		}
		want, _, err := b.Text(id)
		b.outside(err)
		st, _, err := readDraft(b.draftPath(b.draftID(id)))
		if err != nil || st.lines.Text() != want {
			t.Fatalf("round %d: the draft is another text, %v", i, err)
		}
	}
	i := b.info(id)
	_, err := b.ReplaceText(Replacement{Page: b.page, ID: id, Version: i.Version + 5, Text: strings.Repeat("z", largeText)})
	b.outside(err)
	b.flush()
	if got := b.draftFiles(); len(got) != 1 || b.kept() != strings.Repeat("z", largeText) {
		t.Errorf("files %v", got)
	}
}

func (b *bench) draftID(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, err := b.find(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return d.keeper.draft
}

// The folder goes, and comes back: the next draft is whole.
func TestKeeper_ChangesThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.file("n.md", large())
		id := b.open("n.md").ID
		b.edit(id, text.Edit{Insert: "1"})
		b.flush()
		b.outside(os.RemoveAll(b.draftFolder()), os.WriteFile(b.draftFolder(), nil, 0o600))
		b.edit(id, text.Edit{Insert: "2"})
		if err := b.FlushDrafts(t.Context()); err == nil {
			t.Error("kept in a folder that is none")
		}
		if b.info(id).DraftFault == "" {
			t.Error("the failure is not said")
		}
		b.outside(os.Remove(b.draftFolder()))
		b.edit(id, text.Edit{Insert: "3"})
		time.Sleep(2 * draftDelay)
		synctest.Wait()
		want, _, err := b.Text(id)
		if err != nil || b.kept() != want || b.info(id).DraftFault != "" {
			t.Errorf("not kept after all: %v", err)
		}
	})
}

// BenchmarkKeeper is one draft of a text of 10 MB, and of 10 KB, after a key.
func BenchmarkKeeper(b *testing.B) {
	for name, size := range map[string]int{"10KB": 10 << 10, "10MB": 10 << 20} {
		b.Run(name, func(b *testing.B) {
			g := workspace.NewGrants()
			defer g.Close()
			s, err := New(Config{Grants: g, Home: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			page, id := s.Attach().Page, s.NewUntitled().ID
			if _, err := s.ReplaceText(Replacement{Page: page, ID: id, Version: 2, Text: strings.Repeat("x", size)}); err != nil {
				b.Fatal(err)
			}
			if err := s.FlushDrafts(b.Context()); err != nil {
				b.Fatal(err)
			}
			version := 2
			for b.Loop() {
				done, err := s.Sync(SyncRequest{Page: page, ID: id, FromVersion: version, Changes: []Change{{Edits: []text.Edit{{Insert: "x"}}}}})
				if err != nil {
					b.Fatal(err)
				}
				version = done.Version
				if err := s.FlushDrafts(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
