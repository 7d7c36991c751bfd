package runner

import (
	"context"
	"errors"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/endpoint"
)

// use says what an endpoint is bound for.
type use struct {
	// purpose, model, session and run are those of the send log.
	purpose string
	model   string
	session core.SessionID
	run     core.RunID
	// contextTokens is what the person set of the model; 0 for nothing.
	contextTokens int
}

// bound is an endpoint whose answers are asked for as the person set it.
type bound struct {
	*endpoint.Learning
	config wire.ProviderConfig
}

// Stream implements core.Model.
func (b *bound) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	if req.Temperature == nil {
		req.Temperature = b.config.Temperature
	}
	if req.Effort == "" {
		req.Effort = b.config.Effort
	}
	if limit := b.config.MaxOutputTokens; limit > 0 && (req.MaxOutputTokens == 0 || req.MaxOutputTokens > limit) {
		req.MaxOutputTokens = limit
	}
	return b.Learning.Stream(ctx, req, onDelta)
}

// endpoint binds a configuration, its address and its key. The key is asked
// for when a request is about to be made; what leaves is recorded where the
// person wants that, and what is learned of models is kept.
func (r *Runner) endpoint(p wire.ProviderConfig, b core.Budget, u use) (*bound, error) {
	cfg := dialect.Config{
		BaseURL: p.BaseURL, Profile: p.Profile,
		ProxyURL: p.ProxyURL, ProxyUser: p.ProxyUser, ExtraCA: []byte(p.ExtraCA),
		Timers: provider.TimersOf(b),
		Key:    r.secret(p.CredentialRef), ProxyPassword: r.secret(p.ProxyCredentialRef),
	}
	if p.Record {
		cfg.Recorder = &sendLog{store: r.store, log: r.log, of: store.Send{
			ProviderID: p.ID, ProviderName: p.Name, Model: u.model, Purpose: u.purpose, SessionID: u.session, RunID: u.run,
		}}
	}
	e, err := endpoint.New(p.Kind, cfg)
	if err != nil {
		return nil, err
	}
	learn := endpoint.LearningConfig{Kind: p.Kind, Profile: p.Profile, Set: core.Capabilities{ContextTokens: u.contextTokens}}
	if p.Kind != endpoint.KindMock { // of which there is nothing to learn
		learn.Memory = memory{store: r.store, log: r.log, at: placeOf(p)}
	}
	return &bound{Learning: endpoint.Learn(e, learn), config: p}, nil
}

// secret returns how a request asks for what ref names; nil for no ref.
func (r *Runner) secret(ref string) func(context.Context) (string, error) {
	if ref == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) { return r.credential(ctx, ref) }
}

// model is endpoint for a run, with what is known of its model.
func (r *Runner) model(ctx context.Context, run core.Run, j job) (core.Model, core.Capabilities, error) {
	e, err := r.endpoint(j.provider, run.Budget, use{
		purpose: string(run.Kind), model: run.Model.Model, session: run.SessionID, run: run.ID, contextTokens: j.contextTokens,
	})
	if err != nil {
		return nil, core.Capabilities{}, err
	}
	return e, r.know(ctx, e, run.Model.Model), nil
}

// credential asks the host for a key. It is kept nowhere here.
func (r *Runner) credential(ctx context.Context, ref string) (string, error) {
	var res wire.CredentialResult
	err := r.conn.Call(ctx, wire.MethodCredentialGet, wire.CredentialParams{CredentialRef: ref}, &res)
	if _, ok := errors.AsType[*fault.Error](err); err != nil && !ok {
		if ctx.Err() != nil {
			return "", fault.New(fault.Cancelled, "credential", err)
		}
		return "", fault.New(fault.Interrupted, "credential", err) // the host is gone
	}
	return res.Secret, err
}

// maxTestAnswer limits what a test gives back, in characters.
const maxTestAnswer = 200

// testProvider makes a smallest request, where a model is named, and lists the
// models. A provider that cannot list any is still a good one when the request
// went well.
func (r *Runner) testProvider(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	e, err := r.endpoint(p.Provider, core.DefaultBudget(), use{purpose: purposeTest, model: p.Model})
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	defer e.Close()
	if p.Model == "" {
		return models(ctx, e, p.Model)
	}
	begun := time.Now()
	var first time.Duration
	a, err := e.Stream(ctx, endpoint.Test(p.Model), func(core.Delta) {
		if first == 0 {
			first = time.Since(begun)
		}
	})
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	total := time.Since(begun)
	res, err := models(ctx, e, p.Model)
	if err != nil && ctx.Err() == nil {
		code := fault.CodeOf(err)
		r.log.Info("models not listed", "kind", p.Provider.Kind, "code", code)
		res, err = wire.ProviderModelsResult{URL: e.URL(p.Model), Models: []core.ModelInfo{}, ModelsCode: code}, nil
	}
	res.Answer = a.Text
	if runes := []rune(a.Text); len(runes) > maxTestAnswer {
		res.Answer = string(runes[:maxTestAnswer])
	}
	res.FirstTokenMs, res.TotalMs, res.Usage = first.Milliseconds(), total.Milliseconds(), a.Usage
	return res, err
}

func (r *Runner) listModels(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	e, err := r.endpoint(p.Provider, core.DefaultBudget(), use{purpose: purposeModels})
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	defer e.Close()
	return models(ctx, e, p.Model)
}

func models(ctx context.Context, e endpoint.Endpoint, model string) (wire.ProviderModelsResult, error) {
	list, err := e.Models(ctx)
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	if list == nil {
		list = []core.ModelInfo{}
	}
	return wire.ProviderModelsResult{URL: e.URL(model), Models: list}, nil
}

// chat is one answer without session, tools or record.
func (r *Runner) chat(ctx context.Context, p wire.ChatParams) (wire.ChatResult, error) {
	if p.ModelRef.Model == "" || len(p.Messages) == 0 {
		return wire.ChatResult{}, fault.New(fault.InvalidInput, wire.MethodModelChat, nil)
	}
	e, err := r.endpoint(p.Provider, core.DefaultBudget(), use{purpose: purposeChat, model: p.ModelRef.Model})
	if err != nil {
		return wire.ChatResult{}, err
	}
	defer e.Close()
	a, err := e.Stream(ctx, core.Request{Model: p.ModelRef.Model, Messages: p.Messages}, func(core.Delta) {})
	if err != nil {
		return wire.ChatResult{}, err
	}
	return wire.ChatResult{Text: a.Text, Finish: a.Finish, Usage: a.Usage}, nil
}

// release lets idle connections of a model go.
func release(m core.Model) {
	if c, ok := m.(interface{ Close() }); ok {
		c.Close()
	}
}
