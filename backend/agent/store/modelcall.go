package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// BeginModelCall records a call as prepared, with what its request holds, and
// returns it with its id. It gives cancelled when the run was told to stop, so
// that nothing new is sent; a run in another state than running, and a step and
// attempt that exist, are invalid_input.
func (s *Store) BeginModelCall(ctx context.Context, call core.ModelCall) (core.ModelCall, error) {
	const op = "begin model call"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, call.RunID)
		if err != nil {
			return err
		}
		if err := open(op, run); err != nil {
			return err
		}
		_, taken, err := one(ctx, t, scanModelCall, qModelCallOf, string(call.RunID), call.Step, call.Attempt)
		if err != nil {
			return err
		}
		if taken {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "attempt exists"}
		}
		if call.ID == "" {
			call.ID = s.cfg.NewID()
		}
		call.Phase = core.PhasePrepared
		if err := t.update(ctx, qInsertModelCall, call.ID, string(call.RunID), call.Step, call.Attempt, call.RequestDigest[:], t.now); err != nil {
			return err
		}
		begun := core.ModelCallBegun{Step: call.Step, Attempt: call.Attempt}
		if call.Context != nil {
			begun.ContextTokens, begun.ContextSize = call.Context.Tokens, call.Context.Size
			if err := t.keepContext(ctx, call); err != nil {
				return err
			}
		}
		return t.emit(ctx, core.EventModelCallBegun, run.SessionID, run.ID, "", begun)
	})
	return call, err
}

// keepContext stores what a request holds. The first of a run lets those of the
// oldest run go, once there are enough.
func (t *tx) keepContext(ctx context.Context, call core.ModelCall) error {
	report := *call.Context
	report.RunID, report.Step = call.RunID, call.Step
	if report.Parts == nil {
		report.Parts = []core.ContextPart{}
	}
	r, err := encode(report)
	if err != nil {
		return err
	}
	have, _, err := one(ctx, t, scanInt, qHasContext, string(call.RunID))
	if err != nil {
		return err
	}
	if err := t.update(ctx, qInsertContext, call.ID, string(call.RunID), r); err != nil {
		return err
	}
	if have == 0 {
		_, err = t.exec(ctx, qDropContexts, t.s.cfg.KeepContexts)
	}
	return err
}

// UpdateModelCall records a later phase, with the finish, usage and error class
// that belong to it; the last one is told. A step back is invalid_input.
func (s *Store) UpdateModelCall(ctx context.Context, call core.ModelCall) error {
	const op = "update model call"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		have, err := t.modelCall(ctx, op, call.ID)
		if err != nil {
			return err
		}
		if !core.CanPhase(have.Phase, call.Phase) {
			return badState(op, have.Phase)
		}
		run, err := t.runByID(ctx, op, have.RunID)
		if err != nil {
			return err
		}
		call.Step, call.Attempt = have.Step, have.Attempt
		return t.phase(ctx, run, call)
	})
}

// WithdrawAttempt voids the preview of a failed attempt: the call is failed if
// it was not already, its draft goes, and the event tells whoever shows the
// preview.
func (s *Store) WithdrawAttempt(ctx context.Context, call core.ModelCall) error {
	const op = "withdraw attempt"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		have, err := t.modelCall(ctx, op, call.ID)
		if err != nil {
			return err
		}
		run, err := t.runByID(ctx, op, have.RunID)
		if err != nil {
			return err
		}
		switch {
		case !have.Phase.Final():
			call.Step, call.Attempt, call.Phase = have.Step, have.Attempt, core.PhaseFailed
			if err := t.phase(ctx, run, call); err != nil {
				return err
			}
		case have.Phase == core.PhaseDone:
			return badState(op, have.Phase)
		}
		if _, err := t.exec(ctx, qDropDraft, string(run.ID)); err != nil {
			return err
		}
		return t.emit(ctx, core.EventAttemptWithdrawn, run.SessionID, run.ID, "", core.AttemptWithdrawn{
			Step: have.Step, Attempt: have.Attempt, Code: call.ErrorClass,
		})
	})
}

func (t *tx) modelCall(ctx context.Context, op, id string) (core.ModelCall, error) {
	c, ok, err := one(ctx, t, scanModelCall, qModelCall, id)
	if err == nil && !ok {
		err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "model call"}
	}
	return c, err
}

// phase writes a phase, and the event of one that is final.
func (t *tx) phase(ctx context.Context, run core.Run, call core.ModelCall) error {
	if call.Usage.Kind == "" {
		call.Usage.Kind = core.UsageUnknown
	}
	usage, err := encode(call.Usage)
	if err != nil {
		return err
	}
	ended := int64(0)
	if call.Phase.Final() {
		ended = t.now
	}
	if err := t.update(ctx, qUpdateModelCall, string(call.Phase), orNull(call.FinishReason), usage, string(call.Usage.Kind),
		orNull(call.ErrorClass), timeOrNull(ended), call.ID); err != nil || !call.Phase.Final() {
		return err
	}
	return t.emit(ctx, core.EventModelCallEnded, run.SessionID, run.ID, "", core.ModelCallEnded{
		Step: call.Step, Attempt: call.Attempt, Phase: call.Phase, FinishReason: call.FinishReason,
		Usage: call.Usage, Code: call.ErrorClass,
	})
}
