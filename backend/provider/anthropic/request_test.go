package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/provider"
)

// sent records the request that reaches a server, which answers with body.
func sent(t *testing.T, profile, body string, req core.Request) (map[string]any, http.Header, core.Answer) {
	t.Helper()
	var got map[string]any
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("the request is no JSON: %s", raw)
		}
		if r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
			t.Errorf("it went to %s %s", r.Method, r.URL)
		}
		header = r.Header
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Profile: profile, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	// The origin of an envelope is a host, and a test server has another each
	// time.
	m.Host = "host.test"
	a, err := m.Stream(t.Context(), req, func(core.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	return got, header, a
}

const okStream = `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"ok"}}` + "\n\n" +
	`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\ndata: [DONE]\n\n"

type (
	object = map[string]any
	list   = []any
)

func words(s string) object { return object{"type": "text", "text": s} }

func callPart(id core.ToolCallID, providerID, name, input string) core.Part {
	return core.Part{Type: core.PartToolCall, ToolCallID: id, ProviderCallID: providerID, Name: name, Input: json.RawMessage(input)}
}

func resultOf(id core.ToolCallID, text string) core.Message {
	return core.Message{Role: core.RoleTool, Parts: []core.Part{{Type: core.PartToolResult, ToolCallID: id, Name: "f", Text: text}}}
}

func modelSays(parts ...core.Part) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: parts}
}

func textPart(s string) core.Part { return core.Part{Type: core.PartText, Text: s} }

// TestRequest holds the whole of a request, and the headers that carry it.
//
// covers: K1
func TestRequest(t *testing.T) {
	t.Parallel()
	req := core.Request{
		Model: "heron-4", System: "Be short.", MaxOutputTokens: 50,
		Messages: []core.Message{
			userSays("do"),
			modelSays(textPart("I will."), callPart("c1", "toolu_1", "doc.read", `{"p":1}`)),
			resultOf("c1", "text"),
		},
		Tools: []core.ToolSpec{
			{Name: "doc.read", Description: "reads", InputSchema: json.RawMessage(`{"type":"object"}`)},
			{Name: "outline"},
		},
	}
	for profile, key := range map[string]string{"": "X-Api-Key", "compatible": "X-Api-Key", "azure": "Api-Key", "openrouter": "Authorization", "llamacpp": "X-Api-Key"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			got, header, _ := sent(t, profile, okStream, req)
			want := object{
				"model": "heron-4", "stream": true, "max_tokens": 50.0, "system": "Be short.",
				"messages": list{
					object{"role": "user", "content": list{words("do")}},
					object{"role": "assistant", "content": list{
						words("I will."),
						object{"type": "tool_use", "id": "toolu_1", "name": "doc_read", "input": object{"p": 1.0}},
					}},
					object{"role": "user", "content": list{object{"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}}},
				},
				"tools": list{
					object{"name": "doc_read", "description": "reads", "input_schema": object{"type": "object"}},
					object{"name": "outline", "input_schema": object{"type": "object", "properties": object{}}},
				},
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if v := header.Get("Anthropic-Version"); v != "2023-06-01" || header.Get("Anthropic-Beta") != "" {
				t.Errorf("version %q, beta %q", v, header.Get("Anthropic-Beta"))
			}
			for _, name := range []string{"X-Api-Key", "Api-Key", "Authorization"} {
				value := plantedKey
				if name == "Authorization" {
					value = "Bearer " + value
				}
				if name != key {
					value = ""
				}
				if header.Get(name) != value {
					t.Errorf("%s is %q", name, header.Get(name))
				}
			}
		})
	}
}

// TestRequest_Conversation holds what the dialect wants of the turns: they
// alternate, nothing is empty, and each call has its result behind it.
//
// CASES: C12
// covers: K2
func TestRequest_Conversation(t *testing.T) {
	t.Parallel()
	call := func(id string) object {
		return object{"type": "tool_use", "id": id, "name": "f", "input": object{}}
	}
	answered := func(id, text string) object {
		return object{"type": "tool_result", "tool_use_id": id, "content": text}
	}
	failed := func(id, text string) object {
		return object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true}
	}
	user := func(blocks ...any) object { return object{"role": "user", "content": blocks} }
	model := func(blocks ...any) object { return object{"role": "assistant", "content": blocks} }
	unknown := resultOf("c2", "Galley stopped; nobody knows.")
	unknown.Parts[0].IsError = true
	mute := resultOf("c1", " ")
	mute.Parts[0].IsError = true

	tests := []struct {
		name string
		msgs []core.Message
		want []any
	}{
		{"same role twice", []core.Message{userSays("a"), userSays("b"), modelSays(textPart("c")), modelSays(textPart("d"), textPart("e"))}, list{
			user(words("a"), words("b")), model(words("c"), words("de")),
		}},
		{"empty", []core.Message{userSays(""), userSays(" \n"), modelSays(textPart("")), modelSays(), userSays("a")}, list{user(words("a"))}},
		{"results in one turn, before the words", []core.Message{
			userSays("do"), modelSays(textPart("\n"), callPart("c1", "t1", "f", ``), callPart("c2", "t2", "f", `{}`)),
			userSays("and?"), unknown, resultOf("c1", "one"),
		}, list{
			user(words("do")), model(call("t1"), call("t2")),
			user(answered("t1", "one"), failed("t2", "Galley stopped; nobody knows."), words("and?")),
		}},
		{"no result", []core.Message{userSays("do"), modelSays(callPart("c1", "t1", "f", `{}`)), userSays("well?")}, list{
			user(words("do")), model(call("t1")), user(failed("t1", noResult), words("well?")),
		}},
		{"no result at the end", []core.Message{userSays("do"), modelSays(callPart("c1", "t1", "f", `{}`))}, list{
			user(words("do")), model(call("t1")), user(failed("t1", noResult)),
		}},
		{"no call", []core.Message{userSays("do"), resultOf("c9", "nine")}, list{
			user(words("[Result of f]\nnine"), words("do")),
		}},
		{"a failure without words", []core.Message{modelSays(callPart("c1", "t1", "f", `{}`)), mute}, list{
			model(call("t1")), user(failed("t1", noResult)),
		}},
		{"a result without words", []core.Message{modelSays(callPart("c1", "t1", "f", `{}`)), resultOf("c1", "")}, list{
			model(call("t1")), user(object{"type": "tool_result", "tool_use_id": "t1"}),
		}},
		{"ids missing, twice and of others", []core.Message{
			modelSays(callPart("c1", "t", "f", `{}`), callPart("c2", "t", "f", `{}`), callPart("c3", "functions.f:0", "f", `[1]`)),
			resultOf("c3", "3"), resultOf("c2", "2"), resultOf("c1", "1"),
		}, list{
			model(call("t"), call("c2"), call("toolu_d6bdd4de328a22edd610f954")),
			user(answered("t", "1"), answered("c2", "2"), answered("toolu_d6bdd4de328a22edd610f954", "3")),
		}},
		{"half a pair", []core.Message{
			userSays("a\xed\xa0\xbdb 😀"),
			modelSays(callPart("c1", "t1", "f", `{"t":"\ud83d \ud83d\ude00 \\ud83d \udc00"}`)),
			resultOf("c1", "\xff"),
		}, list{
			user(words("a\uFFFDb 😀")),
			model(object{"type": "tool_use", "id": "t1", "name": "f", "input": object{"t": "\uFFFD 😀 \\ud83d \uFFFD"}}),
			user(answered("t1", "\uFFFD")),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, _ := sent(t, "", okStream, core.Request{Model: "heron-4", Messages: tt.msgs})
			if d := cmp.Diff(tt.want, got["messages"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	t.Run("system", func(t *testing.T) {
		t.Parallel()
		got, _, _ := sent(t, "", okStream, core.Request{Model: "heron-4", System: "a\xff", Messages: []core.Message{
			userSays("x"), {Role: core.RoleSystem, Parts: []core.Part{textPart("b")}},
		}})
		if d := cmp.Diff(object{"system": "a\uFFFD\n\nb", "messages": list{user(words("x"))}}, object{"system": got["system"], "messages": got["messages"]}); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if got, _, _ := sent(t, "", okStream, core.Request{Model: "heron-4", System: " ", Messages: []core.Message{userSays("x")}}); got["system"] != nil {
			t.Errorf("an empty system prompt is %q", got["system"])
		}
	})
}

// TestRequest_Names: a dotted name goes out as the dialect allows and comes back
// as ours.
func TestRequest_Names(t *testing.T) {
	t.Parallel()
	got, _, a := sent(t, "",
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"math_add_2","input":{}}}`+"\n\n"+
			`data: {"type":"message_stop"}`+"\n\n",
		core.Request{Model: "m", Messages: []core.Message{userSays("x")}, Tools: []core.ToolSpec{{Name: "math_add"}, {Name: "math.add"}}})
	name := got["tools"].([]any)[1].(map[string]any)["name"]
	if name != "math_add_2" || len(a.Calls) != 1 || a.Calls[0].Name != "math.add" {
		t.Errorf("out as %v, back as %+v", name, a.Calls)
	}
}

const thoughtStream = `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"","kind":"new"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a <b> "}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"& c"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Sig/A+<>&=="}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Red/+=="}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Well. "}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{},"caller":{"type":"direct"}}}

data: {"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"","signature":"SigB=="}}

data: {"type":"content_block_start","index":5,"content_block":{"type":"text","text":"雪。"}}

data: {"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"t2","name":"g","input":{}}}

data: {"type":"content_block_start","index":7,"content_block":{"type":"thinking","thinking":"late","signature":"SigC=="}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

data: [DONE]

`

// stored returns a turn as it is read back from the store: its envelope has been
// through JSON and stands at one of its parts.
func stored(t *testing.T, a core.Answer, at int) core.Message {
	t.Helper()
	msg := modelSays()
	if a.Text != "" {
		msg.Parts = append(msg.Parts, textPart(a.Text))
	}
	for _, c := range a.Calls {
		msg.Parts = append(msg.Parts, callPart(core.ToolCallID("own-"+c.ID), c.ProviderID, c.Name, string(c.Arguments)))
	}
	raw, err := json.Marshal(a.Envelopes)
	if err != nil {
		t.Fatal(err)
	}
	var back []core.Envelope
	if err := json.Unmarshal(raw, &back); err != nil || len(back) != 1 {
		t.Fatalf("%d envelopes, %v", len(back), err)
	}
	msg.Parts[at].Envelope = &back[0]
	return msg
}

// TestEnvelope_RoundTrip: thinking goes back as it came and where it stood, to
// the same host and family only.
//
// CASES: C12
// covers: K2
func TestEnvelope_RoundTrip(t *testing.T) {
	t.Parallel()
	_, _, a := sent(t, "compatible", thoughtStream, core.Request{Model: "heron-4", Messages: []core.Message{userSays("x")}})
	if a.Reasoning != "a <b> & clate" || a.Text != "Well. 雪。" || len(a.Calls) != 2 {
		t.Fatalf("%+v", a)
	}
	first := object{"type": "thinking", "thinking": "a <b> & c", "signature": "Sig/A+<>&==", "kind": "new"}
	second := object{"type": "redacted_thinking", "data": "Red/+=="}
	third := object{"type": "thinking", "thinking": "", "signature": "SigB=="}
	call := func(id, name string) object {
		return object{"type": "tool_use", "id": id, "name": name, "input": object{}}
	}
	asked := call("t1", "f")
	asked["caller"] = object{"type": "direct"}

	back := func(profile, model string, change func(*core.Message)) any {
		msg := stored(t, a, 1)
		if change != nil {
			change(&msg)
		}
		got, _, _ := sent(t, profile, okStream, core.Request{Model: model, Messages: []core.Message{userSays("x"), msg, resultOf("own-call_1", "r")}})
		return got["messages"].([]any)[1].(map[string]any)["content"]
	}
	tests := []struct {
		name, profile, model string
		change               func(*core.Message)
		want                 list
	}{
		{"same model", "compatible", "heron-4", nil, list{first, second, words("Well. "), asked, third, words("雪。"), call("t2", "g")}},
		{"same family", "", "heron-5-mini", nil, list{first, second, words("Well. "), call("t1", "f"), third, words("雪。"), call("t2", "g")}},
		{"other family", "compatible", "fern-2", nil, list{words("Well. 雪。"), call("t1", "f"), call("t2", "g")}},
		{"other words", "compatible", "heron-4", func(m *core.Message) { m.Parts[0].Text = "Well." }, list{first, second, third, object{"type": "thinking", "thinking": "late", "signature": "SigC=="}, words("Well."), call("t1", "f"), call("t2", "g")}},
		{"words cut within a character", "compatible", "heron-4", func(m *core.Message) { m.Parts[0].Text = "Well雪。.." }, list{first, second, third, object{"type": "thinking", "thinking": "late", "signature": "SigC=="}, words("Well雪。.."), call("t1", "f"), call("t2", "g")}},
		{"a call less", "compatible", "heron-4", func(m *core.Message) { m.Parts = m.Parts[:2] }, list{first, second, third, object{"type": "thinking", "thinking": "late", "signature": "SigC=="}, words("Well. 雪。"), call("t1", "f")}},
		{"other host", "compatible", "heron-4", func(m *core.Message) { m.Parts[1].Envelope.Origin = "other.test heron" }, list{words("Well. 雪。"), call("t1", "f"), call("t2", "g")}},
		{"other dialect", "compatible", "heron-4", func(m *core.Message) { m.Parts[1].Envelope.Dialect = "gemini" }, list{words("Well. 雪。"), call("t1", "f"), call("t2", "g")}},
		{"no JSON", "compatible", "heron-4", func(m *core.Message) { m.Parts[1].Envelope.Raw = []byte("{") }, list{words("Well. 雪。"), call("t1", "f"), call("t2", "g")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(any(tt.want), back(tt.profile, tt.model, tt.change)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestEnvelope_Alone: a turn of thinking alone is left out, and thinking that was
// never signed does not go back to the vendor.
//
// CASES: C12
func TestEnvelope_Alone(t *testing.T) {
	t.Parallel()
	_, _, a := sent(t, "", `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S"}],"stop_reason":"end_turn"}`,
		core.Request{Model: "heron-4", Messages: []core.Message{userSays("x")}})
	msg := modelSays(core.Part{Type: core.PartReasoning, Text: a.Reasoning, Envelope: &a.Envelopes[0]})
	got, _, _ := sent(t, "", okStream, core.Request{Model: "heron-4", Messages: []core.Message{userSays("x"), msg, userSays("y")}})
	if d := cmp.Diff(any(list{object{"role": "user", "content": list{words("x"), words("y")}}}), got["messages"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Nothing that came is nothing to keep.
	if _, _, a := sent(t, "", `{"type":"message","content":[{"type":"thinking","thinking":""},{"type":"text","text":"x"}]}`,
		core.Request{Model: "heron-4", Messages: []core.Message{userSays("x")}}); len(a.Envelopes) != 0 {
		t.Errorf("%d envelopes of empty thinking", len(a.Envelopes))
	}
	for profile, want := range map[string]int{"": 1, "compatible": 2} {
		_, _, a := sent(t, profile, `{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"}]}`,
			core.Request{Model: "heron-4", Messages: []core.Message{userSays("x")}})
		got, _, _ := sent(t, profile, okStream, core.Request{Model: "heron-4", Messages: []core.Message{userSays("x"), stored(t, a, 0)}})
		if n := len(got["messages"].([]any)[1].(map[string]any)["content"].([]any)); n != want {
			t.Errorf("profile %q sends %d blocks, want %d", profile, n, want)
		}
	}
}
