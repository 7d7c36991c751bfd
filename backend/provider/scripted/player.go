package scripted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// Step is one thing that happens while a [Script] plays; the fields that are
// set happen in the order in which they stand here.
type Step struct {
	// Wait is waited for, unless nil.
	Wait <-chan struct{}
	// Pause is how long nothing happens.
	Pause time.Duration
	// Delta is given out, unless empty.
	Delta core.Delta
	// Fault ends the answer.
	Fault *fault.Error
	// Hang lets nothing more happen until the caller gives up.
	Hang bool
}

// Say returns steps that give out the pieces of a text.
func Say(pieces ...string) []Step {
	steps := make([]Step, len(pieces))
	for i, p := range pieces {
		steps[i].Delta.Text = p
	}
	return steps
}

// Script is one answer.
type Script struct {
	Steps []Step
	// Answer is what the steps end with. Where Text, Reasoning or Finish are
	// empty they are what was given out, and an ordinary end.
	Answer core.Answer
}

// Player plays one script a request, in order. It implements core.Model.
type Player struct {
	mu       sync.Mutex // guards the rest
	scripts  []Script
	requests []core.Request
}

// Play returns a player of the scripts. A request beyond the last one fails
// with the fault internal.
func Play(scripts ...Script) *Player { return &Player{scripts: scripts} }

// Requests returns the requests so far. The slice is the caller's own.
func (p *Player) Requests() []core.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Stream implements core.Model.
func (p *Player) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	s, ok := p.next(req)
	if !ok {
		return core.Answer{}, fault.New(fault.Internal, "chat", errors.New("no script is left"))
	}
	var text, reasoning strings.Builder
	partial := func(err error) (core.Answer, error) {
		return core.Answer{Text: text.String(), Reasoning: reasoning.String()}, err
	}
	for _, step := range s.Steps {
		if step.Wait != nil {
			select {
			case <-ctx.Done():
			case <-step.Wait:
			}
		}
		if err := pause(ctx, step.Pause); err != nil {
			return partial(err)
		}
		if step.Delta != (core.Delta{}) {
			text.WriteString(step.Delta.Text)
			reasoning.WriteString(step.Delta.Reasoning)
			onDelta(step.Delta)
		}
		if step.Fault != nil {
			return partial(step.Fault)
		}
		if step.Hang {
			<-ctx.Done()
			return partial(pause(ctx, 0))
		}
	}
	a := s.Answer
	if a.Text == "" {
		a.Text = text.String()
	}
	if a.Reasoning == "" {
		a.Reasoning = reasoning.String()
	}
	if a.Finish == "" {
		a.Finish = core.FinishEndTurn
		if len(a.Calls) > 0 {
			a.Finish = core.FinishToolCalls
		}
	}
	if a.Usage.Kind == "" {
		a.Usage.Kind = core.UsageUnknown
	}
	return a, nil
}

// next takes the script for a request.
func (p *Player) next(req core.Request) (Script, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, req)
	if len(p.scripts) == 0 {
		return Script{}, false
	}
	s := p.scripts[0]
	p.scripts = p.scripts[1:]
	return s, true
}
