package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// The request as it goes out. Fields are in the order of the dialect's
// documentation.
type (
	request struct {
		Model        string        `json:"model"`
		MaxTokens    int           `json:"max_tokens"`
		System       string        `json:"system,omitempty"`
		Messages     []message     `json:"messages"`
		Tools        []tool        `json:"tools,omitempty"`
		Temperature  *float64      `json:"temperature,omitempty"`
		Thinking     *thinking     `json:"thinking,omitempty"`
		OutputConfig *outputConfig `json:"output_config,omitempty"`
		Stream       bool          `json:"stream"`
	}
	message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	thinking struct {
		Type         string   `json:"type"`
		BudgetTokens int      `json:"budget_tokens,omitempty"`
		Display      string   `json:"display,omitempty"`
		Binding      *binding `json:"block_binding,omitempty"`
	}
	// binding says what happens to thinking that no longer fits what stands
	// before it: a context is cut and summarised as a session grows.
	binding struct {
		OnMismatch string `json:"prefix_mismatch_behavior"` //nolint:misspell // the word of the wire
	}
	outputConfig struct {
		Effort string `json:"effort"`
	}
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	resultBlock struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   string `json:"content,omitempty"`
		IsError   bool   `json:"is_error,omitempty"`
	}
)

// The types of thinking.
const (
	typeAdaptive = "adaptive"
	typeEnabled  = "enabled"
	typeDisabled = "disabled"
	typeBetween  = "between_tools"
)

// encode builds the body of a request, and the names of the tools in it.
func (m *Model) encode(req core.Request) (request, dialect.Names) {
	names := dialect.NewNames(req)
	out := request{Model: req.Model, Stream: true}
	t := traitsOf(req.Model, m.vendor)
	out.limit(req, t)
	out.think(req, t)
	// Where thinking is off, what was thought before is of no use.
	off := out.Thinking != nil && (out.Thinking.Type == typeDisabled || out.Thinking.Type == typeBetween)
	c := m.conversation(req, names, !off)
	out.System, out.Messages = c.system, c.messages()
	if out.Thinking != nil && out.Thinking.Type == typeEnabled && c.endsUnthought() {
		// A turn that goes on with results must then have begun with thinking,
		// which it has not where another model or another effort began it.
		out.Thinking = nil
	}
	if c.thought && t.bound && m.bound != nil && !refused(req, "block_binding", "thinking") {
		if out.Thinking == nil {
			out.Thinking = &thinking{Type: typeAdaptive} // as without it
		}
		out.Thinking.Binding = &binding{OnMismatch: "drop_block"}
	}
	if req.Temperature != nil && t.sampling && out.cool() && !refused(req, "temperature") {
		heat := min(max(*req.Temperature, 0), 1)
		out.Temperature = &heat
	}
	for _, spec := range req.Tools {
		schema := spec.InputSchema
		if !dialect.IsObject(string(schema)) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, tool{
			Name: names.Wire(spec.Name), Description: dialect.Scrub(spec.Description), InputSchema: schema,
		})
	}
	return out, names
}

// cool reports whether a temperature may stand beside the thinking.
func (r *request) cool() bool {
	return r.Thinking == nil || r.Thinking.Type == typeDisabled || r.Thinking.Type == typeBetween
}

// refused reports whether the model is known to refuse a parameter.
func refused(req core.Request, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(req.Refused, name) })
}

// optional returns the names of the optional parameters of the request, as a
// refusal would name them, the narrower ones first.
func (r *request) optional() []string {
	var all []string
	if r.Temperature != nil {
		all = append(all, "temperature")
	}
	if r.Thinking != nil {
		if r.Thinking.Binding != nil {
			all = append(all, "block_binding")
		}
		if r.Thinking.Display != "" {
			all = append(all, "display")
		}
		all = append(all, "thinking")
	}
	if r.OutputConfig != nil {
		all = append(all, "effort", "output_config")
	}
	return all
}

// leastOutput is left for the answer to a prompt that fills the context, in
// tokens.
const leastOutput = 1024

// limit sets max_tokens, which the dialect wants always: what was asked for,
// else what is usual for the model, as far as it is known to be taken and fits
// behind the prompt.
func (r *request) limit(req core.Request, t traits) {
	if req.MaxOutputTokens > 0 {
		r.MaxTokens = req.MaxOutputTokens
		return
	}
	r.MaxTokens = t.usual
	if req.Effort == core.EffortHigh {
		r.MaxTokens *= 2 // thinking counts too
	}
	if most := cmp.Or(req.Known.MaxOutputTokens, t.output); most > 0 {
		r.MaxTokens = min(r.MaxTokens, most)
	}
	if room := cmp.Or(req.Known.ContextTokens, t.context); room > 0 {
		prompt := req.PromptTokensEstimate + req.PromptTokensEstimate/10
		if prompt == 0 {
			prompt = room / 2
		}
		r.MaxTokens = min(r.MaxTokens, max(room-prompt, leastOutput))
	}
}

// The least and the usual numbers of tokens that are set aside for thinking.
const (
	leastBudget  = 1024
	lowBudget    = 2048
	mediumBudget = 8192
	highBudget   = 16_384
)

// think sets how much the model is to think. Without an effort that is left to
// it. A model that does not take "thinking" may still take an effort.
func (r *request) think(req core.Request, t traits) {
	if req.Effort == "" || t.think == thinkNever {
		return
	}
	takes := !refused(req, "thinking")
	effort := req.Effort
	switch {
	case effort == core.EffortNone && takes && t.off == offDisabled:
		r.Thinking = &thinking{Type: typeDisabled}
		return
	case effort == core.EffortNone && takes && t.off == offBetween:
		r.Thinking = &thinking{Type: typeBetween}
		return
	case effort == core.EffortNone && t.think == thinkBudget:
		return // it thinks only when asked to, or cannot be kept from it
	case effort == core.EffortNone:
		effort = core.EffortLow // the least there is
	case t.think == thinkBudget && takes:
		r.budget(effort)
		return
	}
	if t.think == thinkAdaptive && takes {
		r.Thinking = &thinking{Type: typeAdaptive}
		if !refused(req, "display") {
			// Else newer models show nothing.
			r.Thinking.Display = "summarized" //nolint:misspell // the word of the wire
		}
	}
	if t.effort && !refused(req, "effort", "output_config") {
		r.OutputConfig = &outputConfig{Effort: effort}
	}
}

// budget sets tokens aside for thinking, at most half of those of the answer;
// none where that is less than is taken.
func (r *request) budget(effort string) {
	tokens := highBudget
	switch effort {
	case core.EffortLow:
		tokens = lowBudget
	case core.EffortMedium:
		tokens = mediumBudget
	}
	if tokens = min(tokens, r.MaxTokens/2); tokens >= leastBudget {
		r.Thinking = &thinking{Type: typeEnabled, BudgetTokens: tokens}
	}
}
