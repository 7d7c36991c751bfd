package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/endpoint"
	"galley/backend/provider/streamtest"
)

const rowsFile = "../../agent/core/testdata/patch/streams.json"

// decoded is what an SDK made of a stream.
type decoded struct {
	text, refusal string
	calls         []call
	usage         core.Usage
}

type call struct {
	id, name string
	// arguments is JSON; "" and none are {}.
	arguments string
}

// sdk is a vendor's client of one dialect.
type sdk struct {
	dialect provider.Dialect
	kind    string
	// read reads a request body as the SDK's own type and writes it again.
	read func(body []byte) ([]byte, error)
	// plain writes what may be said in two ways in one of them; nil for nothing.
	plain func(body any) any
	// unread names the requests that the SDK does not write again as they were,
	// "model/name", and why.
	unread map[string]string
	// stream sends a small request to base and puts the answer together.
	stream func(ctx context.Context, base string, via *http.Client) (decoded, error)
	// parted names the rows where the SDK and the decisions part, and why.
	parted map[string]string
}

// requests are the shapes of request that the program makes.
func requests() map[string]core.Request {
	temperature := 0.4
	tools := []core.ToolSpec{{
		Name: "searchWorkspace", Description: "Looks for words in the folder.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to look for."},"scope":{"type":"string","enum":["all","open"]},"limit":{"type":"number"},"names":{"type":"array","items":{"type":"string"}}},"required":["query"]}`),
	}, {Name: "getOutline", Description: "The headings of the document.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	said := func(role core.Role, s string) core.Message {
		return core.Message{Role: role, Parts: []core.Part{{Type: core.PartText, Text: s}}}
	}
	turn := core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartText, Text: "I look."},
		{Type: core.PartToolCall, ToolCallID: "a", ProviderCallID: "call_a", Name: "searchWorkspace", Input: json.RawMessage(`{"query":"渡船 \"ferry\""}`)},
		{Type: core.PartToolCall, ToolCallID: "b", ProviderCallID: "call_b", Name: "getOutline", Input: json.RawMessage(`{}`)},
	}}
	results := core.Message{Role: core.RoleTool, Parts: []core.Part{
		{Type: core.PartToolResult, ToolCallID: "a", ProviderCallID: "call_a", Name: "searchWorkspace", Text: `{"hits":2}`},
		{Type: core.PartToolResult, ToolCallID: "b", ProviderCallID: "call_b", Name: "getOutline", Text: "not_found", IsError: true},
	}}
	alone := core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartToolCall, ToolCallID: "c", Name: "getOutline", Input: nil},
	}}
	unknown := core.Message{Role: core.RoleTool, Parts: []core.Part{
		{Type: core.PartToolResult, ToolCallID: "c", Name: "getOutline", Text: "nobody knows what came of it", IsError: true},
	}}
	return map[string]core.Request{
		"one word":       {Messages: []core.Message{said(core.RoleUser, "你好 👋")}},
		"system":         {System: "Answer briefly.", Messages: []core.Message{said(core.RoleUser, "Hello")}, MaxOutputTokens: 64},
		"parameters":     {Messages: []core.Message{said(core.RoleUser, "Hello")}, Temperature: &temperature, MaxOutputTokens: 4096},
		"effort":         {Messages: []core.Message{said(core.RoleUser, "Hello")}, Effort: core.EffortLow, MaxOutputTokens: 8192},
		"tools":          {System: "Use tools.", Messages: []core.Message{said(core.RoleUser, "Find it")}, Tools: tools},
		"calls":          {Messages: []core.Message{said(core.RoleUser, "Find it"), turn, results}, Tools: tools},
		"calls, then on": {Messages: []core.Message{said(core.RoleUser, "Find it"), turn, results, said(core.RoleAssistant, "Two."), said(core.RoleUser, "And?")}, Tools: tools},
		"call alone":     {Messages: []core.Message{said(core.RoleUser, "Find it"), alone, unknown}, Tools: tools},
		"tools gone":     {Messages: []core.Message{said(core.RoleUser, "Find it"), turn, results, said(core.RoleUser, "Go on")}},
	}
}

// models are names that the dialects treat in ways of their own.
var models = map[provider.Dialect][]string{
	provider.Chat:      {"gpt-4o", "o4-mini", "gpt-5.1"},
	provider.Responses: {"gpt-4o", "o4-mini", "gpt-5.1"},
	provider.Messages:  {"claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-opus-4-7"},
	provider.Gemini:    {"gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview"},
}

// emitted returns the body that a request goes out with.
func emitted(t *testing.T, kind string, req core.Request) []byte {
	t.Helper()
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer s.Close()
	e, err := endpoint.New(kind, dialect.Config{BaseURL: s.URL + "/v1", Key: streamtest.Key})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Stream(t.Context(), req, func(core.Delta) {}); err == nil {
		t.Fatal("a teapot answered")
	}
	if len(body) == 0 {
		t.Fatal("nothing was sent")
	}
	return body
}

// TestRequests: the SDK reads every request that we send and writes it again
// unchanged, so that it holds nothing that the vendor does not know.
//
// covers: K1
func TestRequests(t *testing.T) {
	for _, s := range sdks() {
		for _, model := range models[s.dialect] {
			for name, req := range requests() {
				t.Run(fmt.Sprint(s.dialect, "/", model, "/", name), func(t *testing.T) {
					req.Model = model
					body := emitted(t, s.kind, req)
					why, unread := s.unread[model+"/"+name]
					again, err := s.read(body)
					if err != nil && unread {
						t.Logf("unread: %s: %v", why, err)
						return
					}
					if err != nil {
						t.Fatalf("the SDK refuses it: %v\n%s", err, body)
					}
					ours := value(t, body)
					if m, ok := ours.(map[string]any); ok {
						delete(m, "stream") // the SDK adds it by the method that is called
					}
					ours = withoutNulls(ours) // null and none say the same
					if s.plain != nil {
						ours = s.plain(ours)
					}
					d := cmp.Diff(ours, value(t, again))
					switch {
					case unread && d == "":
						t.Errorf("named as unread (%s), and yet the same", why)
					case unread:
						t.Logf("unread: %s", why)
					case d != "":
						t.Errorf("(-ours +theirs):\n%s", d)
					}
				})
			}
		}
	}
}

// TestStreams: every well-formed row gives the same through the SDK and through
// us, but for the rows that are named.
//
// covers: K1 K9
func TestStreams(t *testing.T) {
	for _, s := range sdks() {
		rows, err := streamtest.Load(rowsFile, s.dialect)
		if err != nil {
			t.Fatal(err)
		}
		met := map[string]bool{}
		passed := 0
		for _, r := range rows {
			if r.Expect.Fault != "" || r.Waits() {
				continue // faults are ours to tell; silence has timers of ours
			}
			t.Run(fmt.Sprint(s.dialect, "/", r.ID), func(t *testing.T) {
				cfg, stop, err := r.Serve(1 << 20)
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				via := &http.Client{Transport: &http.Transport{DialContext: cfg.DialContext}}
				defer via.CloseIdleConnections()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				theirs, err := s.stream(ctx, strings.TrimSuffix(cfg.BaseURL, "/v1"), via)
				wrong := compare(r, theirs, err)
				why, parted := s.parted[r.ID]
				met[r.ID] = true
				switch {
				case parted && wrong == nil:
					t.Errorf("named as parted (%s), and yet the same", why)
				case parted:
					t.Logf("parted: %s: %s", why, strings.Join(wrong, "; "))
				case wrong != nil:
					t.Error(strings.Join(wrong, "\n"))
				default:
					passed++
				}
			})
		}
		for id := range s.parted {
			if !met[id] {
				t.Errorf("%s: %s is named as parted and no such row was played", s.dialect, id)
			}
		}
		t.Logf("%s: %d rows the same, %d parted", s.dialect, passed, len(s.parted))
	}
}

// compare says where what the SDK made differs from what the row expects, which
// is what ours gives (streamtest).
func compare(r streamtest.Row, got decoded, err error) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	want := r.Expect
	if err != nil {
		add("error %.200v", err)
		return wrong
	}
	if got.text != string(want.Text) {
		add("text %.100q, want %.100q", got.text, string(want.Text))
	}
	if got.refusal != want.Refusal {
		add("refusal %q, want %q", got.refusal, want.Refusal)
	}
	var calls []call
	for _, c := range want.Calls {
		args := string(c.Expanded())
		if c.Invalid {
			args = c.Raw
		}
		calls = append(calls, call{c.ProviderID, c.Name, canonical(args)})
	}
	for i := range got.calls {
		got.calls[i].arguments = canonical(got.calls[i].arguments)
	}
	if !slices.Equal(calls, got.calls) {
		add("calls %+v, want %+v", got.calls, calls)
	}
	if want.Usage != nil {
		u := *want.Usage
		u.Kind = got.usage.Kind
		if u != got.usage {
			add("usage %+v, want %+v", got.usage, u)
		}
	}
	return wrong
}

// canonical writes JSON in one way, so that only what it says is compared.
func canonical(s string) string {
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	out, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(out)
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// withoutNulls drops the fields of objects that are null.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if inner == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(inner)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// strict decodes JSON into a type that must know every field of it.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
