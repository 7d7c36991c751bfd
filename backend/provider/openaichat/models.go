package openaichat

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider/dialect"
)

// nativeRoot returns where a server has resources of its own, beside those of
// this dialect, from the address of its models.
func nativeRoot(models string) string {
	u, err := url.Parse(models)
	if err != nil {
		return "" // it was built by package provider
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/models"), "/v1")
	u.RawPath, u.RawQuery = "", ""
	return u.String()
}

// Models lists the models that the provider offers, in its order, without
// repetition, with what it tells of each. Models that cannot converse are left
// out where the provider says so. A server that has a list of its own is asked
// for that; where it has none, and everywhere else, for the one of the dialect.
// The error is a *fault.Error.
func (m *Model) Models(ctx context.Context) ([]core.ModelInfo, error) {
	var at string
	switch m.profile {
	case "ollama":
		at = "/api/tags"
	case "lmstudio":
		at = "/api/v0/models"
	}
	if at != "" {
		raw, err := m.Client.Get(ctx, "models", m.native+at)
		if err == nil {
			if all, ok := entriesOf(raw); ok {
				return m.infos(all), nil
			}
		} else if !isNotThere(err) {
			return nil, err
		}
	}
	entries, _, err := m.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := m.infos(entries)
	if m.profile == "llamacpp" && len(all) == 1 {
		// The list tells what the model was trained with, and not how much of it
		// the server has room for.
		if props, err := m.props(ctx); err == nil {
			all[0].Capabilities = props.Over(all[0].Capabilities)
		}
	}
	return all, nil
}

// isNotThere reports whether a failure says that the server has no such
// resource, and nothing of the way to it.
func isNotThere(err error) bool {
	return slices.Contains([]fault.Code{
		fault.NotAnAPI, fault.ProviderError, fault.BadRequest, fault.ModelNotFound, fault.ProtocolError,
	}, fault.CodeOf(err))
}

// entriesOf returns the entries of a list of models; false for what is none.
func entriesOf(raw json.RawMessage) ([]dialect.Fields, bool) {
	object := dialect.Object(raw)
	items := dialect.List(object["models"])
	if items == nil {
		items = dialect.List(object["data"])
	}
	if items == nil {
		return nil, false
	}
	var out []dialect.Fields
	for _, item := range items {
		if entry := dialect.Object(item); entry != nil {
			out = append(out, entry)
		}
	}
	return out, true
}

func (m *Model) infos(entries []dialect.Fields) []core.ModelInfo {
	var all []core.ModelInfo
	for _, e := range entries {
		if info, ok := m.info(e); ok {
			all = append(all, info)
		}
	}
	return dialect.Unique(all)
}

// info reads an entry of a list of models. It reports false for a model that
// cannot converse.
func (m *Model) info(e dialect.Fields) (core.ModelInfo, bool) {
	var info core.ModelInfo
	for _, name := range []string{"id", "model", "name"} {
		if info.ID = dialect.Str(e[name]); info.ID != "" {
			break
		}
	}
	if name := dialect.Str(e["name"]); name != info.ID {
		info.Name = name
	}
	if !converses(e) {
		return info, false
	}
	info.Capabilities = m.capabilities(e)
	return info, true
}

// converses reports whether an entry does not say that its model cannot.
func converses(e dialect.Fields) bool {
	if kind := dialect.Str(e["type"]); kind == "embeddings" || kind == "embedding" {
		return false
	}
	switch truth(dialect.Object(e["capabilities"])["completion_chat"]) {
	case core.KnownNo:
		return false
	case core.KnownYes, core.KnownNot:
	}
	outputs := words(dialect.Object(e["architecture"])["output_modalities"])
	return outputs == nil || slices.Contains(outputs, "text")
}

// capabilities reads what an entry tells under the names that servers have for
// it.
func (m *Model) capabilities(e dialect.Fields) core.Capabilities {
	var c core.Capabilities
	top := dialect.Object(e["top_provider"])
	// What is loaded counts before what could be; the list of llama.cpp tells
	// only what a model was trained with.
	for _, raw := range []json.RawMessage{
		e["loaded_context_length"], top["context_length"], e["context_length"], e["max_context_length"],
		e["context_window"], e["max_model_len"],
	} {
		if n, ok := dialect.Count(raw); ok && n > 0 {
			c.ContextTokens, c.ContextSource = n, core.SourceAsked
			break
		}
	}
	for _, raw := range []json.RawMessage{
		top["max_completion_tokens"], e["max_completion_tokens"], e["max_output_tokens"],
	} {
		if n, ok := dialect.Count(raw); ok && n > 0 {
			c.MaxOutputTokens = n
			break
		}
	}
	if params := words(e["supported_parameters"]); params != nil {
		c.Tools = known(slices.Contains(params, "tools"))
		c.Reasoning = known(slices.Contains(params, "reasoning"))
	}
	// A list of what a model can, or an object of yes and no.
	if caps := words(e["capabilities"]); caps != nil {
		// Only Ollama names all that a model can, and refuses the rest; LM Studio
		// makes any model call tools somehow.
		if slices.Contains(caps, "tools") || slices.Contains(caps, "tool_use") {
			c.Tools = core.KnownYes
		} else if m.profile == "ollama" {
			c.Tools = core.KnownNo
		}
		if slices.Contains(caps, "thinking") || slices.Contains(caps, "reasoning") {
			c.Reasoning = core.KnownYes
		}
	}
	caps := dialect.Object(e["capabilities"])
	for _, name := range []string{"function_calling", "trained_for_tool_use", "tool_use", "tools"} {
		if k := truth(caps[name]); k != core.KnownNot {
			c.Tools = k
			break
		}
	}
	if k := truth(caps["reasoning"]); k != core.KnownNot {
		c.Reasoning = k
	}
	return c
}

func known(yes bool) core.Known {
	if yes {
		return core.KnownYes
	}
	return core.KnownNo
}

// truth reads true and false; nothing else says anything.
func truth(raw json.RawMessage) core.Known {
	switch string(raw) {
	case "true":
		return core.KnownYes
	case "false":
		return core.KnownNo
	}
	return core.KnownNot
}

// words returns the strings of a list; nil for anything else.
func words(raw json.RawMessage) []string {
	items := dialect.List(raw)
	if items == nil {
		return nil
	}
	out := []string{}
	for _, item := range items {
		if s := dialect.Str(item); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Describe implements endpoint.Endpoint. Vendors whose lists tell nothing are
// not asked.
func (m *Model) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	info := core.ModelInfo{ID: model}
	var err error
	switch m.profile {
	case "", "azure", "deepseek":
		return info, nil
	case "ollama":
		info.Capabilities, err = m.show(ctx, model)
	case "llamacpp":
		info.Capabilities, err = m.props(ctx)
	default:
		var all []core.ModelInfo
		if all, err = m.Models(ctx); err == nil {
			if i := slices.IndexFunc(all, func(x core.ModelInfo) bool { return x.ID == model }); i >= 0 {
				info = all[i]
			}
		}
	}
	if err != nil && isNotThere(err) {
		return core.ModelInfo{ID: model}, nil
	}
	return info, err
}

// show asks Ollama for a model. The room that it has is what the person gave it
// (num_ctx), or what it has now, or at most what the model was trained with.
func (m *Model) show(ctx context.Context, model string) (core.Capabilities, error) {
	body, err := dialect.Marshal(map[string]string{"model": model})
	if err != nil {
		return core.Capabilities{}, fault.New(fault.InvalidInput, "describe", err)
	}
	raw, err := m.Client.Post(ctx, "describe", m.native+"/api/show", body)
	if err != nil {
		return core.Capabilities{}, err
	}
	show := dialect.Object(raw)
	c := m.capabilities(dialect.Fields{"capabilities": show["capabilities"]})
	if caps := words(show["capabilities"]); caps != nil && c.Reasoning == core.KnownNot {
		c.Reasoning = core.KnownNo
	}
	trained := 0
	for name, value := range dialect.Object(show["model_info"]) {
		if strings.HasSuffix(name, ".context_length") {
			trained, _ = dialect.Count(value)
		}
	}
	c.ContextTokens = numCtx(dialect.Str(show["parameters"]))
	if c.ContextTokens == 0 {
		c.ContextTokens = m.running(ctx, model)
	}
	if c.ContextTokens == 0 {
		c.ContextTokens = trained
	}
	if c.ContextTokens > 0 {
		c.ContextSource = core.SourceAsked
	}
	return c, nil
}

// numCtx reads num_ctx from the parameters of a model, a line each; 0 for none.
func numCtx(parameters string) int {
	for line := range strings.Lines(parameters) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "num_ctx" {
			n, _ := strconv.Atoi(fields[1])
			return max(n, 0)
		}
	}
	return 0
}

// running returns the room of a model that is loaded now; 0 when it is not, or
// the server does not tell.
func (m *Model) running(ctx context.Context, model string) int {
	raw, err := m.Client.Get(ctx, "describe", m.native+"/api/ps")
	if err != nil {
		return 0
	}
	entries, _ := entriesOf(raw)
	for _, e := range entries {
		if name := dialect.Str(e["model"]); name == model || name == model+":latest" {
			n, _ := dialect.Count(e["context_length"])
			return n
		}
	}
	return 0
}

// props asks llama.cpp for the room of a conversation and for what its template
// can.
func (m *Model) props(ctx context.Context) (core.Capabilities, error) {
	raw, err := m.Client.Get(ctx, "describe", m.native+"/props")
	if err != nil {
		return core.Capabilities{}, err
	}
	props := dialect.Object(raw)
	var c core.Capabilities
	for _, n := range []json.RawMessage{dialect.Object(props["default_generation_settings"])["n_ctx"], props["n_ctx"]} {
		if n, ok := dialect.Count(n); ok && n > 0 {
			c.ContextTokens, c.ContextSource = n, core.SourceAsked
			break
		}
	}
	c.Tools = truth(dialect.Object(props["chat_template_caps"])["supports_tools"])
	return c, nil
}
