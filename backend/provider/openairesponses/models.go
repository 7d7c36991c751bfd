package openairesponses

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// Models lists the models that the provider offers, in its order, without
// repetition. The list of the dialect holds names only. The error is a
// *fault.Error.
func (m *Model) Models(ctx context.Context) ([]core.ModelInfo, error) {
	entries, _, err := m.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	var all []core.ModelInfo
	for _, e := range entries {
		info := core.ModelInfo{ID: dialect.Str(e["id"])}
		if name := dialect.Str(e["name"]); name != info.ID {
			info.Name = name
		}
		all = append(all, info)
	}
	return dialect.Unique(all), nil
}

// Describe implements endpoint.Endpoint: the dialect tells nothing of a model.
func (m *Model) Describe(context.Context, string) (core.ModelInfo, error) {
	return core.ModelInfo{}, nil
}
