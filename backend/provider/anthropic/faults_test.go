package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const plantedKey = "sk-ant-TEST/KEY-1-abcdefghij0123456789"

func planted(context.Context) (string, error) { return plantedKey, nil }

// ask sends a small request and returns the fault, in which the key must not be.
func ask(t *testing.T, cfg Config) *fault.Error {
	t.Helper()
	return streamtest.Planted(plantedKey, hello(), New)(t, cfg)
}

func hello() core.Request {
	return core.Request{Model: "heron-4", Messages: []core.Message{userSays("hello")}}
}

func userSays(s string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: s}}}
}

// TestFaults_ToldApart: what comes back from a server, each its own code.
//
// CASES: C17
// covers: K6
func TestFaults_ToldApart(t *testing.T) {
	t.Parallel()
	said := func(kind, words string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, words)
	}
	streamtest.ToldApart(t, ask, []streamtest.Answered{
		{Status: 401, Body: said("authentication_error", "invalid x-api-key: "+plantedKey), Want: fault.BadKey},
		{Status: 403, Body: said("permission_error", "not for you"), Want: fault.NoPermission},
		{Status: 404, Body: said("not_found_error", "model: heron-9"), Want: fault.ModelNotFound},
		{Status: 404, Want: fault.NotAnAPI},
		{Status: 429, Header: map[string]string{"Retry-After": "30"}, Body: said("rate_limit_error", "This request would exceed your organization's rate limit of 40,000 input tokens per minute"), Want: fault.RateLimited, After: 30 * time.Second},
		{Status: 400, Body: said("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), Want: fault.Quota},
		{Status: 400, Body: said("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), Want: fault.ContextTooLong},
		{Status: 413, Body: said("request_too_large", "Request exceeds the maximum size"), Want: fault.ContextTooLong},
		{Status: 400, Body: said("invalid_request_error", "messages: at least one message is required"), Want: fault.BadRequest},
		{Status: 400, Body: said("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."), Want: fault.BadRequest},
		{Status: 400, Body: said("invalid_request_error", "This model does not support tool use"), Want: fault.UnsupportedByModel},
		{Status: 500, Body: said("api_error", "Internal server error"), Want: fault.ProviderError},
		{Status: 504, Body: said("timeout_error", "Request timed out"), Want: fault.ProviderError},
		{Status: 529, Header: map[string]string{"Retry-After-Ms": "1500"}, Body: said("overloaded_error", "Overloaded"), Want: fault.Overloaded, After: 1500 * time.Millisecond},
		{Status: 529, Body: "<html>", Want: fault.Overloaded},
		{Status: 200, Body: "<html>", Want: fault.NotAnAPI},
		{Status: 200, Body: `{"choices":[{"message":{"content":"hi"}}]}`, Want: fault.NotAnAPI},
		{Status: 200, Body: `{}`, Want: fault.NotAnAPI},
		{Status: 200, Body: `{"type":"message"}`, Want: fault.NotAnAPI},
		{Status: 200, Body: `{"type":"message","content":[{"type":"te`, Want: fault.StreamCut},
	})
}

// TestFaults_Echo: a provider that says the key back, in each way, is quoted
// without it, and an answer that holds it is stored without it.
//
// covers: K4
func TestFaults_Echo(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal("you sent " + plantedKey)
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Echo(t, plantedKey, ask, map[string]string{
		"json":    `{"type":"error","error":{"message":` + string(quoted) + `,"type":"` + plantedKey + `","code":"` + plantedKey + `","param":"` + plantedKey + `"}}`,
		"slashes": `{"type":"error","error":"` + strings.ReplaceAll(plantedKey, "/", `\/`) + `"}`,
		"escapes": `{"type":"error","error":{"message":"you sent sk\u002dant\u002dTEST\u002fKEY\u002d1\u002dabcdefghij0123456789"}}`,
		"base64":  `{"error":"` + base64.StdEncoding.EncodeToString([]byte("Bearer "+plantedKey)) + `"}`,
		"text":    "no such key: " + plantedKey,
		"split":   "no such key: " + plantedKey[:20] + "\n" + plantedKey[20:],
		"stream":  "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"" + plantedKey + "\"}}\n\n",
		"plain":   "event: error\ndata: no such key " + plantedKey + "\n\n",
		"type":    "event: error\ndata: {\"type\":\"" + plantedKey + "_error\"}\n\n",
		"reason":  "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"error\"},\"error\":\"" + plantedKey + "\"}\n\n",
	})

	t.Run("answer", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"signature\":\"S\"}}\n\n")
			for _, piece := range []string{plantedKey[:9], plantedKey[9:] + " is it"} {
				fmt.Fprintf(w, "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":%q}}\n\n", piece)
				fmt.Fprintf(w, "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", piece)
			}
			fmt.Fprintf(w, "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"k\":%q}}}\n\n", plantedKey)
			fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
		}))
		t.Cleanup(s.Close)
		m, err := New(Config{BaseURL: s.URL, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		var deltas strings.Builder
		a, err := m.Stream(t.Context(), hello(), func(d core.Delta) { deltas.WriteString(d.Text + d.Reasoning) })
		if err != nil || a.Text != "[redacted] is it" || len(a.Calls) != 1 || len(a.Envelopes) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		for _, s := range []string{deltas.String(), a.Reasoning, string(a.Calls[0].Arguments), string(a.Envelopes[0].Raw)} {
			if strings.Contains(s, "abcdefghij") {
				t.Errorf("the key is in %q", s)
			}
		}
	})
}

// TestFaults_Redirect: no redirect is followed, and so no key goes along.
//
// covers: K7
func TestFaults_Redirect(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	if f := ask(t, Config{BaseURL: s.URL}); f == nil || f.Code != fault.NotAnAPI {
		t.Errorf("got %v", f)
	}
	m, err := New(Config{BaseURL: s.URL, Key: planted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Models(t.Context()); fault.CodeOf(err) != fault.NotAnAPI {
		t.Errorf("the list of models: %v", err)
	}
	if info, err := m.Describe(t.Context(), "heron-4"); err != nil || info != (core.ModelInfo{}) {
		t.Errorf("the description: %+v, %v", info, err)
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d requests went to the other host", n)
	}
}

// TestKey: the vendor wants one, a gateway may not, and neither is asked for one
// at an address that is none.
//
// covers: K6 K7
func TestKey(t *testing.T) {
	t.Parallel()
	if f := ask(t, Config{BaseURL: "https://api.provider.test", Key: func(context.Context) (string, error) { return "", nil }}); f == nil || f.Code != fault.NoKey {
		t.Errorf("no key at the vendor: %v", f)
	}
	if _, err := New(Config{BaseURL: "http://api.provider.test", Key: func(context.Context) (string, error) {
		t.Error("the key was asked for")
		return plantedKey, nil
	}}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("plain http: %v", err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key")+r.Header.Get("Authorization") != "" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = io.WriteString(w, okStream)
	}))
	t.Cleanup(s.Close)
	if f := ask(t, Config{BaseURL: s.URL, Profile: "compatible", Key: func(context.Context) (string, error) { return "", nil }}); f != nil {
		t.Errorf("no key at a gateway: %v", f)
	}
}

// TestFaults_Refused: what the vendor and gateways say of a parameter that a
// model does not take, and of one that is wrong in another way.
//
// covers: K10
func TestFaults_Refused(t *testing.T) {
	t.Parallel()
	heat := 0.5
	tests := []struct {
		effort, words, want string
	}{
		{"", "`temperature` is deprecated for this model.", "temperature"},
		{"high", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, "thinking"}, //nolint:misspell // the words of the wire
		{"high", "adaptive thinking is not supported on this model", "thinking"},
		{"high", "This model does not support the effort parameter.", "effort"},
		{"high", "output_config: Extra inputs are not permitted", "output_config"},
		{"none", `"thinking.type.disabled" is not supported for this model.`, "thinking"},
		{"", "This model does not support the effort parameter.", ""}, // it was not sent
		{"high", "messages.1.content.0: Invalid `signature` in `thinking` block", ""},
		{"high", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", ""},
		{"high", "messages: roles must alternate", ""},
	}
	for _, tt := range tests {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, tt.words)
		}))
		m, err := New(Config{BaseURL: s.URL, Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		req := hello()
		req.Effort, req.Temperature = tt.effort, &heat
		_, err = m.Stream(t.Context(), req, func(core.Delta) {})
		got := ""
		if r, ok := errors.AsType[*provider.RefusedParam](err); ok {
			got = r.Name
		}
		if fault.CodeOf(err) != fault.BadRequest || got != tt.want {
			t.Errorf("%s: %v names %q, want %q", tt.words, err, got, tt.want)
		}
		m.Close()
		s.Close()
	}
}
