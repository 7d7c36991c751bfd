// Package proc owns child processes: how one is started, how its pipes and its
// stderr are treated, how it is asked to end and is made to, and that nothing
// of it is left. It knows no protocol.
//
// A child leads a process group of its own, so that a signal from the terminal
// does not reach it and its own children end with it. Its standard input and
// output are pipes whose ends on our side are close-on-exec: no other child
// keeps them open, so that the end of either process is seen by the other as
// EOF. For that reason no parent-death signal is set: a child of ours that
// loses its parent reads EOF, records what it was doing and goes, and a signal
// would take that from it.
//
// The limit: what leaves the group (setsid) is not reached. It outlives the
// child and can neither hold up its end nor, by what it writes, fill the log;
// the one child that there is, the Runner, starts nothing.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"
)

// The defaults and limits.
const (
	defaultGrace = 2 * time.Second
	// drainTime is how long stderr may stay open after the end, by a
	// grandchild that left the group.
	drainTime = time.Second
	// maxLogLine is the longest part of a line of stderr that is logged.
	maxLogLine = 8 << 10
	// maxLogBytes is how much of stderr is logged in each logTime; perLine is
	// what a line takes in a log besides its text, about.
	maxLogBytes = 256 << 10
	perLine     = 100
	logTime     = time.Minute
)

// Config says what to start. Path and Logger are needed.
type Config struct {
	// Path is the program, absolute.
	Path string
	// Args are the arguments without the program's name.
	Args []string
	// Env is the whole environment; nothing of ours is added.
	Env []string
	// Dir is the working folder; empty means ours.
	Dir string
	// Logger takes each line of the child's stderr.
	Logger *slog.Logger
	// Grace is the time between TERM and KILL; 0 means 2 s.
	Grace time.Duration
}

// Child is a started process. Its methods may be called from any goroutine.
type Child struct {
	// Stdin is closed by whoever writes to it. It ends a blocked Write.
	Stdin *os.File
	// Stdout stays readable after the child has ended, up to EOF. It is closed
	// by whoever reads it, which ends a blocked Read.
	Stdout *os.File

	cmd   *exec.Cmd
	grace time.Duration
	wg    sync.WaitGroup // the reader of stderr
	done  chan struct{}
	err   error // set before done is closed

	// mu guards reaped, and is held while a signal is sent: once the child is
	// reaped its id may be another's.
	mu     sync.Mutex
	reaped bool
}

// Start starts a child. The caller owns Stdin and Stdout and has to see to it
// that Stop is called or the child ends by itself.
func Start(cfg Config) (*Child, error) {
	var files [6]*os.File
	fail := func(err error) (*Child, error) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, fmt.Errorf("start %s: %w", cfg.Path, err)
	}
	for i := 0; i < len(files); i += 2 {
		r, w, err := os.Pipe() // close-on-exec
		if err != nil {
			return fail(err)
		}
		files[i], files[i+1] = r, w
	}
	inR, inW, outR, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]

	cmd := &exec.Cmd{
		Path: cfg.Path, Args: append([]string{cfg.Path}, cfg.Args...),
		Env: append([]string{}, cfg.Env...), Dir: cfg.Dir,
		Stdin: inR, Stdout: outW, Stderr: errW,
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	_, _, _ = inR.Close(), outW.Close(), errW.Close()

	c := &Child{Stdin: inW, Stdout: outR, cmd: cmd, grace: cfg.Grace, done: make(chan struct{})}
	if c.grace == 0 {
		c.grace = defaultGrace
	}
	log := cfg.Logger.With("pid", cmd.Process.Pid)
	c.wg.Go(func() { logLines(errR, log) })
	var reaper sync.WaitGroup
	reaper.Go(func() { c.reap(errR) })
	return c, nil
}

// reap waits for the end, kills what the child left in its group and closes
// done.
func (c *Child) reap(stderr *os.File) {
	peeked := awaitExit(c.cmd.Process.Pid)
	if !peeked {
		c.err = c.cmd.Wait()
	}
	c.mu.Lock()
	// An error means that nothing is left.
	_ = signalGroup(c.cmd.Process, os.Kill)
	if peeked {
		c.err = c.cmd.Wait()
	}
	c.reaped = true
	c.mu.Unlock()
	// A grandchild that left the group may hold stderr open. Pipes take
	// deadlines.
	_ = stderr.SetReadDeadline(time.Now().Add(drainTime))
	c.wg.Wait()
	_ = stderr.Close()
	close(c.done)
}

// PID is the process id; after the end it may be another's.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the child has ended, what was left of its group was
// killed, and its stderr has been logged.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit waits for the end and returns how it was: nil for exit code 0, an
// *exec.ExitError for another one or a signal.
func (c *Child) Exit() error {
	<-c.done
	return c.err
}

// ExitCode waits for the end and returns the exit code, -1 for a signal.
func (c *Child) ExitCode() int {
	<-c.done
	return c.cmd.ProcessState.ExitCode()
}

// Stop waits for the child to end by itself until ctx ends, then sends TERM to
// its group, and KILL when the grace has passed. It returns when the child has
// ended. With a ctx that has ended, TERM is sent at once.
func (c *Child) Stop(ctx context.Context) {
	select {
	case <-c.done:
		return
	case <-ctx.Done():
	}
	if err := c.signal(terminate); err == nil {
		select {
		case <-c.done:
			return
		case <-time.After(c.grace):
		}
	}
	c.Kill()
	<-c.done
}

// Kill ends the child and its group at once, without waiting.
func (c *Child) Kill() {
	// An error means that it has ended.
	_ = c.signal(os.Kill)
}

func (c *Child) signal(sig os.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	return signalGroup(c.cmd.Process, sig)
}

// logLines logs r line by line until it ends. A long line is cut; of a child
// that writes without end so much is logged at a time, and the rest read and let
// go.
func logLines(r io.Reader, log *slog.Logger) {
	br := bufio.NewReaderSize(r, maxLogLine)
	room, since := maxLogBytes, time.Now()
	for {
		line, err := br.ReadSlice('\n')
		if text := trimEnd(line); len(text) > 0 {
			if now := time.Now(); now.Sub(since) >= logTime {
				room, since = maxLogBytes, now
			}
			if room > 0 {
				room -= len(text) + perLine
				log.Info("child", "line", string(text))
				if room <= 0 {
					log.Warn("child says more than is logged", "bytes", maxLogBytes, "dur", logTime)
				}
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = br.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func trimEnd(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}
