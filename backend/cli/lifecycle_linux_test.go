package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
)

// children are the processes that a process started.
func children(t *testing.T, pid int) (all []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	try(t, err)
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			continue // that thread has ended
		}
		for _, word := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(word)
			try(t, err)
			all = append(all, n)
		}
	}
	return all
}

// Quitting while a person is asked: the run is cancelled and recorded, the
// question is no consent, nothing is written, and no process is left. While it
// ran, the Runner held its pipes and its database and nothing else: no folder
// that was opened, no lock, no socket.
//
// covers: R2 R7
func TestHold_QuitWhileAsked(t *testing.T) {
	p := newPlace(t)
	window := p.holder()
	q := p.start("run", "--provider", "mock", p.folder, create("new.md", "text\n"))
	q.says(q.err, "Waiting for an answer in the window: Create new.md")
	runners := children(t, window.cmd.Process.Pid)
	if len(runners) != 1 {
		t.Fatalf("children %v", runners)
	}
	dir := fmt.Sprintf("/proc/%d/fd", runners[0])
	fds, err := os.ReadDir(dir)
	try(t, err)
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		switch {
		case strings.HasPrefix(to, "pipe:"), strings.HasPrefix(to, "anon_inode:"), to == os.DevNull:
		case strings.HasPrefix(to, filepath.Join(p.home, "runs.db")):
		case strings.HasPrefix(to, "/sys/fs/cgroup/"): // Go's runtime reads its share of the processors
		default:
			t.Errorf("the Runner holds %s", to)
		}
	}

	begun := time.Now()
	try(t, window.in.Close())
	if code := window.ends(); code != 0 {
		t.Errorf("the window ended with %d", code)
	}
	if d := time.Since(begun); d > leaveTime+2*time.Second {
		t.Errorf("quitting took %s", d)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", runners[0])); err == nil {
		t.Error("the Runner lives")
	}
	if code := q.ends(); code != exitCancelled {
		t.Errorf("the command ended with %d", code)
	}
	_, d, _ := p.shown()
	if d.Run.State != core.RunCancelled || len(d.Calls) != 1 || d.Calls[0].State != core.CallCancelled ||
		len(d.Approvals) != 1 || d.Approvals[0].State != core.ApprovalCancelled {
		t.Errorf("detail %+v", d)
	}
	if p.has("new.md") {
		t.Error("the document was made")
	}
}
