package api

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/workspace"
)

// changedIn waits until a folder's entries are told to have changed.
func changedIn(w *window, folder string) {
	w.t.Helper()
	await(w, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return c.All || slices.Contains(c.Folders, folder) })
}

// The tree's commands change what is on disk, and tell it.
//
// covers: F8
func TestTree(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "a"})
	sub := filepath.Join(dir, "sub")
	steps := []struct {
		method string
		args   []any
		folder string
		want   any
	}{
		{"Workspace.Create", []any{CreateRequest{Folder: dir, Name: "sub", IsFolder: true}}, dir, Entry{Name: "sub", Path: sub, Folder: true}},
		{"Workspace.Create", []any{CreateRequest{Folder: sub, Name: ".new.md"}}, sub, Entry{Name: ".new.md", Path: filepath.Join(sub, ".new.md"), Ignored: true}},
		{"Workspace.Duplicate", []any{filepath.Join(dir, "a.md")}, dir, Entry{Name: "a copy.md", Path: filepath.Join(dir, "a copy.md")}},
	}
	for _, s := range steps {
		w.mark()
		if d := cmp.Diff(s.want, any(ask[Entry](w, s.method, s.args...))); d != "" {
			t.Errorf("%s: %s", s.method, d)
		}
		changedIn(w, s.folder)
	}
	w.mark()
	ask[struct{}](w, "Workspace.Trash", filepath.Join(dir, "a.md"))
	changedIn(w, dir)
	if _, err := os.Lstat(filepath.Join(dir, "a.md")); !os.IsNotExist(err) {
		t.Error(err)
	}
	w.refused(fault.NotFound, "Workspace.Trash", filepath.Join(dir, "a.md"))
	w.refused(fault.Exists, "Workspace.Create", CreateRequest{Folder: dir, Name: "sub", IsFolder: true})
	w.refused(fault.ReservedName, "Workspace.Create", CreateRequest{Folder: dir, Name: "../x.md"})
	w.refused(fault.OutsideWorkspace, "Workspace.Create", CreateRequest{Folder: filepath.Dir(dir), Name: "x.md"})
	w.refused(fault.OutsideWorkspace, "Workspace.Trash", dir)
	w.refused(fault.OutsideWorkspace, "Workspace.Reveal", filepath.Dir(dir))
}

// A move takes what is open along; where a link would break it is a set to
// review first.
//
// covers: F8
func TestTree_Move(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "a", "index.md": "[a](a.md)\n", "s/b.md": "b", "alone.md": "x"})
	page := w.page()
	open := ask[Document](w, "Documents.Open", filepath.Join(dir, "a.md"))
	w.typed(page, open, insertion(1, "!"))
	deep := ask[Document](w, "Documents.Open", filepath.Join(dir, "s/b.md"))

	move := MoveRequest{From: filepath.Join(dir, "a.md"), To: filepath.Join(dir, "s", "c.md")}
	asked := ask[MoveResult](w, "Workspace.Move", move)
	if asked.Moved || len(asked.Set.Files) != 1 || asked.Set.Kind != "move" || content(t, move.From) != "a" {
		t.Errorf("%+v", asked)
	}
	w.mark()
	move.KeepLinks = true
	done := ask[MoveResult](w, "Workspace.Move", move)
	want := MoveResult{Moved: true, Entry: Entry{Name: "c.md", Path: move.To}, Set: ReviewedSet{Files: []SetFile{}}}
	if d := cmp.Diff(want, done); d != "" {
		t.Error(d)
	}
	moved := func(id, path string) {
		t.Helper()
		await(w, "document.disk_changed", func(_ Envelope, c DiskChanged) bool {
			return c.DocumentID == id && c.State == "moved" && c.Document.Path == path
		})
	}
	moved(open.ID, move.To)
	changedIn(w, dir)
	changedIn(w, filepath.Join(dir, "s"))

	// Without links to it, it moves at once: here a folder, with what is open.
	w.mark()
	if got := ask[MoveResult](w, "Workspace.Move", MoveRequest{From: filepath.Join(dir, "s"), To: filepath.Join(dir, "t")}); !got.Moved {
		t.Errorf("%+v", got)
	}
	moved(open.ID, filepath.Join(dir, "t", "c.md"))
	moved(deep.ID, filepath.Join(dir, "t", "b.md"))
	saved := ask[SaveResult](w, "Documents.Save", saving(page, open.ID, 2, "a!"))
	if saved.Document.Path != filepath.Join(dir, "t", "c.md") || content(t, saved.Document.Path) != "a!" {
		t.Errorf("%+v", saved)
	}

	w.refused(fault.Exists, "Workspace.Move", MoveRequest{From: filepath.Join(dir, "alone.md"), To: filepath.Join(dir, "index.md")})
	w.refused(fault.InvalidInput, "Workspace.Move", MoveRequest{From: filepath.Join(dir, "t"), To: filepath.Join(dir, "t", "u")})
	w.refused(fault.ReservedName, "Workspace.Move", MoveRequest{From: filepath.Join(dir, "alone.md"), To: filepath.Join(dir, "nul.md")})
	w.refused(fault.OutsideWorkspace, "Workspace.Move", MoveRequest{From: dir, To: filepath.Join(dir, "u")})
	w.refused(fault.OutsideWorkspace, "Workspace.Move", MoveRequest{From: filepath.Join(dir, "alone.md"), To: filepath.Join(filepath.Dir(dir), "alone.md")})
}

// What other programs change is told: entries to the tree, and files to what is
// open, in the workspace or not.
//
// covers: F5 F8
func TestWatch(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "a", "s/b.md": "b"})
	outside := filepath.Join(t.TempDir(), "o.md")
	write(t, outside, "o")
	w.chooseFiles = []string{outside}
	other := ask[[]Document](w, "Documents.OpenDialog")[0]
	inside := ask[Document](w, "Documents.Open", filepath.Join(dir, "s/b.md"))
	changed := func(id, state string) {
		t.Helper()
		await(w, "document.disk_changed", func(_ Envelope, c DiskChanged) bool { return c.DocumentID == id && c.State == state })
	}

	// The window comes back: everything is looked at.
	w.mark()
	ask[struct{}](w, "Workspace.Refresh")
	await(w, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return c.All })

	w.mark()
	write(t, filepath.Join(dir, "new.md"), "n")
	changedIn(w, dir)
	w.mark()
	write(t, filepath.Join(dir, "s/b.md"), "b2")
	changed(inside.ID, "changed")
	w.mark()
	write(t, outside, "o2")
	changed(other.ID, "changed")
	w.mark()
	try(t, os.Remove(outside))
	changed(other.ID, "missing")

	w.mark()
	try(t, os.RemoveAll(dir))
	await(w, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return c.Gone })
	changed(inside.ID, "missing")
	w.mark()
	write(t, filepath.Join(dir, "s/b.md"), "b")
	await(w, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return c.All && !c.Gone })
	changed(inside.ID, "same")
}

// What is set aside is the person's choice, and takes hold at once.
//
// covers: F8
func TestSettings_Ignored(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{".notes/a.md": "a", "build/b.md": "b", "c.md": "c"})
	aside := func() (out []string) {
		for _, e := range ask[Listing](w, "Workspace.List", dir).Entries {
			if e.Ignored {
				out = append(out, e.Name)
			}
		}
		return out
	}
	if got := aside(); !slices.Equal(got, []string{".notes"}) {
		t.Errorf("set aside: %v", got)
	}
	next := settings.Default()
	if !slices.Equal(next.Ignored, workspace.DefaultIgnored()) {
		t.Errorf("defaults: %v", next.Ignored)
	}
	next.ShowHidden, next.Ignored = true, []string{"build"}
	w.mark()
	ask[SettingsState](w, "Settings.Update", next)
	await(w, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return c.All })
	if got := aside(); !slices.Equal(got, []string{"build"}) {
		t.Errorf("set aside: %v", got)
	}
	next.Ignored = []string{"a/b"}
	if body := w.refused(fault.InvalidInput, "Settings.Update", next); body.Detail != "ignored" {
		t.Errorf("%+v", body)
	}
}
