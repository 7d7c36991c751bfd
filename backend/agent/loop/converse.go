package loop

import (
	"context"
	"errors"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// talk is one run of a conversation.
type talk struct {
	r     *Runtime
	t     core.Task
	clock *clock
	steps *steps
	// usage is the sum of the steps.
	usage core.Usage
	// size is how many tokens a context may have, 0 when that is not known;
	// halved says that the provider found one too long already.
	size   int
	halved bool
	// clipped says that the server cut what it was sent.
	clipped bool
	// output are the bytes that tools gave so far.
	output int
	quotes quotes
}

// converse answers a person: it asks the model, has its calls carried out and
// asks again, until an answer makes none or the budget is used up.
func (r *Runtime) converse(ctx context.Context, t core.Task, c *clock) (core.RunEnd, error) {
	k := &talk{
		r: r, t: t, clock: c, usage: core.Usage{Kind: core.UsageExact}, size: t.ContextTokens,
		steps: &steps{r: r, t: t, clean: func(answer string) string { return answer }, limit: t.Budget.Tokens},
	}
	if t.Snapshot != nil {
		k.quotes.document = t.Snapshot.Text
	}
	end, err := k.run(ctx)
	if err != nil {
		return core.RunEnd{}, err
	}
	end.Usage, end.Clipped = k.usage, k.clipped
	return end, nil
}

func (k *talk) run(ctx context.Context) (core.RunEnd, error) {
	for step := 1; step <= k.t.Budget.Steps; step++ {
		res, end, err := k.ask(ctx, step)
		if err != nil {
			return core.RunEnd{}, err
		}
		if end == nil {
			end, err = k.answer(ctx, res)
		}
		if err != nil {
			return core.RunEnd{}, err
		}
		if end != nil {
			return *end, nil
		}
	}
	return spent(ReasonSteps, fmt.Sprintf("%d steps", k.t.Budget.Steps)), nil
}

// spent is the end of a run that used up something of its budget. The detail is
// how much there was.
func spent(reason, detail string) core.RunEnd {
	end := failed(&fault.Error{Code: fault.CutOff, Op: "converse", Detail: detail})
	end.Reason = reason
	return end
}

func outOfTokens(t core.Task) core.RunEnd {
	return spent(ReasonTokens, fmt.Sprintf("%d tokens", t.Budget.Tokens))
}

// ask makes one step's request. What the provider found too long is made half
// as long and sent once more, never the same again.
func (k *talk) ask(ctx context.Context, step int) (result, *core.RunEnd, error) {
	record := context.WithoutCancel(ctx)
	for {
		h, err := k.t.Recorder.History(record, k.t.Run.SessionID)
		if err != nil {
			return result{}, nil, err
		}
		req, report, err := buildContext(k.t, h, step, k.size)
		switch {
		case fault.CodeOf(err) == fault.ContextTooLong:
			end := failed(err)
			return result{}, &end, nil
		case err != nil:
			return result{}, nil, err
		case k.steps.spent+req.PromptTokensEstimate > k.t.Budget.Tokens:
			end := outOfTokens(k.t)
			return result{}, &end, nil
		}
		res, err := k.steps.do(ctx, step, req, &report)
		if err != nil {
			return result{}, nil, err
		}
		if fault.CodeOf(res.err) != fault.ContextTooLong || k.halved || res.spoken || ctx.Err() != nil {
			if res.answer.Clipped {
				k.clipped = true
				k.r.log.Warn("the server cut the prompt", "run", k.t.Run.ID, "step", step)
			}
			k.usage = add(k.usage, res.answer.Usage)
			return res, nil, nil
		}
		k.halved, k.size = true, (report.Tokens+report.Reserve)/2
		k.r.log.Info("context was too long, making it shorter", "run", k.t.Run.ID, "step", step, "tokens", report.Tokens, "size", k.size)
		if err := k.t.Recorder.WithdrawAttempt(record, res.call); err != nil {
			return result{}, nil, err
		}
	}
}

// answer goes on with what a step came to. The end is nil when the model is to
// be asked again.
func (k *talk) answer(ctx context.Context, res result) (*core.RunEnd, error) {
	end, status := core.RunEnd{State: core.RunSucceeded}, partial
	a := res.answer
	switch {
	case told(ctx, res.err):
		end = stopped(ctx, k.t)
	case errors.Is(res.err, errTokens):
		end = outOfTokens(k.t)
	case res.err != nil:
		end = failed(res.err)
	case a.Finish == core.FinishRefusal || a.Finish == core.FinishContentFilter:
		end = failed(&fault.Error{Code: fault.Refused, Op: "converse", Detail: a.Refusal})
	case a.Finish == core.FinishMaxTokens:
		// Calls of it may be cut off in the middle: none is carried out.
		end = failed(fault.New(fault.CutOff, "converse", nil))
	case len(a.Calls) > 0:
		// What came decides, not the word that it ended with.
		return k.act(ctx, res)
	default:
		status = complete
	}
	sayWith(&end, a, status)
	return &end, nil
}

// sayWith puts an answer's words into an end; with a whole one goes what the
// provider wants back.
func sayWith(end *core.RunEnd, a core.Answer, status string) {
	say(end, a.Text, status)
	if end.Message != nil && status == complete {
		attach(end.Message, a.Envelopes)
	}
}

// attach gives opaque data to the parts of a message.
func attach(m *core.Message, envelopes []core.Envelope) {
	for i := range min(len(m.Parts), len(envelopes)) {
		m.Parts[i].Envelope = &envelopes[i]
	}
}
