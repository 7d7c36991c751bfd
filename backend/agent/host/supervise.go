package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/proc"
	"galley/backend/rpc"
)

const (
	// openTime is how long the first answer may take: a Runner waits up to
	// 10 s for another one's lock.
	openTime = 30 * time.Second
	// leaveTime is how long a Runner that lost us may take to record; more is
	// a hang.
	leaveTime = 5 * time.Second
	// lastWords is how long the pipe of a Runner that has ended is read.
	lastWords = time.Second
)

// Why a Runner's life ended.
var (
	errRestart = errors.New("a restart was asked for")
	errHangs   = errors.New("no answer to a ping")
)

// run holds the agent of the home, or watches who does, until the Host is
// closed.
func (h *Host) run() {
	defer close(h.over)
	defer h.endReaders()
	for h.life.Err() == nil {
		release, err := h.claim()
		switch {
		case err != nil:
			h.log.Error("agent of the home not claimed", "err", err)
			h.setRunner(Runner{Status: Failed, Code: fault.StoreFailed})
			select {
			case <-h.restart:
			case <-h.life.Done():
			}
		case release != nil:
			h.supervise()
			h.endReaders() // they are told how it ended before they are left
			release()
			return
		default:
			h.watch()
		}
	}
}

// claim makes this process the holder of the agent; release is nil where
// another one is.
func (h *Host) claim() (release func(), err error) {
	if h.cfg.Claim == nil {
		return func() {}, nil
	}
	return h.cfg.Claim(h)
}

// supervise starts Runners until the Host is closed.
func (h *Host) supervise() {
	inRow := 0
	for {
		began := time.Now()
		code, err := h.live()
		if h.life.Err() != nil {
			h.log.Info("runner closed", "err", err)
			return
		}
		wished := errors.Is(err, errRestart)
		if wished || time.Since(began) >= h.cfg.Steady {
			inRow = 0
		}
		pause := time.Duration(0)
		switch {
		case wished:
			h.log.Info("runner restarts as asked")
		case hopeless(code) || inRow >= len(h.cfg.Pauses):
			h.log.Error("runner given up", "code", code, "restarts", inRow, "err", err)
			h.setRunner(Runner{Status: Failed, Code: code})
			h.forgetRuns()
			select {
			case <-h.restart:
				inRow = 0
			case <-h.life.Done():
				return
			}
		default:
			pause = h.cfg.Pauses[inRow]
			inRow++
			h.log.Warn("runner ended", "code", code, "restart", inRow, "pause", pause, "err", err)
			h.setRunner(Runner{Status: Stopped, Code: code})
			select {
			case <-time.After(pause):
			case <-h.restart:
				inRow = 0
			case <-h.life.Done():
				return
			}
		}
		h.mu.Lock()
		h.runner.Restarts++
		h.mu.Unlock()
	}
}

// live is the life of one Runner. It returns when its process has ended, with
// the fault that people are told and the reason.
func (h *Host) live() (fault.Code, error) {
	h.setRunner(Runner{Status: Starting})
	child, err := proc.Start(proc.Config{
		Path: h.cfg.Command[0], Args: h.cfg.Command[1:], Env: h.cfg.Env, Logger: h.log.With("process", "runner"),
	})
	if err != nil {
		return fault.RunnerGone, err
	}
	h.setRunner(Runner{Status: Starting, PID: child.PID()})
	conn := rpc.New(rpc.Config{
		Read: child.Stdout, Write: child.Stdin, Logger: h.log,
		Handler: rpc.Handler{Request: h.serve, Notify: h.notify},
	})
	err = h.attend(conn, child)
	h.setConn(nil, false)
	if cerr := conn.Close(); cerr != nil {
		h.log.Debug("close connection", "err", cerr)
	}
	// It sees EOF now and leaves, unless it hangs.
	ctx, cancel := context.WithDeadline(context.Background(), h.leave(err))
	defer cancel()
	child.Stop(ctx)
	code := endCode(err, child.ExitCode())
	if exit := child.Exit(); exit != nil {
		err = fmt.Errorf("%w: %w", err, exit)
	}
	return code, err
}

// endCode is what people are told of a Runner's end.
func endCode(err error, exit int) fault.Code {
	switch code := fault.CodeOf(err); {
	case code == fault.StoreFailed, code == fault.DiskFull, code == fault.Busy:
		return code
	case exit == wire.ExitStoreFailed:
		return fault.StoreFailed
	case exit == wire.ExitDiskFull:
		return fault.DiskFull
	}
	return fault.RunnerGone
}

// hopeless says whether starting again by itself cannot help.
func hopeless(code fault.Code) bool { return code == fault.StoreFailed || code == fault.DiskFull }

// leave is the time until which a Runner may end by itself.
func (h *Host) leave(why error) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case errors.Is(why, errHangs):
		return time.Now()
	case h.closed:
		return h.leaveBy
	}
	return time.Now().Add(leaveTime)
}

// attend greets a Runner and stays until it ends, hangs or is to end.
func (h *Host) attend(conn *rpc.Conn, child *proc.Child) error {
	if err := h.greet(conn, child.PID()); err != nil {
		return err
	}
	select {
	case <-h.restart: // a wish from before is fulfilled by this start
	default:
	}
	h.setConn(conn, false)
	h.setRunner(Runner{Status: Ready, PID: child.PID()})
	tick := time.NewTicker(h.cfg.PingEvery)
	defer tick.Stop()
	clock := h.newClock()
	// It may hang while it is asked for the state: that is asked beside this
	// loop, which pings.
	lags, attached := h.lags, make(chan error, 1)
	for {
		select {
		case <-conn.Done():
			return rpc.ErrClosed
		case <-child.Done():
			// What it said last is still read, unless somebody else holds
			// the pipe open.
			select {
			case <-conn.Done():
			case <-time.After(lastWords):
			}
			return rpc.ErrClosed
		case <-h.life.Done():
			return h.life.Err()
		case <-h.restart:
			return errRestart
		case <-lags:
			lags = nil
			h.wg.Go(func() { attached <- h.attach(h.life, conn) })
		case err := <-attached:
			lags = h.lags
			if err != nil {
				return err
			}
		case <-tick.C:
			if err := h.ping(conn, clock.slept()); err != nil {
				return err
			}
		}
	}
}

// greet makes the first calls.
func (h *Host) greet(conn *rpc.Conn, pid int) error {
	ctx, cancel := context.WithTimeout(h.life, openTime)
	defer cancel()
	nonce := rand.Text()
	var res wire.InitializeResult
	err := conn.Call(ctx, wire.MethodInitialize, wire.InitializeParams{Protocol: wire.Protocol, BootNonce: nonce}, &res)
	if err != nil {
		return err
	}
	if res.Protocol != wire.Protocol || res.BootNonce != nonce {
		return fault.New(fault.ProtocolError, "greet runner", errors.New("it is another program"))
	}
	h.log.Info("runner ready", "pid", pid, "boot", res.BootID)
	return h.attach(ctx, conn)
}

// ping asks for a sign of life, and tells how long the machine slept. A closed
// connection is not its business.
func (h *Host) ping(conn *rpc.Conn, slept time.Duration) error {
	if slept > 0 {
		h.log.Info("the machine slept", "dur", slept)
	}
	ctx, cancel := context.WithTimeout(h.life, h.cfg.PingTimeout)
	defer cancel()
	err := conn.Call(ctx, wire.MethodPing, wire.PingParams{SleptMs: slept.Milliseconds()}, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return errHangs
	}
	return nil
}

// setConn makes a connection the one that calls use; watching says that it
// leads to another process that holds the agent, or that there is such a one.
func (h *Host) setConn(conn *rpc.Conn, watching bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn, h.watching = conn, watching
}

// setRunner changes the state and has it told. Restarts are counted elsewhere.
func (h *Host) setRunner(r Runner) {
	h.mu.Lock()
	r.Restarts = h.runner.Restarts
	h.runner = r
	h.changes = append(h.changes, r)
	for s := range h.subs {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	h.mu.Unlock()
	select {
	case h.states <- struct{}{}:
	default:
	}
}

// tell calls OnRunner until the supervisor has ended and all is told.
func (h *Host) tell() {
	for over := false; ; {
		h.mu.Lock()
		list := h.changes
		h.changes = nil
		h.mu.Unlock()
		for _, r := range list {
			if h.cfg.OnRunner != nil {
				h.cfg.OnRunner(r)
			}
		}
		if over {
			return
		}
		select {
		case <-h.states:
		case <-h.over:
			over = true
		}
	}
}
