package store

import (
	"context"
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// Who found out about a call afterwards.
const (
	byRecovery = "recovery"
	byPerson   = "person"
)

// Unsettled returns the calls of earlier starts that the host must look at;
// never nil.
func (s *Store) Unsettled(ctx context.Context) ([]core.UnsettledCall, error) {
	const op = "get unsettled calls"
	rows, err := all(ctx, plain{s.reader}, scanCall, qRunningBefore, s.cfg.BootID)
	if err != nil {
		return nil, readFault(op, err)
	}
	list := make([]core.UnsettledCall, len(rows))
	for i, r := range rows {
		list[i].Call = r.ToolCall
		if err := json.Unmarshal([]byte(r.intent), &list[i].Intent); err != nil {
			return nil, readFault(op, fmt.Errorf("intent of %s: %w", r.ID, err))
		}
	}
	return list, nil
}

// Reconcile settles a call of an earlier start by what the host has seen:
// succeeded, failed (no effect) or unknown. The last one of a run ends the run.
// A call of this start is invalid_input: its executor still answers.
func (s *Store) Reconcile(ctx context.Context, id core.ToolCallID, to core.ToolCallState) error {
	const op = "reconcile tool call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		old, _, err := one(ctx, t, scanInt, qRunOfOtherBoot, string(c.RunID), s.cfg.BootID)
		if err != nil {
			return err
		}
		if old == 0 || !core.MayCall(core.ActorRecovery, c.State, to) {
			return badState(op, c.State)
		}
		reason, verdict := reasonReconciled, core.VerdictApplied
		switch to {
		case core.CallFailed:
			reason, verdict = reasonNoEffect, core.VerdictAbsent
		case core.CallUnknown:
			reason, verdict = reasonRunnerLost, core.VerdictUnknown
		case core.CallSucceeded, core.CallProposed, core.CallWaiting, core.CallReady, core.CallRunning, core.CallCancelled:
		}
		if err := t.moveCall(ctx, core.ActorRecovery, c, to, reason); err != nil {
			return err
		}
		if err := t.found(ctx, op, "", id, verdict, byRecovery); err != nil {
			return err
		}
		still, _, err := one(ctx, t, scanInt, qCallsInState, string(c.RunID), string(core.CallRunning))
		if err != nil || still > 0 {
			return err
		}
		run, err := t.runByID(ctx, op, c.RunID)
		if err != nil {
			return err
		}
		return t.recovered(ctx, run)
	})
}

// ReconcileByPerson records what a person found out about a call whose state is
// unknown: applied or absent. The state stays, the verdict stands beside it;
// another command may correct it, and the last one counts. The same command
// again changes nothing. A call in another state is invalid_input.
func (s *Store) ReconcileByPerson(ctx context.Context, cmd core.CommandID, id core.ToolCallID, v core.ToolVerdict) error {
	const op = "reconcile by person"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id, v)
		if err != nil {
			return err
		}
		var known core.ToolCallID
		found, err := t.command(ctx, op, cmd, commandVerdict, digest, &known)
		if err != nil || found {
			return err
		}
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		if v != core.VerdictApplied && v != core.VerdictAbsent {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "verdict"}
		}
		if c.State != core.CallUnknown {
			return badState(op, c.State)
		}
		if err := t.found(ctx, op, cmd, id, v, byPerson); err != nil {
			return err
		}
		return t.done(ctx, cmd, commandVerdict, digest, c.session, id)
	})
}

// found keeps what was found out about a call and tells of it, with the call as
// it now stands.
func (t *tx) found(ctx context.Context, op string, cmd core.CommandID, id core.ToolCallID, v core.ToolVerdict, by string) error {
	if err := t.update(ctx, qInsertReconciliation, string(id), string(v), by, orNull(cmd), t.now); err != nil {
		return err
	}
	c, err := t.call(ctx, op, id)
	if err != nil {
		return err
	}
	return t.emit(ctx, core.EventToolReconciled, c.session, c.RunID, c.ID, core.ToolReconciled{Call: c.ToolCall, Verdict: v, By: by})
}
