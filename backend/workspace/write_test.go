package workspace_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// bench is one folder with a workspace and a recovery folder beside it.
type bench struct {
	t      testing.TB
	root   string
	grants *workspace.Grants
	calls  *filefault.Calls
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	return newBenchIn(t, t.TempDir(), files)
}

func newBenchIn(t *testing.T, dir string, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, root: treeIn(t, dir, files), calls: filefault.New(workspace.OSCalls())}
	must(t, os.MkdirAll(b.root+"/w", 0o755))
	b.grants = workspace.NewGrantsOn(b.calls)
	t.Cleanup(b.grants.Close)
	_, err := b.grants.GrantFolder(b.root + "/w")
	must(t, err)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.root, "w", name) }
func (b *bench) recovery() string        { return filepath.Join(b.root, "recovery") }

func (b *bench) base(name string) workspace.Stat {
	b.t.Helper()
	f, err := b.grants.PermitRead(b.path(name))
	must(b.t, err)
	_, st, err := f.Read(1 << 30)
	must(b.t, err)
	return st
}

func (b *bench) write(name, data string, o workspace.WriteOptions) (workspace.WriteResult, error) {
	b.t.Helper()
	target, err := b.grants.PermitWrite(b.path(name))
	if err != nil {
		return workspace.WriteResult{}, err
	}
	o.RecoveryDir = b.recovery()
	return target.Write([]byte(data), o)
}

// save reads the base and writes over it, as a document does.
func (b *bench) save(name, data string) workspace.WriteResult {
	b.t.Helper()
	res, err := b.write(name, data, workspace.WriteOptions{Base: b.base(name)})
	must(b.t, err)
	return res
}

func (b *bench) want(name, content string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil || string(got) != content {
		b.t.Errorf("%s: got %q (%v), want %q", name, short(got), err, short([]byte(content)))
	}
}

func short(b []byte) string {
	if len(b) > 40 {
		return string(b[:40]) + "…"
	}
	return string(b)
}

// names lists a folder's files, hidden ones too.
func names(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func (b *bench) wantNoLeftovers(files ...string) {
	b.t.Helper()
	if got := names(b.t, b.root+"/w"); len(got) != len(files) {
		b.t.Errorf("the folder holds %v, want %v", got, files)
	}
	if got := names(b.t, b.recovery()); len(got) != 0 {
		b.t.Errorf("the recovery folder holds %v", got)
	}
}

// covers: F4
func TestWrite_Replaces(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old"})
	must(t, os.Chmod(b.path("a.md"), 0o640))
	res := b.save("a.md", "new text")
	b.want("a.md", "new text")
	b.wantNoLeftovers("a.md")
	if res.Fallback || res.RecoveryPath != "" {
		t.Errorf("result: %+v", res)
	}
	now := b.base("a.md")
	// Getting its name is a later change of the file.
	if res.Stat.ChangeTimeNs = now.ChangeTimeNs; res.Stat != now {
		t.Errorf("stat: got %+v, the file is %+v", res.Stat, now)
	}
	if res.Stat.Mode.Perm() != 0o640 {
		t.Errorf("mode: %v", res.Stat.Mode)
	}
	// The result is the base of the next write.
	_, err := b.write("a.md", "third", workspace.WriteOptions{Base: res.Stat})
	must(t, err)
	b.want("a.md", "third")
}

// TestWrite_A7 is row A7, and its neighbours: chains, links through linked
// folders, links back to the parent.
//
// covers: F4
func TestWrite_A7(t *testing.T) {
	b := newBench(t, map[string]string{
		"w/real.md": "old", "w/link.md": "-> real.md", "w/chain.md": "-> sub/two.md",
		"w/sub/two.md": "-> ../real.md", "w/deep/er/x.md": "x", "w/jump": "-> deep/er",
		"w/odd.md": "-> jump/../y.md", "w/deep/y.md": "y",
	})
	must(t, os.Chmod(b.path("real.md"), 0o640))
	for i, link := range []string{"link.md", "chain.md", "sub/two.md"} {
		text := strings.Repeat("n", i+1)
		res := b.save(link, text)
		b.want("real.md", text)
		if info, err := os.Lstat(b.path(link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
		if info, err := os.Lstat(b.path("real.md")); err != nil || info.Mode() != 0o640 {
			t.Errorf("mode: %v", info.Mode())
		}
		if res.Fallback {
			t.Errorf("%s: %+v", link, res)
		}
	}
	// `..` behind a linked folder is the parent of where the link leads.
	b.save("odd.md", "why")
	b.want("deep/y.md", "why")
	if _, err := os.Lstat(b.path("y.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error("written beside the link's own folder")
	}
	if got := names(t, b.recovery()); len(got) != 0 {
		t.Errorf("recovery: %v", got)
	}
}

// covers: F4
func TestWrite_NewFile(t *testing.T) {
	b := newBench(t, map[string]string{"w/sub/": "", "w/dangling.md": "-> sub/made.md"})
	old := umask(0o027)
	defer umask(old)
	res, err := b.write("a.md", "text", workspace.WriteOptions{})
	must(t, err)
	b.want("a.md", "text")
	if umask(0o027) == 0o027 && res.Stat.Mode.Perm() != 0o640 {
		t.Errorf("mode: %v", res.Stat.Mode)
	}
	_, err = b.write("dangling.md", "made", workspace.WriteOptions{})
	must(t, err)
	b.want("sub/made.md", "made")
	_, err = b.write("a.md", "again", workspace.WriteOptions{})
	wantCode(t, err, fault.Exists)
	b.want("a.md", "text")
	for _, name := range []string{"CON", "nul.md", "COM1.txt", "a.md.", "a.md ", "a:b.md"} {
		_, err := b.write(name, "x", workspace.WriteOptions{})
		wantCode(t, err, fault.ReservedName)
	}
	_, err = b.write(strings.Repeat("n", 300)+".md", "x", workspace.WriteOptions{})
	wantCode(t, err, fault.ReservedName)
	b.wantNoLeftovers("a.md", "dangling.md", "sub")
}

// A name that is reserved elsewhere but there already can be saved.
func TestWrite_ExistingReservedName(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("such a file cannot exist here")
	}
	b := newBench(t, map[string]string{"w/a:b.md": "old"})
	b.save("a:b.md", "new")
	b.want("a:b.md", "new")
}

// TestWrite_ChangedOnDisk has a writer with the same size and the same time:
// only the content tells.
//
// covers: F5
func TestWrite_ChangedOnDisk(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "v1\n"})
	base := b.base("a.md")
	info, err := os.Stat(b.path("a.md"))
	must(t, err)
	must(t, os.WriteFile(b.path("a.md"), []byte("v2\n"), 0o644))
	must(t, os.Chtimes(b.path("a.md"), time.Time{}, info.ModTime()))

	_, err = b.write("a.md", "mine\n", workspace.WriteOptions{Base: base})
	wantCode(t, err, fault.ChangedOnDisk)
	b.want("a.md", "v2\n")
	b.wantNoLeftovers("a.md")

	_, err = b.write("a.md", "mine\n", workspace.WriteOptions{Base: base, Overwrite: true})
	must(t, err)
	b.want("a.md", "mine\n")

	// Gone since: not made again without a yes.
	base = b.base("a.md")
	must(t, os.Remove(b.path("a.md")))
	_, err = b.write("a.md", "x", workspace.WriteOptions{Base: base})
	wantCode(t, err, fault.ChangedOnDisk)
	if _, err := os.Lstat(b.path("a.md")); err == nil {
		t.Error("the file is back")
	}
	_, err = b.write("a.md", "x", workspace.WriteOptions{Base: base, Overwrite: true})
	must(t, err)
	b.want("a.md", "x")
}

// A file that somebody touched without changing it is no conflict, nor is one
// that already holds the new text.
//
// covers: F5
func TestWrite_SameContentIsNoConflict(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "v1"})
	base := b.base("a.md")
	must(t, os.Remove(b.path("a.md")))
	must(t, os.WriteFile(b.path("a.md"), []byte("v1"), 0o644))
	must(t, os.Chtimes(b.path("a.md"), time.Time{}, time.Unix(1, 0)))
	_, err := b.write("a.md", "v2", workspace.WriteOptions{Base: base})
	must(t, err)
	_, err = b.write("a.md", "v2", workspace.WriteOptions{Base: base})
	must(t, err)
	b.want("a.md", "v2")
}

// covers: F4
func TestWrite_HardLinkIsWrittenInPlace(t *testing.T) {
	for _, c := range []struct{ name, from, to string }{
		{"grows", "old", "much longer than before"},
		{"shrinks", "much longer than after", "new"},
		{"empties", "old", ""},
		{"fills", "", "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"w/a.md": c.from})
			must(t, os.Link(b.path("a.md"), b.root+"/other.md"))
			before := b.base("a.md")
			res := b.save("a.md", c.to)
			b.want("a.md", c.to)
			if got, err := os.ReadFile(b.root + "/other.md"); err != nil || string(got) != c.to {
				t.Errorf("the other name: got %q, %v", got, err)
			}
			if !res.Fallback || res.Stat.Inode != before.Inode {
				t.Errorf("result: %+v", res)
			}
			if got, err := os.ReadFile(res.RecoveryPath); err != nil || string(got) != c.from {
				t.Errorf("recovery copy: got %q, %v", got, err)
			}
			if filepath.Ext(res.RecoveryPath) != ".md" {
				t.Errorf("the copy is called %s", res.RecoveryPath)
			}
			if got := names(t, b.recovery()); len(got) != 1 {
				t.Errorf("recovery folder: %v", got)
			}
			if res.Stat != b.base("a.md") {
				t.Errorf("stat: %+v", res.Stat)
			}
		})
	}
}

func TestWrite_KeepsAFewOldCopies(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "0", "w/b.md": "0"})
	must(t, os.Link(b.path("a.md"), b.root+"/a2.md"))
	must(t, os.Link(b.path("b.md"), b.root+"/b2.md"))
	b.save("b.md", "1")
	var last string
	for i := range 9 {
		last = b.save("a.md", strings.Repeat("x", i)).RecoveryPath
	}
	if got := names(t, b.recovery()); len(got) != 6 {
		t.Errorf("recovery folder: %v", got)
	}
	if got, err := os.ReadFile(last); err != nil || string(got) != "xxxxxxx" {
		t.Errorf("the newest copy: %q, %v", got, err)
	}
}

// covers: F4
func TestWrite_ReadOnlyFile(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old"})
	must(t, os.Chmod(b.path("a.md"), 0o444))
	info, err := os.Stat(b.path("a.md"))
	must(t, err)
	_, err = b.write("a.md", "new", workspace.WriteOptions{Base: b.base("a.md"), Overwrite: true})
	wantCode(t, err, fault.ReadOnly)
	b.want("a.md", "old")
	b.wantNoLeftovers("a.md")
	after, err := os.Stat(b.path("a.md"))
	must(t, err)
	if after.Mode() != info.Mode() || !after.ModTime().Equal(info.ModTime()) {
		t.Error("the file was touched")
	}
}

// The file is exchanged between the comparison and the rename.
//
// covers: F5
func TestWrite_ChangedDuringTheWrite(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		b := newBench(t, map[string]string{"w/a.md": "v1"})
		spy := &spyCalls{Calls: workspace.OSCalls()}
		g := workspace.NewGrantsOn(spy)
		t.Cleanup(g.Close)
		_, err := g.GrantFolder(b.root + "/w")
		must(t, err)
		base := b.base("a.md")
		spy.beforeSync = func() {
			must(t, os.WriteFile(b.path("a.md"), []byte("theirs"), 0o644))
		}
		target, err := g.PermitWrite(b.path("a.md"))
		must(t, err)
		_, err = target.Write([]byte("mine"), workspace.WriteOptions{Base: base, Overwrite: overwrite, RecoveryDir: b.recovery()})
		if overwrite {
			must(t, err)
			b.want("a.md", "mine")
		} else {
			wantCode(t, err, fault.ChangedOnDisk)
			b.want("a.md", "theirs")
		}
		b.wantNoLeftovers("a.md")
	}
}

// TestWrite_A6 is row A6: the writer fails after 1 KB, and between write and
// rename.
//
// covers: F4
func TestWrite_A6(t *testing.T) {
	old := strings.Repeat("0123456789abcdef", 40<<10/16)
	text := strings.Repeat("fedcba9876543210", 40<<10/16)
	b := newBench(t, map[string]string{"w/a.md": old})
	base := b.base("a.md")
	hit := map[string]bool{}
	for n := 1; ; n++ {
		b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Half, Err: enospc})
		res, err := b.write("a.md", text, workspace.WriteOptions{Base: base})
		fired := b.calls.Fired()
		b.calls.Arm(filefault.Plan{})
		if fired == "" {
			must(t, err)
			break
		}
		if fired != "write" && fired != "rename" {
			if err == nil {
				must(t, os.WriteFile(b.path("a.md"), []byte(old), 0o644))
			}
			continue
		}
		hit[fired] = true
		wantCode(t, err, fault.DiskFull)
		b.want("a.md", old)
		for _, name := range names(t, b.root+"/w") {
			if name != "a.md" {
				t.Errorf("left over: %s", name)
			}
		}
		if res.RecoveryPath != "" {
			if got, err := os.ReadFile(res.RecoveryPath); err != nil || string(got) != text {
				t.Errorf("recovery copy: %q, %v", short(got), err)
			}
		}
	}
	if !hit["write"] || !hit["rename"] {
		t.Errorf("hit %v only", hit)
	}
	b.want("a.md", text)
	b.wantNoLeftovers("a.md")
}

// The fault of a full disk names which.
//
// covers: F4
func TestWrite_DiskFullNamesTheFolder(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old"})
	base := b.base("a.md")
	where := map[string]bool{}
	for n := 1; ; n++ {
		b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Before, Err: enospc})
		_, err := b.write("a.md", "new", workspace.WriteOptions{Base: base})
		fired := b.calls.Fired()
		if fired == "" {
			break
		}
		if fired == "write" {
			where[fault.From(err).Detail] = true
		}
	}
	for _, folder := range []string{b.root + "/w", b.recovery()} {
		if !where[folder] {
			t.Errorf("%s is not named: %v", folder, where)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	root := tree(t, map[string]string{"real.json": "old", "link.json": "-> real.json"})
	must(t, workspace.ReplaceFile(root+"/new/deep/a.json", []byte("a"), 0o600))
	info, err := os.Stat(root + "/new/deep/a.json")
	must(t, err)
	if os.PathSeparator == '/' && info.Mode() != 0o600 {
		t.Errorf("mode: %v", info.Mode())
	}
	must(t, workspace.ReplaceFile(root+"/link.json", []byte("new"), 0o644))
	if got, err := os.ReadFile(root + "/real.json"); err != nil || string(got) != "new" {
		t.Errorf("got %q, %v", got, err)
	}
	if info, err := os.Lstat(root + "/link.json"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}

	calls := filefault.New(workspace.OSCalls())
	for n := 1; ; n++ {
		must(t, os.WriteFile(root+"/real.json", []byte("old"), 0o644))
		calls.Arm(filefault.Plan{At: n, Mode: filefault.Half, Err: enospc})
		err := workspace.ReplaceFileOn(calls, root+"/link.json", []byte("newer"), 0o644)
		got, readErr := os.ReadFile(root + "/real.json")
		must(t, readErr)
		if !bytes.Equal(got, []byte("old")) && !bytes.Equal(got, []byte("newer")) {
			t.Errorf("call %d (%s): got %q", n, calls.Fired(), got)
		}
		if calls.Fired() == "" {
			must(t, err)
			break
		}
		if err == nil && string(got) != "newer" {
			t.Errorf("call %d (%s): success, but %q", n, calls.Fired(), got)
		}
		if err != nil {
			wantCode(t, err, fault.DiskFull)
		}
	}
	if got := names(t, root); len(got) != 3 {
		t.Errorf("left over: %v", got)
	}
}
