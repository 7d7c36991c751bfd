package openaichat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"galley/backend/agent/core"
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

// encode builds the body of a request, and the map from the tool names it uses
// to ours.
func (m *Model) encode(req core.Request) ([]byte, map[string]string, error) {
	names := newNames(req)
	out := chatRequest{Model: req.Model, Stream: true}
	if m.profile.LegacyMaxTokens {
		out.MaxTokens = req.MaxOutputTokens
	} else {
		out.MaxCompletionTokens = req.MaxOutputTokens
	}
	if !m.profile.NoStreamOptions {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, textMessage("system", req.System))
	}
	ids := newIDs(req.Messages, m.profile.ShortIDs)
	for _, msg := range req.Messages {
		switch msg.Role {
		case core.RoleSystem, core.RoleUser:
			out.Messages = append(out.Messages, textMessage(string(msg.Role), textOf(msg, core.PartText)))
		case core.RoleAssistant:
			out.Messages = append(out.Messages, m.assistant(msg, req.Model, names, ids))
		case core.RoleTool:
			for _, p := range msg.Parts {
				if p.Type == core.PartToolResult {
					t := textMessage("tool", p.Text)
					t.ToolCallID = ids.of(p)
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
			Name: names.out[t.Name], Description: scrub(t.Description), Parameters: schema,
		}})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, nil, err
	}
	return buf.Bytes(), names.in, nil
}

func textMessage(role, text string) chatMessage {
	text = scrub(text)
	return chatMessage{Role: role, Content: &text}
}

// textOf joins the parts of one type. What a person sees as separate parts
// stays separate.
func textOf(msg core.Message, t core.PartType) string {
	var parts []string
	for _, p := range msg.Parts {
		if p.Type == t && p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	sep := "\n\n"
	if msg.Role == core.RoleAssistant {
		sep = "" // what came in pieces goes back as one
	}
	return strings.Join(parts, sep)
}

// assistant builds a turn of the model. What is opaque goes back to where it
// came from only, and what a profile does not want stays here.
func (m *Model) assistant(msg core.Message, model string, names names, ids ids) chatMessage {
	out := textMessage("assistant", textOf(msg, core.PartText))
	kept := opened(msg, m.origin(model))
	for _, p := range msg.Parts {
		if p.Type != core.PartToolCall {
			continue
		}
		call := chatCall{ID: ids.of(p), Type: "function", Function: chatFunction{
			Name: names.name(p.Name), Arguments: argumentsOf(p.Input),
		}}
		if n := len(out.ToolCalls); n < len(kept.CallExtra) && string(kept.CallExtra[n]) != "null" {
			call.ExtraContent = kept.CallExtra[n]
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	if *out.Content == "" && len(out.ToolCalls) > 0 && !m.profile.EmptyContent {
		out.Content = nil
	}
	if m.profile.ReasoningBack && len(out.ToolCalls) > 0 {
		out.ReasoningContent = kept.ReasoningContent
	}
	if m.profile.DetailsBack && len(kept.ReasoningDetails) > 0 {
		if raw, err := marshal(kept.ReasoningDetails); err == nil {
			out.ReasoningDetails = raw
		}
	}
	out.ExtraContent = kept.Extra
	return out
}

func argumentsOf(input json.RawMessage) string {
	if len(bytes.TrimSpace(input)) == 0 {
		return "{}"
	}
	return string(scrubEscapes(input))
}

// names maps our tool names to those that the dialect allows, letters, digits,
// _ and - up to 64, and back.
type names struct {
	out map[string]string
	in  map[string]string
}

func newNames(req core.Request) names {
	n := names{out: make(map[string]string), in: make(map[string]string)}
	for _, t := range req.Tools {
		wire := legalName(t.Name)
		for i := 2; n.in[wire] != "" && n.in[wire] != t.Name; i++ {
			suffix := "_" + strconv.Itoa(i)
			wire = wire[:min(len(wire), 64-len(suffix))] + suffix
		}
		n.out[t.Name], n.in[wire] = wire, t.Name
	}
	return n
}

// name returns the name of a tool that may no longer be offered.
func (n names) name(own string) string {
	if wire, ok := n.out[own]; ok {
		return wire
	}
	return legalName(own)
}

func legalName(s string) string {
	legal := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if legal == "" {
		legal = "_"
	}
	return legal[:min(len(legal), 64)]
}

// ids gives each call of a conversation the id it goes out with: the provider's
// own, unless it gave none, gave it twice, or wants another form.
type ids struct {
	short bool
	taken map[string]core.ToolCallID
	mine  map[core.ToolCallID]string
}

func newIDs(msgs []core.Message, short bool) ids {
	x := ids{short: short, taken: make(map[string]core.ToolCallID), mine: make(map[core.ToolCallID]string)}
	for _, msg := range msgs {
		for _, p := range msg.Parts {
			if p.Type != core.PartToolCall {
				continue
			}
			id := p.ProviderCallID
			if owner, used := x.taken[id]; id == "" || used && owner != p.ToolCallID {
				id = string(p.ToolCallID)
			}
			if short && !isShort(id) {
				sum := sha256.Sum256([]byte(string(p.ToolCallID) + "\x00" + id))
				id = hex.EncodeToString(sum[:])[:9]
			}
			x.taken[id], x.mine[p.ToolCallID] = p.ToolCallID, id
		}
	}
	return x
}

// of returns the id of a call, or of the call that a result belongs to.
func (x ids) of(p core.Part) string {
	if id, ok := x.mine[p.ToolCallID]; ok {
		return id
	}
	if p.ProviderCallID != "" {
		return p.ProviderCallID
	}
	return string(p.ToolCallID)
}

func isShort(id string) bool {
	return len(id) == 9 && legalName(id) == id && !strings.ContainsAny(id, "_-")
}

// scrub makes text valid: half a surrogate pair, which a page can hold, would
// make the provider refuse the whole request.
func scrub(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// scrubEscapes does the same to escapes within JSON.
func scrubEscapes(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		unit, ok := escapedUnit(raw[i:])
		switch {
		case !ok:
			out = append(out, raw[i:i+2]...)
			i += 2
		case unit >= 0xd800 && unit < 0xdc00:
			if low, ok := escapedUnit(raw[i+6:]); ok && low >= 0xdc00 && low < 0xe000 {
				out = append(out, raw[i:i+12]...)
				i += 12
				continue
			}
			out = append(out, `\ufffd`...)
			i += 6
		case unit >= 0xdc00 && unit < 0xe000:
			out = append(out, `\ufffd`...)
			i += 6
		default:
			out = append(out, raw[i:i+6]...)
			i += 6
		}
	}
	return out
}

// escapedUnit reads \uXXXX at the start of b.
func escapedUnit(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return v, err == nil
}
