package openaichat

import (
	"encoding/json"

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
		Stream              bool           `json:"stream"`
		StreamOptions       *streamOptions `json:"stream_options,omitempty"`
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

// encode builds the body of a request, and the names of the tools in it.
func (m *Model) encode(req core.Request) ([]byte, dialect.Names, error) {
	names := dialect.NewNames(req)
	out := chatRequest{Model: req.Model, Stream: true}
	if m.Profile.LegacyMaxTokens {
		out.MaxTokens = req.MaxOutputTokens
	} else {
		out.MaxCompletionTokens = req.MaxOutputTokens
	}
	if !m.Profile.NoStreamOptions {
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
			out.Messages = append(out.Messages, m.assistant(msg, req.Model, names, ids))
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
		return nil, names, err
	}
	return body, names, nil
}

func textMessage(role, text string) chatMessage {
	text = dialect.Scrub(text)
	return chatMessage{Role: role, Content: &text}
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
