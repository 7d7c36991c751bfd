package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
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

// job is what a run was given besides what the journal keeps.
type job struct {
	provider      wire.ProviderConfig
	tools         []string
	policy        core.Policy
	snapshot      *core.Snapshot
	rewrite       *core.RewriteInput
	supersedes    core.ProposalID
	contextTokens int
	language      string
}

// task is an accepted run that has not ended.
type task struct {
	run core.Run
	job job
	// stop ends the run's ctx, with why; it may be called at any time.
	ctx  context.Context
	stop context.CancelCauseFunc
	// started says that the task left the queue.
	started bool
}

// errStop is why a run ends that was told to.
var errStop = errors.New("the run was told to stop")

// journal is the store as the Runner needs it.
type journal interface {
	core.Journal
	// ExpireApproval records that nobody answered in time, unless somebody has.
	ExpireApproval(ctx context.Context, id core.ApprovalID) (core.Approval, error)
	// ReconcileLate records what the host said of a call when nobody waited any
	// more.
	ReconcileLate(ctx context.Context, id core.ToolCallID, v core.ToolVerdict) error
}

// parts are what the scheduler puts together for each run.
type parts struct {
	runtime core.Runtime
	tools   core.Registry
	// model binds a model to a run and says what is known of it.
	model func(ctx context.Context, run core.Run, j job) (core.Model, core.Capabilities, error)
	// toolbox has the host carry out the tools of a run.
	toolbox func(run core.Run, gone *atomic.Bool) core.Toolbox
}

// scheduler carries accepted runs out: in the order in which they were
// accepted, at most one of a session at a time, rewrites beside conversations.
type scheduler struct {
	log       *slog.Logger
	journal   journal
	parts     parts
	hub       *hub
	questions *questions
	wg        sync.WaitGroup // runs that are carried out

	// mu guards what follows.
	mu sync.Mutex
	// tasks are those that have not ended, the oldest first.
	tasks []*task
	// seen are the runs among them.
	seen map[core.RunID]bool
	// held counts the runs of earlier starts in a session of which a call is
	// still being looked at; nothing starts beside them.
	held   map[core.SessionID]int
	closed bool
}

func newScheduler(log *slog.Logger, j journal, p parts, h *hub, q *questions) *scheduler {
	return &scheduler{
		log: log, journal: j, parts: p, hub: h, questions: q,
		seen: map[core.RunID]bool{}, held: map[core.SessionID]int{},
	}
}

// hold keeps a session for a run of an earlier start; release gives it back.
func (s *scheduler) hold(id core.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id]++
}

func (s *scheduler) release(id core.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[id]--; s.held[id] <= 0 {
		delete(s.held, id)
	}
	s.next()
}

// submit accepts a run and starts it when its turn has come. The same command
// again gives the same run and starts nothing (R4).
func (s *scheduler) submit(ctx context.Context, sub core.Submission, j job) (core.Run, error) {
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
	runCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s.tasks = append(s.tasks, &task{run: run, job: j, ctx: runCtx, stop: stop})
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
		if t.started || active[t.run.Kind] >= limit || sessions[t.run.SessionID] || s.held[t.run.SessionID] > 0 {
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
	t.stop(nil)
	s.hub.forget(t.run.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(t)
	s.next()
}

// drop takes a task out. mu must be held.
func (s *scheduler) drop(t *task) {
	s.tasks = slices.DeleteFunc(s.tasks, func(o *task) bool { return o == t })
	delete(s.seen, t.run.ID)
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
	broke := err != nil
	if broke {
		if storeFault(err) {
			return // nothing more can be recorded; the store ends the Runner
		}
		if errors.Is(err, errHostGone) {
			log.Warn("call left to the next start")
			<-t.ctx.Done() // without a host the Runner ends, which cancels the run
			return
		}
		log.Error("runtime failed", "err", err)
		end = core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(err)}
	}
	run, err := s.journal.End(record, t.run.ID, end)
	if err != nil && broke && !storeFault(err) {
		// It left a call behind that it cannot speak for any more.
		if err = s.abandon(record, t.run.ID); err == nil {
			run, err = s.journal.End(record, t.run.ID, end)
		}
	}
	if err != nil {
		log.Error("end not recorded", "err", err)
		return
	}
	log.Info("run ended", "state", run.State, "reason", run.Reason, "dur", time.Since(begun))
}

// storeFault says whether err means that nothing can be recorded.
func storeFault(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.StoreFailed || code == fault.DiskFull
}

// reasonBroke is why a call ended whose runtime broke.
const reasonBroke = "runtime_broke"

// abandon ends the calls that a runtime which broke left running. A write may
// have happened.
func (s *scheduler) abandon(ctx context.Context, id core.RunID) error {
	calls, err := s.journal.ToolCalls(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.State != core.CallRunning {
			continue
		}
		end := core.CallEnd{State: core.CallUnknown, Reason: reasonBroke, Result: reasonBroke}
		if c.Kind == core.ToolRead || c.Name == core.ToolProposePatch {
			end.State = core.CallFailed
		}
		if err := s.journal.FinishCall(ctx, c.ID, end); err != nil {
			return err
		}
	}
	return nil
}

// runSafely turns a panic into an error.
func (s *scheduler) runSafely(t *task) (end core.RunEnd, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("run panicked", "run", t.run.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "run", errors.New("panic"))
		}
	}()
	model, known, err := s.parts.model(t.ctx, t.run, t.job)
	if err != nil {
		return core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(err)}, nil
	}
	defer release(model)
	if t.ctx.Err() == nil && len(t.job.tools) > 0 && known.Tools == core.KnownNo {
		return unsupported(t.run), nil
	}
	ct, err := s.coreTask(t, model, known)
	if err != nil {
		return core.RunEnd{}, err
	}
	return s.parts.runtime.Run(t.ctx, ct)
}

// coreTask collects what a runtime needs.
func (s *scheduler) coreTask(t *task, model core.Model, known core.Capabilities) (core.Task, error) {
	ctx := context.WithoutCancel(t.ctx)
	gone := &atomic.Bool{}
	rec := recorder{Journal: s.journal, run: t.run, hub: s.hub, questions: s.questions, gone: gone}
	h, err := rec.History(ctx, t.run.SessionID)
	if err != nil {
		return core.Task{}, err
	}
	ct := core.Task{
		Run: t.run, Session: h.Session,
		Tools: s.parts.tools, Allowed: t.job.tools, Policy: t.job.policy,
		ContextTokens: known.ContextTokens, MaxOutputTokens: longest(t.job.provider.MaxOutputTokens, known.MaxOutputTokens),
		Language: t.job.language,
		Snapshot: t.job.snapshot, Rewrite: t.job.rewrite, Supersedes: t.job.supersedes,
		Model: model, Budget: t.run.Budget, Recorder: rec, NewID: newID,
	}
	if len(t.job.tools) > 0 {
		ct.Toolbox = s.parts.toolbox(t.run, gone)
	}
	return ct, nil
}

// longest is the longest answer that is asked for: what the person set, as far
// as the model gives it; 0 when the person left it open.
func longest(set, known int) int {
	if known > 0 {
		set = min(set, known)
	}
	return set
}

// cancel stores the wish first and then tells the run (R7).
func (s *scheduler) cancel(ctx context.Context, cmd core.CommandID, id core.RunID) (core.CancelReceipt, error) {
	receipt, err := s.journal.Cancel(ctx, cmd, id)
	if err != nil {
		return core.CancelReceipt{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.run.ID == id })
	if i < 0 {
		return receipt, nil
	}
	t := s.tasks[i]
	t.stop(errStop)
	if !t.started {
		s.drop(t)
		s.next()
	}
	return receipt, nil
}

// drain takes nothing more in, tells every run to stop and waits for them until
// the deadline. What has not ended then is recorded as interrupted. Where the
// store failed nothing can be recorded: no step follows any more, and effects
// that run are let finish.
func (s *scheduler) drain(deadline time.Time, storeFailed bool) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	s.mu.Lock()
	s.closed = true
	open := slices.Clone(s.tasks)
	s.mu.Unlock()
	// All at once, so that they share a commit.
	var cancels sync.WaitGroup
	for _, t := range open {
		if storeFailed {
			t.stop(errStore)
			continue
		}
		cancels.Go(func() {
			if _, err := s.cancel(ctx, core.CommandID(newID()), t.run.ID); err != nil {
				// A database that fails must not keep the run going.
				s.log.Warn("cancel not recorded", "run", t.run.ID, "err", err)
				t.stop(errStop)
			}
		})
	}
	cancels.Wait()
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { s.wg.Wait(); close(done) })
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	if storeFailed {
		return
	}
	s.mu.Lock()
	open = slices.Clone(s.tasks)
	s.mu.Unlock()
	late, stop := context.WithTimeout(context.Background(), recordTime/2)
	defer stop()
	for _, t := range open {
		if _, err := s.journal.End(late, t.run.ID, closedRun()); err != nil {
			// A call of it still runs: the next start asks the host what came
			// of that, and ends the run.
			s.log.Warn("interruption not recorded", "run", t.run.ID, "err", err)
		}
	}
}
