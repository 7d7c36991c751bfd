package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// probeTime is how long the host may take to look at what one call left. It has
// a limit of its own, which is shorter.
const probeTime = time.Minute

// probePause is the wait before a probe is made again by a host that could not
// look yet: its folders may not be open before a window is there.
func probePause(try int) time.Duration {
	pauses := []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}
	return pauses[min(try, len(pauses)-1)]
}

// settler is the second phase of recovery: calls of an earlier start whose
// effect the database cannot know are shown to the host, which looks at the
// disk. Until it has answered their runs have not ended, and nothing starts in
// their sessions.
type settler struct {
	journal journal
	call    caller
	// holds and releases a session; see scheduler.
	hold, release func(core.SessionID)
	log           *slog.Logger

	// open are the calls to look at, in order, with their runs.
	open []unsettled
}

type unsettled struct {
	core.UnsettledCall
	run core.Run
}

// load reads what is to be looked at and holds its sessions. It comes before
// anything else is served.
func (s *settler) load(ctx context.Context) error {
	list, err := s.journal.Unsettled(ctx)
	if err != nil {
		return err
	}
	for _, u := range list {
		run, err := s.journal.Run(ctx, u.Call.RunID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.open, func(o unsettled) bool { return o.run.ID == run.ID }) {
			s.hold(run.SessionID)
		}
		s.open = append(s.open, unsettled{u, run})
	}
	return nil
}

// settle has the host look at every call and records what it found. It ends
// when all is settled, ctx ends, or the host is gone; what is open then is left
// to the next start.
func (s *settler) settle(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("recovery panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	for i, u := range s.open {
		v, ok := s.look(ctx, u)
		if !ok {
			s.log.Warn("calls of an earlier start not looked at", "calls", len(s.open)-i)
			return
		}
		if err := s.journal.Reconcile(context.WithoutCancel(ctx), u.Call.ID, stateOf(v)); err != nil {
			s.log.Error("call of an earlier start not settled", "run", u.run.ID, "call", u.Call.ID, "err", err)
			if storeFault(err) {
				return
			}
		} else {
			s.log.Info("call of an earlier start settled", "run", u.run.ID, "call", u.Call.ID, "tool", u.Call.Name, "verdict", v)
		}
		last := !slices.ContainsFunc(s.open[i+1:], func(o unsettled) bool { return o.run.ID == u.run.ID })
		if last {
			s.release(u.run.SessionID)
		}
	}
}

// stateOf is what a verdict makes of a call.
func stateOf(v core.ToolVerdict) core.ToolCallState {
	switch v {
	case core.VerdictApplied:
		return core.CallSucceeded
	case core.VerdictAbsent:
		return core.CallFailed
	case core.VerdictUnknown:
	}
	return core.CallUnknown
}

// look asks the host, until it can tell. Not ok means that there is nobody to
// ask. A host that does not know the question leaves it unknown.
func (s *settler) look(ctx context.Context, u unsettled) (v core.ToolVerdict, ok bool) {
	params := wire.ToolProbeParams{
		ToolCallRef: wire.ToolCallRef{
			CommandID: u.run.CommandID, RunID: u.run.ID, SessionID: u.run.SessionID, ToolCallID: u.Call.ID,
		},
		Name: u.Call.Name, Intent: u.Intent,
	}
	for try := 0; ; try++ {
		asking, cancel := context.WithTimeout(ctx, probeTime)
		var res wire.ToolProbeResult
		err := s.call(asking, wire.MethodToolProbe, params, &res)
		cancel()
		code := fault.CodeOf(err)
		switch {
		case err == nil:
			return res.Verdict, true
		case ctx.Err() != nil, errors.Is(err, rpc.ErrClosed):
			return "", false
		case code == fault.NotFound, code == fault.InvalidInput:
			s.log.Warn("host cannot look at a call", "call", u.Call.ID, "code", code)
			return core.VerdictUnknown, true
		}
		s.log.Info("host could not look at a call yet", "call", u.Call.ID, "try", try+1, "code", code)
		timer := time.NewTimer(probePause(try))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", false
		}
	}
}
