package openairesponses

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// exchange records the request that reaches a server, which answers with body.
func exchange(t *testing.T, profile, body string, req core.Request) (map[string]any, http.Header, core.Answer, error) {
	t.Helper()
	var got map[string]any
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("the request is no JSON: %s", raw)
		}
		if r.URL.Path != "/v1/responses" {
			t.Errorf("it went to %s", r.URL)
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

var okStream = body(half, completed)

func callPart(id core.ToolCallID, providerID, name, input string) core.Part {
	return core.Part{Type: core.PartToolCall, ToolCallID: id, ProviderCallID: providerID, Name: name, Input: json.RawMessage(input)}
}

func result(id core.ToolCallID, text string) core.Message {
	return core.Message{Role: core.RoleTool, Parts: []core.Part{{Type: core.PartToolResult, ToolCallID: id, Text: text}}}
}

func textPart(s string) core.Part { return core.Part{Type: core.PartText, Text: s} }

func assistant(parts ...core.Part) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: parts}
}

// itemsOf returns the items of a request, each as its type and what tells it
// apart.
func itemsOf(t *testing.T, got map[string]any) []string {
	t.Helper()
	var all []string
	for _, raw := range got["input"].([]any) {
		item := raw.(map[string]any)
		s := item["type"].(string)
		for _, name := range []string{"role", "phase", "id", "call_id", "name", "arguments", "output", "encrypted_content"} {
			if v, ok := item[name].(string); ok {
				s += " " + v
			}
		}
		if content, ok := item["content"].([]any); ok && s[:4] == "mess" {
			for _, part := range content {
				part := part.(map[string]any)
				s += " " + part["type"].(string) + ":" + part["text"].(string)
			}
		}
		all = append(all, s)
	}
	return all
}

type object = map[string]any

// TestRequest_Profiles holds what the servers of the dialect differ in.
//
// covers: K1
func TestRequest_Profiles(t *testing.T) {
	t.Parallel()
	warm := 0.5
	req := core.Request{
		Model: "pine-3", System: "Be short.", MaxOutputTokens: 50, Temperature: &warm, Effort: core.EffortLow,
		Messages: []core.Message{
			userSays("do"), assistant(textPart("I read."), callPart("c1", "call_abc", "readDocument", `{"p":1}`)), result("c1", "text"),
		},
		Tools: []core.ToolSpec{{Name: "readDocument", Description: "reads", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}
	own := object{"effort": "low", "summary": "auto"}
	plain := object{"effort": "low"}
	tests := []struct {
		profile   string
		reasoning object
		include   bool
		header    string
	}{
		{"", own, true, "Authorization"},
		{"azure", own, true, "Api-Key"},
		{"openrouter", plain, true, "Authorization"},
		{"xai", plain, true, "Authorization"},
		{"compatible", plain, true, "Authorization"},
		{"ollama", plain, false, "Authorization"},
		{"lmstudio", plain, false, "Authorization"},
		{"llamacpp", plain, false, "Authorization"},
	}
	for _, tt := range tests {
		t.Run(tt.profile, func(t *testing.T) {
			t.Parallel()
			got, header, _, err := exchange(t, tt.profile, okStream, req)
			if err != nil {
				t.Fatal(err)
			}
			said := object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": "I read.", "annotations": []any{}}}}
			called := object{"type": "function_call", "call_id": "call_abc", "name": "readDocument", "arguments": `{"p":1}`}
			output := object{"type": "function_call_output", "call_id": "call_abc", "output": "text"}
			if tt.profile == "openrouter" {
				said["id"], said["status"], called["id"], called["status"], output["id"] = "msg_1", "completed", "fc_2", "completed", "fco_3"
			}
			want := object{
				"model": "pine-3", "instructions": "Be short.", "stream": true, "store": false,
				"max_output_tokens": 50.0, "temperature": 0.5, "reasoning": tt.reasoning,
				"input": []any{
					object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": "do"}}},
					said, called, output,
				},
				"tools": []any{object{"type": "function", "name": "readDocument", "description": "reads", "parameters": object{"type": "object"}, "strict": false}},
			}
			if tt.include {
				want["include"] = []any{"reasoning.encrypted_content"}
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

// TestRequest_Least: what nobody asked for is not sent.
func TestRequest_Least(t *testing.T) {
	t.Parallel()
	got, _, _, err := exchange(t, "", okStream, core.Request{Model: "gpt-4.1-mini", Messages: []core.Message{userSays("do")}})
	if err != nil {
		t.Fatal(err)
	}
	want := object{
		"model": "gpt-4.1-mini", "stream": true, "store": false,
		"input": []any{object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": "do"}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRequest_Refused: what a model is known to refuse is left out, and only
// what was sent can be learned from its refusal. Not to store is no option with
// the vendor.
//
// covers: K10
func TestRequest_Refused(t *testing.T) {
	t.Parallel()
	cold := 0.0
	tests := []struct {
		profile string
		refused []string
		sent    []string
		absent  []string
	}{
		{"", nil, []string{"max_output_tokens", "temperature", "reasoning.effort", "reasoning.summary", "include"}, nil},
		{"", []string{"temperature", "reasoning.summary"}, []string{"max_output_tokens", "reasoning.effort", "include"}, []string{"temperature"}},
		{"", []string{"reasoning.effort", "reasoning.summary", "include", "max_output_tokens"}, []string{"temperature"}, []string{"reasoning", "include", "max_output_tokens"}},
		{"azure", []string{"reasoning", "store"}, []string{"max_output_tokens", "temperature", "include"}, []string{"reasoning"}},
		{"compatible", []string{"store"}, []string{"max_output_tokens", "temperature", "reasoning.effort", "include"}, []string{"store"}},
		{"ollama", []string{"reasoning.effort"}, []string{"max_output_tokens", "temperature", "store"}, []string{"reasoning", "include"}},
	}
	for _, tt := range tests {
		m, err := New(Config{BaseURL: "https://host.test", Profile: tt.profile})
		if err != nil {
			t.Fatal(err)
		}
		raw, s, err := m.encode(core.Request{Model: "pine", MaxOutputTokens: 9, Temperature: &cold, Effort: core.EffortHigh, Refused: tt.refused})
		var got object
		if err != nil || json.Unmarshal(raw, &got) != nil {
			t.Fatalf("%s, %v", raw, err)
		}
		if d := cmp.Diff(tt.sent, s.optional); d != "" {
			t.Errorf("%s without %v (-want +got):\n%s", tt.profile, tt.refused, d)
		}
		for _, name := range tt.absent {
			if _, there := got[name]; there {
				t.Errorf("%s was sent though it was refused: %s", name, raw)
			}
		}
		if _, there := got["temperature"]; there == slices.Contains(tt.refused, "temperature") {
			t.Errorf("a temperature of 0 is lost or sent: %s", raw)
		}
		if stores := got["store"] != false; stores != slices.Contains(tt.absent, "store") {
			t.Errorf("store is %v", got["store"])
		}
	}
	// The decoder says so to whoever asks.
	var d provider.Decoder = newDecoder(provider.Profile{}, hello(), sent{optional: []string{"include"}}, nil)
	if o, ok := d.(interface{ Optional() []string }); !ok || o.Optional()[0] != "include" {
		t.Error("nobody can learn of a refusal")
	}
}

// TestRequest_Scrub: half a surrogate pair never leaves.
func TestRequest_Scrub(t *testing.T) {
	t.Parallel()
	got, _, _, err := exchange(t, "", okStream, core.Request{
		Model: "m", System: "s\xed\xb0\x80",
		Messages: []core.Message{
			userSays("a\xed\xa0\xbdb 😀"),
			assistant(textPart("t\xff"), callPart("c1", "x", "f", `{"t":"\ud83d \ud83d\ude00 \\ud83d \udc00"}`)),
			result("c1", "\xff"),
		},
		Tools: []core.ToolSpec{{Name: "f", Description: "d\xff", InputSchema: json.RawMessage(`{"description":"\ud83d"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"message user input_text:a\uFFFDb 😀", "message assistant output_text:t\uFFFD",
		`function_call x f {"t":"\ufffd \ud83d\ude00 \\ud83d \ufffd"}`, "function_call_output x \uFFFD",
	}
	if d := cmp.Diff(want, itemsOf(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	raw, _ := json.Marshal(got["tools"])
	if got["instructions"] != "s\uFFFD" || string(raw) != `[{"description":"d`+"\uFFFD"+`","name":"f","parameters":{"description":"`+"\uFFFD"+`"},"strict":false,"type":"function"}]` {
		t.Errorf("instructions %q, tools %s", got["instructions"], raw)
	}
}

// TestRequest_Pairs: each call has one result and each result a call, whatever
// the conversation lost, since one that has not is refused for ever.
//
// CASES: C12
func TestRequest_Pairs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	got, _, _, err := exchange(t, "", okStream, core.Request{Model: "m", Messages: []core.Message{
		assistant(callPart("c1", "same", "f", ``), callPart("c2", "same", "f", `{}`), callPart("c3", "", "g.h", `{}`), callPart("c4", long, "f", `null`)),
		result("c2", "two"), result("c9", "of no call"), result("c3", "three"), result("c1", "one"), result("c1", "one again"),
		userSays("and"),
		result("c4", "four"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	items := itemsOf(t, got)
	short := strings.Fields(items[3])[1]
	if len(short) > 64 {
		t.Errorf("an id of %d characters", len(short))
	}
	want := []string{
		"function_call same f {}", "function_call c2 f {}", "function_call c3 g_h {}", "function_call " + short + " f null",
		"function_call_output c2 two", "function_call_output c3 three", "function_call_output same one",
		"message user input_text:and", "function_call_output " + short + " four",
	}
	if d := cmp.Diff(want, items); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got, _, _, err = exchange(t, "", okStream, core.Request{Model: "m", Messages: []core.Message{
		assistant(callPart("c1", "a", "f", `{}`), callPart("c2", "b", "f", `{}`)), result("c2", "two"), userSays("and"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{
		"function_call a f {}", "function_call b f {}", "function_call_output a " + noOutput, "function_call_output b two",
		"message user input_text:and",
	}
	if d := cmp.Diff(want, itemsOf(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRequest_Names: tools go out under names that are allowed, and calls come
// back under ours.
func TestRequest_Names(t *testing.T) {
	t.Parallel()
	stream := body(callAdded("i1", "0", "c1", "ext_search_2"), argsDelta("i1", "0", "{}"), completed)
	got, _, a, err := exchange(t, "", stream, core.Request{
		Model: "m", Messages: []core.Message{userSays("do")},
		Tools: []core.ToolSpec{{Name: "ext.search"}, {Name: "ext/search"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(got["tools"])
	const want = `[{"name":"ext_search","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"},{"name":"ext_search_2","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"}]`
	if string(raw) != want || len(a.Calls) != 1 || a.Calls[0].Name != "ext/search" {
		t.Errorf("%s, %+v", raw, a.Calls)
	}
}

// TestRequest_Opaque: what a model thought goes back as it came, before what
// followed of it, and to where it came from only.
//
// covers: K2
// CASES: C12
func TestRequest_Opaque(t *testing.T) {
	t.Parallel()
	const r1 = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"one"}],"encrypted_content":"E1/+==","x_new":{"n":1.50}}`
	const r2 = `{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"E2"}`
	done := func(item string) string { return `{"type":"response.output_item.done","item":` + item + `}` }
	stream := body(
		done(r1), done(`{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"我先看。"}]}`),
		done(`{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`),
		done(r2), done(`{"id":"fc_2","type":"function_call","call_id":"c2","name":"g","arguments":"{}","namespace":"n"}`),
		done(`{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"Then."}]}`), completed,
	)
	_, _, a, err := exchange(t, "", stream, core.Request{Model: "pine-3", Messages: []core.Message{userSays("do")}})
	if err != nil || len(a.Envelopes) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	history := func(e *core.Envelope) []core.Message {
		text := textPart(a.Text)
		text.Envelope = e
		return []core.Message{userSays("do"), assistant(text, callPart("t1", "c1", "f", `{}`), callPart("t2", "c2", "g", `{}`)), result("t1", "one"), result("t2", "two")}
	}
	again := func(profile, model string, e core.Envelope) map[string]any {
		got, _, _, err := exchange(t, profile, okStream, core.Request{Model: model, Messages: history(&e)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	whole := []string{
		"message user input_text:do", "reasoning rs_1 E1/+==", "message assistant commentary output_text:我先看。", "function_call c1 f {}",
		"reasoning rs_2 E2", "function_call c2 g {}", "message assistant output_text:Then.", "function_call_output c1 one", "function_call_output c2 two",
	}
	got := again("", "pine-4", a.Envelopes[0])
	if d := cmp.Diff(whole, itemsOf(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	items := got["input"].([]any)
	var came object
	if json.Unmarshal([]byte(r1), &came) != nil || cmp.Diff(came, items[1]) != "" {
		t.Errorf("it went back as %v", items[1])
	}
	if items[5].(object)["namespace"] != "n" {
		t.Errorf("a field is lost: %v", items[5])
	}
	bare := []string{
		"message user input_text:do", "message assistant output_text:我先看。Then.", "function_call c1 f {}", "function_call c2 g {}",
		"function_call_output c1 one", "function_call_output c2 two",
	}
	if d := cmp.Diff(bare, itemsOf(t, again("", "oak-1", a.Envelopes[0]))); d != "" {
		t.Errorf("to another model (-want +got):\n%s", d)
	}
	elsewhere, chat, broken := a.Envelopes[0], a.Envelopes[0], a.Envelopes[0]
	elsewhere.Origin = strings.Replace(elsewhere.Origin, "host.test", "other.test", 1)
	chat.Dialect = string(provider.Chat)
	broken.Raw = []byte(`{"items":7}`)
	for name, e := range map[string]core.Envelope{"host": elsewhere, "dialect": chat, "broken": broken} {
		if d := cmp.Diff(bare, itemsOf(t, again("", "pine-3", e))); d != "" {
			t.Errorf("another %s (-want +got):\n%s", name, d)
		}
	}
}

// TestRequest_Thinking: what cannot go back does not, and what is left of a turn
// is still one.
//
// covers: K2
func TestRequest_Thinking(t *testing.T) {
	t.Parallel()
	const open = `{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"deep"}]}}`
	const secret = `{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"E"}}`
	const said = `{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"Hi."}`
	turn := func(a core.Answer, text string) []core.Message {
		p := textPart(text)
		if len(a.Envelopes) > 0 {
			p.Envelope = &a.Envelopes[0]
		}
		return []core.Message{assistant(p), userSays("go on")}
	}
	const next = "message user input_text:go on"
	tests := []struct {
		name, profile, stream, text string
		want                        []string
	}{
		{"open thinking to the vendor", "", body(open, said, completed), "Hi.", []string{"message assistant output_text:Hi.", next}},
		{"open thinking to a local server", "lmstudio", body(open, said, completed), "Hi.", []string{"reasoning rs_1", "message assistant output_text:Hi.", next}},
		{"a summary is not thinking", "compatible", body(`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":null}}`, said, completed), "Hi.", []string{"message assistant output_text:Hi.", next}},
		{"nothing followed", "", body(secret, completed), "", []string{next}},
		{"the text grew", "", body(secret, said, completed), "Hi.\n\n[It broke off.]", []string{"reasoning rs_1 E", "message assistant output_text:Hi.\n\n[It broke off.]", next}},
		{"the text is gone", "", body(secret, said, completed), "", []string{next}},
		{"thinking that never ended", "", body(`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`, said, completed), "Hi.", []string{"message assistant output_text:Hi.", next}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, a, err := exchange(t, tt.profile, tt.stream, core.Request{Model: "pine-3", Messages: []core.Message{userSays("do")}})
			if err != nil {
				t.Fatal(err)
			}
			got, _, _, err := exchange(t, tt.profile, okStream, core.Request{Model: "pine-3", Messages: turn(a, tt.text)})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, itemsOf(t, got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestPieces divides a text that is the one that came, or more, and leaves any
// other whole.
func TestPieces(t *testing.T) {
	t.Parallel()
	k := kept{Items: []slot{{Reasoning: json.RawMessage(`{}`)}, {Bytes: 3}, {Call: true}, {Bytes: 2}}}
	tests := []struct {
		text string
		want map[int]string
	}{
		{"茶ab", map[int]string{1: "茶", 3: "ab"}},
		{"茶ab more", map[int]string{1: "茶", 3: "ab more"}},
		{"abc", map[int]string{1: "abc", 3: ""}},
		{"a茶ab", map[int]string{1: "a茶ab"}},
		{"ab", map[int]string{1: "ab"}},
		{"", map[int]string{1: ""}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, k.pieces(tt.text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, d)
		}
	}
	if got := (kept{Items: []slot{{Call: true}}}).pieces("x"); got != nil {
		t.Errorf("a turn of a call has texts: %v", got)
	}
}

// TestModels reads the list of the dialect.
//
// covers: K3
// CASES: C10
func TestModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []core.ModelInfo
		fault      fault.Code
	}{
		{"openai", `{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"b"}]}`, []core.ModelInfo{{ID: "b"}, {ID: "a"}}, ""},
		{"with names", `{"data":[{"id":"a","name":"A"},{"name":"no id"}]}`, []core.ModelInfo{{ID: "a", Name: "A"}}, ""},
		{"none", `{"data":[]}`, []core.ModelInfo{}, ""},
		{"other JSON", `{"status":"ok"}`, nil, fault.NotAnAPI},
		{"page", `<html>`, nil, fault.NotAnAPI},
		{"error", `{"error":{"message":"no","code":401}}`, nil, fault.BadKey},
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
			m, err := New(Config{BaseURL: s.URL + "/v1/responses", Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Models(t.Context())
			if fault.CodeOf(err) != tt.fault {
				t.Errorf("fault %v, want %q", err, tt.fault)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if info, err := m.Describe(t.Context(), "a"); err != nil || info != (core.ModelInfo{}) {
				t.Errorf("described as %+v, %v", info, err)
			}
		})
	}
}

// TestURL: what is shown is what is asked.
//
// covers: K3
// CASES: C10
func TestURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com":                                    "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1/responses":                       "https://api.openai.com/v1/responses",
		"https://openrouter.ai/api/v1/":                             "https://openrouter.ai/api/v1/responses",
		"https://me.openai.azure.com":                               "https://me.openai.azure.com/openai/v1/responses",
		"https://me.openai.azure.com/openai/v1?api-version=preview": "https://me.openai.azure.com/openai/v1/responses?api-version=preview",
		"http://localhost:11434":                                    "http://localhost:11434/v1/responses",
		"https://gateway.test/v1/chat/completions":                  "https://gateway.test/v1/responses",
	} {
		m, err := New(Config{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.URL("any"); got != want {
			t.Errorf("%s leads to %s, want %s", base, got, want)
		}
	}
	if _, err := New(Config{BaseURL: "http://gateway.test"}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("plain http: %v", err)
	}
}
