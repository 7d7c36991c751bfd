package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/workspace"
)

// The program's own folder holds the keys and every conversation: no tool looks
// into it, whatever folder a person opened or named on a command line.
//
// covers: T3 K3
func TestTools_KeepOutOfTheHome(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "needle\n"})
	home := filepath.Join(b.root, "home")
	try(t, os.MkdirAll(filepath.Join(home, "sample"), 0o755))
	for name, data := range map[string]string{
		"credentials.json": "needle sk-secret", "note.md": "needle sk-secret", "sample/s.md": "needle sample\n",
	} {
		try(t, os.WriteFile(filepath.Join(home, name), []byte(data), 0o600))
	}
	try(t, os.Symlink("home", filepath.Join(b.root, "link")))

	reach := func(folder string) {
		t.Helper()
		g := workspace.NewGrants()
		_, err := g.GrantFolder(folder)
		try(t, err)
		t.Cleanup(g.Close)
		b.cmd += "+"
		b.exec.Begin(b.cmd, Scope{Workspace: folder, Grants: g})
	}
	// A folder above it.
	reach(b.root)
	for _, p := range []string{"home/credentials.json", "home/note.md", "link/note.md"} {
		b.refused(core.ToolReadDocument, input{"path": p}, fault.OutsideWorkspace)
	}
	b.refused(core.ToolListWorkspace, input{"path": "home"}, fault.OutsideWorkspace)
	b.refused(core.ToolRenameDocument, input{"path": "home/note.md", "newName": "b.md"}, fault.OutsideWorkspace)
	b.refused(core.ToolCreateDocument, input{"dir": "home", "name": "c.md", "text": "x"}, fault.OutsideWorkspace)
	b.refused(core.ToolCreateDocument, input{"dir": "link/drafts", "name": "c.md", "text": "x"}, fault.OutsideWorkspace)
	r := b.must(core.ToolSearchWorkspace, input{"query": "needle"})
	if strings.Contains(r.Text, "secret") || !strings.Contains(r.Text, "w/a.md") || !strings.Contains(r.Text, "sample/s.md") || r.Facts.Hits != 2 || r.Facts.Files != 2 {
		t.Errorf("found:\n%s", r.Text)
	}
	if r := b.must(core.ToolListWorkspace, input{}); strings.Contains(r.Text, "credentials") || !strings.Contains(r.Text, "w/a.md") {
		t.Errorf("listed:\n%s", r.Text)
	}
	b.must(core.ToolReadDocument, input{"path": "home/sample/s.md"})
	// It itself, by any name.
	for _, folder := range []string{home, filepath.Join(b.root, "link")} {
		reach(folder)
		b.refused(core.ToolReadDocument, input{"path": "credentials.json"}, fault.OutsideWorkspace)
		b.refused(core.ToolSearchWorkspace, input{"query": "needle"}, fault.OutsideWorkspace)
		b.refused(core.ToolListWorkspace, input{}, fault.OutsideWorkspace)
	}
	// The samples are a workspace.
	reach(filepath.Join(home, "sample"))
	b.must(core.ToolReadDocument, input{"path": "s.md"})
	b.must(core.ToolListWorkspace, input{})
}
