package dialect

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// Config configures a model of any dialect. Only BaseURL is required.
type Config struct {
	// BaseURL is the address as the person typed it; see provider.RequestURL.
	BaseURL string
	// Profile is one of the names that provider.ProfileOf knows.
	Profile string
	// ProxyURL, ProxyUser, ProxyPassword and ExtraCA are those of
	// provider.ClientConfig.
	ProxyURL      string
	ProxyUser     string
	ProxyPassword func(ctx context.Context) (string, error)
	ExtraCA       []byte
	// Key gives the key when a request is about to be made; nil for none.
	Key func(ctx context.Context) (string, error)
	// Timers says how long to wait; zero fields are defaults.
	Timers provider.Timers
	// Recorder keeps the send log; nil when it is off.
	Recorder provider.Recorder

	// DialContext, Resolver and Online are seams; see provider.ClientConfig.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	Resolver    *net.Resolver
	Online      func() bool
}

// Endpoint is the part of a configured provider that no dialect differs in. It
// is safe for concurrent use.
type Endpoint struct {
	Client  *provider.Client
	Profile provider.Profile
	// Host is that of the address, with its port when there is one.
	Host string

	dialect   provider.Dialect
	base      string
	modelsURL string
}

// NewEndpoint returns the endpoint of a configuration. authorize puts a key on a
// request, nil for the usual way; header is set on each request. The fault is
// invalid_input when an address is none.
func NewEndpoint(d provider.Dialect, cfg Config, authorize func(http.Header, string), header http.Header) (*Endpoint, error) {
	models, err := provider.ModelsURL(d, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	profile := provider.ProfileOf(cfg.Profile)
	client, err := provider.NewClient(provider.ClientConfig{
		BaseURL:       cfg.BaseURL,
		Dialect:       d,
		ProxyURL:      cfg.ProxyURL,
		ProxyUser:     cfg.ProxyUser,
		ProxyPassword: cfg.ProxyPassword,
		ExtraCA:       cfg.ExtraCA,
		Recorder:      cfg.Recorder,
		Key:           cfg.Key,
		KeyOptional:   profile.KeyOptional,
		Authorize:     authorize,
		Header:        header,
		Local:         profile.Local,
		Timers:        cfg.Timers,
		DialContext:   cfg.DialContext,
		Resolver:      cfg.Resolver,
		Online:        cfg.Online,
	})
	if err != nil {
		return nil, err
	}
	e := &Endpoint{Client: client, Profile: profile, dialect: d, base: cfg.BaseURL, modelsURL: models}
	if u, err := url.Parse(models); err == nil {
		e.Host = u.Host
	}
	return e, nil
}

// Close lets idle connections go. Requests that run are not touched.
func (e *Endpoint) Close() { e.Client.CloseIdle() }

// URL returns the address that a request for an answer of model goes to.
func (e *Endpoint) URL(model string) string {
	u, err := provider.RequestURL(e.dialect, e.base, model)
	if err != nil {
		return "" // NewEndpoint has built one of the same address
	}
	return u
}

// Origin is where an envelope of model comes from and may go back to.
func (e *Endpoint) Origin(model string) string { return Origin(e.Host, model) }

// List asks for the models at the usual address of the dialect, with query
// added to it, and returns their entries, in the provider's order. Lists of
// other things than objects are not_an_api. The error is a *fault.Error.
func (e *Endpoint) List(ctx context.Context, query url.Values) ([]Fields, json.RawMessage, error) {
	at := e.modelsURL
	if len(query) > 0 {
		u, err := url.Parse(at)
		if err != nil {
			return nil, nil, fault.New(fault.InvalidInput, "models", nil)
		}
		q := u.Query()
		for name, values := range query {
			q[name] = values
		}
		u.RawQuery = q.Encode()
		at = u.String()
	}
	raw, err := e.Client.Get(ctx, "models", at)
	if err != nil {
		return nil, nil, err
	}
	items := List(raw)
	if items == nil {
		object := Object(raw)
		data, models := object["data"], object["models"]
		if List(data) == nil && List(models) == nil {
			return nil, nil, &fault.Error{Code: fault.NotAnAPI, Op: "models", Detail: e.Host}
		}
		items = append(List(data), List(models)...)
	}
	entries := make([]Fields, 0, len(items))
	for _, item := range items {
		entry := Object(item)
		if entry == nil {
			return nil, nil, &fault.Error{Code: fault.NotAnAPI, Op: "models", Detail: e.Host}
		}
		entries = append(entries, entry)
	}
	return entries, raw, nil
}

// Unique leaves of each model the first, and none without an id.
func Unique(models []core.ModelInfo) []core.ModelInfo {
	seen := make(map[string]bool)
	out := []core.ModelInfo{}
	for _, m := range models {
		if m.ID != "" && !seen[m.ID] {
			seen[m.ID] = true
			out = append(out, m)
		}
	}
	return out
}
