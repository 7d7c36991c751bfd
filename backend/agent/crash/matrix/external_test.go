//go:build crashtest && linux

package matrix

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"galley/backend/agent/core"
	"galley/backend/settings"
)

// externalRows are rows 17, 26 and 27: children of the Runner, and the host's
// own end.
func externalRows() []row {
	return []row{
		{"17", "call sent to a server of tools", "runner", "interrupted(runner_lost), mcp_remember unknown(runner_lost)" + allowed, callSent},
		{"26", "streaming, App killed", "host", "cancelled, request failed(cancelled), words partial", hostGone},
		{"26", "children of the Runner, App killed", "host", "supervisor, child and grandchild gone within 5 s", childrenGone},
		{"27", "external agent killed", "agent", "failed(agent_crashed), mcp_remember failed(agent_crashed)" + allowed, agentKilled},
	}
}

// kept is a started keeper.
type kept struct {
	s    *stage
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *bufio.Reader
}

func (s *stage) keeper(what string, env ...string) *kept {
	s.t.Helper()
	try(s.t, settings.Home{Dir: s.home}.Make())
	k := &kept{s: s, cmd: exec.Command(os.Args[0], "keeper", what, s.home)}
	k.cmd.Env = append(append([]string{}, s.env...), env...)
	k.cmd.Stderr = os.Stderr
	var err error
	k.in, err = k.cmd.StdinPipe()
	try(s.t, err)
	out, err := k.cmd.StdoutPipe()
	try(s.t, err)
	try(s.t, k.cmd.Start())
	k.said = bufio.NewReader(out)
	s.t.Cleanup(func() {
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait() // it may have been waited for
	})
	return k
}

// says reads a line that begins with a word.
func (k *kept) says(word string, v ...any) {
	k.s.t.Helper()
	line, err := k.said.ReadString('\n')
	try(k.s.t, err)
	if _, err := fmt.Sscan(line, append([]any{new(string)}, v...)...); err != nil || line[:len(word)] != word {
		k.s.t.Fatalf("the keeper said %q, not %s: %v", line, word, err)
	}
}

// ends waits for the end and returns how it was.
func (k *kept) ends() syscall.WaitStatus {
	k.s.t.Helper()
	late := time.AfterFunc(patience, func() { _ = k.cmd.Process.Kill() })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, k.said)
	_ = k.cmd.Wait() // its state says it all
	ws, _ := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws
}

// callSent is row 17.
func callSent(s *stage) string {
	k := s.keeper("call", s.dies("host", "call_sent")...)
	var run core.RunID
	server := 0
	k.says("run", &run, &server)
	if ws := k.ends(); ws.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the keeper ended with %v", k.cmd.ProcessState)
	}
	s.died("host")
	s.gone(server) // it reads the end of its pipe
	s.runs = append(s.runs, run)
	w := s.open()
	d := w.ended(run)
	tellsTheModel(s, w, d)
	if data, err := os.ReadFile(filepath.Join(s.home, "remembered")); err != nil || string(data) != "call\n" {
		s.t.Errorf("the server got %q, %v", data, err)
	}
	return s.finish(w, d)
}

// agentKilled is row 27.
func agentKilled(s *stage) string {
	k := s.keeper("agent")
	var run core.RunID
	agent := 0
	k.says("run", &run, &agent)
	s.kill(agent)
	if ws := k.ends(); !ws.Exited() || ws.ExitStatus() != 0 {
		s.t.Fatalf("the keeper ended with %v", k.cmd.ProcessState)
	}
	s.runs = append(s.runs, run)
	w := s.open()
	d := w.ended(run)
	s.is("plan.md", planText)
	if left := s.files(filepath.Join(s.home, "staging")); len(left) > 0 {
		s.t.Errorf("%v is left of the staging folder", left)
	}
	return s.finish(w, d)
}

// hostGone is row 26: the Runner sees the end of its host, stops, records and
// goes, and nothing is left to recover.
func hostGone(s *stage) string {
	w := s.open()
	runner := w.ready(0)
	req := asking("c1", "Hello.")
	req.Model = "mock-slow"
	run := s.note(decodeRef(w, req))
	w.find("words", func(m message) bool { return m.Type == "preview" && m.RunID == string(run) })
	try(s.t, w.cmd.Process.Kill())
	w.killed(runner)
	if got := s.rowsOf("SELECT state FROM runs"); len(got) != 1 || got[0] != string(core.RunCancelled) {
		s.t.Errorf("when the Runner had gone the runs were %v", got)
	}
	w = s.open()
	return s.finish(w, w.ended(run))
}

// childrenGone is row 26 for the children that a Runner will have.
func childrenGone(s *stage) string {
	k := s.keeper("host")
	supervisor, leaf := 0, 0
	k.says("supervisor", &supervisor)
	k.says("leaf", &leaf)
	group := parentOf(s, leaf)
	begun := time.Now()
	try(s.t, k.cmd.Process.Kill())
	for _, pid := range []int{supervisor, group, leaf} {
		s.gone(pid)
	}
	if took := time.Since(begun); took > endTime {
		return fmt.Sprintf("gone after %s", took)
	}
	return "supervisor, child and grandchild gone within 5 s"
}

// parentOf returns the parent of a process.
func parentOf(s *stage, pid int) (parent int) {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	try(s.t, err)
	if _, err := fmt.Sscanf(field(string(data), "PPid:"), "%d", &parent); err != nil || parent < 2 {
		s.t.Fatalf("process %d has the parent %d: %v", pid, parent, err)
	}
	return parent
}
