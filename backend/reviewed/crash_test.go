package reviewed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// childEnv makes the test program make, apply and undo one set and end: a
// process that can be killed.
const childEnv = "GALLEY_REVIEWED_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child applies the set of the scene at args[0], or undoes it; call number
// args[1] of that is its last.
func child(what string, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	calls := filefault.New(workspace.OSCalls())
	r, err := newRig(args[0], calls)
	if err != nil {
		return err
	}
	return act(r, args[0], what, func() {
		calls.Arm(filefault.Plan{At: n, Mode: filefault.Mode(args[2]), Die: func() {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
			select {}
		}})
	})
}

// act plans and applies the scene's set, and undoes it for "undo"; arm is
// called right before what is tested.
func act(r *rig, root, what string, arm func()) error {
	ctx := context.Background()
	w := filepath.Join(root, "w")
	set, err := r.m.PlanMove(ctx, filepath.Join(w, "d"), filepath.Join(w, "e", "f"))
	if err != nil {
		return err
	}
	if what == "apply" {
		arm()
	}
	if _, err := r.m.Apply(ctx, set.ID, all(set)); err != nil || what == "apply" {
		return err
	}
	arm()
	_, err = r.m.Undo(ctx, set.ID)
	return err
}

// scene is a workspace in which a folder is moved: a file in it and one beside it
// have links to change; the latter has a second name, and is written in place.
func scene() map[string]string {
	return map[string]string{
		"a.md":   "[x](d/x.md)\r\n" + strings.Repeat("a line of text\r\n", 40),
		"d/x.md": "[a](../a.md) [y](y.md)", "d/y.md": "no link", "e/z.md": "no link",
	}
}

func newScene(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, scene())
	try(t, os.Link(b.path("a.md"), filepath.Join(b.root, "other")))
	return b
}

// states are the workspace before and after the scene's set.
func states(t *testing.T) (before, after map[string]string) {
	t.Helper()
	b := newScene(t)
	before = b.snapshot()
	try(t, act(b.rig, b.root, "apply", func() {}))
	after = b.snapshot()
	if maps.Equal(before, after) || after["e/f/x.md"] != "[a](../../a.md) [y](y.md)" || !strings.HasPrefix(after["a.md"], "[x](e/f/x.md)\r\n") {
		t.Fatalf("%v", after)
	}
	return before, after
}

// judge tells whether all files are old or all are new, or neither.
func (b *bench) judge(before, after map[string]string) string {
	b.t.Helper()
	is := b.snapshot()
	maps.DeleteFunc(is, func(name, _ string) bool { return strings.HasPrefix(filepath.Base(name), ".galley-") })
	switch {
	case maps.Equal(is, before):
		return "old"
	case maps.Equal(is, after):
		return "new"
	}
	return "mixed"
}

// sweepDead sweeps as a later start does, for which this process is gone.
func sweepDead(dir string) ([]workspace.Leftover, error) {
	return workspace.SweepOn(workspace.OSCalls(), dir, func(int) bool { return false })
}

// TestApply_EveryCallFails makes call 1, 2, 3 … of an application and of an
// undoing fail: all files are then old or all are new.
//
// covers: F9 F4
func TestApply_EveryCallFails(t *testing.T) {
	before, after := states(t)
	for _, what := range []string{"apply", "undo"} {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.After, filefault.Half, filefault.Forever} {
			t.Run(what+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				seen := map[string]int{}
				for n := 1; ; n++ {
					b := newScene(t)
					err := act(b.rig, b.root, what, func() {
						b.calls.Arm(filefault.Plan{At: n, Mode: mode, Err: syscall.EIO})
					})
					fired := b.calls.Fired()
					if names := b.calls.Names(); mode == filefault.Half && fired != "" && names[n-1] != "write" {
						b.calls.Arm(filefault.Plan{})
						try(t, os.RemoveAll(b.root))
						continue // nothing but a write can be done by half
					}
					b.calls.Arm(filefault.Plan{})
					state := b.judge(before, after)
					at := fmt.Sprintf("call %d (%s): %v", n, fired, err)
					made, stays := "new", "old"
					if what == "undo" {
						made, stays = "old", "new"
					}
					switch {
					case err == nil && state != made:
						t.Errorf("%s: success, and the files are %s", at, state)
					case err != nil && mode != filefault.Forever && state != stays:
						t.Errorf("%s: failure, and the files are %s", at, state)
					}
					seen[state]++
					// A later start puts right what could not be.
					b.start()
					b.m.sweep = sweepDead
					if r, err := b.m.Recover(context.Background()); err != nil || len(r.Left) > 0 || r.Waiting > 0 {
						t.Errorf("%s: recovery: %+v, %v", at, r, err)
					}
					want := stays
					if err == nil {
						want = made
					}
					if now := b.judge(before, after); now != want {
						t.Errorf("%s: the files were %s, and after the recovery are %s", at, state, now)
					}
					if left := b.journals(); len(left) != 0 {
						t.Errorf("%s: journals left: %v", at, left)
					}
					try(t, os.RemoveAll(b.root))
					if fired == "" {
						t.Logf("%d calls: %v", n-1, seen)
						return
					}
					if n > 2000 || t.Failed() {
						t.FailNow()
					}
				}
			})
		}
	}
}

// TestApply_EveryCallIsTheLast ends the program with SIGKILL at call 1, 2, 3 …
// of an application and of an undoing; the next start finds all files old or
// all new.
//
// covers: F9 F4
func TestApply_EveryCallIsTheLast(t *testing.T) {
	before, after := states(t)
	program, err := os.Executable()
	try(t, err)
	for _, what := range []string{"apply", "undo"} {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.Half} {
			t.Run(what+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				names := callNames(t, what)
				seen := map[string]int{}
				for n := 1; n <= len(names)+1; n++ {
					if mode == filefault.Half && n <= len(names) && names[n-1] != "write" {
						continue
					}
					b := newScene(t)
					cmd := exec.Command(program, b.root, strconv.Itoa(n), string(mode))
					cmd.Env = append(os.Environ(), childEnv+"="+what)
					out, err := cmd.CombinedOutput()
					exit, killed := errors.AsType[*exec.ExitError](err)
					if err != nil && (!killed || exit.ExitCode() > 0) {
						t.Fatalf("child: %v\n%s", err, out)
					}
					at := fmt.Sprintf("killed at call %d", n)
					seen["at once "+b.judge(before, after)]++
					b.start()
					r, err := b.m.Recover(context.Background())
					if err != nil || len(r.Left) > 0 || r.Waiting > 0 {
						t.Errorf("%s: recovery: %+v, %v", at, r, err)
					}
					state := b.judge(before, after)
					if state == "mixed" {
						t.Errorf("%s: the files are mixed", at)
					}
					seen[state]++
					if left := b.journals(); len(left) != 0 {
						t.Errorf("%s: journals left: %v", at, left)
					}
					try(t, os.RemoveAll(b.root))
				}
				t.Logf("%d calls: %v", len(names), seen)
				if seen["old"] == 0 || seen["new"] == 0 || seen["at once mixed"] == 0 {
					t.Errorf("not every moment was hit: %v", seen)
				}
			})
		}
	}
}

func callNames(t *testing.T, what string) []string {
	t.Helper()
	b := newScene(t)
	try(t, act(b.rig, b.root, what, func() { b.calls.Arm(filefault.Plan{}) }))
	names := b.calls.Names()
	if len(names) < 50 {
		t.Fatalf("only %d calls", len(names))
	}
	return names
}

// What something else wrote after the crash stays, and the bytes from before
// stay to be had.
func TestRecover_LeavesWhatOthersWrote(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x", "b.md": "x", "c.md": "x"})
	set := b.replace("x", "y")
	// A disk that goes away in the middle leaves the journal.
	for n := 60; ; n++ {
		b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Forever, Err: syscall.EIO})
		_, err := b.m.Apply(context.Background(), set.ID, all(set))
		b.calls.Arm(filefault.Plan{})
		if err == nil {
			t.Fatal("no failure was in the middle")
		}
		if b.content("a.md") == "y" && b.content("c.md") == "x" {
			break
		}
		b.start()
		_, err = b.m.Recover(context.Background())
		try(t, err)
		set = b.replace("x", "y")
	}
	b.put("a.md", "other")
	b.start()
	r, err := b.m.Recover(context.Background())
	try(t, err)
	if len(r.Left) != 1 || r.Left[0] != b.path("a.md") || len(r.Kept) != 1 {
		t.Errorf("%+v", r)
	}
	b.want("a.md", "other")
	b.want("b.md", "x")
	b.want("c.md", "x")
	if data, err := os.ReadFile(filepath.Join(r.Kept[0], packName)); err != nil || !strings.Contains(string(data), "x") {
		t.Errorf("%q, %v", data, err)
	}
	// It is said once.
	r, err = b.m.Recover(context.Background())
	if err != nil || len(r.Left) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A set waits until its folder is granted again: the program does not reach
// into folders that nobody opened.
//
// covers: F7
func TestRecover_WaitsForTheGrant(t *testing.T) {
	b := newScene(t)
	program, err := os.Executable()
	try(t, err)
	before, after := states(t)
	names := callNames(t, "apply")
	at := 0
	for i, name := range names {
		if name == "move" {
			at = i + 2
		}
	}
	cmd := exec.Command(program, b.root, strconv.Itoa(at), string(filefault.Before))
	cmd.Env = append(os.Environ(), childEnv+"=apply")
	if err := cmd.Run(); err == nil {
		t.Fatal("the child lives")
	}
	b.grants.Revoke(b.path(""))
	r, err := b.m.Recover(context.Background())
	if err != nil || r.Waiting != 1 || r.TakenBack != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if state := b.judge(before, after); state != "new" {
		t.Errorf("the files are %s", state)
	}
	_, err = b.grants.GrantFolder(b.path(""))
	try(t, err)
	r, err = b.m.Recover(context.Background())
	if err != nil || r.Waiting != 0 || r.TakenBack != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if state := b.judge(before, after); state != "old" {
		t.Errorf("the files are %s", state)
	}
}

// A journal that is damaged harms nobody.
func TestRecover_Damaged(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x"})
	sets := filepath.Join(b.root, "home", "recovery", "sets")
	for name, data := range map[string]string{"one": "", "two": "{", "three": `{"state":"other"}`, "four": `{"state":"done"}`} {
		try(t, os.MkdirAll(filepath.Join(sets, name), 0o700))
		try(t, os.WriteFile(filepath.Join(sets, name, manifestName), []byte(data), 0o600))
	}
	try(t, os.MkdirAll(filepath.Join(sets, "five"), 0o700))
	try(t, os.WriteFile(filepath.Join(sets, "file"), nil, 0o600))
	r, err := b.m.Recover(context.Background())
	if err != nil || r.TakenBack != 0 || len(r.Left) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	b.apply(b.replace("x", "y"))
	b.want("a.md", "y")
}
