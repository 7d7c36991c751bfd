package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
)

// ticks ticks every edit of a set.
func ticks(set ReviewedSet) []SetTicks {
	out := []SetTicks{}
	for _, f := range set.Files {
		t := SetTicks{Path: f.Path, Edits: []int{}}
		for i := range f.Edits {
			t.Edits = append(t.Edits, i)
		}
		out = append(out, t)
	}
	return out
}

// A replacement is previewed, applied and undone; the edits of an open document
// are the page's to make.
//
// covers: F9
func TestPreviewReplace(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "tea\r\nTea\r\n", "b.md": "green tea", "c.txt": "tea"})
	page := w.page()
	d := ask[Document](w, "Documents.Open", filepath.Join(dir, "a.md"))
	w.typed(page, d, insertion(0, "more tea, "))

	req := ReplaceRequest{Search: SearchRequest{ID: "1", Query: "tea", Case: true, Include: []string{"*.md"}}, With: "coffee"}
	set := ask[ReviewedSet](w, "Workspace.PreviewReplace", req)
	want := ReviewedSet{
		ID: set.ID, Kind: "replace", From: "tea", To: "coffee", State: "open",
		Files: []SetFile{
			{
				Path: filepath.Join(dir, "a.md"), Name: "a.md", DocumentID: d.ID, Version: 2,
				Edits: []SetEdit{
					{From: 5, To: 8, Insert: "coffee", Old: "tea", Line: 1, Before: "more ", After: ", tea"},
					{From: 10, To: 13, Insert: "coffee", Old: "tea", Line: 1, Before: "more tea, "},
				},
			},
			{
				Path: filepath.Join(dir, "b.md"), Name: "b.md",
				Edits: []SetEdit{{From: 6, To: 9, Insert: "coffee", Old: "tea", Line: 1, Before: "green "}},
			},
		},
	}
	if d := cmp.Diff(want, set); d != "" {
		t.Fatal(d)
	}
	w.refused(fault.Busy, "Workspace.ApplySet", ApplySetRequest{Page: page - 1, ID: set.ID, Ticked: ticks(set)})
	applied := ask[AppliedSet](w, "Workspace.ApplySet", ApplySetRequest{Page: page, ID: set.ID, Ticked: ticks(set)})
	if got := content(t, filepath.Join(dir, "b.md")); got != "green coffee" || applied.Set.State != "applied" {
		t.Errorf("%q, %+v", got, applied.Set)
	}
	edits := []DocumentEdits{{ID: d.ID, Version: 2, Edits: []text.Edit{{From: 5, To: 8, Insert: "coffee"}, {From: 10, To: 13, Insert: "coffee"}}}}
	if d := cmp.Diff(edits, applied.Documents); d != "" {
		t.Error(d)
	}
	w.refused(fault.Busy, "Workspace.UndoSet", page-1, set.ID)
	undone := ask[AppliedSet](w, "Workspace.UndoSet", page, set.ID)
	edits = []DocumentEdits{{ID: d.ID, Version: 3, Edits: []text.Edit{{From: 5, To: 11, Insert: "tea"}, {From: 13, To: 19, Insert: "tea"}}}}
	if d := cmp.Diff(edits, undone.Documents); d != "" {
		t.Error(d)
	}
	if got := content(t, filepath.Join(dir, "b.md")); got != "green tea" {
		t.Errorf("%q", got)
	}

	set = ask[ReviewedSet](w, "Workspace.PreviewReplace", req)
	write(t, filepath.Join(dir, "b.md"), "other tea")
	w.refused(fault.ChangedOnDisk, "Workspace.ApplySet", ApplySetRequest{Page: page, ID: set.ID, Ticked: ticks(set)})
	w.tell("Workspace.DropSet", set.ID)
	w.refused(fault.NotFound, "Workspace.ApplySet", ApplySetRequest{Page: page, ID: set.ID, Ticked: ticks(set)})
	w.refused(fault.InvalidInput, "Workspace.PreviewReplace", ReplaceRequest{Search: SearchRequest{Query: "(", Regexp: true}})
}

// The set of a move has the links that it would break, and moves.
//
// covers: F8
func TestPlanMove(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(map[string]string{"a.md": "[b](b.md) [[b]]", "b.md": "x", "d/b.md": "", "d2/b.md": "", "e.md": "[[d/b]]"})
	page := w.page()
	from, to := filepath.Join(dir, "b.md"), filepath.Join(dir, "c d.md")
	set, err := w.backend.workspace.planMove(context.Background(), from, to)
	try(t, err)
	want := []SetFile{{
		Path: filepath.Join(dir, "a.md"), Name: "a.md", Edits: []SetEdit{
			{From: 4, To: 8, Insert: "c%20d.md", Old: "b.md", Line: 1, Before: "[b](", After: ") [[b]]"},
			{From: 12, To: 13, Insert: "c d", Old: "b", Line: 1, Before: "[b](b.md) [[", After: "]]"},
		},
	}}
	if d := cmp.Diff(want, set.Files); d != "" || set.Kind != "move" || set.From != from || set.To != to {
		t.Fatal(d, set)
	}
	ask[AppliedSet](w, "Workspace.ApplySet", ApplySetRequest{Page: page, ID: set.ID, Ticked: ticks(set)})
	if got := content(t, filepath.Join(dir, "a.md")); got != "[b](c%20d.md) [[c d]]" || content(t, to) != "x" {
		t.Errorf("%q", got)
	}
	ask[AppliedSet](w, "Workspace.UndoSet", page, set.ID)
	if got := content(t, filepath.Join(dir, "a.md")); got != "[b](b.md) [[b]]" || content(t, from) != "x" {
		t.Errorf("%q", got)
	}
	// A name that two files have says nothing of either.
	set, err = w.backend.workspace.planMove(context.Background(), filepath.Join(dir, "a.md"), filepath.Join(dir, "d", "a.md"))
	try(t, err)
	if len(set.Files) != 1 || set.Files[0].Edits[1].Insert != "/b" {
		t.Errorf("%+v", set.Files)
	}
}

// What a program that died left half made is taken back when its folder is open,
// before anything of it is shown.
//
// covers: F9
func TestRecoverSets(t *testing.T) {
	home := newHome(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), "new")
	write(t, filepath.Join(dir, "b.md"), "old b")
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	journal := filepath.Join(home.Recovery(), "sets", "one")
	try(t, os.MkdirAll(journal, 0o700))
	write(t, filepath.Join(journal, "before.bin"), "old aold b")
	write(t, filepath.Join(journal, "manifest.json"), fmt.Sprintf(
		`{"state":"writing","files":[{"path":%q,"offset":0,"size":5,"old":%q,"new":%q},{"path":%q,"offset":5,"size":5,"old":%q,"new":%q}]}`,
		filepath.Join(dir, "a.md"), hash("old a"), hash("new"), filepath.Join(dir, "b.md"), hash("old b"), hash("new b"),
	))
	w := openWindow(t, home)
	if got := content(t, filepath.Join(dir, "a.md")); got != "new" {
		t.Errorf("touched without a grant: %q", got)
	}
	w.chooseFolder = dir
	ask[WorkspaceInfo](w, "Workspace.OpenDialog")
	await(w, "workspace.opened", func(_ Envelope, o WorkspaceOpened) bool { return o.Workspace.Path == dir })
	if got := content(t, filepath.Join(dir, "a.md")); got != "old a" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(journal); !os.IsNotExist(err) {
		t.Errorf("the journal is there: %v", err)
	}
}
