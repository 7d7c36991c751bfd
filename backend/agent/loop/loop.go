// Package loop is the built-in core.Runtime: it carries out a run by asking a
// model, shows what comes, asks again where that can help, has the tools carried
// out that the model calls, and turns the last answer into the run's end.
//
// It holds no state between runs. One run is one call of Run, whose goroutines
// end with it. Nothing here writes to a document: a rewrite ends as a Proposal,
// and what tools do is the host's.
//
// Each step of a conversation builds its context anew from what is stored
// (buildContext), asks, commits the answer with the calls it makes, and then
// carries these out one after the other, in their order. What a tool says is
// the call's result, whatever it is; only an outcome that nobody knows ends the
// run.
//
// The invariants that matter: a request is sent only after its model call was
// recorded, and never again once a visible word of an attempt was shown. A tool
// is started only after its intent and its start were recorded, calls of an
// answer that broke off never are, and every call that was started is recorded
// as ended, also when the run is being stopped.
package loop

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// Name is what sessions and runs of this runtime store.
const Name = "native"

// The shortest times between two previews of a run, and between two drafts.
const (
	previewEvery = 33 * time.Millisecond
	draftEvery   = time.Second
)

// The reasons of a run that ended by a limit of its budget: its time, its
// steps, its tokens, the bytes that tools gave, or tries to quote one passage.
const (
	ReasonTime   = "budget_time"
	ReasonSteps  = "budget_steps"
	ReasonTokens = "budget_tokens"
	ReasonOutput = "budget_tool_output"
	ReasonQuotes = "budget_quotes"
)

// ReasonUnknown is that of a run with a call whose outcome nobody knows.
const ReasonUnknown = "unknown_outcome"

// errTime is the cause of a ctx whose run used up its time.
var errTime = errors.New("the run used up its time")

// Config configures a Runtime. Only Logger is needed.
type Config struct {
	Logger *slog.Logger
	// Now is the clock of what is stored; nil is time.Now.
	Now func() time.Time
	// Random gives numbers in [0,1) that spread retries; nil is random.
	Random func() float64
}

// Runtime is the built-in core.Runtime. It may carry out many runs at a time.
type Runtime struct {
	log    *slog.Logger
	now    func() time.Time
	random func() float64
}

var _ core.Runtime = (*Runtime)(nil)

// New returns a Runtime.
func New(cfg Config) *Runtime {
	r := &Runtime{log: cfg.Logger, now: cfg.Now, random: cfg.Random}
	if r.now == nil {
		r.now = time.Now
	}
	if r.random == nil {
		r.random = rand.Float64
	}
	return r
}

// Name implements core.Runtime.
func (r *Runtime) Name() string { return Name }

// Run implements core.Runtime.
func (r *Runtime) Run(ctx context.Context, t core.Task) (core.RunEnd, error) {
	ctx, clock, stop := withClock(ctx, time.Duration(t.Budget.TimeMs)*time.Millisecond)
	defer stop()
	if t.Run.Kind == core.KindRewrite {
		return r.rewrite(ctx, t)
	}
	return r.converse(ctx, t, clock)
}

// failed is the end of a run that met a fault.
func failed(err error) core.RunEnd {
	return core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(err)}
}

// told says whether a step ended because the run was to stop.
func told(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || fault.CodeOf(err) == fault.Cancelled)
}

// stopped is the end of a run that was told to stop: by its time, or a cancel.
func stopped(ctx context.Context, t core.Task) core.RunEnd {
	if errors.Is(context.Cause(ctx), errTime) {
		end := failed(&fault.Error{
			Code: fault.Timeout, Op: "run", Detail: (time.Duration(t.Budget.TimeMs) * time.Millisecond).String(),
		})
		end.Reason = ReasonTime
		return end
	}
	return core.RunEnd{State: core.RunCancelled}
}

// say puts the assistant's words into an end; no words are no message.
func say(end *core.RunEnd, words, status string) {
	if words == "" {
		return
	}
	m := said(words)
	end.Message, end.MessageStatus = &m, status
}

// said is a message of the assistant's.
func said(words string) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: words}}}
}

// The statuses of a message.
const (
	complete = "complete"
	partial  = "partial"
)

// add sums the usage of two steps. What is unknown of one is unknown of both.
func add(a, b core.Usage) core.Usage {
	sum := core.Usage{
		Kind:  core.UsageUnknown,
		Input: a.Input + b.Input, Output: a.Output + b.Output,
		Cached: a.Cached + b.Cached, Reasoning: a.Reasoning + b.Reasoning,
	}
	switch {
	case !known(a.Kind) || !known(b.Kind):
	case a.Kind == core.UsageExact && b.Kind == core.UsageExact:
		sum.Kind = core.UsageExact
	default:
		sum.Kind = core.UsageEstimated
	}
	return sum
}

// known reports whether tokens were counted at all.
func known(k core.UsageKind) bool { return k == core.UsageExact || k == core.UsageEstimated }
