package openairesponses

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// The request as it goes out. Fields are in the order of the dialect's
// documentation.
type (
	request struct {
		Model           string     `json:"model"`
		Instructions    string     `json:"instructions,omitempty"`
		Input           []any      `json:"input"`
		Tools           []tool     `json:"tools,omitempty"`
		MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
		Temperature     *float64   `json:"temperature,omitempty"`
		Reasoning       *reasoning `json:"reasoning,omitempty"`
		Include         []string   `json:"include,omitempty"`
		Store           *bool      `json:"store,omitempty"`
		Stream          bool       `json:"stream"`
	}
	reasoning struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		// Strict would change what a schema may say; the program checks itself.
		Strict bool `json:"strict"`
	}
	content struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Annotations *[]any `json:"annotations,omitempty"`
	}
	message struct {
		Type    string    `json:"type"`
		ID      string    `json:"id,omitempty"`
		Status  string    `json:"status,omitempty"`
		Role    string    `json:"role"`
		Content []content `json:"content"`
	}
	functionCall struct {
		Type      string `json:"type"`
		ID        string `json:"id,omitempty"`
		Status    string `json:"status,omitempty"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	functionOutput struct {
		Type   string `json:"type"`
		ID     string `json:"id,omitempty"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

// The names of optional parameters on the wire, as refusals name them.
const (
	paramMaxOutput = "max_output_tokens"
	paramTemp      = "temperature"
	paramReasoning = "reasoning"
	paramEffort    = "reasoning.effort"
	paramSummary   = "reasoning.summary"
	paramInclude   = "include"
	paramStore     = "store"
)

// encrypted asks for thinking that can be sent back without being stored.
const encrypted = "reasoning.encrypted_content"

// noOutput is told of a call that the conversation has no result for: a
// provider refuses a request that leaves one open, now and ever after.
const noOutput = "The result is not known."

// sent is what a decoder has to know of the request that it reads the answer of.
type sent struct {
	names    dialect.Names
	optional []string
}

// encode builds the body of a request.
func (m *Model) encode(req core.Request) ([]byte, sent, error) {
	s := sent{names: dialect.NewNames(req)}
	out := request{Model: req.Model, Instructions: dialect.Scrub(req.System), Stream: true}
	m.options(&out, req, &s)
	in := inputOf(m, req, s.names)
	for _, msg := range req.Messages {
		in.add(msg)
	}
	out.Input = in.items
	for _, t := range req.Tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, tool{
			Type: "function", Name: s.names.Wire(t.Name), Description: dialect.Scrub(t.Description),
			Parameters: dialect.ScrubEscapes(schema),
		})
	}
	body, err := dialect.Marshal(out)
	return body, s, err
}

// options sets what a model can refuse, and notes it.
func (m *Model) options(out *request, req core.Request, s *sent) {
	take := func(name string) bool {
		if slices.Contains(req.Refused, name) {
			return false
		}
		s.optional = append(s.optional, name)
		return true
	}
	if req.MaxOutputTokens > 0 && take(paramMaxOutput) {
		out.MaxOutputTokens = req.MaxOutputTokens
	}
	if req.Temperature != nil && take(paramTemp) {
		out.Temperature = req.Temperature
	}
	thinks := m.thinks(req.Model)
	var r reasoning
	if !slices.Contains(req.Refused, paramReasoning) {
		if req.Effort != "" && take(paramEffort) {
			r.Effort = req.Effort
		}
		// Only the vendor's models say nothing of their thinking unasked.
		own := m.profile == "" || m.profile == "azure"
		if own && thinks && req.Effort != core.EffortNone && take(paramSummary) {
			r.Summary = "auto"
		}
		if r != (reasoning{}) {
			out.Reasoning = &r
		}
	}
	if thinks && take(paramInclude) {
		out.Include = []string{encrypted}
	}
	// Nothing is to be stored. Where the vendor stores unless it is told not to,
	// that is no option.
	no := false
	if m.profile == "" || m.profile == "azure" || take(paramStore) {
		out.Store = &no
	}
}

// thinks reports whether a model may think and hand it out encrypted. A server
// on the person's machine hands it out as it is.
func (m *Model) thinks(model string) bool {
	if m.Profile.Local {
		return false
	}
	model = strings.TrimPrefix(strings.ToLower(model), "ft:")
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, plain := range []string{"gpt-3.5", "gpt-4", "chatgpt-4o", "gpt-5-chat"} {
		if strings.HasPrefix(model, plain) {
			return false
		}
	}
	return true
}

// input puts the items of a conversation together.
type input struct {
	m      *Model
	origin string
	names  dialect.Names
	ids    dialect.IDs
	// calls and results of the whole request by our own id, so that each has its
	// other half.
	calls, results map[core.ToolCallID]bool
	answered       map[core.ToolCallID]bool
	items          []any
}

func inputOf(m *Model, req core.Request, names dialect.Names) *input {
	in := &input{
		m: m, origin: m.Origin(req.Model), names: names, ids: dialect.NewIDs(req.Messages, false),
		calls: make(map[core.ToolCallID]bool), results: make(map[core.ToolCallID]bool),
		answered: make(map[core.ToolCallID]bool), items: []any{},
	}
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			switch {
			case p.Type == core.PartToolCall && msg.Role == core.RoleAssistant:
				in.calls[p.ToolCallID] = true
			case p.Type == core.PartToolResult && msg.Role == core.RoleTool:
				in.results[p.ToolCallID] = true
			}
		}
	}
	return in
}

func (in *input) add(msg core.Message) {
	switch msg.Role {
	case core.RoleSystem, core.RoleUser:
		in.items = append(in.items, message{
			Type: "message", Role: string(msg.Role),
			Content: []content{{Type: "input_text", Text: dialect.Text(msg, core.PartText)}},
		})
	case core.RoleAssistant:
		in.turn(msg)
	case core.RoleTool:
		for _, p := range msg.Parts {
			if p.Type == core.PartToolResult && in.calls[p.ToolCallID] {
				in.output(p, p.Text)
			}
		}
	}
}

// output adds the result of a call, the first only.
func (in *input) output(p core.Part, text string) {
	if in.answered[p.ToolCallID] {
		return
	}
	in.answered[p.ToolCallID] = true
	in.items = append(in.items, functionOutput{
		Type: "function_call_output", ID: in.id("fco_"), CallID: callID(in.ids.Of(p)), Output: dialect.Scrub(text),
	})
}

// turn adds a turn of the model: in the order it came in where that is known,
// with what it thought before what followed of it. Thinking that nothing of the
// turn follows is refused, and so stays here.
func (in *input) turn(msg core.Message) {
	var calls []core.Part
	for _, p := range msg.Parts {
		if p.Type == core.PartToolCall {
			calls = append(calls, p)
		}
	}
	text := dialect.Text(msg, core.PartText)
	var k kept
	dialect.Open(msg, provider.Responses, in.origin, &k)
	pieces := k.pieces(text)
	var thought []any
	say := func(text string, more dialect.Fields) {
		if text == "" {
			return
		}
		in.items = append(append(in.items, thought...), in.said(text, more))
		thought = nil
	}
	done := 0
	call := func(more dialect.Fields) {
		p := calls[done]
		done++
		in.items = append(append(in.items, thought...), in.called(p, more))
		thought = nil
	}
	if len(pieces) == 0 {
		say(text, nil)
	}
	for i, s := range k.Items {
		switch {
		case s.Reasoning != nil:
			if raw := in.m.back(s.Reasoning); raw != nil {
				thought = append(thought, raw)
			}
		case s.Call:
			if done < len(calls) {
				call(s.More)
			}
		default:
			say(pieces[i], s.More)
		}
	}
	for done < len(calls) {
		call(nil)
	}
	for _, p := range calls {
		if !in.results[p.ToolCallID] {
			in.output(p, noOutput)
		}
	}
}

// back returns a reasoning item as it goes back, nil for one that cannot:
// without its encrypted content the vendor looks for it where it was never
// stored, while other servers take the thinking itself.
func (m *Model) back(raw json.RawMessage) json.RawMessage {
	item := dialect.Object(raw)
	own := m.profile == "" || m.profile == "azure"
	if dialect.Str(item["encrypted_content"]) == "" && (own || len(dialect.List(item["content"])) == 0) {
		return nil
	}
	return json.RawMessage(dialect.Scrub(string(dialect.ScrubEscapes(raw))))
}

// said is text of the model.
func (in *input) said(text string, more dialect.Fields) any {
	out := message{
		Type: "message", ID: in.id("msg_"), Role: "assistant",
		Content: []content{{Type: "output_text", Text: text, Annotations: &[]any{}}},
	}
	if out.ID != "" {
		out.Status = "completed"
	}
	return with(out, more)
}

// called is a call of the model.
func (in *input) called(p core.Part, more dialect.Fields) any {
	out := functionCall{
		Type: "function_call", ID: in.id("fc_"), CallID: callID(in.ids.Of(p)), Name: in.names.Wire(p.Name),
		Arguments: dialect.Scrub(string(dialect.Arguments(p.Input))),
	}
	if out.ID != "" {
		out.Status = "completed"
	}
	return with(out, more)
}

// id names an item where a name is required (OpenRouter). OpenAI would take a
// name as a reference to what is stored with it.
func (in *input) id(prefix string) string {
	if in.m.profile != "openrouter" {
		return ""
	}
	return prefix + strconv.Itoa(len(in.items))
}

// maxCallID is the longest id of a call that is accepted, in bytes.
const maxCallID = 64

// callID returns an id that is accepted; a model of another provider may have
// given a longer one.
func callID(id string) string {
	if len(id) <= maxCallID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// with adds fields to an item that it does not have itself.
func with(item any, more dialect.Fields) any {
	if len(more) == 0 {
		return item
	}
	raw, err := dialect.Marshal(item)
	if err != nil {
		return item
	}
	all := dialect.Object(raw)
	for name, value := range more {
		if _, own := all[name]; !own {
			all[name] = json.RawMessage(dialect.Scrub(string(dialect.ScrubEscapes(value))))
		}
	}
	return all
}
