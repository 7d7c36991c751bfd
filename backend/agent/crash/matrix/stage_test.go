//go:build crashtest && linux

package matrix

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/api"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

const (
	// patience is how long something is waited for on a busy machine.
	patience = 90 * time.Second
	// endTime is how long a Runner may live after its host.
	endTime = 5 * time.Second

	planText = "# Plan\n\nThe old words stay here.\n"
)

// stage is a home, a folder of documents, and what is started on them.
type stage struct {
	t            *testing.T
	home, folder string
	// once is made by the process that dies; pipe holds one.
	once, pipe string
	env        []string
	// runs are those that there must be in the end.
	runs []core.RunID
}

func newStage(t *testing.T) *stage {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "galley") //nolint:usetesting // a socket's path must be short
	try(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	dir := t.TempDir()
	s := &stage{
		t: t, home: filepath.Join(dir, "home"), folder: filepath.Join(dir, "w"),
		once: filepath.Join(dir, "once"), pipe: filepath.Join(dir, "pipe"),
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + run,
			"LC_ALL=C", "NO_COLOR=1", "GORACE=atexit_sleep_ms=0",
		},
	}
	try(t, os.MkdirAll(s.folder, 0o755))
	s.write("plan.md", planText)
	return s
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) path(name string) string { return filepath.Join(s.folder, name) }

func (s *stage) write(name, text string) {
	s.t.Helper()
	try(s.t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

// read is the content of a file, "-" for none.
func (s *stage) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	try(s.t, err)
	return string(data)
}

// dies has the process named in ("runner", "host") killed at a point, once.
func (s *stage) dies(in, point string) []string {
	return []string{"CRASH_AT=" + point, "CRASH_IN=" + in, "CRASH_ONCE=" + s.once}
}

// holds has a process stand still at a point; see held.
func (s *stage) holds(in, point string) []string {
	s.t.Helper()
	try(s.t, unix.Mkfifo(s.pipe, 0o600))
	try(s.t, unix.Mkfifo(s.pipe+".go", 0o600))
	return []string{"HOLD_AT=" + point, "HOLD_IN=" + in, "HOLD_PIPE=" + s.pipe}
}

// held waits until a process stands at its point. It goes on with release.
func (s *stage) held() (pid int, release func()) {
	s.t.Helper()
	got := make(chan int, 1)
	go func() {
		pid := 0
		if f, err := os.Open(s.pipe); err == nil { // waits for the writer
			_, _ = fmt.Fscan(f, &pid)
			_ = f.Close()
		}
		got <- pid
	}()
	select {
	case pid = <-got:
	case <-time.After(patience):
		s.t.Fatal("no process stood at the point")
	}
	return pid, func() {
		f, err := os.OpenFile(s.pipe+".go", os.O_WRONLY, 0) // waits for the reader
		try(s.t, err)
		try(s.t, f.Close())
	}
}

// died checks that a process was killed at its point and returns its id.
func (s *stage) died(in string) (pid int) {
	s.t.Helper()
	data, err := os.ReadFile(s.once)
	if err != nil {
		s.t.Fatalf("nothing died at the point: %v", err)
	}
	who := ""
	if _, err := fmt.Sscan(string(data), &who, &pid); err != nil || who != in {
		s.t.Fatalf("the %q died, not the %s", data, in)
	}
	s.gone(pid)
	return pid
}

// gone waits for the end of a process that is not our child, and returns how
// long that took.
func (s *stage) gone(pid int) time.Duration {
	s.t.Helper()
	begun := time.Now()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0
	}
	try(s.t, err)
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			_ = unix.Kill(pid, unix.SIGKILL)
			s.t.Fatalf("process %d lives: %v", pid, err)
		}
		return time.Since(begun)
	}
}

func (s *stage) kill(pid int) {
	s.t.Helper()
	try(s.t, unix.Kill(pid, unix.SIGKILL))
	s.gone(pid)
}

// view is a started window with the page that talks to it.
type view struct {
	s    *stage
	cmd  *exec.Cmd
	in   io.WriteCloser
	errs bytes.Buffer
	done chan struct{} // closed at its end
	// deaf is locked while the page reads nothing.
	deaf sync.Mutex

	// mu guards what follows.
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	messages []message
	answers  map[int64]answer
	last     int64
	page     int64
}

// open starts a window on the stage and waits until its folder is open and its
// Runner answers. env are points.
func (s *stage) open(env ...string) *view {
	s.t.Helper()
	w := s.start(env...)
	w.ready(0)
	return w
}

// start is open without waiting for the Runner.
func (s *stage) start(env ...string) *view {
	s.t.Helper()
	w := &view{s: s, cmd: exec.Command(os.Args[0], "window", s.home, s.folder), done: make(chan struct{}), changed: make(chan struct{}), answers: map[int64]answer{}}
	w.cmd.Env = append(append([]string{}, s.env...), env...)
	w.cmd.Stderr = &w.errs
	var err error
	w.in, err = w.cmd.StdinPipe()
	try(s.t, err)
	out, err := w.cmd.StdoutPipe()
	try(s.t, err)
	try(s.t, w.cmd.Start())
	go func() {
		w.listen(out)
		_ = w.cmd.Wait() // its state says it all
		close(w.done)
	}()
	s.t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		<-w.done
		if s.t.Failed() {
			log, _ := os.ReadFile(settings.Home{Dir: s.home}.Log())
			s.t.Logf("window: %s\nlog:\n%s", w.errs.String(), log)
		}
	})
	w.page = ask[api.DocumentsState](w, "Documents.Attach").Page
	w.find("workspace.opened", func(m message) bool { return m.Type == "workspace.opened" })
	return w
}

func (w *view) listen(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		w.deaf.Lock()
		w.deaf.Unlock() //nolint:staticcheck // it only waits
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // what is torn was not said
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		w.mu.Lock()
		if a.Message != nil {
			w.messages = append(w.messages, *a.Message)
		} else {
			w.answers[a.ID] = a
		}
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
	}
}

// until waits for a condition, which is called with mu held. It is false when
// the window ended first.
func (w *view) until(what string, ok func() bool) bool {
	w.s.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for ended := false; ; {
		w.mu.Lock()
		good, changed := ok(), w.changed
		w.mu.Unlock()
		if good || ended {
			return good
		}
		select {
		case <-changed:
		case <-w.done:
			ended = true // it is looked at once more
		case <-late.C:
			w.s.t.Fatalf("never: %s", what)
		}
	}
}

// send begins a call of the page and returns how to wait for its answer, which
// is runner_gone with the code "gone" when the window ended first.
func (w *view) send(method string, args ...any) (wait func() answer) {
	w.s.t.Helper()
	w.mu.Lock()
	w.last++
	r := request{ID: w.last, Method: method, Args: []json.RawMessage{}}
	w.mu.Unlock()
	for _, a := range args {
		data, err := json.Marshal(a)
		try(w.s.t, err)
		r.Args = append(r.Args, data)
	}
	line, err := json.Marshal(r)
	try(w.s.t, err)
	_, _ = w.in.Write(append(line, '\n')) // a window that is gone answers nothing
	return func() answer {
		w.s.t.Helper()
		a := answer{Code: "gone"}
		w.until(method, func() bool {
			got, ok := w.answers[r.ID]
			if ok {
				a = got
			}
			return ok
		})
		return a
	}
}

// ask makes a call that must be answered.
func ask[T any](w *view, method string, args ...any) T {
	w.s.t.Helper()
	a := w.send(method, args...)()
	if a.Code != "" {
		w.s.t.Fatalf("%s: %s", method, a.Code)
	}
	var v T
	if len(a.Result) > 0 {
		try(w.s.t, json.Unmarshal(a.Result, &v))
	}
	return v
}

// find waits for a message.
func (w *view) find(what string, fits func(message) bool) (found message) {
	w.s.t.Helper()
	ok := w.until(what, func() bool {
		for _, m := range w.messages {
			if fits(m) {
				found = m
				return true
			}
		}
		return false
	})
	if !ok {
		w.s.t.Fatalf("%s did not come before the end of the window", what)
	}
	return found
}

// ready waits for a Runner other than the one with this id and returns its id.
func (w *view) ready(than int) (pid int) {
	w.s.t.Helper()
	fits := func(r api.RunnerState) bool { return r.Status == "ready" && r.PID != than && r.PID != 0 }
	if r := ask[api.AgentState](w, "Agent.Attach", 0).Runner; fits(r) {
		return r.PID
	}
	w.find("a Runner", func(m message) bool {
		var r api.RunnerState
		if m.Type != "runner.changed" || json.Unmarshal(m.Payload, &r) != nil || !fits(r) {
			return false
		}
		pid = r.PID
		return true
	})
	return pid
}

// runner waits for a state of the Runner.
func (w *view) runner(status string) (r api.RunnerState) {
	w.s.t.Helper()
	w.find("Runner "+status, func(m message) bool {
		return m.Type == "runner.changed" && json.Unmarshal(m.Payload, &r) == nil && r.Status == status
	})
	return r
}

// asking is a message to the mock.
func asking(command, words string) api.MessageRequest {
	return api.MessageRequest{CommandID: command, Text: words, ProviderID: "mock", Language: "en"}
}

// submit begins a run and notes it.
func (w *view) submit(command, words string) core.RunID {
	w.s.t.Helper()
	return w.s.note(ask[api.RunRef](w, "Agent.SubmitMessage", asking(command, words)))
}

// note keeps a run for the end.
func (s *stage) note(r api.RunRef) core.RunID {
	s.runs = append(s.runs, core.RunID(r.RunID))
	return core.RunID(r.RunID)
}

// event waits for an event of a run.
func event[T any](w *view, run core.RunID, typ core.EventType) (v T) {
	w.s.t.Helper()
	w.find(string(typ), func(m message) bool {
		return m.Type == string(typ) && m.RunID == string(run) && json.Unmarshal(m.Payload, &v) == nil
	})
	return v
}

// asked waits for the question of a run.
func (w *view) asked(run core.RunID) core.Approval {
	w.s.t.Helper()
	return event[core.Approval](w, run, core.EventApprovalAsked)
}

// allow begins to answer a question with yes.
func (w *view) allow(a core.Approval) (wait func() answer) {
	w.s.t.Helper()
	return w.send("Agent.DecideApproval", api.ApprovalRequest{
		CommandID: "allow-" + string(a.ID), ApprovalID: string(a.ID), ToolCallID: string(a.ToolCallID),
		InputDigest: a.InputDigest, Decision: string(core.AllowOnce),
	})
}

// ended waits until a run is final and returns all that is known of it.
func (w *view) ended(run core.RunID) core.RunDetail {
	w.s.t.Helper()
	final := func() (core.RunDetail, bool) {
		d := ask[core.RunDetail](w, "Agent.RunDetail", string(run))
		return d, d.Run.State.Final()
	}
	if d, ok := final(); ok {
		return d
	}
	w.find("the end of the run", func(m message) bool {
		switch core.EventType(m.Type) {
		case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
			return m.RunID == string(run)
		default:
			return false
		}
	})
	d, ok := final()
	if !ok {
		w.s.t.Fatalf("told of the end of a run that is %s", d.Run.State)
	}
	return d
}

// killed waits for the end of a window that dies at its point, and of its
// Runner, which has to see that.
func (w *view) killed(runner int) {
	w.s.t.Helper()
	w.waits()
	if ws, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		w.s.t.Fatalf("the window ended with %v", w.cmd.ProcessState)
	}
	if runner != 0 {
		if took := w.s.gone(runner); took > endTime {
			w.s.t.Errorf("the Runner took %s to see that its host is gone", took)
		}
	}
}

func (w *view) waits() {
	w.s.t.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.s.t.Fatal("the window lives")
	}
}

// quit ends the window in order.
func (w *view) quit() {
	w.s.t.Helper()
	_ = w.in.Close()
	w.waits()
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		w.s.t.Errorf("the window ended with %d: %s", code, w.errs.String())
	}
}

// document opens a document of the folder.
func (w *view) document(name string) api.Document {
	w.s.t.Helper()
	return ask[api.Document](w, "Documents.Open", w.s.path(name))
}

// synced has edits in the mirror, as the page tells of them.
func (w *view) synced(d api.Document, edits []text.Edit) {
	w.s.t.Helper()
	ask[api.SyncResult](w, "Documents.Sync", api.SyncRequest{
		Page: w.page, ID: d.ID, FromVersion: d.Version, Changes: []api.Change{{Edits: edits, Endings: []text.EndingRun{}}},
	})
}

// codeOf checks the code of an answer.
func (w *view) codeOf(a answer, want fault.Code) {
	w.s.t.Helper()
	if a.Code != want {
		w.s.t.Errorf("answered %q, want %q", a.Code, want)
	}
}
