package streamtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider/dialect"
)

// Asker sends a small request to where a configuration leads and returns the
// fault; nil for none.
type Asker func(t *testing.T, cfg dialect.Config) *fault.Error

// Planted returns an Asker whose requests carry key, where cfg has none, and in
// whose faults no part of it may be. The key holds "abcdefghij", which nothing
// else does.
func Planted[M core.Model](key string, req core.Request, open func(dialect.Config) (M, error)) Asker {
	return func(t *testing.T, cfg dialect.Config) *fault.Error {
		t.Helper()
		if cfg.Key == nil {
			cfg.Key = func(context.Context) (string, error) { return key, nil }
		}
		m, err := open(cfg)
		if err != nil {
			return fault.From(err)
		}
		defer release(m)
		a, err := m.Stream(t.Context(), req, func(core.Delta) {})
		if err == nil {
			return nil
		}
		for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", fault.From(err)), a.Text + a.Reasoning} {
			if strings.Contains(s, key[3:]) || strings.Contains(s, "abcdefghij") {
				t.Errorf("the key is in the error: %s", s)
			}
		}
		return fault.From(err)
	}
}

// Answered is what a server answers with, and the fault that is to come of it.
type Answered struct {
	Status int
	Header map[string]string
	Body   string
	Want   fault.Code
	// After is how long the server asks to wait.
	After time.Duration
}

// ToldApart holds that each answer comes to its fault, and that the fault names
// the host.
func ToldApart(t *testing.T, ask Asker, answers []Answered) {
	t.Helper()
	for i, a := range answers {
		t.Run(fmt.Sprint(i, " ", a.Status, " ", a.Want), func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for k, v := range a.Header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(a.Status)
				_, _ = io.WriteString(w, a.Body)
			}))
			t.Cleanup(s.Close)
			f := ask(t, dialect.Config{BaseURL: s.URL})
			if f == nil || f.Code != a.Want || f.RetryAfter != a.After {
				t.Fatalf("%v, want %s after %v", f, a.Want, a.After)
			}
			if !strings.HasPrefix(f.Detail, strings.TrimPrefix(s.URL, "http://")) {
				t.Errorf("the detail %q does not name the host", f.Detail)
			}
		})
	}
}

// Echo holds that a provider which says the key back, in each of the bodies, with
// an answer, a refusal of the key and a failure of its own, is quoted without it.
func Echo(t *testing.T, key string, ask Asker, bodies map[string]string) {
	t.Helper()
	for name, body := range bodies {
		for _, status := range []int{200, 401, 500} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				t.Parallel()
				f := ask(t, dialect.Config{BaseURL: inHalves(t, status, body)})
				if f == nil {
					t.Fatal("no fault")
				}
				if b64 := base64.StdEncoding.EncodeToString([]byte("Bearer " + key)); strings.Contains(f.Error(), b64[12:24]) {
					t.Errorf("the key is there in base64: %s", f)
				}
			})
		}
	}
}

// inHalves serves a body in two pieces until the test ends, and returns where.
func inHalves(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		half := len(body) / 2
		_, _ = io.WriteString(w, body[:half])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		_, _ = io.WriteString(w, body[half:])
	}))
	t.Cleanup(s.Close)
	return s.URL
}
