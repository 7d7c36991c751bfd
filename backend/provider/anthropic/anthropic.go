// Package anthropic speaks the Anthropic Messages dialect: Anthropic itself and
// any gateway or local server that offers it.
//
// It translates only. Bytes, timers, keys, failures and retries are those of
// package provider. A [Model] is safe for concurrent use.
//
// A turn of the model is a list of blocks, and their order matters: thinking
// that came between two calls has to go back between them. So an envelope of
// this dialect holds the thinking as it came and the places of all else, and a
// turn is put together again from it and the message that was stored.
package anthropic

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
	// bound is the same endpoint with the header that asks for control over
	// thinking that no longer fits its conversation; nil but for the vendor.
	bound *dialect.Endpoint

	base string
	// vendor says that this is Anthropic itself, whose models are known by name.
	vendor bool
}

// version is that of the dialect; there is no newer one.
const version = "2023-06-01"

// bindingBeta is the header's value without which block_binding is refused.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// New returns a model. The fault is invalid_input when an address is none.
func New(cfg Config) (*Model, error) {
	m := &Model{base: cfg.BaseURL, vendor: cfg.Profile == ""}
	key := authorize(cfg.Profile)
	var err error
	if m.Endpoint, err = dialect.NewEndpoint(provider.Messages, cfg, key, headers()); err != nil {
		return nil, err
	}
	if m.vendor {
		h := headers()
		h.Set("Anthropic-Beta", bindingBeta)
		if m.bound, err = dialect.NewEndpoint(provider.Messages, cfg, key, h); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func headers() http.Header {
	h := http.Header{}
	h.Set("Anthropic-Version", version)
	return h
}

// authorize returns how the key goes on a request; nil for the usual way.
func authorize(profile string) func(http.Header, string) {
	name := "X-Api-Key"
	switch p := provider.ProfileOf(profile); {
	case profile == "openrouter":
		return nil
	case p.KeyHeader != "":
		name = p.KeyHeader
	}
	return func(h http.Header, key string) { h.Set(name, key) }
}

// Close lets idle connections go. Requests that run are not touched.
func (m *Model) Close() {
	m.Endpoint.Close()
	if m.bound != nil {
		m.bound.Close()
	}
}

// Stream implements core.Model.
func (m *Model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	out, names := m.encode(req)
	body, err := dialect.Marshal(out)
	if err != nil {
		return core.Answer{}, fault.New(fault.InvalidInput, "chat", err)
	}
	client := m.Client
	if out.Thinking != nil && out.Thinking.Binding != nil {
		client = m.bound.Client
	}
	d := newDecoder(m.Profile.Local, req, names, onDelta)
	d.optional = out.optional()
	if err := client.Stream(ctx, "chat", m.URL(req.Model), body, d); err != nil {
		return d.partial(), err
	}
	return d.answer(m.Origin(req.Model)), nil
}
