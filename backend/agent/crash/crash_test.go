//go:build crashtest

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain makes this binary one that passes a point and says so.
func TestMain(m *testing.M) {
	if os.Getenv("CRASH_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	At("here")
	os.Exit(7)
}

// It dies at the named point, in the named process, and nowhere else.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		name, at, in, arg string
		dies              bool
	}{
		{"no point", "", "", "runner", false},
		{"another point", "there", "", "runner", false},
		{"any process", "here", "", "", true},
		{"the runner", "here", "runner", "runner", true},
		{"the host", "here", "host", "", true},
		{"the other process", "here", "host", "runner", false},
		{"a host asked for the runner", "here", "runner", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			if c.arg != "" {
				cmd.Args = append(cmd.Args, c.arg)
			}
			cmd.Env = []string{"CRASH_TEST_CHILD=1", "CRASH_AT=" + c.at, "CRASH_IN=" + c.in}
			_ = cmd.Run() // its state says it all
			if got := cmd.ProcessState.ExitCode() != 7; got != c.dies {
				t.Errorf("died: %v, want %v (%v)", got, c.dies, cmd.ProcessState)
			}
		})
	}
}

// With a file the point is passed by whoever finds it there.
func TestAt_Once(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	for i, dies := range []bool{true, false} {
		cmd := exec.Command(os.Args[0], "runner")
		cmd.Env = []string{"CRASH_TEST_CHILD=1", "CRASH_AT=here", "CRASH_ONCE=" + once}
		_ = cmd.Run() // its state says it all
		if got := cmd.ProcessState.ExitCode() != 7; got != dies {
			t.Errorf("start %d died: %v, want %v (%v)", i, got, dies, cmd.ProcessState)
		}
		if i > 0 {
			continue
		}
		if b, err := os.ReadFile(once); err != nil || string(b) != fmt.Sprintln("runner", cmd.Process.Pid) {
			t.Errorf("it says %q, %v", b, err)
		}
	}
}
