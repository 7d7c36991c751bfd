package gemini

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

var profile = provider.ProfileOf("")

// asked is a request that reached a server.
type asked struct {
	body   map[string]any
	header http.Header
	url    *url.URL
}

// contents are the turns as "role" and "parts".
func (a asked) contents() []any { return a.body["contents"].([]any) }

// parts are those of one turn.
func (a asked) parts(turn int) []any { return a.contents()[turn].(map[string]any)["parts"].([]any) }

// sent records the request that reaches a server, which answers with body.
func sent(t *testing.T, body string, req core.Request) (asked, core.Answer) {
	t.Helper()
	var got asked
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(raw, &got.body) != nil {
			t.Errorf("the request is no JSON: %s", raw)
		}
		got.header, got.url = r.Header, r.URL
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	// The origin of an envelope is a host, and a test server has another each
	// time.
	m.Host = "host.test"
	a, err := m.Stream(t.Context(), req, func(core.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	return got, a
}

var okStream = sse(says("STOP", `{"text":"ok"}`))

func userSays(s string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: s}}}
}

func callOf(id core.ToolCallID, providerID, name, input string) core.Part {
	return core.Part{Type: core.PartToolCall, ToolCallID: id, ProviderCallID: providerID, Name: name, Input: json.RawMessage(input)}
}

func calling(parts ...core.Part) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: parts}
}

func result(id core.ToolCallID, text string) core.Message {
	return core.Message{Role: core.RoleTool, Parts: []core.Part{{Type: core.PartToolResult, ToolCallID: id, Text: text}}}
}

func value(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRequest holds a whole request.
//
// covers: K1
func TestRequest(t *testing.T) {
	t.Parallel()
	warm := 0.5
	failed := result("c2", "no such file")
	failed.Parts[0].IsError = true
	got, _ := sent(t, okStream, core.Request{
		Model: "models/gemini-2.5-flash", System: "Be short.", MaxOutputTokens: 50, Temperature: &warm, Effort: core.EffortLow,
		Messages: []core.Message{
			userSays("do <it> & more"),
			calling(core.Part{Type: core.PartText, Text: "Well: "}, callOf("c1", "abc", "readDocument", `{"p":1}`), callOf("c2", "", "math.add", ``)),
			result("c1", "text"), failed,
			userSays("go on"),
		},
		Tools: []core.ToolSpec{
			{Name: "readDocument", Description: "reads", InputSchema: json.RawMessage(`{"$schema":"s","type":"object","properties":{"p":{"type":"integer"}},"additionalProperties":false}`)},
			{Name: "math.add", InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
			{Name: "none"},
		},
	})
	want := value(t, `{
		"systemInstruction":{"parts":[{"text":"Be short."}]},
		"contents":[
			{"role":"user","parts":[{"text":"do <it> & more"}]},
			{"role":"model","parts":[{"text":"Well: "},{"functionCall":{"id":"abc","name":"readDocument","args":{"p":1}}},{"functionCall":{"id":"c2","name":"math_add","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"abc","name":"readDocument","response":{"output":"text"}}},{"functionResponse":{"id":"c2","name":"math_add","response":{"error":"no such file"}}}]},
			{"role":"user","parts":[{"text":"go on"}]}
		],
		"tools":[{"functionDeclarations":[
			{"name":"readDocument","description":"reads","parametersJsonSchema":{"type":"object","properties":{"p":{"type":"integer"}},"additionalProperties":false}},
			{"name":"math_add"},{"name":"none"}
		]}],
		"generationConfig":{"maxOutputTokens":50,"temperature":0.5,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}
	}`)
	if d := cmp.Diff(want, any(got.body)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.header.Get("X-Goog-Api-Key") != plantedKey || got.header.Get("Authorization") != "" {
		t.Error("the key is not in its header, or in two")
	}
	if at := got.url.String(); at != "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse" {
		t.Errorf("asked %s", at)
	}
}

// TestRequest_Least: what nobody asked for is not sent.
func TestRequest_Least(t *testing.T) {
	t.Parallel()
	got, _ := sent(t, okStream, core.Request{Model: "fern-2", Messages: []core.Message{
		userSays("a"), userSays(""), calling(), {Role: core.RoleSystem, Parts: []core.Part{{Type: core.PartText, Text: "late"}}},
	}})
	want := value(t, `{"systemInstruction":{"parts":[{"text":"late"}]},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`)
	if d := cmp.Diff(want, any(got.body)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRequest_ModelInPath: whatever a model is called, it is one step of the
// path.
//
// CASES: C10
func TestRequest_ModelInPath(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gemini-3-pro":        "/v1beta/models/gemini-3-pro:streamGenerateContent",
		"google/gemini-3-pro": "/v1beta/models/google%2Fgemini-3-pro:streamGenerateContent",
		"a b?key=1#c":         "/v1beta/models/a%20b%3Fkey=1%23c:streamGenerateContent",
		"../../v1/evil":       "/v1beta/models/..%2F..%2Fv1%2Fevil:streamGenerateContent",
	} {
		got, _ := sent(t, okStream, core.Request{Model: model, Messages: []core.Message{userSays("x")}})
		if got.url.EscapedPath() != want || got.url.RawQuery != "alt=sse" {
			t.Errorf("%q asks %s", model, got.url)
		}
	}
}

// TestRequest_Pairs: there is one response for each call, right behind it and in
// its order, whatever the history looks like.
//
// CASES: C12
func TestRequest_Pairs(t *testing.T) {
	t.Parallel()
	unknown := result("c1", "It is not known whether this was done.")
	unknown.Parts[0].IsError = true
	both := core.Message{Role: core.RoleTool, Parts: append(result("c2", "two").Parts, result("c1", "one").Parts...)}
	f1, f2 := callOf("c1", "same", "f", `{}`), callOf("c2", "same", "g", `{}`)
	tests := []struct {
		name string
		msgs []core.Message
		want []string // id name: what it says
	}{
		{"in order", []core.Message{calling(f1, f2), result("c1", "one"), result("c2", "two")}, []string{"same f: one", "c2 g: two"}},
		{"other order", []core.Message{calling(f1, f2), result("c2", "two"), result("c1", "one")}, []string{"same f: one", "c2 g: two"}},
		{"in one message", []core.Message{calling(f1, f2), both}, []string{"same f: one", "c2 g: two"}},
		{"words between", []core.Message{calling(f1), userSays("stop"), result("c1", "one")}, []string{"same f: one"}},
		{"unknown", []core.Message{calling(f1), unknown}, []string{"same f! It is not known whether this was done."}},
		{"no result", []core.Message{calling(f1, f2), result("c2", "two")}, []string{"same f! " + lostResult, "c2 g: two"}},
		{"no result at all", []core.Message{calling(f1)}, []string{"same f! " + lostResult}},
		{"no call", []core.Message{userSays("x"), result("c9", "nine")}, nil},
		{"other turns", []core.Message{calling(f1), result("c1", "one"), calling(f2), result("c2", "two")}, []string{"same f: one", "c2 g: two"}},
		{"empty result", []core.Message{calling(f1), result("c1", "")}, []string{"same f: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _ := sent(t, okStream, core.Request{Model: "m", Messages: append([]core.Message{userSays("do")}, tt.msgs...)})
			var said []string
			calls := 0
			for i := range got.contents() {
				responses := 0
				for _, p := range got.parts(i) {
					part := p.(map[string]any)
					if part["functionCall"] != nil {
						calls++
					}
					r, ok := part["functionResponse"].(map[string]any)
					if !ok {
						continue
					}
					responses++
					body := r["response"].(map[string]any)
					if s, ok := body["output"].(string); ok {
						said = append(said, r["id"].(string)+" "+r["name"].(string)+": "+s)
					} else {
						said = append(said, r["id"].(string)+" "+r["name"].(string)+"! "+body["error"].(string))
					}
				}
				if responses != 0 && responses != calls {
					t.Errorf("%d calls have %d responses", calls, responses)
				}
				if responses != 0 {
					calls = 0
				}
			}
			if d := cmp.Diff(tt.want, said); d != "" || calls != 0 {
				t.Errorf("%d calls have no response; (-want +got):\n%s", calls, d)
			}
		})
	}
}

// TestRequest_Scrub: half a surrogate pair never leaves.
func TestRequest_Scrub(t *testing.T) {
	t.Parallel()
	got, _ := sent(t, okStream, core.Request{Model: "m", System: "s\xed\xa0\xbd", Messages: []core.Message{
		userSays("a\xed\xa0\xbdb 😀"),
		calling(callOf("c1", "x", "f", `{"t":"\ud83d \ud83d\ude00 \\ud83d \udc00"}`)),
		result("c1", "\xff"),
	}})
	want := value(t, `[
		{"role":"user","parts":[{"text":"a\ufffdb 😀"}]},
		{"role":"model","parts":[{"functionCall":{"id":"x","name":"f","args":{"t":"\ufffd 😀 \\ud83d \ufffd"}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"output":"\ufffd"}}}]}
	]`)
	if d := cmp.Diff(want, got.body["contents"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRequest_Arguments: what is no object never goes as arguments.
func TestRequest_Arguments(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"", " ", "null", "[1]", `"x"`, "7"} {
		got, _ := sent(t, okStream, core.Request{Model: "m", Messages: []core.Message{calling(callOf("c1", "x", "f", input))}})
		args := got.parts(0)[0].(map[string]any)["functionCall"].(map[string]any)["args"]
		if d := cmp.Diff(any(map[string]any{}), args); d != "" {
			t.Errorf("%q goes as %v", input, args)
		}
	}
}

// TestRequest_Names: a dotted name goes out as the dialect allows and comes
// back as ours.
func TestRequest_Names(t *testing.T) {
	t.Parallel()
	got, a := sent(t, sse(says("STOP", `{"functionCall":{"name":"math_add_2"}}`)),
		core.Request{Model: "m", Messages: []core.Message{userSays("x")}, Tools: []core.ToolSpec{{Name: "math_add"}, {Name: "math.add"}}})
	second := got.body["tools"].([]any)[0].(map[string]any)["functionDeclarations"].([]any)[1]
	if d := cmp.Diff(any(map[string]any{"name": "math_add_2"}), second); d != "" || len(a.Calls) != 1 || a.Calls[0].Name != "math.add" {
		t.Errorf("out as %v, back as %+v", second, a.Calls)
	}
}

// TestRequest_Thinking holds how each generation is asked to think.
//
// covers: K10
func TestRequest_Thinking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model, effort string
		refused       []string
		want          string
	}{
		{"gemini-2.5-flash", "", nil, `{"includeThoughts":true}`},
		{"gemini-2.5-flash", core.EffortNone, nil, `{"thinkingBudget":0}`},
		{"gemini-2.5-pro", core.EffortNone, nil, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", core.EffortMedium, nil, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-flash-lite", core.EffortHigh, nil, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash-image", core.EffortHigh, nil, ``},
		{"gemini-2.0-flash", core.EffortHigh, nil, ``},
		{"gemini-1.5-pro", core.EffortHigh, nil, ``},
		{"gemini-3-pro-preview", core.EffortMedium, nil, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3.1-pro-preview", core.EffortMedium, nil, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3.1-pro-preview", core.EffortNone, nil, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", core.EffortNone, nil, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.8-flash", core.EffortNone, nil, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.9-flash-lite", core.EffortNone, nil, `{"thinkingLevel":"MINIMAL"}`},
		{"google/gemini-4-argon", core.EffortLow, nil, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-flash-latest", "", nil, `{"includeThoughts":true}`},
		{"fern-2", "", nil, ``},
		{"fern-2", core.EffortLow, nil, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"fern-2", core.EffortLow, []string{paramLevel}, `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"fern-2", core.EffortLow, []string{paramLevel, paramBudget}, `{"includeThoughts":true}`},
		{"fern-2", core.EffortLow, []string{paramLevel, paramBudget, paramThoughts}, ``},
		{"gemini-2.5-flash", core.EffortLow, []string{paramBudget}, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-4-argon", core.EffortLow, []string{paramThinking}, ``},
	}
	for _, tt := range tests {
		got := ""
		if c := thinking(core.Request{Model: tt.model, Effort: tt.effort, Refused: tt.refused}); c != nil {
			raw, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != tt.want {
			t.Errorf("%s thinks %q without %v: %s, want %s", tt.model, tt.effort, tt.refused, got, tt.want)
		}
	}
}

// TestRequest_Refused: what a model is known to refuse is left out, and what is
// sent is told, so that a refusal can be learned.
//
// covers: K10
func TestRequest_Refused(t *testing.T) {
	t.Parallel()
	warm := 0.0
	req := core.Request{Model: "gemini-4-argon", Temperature: &warm, MaxOutputTokens: 9, Effort: core.EffortHigh}
	c, names := config(req)
	if c.Temperature == nil || c.MaxOutputTokens != 9 || !slices.Equal(names, []string{"temperature", "maxOutputTokens", "includeThoughts", "thinkingLevel", "thinkingConfig"}) {
		t.Errorf("%+v with %v", c, names)
	}
	req.Refused = []string{"temperature", "maxOutputTokens", "includeThoughts"}
	if c, names = config(req); c.Temperature != nil || c.MaxOutputTokens != 0 || !slices.Equal(names, []string{"thinkingLevel", "thinkingConfig"}) {
		t.Errorf("%+v with %v", c, names)
	}
	req.Refused = append(req.Refused, "thinkingConfig")
	if c, names = config(req); c != nil || names != nil {
		t.Errorf("%+v with %v", c, names)
	}
	d := newDecoder(profile, req, encoded{optional: []string{"temperature"}}, nil)
	if o, ok := any(d).(interface{ Optional() []string }); !ok || len(o.Optional()) != 1 {
		t.Error("what was sent is not told")
	}
}

// TestRefusedParam: Google's own words for a parameter that a model does not
// take.
//
// covers: K10
func TestRefusedParam(t *testing.T) {
	t.Parallel()
	warm := 0.5
	for message, want := range map[string]string{
		"Thinking level is not supported for this model.":                                                           paramLevel,
		"Invalid JSON payload received. Unknown name \"temperature\": Cannot find field.":                           paramTemperature,
		"Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.": paramThinking,
		"Please ensure that function call turn comes immediately after a user turn.":                                "",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
		}))
		m, err := New(Config{BaseURL: s.URL, Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Stream(t.Context(), core.Request{
			Model: "fern-2", Temperature: &warm, Effort: core.EffortLow, Messages: []core.Message{userSays("x")},
		}, func(core.Delta) {})
		got := ""
		if p, ok := errors.AsType[*provider.RefusedParam](err); ok {
			got = p.Name
		}
		if got != want || fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%q teaches %q (%v), want %q", message, got, err, want)
		}
		s.Close()
	}
}

// TestSchema holds what is sent of a schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: ``, `null`: ``, `7`: ``, `{}`: ``, `{"type":"object"}`: ``,
		`{"type":"object","properties":{}}`:                                ``,
		`{"type":"object","properties":null,"additionalProperties":false}`: ``,
		`{"type":"object","additionalProperties":{"type":"string"}}`:       `{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"properties": {"b":{}, "a":{}}}`:                                 `{"properties": {"b":{}, "a":{}}}`,
		`{"$schema":"x","anyOf":[{}]}`:                                     `{"anyOf":[{}]}`,
	} {
		if got := string(schema(json.RawMessage(raw))); got != want {
			t.Errorf("%s goes as %s, want %s", raw, got, want)
		}
	}
}

// TestKeyInAddress: a key that was copied along with an address goes nowhere.
//
// covers: K4
func TestKeyInAddress(t *testing.T) {
	t.Parallel()
	_, err := New(Config{BaseURL: "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key=" + plantedKey})
	if fault.CodeOf(err) != fault.InvalidInput || strings.Contains(err.Error(), plantedKey[3:]) {
		t.Errorf("got %v", err)
	}
}
