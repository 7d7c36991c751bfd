package openairesponses

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// infoOf reads one entry of a list of models. OpenAI tells no more than the id;
// others tell what a model can do, each under its own name.
func infoOf(e dialect.Fields) core.ModelInfo {
	var info core.ModelInfo
	for _, name := range []string{"id", "model", "name"} {
		if info.ID = dialect.Str(e[name]); info.ID != "" {
			break
		}
	}
	if name := dialect.Str(e["name"]); name != info.ID {
		info.Name = name
	}
	top := dialect.Object(e["top_provider"])
	for _, size := range []struct {
		of   dialect.Fields
		name string
	}{
		{top, "context_length"},
		{e, "context_length"},
		{e, "context_window"},
		{e, "max_model_len"},
		{e, "loaded_context_length"},
		{e, "max_context_length"},
	} {
		if n, ok := dialect.Count(size.of[size.name]); ok && n > 0 {
			info.ContextTokens, info.ContextSource = n, core.SourceAsked
			break
		}
	}
	if n, ok := dialect.Count(top["max_completion_tokens"]); ok {
		info.MaxOutputTokens = n
	}
	if params := dialect.List(e["supported_parameters"]); params != nil {
		info.Tools, info.Reasoning = core.KnownNo, core.KnownNo
		for _, p := range params {
			switch dialect.Str(p) {
			case "tools":
				info.Tools = core.KnownYes
			case "reasoning":
				info.Reasoning = core.KnownYes
			}
		}
	}
	return info
}

// Describe implements endpoint.Endpoint: what the list of models tells.
func (m *Model) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	if m.profile == "" || m.profile == "azure" {
		return core.ModelInfo{}, nil // their lists hold names only
	}
	models, err := m.Models(ctx)
	if err != nil {
		return core.ModelInfo{}, err
	}
	for _, info := range models {
		if info.ID == model {
			return info, nil
		}
	}
	return core.ModelInfo{}, nil
}
