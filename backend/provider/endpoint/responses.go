package endpoint

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/openaichat"
	"galley/backend/provider/openairesponses"
)

// responses is an endpoint of the Responses dialect. Whoever speaks it speaks
// the chat dialect too, and tells the same of its models there: some in lists of
// their own, which one package knows how to read.
type responses struct {
	*openairesponses.Model

	told *openaichat.Model
}

func newResponses(cfg dialect.Config) (*responses, error) {
	m, err := openairesponses.New(cfg)
	if err != nil {
		return nil, err
	}
	// The address may be that of an answer, which is none in the other dialect.
	cfg.BaseURL, err = provider.ModelsURL(provider.Responses, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	told, err := openaichat.New(cfg)
	if err != nil {
		return nil, err
	}
	return &responses{m, told}, nil
}

// Models implements Endpoint.
func (r *responses) Models(ctx context.Context) ([]core.ModelInfo, error) {
	return r.told.Models(ctx)
}

// Describe implements Endpoint.
func (r *responses) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	return r.told.Describe(ctx, model)
}

// Close implements Endpoint.
func (r *responses) Close() {
	r.Model.Close()
	r.told.Close()
}
