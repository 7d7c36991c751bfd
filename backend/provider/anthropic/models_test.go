package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// TestModels reads the lists that the vendor and gateways give, page by page,
// and always comes to an end.
//
// CASES: C10
// covers: K3 K10
func TestModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		pages map[string]string // by after_id
		want  []string
		asked int
		fault fault.Code
	}{
		{"one page", map[string]string{"": `{"data":[{"type":"model","id":"b"},{"id":"a"},{"id":"b"}],"has_more":false,"first_id":"b","last_id":"b"}`}, []string{"b", "a"}, 1, ""},
		{"pages", map[string]string{
			"":  `{"data":[{"id":"a"},{"id":"b"}],"has_more":true,"last_id":"b"}`,
			"b": `{"data":[{"id":"c"}],"has_more":true,"last_id":"c"}`,
			"c": `{"data":[{"id":"d"}],"has_more":false,"last_id":"d"}`,
		}, []string{"a", "b", "c", "d"}, 3, ""},
		{"the same page again", map[string]string{
			"":  `{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}`,
			"a": `{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}`,
		}, []string{"a"}, 2, ""},
		{"more, but nowhere to go on", map[string]string{"": `{"data":[{"id":"a"}],"has_more":true,"last_id":null}`}, []string{"a"}, 1, ""},
		{"without marks of pages", map[string]string{"": `{"object":"list","data":[{"id":"a"}]}`}, []string{"a"}, 1, ""},
		{"bare list", map[string]string{"": `[{"id":"a"}]`}, []string{"a"}, 1, ""},
		{"none", map[string]string{"": `{"data":[]}`}, []string{}, 1, ""},
		{"other JSON", map[string]string{"": `{"status":"ok"}`}, nil, 1, fault.NotAnAPI},
		{"page of a site", map[string]string{"": `<html>`}, nil, 1, fault.NotAnAPI},
		{"error", map[string]string{"": `{"type":"error","error":{"type":"authentication_error","message":"no"}}`}, nil, 1, fault.BadKey},
		{"cut", map[string]string{"": `{"data":[`}, nil, 1, fault.StreamCut},
		{"error later", map[string]string{
			"":  `{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}`,
			"a": `{"type":"error","error":{"type":"overloaded_error"}}`,
		}, nil, 2, fault.Overloaded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/v1/models" || r.Header.Get("X-Api-Key") != plantedKey || r.URL.Query().Get("limit") != "1000" {
					t.Errorf("asked %s", r.URL)
				}
				_, _ = io.WriteString(w, tt.pages[r.URL.Query().Get("after_id")])
			}))
			t.Cleanup(s.Close)
			m, err := New(Config{BaseURL: s.URL + "/v1/messages", Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Models(t.Context())
			if fault.CodeOf(err) != tt.fault || asked != tt.asked {
				t.Errorf("fault %v after %d requests, want %q after %d", err, asked, tt.fault, tt.asked)
			}
			if err != nil {
				return
			}
			ids := []string{}
			for _, m := range got {
				ids = append(ids, m.ID)
			}
			if d := cmp.Diff(tt.want, ids); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			fmt.Fprintf(w, `{"data":[{"id":"m%d"}],"has_more":true,"last_id":"m%d"}`, asked, asked)
		}))
		t.Cleanup(s.Close)
		m, err := New(Config{BaseURL: s.URL, Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Models(t.Context()); err != nil || len(got) != maxPages || asked != maxPages {
			t.Errorf("%d models after %d requests, %v", len(got), asked, err)
		}
	})
}

// TestDescribe reads what is told of one model.
//
// covers: K10
func TestDescribe(t *testing.T) {
	t.Parallel()
	heron := core.ModelInfo{ID: "heron-4", Name: "Heron 4", Capabilities: core.Capabilities{
		ContextTokens: 1_000_000, ContextSource: core.SourceAsked, MaxOutputTokens: 128_000, Reasoning: core.KnownYes,
	}}
	told := `{"type":"model","id":"heron-4-20260101","display_name":"Heron 4","max_input_tokens":1000000,"max_tokens":128000,` +
		`"capabilities":{"thinking":{"supported":true,"types":{"adaptive":{"supported":true}}},"effort":{"supported":true}}}`
	tests := []struct {
		name   string
		status int
		body   string
		want   core.ModelInfo
		fault  fault.Code
	}{
		{"vendor", 200, told, heron, ""},
		{"gateway", 200, `{"id":"heron-4","name":"heron-4","context_length":8192,"capabilities":{"thinking":{"supported":false}}}`, core.ModelInfo{
			ID: "heron-4", Capabilities: core.Capabilities{ContextTokens: 8192, ContextSource: core.SourceAsked, Reasoning: core.KnownNo},
		}, ""},
		{"nothing more", 200, `{"id":"heron-4","max_input_tokens":null,"max_tokens":0,"capabilities":null}`, core.ModelInfo{ID: "heron-4"}, ""},
		{"not told", 404, ``, core.ModelInfo{}, ""},
		{"not known", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: heron-4"}}`, core.ModelInfo{}, ""},
		{"something else", 200, `{"data":[]}`, core.ModelInfo{}, ""},
		{"a page", 200, `<html>`, core.ModelInfo{}, ""},
		{"bad key", 401, `{"type":"error","error":{"type":"authentication_error"}}`, core.ModelInfo{}, fault.BadKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.EscapedPath() != "/v1/models/heron-4" {
					t.Errorf("asked %s", r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			t.Cleanup(s.Close)
			m, err := New(Config{BaseURL: s.URL, Key: planted})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Describe(t.Context(), "heron-4")
			if fault.CodeOf(err) != tt.fault {
				t.Errorf("fault %v, want %q", err, tt.fault)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	t.Run("a name with a slash", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.EscapedPath() != "/v1/models/wood%2Fheron-4%3F" || r.URL.RawQuery != "a=b" {
				t.Errorf("asked %s", r.URL)
			}
		}))
		t.Cleanup(s.Close)
		m, err := New(Config{BaseURL: s.URL + "/v1?a=b", Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = m.Describe(t.Context(), "wood/heron-4?")
		if info, err := m.Describe(t.Context(), ""); err != nil || info != (core.ModelInfo{}) {
			t.Errorf("no model is %+v, %v", info, err)
		}
	})
}
