//go:build unix

package tools

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// deed is one effect whose every call is spoiled.
type deed struct {
	tool string
	in   input
	// old and made are the paths before and after, old empty for a new file.
	old, made string
}

var content = strings.Repeat("a line of the new document\n", 3000)

func deeds() []deed {
	return []deed{
		{tool: core.ToolCreateDocument, in: input{"dir": "Notes", "name": "n.md", "text": content}, made: "Notes/n.md"},
		{tool: core.ToolRenameDocument, in: input{"path": "Notes/a.md", "newName": "b.md"}, old: "Notes/a.md", made: "Notes/b.md"},
	}
}

func (d deed) files() map[string]string {
	return map[string]string{"Notes/a.md": content, "Notes/keep.md": "kept", "m.md": "[x](Notes/a.md)"}
}

// state says where the document stands: old, new or neither. What is neither
// whole nor absent fails the test, and so does any other change.
func (d deed) state(t *testing.T, b *bench, at string, leftovers bool) string {
	t.Helper()
	got := snapshot(t, b.path(""))
	for name := range got {
		if strings.Contains(name, ".galley-") {
			if !leftovers {
				t.Errorf("%s: %s is left", at, name)
			}
			delete(got, name)
		}
	}
	before := map[string]string{"./": "", "Notes/": ""}
	for name, data := range d.files() {
		before[name] = data
	}
	after := map[string]string{d.made: content}
	for name, data := range before {
		if name != d.old {
			after[name] = data
		}
	}
	switch {
	case cmp.Equal(got, before):
		return "old"
	case cmp.Equal(got, after):
		return "new"
	}
	t.Fatalf("%s: %s", at, cmp.Diff(before, got))
	return ""
}

// settle asks what became of the call and sees that nothing of it is left.
func (d deed) settle(t *testing.T, b *bench, at, state string, in core.Intent) {
	t.Helper()
	want := map[string]core.ToolVerdict{"old": core.VerdictAbsent, "new": core.VerdictApplied}[state]
	if got := b.probe(d.tool, in); got != want {
		t.Errorf("%s: the document is %s, the probe says %s", at, state, got)
	}
	left, err := workspace.SweepOn(workspace.OSCalls(), filepath.Join(b.root, "home", "recovery"), func(int) bool { return false })
	try(t, err)
	if len(left) != 0 {
		t.Errorf("%s: the sweep asks for a decision: %+v", at, left)
	}
	if again := d.state(t, b, at, false); again != state {
		t.Errorf("%s: %s became %s", at, state, again)
	}
	entries, err := os.ReadDir(filepath.Join(b.root, "home", "recovery"))
	if err != nil && !gone(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s: %s is left in the recovery folder", at, e.Name())
	}
}

// callsOf does the deed without a fault and returns the names of its calls;
// open says that a document is open.
func (d deed) callsOf(t *testing.T, open bool) []string {
	t.Helper()
	b := newBench(t, d.files())
	b.begin("")
	if open {
		b.begin(b.open("Notes/a.md").ID)
	}
	p, err := b.exec.Prepare(t.Context(), b.prepare(d.tool, d.in))
	try(t, err)
	b.calls.Arm(filefault.Plan{})
	r, err := b.execute(t.Context(), d.tool, d.in, p)
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	names := b.calls.Names()
	if !slices.Contains(names, "move") {
		t.Fatalf("%v", names)
	}
	return names
}

// TestWrite_EveryCallFails makes call 1, 2, 3 … of a creation and of a renaming
// fail, in each way a call can: the document is there whole or not at all,
// nothing else changes, and what is told is so.
//
// covers: F4 R6 T6
func TestWrite_EveryCallFails(t *testing.T) {
	for _, d := range deeds() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.After, filefault.Half, filefault.Forever} {
			t.Run(fmt.Sprintf("%s/%s", d.tool, mode), func(t *testing.T) {
				t.Parallel()
				calls := d.callsOf(t, true)
				unknown := 0
				for n := 1; n <= len(calls); n++ {
					if mode == filefault.Half && calls[n-1] != "write" {
						continue
					}
					unknown += d.failOnce(t, n, mode)
				}
				// Where a single call fails, a look tells the truth.
				if mode != filefault.Forever && unknown > 0 {
					t.Errorf("%d times nobody knew", unknown)
				}
			})
		}
	}
}

func (d deed) failOnce(t *testing.T, n int, mode filefault.Mode) (unknown int) {
	t.Helper()
	b := newBench(t, d.files())
	doc := b.open("Notes/a.md")
	b.begin(doc.ID)
	p, err := b.exec.Prepare(t.Context(), b.prepare(d.tool, d.in))
	try(t, err)
	req := b.request(d.tool, d.in, p)
	b.calls.Arm(filefault.Plan{At: n, Mode: mode, Err: syscall.EIO})
	r, err := b.exec.Execute(t.Context(), req)
	fired := b.calls.Fired()
	b.calls.Arm(filefault.Plan{})
	at := fmt.Sprintf("call %d (%s)", n, fired)
	if fired == "" {
		t.Errorf("%s: nothing went wrong", at)
	}
	state := d.state(t, b, at, mode == filefault.Forever || fired == "remove")
	switch {
	case err != nil:
		unknown = 1
	case r.IsError && state != "old", !r.IsError && state != "new":
		t.Errorf("%s: the document is %s, the result says %+v", at, state, r)
	case r.IsError && (r.Text == "" || strings.Contains(r.Text, b.root)):
		t.Errorf("%s: %q", at, r.Text)
	}
	info, err := b.docs.Info(doc.ID)
	try(t, err)
	if want := map[string]string{"old": d.old, "new": d.made}[state]; d.old != "" && unknown == 0 && info.Path != b.path(want) {
		t.Errorf("%s: the open document is at %s, its file is %s", at, info.Path, state)
	}
	d.settle(t, b, at, state, req.Intent)
	return unknown
}

// childEnv makes the test program do one deed and be killed in it.
const childEnv = "GALLEY_TOOLS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := child(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does a deed in root; its call n is its last.
func child(root, tool, n, mode string) error {
	at, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	calls := filefault.New(workspace.OSCalls())
	g := workspace.NewGrantsOn(calls)
	if _, err := g.GrantFolder(filepath.Join(root, "w")); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	docs, err := document.New(document.Config{Grants: g, Home: filepath.Join(root, "home"), Log: log})
	if err != nil {
		return err
	}
	e, err := New(Config{Grants: g, Documents: docs, Home: filepath.Join(root, "home"), Log: log})
	if err != nil {
		return err
	}
	for _, d := range deeds() {
		if d.tool != tool {
			continue
		}
		b := &bench{t: &testing.T{}, root: root, exec: e, cmd: "cmd", n: 1}
		e.Begin(b.cmd, Scope{Workspace: filepath.Join(root, "w")})
		p, err := e.Prepare(context.Background(), b.prepare(d.tool, d.in))
		if err != nil {
			return err
		}
		req := b.request(d.tool, d.in, p)
		calls.Arm(filefault.Plan{At: at, Mode: filefault.Mode(mode), Err: syscall.EIO, Die: func() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}})
		r, err := e.Execute(context.Background(), req)
		if err == nil && r.IsError {
			err = &fault.Error{Code: r.Code, Detail: r.Text}
		}
		return err
	}
	return fmt.Errorf("no tool %s", tool)
}

// TestWrite_KilledAtEveryCall kills the process at call 1, 2, 3 …: the document
// is there whole or not at all, and the next start finds out which.
//
// covers: F4 R6 R13
func TestWrite_KilledAtEveryCall(t *testing.T) {
	for _, d := range deeds() {
		for _, mode := range []filefault.Mode{filefault.Before, filefault.After, filefault.Half} {
			t.Run(fmt.Sprintf("%s/%s", d.tool, mode), func(t *testing.T) {
				t.Parallel()
				seen := map[string]int{}
				calls := d.callsOf(t, false)
				// Before that nothing was touched.
				first := slices.IndexFunc(calls, func(name string) bool { return name == "mkdir" || name == "move" })
				for n := max(first-1, 1); n <= len(calls); n++ {
					if mode == filefault.Half && calls[n-1] != "write" {
						continue
					}
					b := newBench(t, d.files())
					cmd := exec.Command(os.Args[0], b.root, d.tool, strconv.Itoa(n), string(mode))
					cmd.Env = append(os.Environ(), childEnv+"=1")
					out, _ := cmd.CombinedOutput() // its state says it all
					if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
						t.Fatalf("call %d (%s) is not its last: %v: %s", n, calls[n-1], cmd.ProcessState, out)
					}
					at := fmt.Sprintf("killed at call %d (%s)", n, calls[n-1])
					state := d.state(t, b, at, true)
					seen[state]++
					b.start(Config{})
					b.n = 1
					p := core.Prepared{Target: b.path(d.made), PostDigest: digestOf([]byte(content))}
					if d.old != "" {
						p.Source, p.PreDigest = b.path(d.old), p.PostDigest
					}
					d.settle(t, b, at, state, b.request(d.tool, d.in, p).Intent)
				}
				if mode != filefault.Half && (seen["old"] == 0 || seen["new"] == 0) {
					t.Errorf("%v", seen)
				}
			})
		}
	}
}

// A folder that takes no file, and a disk that is full, are told as they are.
//
// covers: T6
func TestCreateDocument_DiskSaysNo(t *testing.T) {
	for cause, want := range map[syscall.Errno]fault.Code{syscall.ENOSPC: fault.DiskFull, syscall.EROFS: fault.ReadOnly, syscall.EACCES: fault.ReadOnly} {
		b := newBench(t, nil)
		b.begin("")
		in := input{"dir": "", "name": "n.md", "text": "x"}
		p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, in))
		try(t, err)
		b.calls.Watch(nil)
		plan := 0
		b.calls.Arm(filefault.Plan{})
		if _, err := b.execute(t.Context(), core.ToolCreateDocument, in, p); err != nil {
			t.Fatal(err)
		}
		names := b.calls.Names()
		plan = slices.Index(names, "move") + 1
		try(t, os.Remove(b.path("n.md")))
		b.calls.Arm(filefault.Plan{At: plan, Mode: filefault.Before, Err: cause})
		r, err := b.execute(t.Context(), core.ToolCreateDocument, in, p)
		b.calls.Arm(filefault.Plan{})
		if err != nil || r.Code != want || strings.Contains(r.Text, b.root) {
			t.Errorf("%v: %+v, %v", cause, r, err)
		}
	}
}

// A name that may not outlast a loss of power is there all the same, and that
// is said.
func TestCreateDocument_NotDurable(t *testing.T) {
	b := newBench(t, nil)
	b.begin("")
	in := input{"dir": "", "name": "n.md", "text": "x"}
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, in))
	try(t, err)
	syncs := 0
	b.calls.Watch(func(name string) {
		if name == "sync folder" {
			syncs++
		}
	})
	_, err = b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, in))
	try(t, err)
	b.calls.Arm(filefault.Plan{})
	r, err := b.execute(t.Context(), core.ToolCreateDocument, in, p)
	try(t, err)
	at := slices.Index(b.calls.Names(), "sync folder") + 1
	if r.IsError || syncs != 1 || at == 0 {
		t.Fatalf("%+v, %d syncs", r, syncs)
	}
	try(t, os.Remove(b.path("n.md")))
	b.calls.Arm(filefault.Plan{At: at, Mode: filefault.Before, Err: syscall.EIO})
	r, err = b.execute(t.Context(), core.ToolCreateDocument, in, p)
	b.calls.Arm(filefault.Plan{})
	if err != nil || r.IsError || b.read("n.md") != "x" {
		t.Errorf("%+v, %v", r, err)
	}
	b.holding(r, "did not confirm")
}
