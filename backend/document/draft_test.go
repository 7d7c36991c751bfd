package document

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// kept returns the text of the only draft on disk, "" when there is none.
func (b *bench) kept() string {
	b.t.Helper()
	names := b.draftFiles()
	if len(names) == 0 {
		return ""
	}
	if len(names) > 1 {
		b.t.Fatalf("drafts: %v", names)
	}
	st, _, err := readDraft(names[0])
	if err != nil {
		b.t.Fatal(err)
	}
	return st.lines.Text()
}

// covers: F6
func TestKeeper_KeepsDraftsWhileTypingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.file("n.md", "")
		id := b.open("n.md").ID
		typed := ""
		// A key every 50 ms, without a pause in which one might wait.
		for i := range 60 {
			typed += "x"
			b.edit(id, text.Edit{Insert: "x"})
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			if got := len(b.kept()); i >= 10 && got < len(typed)-10 {
				t.Fatalf("%d of %d letters are kept", got, len(typed))
			}
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if b.kept() != typed {
			t.Error("the last letters are not kept")
		}
	})
}

// covers: F6
func TestKeeper_RemovesTheDraftOfSavedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.file("n.md", "a\n")
		id := b.open("n.md").ID
		wait := func(want string) {
			t.Helper()
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			if got := b.kept(); got != want {
				t.Errorf("kept %q, want %q", got, want)
			}
		}
		wait("")
		b.replace(id, "a", "b")
		wait("b\n")
		b.replace(id, "b", "a")
		wait("")
		b.replace(id, "a", "c")
		wait("c\n")
		b.save(id)
		wait("")
		// Saved, then taken back to the first text: unsaved again.
		b.replace(id, "c", "a")
		wait("a\n")
	})
}

// A text that is clean but whose file is gone is the last copy.
//
// covers: F6
func TestKeeper_KeepsTheLastCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.file("n.md", "a\n")
		id := b.open("n.md").ID
		b.replace(id, "a", "b")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if err := os.Remove(b.path("n.md")); err != nil {
			t.Fatal(err)
		}
		b.replace(id, "b", "a")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if got := b.kept(); got != "a\n" {
			t.Errorf("kept %q", got)
		}
		if err := b.CloseDocument(t.Context(), b.page, id, KeepUnsaved); err != nil {
			t.Fatal(err)
		}
		if got := b.kept(); got != "a\n" {
			t.Errorf("kept %q after closing", got)
		}
	})
}

func TestKeeper_SaysWhenItCannotAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		// A file where the folder should be.
		if err := os.WriteFile(b.draftFolder(), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		id := b.NewUntitled().ID
		b.edit(id, text.Edit{Insert: "x"})
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if i, _ := b.Info(id); i.DraftFault == "" {
			t.Error("the failure is not said")
		}
		if err := b.FlushDrafts(t.Context()); err == nil {
			t.Error("flushed without an error")
		}
		if err := os.Remove(b.draftFolder()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if i, _ := b.Info(id); i.DraftFault != "" || b.kept() != "x" {
			t.Errorf("kept %q, fault %q", b.kept(), i.DraftFault)
		}
	})
}

// leave types into a file and into an untitled document, and dies.
func leave(t *testing.T, disk, old, new string) *bench {
	t.Helper()
	b := newBench(t)
	b.file("n.md", disk)
	id := b.open("n.md").ID
	b.replace(id, old, new)
	i, err := b.Info(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Sync(SyncRequest{Page: b.page, ID: id, FromVersion: i.Version, Anchor: 1, Head: 2}); err != nil {
		t.Fatal(err)
	}
	if err := b.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b.restart()
}

func (b *bench) drafts() []Draft {
	b.t.Helper()
	d, err := b.Drafts(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *bench) restore(id string) Info {
	b.t.Helper()
	i, err := b.RestoreDraft(b.t.Context(), b.page, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return i
}

// covers: F6 F2 F3
func TestRestoreDraft_BringsBackEverything(t *testing.T) {
	t.Parallel()
	const disk = "\xEF\xBB\xBFa\r\nb\nc\r\n"
	b := leave(t, disk, "b", "B1\nB2")
	left := b.drafts()
	if len(left) != 1 {
		t.Fatalf("drafts: %+v", left)
	}
	d := left[0]
	want := Draft{ID: d.ID, Path: b.path("n.md"), Name: "n.md", SavedAtMs: d.SavedAtMs, Length: 10, Preview: "a\nB1\nB2\nc\n"}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	b.wantDisk("n.md", disk)
	i := b.restore(d.ID)
	if !i.Dirty || i.Version != 1 || i.Anchor != 1 || i.Head != 2 || i.RestoredAtMs != d.SavedAtMs || !i.Format.BOM || i.Majority != text.CRLF {
		t.Errorf("restored %+v", i)
	}
	if len(b.drafts()) != 0 {
		t.Error("the draft is still offered")
	}
	if b.kept() != "a\nB1\nB2\nc\n" {
		t.Error("the last copy was removed")
	}
	saved := b.save(i.ID)
	if saved.Document.RestoredAtMs != 0 {
		t.Error("still marked as restored")
	}
	b.wantDisk("n.md", "\xEF\xBB\xBFa\r\nB1\nB2\nc\r\n")
	b.flush()
	if b.kept() != "" {
		t.Error("the draft of saved text is still there")
	}
}

// The text that a draft was made from is known again, so that undoing all by
// hand is clean.
func TestRestoreDraft_UndoneIsClean(t *testing.T) {
	t.Parallel()
	b := leave(t, "a\r\nb\n", "b", "B")
	i := b.restore(b.drafts()[0].ID)
	if b.replace(i.ID, "B", "b").Dirty {
		t.Error("dirty although all is undone")
	}
}

// A9.
//
// covers: F6
func TestRestoreDraft_ChangedFileIsAConflict(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{"changed": "v2", "gone": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := leave(t, "v1", "v1", "v1+x")
			if after == "" {
				if err := os.Remove(b.path("n.md")); err != nil {
					t.Fatal(err)
				}
			} else {
				b.file("n.md", after)
			}
			d := b.drafts()[0]
			if !d.Conflict {
				t.Error("no conflict is told")
			}
			id := b.restore(d.ID).ID
			_, err := b.Save(t.Context(), b.request(id))
			wantCode(t, "save", err, fault.ChangedOnDisk)
			if after != "" {
				b.wantDisk("n.md", after)
			}
			if b.kept() != "v1+x" {
				t.Error("the draft is gone after a refused save")
			}
			// Even a text that equals what is on disk by now is a conflict to
			// decide, but it is never clean by mistake.
			for _, edit := range []text.Edit{{To: 4, Insert: after}, {To: text.Length(after)}} {
				if !b.edit(id, edit).Dirty {
					t.Error("clean against an unknown baseline")
				}
			}
			b.edit(id, text.Edit{Insert: "v3"})
			r := b.request(id)
			r.Overwrite = true
			if _, err := b.Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			b.flush()
			if b.kept() != "" {
				t.Error("the draft of saved text is still there")
			}
		})
	}
}

func TestRestoreDraft_IntoTheOpenDocument(t *testing.T) {
	t.Parallel()
	b := leave(t, "a\n", "a", "b")
	d := b.drafts()[0]
	id := b.open("n.md").ID
	i := b.restore(d.ID)
	if i.ID != id || i.Version != 2 || !i.Dirty {
		t.Errorf("restored %+v", i)
	}
	if b.kept() != "b\n" {
		t.Errorf("kept %q", b.kept())
	}
	b.save(id)
	b.wantDisk("n.md", "b\n")
}

func TestRestoreDraft_NotOverUnsavedText(t *testing.T) {
	t.Parallel()
	b := leave(t, "a\n", "a", "b")
	d := b.drafts()[0]
	id := b.open("n.md").ID
	b.replace(id, "a", "c")
	_, err := b.RestoreDraft(t.Context(), b.page, d.ID)
	wantCode(t, "restore", err, fault.Exists)
	if s, _, _ := b.Text(id); s != "c\n" || len(b.drafts()) != 1 {
		t.Errorf("text %q, drafts %v", s, b.drafts())
	}
}

func TestRestoreDraft_WithoutAFileOrAGrant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.NewUntitled().ID
	b.edit(id, text.Edit{Insert: strings.Repeat("😀", 200) + "\n"})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = b.restart()
	d := b.drafts()[0]
	if d.Path != "" || d.Conflict || d.Preview != strings.Repeat("😀", 160) || d.Length != 401 {
		t.Errorf("draft %+v", d)
	}
	if i := b.restore(d.ID); !i.Dirty || i.URI != "untitled:"+i.ID {
		t.Errorf("restored %+v", i)
	}

	b = leave(t, "a\n", "a", "b")
	b.grants.Revoke(b.dir)
	i := b.restore(b.drafts()[0].ID)
	if s, _, err := b.Text(i.ID); s != "b\n" || err != nil || !i.Dirty {
		t.Errorf("restored %q, %v", s, err)
	}
	_, err := b.Save(t.Context(), b.request(i.ID))
	wantCode(t, "save", err, fault.NotGranted)
}

func TestDiscardDraft(t *testing.T) {
	t.Parallel()
	b := leave(t, "a\n", "a", "b")
	id := b.drafts()[0].ID
	for _, wrong := range []string{"", "x", "../" + id} {
		wantCode(t, wrong, b.DiscardDraft(t.Context(), b.page, wrong), fault.NotFound)
	}
	wantCode(t, "older page", b.DiscardDraft(t.Context(), b.page-1, id), fault.Busy)
	if err := b.DiscardDraft(t.Context(), b.page, id); err != nil {
		t.Fatal(err)
	}
	if len(b.drafts()) != 0 || len(b.draftFiles()) != 0 {
		t.Error("the draft is still there")
	}
	_, err := b.RestoreDraft(t.Context(), b.page, id)
	wantCode(t, "restore", err, fault.NotFound)
}

// covers: F6
func TestNew_KeepsBrokenDraftsAside(t *testing.T) {
	t.Parallel()
	b := leave(t, "a\n", "a", "b")
	good := b.draftFiles()[0]
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string][]byte{
		"empty":    {},
		"cut":      data[:len(data)-1],
		"flipped":  append([]byte(strings.Replace(string(data), "b\n", "c\n", 1)), ""...),
		"zeros":    make([]byte, len(data)),
		"no-magic": []byte("a letter\n"),
	}
	for name, data := range broken {
		if err := os.WriteFile(filepath.Join(b.draftFolder(), name+draftExt), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second start still says so
		b = b.restart()
		if n := len(b.drafts()); n != 1 {
			t.Errorf("%d drafts", n)
		}
		if n := len(b.BrokenDrafts()); n != len(broken) {
			t.Errorf("broken: %v", b.BrokenDrafts())
		}
		for _, path := range b.BrokenDrafts() {
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			if got, err := os.ReadFile(path); err != nil || string(got) != string(broken[name]) {
				t.Errorf("%s is not as it was: %v", path, err)
			}
		}
	}
}

func TestTurn_WaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Open(ctx, b.path("n.md"))
	wantCode(t, "open", err, fault.Cancelled)
	_, err = b.Save(ctx, b.request(id))
	wantCode(t, "save", err, fault.Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// A program that ends right after a save leaves a draft of what was saved. It is
// not offered, and goes once the save must have reached the disk.
//
// covers: F6
func TestDrafts_LeavesOutWhatWasSaved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\r\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	b.flush()
	draft := b.draftFiles()[0]
	content, err := os.ReadFile(draft)
	b.outside(err)
	b.save(id)
	b.flush()
	b = b.restart()
	b.outside(os.WriteFile(draft, content, 0o600))
	b = b.restart()
	if left := b.drafts(); len(left) != 0 || b.kept() != "b\n" {
		t.Errorf("a moment after: offered %+v, kept %q", left, b.kept())
	}
	long := time.Now().Add(-2 * durableAfter)
	b.outside(os.Chtimes(b.path("n.md"), long, long))
	if left := b.drafts(); len(left) != 0 {
		t.Errorf("offered %+v", left)
	}
	// The change of the times is itself of just now.
	if b.kept() != "b\n" {
		t.Error("removed although the file changed just now")
	}
	for id := range b.left {
		b.letGo(id, sight{at: time.Now(), stat: workspace.Stat{ModTimeNs: long.UnixNano()}})
	}
	if b.kept() != "" {
		t.Error("kept although the file has been as it is for long")
	}
	// A draft of another text is offered as before.
	b.outside(os.WriteFile(draft, content, 0o600))
	b = b.restart()
	b.file("n.md", "c\r\n")
	if left := b.drafts(); len(left) != 1 || !left[0].Conflict {
		t.Errorf("offered %+v", left)
	}
}
