package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

const (
	// lookTime is how long Prepare and Probe may take.
	lookTime = 30 * time.Second
	// maxCalls is how many calls are remembered after their end.
	maxCalls = 4096
)

// Why the ctx of a call ended.
var (
	errStopped  = errors.New("the call was told to stop")
	errDeadline = errors.New("the call took too long")
	errPanicked = errors.New("the tool panicked")
	errTwice    = errors.New("the call was sent before")
	errLate     = errors.New("the tool did not end after it was stopped")
)

// desk has tools carried out: one call once, each with a deadline of its own,
// each to be stopped by itself, and none able to take the program along (T6).
type desk struct {
	tools Tools
	log   *slog.Logger
	grace time.Duration
	// wg counts the tools that run, also those that nobody waits for any more.
	wg sync.WaitGroup

	// mu guards what follows.
	mu sync.Mutex
	// calls are those that were sent or stopped; order is that of their coming.
	calls map[core.ToolCallID]*errand
	order []core.ToolCallID
}

// errand is what is known of a call.
type errand struct {
	// sent says that it was to be executed; running that it still is.
	sent, running, stopped bool
	stop                   context.CancelCauseFunc // nil before it runs
}

func newDesk(tools Tools, log *slog.Logger, grace time.Duration) *desk {
	return &desk{tools: tools, log: log, grace: grace, calls: map[core.ToolCallID]*errand{}}
}

// errand returns what is known of a call, and forgets the oldest that ended.
// mu must be held.
func (d *desk) errand(id core.ToolCallID) *errand {
	if e, ok := d.calls[id]; ok {
		return e
	}
	e := &errand{}
	d.calls[id] = e
	d.order = append(d.order, id)
	for len(d.order) > maxCalls && !d.calls[d.order[0]].running {
		delete(d.calls, d.order[0])
		d.order = d.order[1:]
	}
	return e
}

// prepare looks at a call without any effect.
func (d *desk) prepare(ctx context.Context, p wire.ToolPrepareParams) (core.Prepared, error) {
	if d.tools == nil {
		return core.Prepared{}, noTool(wire.MethodToolPrepare)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, errDeadline)
	defer cancel()
	return guard(d, p.Name, func() (core.Prepared, error) { return d.tools.Prepare(ctx, p) })
}

// execute carries a call out. Whatever the tool does becomes a result, unless
// nobody can know what it did: that is an error.
func (d *desk) execute(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
	const op = wire.MethodToolExecute
	if d.tools == nil {
		return core.ToolResult{}, noTool(op)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.mu.Lock()
	e := d.errand(p.ToolCallID)
	sent, stopped := e.sent, e.stopped
	if !sent && !stopped {
		e.running, e.stop = true, stop
	}
	e.sent = true
	d.mu.Unlock()
	switch {
	case sent:
		// What the first one came to is not known here.
		return core.ToolResult{}, fault.New(fault.Internal, op, errTwice)
	case stopped:
		return core.ToolResult{Text: "Stopped before it began.", IsError: true, Code: fault.Cancelled, Stopped: true}, nil
	}
	limit := time.Duration(p.DeadlineMs) * time.Millisecond
	if limit <= 0 {
		limit = time.Duration(core.DefaultBudget().ToolMs) * time.Millisecond
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()

	type end struct {
		res core.ToolResult
		err error
	}
	ended := make(chan end, 1)
	d.wg.Go(func() {
		res, err := guard(d, p.Name, func() (core.ToolResult, error) { return d.tools.Execute(ctx, p) })
		if errors.Is(err, errPanicked) {
			res, err = d.afterPanic(ctx, p)
		}
		d.mu.Lock()
		e.running, e.stop = false, nil
		d.mu.Unlock()
		ended <- end{res, err}
	})
	select {
	case it := <-ended:
		return it.res, it.err
	case <-ctx.Done():
	}
	// It was told to stop; what it still says is the truth.
	late := time.NewTimer(d.grace)
	defer late.Stop()
	select {
	case it := <-ended:
		return it.res, it.err
	case <-late.C:
		d.log.Error("tool does not end", "tool", p.Name, "call", p.ToolCallID, "cause", context.Cause(ctx))
		return core.ToolResult{}, fault.New(fault.Timeout, op, errLate)
	}
}

// afterPanic says what a tool did that panicked. One that writes is looked
// after; where its effect cannot be told, nobody knows.
func (d *desk) afterPanic(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
	res := core.ToolResult{Text: "The tool failed by a fault of its own. Nothing was changed.", IsError: true, Code: fault.Internal}
	if p.Intent.Target == "" {
		return res, nil
	}
	seen, err := d.probe(context.WithoutCancel(ctx), wire.ToolProbeParams{ToolCallRef: p.ToolCallRef, Name: p.Name, Intent: p.Intent})
	if err == nil && seen.Verdict == core.VerdictAbsent {
		return res, nil
	}
	return core.ToolResult{}, fault.New(fault.Internal, wire.MethodToolExecute, errPanicked)
}

// probe says what became of a call of an earlier start. An error says that this
// cannot be told yet.
func (d *desk) probe(ctx context.Context, p wire.ToolProbeParams) (wire.ToolProbeResult, error) {
	unknown := wire.ToolProbeResult{Verdict: core.VerdictUnknown}
	if d.tools == nil {
		return unknown, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, errDeadline)
	defer cancel()
	res, err := guard(d, p.Name, func() (wire.ToolProbeResult, error) { return d.tools.Probe(ctx, p) })
	if errors.Is(err, errPanicked) {
		return unknown, nil
	}
	return res, err
}

// cancel tells a call to stop. One that was not sent yet will not begin.
func (d *desk) cancel(id core.ToolCallID) {
	d.mu.Lock()
	e := d.errand(id)
	e.stopped = true
	stop := e.stop
	d.mu.Unlock()
	if stop != nil {
		stop(errStopped)
	}
}

// wait waits until no tool runs, or ctx ends.
func (d *desk) wait(ctx context.Context) {
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { d.wg.Wait(); close(done) })
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// guard turns a panic into an error. What is logged of it is its type: the value
// may quote a document.
func guard[T any](d *desk, tool string, f func() (T, error)) (res T, err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("tool panicked", "tool", tool, "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, tool, errPanicked)
		}
	}()
	return f()
}

func noTool(method string) error {
	return &fault.Error{Code: fault.NotFound, Op: method, Detail: "tool"}
}
