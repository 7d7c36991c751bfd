// Package gemini speaks Google's generateContent dialect, streamed as
// server-sent events: the Gemini API and what is compatible with it.
//
// It translates only. Bytes, timers, keys, failures and retries are those of
// package provider. A [Model] is safe for concurrent use.
//
// A turn of the model that carries thought signatures is kept part by part, as
// it came, and goes back so to where it came from. Everywhere else it goes back
// as plain text and calls. The API wants exactly one response for each call,
// right after it, so the pairs are made here whatever order a history has.
package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// Config configures a [Model].
type Config = dialect.Config

// Model is a configured provider of this dialect. It implements core.Model.
type Model struct{ *dialect.Endpoint }

// New returns a model. The fault is invalid_input when an address is none.
func New(cfg Config) (*Model, error) {
	e, err := dialect.NewEndpoint(provider.Gemini, cfg, authorize, nil)
	if err != nil {
		return nil, err
	}
	return &Model{e}, nil
}

// authorize puts the key in a header. The API takes it as a query too, where it
// would stand in every log on the way.
func authorize(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }

// Stream implements core.Model.
func (m *Model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	r, err := m.encode(req)
	if err != nil {
		return core.Answer{}, fault.New(fault.InvalidInput, "chat", err)
	}
	d := newDecoder(m.Profile, req, r, onDelta)
	if err := m.Client.Stream(ctx, "chat", m.URL(req.Model), r.body, d); err != nil {
		return d.partial(), err
	}
	return d.answer(m.Origin(req.Model)), nil
}

// How much of a list of models is read.
const (
	pageSize = "1000"
	maxPages = 20
)

// Models lists the models that can answer, in the provider's order, without
// repetition, of at most 20 pages. The error is a *fault.Error.
func (m *Model) Models(ctx context.Context) ([]core.ModelInfo, error) {
	var all []core.ModelInfo
	query := url.Values{"pageSize": {pageSize}}
	for range maxPages {
		entries, raw, err := m.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if answers(e) {
				all = append(all, infoOf(e))
			}
		}
		next := dialect.Str(dialect.Object(raw)["nextPageToken"])
		if next == "" || next == query.Get("pageToken") {
			break
		}
		query.Set("pageToken", next)
	}
	return dialect.Unique(all), nil
}

// Describe implements endpoint.Endpoint: it asks for one model. A server that
// has no such address tells nothing.
func (m *Model) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	at, err := url.Parse(m.URL(model))
	if err != nil {
		return core.ModelInfo{}, fault.New(fault.InvalidInput, "describe", nil)
	}
	at.Path = strings.TrimSuffix(at.Path, ":streamGenerateContent")
	at.RawPath = strings.TrimSuffix(at.RawPath, ":streamGenerateContent")
	query := at.Query()
	query.Del("alt")
	at.RawQuery = query.Encode()
	raw, err := m.Client.Get(ctx, "describe", at.String())
	if err != nil {
		if fault.CodeOf(err) == fault.NotAnAPI {
			return core.ModelInfo{}, nil
		}
		return core.ModelInfo{}, err
	}
	info := infoOf(dialect.Object(raw))
	if info == (core.ModelInfo{}) {
		return info, nil // some other JSON
	}
	info.ID = model
	return info, nil
}

// answers reports whether a model of the list can be asked; one that does not
// say so may be.
func answers(e dialect.Fields) bool {
	methods := dialect.List(e["supportedGenerationMethods"])
	return len(methods) == 0 || slices.ContainsFunc(methods, func(raw json.RawMessage) bool {
		name := dialect.Str(raw)
		return name == "generateContent" || name == "streamGenerateContent"
	})
}

// infoOf reads what is told of a model.
func infoOf(e dialect.Fields) core.ModelInfo {
	id := dialect.Str(e["name"])
	if id == "" {
		id = dialect.Str(e["id"])
	}
	info := core.ModelInfo{ID: strings.TrimPrefix(id, "models/")}
	if name := dialect.Str(e["displayName"]); name != info.ID {
		info.Name = name
	}
	if n, _ := dialect.Count(e["inputTokenLimit"]); n > 0 {
		info.ContextTokens, info.ContextSource = n, core.SourceAsked
	}
	info.MaxOutputTokens, _ = dialect.Count(e["outputTokenLimit"])
	switch string(e["thinking"]) {
	case "true":
		info.Reasoning = core.KnownYes
	case "false":
		info.Reasoning = core.KnownNo
	}
	return info
}
