package gemini

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

const plantedKey = "AIza/TEST-KEY+1_abcdefghij0123456789"

func planted(context.Context) (string, error) { return plantedKey, nil }

func hello() core.Request {
	return core.Request{Model: "fern-2", Messages: []core.Message{userSays("hello")}}
}

// event gives a decoder one event.
func event(t testing.TB, d *decoder, data string) {
	t.Helper()
	if err := d.Event(provider.Event{Data: []byte(data), Ended: true}); err != nil {
		t.Fatal(err)
	}
}

// noKey fails the test when the planted key, or half of it, is in s.
func noKey(t *testing.T, what, s string) {
	t.Helper()
	if strings.Contains(s, plantedKey[5:]) || strings.Contains(s, "abcdefghij") || strings.Contains(s, url64(plantedKey)[8:24]) {
		t.Errorf("the key is in the %s: %s", what, s)
	}
}

func url64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// TestFaults_Echo: a provider that says the key back, in each way, is quoted
// without it.
//
// covers: K4
func TestFaults_Echo(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal("you sent " + plantedKey)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"json":     `{"error":{"code":400,"message":` + string(quoted) + `,"status":"` + plantedKey + `","details":[{"reason":"` + plantedKey + `"}]}}`,
		"list":     `[{"error":{"message":` + string(quoted) + `}}]`,
		"slashes":  `{"error":"` + strings.ReplaceAll(plantedKey, "/", `\/`) + `"}`,
		"escapes":  `{"error":"you sent AIza\u002fTEST\u002dKEY\u002b1_abcdefghij0123456789"}`,
		"base64":   `{"error":"` + url64(plantedKey) + `"}`,
		"text":     "no such key: " + plantedKey,
		"split":    "no such key: " + plantedKey[:20] + "\n" + plantedKey[20:],
		"stream":   sse(`{"error":{"message":"` + plantedKey + `"}}`),
		"blocked":  sse(`{"promptFeedback":{"blockReason":"` + plantedKey + `","blockReasonMessage":"` + plantedKey + `"}}`),
		"bad call": sse(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"` + plantedKey + `"}]}`),
	}
	for name, body := range bodies {
		for _, status := range []int{200, 400, 500} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.String(), "KEY") {
						t.Errorf("the key is in the address %s", r.URL)
					}
					w.WriteHeader(status)
					half := len(body) / 2
					_, _ = io.WriteString(w, body[:half])
					w.(http.Flusher).Flush()
					_, _ = io.WriteString(w, body[half:])
				}))
				t.Cleanup(s.Close)
				m, err := New(Config{BaseURL: s.URL, Key: planted})
				if err != nil {
					t.Fatal(err)
				}
				for op, ask := range map[string]func() error{
					"chat":     func() error { _, err := m.Stream(t.Context(), hello(), func(core.Delta) {}); return err },
					"models":   func() error { _, err := m.Models(t.Context()); return err },
					"describe": func() error { _, err := m.Describe(t.Context(), "fern-2"); return err },
				} {
					err := ask()
					if err == nil {
						if op == "chat" {
							t.Error("no fault")
						}
						continue
					}
					for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", fault.From(err))} {
						noKey(t, op+"'s error", s)
					}
				}
			})
		}
	}
}

// TestAnswer_Echo: an answer that holds the key, in whatever part and however
// it is cut, is shown and stored without it.
//
// covers: K4
func TestAnswer_Echo(t *testing.T) {
	t.Parallel()
	escaped := strings.ReplaceAll(strings.ReplaceAll(plantedKey, "/", `\/`), "-", `\u002d`)
	for name, stream := range map[string]string{
		"whole":     sse(says("", `{"text":"`+plantedKey+`","thought":true}`), says("STOP", `{"text":"`+plantedKey+` is it"}`, `{"functionCall":{"name":"f","id":"`+plantedKey+`","args":{"`+plantedKey+`":["`+plantedKey+`"]}},"thoughtSignature":"Sg=="}`)),
		"escaped":   sse(says("STOP", `{"text":"`+escaped+` is it","thoughtSignature":"Sg=="}`, `{"functionCall":{"name":"f","args":{"k":"`+escaped+`"}},"thoughtSignature":"Sg=="}`)),
		"cut":       sse(says("", `{"text":"`+plantedKey[:9]+`"}`), says("STOP", `{"text":"`+plantedKey[9:]+` is it"}`, `{"text":"`+plantedKey[:9]+`","thought":true}`, `{"text":"`+plantedKey[9:]+`","thought":true,"thoughtSignature":"Sg=="}`, `{"functionCall":{"name":"f"}}`)),
		"signed":    sse(says("", `{"text":"`+plantedKey[:9]+`","thoughtSignature":"S1=="}`), says("STOP", `{"text":"`+plantedKey[9:]+` is it","thoughtSignature":"S2=="}`, `{"functionCall":{"name":"f"},"thoughtSignature":"S3=="}`)),
		"signature": sse(says("STOP", `{"text":" is it","thoughtSignature":"`+escaped+`"}`, `{"functionCall":{"name":"f"}}`)),
		"in pieces": sse(says("", `{"text":" is it"}`, `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.k","stringValue":"`+plantedKey[:9]+`"}],"willContinue":true},"thoughtSignature":"Sg=="}`), says("STOP", `{"functionCall":{"partialArgs":[{"jsonPath":"$.k","stringValue":"`+plantedKey[9:]+`"}]}}`)),
		"in words":  sse(says("STOP", `{"text":" is it"}`, `{"functionCall":{"name":"f","args":"{\"k\":\"`+plantedKey+`\"}"},"thoughtSignature":"Sg=="}`)),
		"broken":    sse(says("STOP", `{"text":" is it"}`, `{"functionCall":{"name":"f","args":"{\"k\":\"`+plantedKey+`"},"thoughtSignature":"Sg=="}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, stream) }))
			t.Cleanup(s.Close)
			m, err := New(Config{BaseURL: s.URL, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			var deltas strings.Builder
			a, err := m.Stream(t.Context(), hello(), func(d core.Delta) { deltas.WriteString(d.Text + d.Reasoning) })
			if err != nil || !strings.HasSuffix(a.Text, " is it") || len(a.Calls) != 1 || len(a.Envelopes) != 1 {
				t.Fatalf("%+v, %v", a, err)
			}
			noKey(t, "deltas", deltas.String())
			noKey(t, "answer", fmt.Sprintf("%+v %s %s", a, a.Calls[0].Arguments, a.Calls[0].Raw))
			var v any
			if err := json.Unmarshal(a.Envelopes[0].Raw, &v); err != nil {
				t.Fatal(err)
			}
			noKey(t, "envelope", fmt.Sprint(v))
			if text := joined(t, a.Envelopes[0]); text != a.Text {
				t.Errorf("the envelope says %q, the answer %q", text, a.Text)
			}
			// And it can still go back.
			got, _ := sent(t, okStream, core.Request{Model: "fern-2", Messages: []core.Message{stored(t, a)}})
			noKey(t, "next request", fmt.Sprint(got.body))
		})
	}
}

// joined is the text of an envelope.
func joined(t *testing.T, e core.Envelope) string {
	t.Helper()
	var k kept
	if err := json.Unmarshal(e.Raw, &k); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, raw := range k.Parts {
		if text, thought := textOf(raw); !thought {
			b.WriteString(text)
		}
	}
	return b.String()
}

// TestFaults_Redirect: no redirect is followed, and so no key goes along.
//
// covers: K7
func TestFaults_Redirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Key: planted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stream(t.Context(), hello(), func(core.Delta) {}); fault.CodeOf(err) != fault.NotAnAPI {
		t.Errorf("got %v", err)
	}
	if _, err := m.Models(t.Context()); fault.CodeOf(err) != fault.NotAnAPI {
		t.Errorf("got %v", err)
	}
}
