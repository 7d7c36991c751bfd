package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// reasonExpired is why a call was cancelled about which nobody was there to
// decide.
const reasonExpired = "expired"

// ExpireApproval closes a question that nobody answered in time, which is no
// consent: its call is cancelled and the run goes on. It returns the approval
// as it then stands; one that was answered in the last moment stays as it was
// answered.
func (s *Store) ExpireApproval(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	const op = "expire approval"
	var a core.Approval
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		var ok bool
		var err error
		if a, ok, err = one(ctx, t, scanApproval, qApproval, string(id)); err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "approval"}
		}
		if a.State != core.ApprovalPending {
			return nil
		}
		c, err := t.call(ctx, op, a.ToolCallID)
		if err != nil {
			return err
		}
		a.State = core.ApprovalExpired
		if err := t.closeApproval(ctx, "", &a, c.session); err != nil {
			return err
		}
		if err := t.moveCall(ctx, core.ActorCancel, c, core.CallCancelled, reasonExpired); err != nil {
			return err
		}
		return t.answered(ctx, op, c.RunID)
	})
	return a, err
}

// ReconcileLate records what the host said of a call of this start when nobody
// waited for it any more: applied or absent. The call's state stays, or becomes,
// unknown; the verdict stands beside it. A call in another state, and one that
// has a verdict already, are invalid_input.
func (s *Store) ReconcileLate(ctx context.Context, id core.ToolCallID, v core.ToolVerdict) error {
	const op = "reconcile late answer"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		if v != core.VerdictApplied && v != core.VerdictAbsent {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "verdict"}
		}
		if c.State != core.CallUnknown && c.State != core.CallRunning {
			return badState(op, c.State)
		}
		have, err := all(ctx, t, scanReconciliation, qReconciliationsRun, string(c.RunID))
		if err != nil {
			return err
		}
		for _, r := range have {
			if r.call == id {
				return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "verdict"}
			}
		}
		return t.found(ctx, op, "", id, v, byRecovery)
	})
}
