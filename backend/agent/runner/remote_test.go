package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/provider/endpoint"
)

// plantedKey is searched for everywhere.
const plantedKey = "sk-planted-0123456789abcdef"

// remote is a provider on this machine that speaks the chat dialect and counts
// what it is asked.
type remote struct {
	*httptest.Server
	// chat answers a request for an answer; nil says "All done.".
	chat func(w http.ResponseWriter, r *http.Request, body string)
	// models is the list of models as JSON, or answers in its place.
	models  string
	listing http.HandlerFunc

	mu sync.Mutex // guards what follows
	// asked are the requests for an answer, as they came; lists counts those for
	// models.
	asked []string
	lists int
	keys  map[string]bool
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	s := &remote{models: `{"data":[{"id":"small"},{"id":"large","context_length":9000}]}`, keys: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *remote) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the other side went away
	}
	s.mu.Lock()
	s.keys[r.Header.Get("Authorization")] = true
	if r.Method == http.MethodGet {
		s.lists++
	} else {
		s.asked = append(s.asked, string(body))
	}
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && s.listing != nil:
		s.listing(w, r)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, s.models)
	case s.chat != nil:
		s.chat(w, r, string(body))
	default:
		speak(w, "All done.")
	}
}

// counts returns how many requests for an answer and for models came.
func (s *remote) counts() (asked, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked), s.lists
}

// last is the newest request for an answer.
func (s *remote) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1]
}

// speak streams a whole answer.
func speak(w http.ResponseWriter, words string) {
	utter(w, words)
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// utter streams the beginning of one.
func utter(w http.ResponseWriter, words string) {
	b, _ := json.Marshal(words)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", b)
	w.(http.Flusher).Flush()
}

// provider is the remote as it is configured, with a send log.
func (s *remote) provider() wire.ProviderConfig {
	return wire.ProviderConfig{
		ID: "near", Name: "Near", Kind: endpoint.KindOpenAIChat, Profile: "compatible", BaseURL: s.URL + "/v1",
		CredentialRef: "near", Record: true,
	}
}

// talk is a conversation with a model of the remote.
func (s *remote) talk(command, model, words string, tools ...string) wire.SubmitParams {
	p := message(command, words, tools...)
	p.Provider, p.ModelRef = s.provider(), core.ModelRef{ProviderID: "near", Model: model}
	return p
}

// rewriteOf is a rewrite by a model of the remote.
func (s *remote) rewriteOf(command, model string) wire.SubmitParams {
	p := s.talk(command, model, "")
	p.Kind, p.Snapshot = core.KindRewrite, snapshotOf("Some words to change.\n")
	p.Snapshot.Selection = core.Range{From: 0, To: 10}
	p.Rewrite = &wire.RewriteInput{Instruction: "Say it otherwise", Language: "en"}
	return p
}

// sends lists the send log, the oldest first.
func (r *rig) sends() []wire.Send {
	r.t.Helper()
	var page wire.SendListResult
	r.must(wire.MethodSendLogList, wire.SendListParams{Limit: 200}, &page)
	if page.Count != len(page.Sends) || page.KeptDays != 30 || page.KeptBytes != 64<<20 {
		r.t.Errorf("page of %d entries is %d, %d days, %d bytes", len(page.Sends), page.Count, page.KeptDays, page.KeptBytes)
	}
	for i, j := 0, len(page.Sends)-1; i < j; i, j = i+1, j-1 {
		page.Sends[i], page.Sends[j] = page.Sends[j], page.Sends[i]
	}
	return page.Sends
}

// body reads a body in pieces of so many bytes.
func (r *rig) body(id int64, limit int) string {
	r.t.Helper()
	var all strings.Builder
	for offset := int64(0); ; {
		var res wire.SendGetResult
		r.must(wire.MethodSendLogGet, wire.SendGetParams{ID: id, Offset: offset, Limit: limit}, &res)
		all.WriteString(res.Body)
		if res.NextOffset == 0 {
			return all.String()
		}
		if res.NextOffset <= offset {
			r.t.Fatalf("the piece after %d begins at %d", offset, res.NextOffset)
		}
		offset = res.NextOffset
	}
}
