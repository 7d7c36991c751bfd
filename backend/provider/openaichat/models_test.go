package openaichat

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// serve answers each path with a JSON text; a path that is not there with 404,
// or as the text of "*" says. It returns what was asked.
func serve(t *testing.T, answers map[string]string) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var log []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		log = append(log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		mu.Unlock()
		text, ok := answers[r.URL.Path]
		if !ok {
			if text, ok = answers["*"]; !ok {
				http.NotFound(w, r)
				return
			}
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return log
	}
}

func info(id, name string, context, output int, tools, reasoning core.Known) core.ModelInfo {
	m := core.ModelInfo{ID: id, Name: name}
	m.ContextTokens, m.MaxOutputTokens, m.Tools, m.Reasoning = context, output, tools, reasoning
	if context > 0 {
		m.ContextSource = core.SourceAsked
	}
	return m
}

const yes, no, not = core.KnownYes, core.KnownNo, core.KnownNot

// TestModels_Told: lists say what they say in the words of their servers.
//
// covers: K3 K10
func TestModels_Told(t *testing.T) {
	t.Parallel()
	const plain = `{"object":"list","data":[{"id":"pine:4b","object":"model"}]}`
	tests := []struct {
		name, profile, base string
		answers             map[string]string
		want                []core.ModelInfo
		asked               []string
	}{
		{
			"openrouter", "openrouter", "/api/v1",
			map[string]string{"/api/v1/models": `{"data":[
				{"id":"acme/fern","name":"Acme: Fern","context_length":200000,"architecture":{"output_modalities":["text"]},
				 "top_provider":{"context_length":131072,"max_completion_tokens":32000},"supported_parameters":["max_tokens","tools","reasoning"]},
				{"id":"acme/paint","architecture":{"output_modalities":["image"]}},
				{"id":"acme/moss","name":"acme/moss","context_length":8192,"top_provider":{"context_length":null,"max_completion_tokens":null},"supported_parameters":["temperature"]}]}`},
			[]core.ModelInfo{info("acme/fern", "Acme: Fern", 131072, 32000, yes, yes), info("acme/moss", "", 8192, 0, no, no)},
			[]string{"GET /api/v1/models"},
		},
		{
			"mistral", "mistral", "/v1",
			map[string]string{"/v1/models": `{"object":"list","data":[
				{"id":"larch-large","name":"larch-large-2","max_context_length":131072,"capabilities":{"completion_chat":true,"function_calling":true,"vision":false}},
				{"id":"larch-embed","max_context_length":8192,"capabilities":{"completion_chat":false,"function_calling":false}},
				{"id":"larch-old","max_context_length":32768,"capabilities":{"completion_chat":true,"function_calling":false,"reasoning":true}}]}`},
			[]core.ModelInfo{info("larch-large", "larch-large-2", 131072, 0, yes, not), info("larch-old", "", 32768, 0, no, yes)},
			[]string{"GET /v1/models"},
		},
		{
			"lm studio", "lmstudio", "/v1",
			map[string]string{"/api/v0/models": `{"object":"list","data":[
				{"id":"pine-4b","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":16384,"capabilities":["tool_use"]},
				{"id":"text-embedding-moss","type":"embeddings","max_context_length":2048},
				{"id":"oak-vl","type":"vlm","state":"not-loaded","max_context_length":32768,"capabilities":["vision"]}]}`},
			[]core.ModelInfo{info("pine-4b", "", 16384, 0, yes, not), info("oak-vl", "", 32768, 0, not, not)},
			[]string{"GET /api/v0/models"},
		},
		{
			"lm studio without", "lmstudio", "/v1",
			map[string]string{"/v1/models": plain, "*": `{"error":"Unexpected endpoint or method. (GET /api/v0/models)"}`},
			[]core.ModelInfo{{ID: "pine:4b"}},
			[]string{"GET /api/v0/models", "GET /v1/models"},
		},
		{
			"ollama", "ollama", "/v1",
			map[string]string{"/api/tags": `{"models":[{"name":"pine:4b","model":"pine:4b","details":{"family":"pine"}}]}`},
			[]core.ModelInfo{{ID: "pine:4b"}},
			[]string{"GET /api/tags"},
		},
		{
			"ollama behind a path", "ollama", "/box/v1",
			map[string]string{"/box/api/tags": `{"models":[{"model":"pine:4b"}]}`},
			[]core.ModelInfo{{ID: "pine:4b"}},
			[]string{"GET /box/api/tags"},
		},
		{
			"ollama without", "ollama", "/v1",
			map[string]string{"/v1/models": plain},
			[]core.ModelInfo{{ID: "pine:4b"}},
			[]string{"GET /api/tags", "GET /v1/models"},
		},
		{
			"llama.cpp", "llamacpp", "",
			map[string]string{
				"/v1/models": `{"models":[{"name":"pine.gguf","model":"pine.gguf","capabilities":["completion"]}],"object":"list","data":[{"id":"pine.gguf","meta":{"n_ctx_train":131072}}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":true}}`,
			},
			[]core.ModelInfo{info("pine.gguf", "", 8192, 0, yes, not)},
			[]string{"GET /v1/models", "GET /props"},
		},
		{
			"llama.cpp without", "llamacpp", "",
			map[string]string{"/v1/models": `{"data":[{"id":"pine.gguf"}]}`},
			[]core.ModelInfo{{ID: "pine.gguf"}},
			[]string{"GET /v1/models", "GET /props"},
		},
		{
			"vllm", "compatible", "/v1",
			map[string]string{"/v1/models": `{"data":[{"id":"oak","max_model_len":262144},{"id":"elm","context_window":131072,"max_completion_tokens":8192,"capabilities":["chat"]}]}`},
			[]core.ModelInfo{info("oak", "", 262144, 0, not, not), info("elm", "", 131072, 8192, not, not)},
			[]string{"GET /v1/models"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, asked := serve(t, tt.answers)
			m, err := New(Config{BaseURL: url + tt.base, Profile: tt.profile, Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Models(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.asked, asked()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestModels_NoFallback: a list is not asked for elsewhere when the way there
// failed.
func TestModels_NoFallback(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Profile: "ollama", Key: planted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Models(t.Context()); fault.CodeOf(err) != fault.BadKey || asked != 1 {
		t.Errorf("got %v after %d requests", err, asked)
	}
}

// TestDescribe: what a server tells of one model.
//
// covers: K10
func TestDescribe(t *testing.T) {
	t.Parallel()
	const show = `{"parameters":"temperature 0.7\nnum_ctx    16384","capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"pine","pine.context_length":131072}}`
	const bare = `{"parameters":"temperature 0.7","capabilities":["completion"],"model_info":{"pine.context_length":131072}}`
	tests := []struct {
		name, profile string
		answers       map[string]string
		want          core.ModelInfo
		asked         []string
	}{
		{"ollama, set", "ollama", map[string]string{"/api/show": show}, info("pine:4b", "", 16384, 0, yes, yes), []string{`POST /api/show {"model":"pine:4b"}`}},
		{
			"ollama, loaded", "ollama",
			map[string]string{"/api/show": bare, "/api/ps": `{"models":[{"model":"oak","context_length":1},{"model":"pine:4b","context_length":4096}]}`},
			info("pine:4b", "", 4096, 0, no, no),
			[]string{`POST /api/show {"model":"pine:4b"}`, "GET /api/ps"},
		},
		{
			"ollama, trained", "ollama",
			map[string]string{"/api/show": bare, "/api/ps": `{"models":[]}`},
			info("pine:4b", "", 131072, 0, no, no),
			[]string{`POST /api/show {"model":"pine:4b"}`, "GET /api/ps"},
		},
		{"ollama, nothing", "ollama", nil, core.ModelInfo{ID: "pine:4b"}, []string{`POST /api/show {"model":"pine:4b"}`}},
		{"llama.cpp", "llamacpp", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":false}}`}, info("pine:4b", "", 8192, 0, no, not), []string{"GET /props"}},
		{"llama.cpp, nothing", "llamacpp", nil, core.ModelInfo{ID: "pine:4b"}, []string{"GET /props"}},
		{"lm studio", "lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"oak","max_context_length":1000},{"id":"pine:4b","max_context_length":32768}]}`}, info("pine:4b", "", 32768, 0, not, not), []string{"GET /api/v0/models"}},
		{"openrouter, unknown", "openrouter", map[string]string{"/v1/models": `{"data":[]}`}, core.ModelInfo{ID: "pine:4b"}, []string{"GET /v1/models"}},
		{"compatible, none", "compatible", nil, core.ModelInfo{ID: "pine:4b"}, []string{"GET /v1/models"}},
		{"openai", "", nil, core.ModelInfo{ID: "pine:4b"}, nil},
		{"deepseek", "deepseek", nil, core.ModelInfo{ID: "pine:4b"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, asked := serve(t, tt.answers)
			m, err := New(Config{BaseURL: url + "/v1", Profile: tt.profile, Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Describe(t.Context(), "pine:4b")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.asked, asked()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestRequest_Options: what a model may refuse goes out in the words of the
// server, and not at all once it was refused.
//
// covers: K1 K10
func TestRequest_Options(t *testing.T) {
	t.Parallel()
	warm := 0.25
	effort := func(word string) map[string]any { return map[string]any{"reasoning_effort": word} }
	type fields = map[string]any
	tests := []struct {
		name, profile, effort string
		refused               []string
		want                  fields
	}{
		{"openai", "", "low", nil, fields{"max_completion_tokens": 50.0, "temperature": 0.25, "reasoning_effort": "low", "stream_options": fields{"include_usage": true}}},
		{"swap", "", "", []string{"max_completion_tokens", "temperature"}, fields{"max_tokens": 50.0, "stream_options": fields{"include_usage": true}}},
		{"swap back", "compatible", "", []string{"max_tokens", "temperature"}, fields{"max_completion_tokens": 50.0, "stream_options": fields{"include_usage": true}}},
		{"nothing at all", "compatible", "high", []string{"max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "stream_options"}, fields{}},
		{"openrouter", "openrouter", "high", []string{"max_tokens", "max_completion_tokens", "temperature", "stream_options"}, fields{"reasoning": fields{"effort": "high"}}},
		{"openrouter refused", "openrouter", "high", []string{"max_tokens", "max_completion_tokens", "temperature", "stream_options", "reasoning"}, fields{}},
		{"deepseek", "deepseek", "medium", []string{"max_tokens", "max_completion_tokens", "temperature", "stream_options"}, fields{"thinking": fields{"type": "enabled"}, "reasoning_effort": "medium"}},
		{"deepseek none", "deepseek", "none", []string{"max_tokens", "max_completion_tokens", "temperature", "stream_options"}, fields{"thinking": fields{"type": "disabled"}}},
		{"mistral", "mistral", "low", []string{"max_tokens", "max_completion_tokens", "temperature"}, effort("high")},
		{"mistral none", "mistral", "none", []string{"max_tokens", "max_completion_tokens", "temperature"}, effort("none")},
		{"ollama none", "ollama", "none", []string{"max_tokens", "max_completion_tokens", "temperature", "stream_options"}, effort("none")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, _, err := sent(t, tt.profile, okStream, core.Request{
				Model: "m", Messages: []core.Message{userSays("hi")},
				MaxOutputTokens: 50, Temperature: &warm, Effort: tt.effort, Refused: tt.refused,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"model", "messages", "stream"} {
				delete(got, name)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
