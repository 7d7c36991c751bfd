package provider

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"galley/backend/fault"
)

// plainDecoder takes any event for text.
type plainDecoder struct {
	text    string
	done    bool
	options []string
	seen    func()
}

func (d *plainDecoder) Begin(*Redactor) {}
func (d *plainDecoder) Event(ev Event) error {
	d.text += string(ev.Data)
	if d.seen != nil {
		d.seen()
	}
	return nil
}

func (d *plainDecoder) Whole(data []byte) error {
	if api, ok := ParseError(data, false); ok {
		return api
	}
	return ErrNotAnAnswer
}
func (d *plainDecoder) Started() bool      { return d.text != "" }
func (d *plainDecoder) Finished() bool     { return d.done }
func (d *plainDecoder) Done()              { d.done = true }
func (d *plainDecoder) Optional() []string { return d.options }

// ledger is a send log that keeps all.
type ledger struct {
	mu     sync.Mutex // guards the rest
	refuse error
	begun  []Sending
	ended  []Outcome
	ids    []int64
}

func (l *ledger) Begin(_ context.Context, s Sending) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return 0, l.refuse
	}
	s.Body = append([]byte(nil), s.Body...)
	l.begun = append(l.begun, s)
	return int64(len(l.begun)), nil
}

func (l *ledger) End(id int64, o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.ids = append(l.ended, o), append(l.ids, id)
}

// TestRecorder: each request is told before it leaves and once after it, with
// how it went; none leaves that cannot be recorded.
//
// covers: K9
func TestRecorder(t *testing.T) {
	t.Parallel()
	const answer = "data: hi\n\ndata: [DONE]\n\n"
	var l *ledger
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		if len(l.begun) != 1 || len(l.ended) != 0 {
			t.Errorf("the request came with %d begun, %d ended", len(l.begun), len(l.ended))
		}
		l.mu.Unlock()
		switch r.URL.Path {
		case "/refused":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"no"}`)
		case "/hold":
			_, _ = io.WriteString(w, "data: hi\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/json":
			_, _ = io.WriteString(w, `{"a":1}`)
		default:
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(s.Close)
	open := func(cfg ClientConfig) *Client {
		cfg.BaseURL = s.URL
		l = &ledger{}
		cfg.Recorder = l
		c, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	check := func(name string, err error, want Outcome) {
		t.Helper()
		if len(l.begun) != 1 || len(l.ended) != 1 || l.ids[0] != 1 {
			t.Errorf("%s: %d begun, %d ended", name, len(l.begun), len(l.ended))
			return
		}
		if l.ended[0] != want || fault.CodeOf(err) != want.Code {
			t.Errorf("%s: ended %+v with %v, want %+v", name, l.ended[0], err, want)
		}
	}

	c := open(ClientConfig{})
	err := c.Stream(t.Context(), "chat", s.URL+"/x", []byte(`{"q":1}`), &plainDecoder{})
	check("whole", err, Outcome{Status: 200, Received: int64(len(answer))})
	if b := l.begun[0]; b.Op != "chat" || b.Method != http.MethodPost || b.URL != s.URL+"/x" || string(b.Body) != `{"q":1}` || b.Proxy != "" {
		t.Errorf("begun %+v", b)
	}

	c = open(ClientConfig{})
	err = c.Stream(t.Context(), "chat", s.URL+"/refused", []byte("{}"), &plainDecoder{})
	check("refused", err, Outcome{Status: 400, Code: fault.BadRequest, Received: 14})

	c = open(ClientConfig{})
	err = c.Stream(t.Context(), "chat", s.URL+"/reset", []byte("{}"), &plainDecoder{})
	check("reset", err, Outcome{Code: fault.StreamCut})

	c = open(ClientConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Stream(ctx, "chat", s.URL+"/hold", []byte("{}"), &plainDecoder{seen: cancel})
	check("cancelled", err, Outcome{Status: 200, Code: fault.Cancelled, Received: 10})

	c = open(ClientConfig{})
	_, err = c.Get(t.Context(), "models", s.URL+"/json")
	check("get", err, Outcome{Status: 200, Received: 7})
	if b := l.begun[0]; b.Op != "models" || b.Method != http.MethodGet || b.Body != nil {
		t.Errorf("begun %+v", b)
	}

	c = open(ClientConfig{})
	_, err = c.Post(t.Context(), "describe", s.URL+"/json", []byte(`{"model":"m"}`))
	check("post", err, Outcome{Status: 200, Received: 7})
	if b := l.begun[0]; b.Op != "describe" || string(b.Body) != `{"model":"m"}` {
		t.Errorf("begun %+v", b)
	}

	c = open(ClientConfig{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no way")
	}})
	err = c.Stream(t.Context(), "chat", s.URL, []byte("{}"), &plainDecoder{})
	check("no connection", err, Outcome{Code: fault.ConnectionRefused})

	// What cannot be recorded is not sent.
	c = open(ClientConfig{DialContext: func(context.Context, string, string) (net.Conn, error) {
		t.Error("something was sent")
		return nil, errors.New("no")
	}})
	l.refuse = fault.New(fault.StoreFailed, "record", nil)
	err = c.Stream(t.Context(), "chat", s.URL, []byte("{}"), &plainDecoder{})
	if fault.CodeOf(err) != fault.StoreFailed || len(l.ended) != 0 {
		t.Errorf("unrecorded: %v, %d ended", err, len(l.ended))
	}

	// Nothing leaves without a key, so nothing is recorded.
	c = open(ClientConfig{Key: func(context.Context) (string, error) {
		return "", fault.New(fault.KeyringLocked, "get", nil)
	}})
	err = c.Stream(t.Context(), "chat", s.URL, []byte("{}"), &plainDecoder{})
	if fault.CodeOf(err) != fault.KeyringLocked || len(l.begun) != 0 {
		t.Errorf("without a key: %v, %d begun", err, len(l.begun))
	}
}

// TestRecorder_HoldsNoKey: a key that a person put into the address is not kept.
//
// covers: K4 K9
func TestRecorder_HoldsNoKey(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	c, err := NewClient(ClientConfig{
		BaseURL: "https://api.provider.test/v1", Recorder: l,
		Key:         func(context.Context) (string, error) { return plantedKey, nil },
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x?k="+plantedKey, []byte("{}"), &plainDecoder{})
	if len(l.begun) != 1 || strings.Contains(l.begun[0].URL, "abcdefgh") {
		t.Errorf("recorded %+v", l.begun)
	}
}
