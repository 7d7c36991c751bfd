package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// How many runs of a kind are carried out at a time (R8). How many may wait is
// the store's to say.
const (
	maxRewrites      = 3
	maxConversations = 1
)

// task is an accepted run that has not ended.
type task struct {
	run    core.Run
	params wire.SubmitParams
	// stop ends the run's ctx; it may be called at any time.
	ctx  context.Context
	stop context.CancelFunc
	// started says that the task left the queue.
	started bool
}

// scheduler carries accepted runs out: in the order in which they were
// accepted, at most one of a session at a time, rewrites beside conversations.
type scheduler struct {
	log     *slog.Logger
	journal core.Journal
	runtime core.Runtime
	hub     *hub
	// model binds a model to a run.
	model func(wire.ProviderConfig, core.Budget) (core.Model, error)
	wg    sync.WaitGroup // runs that are carried out

	// mu guards what follows.
	mu sync.Mutex
	// tasks are those that have not ended, the oldest first.
	tasks []*task
	// seen are the runs of this start that were taken in.
	seen   map[core.RunID]bool
	closed bool
}

func newScheduler(
	log *slog.Logger, journal core.Journal, runtime core.Runtime, h *hub,
	model func(wire.ProviderConfig, core.Budget) (core.Model, error),
) *scheduler {
	return &scheduler{
		log: log, journal: journal, runtime: runtime, hub: h, model: model, seen: map[core.RunID]bool{},
	}
}

// submit accepts a run and starts it when its turn has come. The same command
// again gives the same run and starts nothing (R4).
func (s *scheduler) submit(ctx context.Context, sub core.Submission, p wire.SubmitParams) (core.Run, error) {
	run, err := s.journal.Submit(ctx, sub)
	if err != nil {
		return core.Run{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[run.ID] || run.State != core.RunQueued {
		return run, nil
	}
	s.seen[run.ID] = true
	// The run's life is its own: it goes on when the request is over.
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.tasks = append(s.tasks, &task{run: run, params: p, ctx: runCtx, stop: stop})
	s.next()
	return run, nil
}

// next starts what may start. mu must be held.
func (s *scheduler) next() {
	if s.closed {
		return
	}
	active := map[core.RunKind]int{}
	sessions := map[core.SessionID]bool{}
	for _, t := range s.tasks {
		if t.started {
			active[t.run.Kind]++
			sessions[t.run.SessionID] = true
		}
	}
	for _, t := range s.tasks {
		limit := maxConversations
		if t.run.Kind == core.KindRewrite {
			limit = maxRewrites
		}
		if t.started || active[t.run.Kind] >= limit || sessions[t.run.SessionID] {
			continue
		}
		t.started = true
		active[t.run.Kind]++
		sessions[t.run.SessionID] = true
		s.wg.Go(func() {
			defer s.leave(t)
			s.carryOut(t)
		})
	}
}

// leave forgets a task that has ended and starts the next.
func (s *scheduler) leave(t *task) {
	t.stop()
	s.hub.forget(t.run.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = slices.DeleteFunc(s.tasks, func(o *task) bool { return o == t })
	s.next()
}

// carryOut is the durable shell round one run.
func (s *scheduler) carryOut(t *task) {
	log := s.log.With("run", t.run.ID)
	record := context.WithoutCancel(t.ctx)
	if err := s.journal.Start(record, t.run.ID); err != nil {
		// Cancelled while it waited is the usual reason.
		log.Info("run not started", "err", err)
		return
	}
	begun := time.Now()
	end, err := s.runSafely(t)
	if err != nil {
		if code := fault.CodeOf(err); code == fault.StoreFailed || code == fault.DiskFull {
			return // nothing more can be recorded; the store ends the Runner
		}
		log.Error("runtime failed", "err", err)
		end = core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(err)}
	}
	run, err := s.journal.End(record, t.run.ID, end)
	if err != nil {
		log.Error("end not recorded", "err", err)
		return
	}
	log.Info("run ended", "state", run.State, "reason", run.Reason, "dur", time.Since(begun))
}

// runSafely turns a panic into an error.
func (s *scheduler) runSafely(t *task) (end core.RunEnd, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("run panicked", "run", t.run.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "run", errors.New("panic"))
		}
	}()
	model, err := s.model(t.params.Provider, t.run.Budget)
	if err != nil {
		return core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(err)}, nil
	}
	defer release(model)
	ct, err := s.coreTask(t, model)
	if err != nil {
		return core.RunEnd{}, err
	}
	return s.runtime.Run(t.ctx, ct)
}

// coreTask collects what a runtime needs.
func (s *scheduler) coreTask(t *task, model core.Model) (core.Task, error) {
	ctx := context.WithoutCancel(t.ctx)
	messages, err := s.journal.Messages(ctx, t.run.SessionID)
	if err != nil {
		return core.Task{}, err
	}
	state, _, err := s.journal.Snapshot(ctx)
	if err != nil {
		return core.Task{}, err
	}
	ct := core.Task{
		Run: t.run, Messages: messages, Snapshot: t.params.Snapshot, Rewrite: rewriteInput(t.params.Rewrite),
		Supersedes: t.params.Supersedes, Model: model, Budget: t.run.Budget,
		Recorder: recorder{s.journal, s.hub}, NewID: newID,
	}
	for _, session := range state.Sessions {
		if session.ID == t.run.SessionID {
			ct.Session = session
		}
	}
	return ct, nil
}

func rewriteInput(in *wire.RewriteInput) *core.RewriteInput {
	if in == nil {
		return nil
	}
	out := core.RewriteInput(*in)
	return &out
}

// recorder is what a runtime writes to.
type recorder struct {
	core.Journal
	hub *hub
}

// AwaitApproval implements core.Recorder.
func (r recorder) AwaitApproval(context.Context, core.ApprovalID) (core.Approval, error) {
	return core.Approval{}, fault.New(fault.Internal, "await approval", errors.New("not built yet"))
}

// Preview implements core.Recorder.
func (r recorder) Preview(p core.Preview) { r.hub.preview(p) }

// cancel stores the wish first and then tells the run (R7).
func (s *scheduler) cancel(ctx context.Context, cmd core.CommandID, id core.RunID) (core.CancelReceipt, error) {
	receipt, err := s.journal.Cancel(ctx, cmd, id)
	if err != nil {
		return core.CancelReceipt{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.tasks {
		if t.run.ID != id {
			continue
		}
		t.stop()
		if !t.started {
			s.tasks = slices.Delete(s.tasks, i, i+1)
			s.next()
		}
		break
	}
	return receipt, nil
}

// drain takes nothing more in, tells every run to stop and waits for them until
// the deadline. What has not ended then is recorded as interrupted.
func (s *scheduler) drain(deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	s.mu.Lock()
	s.closed = true
	open := slices.Clone(s.tasks)
	s.mu.Unlock()
	for _, t := range open {
		if _, err := s.cancel(ctx, core.CommandID(newID()), t.run.ID); err != nil {
			// A database that fails must not keep the run going.
			s.log.Warn("cancel not recorded", "run", t.run.ID, "err", err)
			t.stop()
		}
	}
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { s.wg.Wait(); close(done) })
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	open = slices.Clone(s.tasks)
	s.mu.Unlock()
	late, stop := context.WithTimeout(context.Background(), recordTime/2)
	defer stop()
	for _, t := range open {
		if _, err := s.journal.End(late, t.run.ID, closedRun()); err != nil {
			s.log.Warn("interruption not recorded", "run", t.run.ID, "err", err)
		}
	}
}
