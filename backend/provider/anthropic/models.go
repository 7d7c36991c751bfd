package anthropic

import (
	"context"
	"net/url"
	"strconv"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// The limits of a list of models: a server that always says there is more must
// come to an end.
const (
	pageSize = 1000
	maxPages = 20
)

// Models lists the models that the provider offers, in its order, without
// repetition, with what it tells of each. The error is a *fault.Error.
func (m *Model) Models(ctx context.Context) ([]core.ModelInfo, error) {
	var all []core.ModelInfo
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for range maxPages {
		entries, raw, err := m.List(ctx, query)
		if err != nil {
			return nil, err
		}
		known := len(all)
		for _, e := range entries {
			all = append(all, info(e))
		}
		all = dialect.Unique(all)
		page := dialect.Object(raw)
		last := dialect.Str(page["last_id"])
		// A server that knows no pages gives the same one again.
		if string(page["has_more"]) != "true" || last == "" || len(all) == known {
			break
		}
		query.Set("after_id", last)
	}
	return dialect.Unique(all), nil
}

// Describe implements endpoint.Endpoint: it asks for the model by its name,
// which may be an alias.
func (m *Model) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	at, err := provider.ModelsURL(provider.Messages, m.base)
	if err != nil {
		return core.ModelInfo{}, err
	}
	u, err := url.Parse(at)
	if err != nil || model == "" {
		return core.ModelInfo{}, nil // NewEndpoint has read the same address
	}
	u.RawPath = u.EscapedPath() + "/" + url.PathEscape(model)
	u.Path += "/" + model
	raw, err := m.Client.Get(ctx, "describe", u.String())
	switch fault.CodeOf(err) {
	case "":
	case fault.NotAnAPI, fault.ModelNotFound, fault.BadRequest, fault.ProviderError:
		return core.ModelInfo{}, nil // a gateway that does not tell
	default:
		return core.ModelInfo{}, err
	}
	told := info(dialect.Object(raw))
	if told.ID == "" {
		return core.ModelInfo{}, nil // something else
	}
	told.ID = model
	return told, nil
}

// info reads an entry of the list of models. The vendor and gateways have
// different names for the size of the context.
func info(e dialect.Fields) core.ModelInfo {
	out := core.ModelInfo{ID: dialect.Str(e["id"])}
	for _, name := range []string{"display_name", "name"} {
		if s := dialect.Str(e[name]); s != "" && s != out.ID {
			out.Name = s
			break
		}
	}
	for _, name := range []string{"max_input_tokens", "context_length", "context_window", "max_model_len"} {
		if n, ok := dialect.Count(e[name]); ok && n > 0 {
			out.ContextTokens, out.ContextSource = n, core.SourceAsked
			break
		}
	}
	for _, name := range []string{"max_tokens", "max_output_tokens"} {
		if n, ok := dialect.Count(e[name]); ok && n > 0 {
			out.MaxOutputTokens = n
			break
		}
	}
	abilities := dialect.Object(e["capabilities"])
	out.Reasoning = supported(abilities["thinking"])
	out.Tools = supported(abilities["tool_use"])
	return out
}

// supported reads whether a model has an ability.
func supported(raw []byte) core.Known {
	switch string(dialect.Object(raw)["supported"]) {
	case "true":
		return core.KnownYes
	case "false":
		return core.KnownNo
	}
	return core.KnownNot
}
