// Package openairesponses speaks the Responses dialect: OpenAI, Azure,
// OpenRouter, Ollama, LM Studio and any server that is compatible.
//
// It translates only. Bytes, timers, keys, failures and retries are those of
// package provider. Nothing is left with the provider: each request holds the
// whole conversation, and what the model thought goes back encrypted, as it
// came. A [Model] is safe for concurrent use.
//
// The deltas of a stream are for the eye. Where an event at the end of a text
// says something else than its pieces did, the Answer holds what that event
// says; the Answer is what counts.
package openairesponses

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

	profile string
}

// New returns a model. The fault is invalid_input when an address is none.
func New(cfg Config) (*Model, error) {
	e, err := dialect.NewEndpoint(provider.Responses, cfg, authorize(provider.ProfileOf(cfg.Profile)), nil)
	if err != nil {
		return nil, err
	}
	return &Model{Endpoint: e, profile: cfg.Profile}, nil
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
	body, sent, err := m.encode(req)
	if err != nil {
		return core.Answer{}, fault.New(fault.InvalidInput, "chat", err)
	}
	d := newDecoder(m.Profile, req, sent, onDelta)
	if err := m.Client.Stream(ctx, "chat", m.URL(req.Model), body, d); err != nil {
		return d.partial(), err
	}
	if !d.finished {
		// [DONE], or a whole JSON of an answer that is not: neither is the end
		// of one in this dialect (decision 8).
		return d.partial(), &fault.Error{Code: fault.StreamCut, Op: "chat", Detail: m.Host}
	}
	return d.answer(m.Origin(req.Model)), nil
}
