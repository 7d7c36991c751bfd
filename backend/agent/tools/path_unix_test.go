//go:build unix

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// secret is what lies outside of the workspace, inner what lies in it under a
// name that is refused.
const (
	secret = "SECRET WORDS"
	inner  = "INNER WORDS"
)

// hostile are paths of which none may be read, listed or written, and what they
// lead to, below the folder of the test; "" for the folder w itself, in which
// the name is then one of its own. Each of them is there.
var hostile = []struct{ path, target string }{
	{"../far.md", "far.md"},
	{"sub/../../far.md", "far.md"},
	{"../w/a.md", "w/a.md"},   // leaves and returns
	{"sub/../a.md", "w/a.md"}, // does not even leave
	{"../w-private/a.md", "w-private/a.md"},
	{"out/far.md", "far.md"},
	{"out/w/a.md", "w/a.md"},
	{"up/a.md", "w/a.md"},
	{"sub/up/../far.md", "far.md"},
	{"leaf.md", "far.md"},
	{"chain.md", "far.md"},
	{"rel.md", "far.md"},
	{"$ROOT/far.md", "far.md"},
	{"$ROOT/w/a.md", "w/a.md"}, // absolute, and inside
	{"/$ROOT/far.md", "far.md"},
	{"//localhost$ROOT/far.md", ""},
	{"file://$ROOT/far.md", ""},
	{"/etc/passwd", ""},
	{"/proc/self/root$ROOT/far.md", ""},
	{".git/config", ""},
	{".GIT/config", ""},
	{".env", ""},
	{".env.local", ""},
	{".ssh/id_rsa", ""},
	{"sub/.hidden.md", ""},
	{"node_modules/x.md", ""},
	{`..\far.md`, ""},
	{`sub\a.md`, ""},
	{`C:\x.md`, ""},
	{"C:x.md", ""},
	{"c:/x.md", ""},
	{`\\?\C:\x.md`, ""},
	{`\\srv\share\x.md`, ""},
	{"CON", ""},
	{"con.md", ""},
	{"nul.md", ""},
	{"sub/aux.txt", ""},
	{"COM¹.md", ""},
	{"lpt1.md", ""},
	{"a.md:ads", ""},
	{"a.md::$DATA", ""},
	{"dots.md.", ""},
	{"blank.md ", ""},
	{"sub./b.md", ""},
	{"sub /b.md", ""},
	{"bell\a.md", ""},
	{"break\n.md", ""},
	{"pipe.md", ""},
	{"null.md", ""},
}

// hostileBench makes all of them, so that what refuses them is what should.
func hostileBench(t testing.TB) *bench {
	t.Helper()
	b := newBench(t, map[string]string{
		"a.md": "a", "sub/a.md": "a", "out": "-> $ROOT", "up": "-> ..", "sub/up": "-> ..", "leaf.md": "-> $ROOT/far.md",
		"chain.md": "-> leaf.md", "rel.md": "-> ../far.md", "null.md": "-> /dev/null",
		"%2e%2e/far.md": "a name like any other",
	})
	for name, data := range map[string]string{"far.md": secret, "w-private/a.md": secret} {
		p := filepath.Join(b.root, name)
		try(t, os.MkdirAll(filepath.Dir(p), 0o755))
		try(t, os.WriteFile(p, []byte(data), 0o644))
	}
	for _, h := range hostile {
		if h.target != "" || strings.HasPrefix(h.path, "/") || h.path == "pipe.md" || h.path == "null.md" {
			continue
		}
		b.put(strings.ReplaceAll(h.path, "$ROOT", b.root), inner)
	}
	try(t, syscall.Mkfifo(b.path("pipe.md"), 0o644))
	b.begin("")
	return b
}

// No path leads out, to what is set aside, or to what another system reads as
// something else.
//
// covers: F7 T3 X5 X6
func TestTools_D5(t *testing.T) {
	b := hostileBench(t)
	before := snapshot(t, b.root)
	for _, h := range hostile {
		p := strings.ReplaceAll(h.path, "$ROOT", b.root)
		at := filepath.Join(b.root, h.target)
		switch {
		case h.target == "" && strings.HasPrefix(p, "//"):
			at = filepath.Join(b.root, "far.md")
		case h.target == "" && strings.HasPrefix(p, "/"):
			at = p
		case h.target == "":
			at = b.path(p)
		}
		if _, err := os.Lstat(at); err != nil {
			t.Fatalf("%q must be there to be refused: %v", p, err)
		}
		for _, c := range []struct {
			tool string
			in   input
		}{
			{core.ToolReadDocument, input{"path": p}},
			{core.ToolRenameDocument, input{"path": p, "newName": "new.md"}},
			{core.ToolListWorkspace, input{"path": p}},
			{core.ToolListWorkspace, input{"path": p[:strings.LastIndexByte("/"+p, '/')]}},
			{core.ToolCreateDocument, input{"dir": p, "name": "new.md", "text": "x"}},
			{core.ToolCreateDocument, input{"dir": p[:strings.LastIndexByte("/"+p, '/')], "name": p[strings.LastIndexByte(p, '/')+1:], "text": "x"}},
			{core.ToolRenameDocument, input{"path": "a.md", "newName": p}},
		} {
			r := b.call(c.tool, c.in)
			if strings.Contains(r.Text, secret) || strings.Contains(r.Text, inner) {
				t.Errorf("%s %v: %s", c.tool, c.in, r.Text)
			}
			if c.in["path"] == p && strings.Contains("/"+p, "/../") && r.Code != fault.OutsideWorkspace && !strings.Contains(p, `\`) {
				t.Errorf("%s %v: %s", c.tool, c.in, r.Code)
			}
			if c.tool == core.ToolListWorkspace && !r.IsError {
				// What holds it may be a folder like any other.
				continue
			}
			if !r.IsError || r.Text == "" || r.Code == fault.Internal || strings.Contains(r.Text, b.root) && !strings.Contains(p, b.root) {
				t.Errorf("%s %v: %q %s", c.tool, c.in, r.Code, r.Text)
			}
			if d := cmp.Diff(before, snapshot(t, b.root)); d != "" {
				t.Fatalf("%s %v: %s", c.tool, c.in, d)
			}
		}
	}
	// What is a name like any other is one.
	b.must(core.ToolReadDocument, input{"path": "%2e%2e/far.md"})
	if got := b.must(core.ToolSearchWorkspace, input{"query": "secret"}); got.Facts.Hits != 0 || strings.Contains(got.Text, secret) {
		t.Errorf("%s", got.Text)
	}
	if got := b.must(core.ToolSearchWorkspace, input{"query": "inner"}); strings.Contains(got.Text, ".env") || strings.Contains(got.Text, ".git") || strings.Contains(got.Text, "node_modules") {
		t.Errorf("%s", got.Text)
	}
}

// A file that the person opened by itself is not in the folder of a run, also
// when a link in it leads there and was what they opened.
//
// covers: F7 T3
func TestTools_WhatWasGrantedByItself(t *testing.T) {
	b := hostileBench(t)
	for _, name := range []string{"leaf.md", "../far.md"} {
		_, err := b.grant.GrantFile(b.path(name))
		try(t, err)
	}
	doc := b.open("leaf.md")
	for _, p := range []string{"leaf.md", "chain.md", "out/far.md"} {
		if r := b.refused(core.ToolReadDocument, input{"path": p}, fault.OutsideWorkspace); strings.Contains(r.Text, secret) {
			t.Errorf("%s", r.Text)
		}
	}
	info, err := b.docs.Info(doc.ID)
	try(t, err)
	b.begin(info.ID)
	// As the document of the run it was handed over.
	if r := b.must(core.ToolGetActiveDocument, input{}); b.data(r) != secret+"\n" {
		t.Errorf("%s", r.Text)
	}
}

// Another granted folder is none of the run's, also through a link.
func TestTools_OtherFolder(t *testing.T) {
	b := hostileBench(t)
	_, err := b.grant.GrantFolder(filepath.Join(b.root, "w-private"))
	try(t, err)
	b.put("to", "-> $ROOT/w-private")
	b.refused(core.ToolReadDocument, input{"path": "to/a.md"}, fault.OutsideWorkspace)
	b.refused(core.ToolCreateDocument, input{"dir": "to", "name": "x.md", "text": ""}, fault.OutsideWorkspace)
	_, err = b.grant.GrantFolder(b.root)
	try(t, err)
	b.refused(core.ToolReadDocument, input{"path": "out/far.md"}, fault.OutsideWorkspace)
	b.refused(core.ToolCreateDocument, input{"dir": "to", "name": "x.md", "text": ""}, fault.OutsideWorkspace)
}

// FuzzPath: whatever stands in a path, nothing outside is reached.
func FuzzPath(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.path, h.path)
	}
	f.Add("sub/a.md", "new.md")
	f.Add("..hello/c.md", "..a.md")
	f.Add("sub//./a.md/", "a.markdown")
	b := hostileBench(f)
	before := snapshot(f, filepath.Dir(b.path("")))
	f.Fuzz(func(t *testing.T, p, name string) {
		p = strings.ReplaceAll(p, "$ROOT", b.root)
		rel, err := relative(p)
		if err == nil && rel != "" && (!filepath.IsLocal(filepath.FromSlash(rel)) || strings.ContainsAny(rel, "\\:\x00") || strings.HasSuffix(rel, ".") || strings.HasSuffix(rel, " ")) {
			t.Fatalf("%q is taken for %q", p, rel)
		}
		for _, c := range []struct {
			tool string
			in   input
		}{
			{core.ToolReadDocument, input{"path": p}},
			{core.ToolListWorkspace, input{"path": p}},
			{core.ToolSearchWorkspace, input{"query": "SECRET", "include": p}},
		} {
			norm := encode(t, c.in)
			got, err := b.exec.Execute(t.Context(), b.fuzzed(c.tool, norm))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.Text, secret) || c.tool != core.ToolSearchWorkspace && strings.Contains(got.Text, inner) {
				t.Fatalf("%s %q: %s", c.tool, p, got.Text)
			}
			if got.IsError && (got.Text == "" || got.Code == fault.Internal) {
				t.Fatalf("%s %q: %+v", c.tool, p, got)
			}
		}
		for _, c := range []struct {
			tool string
			in   input
		}{
			{core.ToolCreateDocument, input{"dir": p, "name": name, "text": "x"}},
			{core.ToolRenameDocument, input{"path": p, "newName": name}},
		} {
			got, err := b.exec.Prepare(t.Context(), b.fuzzedPrepare(c.tool, encode(t, c.in)))
			if err != nil {
				continue
			}
			dir, err := filepath.EvalSymlinks(filepath.Dir(got.Target))
			if err != nil || dir+"/" != b.path("")+"/" && !strings.HasPrefix(dir, b.path("")+"/") || !isDocument(filepath.Base(got.Target)) {
				t.Fatalf("%s %q %q: would write %q", c.tool, p, name, got.Target)
			}
		}
		if d := cmp.Diff(before, snapshot(t, filepath.Dir(b.path("")))); d != "" {
			t.Fatal(d)
		}
	})
}
