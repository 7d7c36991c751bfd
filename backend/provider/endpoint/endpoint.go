// Package endpoint binds a configured provider to the dialect it speaks, and
// puts together what is known of its models: what the person set, what was
// learned from refusals, what the endpoint tells and what the program knows.
//
// It is the one place that knows all dialects.
package endpoint

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/anthropic"
	"galley/backend/provider/dialect"
	"galley/backend/provider/gemini"
	"galley/backend/provider/openaichat"
	"galley/backend/provider/scripted"
)

// The kinds of provider, as settings and protocol name them.
const (
	KindMock            = "mock"
	KindOpenAIChat      = "openai_chat"
	KindOpenAIResponses = "openai_responses"
	KindAnthropic       = "anthropic_messages"
	KindGemini          = "gemini"
)

// Dialect returns the dialect of a kind; false for the mock provider and for
// what is no kind.
func Dialect(kind string) (provider.Dialect, bool) {
	switch kind {
	case KindOpenAIChat:
		return provider.Chat, true
	case KindOpenAIResponses:
		return provider.Responses, true
	case KindAnthropic:
		return provider.Messages, true
	case KindGemini:
		return provider.Gemini, true
	}
	return "", false
}

// Known reports whether kind is one.
func Known(kind string) bool {
	_, ok := Dialect(kind)
	return ok || kind == KindMock
}

// Endpoint is a configured provider. It is safe for concurrent use.
type Endpoint interface {
	core.Model
	// Models lists what the provider offers, with what it tells of each. The
	// error is a *fault.Error.
	Models(ctx context.Context) ([]core.ModelInfo, error)
	// Describe asks what the provider tells of one model; a zero answer where
	// it tells nothing, which is no error.
	Describe(ctx context.Context, model string) (core.ModelInfo, error)
	// URL is the address that a request for an answer of model goes to; "" for
	// none.
	URL(model string) string
	// Close lets idle connections go. Requests that run are not touched.
	Close()
}

// New returns the endpoint of a kind. The fault is invalid_input for a kind that
// is none, and when an address is none.
func New(kind string, cfg dialect.Config) (Endpoint, error) {
	switch kind {
	case KindMock:
		return scripted.New(scripted.Config{}), nil
	case KindOpenAIChat:
		return opened(openaichat.New(cfg))
	case KindOpenAIResponses:
		return opened(newResponses(cfg))
	case KindAnthropic:
		return opened(anthropic.New(cfg))
	case KindGemini:
		return opened(gemini.New(cfg))
	}
	return nil, &fault.Error{Code: fault.InvalidInput, Op: "provider", Detail: "kind"}
}

// opened turns a typed nil into none.
func opened[M Endpoint](m M, err error) (Endpoint, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// URL returns the address that a request for an answer of model goes to; "" for
// the mock provider. The fault is that of provider.RequestURL.
func URL(kind, base, model string) (string, error) {
	d, ok := Dialect(kind)
	if !ok {
		return "", nil
	}
	return provider.RequestURL(d, base, model)
}

// testTokens limits the answer to a test. Two would do for most models; those
// that think first need room for it, and some refuse to be cut short there.
const testTokens = 512

// Test is the shortest request to a model. It goes the way of all others.
func Test(model string) core.Request {
	return core.Request{
		Model: model,
		Messages: []core.Message{{
			Role:  core.RoleUser,
			Parts: []core.Part{{Type: core.PartText, Text: "Say OK."}},
		}},
		MaxOutputTokens: testTokens,
	}
}
