package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

func itoa(n int) string { return strconv.Itoa(n) }

// alive says whether a process exists and is no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// files returns every regular file under a folder with its content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func kill(t *testing.T, pid int, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// kill -9 of the Runner in mid-stream: the state is told, the run is told to be
// interrupted, nothing is missed, and the next rewrite works.
// covers: R2 R5 R10 K8
func TestHost_KilledRunner(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	kill(t, r.PID, unix.SIGKILL)
	again := p.ready(r.PID)
	if again.Restarts != 1 {
		t.Errorf("runner %+v", again)
	}
	p.mu.Lock()
	told := []host.Status{}
	for _, r := range p.runners {
		if len(told) == 0 || told[len(told)-1] != r.Status {
			told = append(told, r.Status)
		}
		if r.Status == host.Stopped && r.Code != fault.RunnerGone {
			t.Errorf("stopped by %s", r.Code)
		}
	}
	p.mu.Unlock()
	if got, want := fmt.Sprint(told), "[starting ready stopped starting ready]"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if end := event[core.RunChanged](p, run, core.EventRunInterrupted); end.Reason != "runner_lost" {
		t.Errorf("end %+v", end)
	}
	if len(p.ActiveRuns()) != 0 {
		t.Errorf("active %+v", p.ActiveRuns())
	}
	next := p.submit(rewrite("c2", s.provider())).RunID
	c = s.next(t)
	c.say("The newer words stay here.")
	c.finish()
	if end := event[core.RunChanged](p, next, core.EventRunSucceeded); end.Outcome != "proposal" {
		t.Errorf("end %+v", end)
	}
	// The same command again is the interrupted run, and starts nothing.
	if res := p.submit(rewrite("c1", s.provider())); res.RunID != run || res.State != core.RunInterrupted {
		t.Errorf("resent: %+v", res)
	}
	p.contiguous()
	if p.resyncs != 0 {
		t.Errorf("%d resyncs", p.resyncs)
	}
}

// kill -9 of the Runner in mid-text: what had come is a message, marked as
// partial; no proposal is made of it (row 5 of the crash matrix).
// covers: R2 R5
func TestHost_KilledRunnerKeepsTheWords(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	// The first words are kept before the next are shown.
	c.say("stay here")
	p.shown(run, "The old words stay")
	kill(t, r.PID, unix.SIGKILL)
	p.ready(r.PID)
	if end := event[core.RunChanged](p, run, core.EventRunInterrupted); end.Reason != "runner_lost" {
		t.Errorf("end %+v", end)
	}
	if want := "run.accepted message.committed run.started model_call.begun model_call.ended message.committed run.interrupted"; p.kinds(run) != want {
		t.Errorf("events %s, want %s", p.kinds(run), want)
	}
	var last core.MessageCommitted
	p.mu.Lock()
	for _, e := range p.events {
		if e.RunID == run && e.Type == core.EventMessageCommitted {
			last = decode[core.MessageCommitted](t, e.Payload)
		}
	}
	p.mu.Unlock()
	if last.Status != "partial" || last.Message.Role != core.RoleAssistant || !strings.HasPrefix(last.Message.Parts[0].Text, "The old words") {
		t.Errorf("last message %+v", last)
	}
	p.contiguous()
}

// A call that waits when its Runner dies fails with runner_gone.
// covers: K6
func TestHost_CallFailsWithTheRunner(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	errs := make(chan error, 1)
	go func() {
		_, err := p.TestProvider(context.Background(), wire.ProviderTestParams{Provider: s.provider(), Model: "m"})
		errs <- err
	}()
	s.next(t)
	kill(t, r.PID, unix.SIGKILL)
	if err := <-errs; fault.CodeOf(err) != fault.RunnerGone {
		t.Errorf("got %v, want runner_gone", err)
	}
}

// A Runner that does not answer a ping is killed and started again.
// covers: R2
func TestHost_HungRunner(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir(), func(c *host.Config) {
		c.PingEvery, c.PingTimeout = 50*time.Millisecond, time.Second
	})
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	s.next(t).say("The old words ")
	p.shown(run, "The old words")
	kill(t, r.PID, unix.SIGSTOP)
	p.ready(r.PID)
	if alive(r.PID) {
		t.Error("the hung Runner lives")
	}
	if end := event[core.RunChanged](p, run, core.EventRunInterrupted); end.State != core.RunInterrupted {
		t.Errorf("end %+v", end)
	}
	p.contiguous()
}

// A database that fails while the Runner lives ends it, and it is not started
// again by itself; what was told before it stays true.
// covers: R2 R5
func TestHost_StoreFailsLater(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	// From here on no file of the Runner can grow.
	if err := unix.Prlimit(r.PID, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: 0}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SubmitRewrite(within(t), rewrite("c2", s.provider())); err == nil {
		t.Error("a run was accepted that could not be stored")
	}
	p.until("failed", func() bool { return p.runners[len(p.runners)-1].Status == host.Failed })
	if r := p.Runner(); r.Code != fault.StoreFailed || r.Restarts != 0 {
		t.Errorf("runner %+v", r)
	}
	<-c.gone // the request was stopped
	if want := "run.accepted message.committed run.started model_call.begun"; p.kinds(run) != want {
		t.Errorf("events %s, want %s", p.kinds(run), want)
	}
	p.Restart()
	p.ready(r.PID)
	event[core.RunChanged](p, run, core.EventRunInterrupted)
	p.contiguous()
}

// A restart that was asked for lets the Runner record.
func TestHost_Restart(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	s.next(t).say("The old words ")
	p.shown(run, "The old words")
	p.Restart()
	p.ready(r.PID)
	event[core.RunChanged](p, run, core.EventRunCancelled)
	p.contiguous()
}

// kill -9 of the host: the Runner sees EOF, cancels, records and ends within
// 5 s. No handle keeps the pipe open.
// covers: R2 R6
func TestRunner_EndsWithItsHost(t *testing.T) {
	s := serve(t)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], "lonely-host", home, s.URL)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := s.next(t)
	c.say("The old words ")
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			kill(t, pid, unix.SIGKILL)
			t.Fatalf("the Runner lives: %d, %v", n, err)
		}
		break
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("the Runner took %s", d)
	}
	_ = cmd.Wait()
	<-c.gone
	db, err := store.Open(within(t), store.Config{Path: filepath.Join(home, "runs.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	state, _, err := db.Snapshot(within(t))
	if err != nil || len(state.Runs) != 1 || state.Runs[0].State != core.RunCancelled {
		t.Errorf("state %+v, %v", state.Runs, err)
	}
	if found, err := db.Recover(within(t)); err != nil || len(found.Runs) != 0 {
		t.Errorf("left to recover: %+v, %v", found, err)
	}
}

// The Runner holds its pipes, its database and nothing of ours; a restart
// leaves nothing open on our side.
// covers: R2
func TestHost_NoHandleLeaks(t *testing.T) {
	own, err := os.Create(filepath.Join(t.TempDir(), "own"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	p := start(t, t.TempDir())
	r := p.ready(0)
	before := handles(t, os.Getpid())
	for range 2 {
		kill(t, r.PID, unix.SIGKILL)
		r = p.ready(r.PID)
	}
	theirs := handles(t, r.PID)
	if _, there := theirs[own.Name()]; there {
		t.Error("the Runner holds a file of ours")
	}
	if n, had := total(handles(t, os.Getpid())), total(before); n > had {
		t.Errorf("%d handles, %d before", n, had)
	}
}

// handles counts what a process has open, by what it is.
func handles(t *testing.T, pid int) map[string]int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]int{}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil {
			open[to]++
		}
	}
	return open
}

func total(m map[string]int) int {
	n := 0
	for _, c := range m {
		n += c
	}
	return n
}

// Nothing but the protocol is on the Runner's standard output, and it ends with
// EOF alone.
// covers: R2
func TestRunner_StdoutIsProtocolOnly(t *testing.T) {
	cmd := exec.Command(os.Args[0], "runner", "--home", t.TempDir())
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"runner.initialize","params":{"protocol":1,"bootNonce":"n"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"runner.initialize","params":{"protocol":9,"bootNonce":"n"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":3,"method":"fs.read","params":{}}`)
	answers := map[int]string{}
	dec := json.NewDecoder(out)
	for range 3 {
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		answers[m.ID] = string(m.Result) + string(m.Error)
	}
	for id, want := range map[int]string{1: `"bootNonce":"n"`, 2: `"invalid_input"`, 3: `-32601`} {
		if !strings.Contains(answers[id], want) {
			t.Errorf("answer %d: %s", id, answers[id])
		}
	}
	_ = in.Close()
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The key goes over the pipe alone.
// covers: K4
func TestHost_KeyIsNowhere(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", plantedKey)
	s := serve(t)
	p := start(t, t.TempDir(), func(c *host.Config) { c.Env = nil }) // as people have it
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	if c.key != "Bearer "+plantedKey {
		t.Errorf("authorised with %q", c.key)
	}
	c.say("The old words " + plantedKey + " stay.") // the provider sends it back
	p.until("shown", func() bool { return strings.Contains(p.texts[run], "The old words") })
	for _, name := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(filepath.Join("/proc", itoa(r.PID), name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "planted") {
			t.Errorf("the key is in %s", name)
		}
	}
	c.finish()
	event[core.RunChanged](p, run, core.EventRunSucceeded)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.Close(ctx)
	for path, content := range files(t, p.home) {
		if strings.Contains(content, plantedKey) {
			t.Errorf("the key is in %s", path)
		}
	}
	if strings.Contains(p.log.String(), plantedKey) {
		t.Error("the key is in the log")
	}
	for _, e := range p.events {
		if strings.Contains(string(e.Payload), plantedKey) {
			t.Errorf("the key is in event %d", e.Seq)
		}
	}
	for _, text := range p.texts {
		if strings.Contains(text, plantedKey) {
			t.Error("the key is in a preview")
		}
	}
}

// The callbacks have everything when Close returns, and nothing is taken in
// after it.
// covers: R2
func TestHost_CloseCancelsAndRecords(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	s.next(t).say("The old words ")
	p.shown(run, "The old words")
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.Close(ctx)
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
	if want := "run.accepted message.committed run.started model_call.begun run.cancelling model_call.ended message.committed run.cancelled"; p.kinds(run) != want {
		t.Errorf("events %s, want %s", p.kinds(run), want)
	}
	if alive(r.PID) {
		t.Error("the Runner lives")
	}
	if _, err := p.SubmitRewrite(context.Background(), rewrite("c2", mock())); fault.CodeOf(err) != fault.RunnerGone {
		t.Errorf("got %v", err)
	}
}
