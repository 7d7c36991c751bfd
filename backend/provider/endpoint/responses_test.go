package endpoint

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// TestResponses_Told: a server that speaks the Responses dialect is asked for
// its models in its own way, at the same host, with the same key.
//
// covers: K3 K10
// CASES: C10
func TestResponses_Told(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"GET /api/tags":      `{"models":[{"name":"pine:latest","model":"pine:latest"}]}`,
		"GET /api/ps":        `{"models":[]}`,
		"POST /api/show":     `{"parameters":"num_ctx 8192","capabilities":["completion","tools","thinking"]}`,
		"GET /v1/models":     `{"data":[{"id":"v/pine","name":"Pine","context_length":9000,"supported_parameters":["tools"]}]}`,
		"GET /gw/models":     `{"data":[{"id":"v/pine","name":"Pine","context_length":9000,"supported_parameters":["tools"]}]}`,
		"POST /v1/responses": "data: {\"type\":\"response.output_text.delta\",\"delta\":\"OK\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer sk-TESTKEY-responses" {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	pine := core.ModelInfo{ID: "v/pine", Name: "Pine", Capabilities: core.Capabilities{
		ContextTokens: 9000, ContextSource: core.SourceAsked, Tools: core.KnownYes, Reasoning: core.KnownNo,
	}}
	tests := []struct {
		profile, base, model string
		context              int
		tools                core.Known
	}{
		{"ollama", "/v1/responses", "pine:latest", 8192, core.KnownYes},
		{"ollama", "", "pine:latest", 8192, core.KnownYes},
		{"openrouter", "/v1", "v/pine", 9000, core.KnownYes},
		{"compatible", "/gw/responses", "v/pine", 9000, core.KnownYes},
	}
	for _, tt := range tests {
		e, err := New(KindOpenAIResponses, dialect.Config{
			BaseURL: s.URL + tt.base, Profile: tt.profile,
			Key: func(context.Context) (string, error) { return "sk-TESTKEY-responses", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		all, err := e.Models(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != tt.model {
			t.Errorf("%s lists %+v, %v", tt.profile, all, err)
		}
		if tt.profile == "openrouter" {
			if d := cmp.Diff(pine, all[0]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
		info, err := e.Describe(t.Context(), tt.model)
		if err != nil || info.ContextTokens != tt.context || info.Tools != tt.tools {
			t.Errorf("%s describes %+v, %v", tt.profile, info, err)
		}
		if strings.HasPrefix(tt.base, "/gw") {
			continue
		}
		a, err := e.Stream(t.Context(), Test(tt.model), func(core.Delta) {})
		if err != nil || a.Text != "OK" {
			t.Errorf("%s answers %+v, %v", tt.profile, a, err)
		}
	}
	if _, err := New(KindOpenAIResponses, dialect.Config{BaseURL: "http://host.test"}); err == nil {
		t.Error("plain http is taken")
	}
}
