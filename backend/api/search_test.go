package api

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

// searched runs a search to its end.
func (w *window) searched(req SearchRequest) ([]SearchFile, SearchEnded) {
	w.t.Helper()
	w.mark()
	w.tell("Workspace.Search", req)
	ended := await(w, "search.ended", func(_ Envelope, e SearchEnded) bool { return e.ID == req.ID })
	var files []SearchFile
	over := false
	list, _ := w.sent()
	for _, m := range list {
		switch m.Type {
		case "search.ended":
			over = true
		case "search.found":
			var found SearchFound
			try(w.t, json.Unmarshal(m.Payload, &found))
			if over || found.ID != req.ID {
				w.t.Errorf("results of %s after the end", found.ID)
			}
			files = append(files, found.Files...)
		}
	}
	return files, ended
}

// A search goes over the files and over what is typed and not saved.
//
// covers: F9
func TestSearch(t *testing.T) {
	w := newWindow(t)
	if _, ended := w.searched(SearchRequest{ID: "0", Query: "x"}); ended.Code != string(fault.NotFound) {
		t.Errorf("without a folder: %+v", ended)
	}
	dir := w.folder(map[string]string{
		"Notes/tea.md": "One\r\n茶 Tea", "a.md": "tea tea", "b.txt": "tea", ".hidden.md": "tea", "bad.md": "tea \xff", "big.md": strings.Repeat("x", 4<<20+1),
	})
	page := w.page()
	d := ask[Document](w, "Documents.Open", filepath.Join(dir, "a.md"))
	w.typed(page, d, insertion(0, "more "))

	files, ended := w.searched(SearchRequest{ID: "1", Query: "tea", Include: []string{"*.md"}})
	want := []SearchFile{
		{
			Path: filepath.Join(dir, "Notes/tea.md"), Name: "Notes/tea.md",
			Hits: []SearchHit{{From: 6, To: 9, Line: 2, Before: "茶 ", Match: "Tea", After: ""}},
		},
		{
			Path: filepath.Join(dir, "a.md"), Name: "a.md", Unsaved: true,
			Hits: []SearchHit{{From: 5, To: 8, Line: 1, Before: "more ", Match: "tea", After: " tea"}, {From: 9, To: 12, Line: 1, Before: "more tea ", Match: "tea", After: ""}},
		},
	}
	if d := cmp.Diff(want, files); d != "" {
		t.Error(d)
	}
	ended.TookMs = 0
	if want := (SearchEnded{ID: "1", Searched: 2, Files: 2, Hits: 3, TooLarge: 1, Unread: 1}); ended != want {
		t.Errorf("ended %+v", ended)
	}
	if body := w.refused(fault.InvalidInput, "Workspace.Search", SearchRequest{ID: "2", Query: "a(", Regexp: true}); !strings.Contains(body.Detail, "missing closing )") {
		t.Errorf("detail %q", body.Detail)
	}
	w.refused(fault.InvalidInput, "Workspace.Search", SearchRequest{ID: "2", Query: ""})
	w.refused(fault.InvalidInput, "Workspace.Search", SearchRequest{ID: "2", Query: "a", Exclude: []string{"["}})
	w.tell("Workspace.CancelSearch", "1")
	w.tell("Workspace.CancelSearch", "never")

	// The document was saved meanwhile.
	d = ask[Document](w, "Documents.Reload", page, d.ID)
	if files, _ := w.searched(SearchRequest{ID: "3", Query: "more"}); len(files) != 0 {
		t.Errorf("found %+v", files)
	}
}

// Typing a query starts searches faster than they end: each ends, one by one.
//
// covers: F9
func TestSearch_ANewOneEndsTheOneBefore(t *testing.T) {
	w := newWindow(t)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d.md", i%7, i)] = strings.Repeat("tea\n", 20)
	}
	w.folder(files)
	w.mark()
	const n = 12
	for i := range n {
		w.tell("Workspace.Search", SearchRequest{ID: fmt.Sprint(i), Query: "tea"})
	}
	last := await(w, "search.ended", func(_ Envelope, e SearchEnded) bool { return e.ID == fmt.Sprint(n-1) })
	if last.Code != "" || last.Hits != 4000 {
		t.Errorf("ended %+v", last)
	}
	var ends []string
	list, _ := w.sent()
	for _, m := range list {
		if m.Type != "search.ended" {
			continue
		}
		var e SearchEnded
		try(t, json.Unmarshal(m.Payload, &e))
		if e.Code != "" && e.Code != string(fault.Cancelled) {
			t.Errorf("ended %+v", e)
		}
		ends = append(ends, e.ID)
	}
	if len(ends) != n || !slices.IsSortedFunc(ends, func(a, b string) int { return cmpNumbers(a, b) }) {
		t.Errorf("ends: %q", ends)
	}
}

func cmpNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// covers: F10
func TestQuickOpen(t *testing.T) {
	w := newWindow(t)
	if got := ask[QuickOpenResult](w, "Workspace.QuickOpen", QuickOpenRequest{Query: "a", Limit: 10}); len(got.Files) != 0 {
		t.Errorf("without a folder %+v", got)
	}
	dir := w.folder(map[string]string{"Drafts/The Night Ferry.md": "", "knife.md": "", "b.md": ""})
	got := ask[QuickOpenResult](w, "Workspace.QuickOpen", QuickOpenRequest{Query: "nife", Limit: 1})
	want := QuickOpenResult{Files: []FileMatch{{Path: filepath.Join(dir, "knife.md"), Name: "knife.md", Hits: []int{1, 2, 3, 4}}}, More: 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ask[Document](w, "Documents.Open", filepath.Join(dir, "b.md"))
	got = ask[QuickOpenResult](w, "Workspace.QuickOpen", QuickOpenRequest{Limit: 10})
	want = QuickOpenResult{Files: []FileMatch{{Path: filepath.Join(dir, "b.md"), Name: "b.md", Hits: []int{}, Recent: true}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
