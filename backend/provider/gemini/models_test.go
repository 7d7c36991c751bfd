package gemini

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

func server(t *testing.T, h http.HandlerFunc) *Model {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("X-Goog-Api-Key") != plantedKey || r.URL.Query().Has("key") {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL + "/v1beta/models/x:streamGenerateContent?alt=sse", Key: planted})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestModels_Pages reads all pages, and of them what can answer.
//
// covers: K3 K10
func TestModels_Pages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"": `{"models":[
			{"name":"models/gemini-4-argon","displayName":"Gemini 4 Argon","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"],"thinking":true},
			{"name":"models/embed-1","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"p/2="}`,
		"p/2=": `{"models":[
			{"name":"models/gemini-4-argon","supportedGenerationMethods":["generateContent"]},
			{"name":"models/plain-1","displayName":"plain-1","supportedGenerationMethods":["streamGenerateContent"],"thinking":false},
			{"name":"models/","supportedGenerationMethods":["generateContent"]}],"nextPageToken":"p3"}`,
		"p3": `{"models":[{"id":"bare"},{"name":"models/picture","supportedGenerationMethods":["predict"]}],"nextPageToken":""}`,
	}
	m := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/models" || r.URL.Query().Get("pageSize") != pageSize {
			t.Errorf("asked %s", r.URL)
		}
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("pageToken")])
	})
	got, err := m.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []core.ModelInfo{
		{ID: "gemini-4-argon", Name: "Gemini 4 Argon", Capabilities: core.Capabilities{ContextTokens: 1048576, ContextSource: core.SourceAsked, MaxOutputTokens: 65536, Reasoning: core.KnownYes}},
		{ID: "plain-1", Capabilities: core.Capabilities{Reasoning: core.KnownNo}},
		{ID: "bare"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestModels_Bounded: a list without an end ends.
func TestModels_Bounded(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	m := server(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		fmt.Fprintf(w, `{"models":[{"name":"models/m%d"}],"nextPageToken":"t%d"}`, n, n)
	})
	if got, err := m.Models(t.Context()); err != nil || len(got) != maxPages || asked.Load() != maxPages {
		t.Errorf("%d models of %d pages, %v", len(got), asked.Load(), err)
	}
	same := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"models":[{"name":"models/m"}],"nextPageToken":"t"}`)
	})
	if got, err := same.Models(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestModels_Faults: what is no list is a failure, on every page.
func TestModels_Faults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]fault.Code{
		`{"models":[]}`:    "",
		`{"status":"ok"}`:  fault.NotAnAPI,
		`{"models":["a"]}`: fault.NotAnAPI,
		`<html>`:           fault.NotAnAPI,
		`{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`: fault.BadKey,
		`{"models":[`: fault.StreamCut,
	} {
		for _, page := range []string{"", "2"} {
			m := server(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("pageToken") == page {
					_, _ = io.WriteString(w, body)
				} else {
					_, _ = io.WriteString(w, `{"models":[{"name":"models/a"}],"nextPageToken":"2"}`)
				}
			})
			if _, err := m.Models(t.Context()); fault.CodeOf(err) != want {
				t.Errorf("%s on page %q gives %v, want %s", body, page, err, want)
			}
		}
	}
}

// TestDescribe asks for one model.
//
// covers: K10
func TestDescribe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   core.ModelInfo
		fault  fault.Code
	}{
		{200, `{"name":"models/other-name","displayName":"D","inputTokenLimit":9000,"outputTokenLimit":800,"thinking":true}`, core.ModelInfo{
			ID: "a/b", Name: "D", Capabilities: core.Capabilities{ContextTokens: 9000, ContextSource: core.SourceAsked, MaxOutputTokens: 800, Reasoning: core.KnownYes},
		}, ""},
		{200, `{"status":"ok"}`, core.ModelInfo{}, ""},
		{200, `[]`, core.ModelInfo{}, ""},
		{200, `<html>`, core.ModelInfo{}, ""},
		{404, ``, core.ModelInfo{}, ""},
		{404, `{"error":{"code":404,"message":"models/a is not found for API version v1beta","status":"NOT_FOUND"}}`, core.ModelInfo{}, fault.ModelNotFound},
		{503, ``, core.ModelInfo{}, fault.Overloaded},
	}
	for _, tt := range tests {
		m := server(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.EscapedPath() != "/v1beta/models/a%2Fb" || r.URL.RawQuery != "" {
				t.Errorf("asked %s", r.URL)
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		got, err := m.Describe(t.Context(), "a/b")
		if d := cmp.Diff(tt.want, got); d != "" || fault.CodeOf(err) != tt.fault {
			t.Errorf("%d %s: %v (-want +got):\n%s", tt.status, tt.body, err, d)
		}
	}
}
