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
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// dialect names this dialect in an envelope.
const dialect = "openai-chat"

// Config configures a [Model]. Only BaseURL is required.
type Config struct {
	// BaseURL is the address as the person typed it; see provider.ChatURL.
	BaseURL string
	// Profile is one of the names that provider.ProfileOf knows.
	Profile string
	// ProxyURL is the proxy for this address; empty for none.
	ProxyURL string
	// Key gives the key when a request is about to be made; nil for none.
	Key func(ctx context.Context) (string, error)
	// Timers says how long to wait; zero fields are defaults.
	Timers provider.Timers

	// DialContext, Resolver and Online are seams; see provider.ClientConfig.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	Resolver    *net.Resolver
	Online      func() bool
}

// Model is a configured provider of this dialect. It implements core.Model.
type Model struct {
	client    *provider.Client
	profile   provider.Profile
	chatURL   string
	modelsURL string
	host      string
}

// New returns a model. The fault is invalid_input when an address is none.
func New(cfg Config) (*Model, error) {
	chat, err := provider.ChatURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	models, err := provider.ModelsURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	profile := provider.ProfileOf(cfg.Profile)
	client, err := provider.NewClient(provider.ClientConfig{
		BaseURL:     cfg.BaseURL,
		ProxyURL:    cfg.ProxyURL,
		Key:         cfg.Key,
		KeyOptional: profile.KeyOptional,
		Authorize:   authorize(profile),
		Local:       profile.Local,
		Timers:      cfg.Timers,
		DialContext: cfg.DialContext,
		Resolver:    cfg.Resolver,
		Online:      cfg.Online,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, profile: profile, chatURL: chat, modelsURL: models}
	if u, err := url.Parse(chat); err == nil {
		m.host = u.Host
	}
	return m, nil
}

// authorize returns how the key goes on a request; nil for the usual way.
func authorize(p provider.Profile) func(http.Header, string) {
	if p.KeyHeader == "" {
		return nil
	}
	return func(h http.Header, key string) { h.Set(p.KeyHeader, key) }
}

// Close lets idle connections go. Requests that run are not touched.
func (m *Model) Close() { m.client.CloseIdle() }

// Stream implements core.Model.
func (m *Model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	body, names, err := m.encode(req)
	if err != nil {
		return core.Answer{}, fault.New(fault.InvalidInput, "chat", err)
	}
	d := newDecoder(m.profile, req, names, onDelta)
	if err := m.client.Stream(ctx, "chat", m.chatURL, body, d); err != nil {
		return d.partial(), err
	}
	return d.answer(m.origin(req.Model)), nil
}

// Models lists the models that the provider offers, in its order, without
// repetition. The error is a *fault.Error.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	raw, err := m.client.Get(ctx, "models", m.modelsURL)
	if err != nil {
		return nil, err
	}
	type entry struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Model string `json:"model"`
	}
	var list []entry
	if json.Unmarshal(raw, &list) != nil {
		var object struct {
			Data   []entry `json:"data"`
			Models []entry `json:"models"`
		}
		// A list of other entries than these is no list of models.
		if json.Unmarshal(raw, &object) != nil || object.Data == nil && object.Models == nil {
			return nil, &fault.Error{Code: fault.NotAnAPI, Op: "models", Detail: m.host}
		}
		list = append(object.Data, object.Models...)
	}
	seen := make(map[string]bool)
	ids := []string{}
	for _, e := range list {
		id := e.ID
		if id == "" {
			id = e.Model
		}
		if id == "" {
			id = e.Name
		}
		if id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// testTokens limits the answer to a test, so that it costs next to nothing.
const testTokens = 16

// Test sends the shortest chat request to the model, to the same address and
// through the same code as any other, and waits for the whole answer. The error
// is a *fault.Error.
func (m *Model) Test(ctx context.Context, model string) error {
	_, err := m.Stream(ctx, core.Request{
		Model: model,
		Messages: []core.Message{{
			Role:  core.RoleUser,
			Parts: []core.Part{{Type: core.PartText, Text: "Say OK."}},
		}},
		MaxOutputTokens: testTokens,
	}, func(core.Delta) {})
	return err
}

// origin is where an envelope came from and may go back to.
func (m *Model) origin(model string) string { return m.host + " " + family(model) }

// family is the part of a model's name that its versions share.
func family(model string) string {
	model = strings.ToLower(model)
	vendor := ""
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		vendor, model = model[:i+1], model[i+1:]
	}
	if i := strings.IndexAny(model, "-_.:@0123456789"); i > 0 {
		model = model[:i]
	}
	return vendor + model
}
