package proc

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// openFiles maps the descriptors of a process to what they are.
func openFiles(t *testing.T, pid int) map[string]string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil {
			open[fd.Name()] = to
		}
	}
	return open
}

// A second child does not hold the first one's pipes, and no file of ours gets
// into a child: the end of a process is seen as EOF at once.
// covers: R2
func TestStart_NoHandleLeaks(t *testing.T) {
	own, err := os.Create(filepath.Join(t.TempDir(), "own"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	first, _ := shell(t, "cat; echo over") // ends only by EOF
	ours := map[string]bool{own.Name(): true}
	for _, f := range []*os.File{first.Stdin, first.Stdout} {
		to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		ours[to] = true
	}
	second, _ := shell(t, "echo ready; exec cat")
	line(t, second)
	for fd, to := range openFiles(t, second.PID()) {
		if ours[to] {
			t.Errorf("the child holds %s: %s", fd, to)
		}
	}
	_ = first.Stdin.Close()
	if got := line(t, first); got != "over" {
		t.Errorf("got %q", got)
	}
	if err := first.Exit(); err != nil {
		t.Error(err)
	}
}

// Starting and ending children leaves nothing open on our side.
// covers: R2
func TestStart_ClosesOurSide(t *testing.T) {
	cycle := func() {
		c, err := Start(Config{Path: "/bin/true", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Exit()
		_, _ = c.Stdin.Close(), c.Stdout.Close()
		if _, err := Start(Config{Path: "/nonexistent/program", Logger: slog.New(slog.DiscardHandler)}); err == nil {
			t.Fatal("started what is not there")
		}
	}
	cycle() // the runtime opens its poller
	before := len(openFiles(t, os.Getpid()))
	for range 20 {
		cycle()
	}
	if after := len(openFiles(t, os.Getpid())); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

// covers: R2
func TestStop_KillsWhatHangs(t *testing.T) {
	c, _ := shell(t, `kill -STOP $$; cat`, shortGrace)
	if err := unix.Waitid(unix.P_PID, c.PID(), nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	c.Stop(ended())
	killed(t, c)
}

// What a child leaves behind in its group ends with it.
// covers: R2
func TestChild_GroupEndsWithIt(t *testing.T) {
	c, _ := shell(t, `sleep 1000 & echo $!; read x; exit 0`)
	grandchild, err := strconv.Atoi(line(t, c))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(grandchild, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := io.WriteString(c.Stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exit(); err != nil {
		t.Error(err)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			t.Errorf("the grandchild lives: %d, %v", n, err)
		}
		return
	}
}
