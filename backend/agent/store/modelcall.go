package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// BeginModelCall records a call as prepared and returns it with its id. It
// gives cancelled when the run was told to stop, so that nothing new is sent;
// a run in another state than running, and a step and attempt that exist, are
// invalid_input.
func (s *Store) BeginModelCall(ctx context.Context, call core.ModelCall) (core.ModelCall, error) {
	const op = "begin model call"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, call.RunID)
		if err != nil {
			return err
		}
		if run.State == core.RunCancelling || run.State == core.RunCancelled {
			return fault.New(fault.Cancelled, op, nil)
		}
		if run.State != core.RunRunning {
			return badState(op, run.State)
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
		return t.update(ctx, qInsertModelCall, call.ID, string(call.RunID), call.Step, call.Attempt, call.RequestDigest[:], t.now)
	})
	return call, err
}

// UpdateModelCall records a later phase, with the finish, usage and error class
// that belong to it. A step back is invalid_input.
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
		return t.phase(ctx, call)
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
		switch {
		case !have.Phase.Final():
			call.Phase = core.PhaseFailed
			if err := t.phase(ctx, call); err != nil {
				return err
			}
		case have.Phase == core.PhaseDone:
			return badState(op, have.Phase)
		}
		run, err := t.runByID(ctx, op, have.RunID)
		if err != nil {
			return err
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

func (t *tx) phase(ctx context.Context, call core.ModelCall) error {
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
	return t.update(ctx, qUpdateModelCall, string(call.Phase), orNull(call.FinishReason), usage, string(call.Usage.Kind),
		orNull(call.ErrorClass), timeOrNull(ended), call.ID)
}
