// Package runner is the child process in which runs happen: it opens the
// database, settles what earlier starts left, serves the wire protocol on two
// pipes and carries out runs. It is the composition root of that process.
//
// It touches no file but its database and what belongs to it, and learns a key
// only when a request is about to be made. Standard output is protocol only;
// logs go to the logger.
//
// Recovery has two phases. What the database alone decides is settled before
// anything is served; calls whose effect lies on the disk are shown to the host
// once it has greeted, and until it has answered their runs have not ended.
//
// The end: when the host goes away (EOF), asks for it (runner.shutdown) or ctx
// ends, nothing new is accepted, every run is told to stop, and what happened
// is recorded, all within [DrainTime]; a question that was open is closed as
// cancelled with its run. When the database fails nothing more is started or
// announced, effects that run are let finish, and Run returns that fault.
//
// Times are measured by the monotonic clock, which stands while the machine
// sleeps: sleep uses up no budget. What is due by the clock on the wall is
// looked at again when the host says that the machine slept.
package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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

// answerTime is how long requests that met a failing database may take to be
// answered.
const answerTime = 500 * time.Millisecond

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
	// questions are the approvals that runs wait for.
	questions *questions

	// opened is closed when store and sched, or openErr, are set.
	opened  chan struct{}
	openErr error
	store   *store.Store
	sched   *scheduler
	settler *settler
	answers answers
	// asking holds back what runs ask of endpoints that do not tell.
	asking askings
	// greeted is done when the host has greeted: the second phase of recovery
	// begins.
	greeted sync.Once

	// life ends when the runs have ended, or were given up; after it nobody
	// asks the host anything. listeners wait for what it answers.
	life      context.Context
	die       context.CancelFunc
	listeners crew

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
		asking: askings{now: time.Now, last: map[askKey]time.Time{}},
	}
	r.questions = newQuestions(time.Now, func(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
		return r.store.ExpireApproval(ctx, id)
	})
	r.life, r.die = context.WithCancel(context.Background())
	defer r.die()
	r.conn = rpc.New(rpc.Config{
		Read: cfg.Stdin, Write: cfg.Stdout, Logger: cfg.Logger, ErrorCode: wire.ErrorCode,
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
	// Whatever still blocks, a disk for instance, must not keep the process: the
	// store loses nothing by a kill.
	closed := make(chan error, 1)
	var closing sync.WaitGroup
	closing.Go(func() {
		if r.sched != nil {
			r.sched.drain(deadline.Add(-recordTime), storeFault(r.why))
		}
		r.die()
		r.listeners.end()
		var err error
		if r.store != nil {
			err = r.store.Close()
		}
		r.hub.finish()
		r.hub.wait() // the last events are written, or the host is gone
		if storeFault(r.why) {
			r.answers.wait(answerTime) // whoever met the failure is told of it
		}
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
	tools, err := core.NewRegistry(core.Tools()...)
	if err != nil {
		r.openErr = errors.Join(err, s.Close())
		return
	}
	r.store = s
	r.hub.journal = s
	r.sched = newScheduler(r.log, s, parts{
		runtime: loop.New(loop.Config{Logger: r.log}), tools: tools, model: r.model, toolbox: r.toolbox,
	}, r.hub, r.questions)
	r.settler = &settler{
		journal: s, call: r.conn.Call, hold: r.sched.hold, release: r.sched.release, log: r.log,
	}
	if err := r.settler.load(ctx); err != nil {
		r.openErr = err
	}
}

// toolbox has the host carry out the tools of a run.
func (r *Runner) toolbox(run core.Run, gone *atomic.Bool) core.Toolbox {
	return &toolbox{log: r.log, call: r.conn.Call, run: run, gone: gone, late: r.late, listeners: &r.listeners, life: r.life}
}

// late records what the host says of a call when nobody waits for it any more,
// beside the call's final state. Only of a write is that worth knowing.
func (r *Runner) late(c core.ToolCall, res core.ToolResult) {
	if c.Kind != core.ToolWrite {
		return
	}
	v := core.VerdictApplied
	if res.IsError || res.Stopped {
		v = core.VerdictAbsent
	}
	if err := r.store.ReconcileLate(context.Background(), c.ID, v); err != nil {
		r.log.Warn("late answer not recorded", "run", c.RunID, "call", c.ID, "err", err)
		return
	}
	r.log.Info("late answer recorded", "run", c.RunID, "call", c.ID, "verdict", v)
}

// woke looks at the clock again after the machine slept.
func (r *Runner) woke(slept time.Duration) {
	r.log.Info("the machine slept", "dur", slept)
	r.questions.wake()
}

// event takes a committed event: a decision wakes its run, and the host is
// told. It is the store's OnEvent.
func (r *Runner) event(e core.Event) {
	if e.Type == core.EventApprovalDecided {
		var a core.Approval
		if err := json.Unmarshal(e.Payload, &a); err == nil {
			r.questions.settle(a)
		}
	}
	r.hub.event(e)
}

func (r *Runner) openStore(ctx context.Context) (*store.Store, error) {
	if err := os.MkdirAll(r.cfg.Home, 0o700); err != nil {
		return nil, fault.New(fault.StoreFailed, "open store", err)
	}
	s, err := store.Open(ctx, store.Config{
		Path: filepath.Join(r.cfg.Home, "runs.db"), Log: r.log,
		OnEvent: r.event,
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
	rpc.AfterReply(ctx, func() {
		r.greeted.Do(func() { r.listeners.start(func() { r.settler.settle(r.life) }) })
	})
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
		if storeFault(r.why) {
			return r.why
		}
		return fault.New(fault.RunnerGone, method, errors.New("the Runner is ending"))
	default:
		return nil
	}
}

func newID() string { return rand.Text() }

// closedRun is the end of a run that did not stop before the deadline.
func closedRun() core.RunEnd {
	return core.RunEnd{State: core.RunInterrupted, Reason: "shutdown"}
}
