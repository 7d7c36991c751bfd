package store

import (
	"context"

	"galley/backend/agent/core"
)

// Why a run or a call stands where it stands.
const (
	reasonNeverStarted    = "never_started"
	reasonRunnerLost      = "runner_lost"
	reasonNoEffect        = "no_effect"
	reasonInterruptedRead = "interrupted_read"
	reasonReconciled      = "reconciled"
	reasonCancelled       = "cancelled"
	reasonEnded           = "run_ended"
)

// callClass says how a call that was running when its Runner was lost is
// settled.
type callClass int

// The classes. It is not stored.
const (
	// classExternal cannot be looked at: unknown.
	classExternal callClass = iota
	// classRead had no effect and can be repeated.
	classRead
	// classPatch has its effect in this database, in the same commit as its
	// result.
	classPatch
	// classFile has its effect on the disk, which only the host can look at.
	classFile
)

func classOf(c core.ToolCall) callClass {
	switch {
	case c.Kind == core.ToolRead:
		return classRead
	case c.Name == core.ToolProposePatch:
		return classPatch
	case c.Name == core.ToolCreateDocument || c.Name == core.ToolRenameDocument:
		return classFile
	}
	return classExternal
}

// Recover settles what earlier starts left unfinished, as far as the database
// alone decides it, one run a transaction; a crash in the middle is recovered
// by the next start. A run with a call whose effect only the host can see stays
// as it is: see Unsettled and Reconcile. Nothing restarts by itself. When
// something was found it emits runner.recovered. It also tidies: artifacts that
// were being written, files that nothing refers to, and events that are past
// their time.
func (s *Store) Recover(ctx context.Context) (core.Recovered, error) {
	found := core.Recovered{Runs: []core.RunID{}, UnknownCalls: []core.ToolCallID{}}
	rows, err := all(ctx, plain{s.reader}, scanRun, qRunsOlderBoot, s.cfg.BootID)
	if err != nil {
		return core.Recovered{}, readFault("recover", err)
	}
	for _, r := range rows {
		unknown := []core.ToolCallID{}
		err := s.change(ctx, "recover run", func(ctx context.Context, t *tx) error {
			var err error
			unknown, err = t.recover(ctx, r.Run)
			return err
		})
		if err != nil {
			return core.Recovered{}, err
		}
		found.Runs = append(found.Runs, r.ID)
		found.UnknownCalls = append(found.UnknownCalls, unknown...)
	}
	err = s.change(ctx, "recover", func(ctx context.Context, t *tx) error {
		if len(found.Runs) == 0 {
			return nil
		}
		return t.emit(ctx, core.EventRunnerRecovered, "", "", "", core.RunnerRecovered(found))
	})
	if err != nil {
		return core.Recovered{}, err
	}
	if err := s.sweep(ctx); err != nil {
		return core.Recovered{}, err
	}
	if err := s.dropOldEvents(ctx); err != nil {
		return core.Recovered{}, err
	}
	return found, s.change(ctx, "drop old records", func(ctx context.Context, t *tx) error { return t.dropOldRecords(ctx) })
}

// recover settles one run of an older start.
func (t *tx) recover(ctx context.Context, run core.Run) (unknown []core.ToolCallID, err error) {
	if err := t.closeRequests(ctx, run, reasonRunnerLost); err != nil {
		return nil, err
	}
	if err := t.dropCalls(ctx, run, reasonRunnerLost, core.ApprovalExpired); err != nil {
		return nil, err
	}
	calls, err := all(ctx, t, scanCall, qCallsOpen, string(run.ID))
	if err != nil {
		return nil, err
	}
	pending := false
	for _, c := range calls {
		to, reason, err := t.settle(ctx, c)
		if err != nil {
			return nil, err
		}
		switch to {
		case core.CallRunning:
			pending = true
			continue
		case core.CallUnknown:
			unknown = append(unknown, c.ID)
		case core.CallProposed, core.CallWaiting, core.CallReady, core.CallSucceeded, core.CallFailed, core.CallCancelled:
		}
		if err := t.moveCall(ctx, core.ActorRecovery, c, to, reason); err != nil {
			return nil, err
		}
	}
	if pending {
		return unknown, t.resume(ctx, run)
	}
	return unknown, t.recovered(ctx, run)
}

// closeRequests ends the model calls of a run that nobody waits for any more.
func (t *tx) closeRequests(ctx context.Context, run core.Run, reason string) error {
	open, err := all(ctx, t, scanModelCall, qModelCallsOpen, string(run.ID))
	if err != nil {
		return err
	}
	for _, c := range open {
		// Nothing was sent before prepared was left; after it nobody knows
		// what the provider did, or counted.
		c.ErrorClass = reason
		if c.Phase == core.PhasePrepared {
			c.Phase, c.ErrorClass = core.PhaseFailed, reasonNoEffect
		} else {
			c.Phase = core.PhaseUnknown
		}
		if err := t.phase(ctx, run, c); err != nil {
			return err
		}
	}
	return nil
}

// settle says what becomes of a running call; running means that only the host
// can tell.
func (t *tx) settle(ctx context.Context, c callRow) (to core.ToolCallState, reason string, err error) {
	switch classOf(c.ToolCall) {
	case classRead:
		return core.CallFailed, reasonInterruptedRead, nil
	case classPatch:
		n, _, err := one(ctx, t, scanInt, qProposalForCall, string(c.ID))
		if err != nil {
			return "", "", err
		}
		if n > 0 {
			return core.CallSucceeded, reasonReconciled, nil
		}
		return core.CallFailed, reasonNoEffect, nil
	case classFile:
		return core.CallRunning, "", nil
	case classExternal:
	}
	return core.CallUnknown, reasonRunnerLost, nil
}

// resume takes a run out of a wait that is over: its approvals have expired.
func (t *tx) resume(ctx context.Context, run core.Run) error {
	if run.State != core.RunWaiting {
		return nil
	}
	if err := t.update(ctx, qMoveRun, string(core.RunRunning), nil, string(run.ID)); err != nil {
		return err
	}
	return t.emitRun(ctx, run, core.RunChanged{State: core.RunRunning})
}

// recovered ends a run of an older start, all of whose calls are settled.
func (t *tx) recovered(ctx context.Context, run core.Run) error {
	if err := t.commitDraft(ctx, run); err != nil {
		return err
	}
	unknown, _, err := one(ctx, t, scanInt, qCallsInState, string(run.ID), string(core.CallUnknown))
	if err != nil {
		return err
	}
	to, reason := core.RunInterrupted, reasonRunnerLost
	switch {
	case run.State == core.RunQueued:
		reason = reasonNeverStarted
	case run.State == core.RunCancelling && unknown == 0:
		to = core.RunCancelled
	}
	if !core.MayRun(core.ActorRecovery, run.State, to) {
		return badState("recover run", run.State)
	}
	return t.final(ctx, run, core.RunChanged{State: to, Reason: reason})
}
