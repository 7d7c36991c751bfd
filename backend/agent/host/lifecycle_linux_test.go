package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
)

// A Runner that is killed while something that left its group holds its pipes
// is seen to be gone at once, not only when it answers no ping.
// covers: R2
func TestHost_WhatLeavesTheGroupHoldsNothingUp(t *testing.T) {
	home := t.TempDir()
	note := filepath.Join(home, "escaped")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, home, func(c *host.Config) {
		c.Command = []string{"/bin/sh", "-c", fmt.Sprintf(
			`[ -e %[1]q ] || { setsid sleep 1000 & echo $! > %[1]q; }; exec %[2]q runner --home %[3]q`, note, exe, home)}
		// A ping would take this long to tell.
		c.PingEvery, c.PingTimeout = 10*time.Minute, 10*time.Minute
	})
	r := p.ready(0)
	kill(t, r.PID, unix.SIGKILL)
	again := p.ready(r.PID)
	if again.Restarts != 1 {
		t.Errorf("runner %+v", again)
	}
	b, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, escaped, unix.SIGKILL) // it lives: that is the limit
}

// The clock on the wall jumps, as after sleep: the Runner is told and looked at,
// what runs goes on, and neither is started anew.
// covers: R2
func TestHost_ClockJumps(t *testing.T) {
	var ahead atomic.Int64
	s := serve(t)
	p := start(t, t.TempDir(), func(c *host.Config) {
		c.PingEvery = 20 * time.Millisecond
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	r := p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	for i, jump := range []time.Duration{2 * time.Hour, 26 * time.Hour, -30 * time.Hour} {
		ahead.Add(int64(jump))
		if jump > 0 {
			// Both processes say so: the host, and the Runner through it.
			for strings.Count(p.log.String(), "the machine slept") < 2*(i+1) {
				time.AfterFunc(10*time.Millisecond, func() { p.change(func() {}) })
				p.mu.Lock()
				changed := p.changed
				p.mu.Unlock()
				<-changed
			}
		}
		c.say("stay ")
	}
	p.shown(run, "The old words stay stay")
	c.say("here.")
	c.finish()
	if end := event[core.RunChanged](p, run, core.EventRunSucceeded); end.Outcome == "" {
		t.Errorf("end %+v", end)
	}
	if now := p.Runner(); now.PID != r.PID || now.Restarts != 0 || now.Status != host.Ready {
		t.Errorf("runner %+v", now)
	}
	p.contiguous()
}
