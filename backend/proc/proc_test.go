//go:build unix

package proc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// record keeps log lines.
type record struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func (r *record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Len()
}

func shell(t *testing.T, script string, edit ...func(*Config)) (*Child, *record) {
	t.Helper()
	log := &record{}
	cfg := Config{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Logger: slog.New(slog.NewTextHandler(log, nil))}
	for _, e := range edit {
		e(&cfg)
	}
	c, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		_ = c.Exit()
		_, _ = c.Stdin.Close(), c.Stdout.Close()
	})
	return c, log
}

func line(t *testing.T, c *Child) string {
	t.Helper()
	s, err := bufio.NewReader(c.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestStart_PipesAndStderr(t *testing.T) {
	c, log := shell(t, `read x; echo "got $x"; echo "one" >&2; printf 'two\r\nend' >&2; exit 3`)
	if _, err := io.WriteString(c.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if c.ExitCode() != 3 {
		t.Errorf("exit code %d", c.ExitCode())
	}
	// What was written stays readable after the end.
	if out, err := io.ReadAll(c.Stdout); err != nil || string(out) != "got hello\n" {
		t.Errorf("%q, %v", out, err)
	}
	for _, want := range []string{"line=one", "line=two", "line=end"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %s: %s", want, log)
		}
	}
}

func TestStart_PassesOnlyTheGivenEnvironment(t *testing.T) {
	t.Setenv("GALLEY_PLANTED", "sk-planted")
	c, _ := shell(t, "env")
	out, err := io.ReadAll(c.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "sk-planted") {
		t.Errorf("environment leaked: %s", out)
	}
}

func TestStart_NoSuchProgram(t *testing.T) {
	_, err := Start(Config{Path: "/nonexistent/program", Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestStart_LeadsItsOwnGroup(t *testing.T) {
	c, _ := shell(t, "echo ready; exec cat")
	line(t, c)
	if pgid, err := syscall.Getpgid(c.PID()); err != nil || pgid != c.PID() {
		t.Errorf("group %d, %v; want %d", pgid, err, c.PID())
	}
}

func TestStop_WaitsThenTerminates(t *testing.T) {
	c, _ := shell(t, `trap 'echo bye; exit 7' TERM; echo ready; while :; do read x || sleep 0.01; done`)
	line(t, c)
	c.Stop(ended())
	if c.ExitCode() != 7 {
		t.Errorf("exit code %d, want 7", c.ExitCode())
	}
	quick, _ := shell(t, `cat; exit 5`)
	_ = quick.Stdin.Close()
	quick.Stop(context.Background()) // ends by itself
	if quick.ExitCode() != 5 {
		t.Errorf("exit code %d, want 5", quick.ExitCode())
	}
}

// covers: R2
func TestStop_KillsWhatIgnoresTerm(t *testing.T) {
	c, _ := shell(t, `trap '' TERM; echo ready; exec cat`, shortGrace)
	line(t, c)
	c.Stop(ended())
	killed(t, c)
	c.Kill() // later ones do nothing
	c.Stop(ended())
}

func shortGrace(cfg *Config) { cfg.Grace = 50 * time.Millisecond }

func killed(t *testing.T, c *Child) {
	t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](c.Exit())
	if !ok {
		t.Fatalf("ended by %v", c.Exit())
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v", exit)
	}
}

func TestLogLines_CutsLongOnes(t *testing.T) {
	log := &record{}
	logLines(strings.NewReader(strings.Repeat("x", 1<<20)+"\nnext\n"), slog.New(slog.NewTextHandler(log, nil)))
	if n := len(log.String()); n > maxLogLine+500 {
		t.Errorf("logged %d bytes", n)
	}
	if !strings.Contains(log.String(), "line=next") {
		t.Error("the line after it is missing")
	}
}
