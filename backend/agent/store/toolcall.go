package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// reasonDenied is why a call failed that a person refused.
const reasonDenied = "permission_denied"

// ProposeCall records a call that a model asked for and returns it with its id,
// its place in the run and the digest of its input, which must be normalised
// already. Only a run that is running takes one; one that was told to stop
// gives cancelled.
func (s *Store) ProposeCall(ctx context.Context, call core.ToolCall) (core.ToolCall, error) {
	const op = "propose tool call"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, call.RunID)
		if err != nil {
			return err
		}
		if err := open(op, run); err != nil {
			return err
		}
		if !call.Kind.Valid() || call.Name == "" || !json.Valid(call.Input) {
			return &fault.Error{Code: fault.InvalidInput, Op: op}
		}
		ord, _, err := one(ctx, t, scanInt, qNextCall, string(call.RunID))
		if err != nil {
			return err
		}
		if call.ID == "" {
			call.ID = core.ToolCallID(s.cfg.NewID())
		}
		digest := core.InputDigest(call.Input)
		call.InputDigest = hex.EncodeToString(digest[:])
		call.Ord, call.State, call.Reason, call.ProposedAtMs = int(ord), core.CallProposed, "", t.now
		call.Attempt = max(call.Attempt, 1)
		if err := t.update(ctx, qInsertCall, string(call.ID), string(call.RunID), orNull(call.ModelCallID), call.Ord,
			orNull(call.ProviderCallID), call.Name, string(call.Kind), string(call.Input), digest[:], call.Attempt, t.now); err != nil {
			return err
		}
		return t.emit(ctx, core.EventToolChanged, run.SessionID, run.ID, call.ID, call)
	})
	return call, err
}

// RefuseCall ends a proposed call that the policy or the schema refuses
// (reason invalid_input or policy_denied). The result is what the model is told.
func (s *Store) RefuseCall(ctx context.Context, id core.ToolCallID, reason, result string) error {
	const op = "refuse tool call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		return t.endCall(ctx, core.ActorPolicy, c, core.CallEnd{State: core.CallFailed, Reason: reason, Result: result})
	})
}

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
		found, err := t.command(ctx, op, cmd, commandApproval, digest, &a)
		if err != nil || found {
			return err
		}
		var ok bool
		if a, ok, err = one(ctx, t, scanApproval, qApproval, string(id)); err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "approval"}
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
		return t.done(ctx, cmd, commandApproval, digest, c.session, a)
	})
	return a, err
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
		if err := t.endCall(ctx, core.ActorApproval, c, core.CallEnd{State: core.CallFailed, Reason: reasonDenied, Result: reasonDenied}); err != nil {
			return err
		}
	}
	others, err := all(ctx, t, scanApproval, qApprovalsPending, string(c.RunID))
	if err != nil || len(others) > 0 {
		return err
	}
	run, err := t.runByID(ctx, "decide approval", c.RunID)
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

// ReadyCall stores the intent of a call (R6): after it, and not before, the
// call may be started. The intent must be of the call's own tool and input,
// else it is stale_approval. A waiting call needs an allowing approval of the
// same input. A write that was never asked about is invalid_input, but for
// proposePatch, which has no effect outside the store.
func (s *Store) ReadyCall(ctx context.Context, id core.ToolCallID, in core.Intent) error {
	const op = "ready tool call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(in.Input)
		if in.Tool != c.Name || in.InputDigest != c.InputDigest || hex.EncodeToString(sum[:]) != c.InputDigest {
			return fault.New(fault.StaleApproval, op, nil)
		}
		actor := core.ActorPolicy
		if c.State == core.CallWaiting {
			actor = core.ActorApproval
			allowed, _, err := one(ctx, t, scanInt, qAllowed, string(id), c.InputDigest)
			if err != nil {
				return err
			}
			if allowed == 0 {
				return fault.New(fault.StaleApproval, op, nil)
			}
		} else if c.Kind != core.ToolRead && classOf(c.ToolCall) != classPatch {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "a write asks first"}
		}
		if !core.MayCall(actor, c.State, core.CallReady) {
			return badState(op, c.State)
		}
		pre, err := digestOrNull(op, in.PreDigest)
		if err != nil {
			return err
		}
		post, err := digestOrNull(op, in.PostDigest)
		if err != nil {
			return err
		}
		intent, err := encode(in)
		if err != nil {
			return err
		}
		if err := t.update(ctx, qReadyCall, intent, orNull(in.IdemKey), pre, post, t.now, string(id)); err != nil {
			return err
		}
		return t.emitCall(ctx, core.EventToolChanged, id)
	})
}

// StartCall commits that a ready call is about to be carried out; nothing may
// be done before it returned. A run that was told to stop gives cancelled.
func (s *Store) StartCall(ctx context.Context, id core.ToolCallID) error {
	const op = "start tool call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
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
		if !core.MayCall(core.ActorExecutor, c.State, core.CallRunning) {
			return badState(op, c.State)
		}
		if err := t.update(ctx, qRunningCall, t.now, string(id)); err != nil {
			return err
		}
		return t.emitCall(ctx, core.EventToolChanged, id)
	})
}

// FinishCall commits the result of a running call, and its proposal with it.
// It is taken also while the run is cancelling: what really happened is kept.
func (s *Store) FinishCall(ctx context.Context, id core.ToolCallID, end core.CallEnd) error {
	const op = "finish tool call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		if end.Proposal != nil && end.State == core.CallSucceeded {
			p := *end.Proposal
			p.RunID, p.ToolCallID, p.Origin = c.RunID, c.ID, core.OriginTool
			if err := t.addProposal(ctx, op, c.session, p); err != nil {
				return err
			}
		}
		return t.endCall(ctx, core.ActorExecutor, c, end)
	})
}

// ToolCalls returns the calls of a run in order; never nil.
func (s *Store) ToolCalls(ctx context.Context, run core.RunID) ([]core.ToolCall, error) {
	rows, err := all(ctx, plain{s.reader}, scanCall, qCallsOfRun, string(run))
	if err != nil {
		return nil, readFault("get tool calls", err)
	}
	calls := make([]core.ToolCall, len(rows))
	for i, r := range rows {
		calls[i] = r.ToolCall
	}
	return calls, nil
}

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
		reason := reasonReconciled
		switch to {
		case core.CallFailed:
			reason = reasonNoEffect
		case core.CallUnknown:
			reason = reasonRunnerLost
		case core.CallSucceeded, core.CallProposed, core.CallWaiting, core.CallReady, core.CallRunning, core.CallCancelled:
		}
		if err := t.moveCall(ctx, core.ActorRecovery, c, to, reason); err != nil {
			return err
		}
		if err := t.emitCall(ctx, core.EventToolReconciled, id); err != nil {
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

// open refuses a run that takes nothing new.
func open(op string, run core.Run) error {
	switch run.State {
	case core.RunRunning:
		return nil
	case core.RunCancelling, core.RunCancelled:
		return fault.New(fault.Cancelled, op, nil)
	case core.RunQueued, core.RunWaiting, core.RunSucceeded, core.RunFailed, core.RunInterrupted:
	}
	return badState(op, run.State)
}

func (t *tx) call(ctx context.Context, op string, id core.ToolCallID) (callRow, error) {
	c, ok, err := one(ctx, t, scanCall, qCall, string(id))
	if err == nil && !ok {
		err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "tool call"}
	}
	return c, err
}

// dropCalls cancels the calls of a run that have not begun, and closes the
// questions that are still open.
func (t *tx) dropCalls(ctx context.Context, run core.Run, reason string, approvals core.ApprovalState) error {
	pending, err := all(ctx, t, scanApproval, qApprovalsPending, string(run.ID))
	if err != nil {
		return err
	}
	for _, a := range pending {
		a.State = approvals
		if err := t.closeApproval(ctx, "", &a, run.SessionID); err != nil {
			return err
		}
	}
	calls, err := all(ctx, t, scanCall, qCallsOpen, string(run.ID))
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.State == core.CallRunning {
			continue
		}
		if err := t.moveCall(ctx, core.ActorCancel, c, core.CallCancelled, reason); err != nil {
			return err
		}
	}
	return nil
}

// moveCall changes the state of a call and tells so.
func (t *tx) moveCall(ctx context.Context, by core.Actor, c callRow, to core.ToolCallState, reason string) error {
	if !core.MayCall(by, c.State, to) {
		return badState("move tool call", c.State)
	}
	ended := int64(0)
	if to.Final() {
		ended = t.now
	}
	if err := t.update(ctx, qMoveCall, string(to), orNull(reason), timeOrNull(ended), string(c.ID)); err != nil {
		return err
	}
	return t.emitCall(ctx, core.EventToolChanged, c.ID)
}

// endCall moves a call to a final state with its result.
func (t *tx) endCall(ctx context.Context, by core.Actor, c callRow, end core.CallEnd) error {
	const op = "end tool call"
	if !end.State.Final() || !core.MayCall(by, c.State, end.State) {
		return badState(op, c.State)
	}
	post, err := digestOrNull(op, end.PostDigest)
	if err != nil {
		return err
	}
	if err := t.update(ctx, qEndCall, string(end.State), orNull(end.Reason), post, end.Result, end.Truncated, t.now, string(c.ID)); err != nil {
		return err
	}
	return t.emitCall(ctx, core.EventToolChanged, c.ID)
}

// emitCall emits an event with the call as it now stands.
func (t *tx) emitCall(ctx context.Context, typ core.EventType, id core.ToolCallID) error {
	c, err := t.call(ctx, "emit tool call", id)
	if err != nil {
		return err
	}
	return t.emit(ctx, typ, c.session, c.RunID, c.ID, c.ToolCall)
}

// digestOrNull decodes a hex digest; empty becomes NULL.
func digestOrNull(op, d string) (any, error) {
	if d == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(d)
	if err != nil || len(b) != sha256.Size {
		return nil, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "digest"}
	}
	return b, nil
}
