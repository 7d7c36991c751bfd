package gemini

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// noSignature stands where a call has no thought signature, since another model
// made it: the word that the documentation of the API gives for that.
const noSignature = "skip_thought_signature_validator"

// lostResult is said of a call that no result is known of.
const lostResult = "What came of this call is not known."

// sentCall is a call as it went out, for its response.
type sentCall struct {
	own      core.ToolCallID
	id, name string
}

// contents builds the conversation and the instructions. Each turn with calls
// is followed by as many responses, in the same order: one that is not known
// says so, and one that belongs to no call is left out.
func (m *Model) contents(req core.Request, names dialect.Names) ([]content, *content, error) {
	h := history{m: m, model: req.Model, names: names, ids: dialect.NewIDs(req.Messages, false)}
	system := content{}
	if req.System != "" {
		system.Parts = append(system.Parts, h.marshal(textPart{Text: dialect.Scrub(req.System)}))
	}
	results := make(map[core.ToolCallID]core.Part)
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			if p.Type == core.PartToolResult {
				results[p.ToolCallID] = p
			}
		}
	}
	all := []content{}
	add := func(role string, parts []json.RawMessage) {
		if len(parts) > 0 {
			all = append(all, content{Role: role, Parts: parts})
		}
	}
	for _, msg := range req.Messages {
		switch msg.Role {
		case core.RoleSystem:
			if text := dialect.Text(msg, core.PartText); text != "" {
				system.Parts = append(system.Parts, h.marshal(textPart{Text: text}))
			}
		case core.RoleUser:
			if text := dialect.Text(msg, core.PartText); text != "" {
				add("user", []json.RawMessage{h.marshal(textPart{Text: text})})
			}
		case core.RoleAssistant:
			parts, calls := h.turn(msg)
			add("model", parts)
			var responses []json.RawMessage
			for _, c := range calls {
				responses = append(responses, h.response(c, results))
			}
			add("user", responses)
		case core.RoleTool: // beside its call
		}
	}
	if len(system.Parts) == 0 {
		return all, nil, h.err
	}
	return all, &system, h.err
}

// history builds the turns of a conversation.
type history struct {
	m     *Model
	model string
	names dialect.Names
	ids   dialect.IDs
	err   error // the first of marshal
}

func (h *history) marshal(v any) json.RawMessage {
	raw, err := dialect.Marshal(v)
	if err != nil && h.err == nil {
		h.err = err
	}
	return raw
}

// response builds the result of a call.
func (h *history) response(c sentCall, results map[core.ToolCallID]core.Part) json.RawMessage {
	said, isError := lostResult, true
	if p, ok := results[c.own]; ok {
		said, isError = dialect.Scrub(p.Text), p.IsError
	}
	r := functionResponse{ID: c.id, Name: c.name}
	if isError {
		r.Response.Error = &said
	} else {
		r.Response.Output = &said
	}
	return h.marshal(responsePart{r})
}

// turn builds a turn of the model, and returns its calls as they go out.
func (h *history) turn(msg core.Message) ([]json.RawMessage, []sentCall) {
	came := h.m.open(msg, h.model)
	parts, calls, ok := h.asItCame(msg, came)
	if !ok {
		parts, calls = h.rebuilt(msg, came)
	}
	if wantsSignatures(h.model) {
		sign(parts)
	}
	return parts, calls
}

// asItCame returns the parts of a turn as they came. It reports false when they
// do not say what the message says: then something was left out of it, or
// changed.
func (h *history) asItCame(msg core.Message, came []json.RawMessage) ([]json.RawMessage, []sentCall, bool) {
	if came == nil {
		return nil, nil, false
	}
	own := callsOf(msg)
	var parts []json.RawMessage
	var calls []sentCall
	var said strings.Builder
	for _, raw := range came {
		f := dialect.Object(raw)
		if function := dialect.Object(f["functionCall"]); function != nil {
			if len(calls) == len(own) || !h.same(own[len(calls)], function) {
				return nil, nil, false
			}
			calls = append(calls, sentCall{
				own: own[len(calls)].ToolCallID, id: dialect.Str(function["id"]), name: dialect.Str(function["name"]),
			})
		}
		if text, thought := textOf(raw); !thought {
			said.WriteString(text)
		}
		parts = append(parts, dialect.ScrubEscapes([]byte(dialect.Scrub(string(withData(raw, f))))))
	}
	rest, ok := strings.CutPrefix(dialect.Text(msg, core.PartText), dialect.Scrub(said.String()))
	if !ok || len(calls) != len(own) || rest != "" && len(calls) > 0 {
		return nil, nil, false
	}
	// What was said of the turn later, such as that it was stopped.
	if rest != "" {
		parts = append(parts, h.marshal(textPart{Text: rest}))
	}
	return parts, calls, true
}

// withData returns a part with an empty text when it holds a signature alone,
// which the API gives and does not take.
func withData(raw json.RawMessage, f dialect.Fields) json.RawMessage {
	said := holds(f)
	delete(said, "partMetadata")
	if len(said) == 1 && said["thoughtSignature"] {
		return append(json.RawMessage(`{"text":"",`), bytes.TrimLeft(raw, "{ ")...)
	}
	return raw
}

// rebuilt makes a turn of the text and the calls of a message. A call that came
// with a signature keeps it.
func (h *history) rebuilt(msg core.Message, came []json.RawMessage) ([]json.RawMessage, []sentCall) {
	var parts []json.RawMessage
	var calls []sentCall
	if text := dialect.Text(msg, core.PartText); text != "" {
		parts = append(parts, h.marshal(textPart{Text: text}))
	}
	for _, p := range callsOf(msg) {
		args := dialect.Arguments(p.Input)
		if !dialect.IsObject(string(args)) {
			args = json.RawMessage("{}")
		}
		c := sentCall{own: p.ToolCallID, id: h.ids.Of(p), name: h.names.Wire(p.Name)}
		out := callPart{FunctionCall: functionCall{ID: c.id, Name: c.name, Args: args}}
		out.Signature, came = signatureOf(p, came)
		parts = append(parts, h.marshal(out))
		calls = append(calls, c)
	}
	return parts, calls
}

// signatureOf returns the signature that a call came with, nil for none, and
// the parts that come after it.
func signatureOf(p core.Part, came []json.RawMessage) (json.RawMessage, []json.RawMessage) {
	for i, raw := range came {
		f := dialect.Object(raw)
		function := dialect.Object(f["functionCall"])
		if function == nil {
			continue
		}
		id := dialect.Str(function["id"])
		if dialect.Str(function["name"]) != p.Name || id != "" && p.ProviderCallID != "" && id != p.ProviderCallID {
			continue
		}
		if dialect.IsNull(f["thoughtSignature"]) {
			return nil, came[i+1:]
		}
		return f["thoughtSignature"], came[i+1:]
	}
	return nil, came
}

func callsOf(msg core.Message) []core.Part {
	var all []core.Part
	for _, p := range msg.Parts {
		if p.Type == core.PartToolCall {
			all = append(all, p)
		}
	}
	return all
}

// same reports whether a call that came is the one of a message.
func (h *history) same(p core.Part, function dialect.Fields) bool {
	name := dialect.Str(function["name"])
	if name != h.names.Wire(p.Name) && h.names.Own(name) != p.Name {
		return false
	}
	args := function["args"]
	if dialect.IsNull(args) {
		args = json.RawMessage("{}")
	}
	a, ok := decoded(args)
	b, ok2 := decoded(dialect.Arguments(p.Input))
	return ok && ok2 && reflect.DeepEqual(a, b)
}

// decoded returns the value of JSON that is an object.
func decoded(raw json.RawMessage) (map[string]any, bool) {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && v != nil
}

// sign gives the first call of a turn the word for a signature that is not
// there. The others of a turn need none.
func sign(parts []json.RawMessage) {
	for i, raw := range parts {
		f := dialect.Object(raw)
		if dialect.IsNull(f["functionCall"]) {
			continue
		}
		if dialect.IsNull(f["thoughtSignature"]) {
			f["thoughtSignature"] = json.RawMessage(`"` + noSignature + `"`)
			if out, err := dialect.Marshal(f); err == nil {
				parts[i] = out
			}
		}
		return
	}
}
