package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// check compares with the disk and returns what was told.
func (b *bench) check(paths ...string) string {
	b.t.Helper()
	if err := b.Check(b.t.Context(), paths); err != nil {
		b.t.Fatal(err)
	}
	return b.told.take()
}

func (b *bench) wantTold(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: told %q, want %q", what, got, want)
	}
	if again := b.check(); again != "" {
		b.t.Errorf("%s: told %q once more", what, again)
	}
}

func (b *bench) info(id string) Info {
	b.t.Helper()
	i, err := b.Info(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return i
}

// outside does something to the file system.
func (b *bench) outside(errs ...error) {
	b.t.Helper()
	for _, err := range errs {
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// history returns the kept versions as "reason text", newest first.
func (b *bench) versions(id string) []string {
	b.t.Helper()
	b.history.later.Wait()
	kept, err := b.History(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	out := []string{}
	for _, v := range kept.Versions {
		s, err := b.VersionText(b.t.Context(), id, v.ID)
		if err != nil {
			s = string(fault.CodeOf(err))
		} else if v.Length != text.Length(s) {
			b.t.Errorf("version %s is said to have %d units and has %d", v.ID, v.Length, text.Length(s))
		}
		out = append(out, string(v.Reason)+" "+s)
	}
	return out
}

func (b *bench) wantVersions(id string, want ...string) {
	b.t.Helper()
	if got := b.versions(id); strings.Join(got, "|") != strings.Join(want, "|") {
		b.t.Errorf("versions %q, want %q", got, want)
	}
}

// A8, out-1: the same size within one tick of the clock, on a document with
// unsaved text. It is told, the save is refused, and each way keeps the loser.
//
// covers: F5
func TestCheck_A8_ChangedWhileDirty(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) (*bench, string) {
		b := newBench(t)
		path := b.file("n.md", "v1\n")
		info, err := os.Stat(path)
		b.outside(err)
		id := b.open("n.md").ID
		b.replace(id, "v1", "mine")
		b.file("n.md", "v2\n")
		b.outside(os.Chtimes(path, time.Time{}, info.ModTime()))
		b.wantTold("changed", b.check(path), "changed")
		if i := b.info(id); i.Disk != DiskChanged || !i.Dirty {
			t.Errorf("%+v", i)
		}
		_, err = b.Save(t.Context(), b.request(id))
		wantCode(t, "save", err, fault.ChangedOnDisk)
		b.wantTold("after the refusal", b.told.take(), "")
		return b, id
	}
	t.Run("keep mine", func(t *testing.T) {
		t.Parallel()
		b, id := prepare(t)
		r := b.request(id)
		r.Overwrite = true
		saved, err := b.Save(t.Context(), r)
		if err != nil || saved.Document.Disk != DiskSame {
			t.Fatalf("%+v, %v", saved, err)
		}
		b.wantDisk("n.md", "mine\n")
		b.wantTold("after", b.check(), "")
		b.wantVersions(id, "saved mine\n", "overwritten v2\n", "opened v1\n")
	})
	t.Run("take theirs", func(t *testing.T) {
		t.Parallel()
		b, id := prepare(t)
		i, err := b.Reload(t.Context(), b.page, id)
		if err != nil || i.Disk != DiskSame || i.Dirty {
			t.Fatalf("%+v, %v", i, err)
		}
		b.wantTold("after", b.check(), "")
		got := b.versions(id)
		if len(got) == 0 || got[0] != "discarded mine\n" {
			t.Errorf("versions %q", got)
		}
	})
	t.Run("merge what was compared", func(t *testing.T) {
		t.Parallel()
		b, id := prepare(t)
		c, err := b.Compare(t.Context(), b.page, id)
		if err != nil {
			t.Fatal(err)
		}
		b.replace(id, "mine", "both")
		r := b.request(id)
		r.DiskHash = c.DiskHash
		b.file("n.md", "v3\n")
		_, err = b.Save(t.Context(), r)
		wantCode(t, "another version", err, fault.ChangedOnDisk)
		b.wantDisk("n.md", "v3\n")
		b.wantTold("another version", b.told.take(), "changed")
		if c, err = b.Compare(t.Context(), b.page, id); err != nil {
			t.Fatal(err)
		}
		r.DiskHash = c.DiskHash
		if _, err := b.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.wantDisk("n.md", "both\n")
		b.wantVersions(id, "saved both\n", "overwritten v3\n", "opened v1\n")
	})
}

// out-2: a clean document is told once, reloads with its caret, and hears when
// the first bytes come back.
//
// covers: F5
func TestCheck_ChangedWhileClean(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "one\ntwo\n")
	id := b.open("n.md").ID
	b.outside(func() error {
		_, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: 1, Anchor: 5, Head: 5})
		return err
	}())
	b.wantTold("untouched", b.check(), "")
	b.outside(os.Chtimes(b.path("n.md"), time.Time{}, time.Now().Add(-time.Hour)))
	b.wantTold("touched", b.check(), "")
	b.file("n.md", "one\nTWO\n")
	b.wantTold("changed", b.check(), "changed")
	b.file("n.md", "one\nTHREE\n")
	b.wantTold("changed again", b.check(), "changed")
	b.file("n.md", "one\ntwo\n")
	b.wantTold("back", b.check(), "same")
	b.file("n.md", "one\n2\n")
	b.wantTold("changed", b.check(), "changed")
	i, err := b.Reload(t.Context(), b.page, id)
	if err != nil || i.Anchor != 5 || i.Disk != DiskSame || i.Dirty {
		t.Errorf("reloaded %+v, %v", i, err)
	}
	b.wantTold("reloaded", b.check(), "")
}

// Something else wrote what the document holds: nothing is unsaved any more.
func TestCheck_MineWrittenBySomethingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	b.file("n.md", "b\n")
	b.wantTold("written", b.check(), "same")
	if b.info(id).Dirty {
		t.Error("still dirty")
	}
	b.replace(id, "b", "c")
	b.save(id)
	b.wantDisk("n.md", "c\n")
}

// out-3: a file that is deleted leaves a document with its text, kept as a
// draft; saving it asks; it can come back.
//
// covers: F5 F6
func TestCheck_Deleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "text\n")
	id := b.open("n.md").ID
	b.outside(os.Remove(b.path("n.md")))
	b.wantTold("deleted", b.check(b.path("n.md")), "missing")
	if i := b.info(id); i.Disk != DiskMissing || i.Dirty {
		t.Errorf("%+v", i)
	}
	b.outside(b.FlushDrafts(t.Context()))
	if got := b.kept(); got != "text\n" {
		t.Errorf("the last copy is kept as %q", got)
	}
	_, err := b.Save(t.Context(), b.request(id))
	wantCode(t, "save", err, fault.ChangedOnDisk)
	b.file("n.md", "text\n")
	b.wantTold("back", b.check(), "same")
	b.outside(b.FlushDrafts(t.Context()))
	if got := b.draftFiles(); len(got) != 0 {
		t.Errorf("drafts %v", got)
	}
	b.outside(os.Remove(b.path("n.md")))
	b.wantTold("deleted again", b.check(), "missing")
	r := b.request(id)
	r.Overwrite = true
	if _, err := b.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.wantDisk("n.md", "text\n")
	b.wantTold("made anew", b.check(), "")
}

// out-3: a renamed file is followed, wherever it went inside the workspace; its
// history goes along.
//
// covers: F5
func TestCheck_Renamed(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"beside": "m.md", "below": "sub/deep/n.md"} {
		for _, hinted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.outside(os.MkdirAll(b.path("sub/deep"), 0o755))
				b.file("n.md", "a\n")
				id := b.open("n.md").ID
				b.replace(id, "a", "b")
				b.save(id)
				b.replace(id, "b", "c")
				b.versions(id)
				b.outside(os.Rename(b.path("n.md"), b.path(to)))
				var hints []string
				if hinted {
					hints = []string{b.path("n.md"), b.path(to)}
				}
				b.wantTold("renamed", b.check(hints...), "moved")
				if i := b.info(id); i.Path != b.path(to) || i.Name != filepath.Base(to) || i.Disk != DiskSame || !i.Dirty {
					t.Errorf("%+v", i)
				}
				b.save(id)
				b.wantDisk(to, "c\n")
				if _, err := os.Stat(b.path("n.md")); err == nil {
					t.Error("the old name is back")
				}
				b.wantVersions(id, "saved c\n", "saved b\n", "opened a\n")
			})
		}
	}
}

// What looks like a rename and is none.
func TestCheck_NotRenamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act  func(b *bench)
		want string
	}{
		// A file of the same number, as a new one often gets.
		"other bytes under another name": {func(b *bench) {
			b.outside(os.Rename(b.path("n.md"), b.path("m.md")))
			b.file("m.md", "other\n")
		}, "missing"},
		"out of the workspace": {func(b *bench) { b.outside(os.Rename(b.path("n.md"), filepath.Join(b.home, "n.md"))) }, "missing"},
		"thrown away, where the trash is seen": {func(b *bench) {
			b.grants.SetIgnored(true, nil)
			b.outside(os.MkdirAll(b.path(".Trash-1000/files"), 0o700), os.Rename(b.path("n.md"), b.path(".Trash-1000/files/n.md")))
		}, "missing"},
		"backup, then a new file": {func(b *bench) {
			b.outside(os.Rename(b.path("n.md"), b.path("n.md~")))
			b.file("n.md", "new\n")
		}, "changed"},
		"onto another open document": {func(b *bench) {
			b.file("m.md", "m\n")
			b.open("m.md")
			b.outside(os.Rename(b.path("n.md"), b.path("m.md")))
		}, "missing changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.file("n.md", "a\n")
			id := b.open("n.md").ID
			tt.act(b)
			b.wantTold(name, b.check(), tt.want)
			if i := b.info(id); i.Path != b.path("n.md") {
				t.Errorf("%+v", i)
			}
		})
	}
}

// out-4: one file by several names is one document, also after a rename of the
// name it was opened by, and is told once.
//
// covers: F5
func TestCheck_OneFileManyNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	if os.Link(b.path("n.md"), b.path("hard.md")) != nil || os.Symlink("n.md", b.path("link.md")) != nil {
		t.Skip("no links here")
	}
	id := b.open("n.md").ID
	for _, name := range []string{"hard.md", "link.md"} {
		if b.open(name).ID != id {
			t.Errorf("%s is another document", name)
		}
	}
	b.file("hard.md", "b\n")
	b.wantTold("written by its other name", b.check(b.path("hard.md")), "changed")
	if _, err := b.Reload(t.Context(), b.page, id); err != nil {
		t.Fatal(err)
	}
	b.outside(os.Rename(b.path("n.md"), b.path("renamed.md")))
	b.wantTold("renamed", b.check(b.path("n.md"), b.path("renamed.md")), "moved")
	for _, name := range []string{"renamed.md", "hard.md"} {
		if b.open(name).ID != id {
			t.Errorf("%s is another document after the rename", name)
		}
	}
	if n := len(b.List()); n != 1 {
		t.Errorf("%d documents", n)
	}
	// A link's target that is replaced by another editor is the link's change.
	b.file("t.md", "t\n")
	b.outside(os.Symlink("t.md", b.path("l.md")))
	b.open("l.md")
	b.file("new", "T\n")
	b.outside(os.Rename(b.path("new"), b.path("t.md")))
	b.wantTold("the target was replaced", b.check(b.path("t.md")), "changed")
}

// out-5: a folder in the file's place is no file; nothing is written into it.
func TestCheck_ReplacedByAFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	b.outside(os.Remove(b.path("n.md")), os.Mkdir(b.path("n.md"), 0o755))
	b.wantTold("a folder", b.check(), "missing")
	r := b.request(id)
	r.Overwrite = true
	_, err := b.Save(t.Context(), r)
	wantCode(t, "save", err, fault.NotAFile)
}

// out-6: what no watcher told of is found by comparing all, as on focus.
//
// covers: F5
func TestCheck_NeedsNoWatcher(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := map[string]string{}
	for _, name := range []string{"changed.md", "gone.md", "renamed.md", "same.md"} {
		b.file(name, name+"\n")
		ids[name] = b.open(name).ID
	}
	b.NewUntitled()
	b.file("changed.md", "x\n")
	b.outside(os.Remove(b.path("gone.md")), os.Rename(b.path("renamed.md"), b.path("r.md")))
	if err := b.Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]DiskState{}
	for _, c := range b.told.changes {
		got[c.Document.ID] = c.State
		if c.AtMs == 0 {
			t.Error("no time")
		}
	}
	want := map[string]DiskState{ids["changed.md"]: DiskChanged, ids["gone.md"]: DiskMissing, ids["renamed.md"]: DiskMoved}
	for id, state := range want {
		if got[id] != state {
			t.Errorf("told %q, want %q", got[id], state)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %d documents", len(got))
	}
}

// Other programs remove and make anew, or empty and fill. What lasts no longer
// than that is not told.
//
// covers: F5
func TestCheck_DoesNotFlap(t *testing.T) {
	for name, tt := range map[string]struct {
		begin, end func(b *bench)
		want       string
	}{
		"removed, made again": {
			func(b *bench) { b.outside(os.Remove(b.path("n.md"))) },
			func(b *bench) { b.file("n.md", "a\n") }, "",
		},
		"emptied, filled with the same": {
			func(b *bench) { b.file("n.md", "") },
			func(b *bench) { b.file("n.md", "a\n") }, "",
		},
		"emptied, filled with other": {
			func(b *bench) { b.file("n.md", "") },
			func(b *bench) { b.file("n.md", "b\n") }, "changed",
		},
		"removed, made with other": {
			func(b *bench) { b.outside(os.Remove(b.path("n.md"))) },
			func(b *bench) { b.file("n.md", "b\n") }, "changed",
		},
		"emptied for good": {func(b *bench) { b.file("n.md", "") }, func(*bench) {}, "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.settle = defaultSettle
				b.file("n.md", "a\n")
				id := b.open("n.md").ID
				tt.begin(b)
				done := make(chan error)
				go func() { done <- b.Check(t.Context(), nil) }()
				time.Sleep(defaultSettle / 2)
				synctest.Wait()
				if got := b.told.take(); got != "" {
					t.Errorf("told %q in the middle", got)
				}
				tt.end(b)
				b.outside(<-done)
				b.wantTold(name, b.told.take(), tt.want)
				if tt.want == "changed" {
					disk, err := os.ReadFile(b.path("n.md"))
					b.outside(err)
					b.mu.Lock()
					d, _ := b.find(id)
					hash := d.diskHash
					b.mu.Unlock()
					if hash != hashOf(disk) {
						t.Error("told of what is not there")
					}
				}
			})
		})
	}
}

// A save while the disk is compared is not taken for somebody else's.
func TestCheck_WhileSaving(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "")
	id := b.open("n.md").ID
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 60 {
			b.edit(id, text.Edit{Insert: "x"})
			b.save(id)
		}
	}()
	for saving := true; saving; {
		select {
		case <-done:
			saving = false
		default:
		}
		if got := b.check(); got != "" {
			t.Fatalf("told %q", got)
		}
	}
}

// Where the program itself moves a file or folder, documents and history go
// along.
func TestMove_TakesDocumentsAndHistoryAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outside(os.MkdirAll(b.path("a/b"), 0o755))
	b.file("a/b/n.md", "1\n")
	b.file("ab.md", "beside\n")
	id, beside := b.open("a/b/n.md").ID, b.open("ab.md").ID
	b.replace(id, "1", "2")
	b.save(id)
	b.versions(id)
	move := func(from, to string) {
		b.outside(b.Move(t.Context(), from, to, func() error { return os.Rename(from, to) }))
	}
	move(b.path("a"), b.path("z"))
	if got := b.told.take(); got != "moved" {
		t.Errorf("told %q", got)
	}
	if i := b.info(id); i.Path != b.path("z/b/n.md") || b.info(beside).Path != b.path("ab.md") {
		t.Errorf("%+v", i)
	}
	b.wantTold("after", b.check(), "")
	b.wantVersions(id, "saved 2\n", "opened 1\n")
	b.replace(id, "2", "3")
	b.save(id)
	b.wantVersions(id, "saved 3\n", "saved 2\n", "opened 1\n")
	// A second start knows it too, and a second move.
	b = b.restart()
	move(b.path("z"), b.path("y"))
	b.wantVersions(b.open("y/b/n.md").ID, "saved 3\n", "saved 2\n", "opened 1\n")
}

// covers: F5
func TestCompare_IsPinned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "base\r\n")
	id := b.open("n.md").ID
	b.replace(id, "base", "mine")
	_, err := b.BaseText(id, "x")
	wantCode(t, "before", err, fault.NotFound)
	b.file("n.md", "theirs\r\nmore\n")
	c, err := b.Compare(t.Context(), b.page, id)
	if err != nil || c.Missing || c.ModifiedMs == 0 || len(c.DiskEndings) != 2 || c.DiskHash != hashOf([]byte("theirs\r\nmore\n")) {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := b.told.take(); got != "changed" {
		t.Errorf("told %q", got)
	}
	b.file("n.md", "later\n")
	if s, err := b.DiskText(id, c.DiskHash); s != "theirs\nmore\n" || err != nil {
		t.Errorf("disk %q, %v", s, err)
	}
	if s, err := b.BaseText(id, c.BaseHash); s != "base\n" || err != nil {
		t.Errorf("base %q, %v", s, err)
	}
	second, err := b.Compare(t.Context(), b.page, id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.DiskText(id, c.DiskHash)
	wantCode(t, "of the comparison before", err, fault.Stale)
	if s, err := b.DiskText(id, second.DiskHash); s != "later\n" || err != nil {
		t.Errorf("disk %q, %v", s, err)
	}
	b.outside(os.Remove(b.path("n.md")))
	gone, err := b.Compare(t.Context(), b.page, id)
	if err != nil || !gone.Missing || gone.DiskHash != "" || gone.ModifiedMs != 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	if s, err := b.DiskText(id, ""); s != "" || err != nil {
		t.Errorf("disk %q, %v", s, err)
	}
	b.file("n.md", "\xff\xfa")
	_, err = b.Compare(t.Context(), b.page, id)
	wantCode(t, "no text", err, fault.UnsupportedEncoding)
	_, err = b.Compare(t.Context(), b.page, b.NewUntitled().ID)
	wantCode(t, "untitled", err, fault.InvalidInput)
	_, err = b.Compare(t.Context(), b.page-1, id)
	wantCode(t, "older page", err, fault.Busy)
	_, err = b.DiskText("none", "")
	wantCode(t, "no document", err, fault.NotFound)
}

// A9: a restored draft has its own baseline, and after a start too its text can
// be compared, since it was kept at the first edit.
//
// covers: F5 F6
func TestCompare_A9_BaseAfterARestart(t *testing.T) {
	t.Parallel()
	b := leave(t, "v1\n", "v1", "v1+x")
	b.file("n.md", "v2\n")
	i := b.restore(b.drafts()[0].ID)
	id := i.ID
	if i.Disk != DiskChanged {
		t.Errorf("restored as %q", i.Disk)
	}
	_, err := b.Save(t.Context(), b.request(id))
	wantCode(t, "save", err, fault.ChangedOnDisk)
	b.wantDisk("n.md", "v2\n")
	b.wantTold("said already", b.check(), "")
	c, err := b.Compare(t.Context(), b.page, id)
	if err != nil {
		t.Fatal(err)
	}
	base, err := b.BaseText(id, c.BaseHash)
	if base != "v1\n" || err != nil {
		t.Errorf("base %q, %v", base, err)
	}
	if disk, err := b.DiskText(id, c.DiskHash); disk != "v2\n" || err != nil {
		t.Errorf("disk %q, %v", disk, err)
	}
	// Where the history is gone the base is not known, and nothing else changes.
	b = leave(t, "v1\n", "v1", "v1+x")
	b.outside(os.RemoveAll(filepath.Join(b.home, "history")))
	b.file("n.md", "v2\n")
	id = b.restore(b.drafts()[0].ID).ID
	if c, err = b.Compare(t.Context(), b.page, id); err != nil || c.BaseHash != "" || c.DiskHash == "" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = b.BaseText(id, "")
	wantCode(t, "unknown base", err, fault.Stale)
}

func TestFresh_DoesNotTrustTheClock(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	stat := workspace.Stat{Size: 1, ModTimeNs: at.UnixNano(), Inode: 7, Hash: "h"}
	changed := stat
	changed.ChangeTimeNs = at.Add(time.Nanosecond).UnixNano()
	for name, tt := range map[string]struct {
		seen time.Time
		stat workspace.Stat
		want bool
	}{
		"long ago":     {at.Add(tick), stat, true},
		"just written": {at.Add(tick - 1), stat, false},
		"earlier run":  {time.Time{}, stat, false},
		"size":         {at.Add(tick), workspace.Stat{Size: 2, ModTimeNs: at.UnixNano(), Inode: 7}, false},
		"put back":     {at.Add(tick), changed, false},
		"number":       {at.Add(tick), workspace.Stat{Size: 1, ModTimeNs: at.UnixNano(), Inode: 8}, false},
	} {
		base := baseline{stat: stat, seenAt: tt.seen}
		if got := base.fresh(tt.stat); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A8: the same size, and the time of the file put back to what it was, as
// archivers and synchronising programs do.
//
// covers: F5
func TestCheck_A8_TimePutBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path, before := b.file("n.md", "v1\n"), time.Now().Add(-time.Hour)
	b.outside(os.Chtimes(path, before, before))
	id := b.open("n.md").ID
	b.wantTold("untouched", b.check(), "")
	b.file("n.md", "v2\n")
	b.outside(os.Chtimes(path, before, before))
	b.wantTold("written", b.check(), "changed")
	if i := b.info(id); i.Disk != DiskChanged {
		t.Errorf("%+v", i)
	}
}
