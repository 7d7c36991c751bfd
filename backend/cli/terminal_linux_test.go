package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
)

// terminal starts the program on a terminal of its own and returns the other end
// of that.
func (p *place) terminal(args ...string) (*program, *os.File) {
	p.t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	try(p.t, err)
	p.t.Cleanup(func() { _ = far.Close() })
	try(p.t, unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	try(p.t, err)
	near, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	try(p.t, err)
	q := &program{t: p.t, cmd: exec.Command(os.Args[0], args...), out: newOutput()}
	q.err = q.out
	q.cmd.Stdin, q.cmd.Stdout, q.cmd.Stderr = near, near, near
	q.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	try(p.t, q.cmd.Start())
	_ = near.Close() // the program has it
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := far.Read(b)
			_, _ = q.out.Write(b[:n])
			if err != nil {
				return // the program has ended
			}
		}
	}()
	p.t.Cleanup(func() {
		_ = q.cmd.Process.Kill()
		_ = q.cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("%s\n%s", strings.Join(args, " "), q.out)
		}
	})
	return q, far
}

func key(t *testing.T, f *os.File, keys string) {
	t.Helper()
	_, err := f.WriteString(keys)
	try(t, err)
}

// covers: H2 T4 T5 X4
func TestTerminal_AsksBeforeADocumentIsMade(t *testing.T) {
	p := newPlace(t)
	// What is typed before anything is asked is no answer.
	q, keys := p.terminal("run", "--provider", "mock", p.folder, create("yes.md", "# Yes\n\nhid\u202eden \x1b[2J\n"))
	key(t, keys, "y\n")
	q.says(q.out, "Create yes.md, ")
	q.says(q.out, "[y] create   [n] deny   [a] show all > ")
	if p.has("yes.md") {
		t.Fatal("made before it was allowed")
	}
	for _, want := range []string{"hid<U+202E>den <U+001B>[2J", "characters that cannot be seen"} {
		if !strings.Contains(q.out.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	key(t, keys, "perhaps\n") // no answer either
	key(t, keys, "y\n")
	if code := q.ends(); code != exitOK || !p.has("yes.md") {
		t.Errorf("ended with %d", code)
	}
	q.says(q.out, "Created yes.md")

	q, keys = p.terminal("run", "--provider", "mock", p.folder, create("no.md", "x"))
	q.says(q.out, "show all > ")
	key(t, keys, "n\n")
	if code := q.ends(); code != exitOK || p.has("no.md") {
		t.Errorf("ended with %d", code)
	}
	if _, d, _ := p.shown(); d.Calls[0].State != core.CallFailed || d.Calls[0].Reason != "permission_denied" {
		t.Errorf("call %+v", d.Calls[0])
	}
}

// A reading tool that the person wants to be asked about can be allowed for the
// session; one that writes cannot.
//
// covers: T4
func TestTerminal_AllowsReadsForTheSession(t *testing.T) {
	p := newPlace(t)
	try(t, os.WriteFile(p.home+"/settings.json", []byte(`{"permissions":{"workspaceRead":"confirm","notesWrite":"confirm"}}`), 0o600))
	q, keys := p.terminal("run", "--provider", "mock", p.folder, `/tool readDocument {"path":"plan.md"}`)
	q.says(q.out, "Read plan.md")
	q.says(q.out, "[s] allow for this session")
	key(t, keys, "s\n")
	if code := q.ends(); code != exitOK {
		t.Fatalf("ended with %d", code)
	}
	_, d, _ := p.shown()
	if d.Approvals[0].State != core.ApprovalAllowedSession {
		t.Errorf("approval %+v", d.Approvals[0])
	}
	// Nobody needs to be asked again in that session.
	all := lines(t, p.do(exitOK, "run", "--json", "--provider", "mock", "--session", string(d.Session.ID), p.folder, `/tool readDocument {"path":"plan.md"}`))
	for _, l := range all {
		if l.Type == "approval.refused" {
			t.Error("asked again")
		}
	}
	q, keys = p.terminal("run", "--provider", "mock", p.folder, create("a.md", "x"))
	q.says(q.out, "Create a.md")
	key(t, keys, "s\n")
	q.says(q.out, "> s")
	key(t, keys, "n\n")
	if code := q.ends(); code != exitOK || p.has("a.md") || strings.Contains(q.out.String(), "for this session") {
		t.Errorf("ended with %d", code)
	}
}

// Ctrl+C on the terminal stops the run, not the Runner; twice ends at once.
//
// covers: H2 R7
func TestTerminal_CtrlC(t *testing.T) {
	p := newPlace(t)
	asked := p.endless()
	q, keys := p.terminal("run", "--provider", "endless", p.folder, "tell me")
	<-asked
	q.says(q.out, "Some words of an answer.")
	key(t, keys, "\x03")
	q.says(q.out, "The wish to stop is recorded")
	q.says(q.out, "Stopped.")
	if code := q.ends(); code != exitCancelled {
		t.Errorf("ended with %d", code)
	}
	if _, d, _ := p.shown(); d.Run.State != core.RunCancelled {
		t.Errorf("run %+v", d.Run)
	}
}

// Killed while it asks: nothing was made, the question is still to be read and
// counts as no consent.
//
// covers: H2 R6 R13
func TestTerminal_KilledWhileItAsks(t *testing.T) {
	p := newPlace(t)
	q, _ := p.terminal("run", "--provider", "mock", p.folder, create("new.md", "x"))
	q.says(q.out, "show all > ")
	q.signal(syscall.SIGKILL)
	q.ends()
	_, d, words := p.shown()
	if !d.Run.State.Final() || d.Run.State == core.RunSucceeded || p.has("new.md") {
		t.Errorf("run %+v", d.Run)
	}
	if c := d.Calls[0]; c.State != core.CallCancelled {
		t.Errorf("call %+v", c)
	}
	if a := d.Approvals[0]; a.State != core.ApprovalExpired && a.State != core.ApprovalCancelled {
		t.Errorf("approval %+v", a)
	}
	b, _ := json.Marshal(d.Approvals[0].Summary)
	if !strings.Contains(string(b), "new.md") || !strings.Contains(words, "Create new.md") {
		t.Errorf("the question is gone: %s\n%s", b, words)
	}
}
