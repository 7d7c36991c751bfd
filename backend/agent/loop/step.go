package loop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
	"galley/backend/provider"
)

// steps asks the model for one run.
type steps struct {
	r *Runtime
	t core.Task
	// clean turns an answer so far into the text that is shown. It is called
	// by one goroutine at a time.
	clean func(answer string) string
	// attempts counts the model calls of the run.
	attempts int
	// spent are the tokens of the run so far, estimated where the provider does
	// not count; limit is the most there may be, 0 for no limit.
	spent, limit int
}

// errTokens is the cause of a stream that used up the tokens of its run.
var errTokens = errors.New("the run used up its tokens")

// result is what a step came to.
type result struct {
	answer core.Answer
	// err is the fault that ended the last attempt; nil when its answer is
	// whole. The answer then holds what had come.
	err error
	// spoken says that some of it was visible.
	spoken bool
	// call is the last attempt.
	call core.ModelCall
}

// do asks until an answer is whole, a visible word came, or asking again cannot
// help. An error means that a fact could not be recorded. The report is that of
// the request; nil for none.
func (s *steps) do(ctx context.Context, step int, req core.Request, report *core.ContextReport) (result, error) {
	// What happened is recorded also after a cancel.
	record := context.WithoutCancel(ctx)
	digest, err := digestOf(req)
	if err != nil {
		return result{}, err
	}
	for try := 1; ; try++ {
		s.attempts++
		call, err := s.t.Recorder.BeginModelCall(record, core.ModelCall{
			RunID: s.t.Run.ID, Step: step, Attempt: s.attempts, Phase: core.PhasePrepared, RequestDigest: digest,
			Context: report,
		})
		switch {
		case fault.CodeOf(err) == fault.Cancelled:
			return result{err: err}, nil // told to stop before our ctx was
		case err != nil:
			return result{}, err
		}
		res, err := s.attempt(ctx, &call, req)
		if err != nil || res.err == nil || ctx.Err() != nil {
			return res, err
		}
		wait, again := provider.RetryDelay(res.err, try, res.spoken, s.r.random())
		if !again {
			return res, nil
		}
		s.r.log.Info("model call failed, asking again",
			"run", s.t.Run.ID, "step", step, "attempt", s.attempts, "code", fault.CodeOf(res.err), "wait", wait)
		if err := s.t.Recorder.WithdrawAttempt(record, call); err != nil {
			return result{}, err
		}
		if !sleep(ctx, wait) {
			return res, nil
		}
	}
}

// attempt makes one recorded call and keeps its record up.
func (s *steps) attempt(ctx context.Context, call *core.ModelCall, req core.Request) (result, error) {
	record := context.WithoutCancel(ctx)
	update := func(phase core.CallPhase) error {
		call.Phase = phase
		return s.t.Recorder.UpdateModelCall(record, *call)
	}
	crash.At("before_request")
	if err := update(core.PhaseSent); err != nil {
		return result{}, err
	}
	crash.At("request_sent")
	streaming, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var recordErr error
	came := 0 // bytes
	p := s.r.preview(record, s.t, call.Attempt, s.clean)
	answer, err := s.t.Model.Stream(streaming, req, func(d core.Delta) {
		if streaming.Err() != nil {
			return // late words start nothing (R7)
		}
		if call.Phase == core.PhaseSent {
			if recordErr = update(core.PhaseStreaming); recordErr != nil {
				cancel(recordErr)
				return
			}
		}
		p.delta(d)
		came += len(d.Text) + len(d.Reasoning)
		if s.limit > 0 && s.spent+req.PromptTokensEstimate+came/4 > s.limit {
			cancel(errTokens)
		}
	})
	words := p.end()
	if recordErr != nil {
		return result{}, recordErr
	}
	if answer.Text == "" && err != nil {
		answer.Text = words
	}
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(streaming), errTokens) {
		err = fault.New(fault.CutOff, "converse", errTokens)
	}
	res := result{answer: answer, err: err, spoken: s.clean(answer.Text) != ""}
	phase := core.PhaseDone
	if err != nil {
		phase = core.PhaseFailed
		call.ErrorClass = string(fault.CodeOf(err))
		// What the provider counted is not known.
		res.answer.Usage = core.Usage{Kind: core.UsageUnknown}
	} else {
		call.FinishReason = string(answer.Finish)
		res.answer.Usage = counted(req, answer)
	}
	call.Usage = res.answer.Usage
	switch {
	case known(call.Usage.Kind):
		s.spent += call.Usage.Input + call.Usage.Output
	case call.Phase == core.PhaseStreaming:
		s.spent += req.PromptTokensEstimate + answerTokens(answer)
	}
	if err := update(phase); err != nil {
		return result{}, err
	}
	res.call = *call
	return res, nil
}

// counted is the usage of a whole answer: as the provider says, else as it is
// estimated where the request was.
func counted(req core.Request, a core.Answer) core.Usage {
	if known(a.Usage.Kind) || req.PromptTokensEstimate == 0 {
		return a.Usage
	}
	return core.Usage{Kind: core.UsageEstimated, Input: req.PromptTokensEstimate, Output: answerTokens(a)}
}

func digestOf(req core.Request) ([32]byte, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return [32]byte{}, fault.New(fault.Internal, "digest request", err)
	}
	return sha256.Sum256(b), nil
}

// sleep waits and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
