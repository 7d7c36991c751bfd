// Package runner is the child process in which runs happen: it opens the
// database, settles what earlier starts left, serves the wire protocol on two
// pipes and carries out runs. It is the composition root of that process.
//
// It touches no file but its database, and learns a key only when a request is
// about to be made. Standard output is protocol only; logs go to the logger.
//
// The end: when the host goes away (EOF), asks for it (runner.shutdown) or ctx
// ends, nothing new is accepted, every run is told to stop, and what happened
// is recorded, all within [DrainTime]. When the database fails, the same
// happens without records, and Run returns that fault.
package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/loop"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// DrainTime is the longest time between the wish to end and the end.
const DrainTime = 5 * time.Second

// recordTime is the part of DrainTime that is kept for closing the database.
const recordTime = time.Second

// Config says where a Runner lives. Home, Stdin, Stdout and Logger are needed.
type Config struct {
	// Home is the program's home folder; runs.db lies in it.
	Home string
	// Stdin and Stdout are the pipes to the host. They are closed at the end,
	// which must end a Read and a Write that block.
	Stdin  io.ReadCloser
	Stdout io.WriteCloser
	Logger *slog.Logger
}

// Runner is one started Runner.
type Runner struct {
	cfg  Config
	log  *slog.Logger
	conn *rpc.Conn
	hub  *hub

	// opened is closed when store and sched, or openErr, are set.
	opened  chan struct{}
	openErr error
	store   *store.Store
	sched   *scheduler

	// quit is closed once, with why: nil, or the fault of the store.
	quitOnce sync.Once
	quit     chan struct{}
	why      error
	drain    time.Duration
}

// Run is a whole life of a Runner. It returns nil after an orderly end, and a
// fault when the database could not be opened or failed.
func Run(ctx context.Context, cfg Config) error {
	r := &Runner{
		cfg: cfg, log: cfg.Logger, hub: newHub(cfg.Logger),
		opened: make(chan struct{}), quit: make(chan struct{}), drain: DrainTime,
	}
	r.conn = rpc.New(rpc.Config{
		Read: cfg.Stdin, Write: cfg.Stdout, Logger: cfg.Logger, ErrorCode: errorCode,
		Handler: rpc.Handler{Request: r.serve},
	})
	// While another Runner still holds the database we wait for it, and answer
	// pings all the same.
	opening, stopOpening := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.open(opening) })
	select {
	case <-ctx.Done():
		r.end(nil, DrainTime)
	case <-r.conn.Done():
		r.log.Info("host is gone")
		r.end(nil, DrainTime)
	case <-r.quit:
	}
	stopOpening()
	deadline := time.Now().Add(r.drain)
	wg.Wait() // opening ends with its ctx
	if r.sched != nil {
		r.sched.drain(deadline.Add(-recordTime))
	}
	// Whatever still blocks must not keep the process: the store loses nothing
	// by a kill.
	closed := make(chan error, 1)
	var closing sync.WaitGroup
	closing.Go(func() {
		var err error
		if r.store != nil {
			err = r.store.Close()
		}
		r.hub.finish()
		r.hub.wait() // the last events are written, or the host is gone
		closed <- errors.Join(err, r.conn.Close())
	})
	select {
	case err := <-closed:
		if err != nil {
			r.log.Warn("close", "err", err)
		}
	case <-time.After(time.Until(deadline)):
		r.log.Warn("not everything ended in time")
	}
	return r.why
}

// end asks for the end; the first wish counts.
func (r *Runner) end(why error, drain time.Duration) {
	r.quitOnce.Do(func() {
		r.why = why
		r.drain = min(max(drain, 0), DrainTime)
		close(r.quit)
	})
}

// open opens the database and settles what earlier starts left.
func (r *Runner) open(ctx context.Context) {
	defer close(r.opened)
	s, err := r.openStore(ctx)
	if err != nil {
		r.openErr = err
		if ctx.Err() == nil {
			r.log.Error("database not opened", "err", err)
		}
		return
	}
	r.store = s
	r.hub.journal = s
	r.sched = newScheduler(r.log, s, loop.New(loop.Config{Logger: r.log}), r.hub, r.model)
}

func (r *Runner) openStore(ctx context.Context) (*store.Store, error) {
	if err := os.MkdirAll(r.cfg.Home, 0o700); err != nil {
		return nil, fault.New(fault.StoreFailed, "open store", err)
	}
	s, err := store.Open(ctx, store.Config{
		Path: filepath.Join(r.cfg.Home, "runs.db"), Log: r.log,
		OnEvent: r.hub.event,
		OnFail: func(err *fault.Error, lastSeq int64) {
			r.log.Error("database failed", "seq", lastSeq, "err", err)
			r.end(err, DrainTime)
		},
	})
	if err != nil {
		return nil, err
	}
	found, err := s.Recover(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(found.Runs) > 0 {
		r.log.Info("runs of an earlier start settled", "runs", len(found.Runs), "unknown", len(found.UnknownCalls))
	}
	return s, nil
}

// initialize is the first request. It answers when the database is open. Where
// it cannot be opened the answer is that fault, and the Runner ends.
func (r *Runner) initialize(ctx context.Context, p wire.InitializeParams) (wire.InitializeResult, error) {
	if p.Protocol != wire.Protocol {
		return wire.InitializeResult{}, &fault.Error{
			Code: fault.InvalidInput, Op: wire.MethodInitialize, Detail: fmt.Sprintf("protocol %d, not %d", p.Protocol, wire.Protocol),
		}
	}
	select {
	case <-r.opened:
	case <-ctx.Done():
		return wire.InitializeResult{}, ctx.Err()
	}
	if r.openErr != nil {
		rpc.AfterReply(ctx, func() { r.end(r.openErr, DrainTime) })
		return wire.InitializeResult{}, r.openErr
	}
	return wire.InitializeResult{
		Protocol: wire.Protocol, BootNonce: p.BootNonce, BootID: r.store.BootID(), PID: os.Getpid(),
	}, nil
}

// ready returns the fault of a call that came too early or too late.
func (r *Runner) ready(method string) error {
	select {
	case <-r.opened:
		if r.openErr != nil {
			return r.openErr
		}
	default:
		return fault.New(fault.Busy, method, errors.New("the database is not open yet"))
	}
	select {
	case <-r.quit:
		return fault.New(fault.RunnerGone, method, errors.New("the Runner is ending"))
	default:
		return nil
	}
}

func newID() string { return rand.Text() }

// errorCode is the JSON-RPC number of a fault.
func errorCode(c fault.Code) int {
	switch c {
	case fault.CommandConflict:
		return wire.ErrCommandConflict
	case fault.NotFound:
		return wire.ErrNotFound
	case fault.StaleApproval:
		return wire.ErrStaleApproval
	case fault.Busy:
		return wire.ErrBusy
	case fault.StoreFailed:
		return wire.ErrStoreFailed
	default:
		return wire.ErrFault
	}
}

// closedRun is the end of a run that did not stop before the deadline.
func closedRun() core.RunEnd {
	return core.RunEnd{State: core.RunInterrupted, Reason: "shutdown"}
}
