package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/streamtest"
)

// server is a small stand-in for one kind of server of the chat dialect, as
// strict as that is: what it does not take it refuses in its own words.
type server struct {
	profile, model string
	// base is the path of the address; keyHeader carries the key, "" where none
	// is asked for.
	base, keyHeader string
	// fields are what a request may hold besides model, messages, tools and
	// stream; message what a message may hold besides role, content, tool_calls
	// and tool_call_id.
	fields, message []string
	// refuse returns the status and body of a refusal; 0 for none.
	refuse func(s *sent) (int, string)
	// other are its resources beside chat/completions, by their paths.
	other map[string]string
	// first calls readDocument, second answers.
	first, second string
	// want is what is known of the model in the end, learned what it refused.
	context int
	source  core.Source
	tools   core.Known
	learned []string
	usage   core.Usage
}

// sent is a request as a server reads it.
type sent struct {
	header http.Header
	body   map[string]any
}

func (s *sent) has(name string) bool { _, ok := s.body[name]; return ok }

// messages are those of a role.
func (s *sent) messages(role string) []map[string]any {
	var out []map[string]any
	list, _ := s.body["messages"].([]any)
	for _, item := range list {
		if msg, ok := item.(map[string]any); ok && msg["role"] == role {
			out = append(out, msg)
		}
	}
	return out
}

// calls are the calls of the model's turns.
func (s *sent) calls() []map[string]any {
	var out []map[string]any
	for _, msg := range s.messages("assistant") {
		list, _ := msg["tool_calls"].([]any)
		for _, item := range list {
			if c, ok := item.(map[string]any); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

func openAIError(words, param, code string) (int, string) {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": words, "type": "invalid_request_error", "param": param, "code": code}})
	return 400, string(b)
}

// answerOf strings events of chat together.
func answerOf(deltas []string, finish, usage string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(event(`{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`))
	}
	b.WriteString(event(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]` + usage + `}`))
	b.WriteString(event("[DONE]"))
	return b.String()
}

const plainUsage = `,"usage":{"prompt_tokens":30,"completion_tokens":4,"total_tokens":34}`

func toolCall(id string, pieces ...string) []string {
	out := []string{`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"` + id + `","type":"function","function":{"name":"readDocument","arguments":` + quote(pieces[0]) + `}}]}`}
	for _, p := range pieces[1:] {
		out = append(out, `{"tool_calls":[{"index":0,"function":{"arguments":`+quote(p)+`}}]}`)
	}
	return out
}

var nineLetters = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func refuseNull(s *sent) (int, string) {
	for _, msg := range s.messages("assistant") {
		if msg["content"] == nil {
			return 400, `{"error":{"message":"invalid message content type: <nil>","type":"invalid_request_error","param":null,"code":null}}`
		}
	}
	return 0, ""
}

// servers are the kinds that have a profile.
func servers() []server {
	yesWords := []string{`{"content":"All "}`, `{"content":"read."}`}
	plain := answerOf(yesWords, "stop", plainUsage)
	exact := core.Usage{Kind: core.UsageExact, Input: 30, Output: 4}
	return []server{
		{
			profile: "openrouter", model: "acme/fern-2", base: "/api/v1", keyHeader: "Authorization",
			fields: []string{"max_tokens", "temperature", "reasoning", "stream_options"}, message: []string{"reasoning_details"},
			refuse: func(s *sent) (int, string) {
				r, _ := s.body["reasoning"].(map[string]any)
				if r["effort"] != "low" {
					return 400, `{"error":{"code":400,"message":"reasoning.effort: invalid"}}`
				}
				for _, msg := range s.messages("assistant") {
					if raw, _ := json.Marshal(msg["reasoning_details"]); !strings.Contains(string(raw), "ENC/+=") {
						return 400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"reasoning must be passed back"}}}`
					}
				}
				return 0, ""
			},
			other: map[string]string{"/api/v1/models": `{"data":[{"id":"acme/fern-2","name":"Acme: Fern 2","context_length":200000,"top_provider":{"context_length":131072,"max_completion_tokens":16000},"supported_parameters":["tools","reasoning","temperature"]}]}`},
			first: ": OPENROUTER PROCESSING\n\n" + answerOf(append([]string{`{"reasoning":"I look.","reasoning_details":[{"type":"reasoning.encrypted","data":"ENC/+=","index":0}]}`},
				toolCall("call_1", `{"p":`, `"a"}`)...), "tool_calls", plainUsage),
			second:  ": OPENROUTER PROCESSING\n\n" + plain,
			context: 131072, source: core.SourceAsked, tools: yes, usage: exact,
		},
		{
			profile: "deepseek", model: "deepseek-v4-pro", base: "/v1", keyHeader: "Authorization",
			fields: []string{"max_tokens", "temperature", "thinking", "reasoning_effort", "stream_options"}, message: []string{"reasoning_content"},
			refuse: func(s *sent) (int, string) {
				if t, _ := s.body["thinking"].(map[string]any); t["type"] != "enabled" || s.body["reasoning_effort"] != "low" {
					return openAIError("thinking options type cannot be adjusted", "", "invalid_request_error")
				}
				for _, msg := range s.messages("assistant") {
					if msg["reasoning_content"] != "I look." {
						return openAIError("The `reasoning_content` in the thinking mode must be passed back to the API.", "", "invalid_request_error")
					}
				}
				return 0, ""
			},
			other:   map[string]string{"/v1/models": `{"object":"list","data":[{"id":"deepseek-v4-pro","object":"model","owned_by":"deepseek"}]}`},
			first:   ": keep-alive\n\n" + answerOf(append([]string{`{"role":"assistant","content":null,"reasoning_content":"I look."}`}, toolCall("call_00_x", `{"p":"a"}`)...), "tool_calls", plainUsage),
			second:  answerOf(yesWords, "stop", `,"usage":{"prompt_tokens":30,"completion_tokens":4,"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":14}`),
			context: 1_000_000, source: core.SourceKnown, tools: yes, usage: core.Usage{Kind: core.UsageExact, Input: 30, Output: 4, Cached: 16},
		},
		{
			profile: "azure", model: "o4-mini", base: "/openai/deployments/o4-mini?api-version=2031-01-01", keyHeader: "Api-Key",
			fields: []string{"max_completion_tokens", "reasoning_effort", "stream_options", "temperature"},
			refuse: func(s *sent) (int, string) {
				if s.header.Get("Authorization") != "" {
					return 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key."}}`
				}
				if s.has("temperature") {
					return openAIError("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value")
				}
				return 0, ""
			},
			other:   map[string]string{"/openai/models": `{"data":[{"id":"o4-mini","object":"model","capabilities":{"chat_completion":true}}]}`},
			first:   event(`{"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`) + answerOf(toolCall("call_1", "", `{"p"`, `:"a"}`), "tool_calls", ""),
			second:  event(`{"choices":[]}`) + plain,
			context: 200_000, source: core.SourceKnown, tools: yes, learned: []string{"temperature"}, usage: exact,
		},
		{
			profile: "ollama", model: "pine:4b", base: "",
			fields: []string{"max_tokens", "temperature", "reasoning_effort", "stream_options"},
			refuse: func(s *sent) (int, string) {
				if s.has("reasoning_effort") {
					return 400, `{"error":{"message":"\"pine:4b\" does not support thinking","type":"invalid_request_error","param":null,"code":null}}`
				}
				return refuseNull(s)
			},
			other: map[string]string{
				"/api/tags": `{"models":[{"name":"pine:4b","model":"pine:4b","details":{"family":"pine"}}]}`,
				"/api/show": `{"parameters":"num_ctx 16384","capabilities":["completion","tools"],"model_info":{"pine.context_length":131072}}`,
			},
			first:   answerOf([]string{`{"role":"assistant","content":"","tool_calls":[{"id":"call_x1","index":0,"type":"function","function":{"name":"readDocument","arguments":"{\"p\":\"a\"}"}}]}`}, "tool_calls", plainUsage),
			second:  plain,
			context: 16384, source: core.SourceAsked, tools: yes, learned: []string{"reasoning_effort"}, usage: exact,
		},
		{
			profile: "lmstudio", model: "pine-4b", base: "/v1",
			fields: []string{"max_tokens", "temperature", "reasoning_effort", "stream_options"},
			refuse: refuseNull,
			other: map[string]string{
				"/api/v0/models": `{"object":"list","data":[{"id":"pine-4b","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":8192,"capabilities":["tool_use"]},{"id":"embed","type":"embeddings"}]}`,
			},
			first:   answerOf(toolCall("365174485", `{"p":"`, `a"}`), "tool_calls", ""),
			second:  answerOf([]string{`{"content":"<think>Done?"}`, `{"content":"</think>All read."}`}, "stop", plainUsage),
			context: 8192, source: core.SourceAsked, tools: yes, usage: exact,
		},
		{
			profile: "llamacpp", model: "pine.gguf", base: "",
			fields: []string{"max_tokens", "temperature", "reasoning_effort", "stream_options"},
			refuse: refuseNull,
			other: map[string]string{
				"/v1/models": `{"models":[{"name":"pine.gguf","model":"pine.gguf","capabilities":["completion"]}],"object":"list","data":[{"id":"pine.gguf","meta":{"n_ctx_train":131072}}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":4096},"total_slots":1,"chat_template_caps":{"supports_tools":true}}`,
			},
			first:   answerOf(append([]string{`{"reasoning_content":"I look."}`}, toolCall("k3Jd", "{", `"p":"a"}`)...), "tool_calls", ""),
			second:  strings.Replace(answerOf(yesWords, "stop", ""), event("[DONE]"), event(`{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":4}}`)+event("[DONE]"), 1),
			context: 4096, source: core.SourceAsked, tools: yes, usage: exact,
		},
		{
			profile: "mistral", model: "larch-small", base: "/v1", keyHeader: "Authorization",
			fields: []string{"max_tokens", "temperature", "reasoning_effort"},
			refuse: func(s *sent) (int, string) {
				if e := s.body["reasoning_effort"]; e != "high" && e != "none" {
					return 422, `{"object":"error","message":{"detail":[{"type":"enum","loc":["body","reasoning_effort"],"msg":"Input should be 'none' or 'high'"}]},"type":"invalid_request_error"}`
				}
				for _, c := range s.calls() {
					if id, _ := c["id"].(string); !nineLetters.MatchString(id) {
						return 400, `{"object":"error","message":"Tool call id was ` + id + ` but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`
					}
				}
				return 0, ""
			},
			other:   map[string]string{"/v1/models": `{"object":"list","data":[{"id":"larch-small","max_context_length":131072,"capabilities":{"completion_chat":true,"function_calling":true}},{"id":"larch-embed","capabilities":{"completion_chat":false}}]}`},
			first:   answerOf([]string{`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"I look."}]}]}`, `{"content":"","tool_calls":[{"id":"a long id","function":{"name":"readDocument","arguments":"{\"p\":\"a\"}"},"index":0}]}`}, "tool_calls", plainUsage),
			second:  plain,
			context: 131072, source: core.SourceAsked, tools: yes, usage: exact,
		},
		{
			profile: "xai", model: "grok-4-0709", base: "/v1", keyHeader: "Authorization",
			fields: []string{"max_tokens", "temperature", "reasoning_effort", "stream_options"},
			refuse: func(s *sent) (int, string) {
				if s.has("reasoning_effort") {
					return 400, `{"code":"Client specified an invalid argument","error":"Argument not supported on this model: reasoning_effort"}`
				}
				return 0, ""
			},
			other:   map[string]string{"/v1/models": `{"object":"list","data":[{"id":"grok-4-0709","object":"model","owned_by":"xai"}]}`},
			first:   answerOf([]string{`{"role":"assistant","content":"","tool_calls":[{"id":"call_9","index":0,"type":"function","function":{"name":"readDocument","arguments":"{\"p\":\"a\"}"}}]}`}, "tool_calls", plainUsage),
			second:  answerOf(yesWords, "stop", `,"usage":{"prompt_tokens":30,"completion_tokens":4,"total_tokens":54,"completion_tokens_details":{"reasoning_tokens":20}}`),
			context: 256_000, source: core.SourceKnown, tools: yes, learned: []string{"reasoning_effort"}, usage: core.Usage{Kind: core.UsageExact, Input: 30, Output: 24, Reasoning: 20},
		},
	}
}

// check refuses what such a server refuses; 0 for nothing.
func (sv server) check(s *sent) (int, string) {
	if sv.keyHeader != "" && !strings.HasSuffix(s.header.Get(sv.keyHeader), "sk-TESTKEY-stream-0123456789") {
		return 401, `{"error":{"message":"Invalid credentials"}}`
	}
	for name := range s.body {
		if !slices.Contains(append([]string{"model", "messages", "tools", "stream"}, sv.fields...), name) {
			return 422, `{"detail":[{"type":"extra_forbidden","loc":["body","` + name + `"],"msg":"Extra inputs are not permitted"}]}`
		}
	}
	open := make(map[any]bool)
	list, _ := s.body["messages"].([]any)
	for i, item := range list {
		msg, _ := item.(map[string]any)
		for name := range msg {
			if !slices.Contains(append([]string{"role", "content", "tool_calls", "tool_call_id"}, sv.message...), name) {
				return openAIError("Unknown message field: "+name, fmt.Sprintf("messages[%d].%s", i, name), "")
			}
		}
		calls, _ := msg["tool_calls"].([]any)
		for _, c := range calls {
			c, _ := c.(map[string]any)
			f, _ := c["function"].(map[string]any)
			if args, _ := f["arguments"].(string); c["type"] != "function" || f["name"] != "readDocument" || !json.Valid([]byte(args)) {
				return openAIError("Invalid tool call", "", "")
			}
			open[c["id"]] = true
		}
		if msg["role"] == "tool" {
			if !open[msg["tool_call_id"]] {
				return openAIError("A tool message must follow its call", "", "")
			}
			delete(open, msg["tool_call_id"])
		}
	}
	if len(open) > 0 {
		return openAIError("An assistant message with 'tool_calls' must be followed by tool messages", "", "")
	}
	tools, _ := s.body["tools"].([]any)
	if len(tools) != 1 || s.body["model"] != sv.model || s.body["stream"] != true {
		return openAIError("Invalid request", "", "")
	}
	return sv.refuse(s)
}

// serve starts the stand-in.
func (sv server) serve(t *testing.T) string {
	t.Helper()
	path := strings.SplitN(sv.base, "?", 2)[0]
	if path == "" {
		path = "/v1"
	}
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		raw, _ := io.ReadAll(r.Body)
		if text, ok := sv.other[r.URL.Path]; ok {
			_, _ = io.WriteString(w, text)
			return
		}
		got := &sent{header: r.Header}
		if r.URL.Path != path+"/chat/completions" || json.Unmarshal(raw, &got.body) != nil {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(sv.base, "?") && r.URL.RawQuery != strings.SplitN(sv.base, "?", 2)[1] {
			http.NotFound(w, r)
			return
		}
		if status, body := sv.check(got); status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if len(got.messages("tool")) == 0 {
			_, _ = io.WriteString(w, sv.first)
		} else {
			_, _ = io.WriteString(w, sv.second)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + sv.base
}

// TestProfiles has a conversation with tools with each kind of server that has a
// profile: its list, what it tells of a model, a call and its result, with all
// parameters that a person can set. Where the variable PROVIDER_PROFILES names a
// file, it writes a line of each.
//
// CASES: C12
// covers: K1 K2 K10
func TestProfiles(t *testing.T) {
	t.Parallel()
	all := servers()
	lines := make([]string, len(all))
	t.Cleanup(func() {
		if file := os.Getenv("PROVIDER_PROFILES"); file != "" {
			if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range provider.Profiles() {
		if name != "" && name != "compatible" && !slices.ContainsFunc(all, func(sv server) bool { return sv.profile == name }) {
			t.Errorf("no server stands in for %s", name)
		}
	}
	for i, sv := range all {
		t.Run(sv.profile, func(t *testing.T) {
			t.Parallel()
			lines[i] = "FAIL " + sv.profile
			said := sv.converse(t)
			if !t.Failed() {
				lines[i] = fmt.Sprintf("ok   %-11s %s", sv.profile, said)
			}
		})
	}
}

// converse is the conversation; it returns what there is to say of it.
func (sv server) converse(t *testing.T) string {
	t.Helper()
	cfg := dialect.Config{BaseURL: sv.serve(t), Profile: sv.profile, Timers: provider.Timers{Grace: 100 * time.Millisecond}}
	if sv.keyHeader != "" {
		cfg.Key = streamtest.Key
	}
	e, err := New(KindOpenAIChat, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	l := Learn(e, LearningConfig{Kind: KindOpenAIChat, Profile: sv.profile, Memory: &notebook{}})
	models, err := l.Models(t.Context())
	if err != nil || len(models) != 1 || models[0].ID != sv.model {
		t.Fatalf("models %+v, %v", models, err)
	}
	known := l.Ask(t.Context(), sv.model)
	if known.ContextTokens != sv.context || known.ContextSource != sv.source || known.Tools != sv.tools {
		t.Errorf("known %+v, want %d %s, tools %s", known, sv.context, sv.source, sv.tools)
	}
	warm := 0.5
	req := core.Request{
		Model: sv.model, System: "Be short.", Messages: []core.Message{says(core.RoleUser, "Read a.")}, Tools: []core.ToolSpec{readTool},
		MaxOutputTokens: 500, Temperature: &warm, Effort: core.EffortLow,
	}
	a := stream(t, l, req)
	if len(a.Calls) != 1 || a.Calls[0].Name != "readDocument" || string(a.Calls[0].Arguments) != `{"p":"a"}` {
		t.Fatalf("calls %+v", a.Calls)
	}
	req.Messages = append(req.Messages, turn(a), results(a))
	last := stream(t, l, req)
	if last.Text != "All read." || last.Finish != core.FinishEndTurn || last.Usage != sv.usage {
		t.Errorf("answer %+v", last)
	}
	learned := []string{}
	for _, f := range l.Facts(t.Context(), sv.model) {
		if name, ok := strings.CutPrefix(f.Name, core.FactParam); ok {
			learned = append(learned, name)
		}
	}
	if slices.Sort(learned); !slices.Equal(learned, append([]string{}, sv.learned...)) {
		t.Errorf("learned %v, want %v", learned, sv.learned)
	}
	said := fmt.Sprintf("list; room for %d tokens (%s); a call and its result; used %d + %d", known.ContextTokens, known.ContextSource, last.Usage.Input, last.Usage.Output)
	if len(learned) > 0 {
		said += "; learned to leave out " + strings.Join(learned, ", ")
	}
	return said
}
