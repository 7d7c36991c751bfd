package document

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// A mirror that is not what the page holds is never written.
func TestSave_ComparesBeforeItWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	good := b.request(id)
	for name, change := range map[string]func(*SaveRequest){
		"version": func(r *SaveRequest) { r.Version-- },
		"length":  func(r *SaveRequest) { r.Length++ },
		"digest":  func(r *SaveRequest) { r.Digest = text.Digest("c\n") },
	} {
		r := good
		r.Overwrite = true
		change(&r)
		_, err := b.Save(t.Context(), r)
		wantCode(t, name, err, fault.UnknownBase)
		_, err = b.SaveAs(t.Context(), r, b.path("other.md"))
		wantCode(t, name+" as", err, fault.UnknownBase)
	}
	b.wantDisk("n.md", "a\n")
	_, err := b.Save(t.Context(), SaveRequest{Page: b.page, ID: b.NewUntitled().ID, Version: 1, Digest: text.Digest("")})
	wantCode(t, "untitled", err, fault.InvalidInput)
}

func TestSave_UntouchedWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.file("n.md", "a\n")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	id := b.open("n.md").ID
	b.save(id)
	b.replace(id, "a", "b")
	b.replace(id, "b", "a")
	b.save(id)
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the file was written: %v, %v", after, err)
	}
	// Touched outside, but the same bytes: still nothing to write.
	b.file("n.md", "a\n")
	if b.save(id).Written {
		t.Error("written over the same bytes")
	}
}

// A8's kind: the same size, within one tick of the clock.
func TestSave_ConflictIsRefusedUntilDecided(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string]func(b *bench){
		"changed": func(b *bench) { b.file("n.md", "v2\n") },
		"gone":    func(b *bench) { os.Remove(b.path("n.md")) },
		"replaced": func(b *bench) {
			b.file("new", "v2\n")
			if err := os.Rename(b.path("new"), b.path("n.md")); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.file("n.md", "v1\n")
			id := b.open("n.md").ID
			b.replace(id, "v1", "v1x")
			theirs(b)
			_, err := b.Save(t.Context(), b.request(id))
			wantCode(t, "save", err, fault.ChangedOnDisk)
			if i, err := b.Info(id); err != nil || !i.Dirty {
				t.Errorf("after the refusal: %+v, %v", i, err)
			}
			if data, _ := os.ReadFile(b.path("n.md")); string(data) == "v1x\n" {
				t.Error("the refused save was written")
			}
			r := b.request(id)
			r.Overwrite = true
			if _, err := b.Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			b.wantDisk("n.md", "v1x\n")
			b.replace(id, "v1x", "v3")
			b.save(id)
			b.wantDisk("n.md", "v3\n")
		})
	}
}

func TestSave_CleanDocumentSeesTheConflictToo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "v1\n")
	id := b.open("n.md").ID
	b.file("n.md", "v2\n")
	_, err := b.Save(t.Context(), b.request(id))
	wantCode(t, "save", err, fault.ChangedOnDisk)
	b.wantDisk("n.md", "v2\n")
	r := b.request(id)
	r.Overwrite = true
	if saved, err := b.Save(t.Context(), r); err != nil || !saved.Written {
		t.Fatalf("%+v, %v", saved, err)
	}
	b.wantDisk("n.md", "v1\n")
}

func TestSaveAs_MovesTheDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.NewUntitled().ID
	b.edit(id, text.Edit{Insert: "x\n"})
	b.file("there.md", "old\r\n")
	saved, err := b.SaveAs(t.Context(), b.request(id), b.path("there.md"))
	if err != nil {
		t.Fatal(err)
	}
	if i := saved.Document; i.Path != b.path("there.md") || i.Name != "there.md" || i.Dirty || i.Version != 2 || i.ID != id {
		t.Errorf("saved as %+v", i)
	}
	b.wantDisk("there.md", "x\n")
	if b.open("there.md").ID != id {
		t.Error("the file opened as another document")
	}
	b.file("other.md", "a\n")
	other := b.open("other.md").ID
	_, err = b.SaveAs(t.Context(), b.request(other), b.path("there.md"))
	wantCode(t, "onto an open document", err, fault.Exists)
	b.replace(other, "a", "b")
	if _, err := b.SaveAs(t.Context(), b.request(other), b.path("copy.md")); err != nil {
		t.Fatal(err)
	}
	b.wantDisk("other.md", "a\n")
	b.wantDisk("copy.md", "b\n")
	_, err = b.SaveAs(t.Context(), b.request(other), b.home+"/x.md")
	wantCode(t, "outside", err, fault.OutsideWorkspace)
}

// Saving under the document's own name is a save: a conflict is seen.
func TestSaveAs_OwnNameKeepsTheCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "v1\n")
	id := b.open("n.md").ID
	b.replace(id, "v1", "mine")
	b.file("n.md", "v2\n")
	_, err := b.SaveAs(t.Context(), b.request(id), b.path("n.md"))
	wantCode(t, "save as itself", err, fault.ChangedOnDisk)
	b.wantDisk("n.md", "v2\n")
}

// A file that is gone still is that of its document, out-4.
//
// covers: F5
func TestSaveAs_NotUnderAnotherDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "mine\n")
	b.file("gone.md", "theirs\n")
	id, other := b.open("n.md").ID, b.open("gone.md").ID
	if err := os.Remove(b.path("gone.md")); err != nil {
		t.Fatal(err)
	}
	_, err := b.SaveAs(t.Context(), b.request(id), b.path("gone.md"))
	wantCode(t, "save under the path of another", err, fault.Exists)
	if _, err := os.Lstat(b.path("gone.md")); err == nil {
		t.Error("it was written all the same")
	}
	saved, err := b.SaveAs(t.Context(), b.request(other), b.path("gone.md"))
	if err != nil || saved.Document.Path != b.path("gone.md") {
		t.Errorf("its own document: %+v, %v", saved, err)
	}
}

// A7.
//
// covers: F4
func TestSave_KeepsLinkAndMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	b := newBench(t)
	b.file("real.md", "a\n")
	if err := os.Chmod(b.path("real.md"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.md", b.path("link.md")); err != nil {
		t.Fatal(err)
	}
	id := b.open("link.md").ID
	b.replace(id, "a", "b")
	b.save(id)
	b.wantDisk("real.md", "b\n")
	if to, err := os.Readlink(b.path("link.md")); err != nil || to != "real.md" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if info, err := os.Stat(b.path("real.md")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// torn fails writes and renames of files in the granted folder.
type torn struct {
	workspace.Calls
	// after is how many bytes a write takes before it fails; -1 for all.
	after  int
	rename bool
}

var errTorn = errors.New("the disk is pulled out")

func (c *torn) OpenDir(path string) (workspace.Dir, error) {
	d, err := c.Calls.OpenDir(path)
	return tornDir{d, c}, err
}

type tornDir struct {
	workspace.Dir
	calls *torn
}

func (d tornDir) OpenDir(name string) (workspace.Dir, error) {
	sub, err := d.Dir.OpenDir(name)
	return tornDir{sub, d.calls}, err
}

func (d tornDir) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	h, err := d.Dir.Open(name, flag, perm)
	return tornHandle{h, d.calls}, err
}

func (d tornDir) Rename(from, to string) error {
	if d.calls.rename {
		return errTorn
	}
	return d.Dir.Rename(from, to)
}

func (d tornDir) RenameNew(from, to string) error {
	if d.calls.rename {
		return errTorn
	}
	return d.Dir.RenameNew(from, to)
}

func (d tornDir) Exchange(a, b string) error {
	if d.calls.rename {
		return errTorn
	}
	return d.Dir.Exchange(a, b)
}

type tornHandle struct {
	workspace.Handle
	calls *torn
}

func (h tornHandle) WriteAt(p []byte, off int64) (int, error) {
	if h.calls.after < 0 || h.calls.after >= len(p) {
		return h.Handle.WriteAt(p, off)
	}
	n, err := h.Handle.WriteAt(p[:h.calls.after], off)
	return n, errors.Join(err, errTorn)
}

// A6.
//
// covers: F4
func TestSave_FailureLeavesTheOldFileWhole(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]*torn{
		"after 1 KB":    {Calls: workspace.OSCalls(), after: 1 << 10},
		"before rename": {Calls: workspace.OSCalls(), after: -1, rename: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails := *calls
			calls.after, calls.rename = -1, false
			b := newBenchOn(t, calls, t.TempDir(), t.TempDir())
			old := strings.Repeat("0123456789abcde\n", 40<<10/16)
			b.file("n.md", old+"end")
			id := b.open("n.md").ID
			b.replace(id, "end", "END")
			calls.after, calls.rename = fails.after, fails.rename
			_, err := b.Save(t.Context(), b.request(id))
			if err == nil {
				t.Fatal("the failing save succeeded")
			}
			b.wantDisk("n.md", old+"end")
			if entries, _ := os.ReadDir(b.dir); len(entries) != 1 {
				t.Errorf("files left: %v", entries)
			}
			if i, _ := b.Info(id); !i.Dirty {
				t.Error("clean after a failed save")
			}
			calls.after, calls.rename = -1, false
			b.save(id)
			b.wantDisk("n.md", old+"END")
		})
	}
}
