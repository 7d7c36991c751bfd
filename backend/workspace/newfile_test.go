package workspace_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
)

func (b *bench) newFile(folder, name, data string) workspace.NewFile {
	return workspace.NewFile{Folder: b.path(folder), Name: name, Data: []byte(data), Key: "Key1", RecoveryDir: b.recovery()}
}

// A new file has its bytes when it has its name, and nothing is left besides.
//
// covers: F4
func TestCreateFile(t *testing.T) {
	b := newBench(t, map[string]string{"w/sub/": "", "w/sub/a.md": "a", "w/dangling.md": "-> none.md"})
	n := b.newFile("sub", "夜.md", "text")
	n.Written = func() error {
		got := names(t, b.path("sub"))
		if len(got) != 2 || !strings.HasPrefix(got[0], ".galley-") || !strings.HasSuffix(got[0], "-Key1.tmp") {
			t.Errorf("before it has its name: %v", got)
		}
		return nil
	}
	placed := false
	n.Placed = func() { placed = true; b.want("sub/夜.md", "text") }
	res, err := b.grants.CreateFile(n)
	must(t, err)
	if !placed || !res.Durable || res.Entry.Path != b.path("sub/夜.md") || res.Entry.Name != "夜.md" || res.Stat.Size != 4 {
		t.Errorf("%+v", res)
	}
	now := b.base("sub/夜.md")
	if res.Stat.ChangeTimeNs = now.ChangeTimeNs; res.Stat != now {
		t.Errorf("stat %+v, the file is %+v", res.Stat, now)
	}
	if got := names(t, b.path("sub")); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := names(t, b.recovery()); len(got) != 0 {
		t.Errorf("the recovery folder holds %v", got)
	}
	// Nothing is replaced, a link that leads nowhere neither.
	for _, name := range []string{"夜.md", "a.md"} {
		n := b.newFile("sub", name, "x")
		wantCode(t, b.grants.CheckNewFile(n.Folder, n.Name), fault.Exists)
		_, err = b.grants.CreateFile(n)
		wantCode(t, err, fault.Exists)
	}
	_, err = b.grants.CreateFile(b.newFile("", "dangling.md", "x"))
	wantCode(t, err, fault.Exists)
	for _, c := range []struct {
		folder, name string
		want         fault.Code
	}{
		{"none", "b.md", fault.NotFound},
		{"sub/a.md", "b.md", fault.NotFound},
		{"", "con.md", fault.ReservedName},
		{"", "x/b.md", fault.ReservedName},
		{"", ".galley-1-x.tmp", fault.ReservedName},
		{"..", "b.md", fault.OutsideWorkspace},
		{"", strings.Repeat("x", 300), fault.ReservedName},
	} {
		wantCode(t, b.grants.CheckNewFile(b.path(c.folder), c.name), c.want)
		_, err := b.grants.CreateFile(b.newFile(c.folder, c.name, "x"))
		wantCode(t, err, c.want)
	}
	n = b.newFile("", "b.md", "x")
	n.Key = "a-b"
	_, err = b.grants.CreateFile(n)
	wantCode(t, err, fault.InvalidInput)
	b.wantNoLeftovers("sub", "dangling.md")
}

// What ends it before the name is given leaves nothing.
func TestCreateFile_Stopped(t *testing.T) {
	b := newBench(t, nil)
	n := b.newFile("", "a.md", "text")
	stop := fault.New(fault.Cancelled, "stop", nil)
	n.Written = func() error { return stop }
	_, err := b.grants.CreateFile(n)
	if !errors.Is(err, stop) || errors.Is(err, workspace.ErrUncertain) {
		t.Errorf("%v", err)
	}
	b.wantNoLeftovers()
}

func TestSweepNewFile(t *testing.T) {
	b := newBench(t, map[string]string{
		"w/.galley-1-Key1.tmp": "half", "w/.galley-1-Key2.tmp": "", "w/.galley-1-xKey1.tmp": "", "w/galley-Key1.tmp": "", "w/.galley-x-Key1.tmp": "", "w/.galley-2-Key1.tmp/": "",
	})
	must(t, b.grants.SweepNewFile(b.path(""), "Key1"))
	must(t, b.grants.SweepNewFile(b.path("none"), "Key1"))
	wantCode(t, b.grants.SweepNewFile(b.path(".."), "Key1"), fault.OutsideWorkspace)
	wantCode(t, b.grants.SweepNewFile(b.path(""), ""), fault.InvalidInput)
	if got := names(t, b.path("")); len(got) != 5 {
		t.Errorf("%v", got)
	}
	if _, err := os.Stat(b.path(".galley-1-Key1.tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The permits for one folder are for nothing else that was granted.
//
// covers: F7
func TestInside(t *testing.T) {
	root := tree(t, map[string]string{
		"w/a.md": "a", "w/sub/b.md": "b", "w/leaf.md": "-> $ROOT/far.md", "w/to": "-> $ROOT/v", "w/near.md": "-> a.md", "far.md": "far", "v/c.md": "c", "w/v/": "", "w/v/d.md": "d",
	})
	g := openFolder(t, root+"/w")
	for _, p := range []string{"/v", "/w/v"} {
		_, err := g.GrantFolder(root + p)
		must(t, err)
	}
	for _, p := range []string{"/far.md", "/w/leaf.md"} {
		_, err := g.GrantFile(root + p)
		must(t, err)
	}
	in, err := g.Inside(root + "/w/")
	must(t, err)
	for _, rel := range []string{"a.md", "sub/b.md", "near.md", "v/d.md"} {
		f, err := in.PermitRead(rel)
		if err != nil || f.Path() != in.Path(rel) {
			t.Errorf("%s: %v", rel, err)
		}
		if _, err := in.PermitWrite(rel); err != nil {
			t.Errorf("%s: %v", rel, err)
		}
	}
	if _, err := in.PermitWrite("new.md"); err != nil {
		t.Error(err)
	}
	for _, rel := range []string{"", ".", "sub", "v"} {
		if _, err := in.PermitList(rel); err != nil {
			t.Errorf("%s: %v", rel, err)
		}
	}
	for _, rel := range []string{"leaf.md", "to/c.md", "../far.md", "../v/c.md", root + "/far.md"} {
		if !strings.HasPrefix(rel, root) && rel != "leaf.md" {
			if _, err := os.ReadFile(root + "/w/" + rel); err != nil {
				t.Fatal(err)
			}
		}
		_, err := in.PermitRead(rel)
		wantCode(t, err, fault.OutsideWorkspace)
		_, err = in.PermitWrite(rel)
		wantCode(t, err, fault.OutsideWorkspace)
	}
	_, err = in.PermitList("to")
	wantCode(t, err, fault.OutsideWorkspace)
	_, err = in.PermitRead("a\x00.md")
	wantCode(t, err, fault.InvalidInput)
	for _, folder := range []string{root, root + "/w/sub", root + "/far.md"} {
		_, err := g.Inside(folder)
		wantCode(t, err, fault.NotGranted)
	}
	_, err = g.Inside("")
	wantCode(t, err, fault.InvalidInput)
	g.Revoke(root + "/w")
	_, err = in.PermitRead("a.md")
	wantCode(t, err, fault.NotGranted)
	// Not by the other folder that holds it now either.
	_, err = in.PermitRead("v/d.md")
	wantCode(t, err, fault.NotGranted)
}
