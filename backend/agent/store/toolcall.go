package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
)

// CommitStep records the assistant's message of a step that goes on, and the
// calls that it asks for as proposed: one commit, so that no call is without
// its message. The message has a tool_call part for each call, in the same
// order; what has no id yet gets one, and the part and its call the same. The
// inputs must be normalised already. It returns the calls with id, place in the
// run and digest. Attempt is the model call's whose answer it is; a call that
// names no model call gets that one. A run that was told to stop, or has been
// ended for it, gives cancelled; another one that is not running, and a message
// that does not fit, invalid_input.
func (s *Store) CommitStep(ctx context.Context, id core.RunID, attempt int, m core.Message, calls []core.ToolCall) ([]core.ToolCall, error) {
	const op = "commit step"
	m.Parts, calls = slices.Clone(m.Parts), slices.Clone(calls)
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, id)
		if err != nil {
			return err
		}
		if err := open(op, run); err != nil {
			return err
		}
		if m.Role != core.RoleAssistant || len(m.Parts) == 0 {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "message"}
		}
		if !t.pair(m.Parts, calls) {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "calls"}
		}
		if err := t.addMessage(ctx, run, m, statusComplete, attempt); err != nil {
			return err
		}
		from, _, err := one(ctx, t, scanString, qModelCallOfAttempt, string(id), attempt)
		if err != nil {
			return err
		}
		for i := range calls {
			c := &calls[i]
			c.RunID = id
			if c.ModelCallID == "" {
				c.ModelCallID = from
			}
			if err := t.propose(ctx, op, run, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	crash.At("after_proposed")
	return calls, nil
}

// pair gives the calls and the tool_call parts of their message the same ids.
// It reports false when they do not fit together.
func (t *tx) pair(parts []core.Part, calls []core.ToolCall) bool {
	n := 0
	for i := range parts {
		p := &parts[i]
		if p.Type != core.PartToolCall {
			continue
		}
		if n == len(calls) {
			return false
		}
		c := &calls[n]
		n++
		switch {
		case c.ID == "" && p.ToolCallID == "":
			c.ID = core.ToolCallID(t.s.cfg.NewID())
		case c.ID == "":
			c.ID = p.ToolCallID
		case p.ToolCallID != "" && p.ToolCallID != c.ID:
			return false
		}
		p.ToolCallID = c.ID
	}
	return n == len(calls)
}

// propose records a call as proposed and fills in what the store gives.
func (t *tx) propose(ctx context.Context, op string, run core.Run, c *core.ToolCall) error {
	if !c.Kind.Valid() || c.Name == "" || !json.Valid(c.Input) {
		return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "call"}
	}
	ord, _, err := one(ctx, t, scanInt, qNextCall, string(c.RunID))
	if err != nil {
		return err
	}
	digest := core.InputDigest(c.Input)
	*c = core.ToolCall{
		ID: c.ID, RunID: c.RunID, ModelCallID: c.ModelCallID, Ord: int(ord), ProviderCallID: c.ProviderCallID,
		Name: c.Name, Kind: c.Kind, Input: c.Input, InputDigest: hex.EncodeToString(digest[:]),
		State: core.CallProposed, Attempt: max(c.Attempt, 1), ProposedAtMs: t.now,
	}
	if err := t.update(ctx, qInsertCall, string(c.ID), string(c.RunID), orNull(c.ModelCallID), c.Ord,
		orNull(c.ProviderCallID), c.Name, string(c.Kind), string(c.Input), digest[:], c.Attempt, t.now); err != nil {
		return err
	}
	return t.emit(ctx, core.EventToolChanged, run.SessionID, run.ID, c.ID, *c)
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
		return t.endCall(ctx, core.ActorPolicy, c, core.CallEnd{State: core.CallFailed, Reason: reason, Result: result}, "")
	})
}

// ReadyCall stores the intent of a call (R6): after it, and not before, the
// call may be started. The intent must be of the call's own tool and input,
// else it is stale_approval. A waiting call needs an allowing approval of the
// same input. A write that was never asked about is invalid_input, but for
// proposePatch, which has no effect outside the store.
func (s *Store) ReadyCall(ctx context.Context, id core.ToolCallID, in core.Intent) error {
	const op = "ready tool call"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
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
		return t.emitCall(ctx, id)
	})
	if err == nil {
		crash.At("after_ready")
	}
	return err
}

// StartCall commits that a ready call is about to be carried out; nothing may
// be done before it returned. A run that was told to stop gives cancelled.
func (s *Store) StartCall(ctx context.Context, id core.ToolCallID) error {
	const op = "start tool call"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
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
		return t.emitCall(ctx, id)
	})
	if err == nil {
		crash.At("after_running")
	}
	return err
}

// FinishCall commits the result of a running call, with its proposal and the
// reference to its artifact. It is taken also while the run is cancelling: what
// really happened is kept. Where the whole result is to be kept, its file is
// durable before; when there is no room for it, or it cannot be written, the
// result is committed without it.
func (s *Store) FinishCall(ctx context.Context, id core.ToolCallID, end core.CallEnd) error {
	const op = "finish tool call"
	kept, err := s.keepWhole(ctx, op, id, end)
	if err != nil {
		return err
	}
	err = s.change(ctx, op, func(ctx context.Context, t *tx) error {
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
		if kept.ID != "" {
			if err := t.update(ctx, qPublishArtifact, kept.Bytes, kept.sum[:], string(kept.ID)); err != nil {
				return err
			}
		}
		return t.endCall(ctx, core.ActorExecutor, c, end, kept.ID)
	})
	if err != nil {
		if kept.ID != "" {
			s.forget(ctx, kept.ID)
		}
		return err
	}
	if end.Proposal != nil {
		crash.At("after_patch")
	}
	crash.At("after_result")
	return nil
}

// ToolCalls returns the calls of a run in order; never nil.
func (s *Store) ToolCalls(ctx context.Context, run core.RunID) ([]core.ToolCall, error) {
	rows, err := all(ctx, plain{s.reader}, scanCall, qCallsOfRun, string(run))
	if err != nil {
		return nil, readFault("get tool calls", err)
	}
	return plainCalls(rows), nil
}

// open refuses a run that takes nothing new.
func open(op string, run core.Run) error {
	switch run.State {
	case core.RunRunning:
		return nil
	case core.RunCancelling, core.RunCancelled, core.RunInterrupted:
		// Interrupted: a shutdown did not wait for it any longer.
		return fault.New(fault.Cancelled, op, nil)
	case core.RunQueued, core.RunWaiting, core.RunSucceeded, core.RunFailed:
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
	return t.emitCall(ctx, c.ID)
}

// endCall moves a call to a final state with its result, and the artifact that
// holds the whole of it.
func (t *tx) endCall(ctx context.Context, by core.Actor, c callRow, end core.CallEnd, whole core.ArtifactID) error {
	const op = "end tool call"
	if !end.State.Final() || !core.MayCall(by, c.State, end.State) {
		return badState(op, c.State)
	}
	post, err := digestOrNull(op, end.PostDigest)
	if err != nil {
		return err
	}
	facts, err := encode(end.Facts)
	if err != nil {
		return err
	}
	if err := t.update(ctx, qEndCall, string(end.State), orNull(end.Reason), post, end.Result, end.Truncated, facts, orNull(whole), t.now, string(c.ID)); err != nil {
		return err
	}
	return t.emitCall(ctx, c.ID)
}

// emitCall tells of a call as it now stands.
func (t *tx) emitCall(ctx context.Context, id core.ToolCallID) error {
	c, err := t.call(ctx, "emit tool call", id)
	if err != nil {
		return err
	}
	return t.emit(ctx, core.EventToolChanged, c.session, c.RunID, c.ID, c.ToolCall)
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
