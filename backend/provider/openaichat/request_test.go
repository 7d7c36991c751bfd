package openaichat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// sent records the request that reaches a server, which answers with body.
func sent(t *testing.T, profile, body string, req core.Request) (map[string]any, http.Header, core.Answer, error) {
	t.Helper()
	var got map[string]any
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("the request is no JSON: %s", raw)
		}
		header = r.Header
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Profile: profile, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	// The origin of an envelope is a host, and a test server has another each
	// time.
	m.Host = "host.test"
	a, err := m.Stream(t.Context(), req, func(core.Delta) {})
	return got, header, a, err
}

const okStream = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func callPart(id core.ToolCallID, providerID, name, input string) core.Part {
	return core.Part{Type: core.PartToolCall, ToolCallID: id, ProviderCallID: providerID, Name: name, Input: json.RawMessage(input)}
}

func result(id core.ToolCallID, text string) core.Message {
	return core.Message{Role: core.RoleTool, Parts: []core.Part{{Type: core.PartToolResult, ToolCallID: id, Text: text}}}
}

// TestRequest_Profiles holds what the servers of the dialect differ in.
//
// covers: K1
func TestRequest_Profiles(t *testing.T) {
	t.Parallel()
	req := core.Request{
		Model: "m", System: "Be short.", MaxOutputTokens: 50,
		Messages: []core.Message{
			userSays("do"),
			{Role: core.RoleAssistant, Parts: []core.Part{callPart("c1", "call_abc", "readDocument", `{"p":1}`)}},
			result("c1", "text"),
		},
		Tools: []core.ToolSpec{{Name: "readDocument", Description: "reads", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}
	tests := []struct {
		profile string
		limit   string
		usage   bool
		content any
		header  string
	}{
		{"", "max_completion_tokens", true, nil, "Authorization"},
		{"azure", "max_completion_tokens", true, nil, "Api-Key"},
		{"openrouter", "max_tokens", true, nil, "Authorization"},
		{"deepseek", "max_tokens", true, nil, "Authorization"},
		{"mistral", "max_tokens", false, nil, "Authorization"},
		{"xai", "max_tokens", true, nil, "Authorization"},
		{"ollama", "max_tokens", true, "", "Authorization"},
		{"lmstudio", "max_tokens", true, "", "Authorization"},
		{"llamacpp", "max_tokens", true, "", "Authorization"},
		{"compatible", "max_tokens", true, nil, "Authorization"},
	}
	for _, tt := range tests {
		t.Run(tt.profile, func(t *testing.T) {
			t.Parallel()
			got, header, _, err := sent(t, tt.profile, okStream, req)
			if err != nil {
				t.Fatal(err)
			}
			id := "call_abc"
			if tt.profile == "mistral" {
				id = got["messages"].([]any)[3].(map[string]any)["tool_call_id"].(string)
				if len(id) != 9 {
					t.Errorf("id %q", id)
				}
			}
			want := map[string]any{
				"model": "m", "stream": true, tt.limit: 50.0,
				"messages": []any{
					map[string]any{"role": "system", "content": "Be short."},
					map[string]any{"role": "user", "content": "do"},
					map[string]any{"role": "assistant", "content": tt.content, "tool_calls": []any{map[string]any{
						"id": id, "type": "function", "function": map[string]any{"name": "readDocument", "arguments": `{"p":1}`},
					}}},
					map[string]any{"role": "tool", "content": "text", "tool_call_id": id},
				},
				"tools": []any{map[string]any{"type": "function", "function": map[string]any{
					"name": "readDocument", "description": "reads", "parameters": map[string]any{"type": "object"},
				}}},
			}
			if tt.usage {
				want["stream_options"] = map[string]any{"include_usage": true}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if !strings.HasSuffix(header.Get(tt.header), plantedKey) {
				t.Errorf("no key in %s", tt.header)
			}
			if tt.header != "Authorization" && header.Get("Authorization") != "" {
				t.Error("the key is in two headers")
			}
		})
	}
}

// TestRequest_Scrub: half a surrogate pair never leaves.
func TestRequest_Scrub(t *testing.T) {
	t.Parallel()
	got, _, _, err := sent(t, "", okStream, core.Request{Model: "m", Messages: []core.Message{
		userSays("a\xed\xa0\xbdb 😀"),
		{Role: core.RoleAssistant, Parts: []core.Part{callPart("c1", "x", "f", `{"t":"\ud83d \ud83d\ude00 \\ud83d \udc00"}`)}},
		result("c1", "\xff"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	msgs := got["messages"].([]any)
	if text := msgs[0].(map[string]any)["content"]; text != "a\uFFFDb 😀" {
		t.Errorf("content %q", text)
	}
	args := msgs[1].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)["arguments"]
	if args != `{"t":"\ufffd \ud83d\ude00 \\ud83d \ufffd"}` {
		t.Errorf("arguments %q", args)
	}
}

// TestRequest_IDs: calls whose ids are missing or twice there can be told apart,
// and their results follow.
func TestRequest_IDs(t *testing.T) {
	t.Parallel()
	got, _, _, err := sent(t, "", okStream, core.Request{Model: "m", Messages: []core.Message{
		{Role: core.RoleAssistant, Parts: []core.Part{callPart("c1", "same", "f", ``), callPart("c2", "same", "f", `{}`), callPart("c3", "", "g.h", `{}`)}},
		result("c2", "two"), result("c3", "three"), result("c1", "one"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	msgs := got["messages"].([]any)
	var ids []string
	for _, c := range msgs[0].(map[string]any)["tool_calls"].([]any) {
		ids = append(ids, c.(map[string]any)["id"].(string))
	}
	if d := cmp.Diff([]string{"same", "c2", "c3"}, ids); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for i, want := range []string{"c2", "c3", "same"} {
		if id := msgs[i+1].(map[string]any)["tool_call_id"]; id != want {
			t.Errorf("result %d belongs to %v, want %s", i, id, want)
		}
	}
}

// TestRequest_Names: a dotted name goes out as the dialect allows and comes
// back as ours.
func TestRequest_Names(t *testing.T) {
	t.Parallel()
	got, _, a, err := sent(t, "",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"t\",\"function\":{\"name\":\"math_add_2\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		core.Request{Model: "m", Messages: []core.Message{userSays("x")}, Tools: []core.ToolSpec{{Name: "math_add"}, {Name: "math.add"}}})
	if err != nil {
		t.Fatal(err)
	}
	name := got["tools"].([]any)[1].(map[string]any)["function"].(map[string]any)["name"]
	if name != "math_add_2" || len(a.Calls) != 1 || a.Calls[0].Name != "math.add" {
		t.Errorf("out as %v, back as %+v", name, a.Calls)
	}
}

// TestEnvelope_RoundTrip: what is opaque goes back through JSON as it came, to
// the same host and family only.
//
// CASES: C12
// covers: K2
func TestEnvelope_RoundTrip(t *testing.T) {
	t.Parallel()
	turn := func(profile, model, body string) (core.Answer, map[string]any, map[string]any) {
		_, _, a, err := sent(t, profile, body, core.Request{Model: model, Messages: []core.Message{userSays("x")}})
		if err != nil || len(a.Envelopes) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		stored, err := json.Marshal(a.Envelopes[0])
		if err != nil {
			t.Fatal(err)
		}
		back := func(model string) map[string]any {
			var e core.Envelope
			if err := json.Unmarshal(stored, &e); err != nil {
				t.Fatal(err)
			}
			msg := core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: a.Text, Envelope: &e}}}
			for i, c := range a.Calls {
				msg.Parts = append(msg.Parts, callPart(core.ToolCallID(rune('a'+i)), c.ProviderID, c.Name, string(c.Arguments)))
			}
			got, _, _, err := sent(t, profile, okStream, core.Request{Model: model, Messages: []core.Message{msg}})
			if err != nil {
				t.Fatal(err)
			}
			return got["messages"].([]any)[0].(map[string]any)
		}
		return a, back(model), back("other-2")
	}
	calls := `"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"t2","function":{"name":"g","arguments":"{}"},"extra_content":{"google":{"thought_signature":"//4AgQc=<>&"}}}]`

	_, same, other := turn("deepseek", "reed-r1", `data: {"choices":[{"delta":{"reasoning_content":"Think <a> "}}]}`+"\n\n"+
		`data: {"choices":[{"delta":{"reasoning_content":"first.",`+calls+`},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	if same["reasoning_content"] != "Think <a> first." || other["reasoning_content"] != nil {
		t.Errorf("same model %v, other model %v", same["reasoning_content"], other["reasoning_content"])
	}
	extra := func(m map[string]any, i int) any {
		return m["tool_calls"].([]any)[i].(map[string]any)["extra_content"]
	}
	want := map[string]any{"google": map[string]any{"thought_signature": "//4AgQc=<>&"}}
	if d := cmp.Diff(want, extra(same, 1)); d != "" || extra(same, 0) != nil || extra(other, 1) != nil {
		t.Errorf("signature: (-want +got):\n%s first %v, other model %v", d, extra(same, 0), extra(other, 1))
	}

	_, same, other = turn("openrouter", "vendor/pine-3", `data: {"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"x"}]}}]}`+"\n\n"+
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"b","index":0},{"type":"reasoning.text","signature":"S==","index":0},{"type":"reasoning.encrypted","data":"D","index":1}]}}]}`+"\n\n"+
		`data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	details := []any{
		map[string]any{"type": "reasoning.text", "text": "ab", "signature": "S==", "index": 0.0, "format": "x"},
		map[string]any{"type": "reasoning.encrypted", "data": "D", "index": 1.0},
	}
	if d := cmp.Diff(any(details), same["reasoning_details"]); d != "" || other["reasoning_details"] != nil {
		t.Errorf("(-want +got):\n%s other model %v", d, other["reasoning_details"])
	}
}

// TestModels reads the lists that servers give.
//
// CASES: C10
func TestModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []string
		fault      fault.Code
	}{
		{"openai", `{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"b"}]}`, []string{"b", "a"}, ""},
		{"bare list", `[{"id":"a"}]`, []string{"a"}, ""},
		{"llama.cpp", `{"models":[{"name":"n","model":"m"}],"data":[{"id":"m"}]}`, []string{"m"}, ""},
		{"none", `{"data":[]}`, nil, ""},
		{"other JSON", `{"status":"ok"}`, nil, fault.NotAnAPI},
		{"page", `<html>`, nil, fault.NotAnAPI},
		{"error", `{"error":{"message":"no","code":401}}`, nil, fault.BadKey},
		{"cut", `{"data":[`, nil, fault.StreamCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+plantedKey {
					t.Errorf("asked %s", r.URL)
				}
				_, _ = io.WriteString(w, tt.body)
			}))
			t.Cleanup(s.Close)
			m, err := New(Config{BaseURL: s.URL + "/v1/chat/completions", Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Models(t.Context())
			if fault.CodeOf(err) != tt.fault {
				t.Errorf("fault %v, want %q", err, tt.fault)
			}
			var ids []string
			for _, m := range got {
				ids = append(ids, m.ID)
			}
			if d := cmp.Diff(tt.want, ids); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestSplitThink holds the neighbours of decision 18.
func TestSplitThink(t *testing.T) {
	t.Parallel()
	tests := []struct{ raw, thinking, text string }{
		{"plain", "", "plain"},
		{"  plain ", "", "  plain "},
		{"<think>a</think>b", "a", "b"},
		{"\n<thinking> a </thinking>\n\nb ", "a", "b "},
		{"<think>a", "a", ""},
		{"<think>a</thinking>b", "a</thinking>b", ""},
		{"a</think>b", "a", "b"},
		{"a</thinking> b", "a", "b"},
		{"x <think>a</think> b", "", "x <think>a</think> b"},
		{"<think>a</think>b<think>c</think>", "a", "b<think>c</think>"},
		{"the tag `</think>` ends it", "", "the tag `</think>` ends it"},
		{"the tag `</think>` ends\nit</think>so", "the tag `</think>` ends\nit", "so"},
		{"<thin", "", "<thin"},
		{"<thinker>a", "", "<thinker>a"},
	}
	for _, tt := range tests {
		thinking, text := splitThink(tt.raw)
		if thinking != tt.thinking || text != tt.text {
			t.Errorf("%q is %q and %q, want %q and %q", tt.raw, thinking, text, tt.thinking, tt.text)
		}
		for cut := range len(tt.raw) {
			var f thinkFilter
			var shownThinking, shown string
			for _, piece := range []string{tt.raw[:cut], tt.raw[cut:]} {
				a, b := f.add(piece)
				shownThinking, shown = shownThinking+a, shown+b
			}
			a, b := f.flush()
			shownThinking, shown = shownThinking+a, shown+b
			lone := thinking != "" && !strings.HasPrefix(strings.TrimSpace(tt.raw), "<think")
			if lone && shown == tt.raw {
				continue // what is known only at the end
			}
			if shown != text || strings.TrimSpace(shownThinking) != thinking {
				t.Errorf("%q cut at %d shows %q and %q", tt.raw, cut, shownThinking, shown)
			}
		}
	}
}

// TestRequest_ThoughtAlone: a turn that was thinking alone, of another model,
// leaves nothing to send; some servers refuse a turn without words and calls.
//
// covers: K2
func TestRequest_ThoughtAlone(t *testing.T) {
	t.Parallel()
	user := core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "Hi"}}}
	thought := core.Message{Role: core.RoleAssistant, Parts: []core.Part{{
		Type: core.PartText, Envelope: &core.Envelope{V: 1, Dialect: "gemini", Origin: "elsewhere gemini", Raw: []byte(`{"parts":[]}`)},
	}}}
	got, _, _, err := sent(t, "mistral", okStream, core.Request{Model: "m", Messages: []core.Message{user, thought, user}})
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := got["messages"].([]any)
	for _, m := range messages {
		if m, _ := m.(map[string]any); m["role"] == "assistant" {
			t.Errorf("sent %v", m)
		}
	}
	if len(messages) != 2 {
		t.Errorf("%d messages", len(messages))
	}
}
