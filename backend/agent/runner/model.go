package runner

import (
	"context"
	"errors"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/openaichat"
	"galley/backend/provider/scripted"
)

// The kinds of provider configuration.
const (
	kindMock       = "mock"
	kindOpenAIChat = "openai_chat"
)

func knownKind(kind string) bool { return slices.Contains([]string{kindMock, kindOpenAIChat}, kind) }

// endpoint is a configured provider.
type endpoint interface {
	core.Model
	// Models lists what the provider offers.
	Models(ctx context.Context) ([]string, error)
	// Test makes the smallest request to a model.
	Test(ctx context.Context, model string) error
}

// endpoint binds a configuration, its address and its key. The key is asked
// for when a request is about to be made.
func (r *Runner) endpoint(p wire.ProviderConfig, b core.Budget) (endpoint, error) {
	switch p.Kind {
	case kindMock:
		return scripted.New(scripted.Config{}), nil
	case kindOpenAIChat:
		cfg := openaichat.Config{
			BaseURL: p.BaseURL, Profile: p.Profile, ProxyURL: p.ProxyURL, Timers: provider.TimersOf(b),
		}
		if p.CredentialRef != "" {
			cfg.Key = func(ctx context.Context) (string, error) { return r.credential(ctx, p.CredentialRef) }
		}
		m, err := openaichat.New(cfg)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	return nil, &fault.Error{Code: fault.InvalidInput, Op: "provider", Detail: "kind"}
}

// model is endpoint for a run.
func (r *Runner) model(p wire.ProviderConfig, b core.Budget) (core.Model, error) {
	return r.endpoint(p, b)
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

// testProvider makes a smallest request, where a model is named, and lists the
// models. A provider that cannot list any is still a good one when the request
// went well.
func (r *Runner) testProvider(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	e, err := r.endpoint(p.Provider, core.DefaultBudget())
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	defer release(e)
	if p.Model == "" {
		return r.models(ctx, e, p.Provider)
	}
	if err := e.Test(ctx, p.Model); err != nil {
		return wire.ProviderModelsResult{}, err
	}
	res, err := r.models(ctx, e, p.Provider)
	if err != nil && ctx.Err() == nil {
		r.log.Info("models not listed", "kind", p.Provider.Kind, "code", fault.CodeOf(err))
		res, err = wire.ProviderModelsResult{URL: chatURL(p.Provider), Models: []string{}}, nil
	}
	return res, err
}

func (r *Runner) listModels(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	e, err := r.endpoint(p.Provider, core.DefaultBudget())
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	defer release(e)
	return r.models(ctx, e, p.Provider)
}

func (r *Runner) models(ctx context.Context, e endpoint, p wire.ProviderConfig) (wire.ProviderModelsResult, error) {
	list, err := e.Models(ctx)
	if err != nil {
		return wire.ProviderModelsResult{}, err
	}
	if list == nil {
		list = []string{}
	}
	return wire.ProviderModelsResult{URL: chatURL(p), Models: list}, nil
}

// chatURL is the address a chat request goes to; empty for none.
func chatURL(p wire.ProviderConfig) string {
	if p.Kind != kindOpenAIChat {
		return ""
	}
	url, err := provider.ChatURL(p.BaseURL)
	if err != nil {
		return ""
	}
	return url
}

// release lets idle connections of an endpoint go.
func release(m core.Model) {
	if c, ok := m.(interface{ Close() }); ok {
		c.Close()
	}
}

// chat is one answer without session, tools or record.
func (r *Runner) chat(ctx context.Context, p wire.ChatParams) (wire.ChatResult, error) {
	if p.ModelRef.Model == "" || len(p.Messages) == 0 {
		return wire.ChatResult{}, fault.New(fault.InvalidInput, wire.MethodModelChat, nil)
	}
	e, err := r.endpoint(p.Provider, core.DefaultBudget())
	if err != nil {
		return wire.ChatResult{}, err
	}
	defer release(e)
	a, err := e.Stream(ctx, core.Request{Model: p.ModelRef.Model, Messages: p.Messages}, func(core.Delta) {})
	if err != nil {
		return wire.ChatResult{}, err
	}
	return wire.ChatResult{Text: a.Text, Finish: a.Finish, Usage: a.Usage}, nil
}
