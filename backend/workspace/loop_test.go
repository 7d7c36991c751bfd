package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// shape is one way a file can lie on the disk when it is written.
type shape struct {
	name    string
	files   map[string]string
	target  string // below w
	hard    bool   // another name exists
	old     string
	text    string
	new     bool // the target does not exist before
	inPlace bool
}

func shapes() []shape {
	long, short := strings.Repeat("old text of the file\n", 400), "new text\n"
	return []shape{
		{name: "plain", files: map[string]string{"w/a.md": long}, target: "a.md", old: long, text: short},
		{name: "link", files: map[string]string{"w/a.md": short, "w/l.md": "-> a.md"}, target: "l.md", old: short, text: long},
		{name: "new", files: map[string]string{"w/": ""}, target: "a.md", text: long, new: true},
		{name: "hard link, grows", files: map[string]string{"w/a.md": short}, target: "a.md", hard: true, old: short, text: long, inPlace: true},
		{name: "hard link, shrinks", files: map[string]string{"w/a.md": long}, target: "a.md", hard: true, old: long, text: short, inPlace: true},
	}
}

func (s shape) bench(t *testing.T) *bench {
	t.Helper()
	b := newBenchIn(t, memoryDir(t), s.files)
	if s.hard {
		must(t, os.Link(b.path(s.target), b.root+"/other"))
	}
	if !s.new {
		// What a fault may cost: bits that have to be carried over.
		must(t, os.Chmod(b.path(s.target), 0o640))
	}
	return b
}

// memoryDir is a folder in memory where the system has one: what the loops ask
// is which bytes are where after each call, and a real disk only makes them
// slow.
func memoryDir(t *testing.T) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "galley") //nolint:usetesting // TempDir would lie on a disk
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// callsOf writes once without a fault and returns the names of the calls.
func (s shape) callsOf(t *testing.T) []string {
	t.Helper()
	b := s.bench(t)
	var base workspace.Stat
	if !s.new {
		base = b.base(s.target)
	}
	b.calls.Arm(filefault.Plan{})
	_, err := b.write(s.target, s.text, workspace.WriteOptions{Base: base})
	must(t, err)
	return b.calls.Names()
}

// worth reports whether call n, from 1, can go wrong in mode as in no other:
// only a write can be done by half.
func worth(calls []string, n int, mode filefault.Mode) bool {
	return mode != filefault.Half || n > len(calls) || calls[n-1] == "write"
}

// dead says that every writer is gone.
func dead(int) bool { return false }

// judge looks at what a spoiled write left behind and returns its state: old,
// new or torn. Anything else fails the test.
func (s shape) judge(t *testing.T, b *bench, at string) string {
	t.Helper()
	got, err := os.ReadFile(b.path(s.target))
	state := "torn"
	switch {
	case errors.Is(err, os.ErrNotExist) && s.new, err == nil && !s.new && string(got) == s.old:
		state = "old"
	case err == nil && string(got) == s.text:
		state = "new"
	}
	if state == "torn" && !s.inPlace {
		t.Fatalf("%s: the file holds %q (%v)", at, short(got), err)
	}
	if err == nil && !s.new {
		info, err := os.Stat(b.path(s.target))
		must(t, err)
		if info.Mode() != 0o640 {
			t.Errorf("%s: mode %v", at, info.Mode())
		}
	}

	// The sweep of a later start removes every temporary file and tells the
	// truth about the rest.
	left, err := workspace.SweepOn(workspace.OSCalls(), b.recovery(), dead)
	must(t, err)
	for _, name := range names(t, b.root+"/w") {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s: %s is left after the sweep", at, name)
		}
	}
	for _, l := range left {
		if l.Path != b.path(s.target) {
			t.Errorf("%s: leftover of %s", at, l.Path)
		}
		if data, err := os.ReadFile(l.New); err != nil || string(data) != s.text {
			t.Errorf("%s: the copy of the new text holds %q (%v)", at, short(data), err)
		}
		if l.Old != "" {
			if data, err := os.ReadFile(l.Old); err != nil || string(data) != s.old {
				t.Errorf("%s: the copy of the old text holds %q (%v)", at, short(data), err)
			}
		}
		want := map[string]workspace.LeftoverState{"old": workspace.Unwritten, "torn": workspace.Torn}[state]
		if l.State != want {
			t.Errorf("%s: the file is %s, the sweep says %s", at, state, l.State)
		}
		if state == "torn" && l.Old == "" {
			t.Errorf("%s: torn, and no copy of the old text", at)
		}
		must(t, workspace.DropLeftover(b.recovery(), l.ID))
	}
	if state == "torn" && len(left) != 1 {
		t.Errorf("%s: torn, and %d leftovers", at, len(left))
	}
	for _, name := range names(t, b.recovery()) {
		if !strings.Contains(name, ".old") {
			t.Errorf("%s: %s is left in the recovery folder", at, name)
		}
	}
	return state
}

// TestWrite_EveryCallFails makes call 1, 2, 3 … of a write fail, in each way a
// call can, until a run passes without a fault.
//
// covers: F4
func TestWrite_EveryCallFails(t *testing.T) {
	for _, s := range shapes() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.After, filefault.Half, filefault.Forever} {
			for _, cause := range []syscall.Errno{syscall.EIO, enospc} {
				if cause == enospc && mode != filefault.Half {
					continue // told apart by code alone, see TestWrite_A6
				}
				t.Run(fmt.Sprintf("%s/%s/%v", s.name, mode, cause), func(t *testing.T) {
					t.Parallel()
					s.failEveryCall(t, mode, cause)
				})
			}
		}
	}
}

func (s shape) failEveryCall(t *testing.T, mode filefault.Mode, cause error) {
	calls := s.callsOf(t)
	for n := 1; ; n++ {
		if !worth(calls, n, mode) {
			continue
		}
		b := s.bench(t)
		var base workspace.Stat
		if !s.new {
			base = b.base(s.target)
		}
		b.calls.Arm(filefault.Plan{At: n, Mode: mode, Err: cause})
		res, err := b.write(s.target, s.text, workspace.WriteOptions{Base: base})
		fired := b.calls.Fired()
		b.calls.Arm(filefault.Plan{})
		at := fmt.Sprintf("call %d (%s)", n, fired)

		// What a copy promises holds before any sweep.
		if err != nil && res.RecoveryPath != "" {
			if data, readErr := os.ReadFile(res.RecoveryPath); readErr != nil || string(data) != s.text {
				t.Errorf("%s: the copy kept holds %q (%v)", at, short(data), readErr)
			}
		}
		if mode != filefault.Forever && fired != "remove" {
			for _, name := range names(t, b.root+"/w") {
				if strings.HasPrefix(name, ".") {
					t.Errorf("%s: %s is left", at, name)
				}
			}
		}
		state := s.judge(t, b, at)
		if err == nil && state != "new" {
			t.Errorf("%s: success, and the file is %s", at, state)
		}
		if state == "torn" && mode != filefault.Forever && mode != filefault.After {
			t.Errorf("%s: the old text was not put back", at)
		}
		// A failure of what makes the text durable is never success.
		if slices.Contains([]string{"write", "sync", "sync folder", "rename", "truncate", "close", "chmod"}, fired) && err == nil &&
			mode != filefault.After {
			t.Errorf("%s: a failed %s was taken for success", at, fired)
		}
		if slices.Contains([]string{"sync", "sync folder"}, fired) && err == nil {
			t.Errorf("%s: a failed sync was taken for success", at)
		}
		if fired == "" {
			must(t, err)
			if n < 15 {
				t.Fatalf("only %d calls were made", n)
			}
			t.Logf("%d calls", n-1)
			return
		}
		if n > 500 {
			t.Fatal("the loop does not end")
		}
		must(t, os.RemoveAll(b.root))
	}
}

// TestWrite_EveryCallIsTheLast ends the writing process with SIGKILL before
// call 1, 2, 3 …, and in the middle of a write, until one lives.
//
// covers: F4
func TestWrite_EveryCallIsTheLast(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for _, s := range shapes() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.Half} {
			t.Run(s.name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				states := map[string]int{}
				calls := s.callsOf(t)
				for n := 1; ; n++ {
					if !worth(calls, n, mode) {
						continue
					}
					b := s.bench(t)
					cmd := exec.Command(program, b.root, s.target, s.text, fmt.Sprint(n), string(mode))
					cmd.Env = append(os.Environ(), childEnv+"=kill")
					cmd.Dir = b.root
					out, err := cmd.CombinedOutput()
					exit, killed := errors.AsType[*exec.ExitError](err)
					if err != nil && (!killed || exit.ExitCode() > 0 && exit.ExitCode() != 137) {
						t.Fatalf("child: %v\n%s", err, out)
					}
					states[s.judge(t, b, fmt.Sprintf("killed at call %d", n))]++
					if !killed {
						if want := "replaced"; !s.inPlace && string(out) != want {
							t.Errorf("the last run said %q", out)
						}
						break
					}
					if n > 500 {
						t.Fatal("the loop does not end")
					}
					must(t, os.RemoveAll(b.root))
				}
				t.Logf("files after the kill: %v", states)
				if states["old"] == 0 || states["new"] == 0 { // the last run lives
					t.Errorf("not every moment was hit: %v", states)
				}
				if s.inPlace && mode == filefault.Half && states["torn"] == 0 {
					t.Errorf("no write was cut: %v", states)
				}
			})
		}
	}
}

func TestSweep_LeavesTheLivingAlone(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old"})
	base := b.base("a.md")
	for n := 1; ; n++ {
		b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Before, Err: syscall.EIO})
		res, err := b.write("a.md", "new", workspace.WriteOptions{Base: base})
		if err == nil && b.calls.Fired() == "" {
			t.Fatal("no failure left a copy")
		}
		b.calls.Arm(filefault.Plan{})
		if err == nil || res.RecoveryPath == "" {
			base = b.base("a.md")
			continue
		}
		left, err := workspace.Sweep(b.recovery())
		must(t, err)
		if len(left) != 0 {
			t.Errorf("our own save is a leftover: %+v", left)
		}
		if _, err := os.Stat(res.RecoveryPath); err != nil {
			t.Error("the copy of a living writer is gone")
		}
		break
	}
	// The next save that works takes the copies of the failed ones along.
	b.save("a.md", "newer")
	b.want("a.md", "newer")
	if got := names(t, b.recovery()); len(got) != 0 {
		t.Errorf("recovery: %v", got)
	}
}

func TestSweep_SaysWhatItFinds(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old", "w/b.md": "old"})
	for _, name := range []string{"a.md", "b.md"} {
		base := b.base(name)
		for n := 1; ; n++ {
			b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Before, Err: syscall.EIO})
			res, err := b.write(name, "new", workspace.WriteOptions{Base: base})
			if err == nil && b.calls.Fired() == "" {
				t.Fatal("no failure left a copy")
			}
			b.calls.Arm(filefault.Plan{})
			if err != nil && res.RecoveryPath != "" {
				break
			}
		}
	}
	must(t, os.WriteFile(b.path("a.md"), []byte("other"), 0o644))
	must(t, os.Remove(b.path("b.md")))
	must(t, os.WriteFile(filepath.Join(b.recovery(), "of-the-person.txt"), []byte("x"), 0o644))
	left, err := workspace.SweepOn(workspace.OSCalls(), b.recovery(), dead)
	must(t, err)
	got := map[string]workspace.LeftoverState{}
	for _, l := range left {
		if l.AtMs == 0 || !l.State.Valid() {
			t.Errorf("leftover: %+v", l)
		}
		got[filepath.Base(l.Path)] = l.State
	}
	if len(left) != 2 || got["a.md"] != workspace.Changed || got["b.md"] != workspace.Missing {
		t.Errorf("got %v", got)
	}
	if left, err := workspace.Sweep(b.root + "/none"); err != nil || len(left) != 0 {
		t.Errorf("no folder: %v, %v", left, err)
	}
}

func TestSweepFolder(t *testing.T) {
	gone := exec.Command("true")
	must(t, gone.Run())
	pid := gone.Process.Pid
	mine := fmt.Sprintf(".galley-%d-abc.tmp", os.Getpid())
	root := tree(t, map[string]string{
		fmt.Sprintf(".galley-%d-abc.tmp", pid): "x", mine: "x", ".galley-x.tmp": "x", "settings.json": "{}",
	})
	must(t, workspace.SweepFolder(root))
	if got := strings.Join(names(t, root), " "); got != mine+" .galley-x.tmp settings.json" {
		t.Errorf("left: %s", got)
	}
	must(t, workspace.SweepFolder(root+"/none"))
}
