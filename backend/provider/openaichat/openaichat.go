// Package openaichat speaks the chat completions dialect: OpenAI, Azure,
// OpenRouter, DeepSeek, Mistral, xAI, Ollama, LM Studio, llama.cpp and any
// server that is compatible.
//
// It translates only. Bytes, timers, keys, failures and retries are those of
// package provider; what servers of the dialect differ in is provider.Profile.
// A [Model] is safe for concurrent use.
//
// The deltas of a stream are for the eye. Where a server leaves out the opening
// tag of its thinking, that is seen only when the closing one comes, so the
// text of the Answer can be shorter than the deltas together; the Answer is
// what counts.
package openaichat

import (
	"context"
	"net/http"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// Config configures a [Model].
type Config = dialect.Config

// Model is a configured provider of this dialect. It implements core.Model.
type Model struct {
	*dialect.Endpoint
	// profile is the name of the profile. native is where a local server's own resources stand, without a slash at
	// its end.
	profile, native string
}

// New returns a model. The fault is invalid_input when an address is none.
func New(cfg Config) (*Model, error) {
	e, err := dialect.NewEndpoint(provider.Chat, cfg, authorize(provider.ProfileOf(cfg.Profile)), nil)
	if err != nil {
		return nil, err
	}
	models, err := provider.ModelsURL(provider.Chat, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	return &Model{Endpoint: e, profile: cfg.Profile, native: nativeRoot(models)}, nil
}

// authorize returns how the key goes on a request; nil for the usual way.
func authorize(p provider.Profile) func(http.Header, string) {
	if p.KeyHeader == "" {
		return nil
	}
	return func(h http.Header, key string) { h.Set(p.KeyHeader, key) }
}

// Stream implements core.Model.
func (m *Model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	body, names, optional, err := m.encode(req)
	if err != nil {
		return core.Answer{}, fault.New(fault.InvalidInput, "chat", err)
	}
	d := newDecoder(m.Profile, req, names, onDelta)
	d.optional = optional
	if err := m.Client.Stream(ctx, "chat", m.URL(req.Model), body, d); err != nil {
		return d.partial(), err
	}
	return d.answer(m.Origin(req.Model)), nil
}
