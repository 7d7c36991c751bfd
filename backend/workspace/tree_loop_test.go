//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// deed is one change of the tree whose every call is spoiled. Paths are below
// the folder of the test, which holds the workspace w, and far, a granted folder
// on another device.
type deed struct {
	name  string
	files map[string]string
	do    string
	// from and to are paths; to is where a trashed entry comes to lie.
	from, to string
	// twice says that from and to may both be whole: the one was copied.
	twice bool
	// stays says that from is never touched.
	stays bool
}

func allDeeds() []deed {
	long := strings.Repeat("a line of text\n", 18_000) // two reads
	folder := map[string]string{"w/s/a.md": long, "w/s/t/b.md": "b", "w/s/t/l": "-> ../a.md", "w/s/empty/": ""}
	file := map[string]string{"w/a.md": long, "w/sub/": ""}
	return []deed{
		{name: "rename", files: file, do: "move", from: "w/a.md", to: "w/b.md"},
		{name: "move a folder", files: folder, do: "move", from: "w/s/t", to: "w/s/empty/u"},
		{name: "file to another device", files: file, do: "move", from: "w/a.md", to: "far/a.md", twice: true},
		{name: "folder to another device", files: folder, do: "move", from: "w/s", to: "far/s", twice: true},
		{name: "duplicate a file", files: file, do: "duplicate", from: "w/a.md", to: "w/a copy.md", stays: true},
		{name: "duplicate a folder", files: folder, do: "duplicate", from: "w/s", to: "w/s copy", stays: true},
		{name: "trash a file", files: file, do: "trash", from: "w/a.md", to: "data/Trash/files/a.md"},
		{name: "trash a folder", files: folder, do: "trash", from: "w/s", to: "data/Trash/files/s"},
	}
}

// ground is where a deed is done.
type ground struct {
	root, far string
	whole     map[string]string // what from holds
}

func (d deed) ground(t *testing.T) ground {
	t.Helper()
	g := ground{root: treeIn(t, memoryDir(t), d.files)}
	if d.twice {
		g.far = t.TempDir()
		a, err := os.Stat(g.root)
		must(t, err)
		b, err := os.Stat(g.far)
		must(t, err)
		if a.Sys().(*syscall.Stat_t).Dev == b.Sys().(*syscall.Stat_t).Dev {
			t.Skip("there is only one device")
		}
		must(t, os.Symlink(g.far, g.root+"/far"))
	}
	g.whole = below(t, g.root, d.from)
	if len(g.whole) == 0 {
		t.Fatal("there is nothing")
	}
	return g
}

// below is the picture of one entry; nil when it is not there.
func below(t *testing.T, root, name string) map[string]string {
	t.Helper()
	at := filepath.Join(root, name)
	info, err := os.Lstat(at)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(t, err)
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(at)
		must(t, err)
		return map[string]string{"": string(data)}
	}
	out := picture(t, at)
	out[""] = "folder"
	return out
}

// run does the deed and returns the names of the calls it made.
func (d deed) run(root string, plan filefault.Plan) (made []string, err error) {
	calls := filefault.New(workspace.OSCalls())
	g := workspace.NewGrantsOn(calls)
	defer g.Close()
	if _, err := g.GrantFolder(root + "/w"); err != nil {
		return nil, err
	}
	if _, err := os.Stat(root + "/far"); err == nil {
		if _, err := g.GrantFolder(root + "/far"); err != nil {
			return nil, err
		}
	}
	calls.Arm(plan)
	defer calls.Arm(filefault.Plan{})
	from, to := filepath.Join(root, d.from), filepath.Join(root, d.to)
	ctx := context.Background()
	switch d.do {
	case "move":
		_, err = g.Move(ctx, from, to)
	case "duplicate":
		_, err = g.Duplicate(ctx, from)
	case "trash":
		err = g.Trash(ctx, from)
	}
	return calls.Names(), err
}

// judge looks at what is left: where a name is, all of it is, and something is
// somewhere. The result says where.
func (d deed) judge(t *testing.T, g ground, at string) (from, to bool) {
	t.Helper()
	was, is := below(t, g.root, d.from), below(t, g.root, d.to)
	if d.do == "trash" && is == nil {
		// Where the home trash cannot be used, the disk's own one is.
		is = fromOtherBin(t, g, filepath.Base(d.to))
	}
	same := func(p map[string]string) bool {
		if len(p) != len(g.whole) {
			return false
		}
		for k, v := range g.whole {
			if w, ok := p[k]; !ok || w != v {
				return false
			}
		}
		return true
	}
	if is != nil && !same(is) {
		t.Errorf("%s: %s is not whole: %d of %d", at, d.to, len(is), len(g.whole))
	}
	// While it is removed after it was copied, the old one may be in parts.
	if was != nil && !same(was) && (!d.twice || !same(is)) {
		t.Errorf("%s: %s is not whole: %d of %d", at, d.from, len(was), len(g.whole))
	}
	if was == nil && is == nil {
		t.Fatalf("%s: all is lost", at)
	}
	if d.stays && !same(was) {
		t.Errorf("%s: the original was touched", at)
	}
	if was != nil && is != nil && !d.twice && !d.stays {
		t.Errorf("%s: it is there twice", at)
	}
	if d.do == "trash" && below(t, g.root, d.to) != nil {
		info, err := os.ReadFile(g.root + "/data/Trash/info/" + filepath.Base(d.to) + ".trashinfo")
		if err != nil || !strings.Contains(string(info), "Path="+g.root) {
			t.Errorf("%s: in the trash without its path: %q, %v", at, info, err)
		}
	}
	return was != nil, is != nil
}

// fromOtherBin takes what lay below g.root out of the trash of its disk.
func fromOtherBin(t *testing.T, g ground, name string) (found map[string]string) {
	t.Helper()
	for up := g.root; up != filepath.Dir(up); up = filepath.Dir(up) {
		bin := filepath.Join(up, ".Trash-"+strconv.Itoa(os.Getuid()))
		infos, err := filepath.Glob(bin + "/info/*.trashinfo")
		must(t, err)
		for _, p := range infos {
			data, err := os.ReadFile(p)
			must(t, err)
			if !strings.Contains(string(data), filepath.Base(g.root)+"/") {
				continue
			}
			at := strings.TrimSuffix(filepath.Base(p), ".trashinfo")
			found = below(t, bin+"/files", at)
			must(t, os.RemoveAll(bin+"/files/"+at))
			must(t, os.Remove(p))
			if !strings.HasPrefix(at, strings.TrimSuffix(name, filepath.Ext(name))) {
				t.Errorf("in the trash as %s", at)
			}
		}
	}
	return found
}

// temps are the names of ours that a listing hides.
func temps(t *testing.T, folders ...string) (out []string) {
	t.Helper()
	for _, f := range folders {
		for _, n := range names(t, f) {
			if strings.HasPrefix(n, ".galley-") {
				out = append(out, n)
			}
		}
	}
	return out
}

// TestTree_EveryCallFails makes call 1, 2, 3 … of each change of the tree fail
// until a run passes without a fault.
//
// covers: F8
func TestTree_EveryCallFails(t *testing.T) {
	for _, d := range allDeeds() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.After, filefault.Half, filefault.Forever} {
			t.Run(d.name+"/"+string(mode), func(t *testing.T) { d.failEveryCall(t, mode) })
		}
	}
}

func (d deed) failEveryCall(t *testing.T, mode filefault.Mode) {
	for n := 1; ; n++ {
		g := d.ground(t)
		t.Setenv("XDG_DATA_HOME", g.root+"/data")
		made, err := d.run(g.root, filefault.Plan{At: n, Mode: mode, Err: syscall.EIO})
		last := n > len(made)
		fired := ""
		if !last {
			fired = made[n-1]
		}
		at := fmt.Sprintf("call %d (%s: %v)", n, fired, err)
		from, to := d.judge(t, g, at)
		if err == nil && (!to || from && !d.stays && !d.twice) {
			t.Errorf("%s: success, and it is at the old name: %v, at the new one: %v", at, from, to)
		}
		if err != nil && mode == filefault.Before && to {
			t.Errorf("%s: a fault, and it was done", at)
		}
		if fault.CodeOf(err) == fault.NotFound {
			t.Errorf("%s: the wrong fault", at)
		}
		if slices.Contains([]string{"write", "sync", "close"}, fired) && err == nil && mode != filefault.After {
			t.Errorf("%s: taken for success", at)
		}
		// Clearing up can fail too; a later start does it.
		if left := temps(t, g.root+"/w", g.far); mode == filefault.Before && len(left) > 0 && err != nil {
			t.Errorf("%s: %v is left", at, left)
		}
		must(t, os.RemoveAll(g.root))
		if g.far != "" {
			must(t, os.RemoveAll(g.far))
		}
		if last {
			must(t, err)
			t.Logf("%d calls", n-1)
			return
		}
		if n > 1000 {
			t.Fatal("the loop does not end")
		}
	}
}

// TestTree_EveryCallIsTheLast ends the process with SIGKILL before call 1, 2,
// 3 …, and in the middle of a write, until one lives.
//
// covers: F8
func TestTree_EveryCallIsTheLast(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for i, d := range allDeeds() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.Half} {
			t.Run(d.name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				outcomes := map[string]int{}
				for n := 1; ; n++ {
					g := d.ground(t)
					cmd := exec.Command(program, g.root, strconv.Itoa(i), strconv.Itoa(n), string(mode))
					cmd.Env = append(os.Environ(), childEnv+"=tree", "XDG_DATA_HOME="+g.root+"/data")
					cmd.Dir = g.root
					out, err := cmd.CombinedOutput()
					exit, killed := errors.AsType[*exec.ExitError](err)
					if err != nil && (!killed || exit.ExitCode() > 0) {
						t.Fatalf("child: %v\n%s", err, out)
					}
					from, to := d.judge(t, g, fmt.Sprintf("killed at call %d", n))
					outcomes[fmt.Sprintf("from %v to %v", from, to)]++
					must(t, os.RemoveAll(g.root))
					if g.far != "" {
						must(t, os.RemoveAll(g.far))
					}
					if !killed {
						break
					}
					if n > 1000 {
						t.Fatal("the loop does not end")
					}
				}
				t.Log(outcomes)
				if len(outcomes) < 2 {
					t.Errorf("not every moment was hit: %v", outcomes)
				}
			})
		}
	}
}

// changeTree does one deed as a process that is killed.
func changeTree(args []string) error {
	i, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	_, err = allDeeds()[i].run(args[0], filefault.Plan{At: n, Mode: filefault.Mode(args[3]), Die: kill})
	return err
}

// A person without rights gets a fault, and nothing is gone.
//
// covers: F8
func TestTree_ReadOnlyFolder(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "w/sub/b.md": "b", "data/": ""})
	openForNobody(t, root+"/w/sub")
	must(t, os.Chmod(root+"/w", 0o555))
	before := picture(t, root)
	for _, what := range []string{"move", "duplicate", "trash", "create", "create folder"} {
		if got := asNobody(t, "readonly", root, what); got != string(fault.ReadOnly) {
			t.Errorf("%s: %q", what, got)
		}
	}
	wantPicture(t, root, before)
}

// changeReadOnly makes one change of a.md and prints the fault.
func changeReadOnly(args []string) error {
	g := workspace.NewGrants()
	w := args[0] + "/w"
	if _, err := g.GrantFolder(w); err != nil {
		return err
	}
	ctx := context.Background()
	var err error
	switch args[1] {
	case "move":
		_, err = g.Move(ctx, w+"/a.md", w+"/b.md")
	case "duplicate":
		_, err = g.Duplicate(ctx, w+"/a.md")
	case "trash":
		err = g.Trash(ctx, w+"/a.md")
	case "create":
		_, err = g.Create(w, "c.md", false)
	case "create folder":
		_, err = g.Create(w, "c", true)
	}
	fmt.Print(fault.CodeOf(err))
	return nil
}

// What is written to, or added, while it is copied to another device stays
// where it is, and nothing comes to be at the new place.
//
// covers: F8
func TestMove_ChangedWhileCopied(t *testing.T) {
	for name, change := range map[string]func(root string) error{
		"written": func(root string) error { return os.WriteFile(root+"/w/s/a.md", []byte("newer"), 0o644) },
		"added":   func(root string) error { return os.WriteFile(root+"/w/s/new.md", []byte("new"), 0o644) },
		"removed": func(root string) error { return os.Remove(root + "/w/s/a.md") },
		"taken":   func(root string) error { return os.WriteFile(root+"/far/s", []byte("theirs"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			d := deed{files: map[string]string{"w/s/a.md": "a", "w/s/t/b.md": "b"}, from: "w/s", twice: true}
			at := d.ground(t)
			synced := 0
			calls := &spyCalls{Calls: workspace.OSCalls()}
			g := workspace.NewGrantsOn(spyTree{calls})
			defer g.Close()
			for _, folder := range []string{"/w", "/far"} {
				_, err := g.GrantFolder(at.root + folder)
				must(t, err)
			}
			calls.beforeSync = func() {
				// Both files have been read by then.
				if synced++; synced == 2 {
					must(t, change(at.root))
				}
			}
			_, err := g.Move(t.Context(), at.root+"/w/s", at.root+"/far/s")
			want, left := fault.ChangedOnDisk, 0
			if name == "taken" {
				want, left = fault.Exists, 1
			}
			wantCode(t, err, want)
			if got := names(t, at.far); len(got) != left {
				t.Errorf("at the new place: %v", got)
			}
			got := below(t, at.root, "w/s")
			must(t, os.RemoveAll(at.root+"/w"))
			must(t, os.MkdirAll(at.root+"/w", 0o755))
			for p, content := range at.whole {
				switch {
				case name == "written" && p == "a.md":
					content = "newer"
				case name == "removed" && p == "a.md":
					continue
				}
				if got[p] != content {
					t.Errorf("%s holds %q", p, got[p])
				}
			}
			if name == "added" && got["new.md"] != "new" {
				t.Error("what was added is lost")
			}
		})
	}
}

// spyTree is spyCalls for moves between folders.
type spyTree struct{ *spyCalls }

func (s spyTree) OpenDir(path string) (workspace.Dir, error) {
	d, err := s.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return spyFolder{spyDir{d, s.spyCalls}}, nil
}

type spyFolder struct{ spyDir }

func (d spyFolder) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return spyFolder{spyDir{in, d.s}}, nil
}

func (d spyFolder) Move(from string, to workspace.Dir, name string) error {
	if other, ok := to.(spyFolder); ok {
		to = other.Dir
	}
	return d.Dir.Move(from, to, name)
}
