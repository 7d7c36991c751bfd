package openaichat

import (
	"encoding/json"
	"slices"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// The request as it goes out. Fields are in the order of the dialect's
// documentation.
type (
	chatRequest struct {
		Model               string         `json:"model"`
		Messages            []chatMessage  `json:"messages"`
		Tools               []chatTool     `json:"tools,omitempty"`
		MaxTokens           int            `json:"max_tokens,omitempty"`
		MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
		Temperature         *float64       `json:"temperature,omitempty"`
		ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
		Reasoning           *chatReasoning `json:"reasoning,omitempty"`
		Thinking            *chatThinking  `json:"thinking,omitempty"`
		Stream              bool           `json:"stream"`
		StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	}
	chatReasoning struct {
		Effort string `json:"effort"`
	}
	chatThinking struct {
		Type string `json:"type"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role string `json:"role"`
		// Content is nil for null.
		Content          *string         `json:"content"`
		ReasoningContent string          `json:"reasoning_content,omitempty"`
		ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
		ExtraContent     json.RawMessage `json:"extra_content,omitempty"`
		ToolCalls        []chatCall      `json:"tool_calls,omitempty"`
		ToolCallID       string          `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID           string          `json:"id"`
		Type         string          `json:"type"`
		Function     chatFunction    `json:"function"`
		ExtraContent json.RawMessage `json:"extra_content,omitempty"`
	}
	chatFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatTool struct {
		Type     string   `json:"type"`
		Function toolSpec `json:"function"`
	}
	toolSpec struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// The names of what a model may refuse, as they are on the wire.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
	temperature         = "temperature"
	reasoningEffort     = "reasoning_effort"
	reasoningObject     = "reasoning"
	thinkingObject      = "thinking"
	streamOptionsObject = "stream_options"
)

// options are the parameters of a request that it may go without.
type options struct {
	refused []string
	// sent are those that go out.
	sent []string
}

// take reports whether the parameter of that name goes out, and notes it.
func (o *options) take(name string) bool {
	if slices.Contains(o.refused, name) {
		return false
	}
	o.sent = append(o.sent, name)
	return true
}

// limit sets the longest answer under the name that the server and its model
// take; each is tried before none.
func (m *Model) limit(out *chatRequest, tokens int, o *options) {
	if tokens <= 0 {
		return
	}
	first, second := maxCompletionTokens, maxTokens
	if m.Profile.LegacyMaxTokens {
		first, second = second, first
	}
	for _, name := range []string{first, second} {
		if !o.take(name) {
			continue
		}
		if name == maxTokens {
			out.MaxTokens = tokens
		} else {
			out.MaxCompletionTokens = tokens
		}
		return
	}
}

// effort says how much to think in the words of the server.
func (m *Model) effort(out *chatRequest, effort string, o *options) {
	if effort == "" {
		return
	}
	switch m.Profile.Effort {
	case provider.EffortObject:
		if o.take(reasoningObject) {
			out.Reasoning = &chatReasoning{Effort: effort}
		}
		return
	case provider.EffortThinking:
		kind := "enabled"
		if effort == core.EffortNone {
			kind = "disabled"
		}
		if o.take(thinkingObject) {
			out.Thinking = &chatThinking{Type: kind}
		}
		if effort == core.EffortNone {
			return
		}
	case provider.EffortSwitch:
		if effort != core.EffortNone {
			effort = core.EffortHigh
		}
	case provider.EffortPlain:
	}
	if o.take(reasoningEffort) {
		out.ReasoningEffort = effort
	}
}

// encode builds the body of a request, the names of the tools in it and those of
// the parameters that the model may refuse.
func (m *Model) encode(req core.Request) ([]byte, dialect.Names, []string, error) {
	names := dialect.NewNames(req)
	out := chatRequest{Model: req.Model, Stream: true}
	o := options{refused: req.Refused}
	m.limit(&out, req.MaxOutputTokens, &o)
	if req.Temperature != nil && o.take(temperature) {
		out.Temperature = req.Temperature
	}
	m.effort(&out, req.Effort, &o)
	if !m.Profile.NoStreamOptions && o.take(streamOptionsObject) {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, textMessage("system", req.System))
	}
	ids := dialect.NewIDs(req.Messages, m.Profile.ShortIDs)
	for _, msg := range req.Messages {
		switch msg.Role {
		case core.RoleSystem, core.RoleUser:
			out.Messages = append(out.Messages, textMessage(string(msg.Role), dialect.Text(msg, core.PartText)))
		case core.RoleAssistant:
			// A turn that was thinking alone, perhaps of another model, has
			// nothing to say here, and some servers refuse such a one.
			if turn := m.assistant(msg, req.Model, names, ids); !turn.empty() {
				out.Messages = append(out.Messages, turn)
			}
		case core.RoleTool:
			for _, p := range msg.Parts {
				if p.Type == core.PartToolResult {
					t := textMessage("tool", p.Text)
					t.ToolCallID = ids.Of(p)
					out.Messages = append(out.Messages, t)
				}
			}
		}
	}
	for _, t := range req.Tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, chatTool{Type: "function", Function: toolSpec{
			Name: names.Wire(t.Name), Description: dialect.Scrub(t.Description), Parameters: schema,
		}})
	}
	body, err := dialect.Marshal(out)
	if err != nil {
		return nil, names, nil, err
	}
	return body, names, o.sent, nil
}

func textMessage(role, text string) chatMessage {
	text = dialect.Scrub(text)
	return chatMessage{Role: role, Content: &text}
}

// empty reports whether a turn of the model says nothing.
func (c chatMessage) empty() bool {
	return (c.Content == nil || strings.TrimSpace(*c.Content) == "") && len(c.ToolCalls) == 0 &&
		len(c.ReasoningDetails) == 0 && len(c.ExtraContent) == 0
}

// assistant builds a turn of the model. What is opaque goes back to where it
// came from only, and what a profile does not want stays here.
func (m *Model) assistant(msg core.Message, model string, names dialect.Names, ids dialect.IDs) chatMessage {
	out := textMessage("assistant", dialect.Text(msg, core.PartText))
	var kept kept
	dialect.Open(msg, provider.Chat, m.Origin(model), &kept)
	for _, p := range msg.Parts {
		if p.Type != core.PartToolCall {
			continue
		}
		call := chatCall{ID: ids.Of(p), Type: "function", Function: chatFunction{
			Name: names.Wire(p.Name), Arguments: string(dialect.Arguments(p.Input)),
		}}
		if n := len(out.ToolCalls); n < len(kept.CallExtra) && string(kept.CallExtra[n]) != "null" {
			call.ExtraContent = kept.CallExtra[n]
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	if *out.Content == "" && len(out.ToolCalls) > 0 && !m.Profile.EmptyContent {
		out.Content = nil
	}
	if m.Profile.ReasoningBack && len(out.ToolCalls) > 0 {
		out.ReasoningContent = kept.ReasoningContent
	}
	if m.Profile.DetailsBack && len(kept.ReasoningDetails) > 0 {
		if raw, err := dialect.Marshal(kept.ReasoningDetails); err == nil {
			out.ReasoningDetails = raw
		}
	}
	out.ExtraContent = kept.Extra
	return out
}
