package store

import (
	"context"
	"encoding/hex"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
)

// reasonDenied is why a call failed that a person refused.
const reasonDenied = "permission_denied"

// AskApproval makes a proposed call wait for a person, and its run with it. The
// approval is bound to the call's input as it is stored.
func (s *Store) AskApproval(ctx context.Context, a core.Approval) (core.Approval, error) {
	const op = "ask approval"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, a.ToolCallID)
		if err != nil {
			return err
		}
		run, err := t.runByID(ctx, op, c.RunID)
		if err != nil {
			return err
		}
		if run.State != core.RunWaiting {
			if err := open(op, run); err != nil {
				return err
			}
		}
		if err := t.moveCall(ctx, core.ActorPolicy, c, core.CallWaiting, ""); err != nil {
			return err
		}
		digest, err := hex.DecodeString(c.InputDigest)
		if err != nil {
			return err
		}
		if a.ID == "" {
			a.ID = core.ApprovalID(s.cfg.NewID())
		}
		summary, err := encode(a.Summary)
		if err != nil {
			return err
		}
		a.RunID, a.InputDigest, a.State, a.CreatedAtMs, a.DecidedAtMs = run.ID, c.InputDigest, core.ApprovalPending, t.now, 0
		if err := t.update(ctx, qInsertApproval, string(a.ID), string(c.ID), string(run.ID), digest, string(a.Rule), summary, timeOrNull(a.ExpiresAtMs), t.now); err != nil {
			return err
		}
		if err := t.emit(ctx, core.EventApprovalAsked, run.SessionID, run.ID, c.ID, a); err != nil {
			return err
		}
		if run.State == core.RunWaiting {
			return nil
		}
		if err := t.update(ctx, qMoveRun, string(core.RunWaiting), nil, string(run.ID)); err != nil {
			return err
		}
		return t.emitRun(ctx, run, core.RunChanged{State: core.RunWaiting})
	})
	if err == nil {
		crash.At("after_approval_asked")
	}
	return a, err
}

// DecideApproval records a person's answer; idempotent by command. An answer
// that is late, repeated by another command, or bound to another call or input
// is stale_approval (T5). allow_session for a write is invalid_input (T4). A
// denied call has failed; an allowed one still waits, for ReadyCall.
func (s *Store) DecideApproval(ctx context.Context, cmd core.CommandID, id core.ApprovalID, call core.ToolCallID, inputDigest string, d core.Decision) (core.Approval, error) {
	const op = "decide approval"
	var a core.Approval
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id, call, inputDigest, d)
		if err != nil {
			return err
		}
		var known decided
		found, err := t.command(ctx, op, cmd, commandApproval, digest, &known)
		if err != nil {
			return err
		}
		var ok bool
		if a, ok, err = one(ctx, t, scanApproval, qApproval, string(id)); err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "approval"}
		}
		if found {
			return nil // a decision is final: this is what it came to
		}
		late := a.ExpiresAtMs != 0 && t.now >= a.ExpiresAtMs
		if a.State != core.ApprovalPending || a.ToolCallID != call || a.InputDigest != inputDigest || late {
			return fault.New(fault.StaleApproval, op, nil)
		}
		c, err := t.call(ctx, op, call)
		if err != nil {
			return err
		}
		if !d.ValidFor(c.Kind) {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "decision"}
		}
		if err := t.decideApproval(ctx, cmd, &a, c, d); err != nil {
			return err
		}
		return t.done(ctx, cmd, commandApproval, digest, c.session, decided{a.ID})
	})
	if err == nil {
		crash.At("after_approval_decided")
	}
	return a, err
}

// decided is what a command that decided an approval stores: not the approval,
// which quotes documents and goes with its session.
type decided struct {
	ID core.ApprovalID `json:"id"`
}

func (t *tx) decideApproval(ctx context.Context, cmd core.CommandID, a *core.Approval, c callRow, d core.Decision) error {
	switch d {
	case core.AllowOnce:
		a.State = core.ApprovalAllowedOnce
	case core.AllowSession:
		a.State = core.ApprovalAllowedSession
	case core.Deny:
		a.State = core.ApprovalDenied
	}
	if err := t.closeApproval(ctx, cmd, a, c.session); err != nil {
		return err
	}
	if d == core.AllowSession {
		if err := t.update(ctx, qInsertGrant, t.s.cfg.NewID(), string(c.session), c.Name, string(a.ID), t.now); err != nil {
			return err
		}
	}
	if d == core.Deny {
		if err := t.endCall(ctx, core.ActorApproval, c, core.CallEnd{State: core.CallFailed, Reason: reasonDenied, Result: reasonDenied}, ""); err != nil {
			return err
		}
	}
	return t.answered(ctx, "decide approval", c.RunID)
}

// answered lets a run go on when none of its questions is open any more.
func (t *tx) answered(ctx context.Context, op string, id core.RunID) error {
	others, err := all(ctx, t, scanApproval, qApprovalsPending, string(id))
	if err != nil || len(others) > 0 {
		return err
	}
	run, err := t.runByID(ctx, op, id)
	if err != nil {
		return err
	}
	return t.resume(ctx, run)
}

// closeApproval ends a pending approval and tells so.
func (t *tx) closeApproval(ctx context.Context, cmd core.CommandID, a *core.Approval, session core.SessionID) error {
	a.DecidedAtMs = t.now
	if err := t.update(ctx, qDecideApproval, string(a.State), orNull(cmd), t.now, string(a.ID)); err != nil {
		return err
	}
	return t.emit(ctx, core.EventApprovalDecided, session, a.RunID, a.ToolCallID, *a)
}

// Granted reports whether a person allowed a tool for the session.
func (s *Store) Granted(ctx context.Context, session core.SessionID, tool string) (bool, error) {
	n, _, err := one(ctx, plain{s.reader}, scanInt, qGranted, string(session), tool)
	if err != nil {
		return false, readFault("get grant", err)
	}
	return n > 0, nil
}
