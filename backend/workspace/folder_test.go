package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/workspace"
)

func TestFolder_List(t *testing.T) {
	root := tree(t, map[string]string{
		"w/note 10.md": "", "w/note 2.md": "", "w/Note 2b.md": "", "w/a.md": "", "w/B.md": "",
		"w/.hidden.md": "", "w/.git/": "", "w/node_modules/": "", "w/zoo/": "", "w/Alpha/": "", "w/中文.md": "",
		"w/in-link": "-> zoo", "w/out-link": "-> ..", "w/dangling": "-> none",
		"w/.galley-1-abc.tmp": "left over",
		"w/zoo/x.md":          "", "w/zoo/up": "-> ../Alpha",
	})
	w := filepath.Join(root, "w")
	g := openFolder(t, w)
	folder, err := g.PermitList(w)
	must(t, err)
	entries, more, err := folder.List(100)
	must(t, err)
	var got []string
	for _, e := range entries {
		s := e.Name
		if e.Folder {
			s += "/"
		}
		if e.Ignored {
			s += " (ignored)"
		}
		got = append(got, s)
		if want := filepath.Join(w, e.Name); e.Path != want {
			t.Errorf("path: got %q, want %q", e.Path, want)
		}
	}
	want := []string{
		".git/ (ignored)", "Alpha/", "in-link/", "node_modules/ (ignored)", "zoo/",
		".hidden.md (ignored)", "a.md", "B.md", "dangling", "note 2.md", "Note 2b.md", "note 10.md", "out-link", "中文.md",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if more != 0 {
		t.Errorf("more: %d", more)
	}
	entries, more, err = folder.List(3)
	must(t, err)
	if len(entries) != 3 || more != 11 || entries[2].Name != "in-link" {
		t.Errorf("limited: %d entries, %d more", len(entries), more)
	}

	sub, err := g.PermitList(w + "/zoo")
	must(t, err)
	entries, _, err = sub.List(10)
	must(t, err)
	i := slices.IndexFunc(entries, func(e workspace.Entry) bool { return e.Name == "up" })
	if i < 0 || !entries[i].Folder {
		t.Errorf("a link within the workspace: %+v", entries)
	}
	must(t, os.RemoveAll(w+"/zoo"))
	if _, _, err := sub.List(10); err == nil {
		t.Error("listed a folder that is gone")
	}
}
