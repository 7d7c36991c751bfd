//go:build soak

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/settings"
)

// soaked is called before anything else of this binary: it makes a Runner and a
// holder tell how many goroutines they have, and is the holder.
func soaked() {
	if len(os.Args) < 3 || os.Args[1] != "runner" && os.Args[1] != "soak-hold" {
		return
	}
	home := os.Args[len(os.Args)-1]
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGUSR1)
	go func() {
		for range asked {
			at := countFile(home, os.Getpid())
			if os.WriteFile(at+".new", []byte(strconv.Itoa(runtime.NumGoroutine())), 0o600) == nil {
				_ = os.Rename(at+".new", at) // whoever asked sees that nothing came
			}
		}
	}()
	if os.Args[1] == "soak-hold" {
		if err := soakHold(settings.Home{Dir: home}); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func countFile(home string, pid int) string {
	return filepath.Join(home, "logs", fmt.Sprintf("goroutines.%d", pid))
}

// soakHold stands in for a window, and for a person who starts the assistant
// again whenever it has stopped: so many kills in a row are given up otherwise.
func soakHold(home settings.Home) error {
	a, err := newAgent(home, wire.ClientWindow)
	if err != nil {
		return err
	}
	states := a.host.Subscribe()
	a.host.Start()
	if err := a.ready(context.Background()); err != nil {
		return err
	}
	fmt.Println("holds", a.host.Runner().Status)
	over := make(chan struct{})
	var person sync.WaitGroup
	person.Go(func() {
		for {
			select {
			case <-states.RunnerChanged():
			case <-over:
				return
			}
			if s := a.host.Runner().Status; s == host.Stopped || s == host.Failed {
				a.host.Restart()
			}
		}
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(over)
	person.Wait()
	states.Close()
	a.close(leaveTime)
	return nil
}

// sample is what a process takes at a moment.
type sample struct {
	rssKB, fds, goroutines int
}

// look samples a process. Goroutines are counted by the process itself; only
// one that serves may be asked.
func look(home string, pid int, goroutines bool) (sample, error) {
	var s sample
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			s.rssKB, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return s, err
	}
	s.fds = len(fds)
	if !goroutines {
		return s, nil
	}
	at := countFile(home, pid)
	_ = os.Remove(at) // of an earlier look
	if err := unix.Kill(pid, unix.SIGUSR1); err != nil {
		return s, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		<-tick.C
		if b, err := os.ReadFile(at); err == nil {
			s.goroutines, err = strconv.Atoi(string(b))
			return s, err
		}
	}
	return s, errors.New("the process does not tell")
}

// isRunner says whether a process is the Runner of a home.
func isRunner(home string, pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(b), "\x00")
	return err == nil && slices.Contains(args, "runner") && slices.Contains(args, home)
}

// series are the samples of one process over a time.
type series struct {
	mu  sync.Mutex
	all []sample
}

func (s *series) add(v sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, v)
}

// The rule: memory is flat when the median of the last third of a time lies no
// more than a quarter and slackKB above that of its first third; what is open,
// and goroutines, when nothing runs, no more than slack above what it was when
// nothing had run for the first time.
const (
	slackKB    = 8 << 10
	slackCount = 8
)

// flat judges the memory of a time.
func (s *series) flat() (words string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.all) / 3
	if n == 0 {
		return fmt.Sprintf("only %d samples", len(s.all)), false
	}
	rss := func(part []sample) int {
		var all []int
		for _, v := range part {
			all = append(all, v.rssKB)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	first, last := rss(s.all[:n]), rss(s.all[len(s.all)-n:])
	return fmt.Sprintf("median RSS of the first third %d kB, of the last %d kB, %d samples", first, last, len(s.all)),
		last <= first*5/4+slackKB
}

// watch samples a process until stop is closed.
func (s *series) watch(t *testing.T, home string, pid func() int, stop <-chan struct{}) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if v, err := look(home, pid(), false); err == nil {
			s.add(v)
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Log(err)
		}
	}
}
