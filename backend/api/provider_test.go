package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"galley/backend/settings"
)

// endpoint is a provider on this machine that speaks the chat dialect.
type served struct {
	*httptest.Server
	// arrived gets each chat request.
	arrived chan chatRequest
	// release lets a held answer go on; it is closed at the end of the test.
	release chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// reply answers chat requests.
	reply func(e *served, w http.ResponseWriter, r *http.Request)
	keys  []string
}

// chatRequest is what a test looks at in a request.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

// prompt is the text of the last message.
func (r chatRequest) prompt() string { return r.Messages[len(r.Messages)-1].Content }

func newEndpoint(t *testing.T, reply func(*served, http.ResponseWriter, *http.Request)) *served {
	t.Helper()
	e := &served{arrived: make(chan chatRequest, 16), release: make(chan struct{}), reply: reply}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		e.saw(r)
		_, _ = io.WriteString(w, `{"data":[{"id":"small"},{"id":"large"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		e.saw(r)
		var req chatRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Errorf("request: %v", err)
		}
		e.arrived <- req
		e.mu.Lock()
		reply := e.reply
		e.mu.Unlock()
		reply(e, w, r)
	})
	e.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(e.release)
		e.Close()
	})
	return e
}

func (e *served) saw(r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys = append(e.keys, r.Header.Get("Authorization"))
}

// seen returns the keys of the requests so far.
func (e *served) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.keys...)
}

// answers makes the endpoint answer otherwise from now on.
func (e *served) answers(reply func(*served, http.ResponseWriter, *http.Request)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reply = reply
}

// provider is the endpoint as a person configures it.
func (e *served) provider() settings.Provider {
	return settings.Provider{
		Name: "Local", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: e.URL + "/v1", Model: "small",
	}
}

// configured saves the endpoint as a provider of a window and returns its id.
func (e *served) configured(w *window) string {
	w.t.Helper()
	list := ask[SettingsState](w, "Settings.SaveProvider", e.provider()).Providers
	return list[len(list)-1].ID
}

// says streams a whole answer.
func says(s string) func(*served, http.ResponseWriter, *http.Request) {
	return func(_ *served, w http.ResponseWriter, _ *http.Request) {
		chunk(w, s)
		finish(w)
	}
}

// holds streams the beginning of an answer and the rest when it is released.
func holds(begin, rest string) func(*served, http.ResponseWriter, *http.Request) {
	return func(e *served, w http.ResponseWriter, r *http.Request) {
		chunk(w, begin)
		select {
		case <-e.release:
			chunk(w, rest)
			finish(w)
		case <-r.Context().Done():
		}
	}
}

// fails answers with a status and a body.
func fails(status int, body string) func(*served, http.ResponseWriter, *http.Request) {
	return func(_ *served, w http.ResponseWriter, r *http.Request) {
		// Some servers quote what they got.
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "KEY", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	}
}

func chunk(w http.ResponseWriter, s string) {
	data, _ := json.Marshal(s)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", data)
	w.(http.Flusher).Flush()
}

func finish(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
