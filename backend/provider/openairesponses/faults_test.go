package openairesponses

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const plantedKey = "sk-TEST/KEY-1-abcdefghij0123456789"

func planted(context.Context) (string, error) { return plantedKey, nil }

// ask sends a small request and returns the fault, in which the key must not be.
func ask(t *testing.T, cfg Config) *fault.Error {
	t.Helper()
	return streamtest.Planted(plantedKey, hello(), New)(t, cfg)
}

// TestFaults_ToldApart: what comes back from a server, each its own code.
//
// CASES: C17
// covers: K6
func TestFaults_ToldApart(t *testing.T) {
	t.Parallel()
	streamtest.ToldApart(t, ask, []streamtest.Answered{
		{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + plantedKey + `"}}`, Want: fault.BadKey},
		{Status: 403, Body: `{"error":{"message":"not for you"}}`, Want: fault.NoPermission},
		{Status: 404, Body: `{"error":{"message":"The model 'fern-2' does not exist","code":"model_not_found"}}`, Want: fault.ModelNotFound},
		{Status: 404, Body: `{"error":{"message":"Invalid URL (POST /v1/v1/responses)","type":"invalid_request_error"}}`, Want: fault.BadRequest},
		{Status: 404, Want: fault.NotAnAPI},
		{Status: 429, Header: map[string]string{"Retry-After": "30"}, Body: `{"error":{"message":"slow down"}}`, Want: fault.RateLimited, After: 30 * time.Second},
		{Status: 429, Body: `{"error":{"code":"insufficient_quota"}}`, Want: fault.Quota},
		{Status: 400, Body: `{"error":{"code":"context_length_exceeded"}}`, Want: fault.ContextTooLong},
		{Status: 400, Body: `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input"}}`, Want: fault.BadRequest},
		{Status: 400, Body: `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","code":"invalid_prompt"}}`, Want: fault.Refused},
		{Status: 413, Want: fault.ContextTooLong},
		{Status: 500, Want: fault.ProviderError},
		{Status: 529, Want: fault.Overloaded},
		{Status: 302, Header: map[string]string{"Location": "https://login.test/"}, Want: fault.NotAnAPI},
		{Status: 200, Body: `<html>`, Want: fault.NotAnAPI},
	})
}

// TestFaults_Learned: a refusal of what may be left out says so, one of anything
// else does not.
//
// covers: K10
func TestFaults_Learned(t *testing.T) {
	t.Parallel()
	tests := []struct{ model, body, want string }{
		{"pine", `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`, "include"},
		{"pine", `{"error":{"message":"You must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`, "reasoning.summary"},
		{"pine", `{"error":{"message":"Unsupported value: 'none' is not supported with the 'pine' model.","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value"}}`, "reasoning.effort"},
		{"pine", `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":null}}`, "temperature"},
		{"gpt-4o", `{"error":{"message":"Unknown parameter: 'include'.","type":"invalid_request_error","param":"include","code":"unknown_parameter"}}`, ""},
		{"pine", `{"error":{"message":"Unknown parameter: 'input[0].x'.","type":"invalid_request_error","param":"input[0].x","code":"unknown_parameter"}}`, ""},
	}
	warm := 1.5
	for _, tt := range tests {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, tt.body)
		}))
		m, err := New(Config{BaseURL: s.URL, Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		req := hello()
		req.Model, req.Effort, req.Temperature = tt.model, core.EffortLow, &warm
		_, err = m.Stream(t.Context(), req, func(core.Delta) {})
		s.Close()
		got := ""
		if p, ok := errors.AsType[*provider.RefusedParam](err); ok {
			got = p.Name
		}
		if got != tt.want || fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: learned %q from %v, want %q", tt.body, got, err, tt.want)
		}
	}
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
		"json":    `{"error":{"message":` + string(quoted) + `,"type":"` + plantedKey + `","code":"` + plantedKey + `","param":"` + plantedKey + `"}}`,
		"slashes": `{"error":"` + strings.ReplaceAll(plantedKey, "/", `\/`) + `"}`,
		"escapes": `{"error":"you sent sk\u002dTEST\u002fKEY\u002d1\u002dabcdefghij0123456789"}`,
		"base64":  `{"error":"` + base64.StdEncoding.EncodeToString([]byte("Bearer "+plantedKey)) + `"}`,
		"text":    "no such key: " + plantedKey,
		"event":   body(`{"type":"error","code":"` + plantedKey + `","message":` + string(quoted) + `}`),
		"failed":  body(half, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":`+string(quoted)+`}}}`),
		"partial": body(`{"type":"response.output_text.delta","item_id":"m","delta":`+string(quoted)+`}`, `{"type":"response.reasoning_text.delta","item_id":"r","delta":`+string(quoted)+`}`),
		"whole":   `{"object":"response","status":"failed","error":{"code":"server_error","message":` + string(quoted) + `}}`,
	})
}

// TestFaults_EchoInAnswer: an answer that holds the key, in whichever field and
// hidden by whichever escape, is shown and kept without it.
//
// covers: K4
func TestFaults_EchoInAnswer(t *testing.T) {
	t.Parallel()
	escaped := strings.NewReplacer("/", `\/`, "-", `\u002d`).Replace(plantedKey)
	delta := func(typ, item, s string) string {
		return `{"type":"response.` + typ + `.delta","item_id":"` + item + `","delta":"` + s + `"}`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, body(
			delta("reasoning_summary_text", "r", plantedKey[:9]), delta("reasoning_summary_text", "r", plantedKey[9:]),
			`{"type":"response.output_item.done","item":{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"`+escaped+`"}],"encrypted_content":"E","x":"`+plantedKey+`"}}`,
			delta("output_text", "m", plantedKey[:9]), delta("output_text", "m", plantedKey[9:]+" is it"),
			`{"type":"response.output_item.done","item":{"id":"m","type":"message","phase":"`+escaped+`","content":[{"type":"output_text","text":"`+escaped+` is it"}]}}`,
			`{"type":"response.output_item.done","item":{"id":"c","type":"function_call","call_id":"c1","name":"f","arguments":"{\"k\":\"`+plantedKey+`\"}","more":{"`+escaped+`":["`+escaped+`"]}}}`,
			completed,
		))
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
	if !strings.Contains(string(a.Envelopes[0].Raw), `"encrypted_content":"E"`) {
		t.Errorf("kept %s", a.Envelopes[0].Raw)
	}
}
