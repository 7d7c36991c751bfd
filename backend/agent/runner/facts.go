package runner

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/provider/endpoint"
)

const (
	// askTime is how long an endpoint may take to tell of a model.
	askTime = 3 * time.Second
	// askAgain is how long a run does not ask an endpoint that did not tell.
	askAgain = 5 * time.Minute
)

// memory keeps the facts of the models of one provider at one address. What it
// cannot read is not known, and what it cannot write is learned again.
type memory struct {
	store *store.Store
	log   *slog.Logger
	at    store.Place
}

var _ endpoint.Memory = memory{}

// Facts implements endpoint.Memory.
func (m memory) Facts(ctx context.Context, model string) []core.Fact {
	list, err := m.store.Facts(ctx, m.at, model)
	if err != nil && ctx.Err() == nil {
		m.log.Warn("facts of a model not read", "err", err)
	}
	return list
}

// Learn implements endpoint.Memory.
func (m memory) Learn(ctx context.Context, model string, f core.Fact) {
	if err := m.store.LearnFact(ctx, m.at, model, f); err != nil {
		m.log.Warn("fact of a model not kept", "fact", f.Name, "err", err)
		return
	}
	m.log.Debug("fact of a model kept", "fact", f.Name, "source", f.Source)
}

// placeOf is where facts of a provider's models hold. The address was checked:
// there is an endpoint of it.
func placeOf(p wire.ProviderConfig) store.Place {
	at := store.Place{ProviderID: p.ID}
	if u, err := url.Parse(strings.TrimSpace(p.BaseURL)); err == nil {
		at.Host = strings.ToLower(u.Host)
	}
	return at
}

// askings remembers when runs asked of which models, so that an endpoint which
// does not tell does not hold up every run.
type askings struct {
	now func() time.Time

	mu   sync.Mutex // guards last
	last map[askKey]time.Time
}

type askKey struct {
	at    store.Place
	model string
}

// due reports whether a run may ask, and takes it that it does.
func (a *askings) due(k askKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for old, at := range a.last {
		if now.Sub(at) >= askAgain {
			delete(a.last, old)
		}
	}
	if _, lately := a.last[k]; lately {
		return false
	}
	a.last[k] = now
	return true
}

// know returns what is known of the model of a run that starts. It asks the
// endpoint at most once a day, which never fails the run and takes askTime at
// most.
func (r *Runner) know(ctx context.Context, e *bound, model string) core.Capabilities {
	if r.asking.due(askKey{placeOf(e.config), model}) {
		ask(ctx, e, model)
	}
	return e.Known(ctx, model)
}

// ask has the endpoint tell of a model, unless it did so today.
func ask(ctx context.Context, e *bound, model string) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	e.Ask(ctx, model)
}

func (r *Runner) describeModel(ctx context.Context, p wire.ModelParams) (wire.ModelDescribeResult, error) {
	return r.aboutModel(p, func(e *bound) error {
		if p.Ask {
			ask(ctx, e, p.Model)
		}
		return nil
	})
}

func (r *Runner) forgetModel(ctx context.Context, p wire.ModelParams) (wire.ModelDescribeResult, error) {
	return r.aboutModel(p, func(*bound) error { return r.store.ForgetFacts(ctx, placeOf(p.Provider), p.Model) })
}

// aboutModel says what is known of a model after something was done about it.
func (r *Runner) aboutModel(p wire.ModelParams, do func(*bound) error) (wire.ModelDescribeResult, error) {
	e, err := r.endpoint(p.Provider, core.DefaultBudget(), use{purpose: purposeDescribe, model: p.Model, contextTokens: p.ContextTokens})
	if err != nil {
		return wire.ModelDescribeResult{}, err
	}
	defer e.Close()
	if err := do(e); err != nil {
		return wire.ModelDescribeResult{}, err
	}
	ctx := context.Background() // what is stored is read quickly
	return wire.ModelDescribeResult{Capabilities: e.Known(ctx, p.Model), Facts: e.Facts(ctx, p.Model)}, nil
}
