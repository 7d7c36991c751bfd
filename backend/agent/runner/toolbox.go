package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

const (
	// cancelGrace is how long a call that was told to stop may still say what
	// really happened, before nobody knows.
	cancelGrace = 2 * time.Second
	// lateTime is how long after that an answer is still listened for. It can
	// no longer change what the run was told, but what people are told.
	lateTime = 2 * time.Minute
)

var (
	// errStore is why runs are stopped when the database can take no more:
	// effects that run are then not told to stop.
	errStore = errors.New("the database can take no more")
	// errHostGone is why a runtime ends that may not say how a call ended: the
	// host went away with the answer. The next start asks its host.
	errHostGone = errors.New("the host is gone")
)

// caller asks the host. It is the Conn's Call.
type caller func(ctx context.Context, method string, params, result any) error

// toolbox has the host carry out the tools of one run. It is a core.Toolbox.
type toolbox struct {
	log  *slog.Logger
	call caller
	run  core.Run
	// came are the bytes of the results so far, those that are only kept for
	// people among them.
	came atomic.Int64
	// gone is set when the host went away without an answer.
	gone *atomic.Bool
	// late takes an answer that came when nobody waited for it any more.
	late func(core.ToolCall, core.ToolResult)
	// listeners are the goroutines that wait for answers; life ends them.
	listeners *crew
	life      context.Context
}

var _ core.Toolbox = (*toolbox)(nil)

func (b *toolbox) ref(c core.ToolCall) wire.ToolCallRef {
	return wire.ToolCallRef{
		CommandID: b.run.CommandID, RunID: b.run.ID, SessionID: b.run.SessionID, ToolCallID: c.ID,
	}
}

// limit is how long one tool may take.
func (b *toolbox) limit() time.Duration {
	return time.Duration(b.run.Budget.ToolMs) * time.Millisecond
}

// Prepare implements core.Toolbox.
func (b *toolbox) Prepare(ctx context.Context, c core.ToolCall) (core.Prepared, error) {
	const op = wire.MethodToolPrepare
	asking, cancel := context.WithTimeout(ctx, b.limit())
	defer cancel()
	var res core.Prepared
	err := b.call(asking, op, wire.ToolPrepareParams{ToolCallRef: b.ref(c), Name: c.Name, Input: c.Input}, &res)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		return core.Prepared{}, fault.New(fault.Cancelled, op, context.Cause(ctx))
	case asking.Err() != nil:
		return core.Prepared{}, &fault.Error{Code: fault.Timeout, Op: op, Detail: b.limit().String(), Err: err}
	}
	return core.Prepared{}, answered(op, err)
}

// answered returns the fault of a call that failed: the host's own, or
// interrupted where there was no answer.
func answered(op string, err error) *fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fault.New(fault.Interrupted, op, err)
}

// answer is what tool.execute came to.
type answer struct {
	res core.ToolResult
	err error
}

// Execute implements core.Toolbox. A call that nobody waits for any more is
// still listened to for lateTime.
func (b *toolbox) Execute(ctx context.Context, c core.ToolCall, in core.Intent) (core.ToolResult, error) {
	const op = wire.MethodToolExecute
	if err := ctx.Err(); err != nil {
		// Nothing was asked of anybody.
		return core.ToolResult{IsError: true, Code: fault.Cancelled, Stopped: true}, nil
	}
	crash.At("before_effect")
	limit := b.limit()
	if at, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(at))
	}
	answers := b.ask(c, in, limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	timedOut := false
	select {
	case a := <-answers:
		crash.At("after_effect")
		return b.judge(c, a)
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
		timedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
	grace := cancelGrace
	if errors.Is(context.Cause(ctx), errStore) {
		grace = DrainTime // what runs is to finish
	} else {
		b.stop(c)
	}
	timer.Reset(grace)
	select {
	case a := <-answers:
		res, err := b.judge(c, a)
		if err == nil && res.Stopped && timedOut {
			res.IsError, res.Code = true, fault.Timeout
		}
		return res, err
	case <-timer.C:
	}
	b.log.Warn("tool did not stop", "run", b.run.ID, "call", c.ID, "tool", c.Name, "grace", grace)
	b.listen(c, answers)
	return core.ToolResult{}, fault.New(fault.Interrupted, op, errors.New("no answer after the cancel"))
}

// ask sends the call and returns where its answer comes. It is given up after
// lateTime, or when the Runner ends: $/cancel_request then tells the host.
func (b *toolbox) ask(c core.ToolCall, in core.Intent, limit time.Duration) <-chan answer {
	answers := make(chan answer, 1)
	ok := b.listeners.start(func() {
		asking, cancel := context.WithTimeout(b.life, limit+cancelGrace+lateTime)
		defer cancel()
		var a answer
		a.err = b.call(asking, wire.MethodToolExecute, wire.ToolExecuteParams{
			ToolCallRef: b.ref(c), Name: c.Name, Input: c.Input, InputDigest: c.InputDigest, Intent: in,
			DeadlineMs: max(limit.Milliseconds(), 1), MaxBytes: b.run.Budget.ToolResultBytes, WholeBytes: b.wholeBytes(),
		}, &a.res)
		b.came.Add(int64(max(len(a.res.Text), len(a.res.Whole))))
		answers <- a
	})
	if !ok {
		answers <- answer{err: rpc.ErrClosed}
	}
	return answers
}

// wholeBytes is how much may come of one call in all: what is left of the run's,
// as far as one line can hold it.
func (b *toolbox) wholeBytes() int {
	return max(0, min(b.run.Budget.ToolResultsBytes-int(b.came.Load()), wire.MaxWhole))
}

// stop tells the host to stop a call. What came of it is the answer to
// tool.execute.
func (b *toolbox) stop(c core.ToolCall) {
	b.listeners.start(func() {
		asking, cancel := context.WithTimeout(b.life, cancelGrace)
		defer cancel()
		err := b.call(asking, wire.MethodToolCancel, wire.ToolCancelParams{ToolCallID: c.ID}, nil)
		if err != nil {
			b.log.Info("tool not told to stop", "run", b.run.ID, "call", c.ID, "err", err)
		}
	})
}

// listen hands a late answer on.
func (b *toolbox) listen(c core.ToolCall, answers <-chan answer) {
	b.listeners.start(func() {
		if res, err := b.judge(c, <-answers); err == nil {
			b.late(c, res)
		}
	})
}

// judge tells an answer from no answer. A fault that the host answers is a
// result (T6), unless it leaves open whether a write has happened.
func (b *toolbox) judge(c core.ToolCall, a answer) (core.ToolResult, error) {
	const op = wire.MethodToolExecute
	if a.err == nil {
		return a.res, nil
	}
	f, ok := errors.AsType[*fault.Error](a.err)
	if errors.Is(a.err, rpc.ErrClosed) {
		b.gone.Store(true)
	}
	if !ok || errors.Is(a.err, rpc.ErrClosed) {
		return core.ToolResult{}, fault.New(fault.Interrupted, op, a.err)
	}
	if c.Kind == core.ToolWrite && c.Name != core.ToolProposePatch && !provesNothingHappened(f) {
		return core.ToolResult{}, fault.New(fault.Interrupted, op, f)
	}
	return core.ToolResult{IsError: true, Code: f.Code, Text: string(f.Code)}, nil
}

// provesNothingHappened says whether a write that ended with f has had no
// effect. A host that broke, ran out of time or lost its answer proves nothing.
func provesNothingHappened(f *fault.Error) bool {
	switch f.Code {
	case fault.Internal, fault.Cancelled, fault.Interrupted, fault.Timeout, fault.TooLarge, fault.ProtocolError:
		return false
	default:
		return true
	}
}
