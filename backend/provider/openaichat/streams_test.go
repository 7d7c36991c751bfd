package openaichat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// row is one line of streams.json.
type row struct {
	ID      string `json:"id"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	HTTP    struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
	} `json:"http"`
	Chunks  []chunk `json:"chunks"`
	Request struct {
		PromptTokensEstimate int `json:"promptTokensEstimate"`
	} `json:"request"`
	Expect struct {
		Text       repeated        `json:"text"`
		Reasoning  repeated        `json:"reasoning"`
		Refusal    string          `json:"refusal"`
		Finish     core.Finish     `json:"finish"`
		Fault      fault.Code      `json:"fault"`
		Partial    repeated        `json:"partialText"`
		Calls      []expectedCall  `json:"toolCalls"`
		Usage      *core.Usage     `json:"usage"`
		Keep       []string        `json:"keep"`
		Provider   map[string]any  `json:"provider"`
		RetryMs    *int64          `json:"retryAfterMs"`
		Clipped    bool            `json:"clipped"`
		MustNotRun bool            `json:"mustNotRun"`
		Opaque     json.RawMessage `json:"opaque"`
	} `json:"expect"`
}

type expectedCall struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	ProviderID string          `json:"providerId"`
	Raw        string          `json:"raw"`
	Invalid    bool            `json:"invalid"`
}

// chunk is a piece of the body or something that happens to the connection.
type chunk struct {
	data  []byte
	wait  bool
	close string
	hold  bool
}

func (c *chunk) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		c.data = []byte(s)
		return nil
	}
	var o struct {
		B64    string            `json:"b64"`
		Repeat []json.RawMessage `json:"repeat"`
		Wait   string            `json:"wait"`
		Close  string            `json:"close"`
		Hold   bool              `json:"hold"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	c.wait, c.close, c.hold = o.Wait != "", o.Close, o.Hold
	var err error
	switch {
	case o.B64 != "":
		c.data, err = base64.StdEncoding.DecodeString(o.B64)
	case o.Repeat != nil:
		var text repeated
		err = text.from(o.Repeat)
		c.data = []byte(text)
	}
	return err
}

// repeated is a string, plain or as {"$repeat": [text, count]}.
type repeated string

func (r *repeated) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(r)) == nil {
		return nil
	}
	if b[0] == '[' {
		return nil
	}
	var o struct {
		Repeat []json.RawMessage `json:"$repeat"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	return r.from(o.Repeat)
}

func (r *repeated) from(pair []json.RawMessage) error {
	if len(pair) != 2 {
		return fmt.Errorf("repeat of %d items", len(pair))
	}
	var text string
	var n int
	if err := errors.Join(json.Unmarshal(pair[0], &text), json.Unmarshal(pair[1], &n)); err != nil {
		return err
	}
	*r = repeated(strings.Repeat(text, n))
	return nil
}

// loadRows returns the rows of this dialect.
func loadRows(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile("../../agent/core/testdata/patch/streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, own []row
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Dialect == dialect {
			own = append(own, r)
		}
	}
	if len(own) != 147 {
		t.Fatalf("%d rows of %s, want 147", len(own), dialect)
	}
	return own
}

func (r row) waits() bool {
	for _, c := range r.Chunks {
		if c.wait || c.hold {
			return true
		}
	}
	return false
}

// joined returns the row with its body in one piece.
func (r row) joined() row {
	var body []byte
	var rest []chunk
	for _, c := range r.Chunks {
		body = append(body, c.data...)
		if c.data == nil {
			rest = append(rest, c)
		}
	}
	r.Chunks = append([]chunk{{data: body}}, rest...)
	return r
}

// play serves one request on conn as the row says. idle returns when the
// silence was long enough or the client has gone. read counts what the client
// has read, since a reset throws away what has not arrived.
func (r row) play(conn net.Conn, read *meter, idle func(gone <-chan struct{})) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = in.ReadByte() // until the client closes
	}()

	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", r.HTTP.Status, http.StatusText(r.HTTP.Status))
	sized := false
	for k, v := range r.HTTP.Headers {
		fmt.Fprintf(&head, "%s: %s\r\n", k, v)
		sized = sized || strings.EqualFold(k, "content-length")
	}
	if !sized {
		head.WriteString("Transfer-Encoding: chunked\r\n")
	}
	head.WriteString("Connection: close\r\n\r\n")
	sent := 0
	write := func(b []byte) bool {
		n, err := conn.Write(b)
		sent += n
		return err == nil
	}
	if !write(head.Bytes()) {
		return
	}
	for _, c := range r.Chunks {
		switch {
		case c.wait:
			idle(gone)
		case c.hold:
			<-gone
			return
		case c.close == "reset":
			read.wait(sent)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			return
		case len(c.data) > 0:
			if !write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(c.data), c.data)) {
				return
			}
		}
	}
	if !sized {
		write([]byte("0\r\n\r\n"))
	}
}

// meter counts bytes and lets others wait for a count.
type meter struct {
	mu    sync.Mutex // guards n
	n     int
	moved sync.Cond
}

func newMeter() *meter {
	m := &meter{}
	m.moved.L = &m.mu
	return m
}

func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n += n
	m.moved.Broadcast()
}

func (m *meter) wait(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.n < n {
		m.moved.Wait()
	}
}

// meteredConn counts what is read, at most limit bytes at a time.
type meteredConn struct {
	net.Conn
	read  *meter
	limit int
}

func (c meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(c.limit, len(p))])
	c.read.add(n)
	return n, err
}

// onLoopback returns a configuration whose requests go to a server that plays
// the row on a real socket; the client reads at most limit bytes at a time.
func (r row) onLoopback(t *testing.T, limit int) Config {
	t.Helper()
	read := newMeter()
	return Config{
		BaseURL: r.serve(t, read),
		Timers:  short(r),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return meteredConn{c, read, limit}, nil
		},
	}
}

// serve listens on loopback and plays the row to whoever comes.
func (r row) serve(t *testing.T, read *meter) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.play(conn, read, silent)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String() + "/v1"
}

// testKey goes with each request, as it would in life.
func testKey(context.Context) (string, error) { return "sk-TESTKEY-stream-0123456789", nil }

func (r row) run(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Profile, cfg.Key = r.Profile, testKey
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var text, reasoning strings.Builder
	answer, err := m.Stream(t.Context(), core.Request{
		Model:                "fern-2",
		Messages:             []core.Message{{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "hello"}}}},
		PromptTokensEstimate: r.Request.PromptTokensEstimate,
	}, func(d core.Delta) {
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
	})
	r.check(t, answer, err)
	// The deltas say what the answer says, but for thinking whose opening tag
	// never came.
	if !strings.Contains(text.String(), "</think") && text.String() != answer.Text {
		t.Errorf("the deltas give %.200q, the answer %.200q", text.String(), answer.Text)
	}
	if strings.Contains(text.String(), "</think") && !strings.HasSuffix(text.String(), answer.Text) {
		t.Errorf("the deltas give %.200q, the answer %.200q", text.String(), answer.Text)
	}
}

// check compares an answer with what the row expects.
func (r row) check(t *testing.T, got core.Answer, err error) {
	t.Helper()
	want := r.Expect
	if want.Fault != "" {
		r.checkFault(t, got, err)
		return
	}
	if err != nil {
		t.Fatalf("fault %v, want finish %s", err, want.Finish)
	}
	if got.Text != string(want.Text) {
		t.Errorf("text %.200q, want %.200q", got.Text, want.Text)
	}
	if got.Finish != want.Finish {
		t.Errorf("finish %s, want %s", got.Finish, want.Finish)
	}
	if bare(got.Reasoning) != bare(string(want.Reasoning)) {
		t.Errorf("reasoning %q, want %q", got.Reasoning, want.Reasoning)
	}
	if got.Refusal != want.Refusal {
		t.Errorf("refusal %q, want %q", got.Refusal, want.Refusal)
	}
	if got.Clipped != want.Clipped {
		t.Errorf("clipped %v, want %v", got.Clipped, want.Clipped)
	}
	wantUsage := core.Usage{Kind: core.UsageUnknown}
	if want.Usage != nil {
		wantUsage = *want.Usage
		wantUsage.Kind = core.UsageExact
	}
	if d := cmp.Diff(wantUsage, got.Usage); d != "" {
		t.Errorf("usage (-want +got):\n%s", d)
	}
	r.checkCalls(t, got)
	for _, s := range want.Keep {
		found := false
		for _, e := range got.Envelopes {
			found = found || bytes.Contains(e.Raw, []byte(s))
		}
		if !found {
			t.Errorf("%q is not kept", s)
		}
	}
}

func (r row) checkCalls(t *testing.T, got core.Answer) {
	t.Helper()
	want := r.Expect.Calls
	if len(got.Calls) != len(want) {
		t.Fatalf("%d calls, want %d: %+v", len(got.Calls), len(want), got.Calls)
	}
	seen := make(map[string]bool)
	for i, g := range got.Calls {
		w := want[i]
		if g.ID == "" || seen[g.ID] {
			t.Errorf("call %d: own id %q is empty or used twice", i, g.ID)
		}
		seen[g.ID] = true
		if g.Name != w.Name || g.ProviderID != w.ProviderID || g.Invalid != w.Invalid || g.Raw != w.Raw {
			t.Errorf("call %d is %+v, want %+v", i, g, w)
		}
		if w.Invalid {
			if g.Arguments != nil {
				t.Errorf("call %d has arguments though they are no JSON", i)
			}
			continue
		}
		// A raw text is not readable in a failure; the values are.
		var gv, wv any
		if err := errors.Join(json.Unmarshal(g.Arguments, &gv), json.Unmarshal(expand(w.Arguments), &wv)); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
		if d := cmp.Diff(wv, gv); d != "" {
			t.Errorf("call %d arguments (-want +got):\n%s", i, d)
		}
	}
}

// expand writes out the repeated strings within a value.
func expand(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return raw
	}
	if o["$repeat"] != nil {
		var r repeated
		if json.Unmarshal(raw, &r) == nil {
			out, _ := json.Marshal(string(r))
			return out
		}
	}
	for k, v := range o {
		o[k] = expand(v)
	}
	out, _ := json.Marshal(o)
	return out
}

func (r row) checkFault(t *testing.T, got core.Answer, err error) {
	t.Helper()
	want := r.Expect
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatalf("no fault (%v, %+v), want %s", err, got, want.Fault)
	}
	if f.Code != want.Fault {
		t.Fatalf("fault %v, want %s", f, want.Fault)
	}
	if got.Text != string(want.Partial) {
		t.Errorf("partial text %.200q, want %.200q", got.Text, want.Partial)
	}
	if len(got.Calls) > 0 {
		t.Errorf("a failed answer offers calls: %+v", got.Calls)
	}
	for field, v := range want.Provider {
		if !strings.Contains(f.Detail, fmt.Sprint(v)) {
			t.Errorf("the detail %q lacks the %s %q", f.Detail, field, v)
		}
	}
	if f.Code == fault.RateLimited || f.Code == fault.Overloaded {
		var wantMs int64
		if want.RetryMs != nil {
			wantMs = *want.RetryMs
		}
		if f.RetryAfter.Milliseconds() != wantMs {
			t.Errorf("retry after %v, want %d ms", f.RetryAfter, wantMs)
		}
	}
	if strings.Contains(err.Error(), "TESTKEY") {
		t.Errorf("the key is in the error: %v", err)
	}
}

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// short is the timers of the rows that wait, on a real socket. The two others
// keep their length, so that a busy machine changes no outcome.
func short(r row) provider.Timers {
	var t provider.Timers
	if r.waits() {
		t.FirstToken, t.Silence, t.Grace = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
	}
	return t
}

// silent is how a server keeps silent on a real socket: longer than the timers
// of short, or until the client has gone.
func silent(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-time.After(time.Second):
	}
}

// TestStreams_Loopback plays every row over a real socket, cut as it says.
//
// covers: K1 K2 K6
// CASES: C1 C3 C4 C5 C6 C7 C8
func TestStreams_Loopback(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.run(t, r.onLoopback(t, 1<<20))
		})
	}
}

// TestStreams_OnePiece plays the rows that do not wait with their whole body in
// one piece.
//
// CASES: C3 C4
func TestStreams_OnePiece(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		if !r.waits() {
			t.Run(r.ID, func(t *testing.T) {
				t.Parallel()
				r := r.joined()
				r.run(t, r.onLoopback(t, 1<<20))
			})
		}
	}
}

// TestStreams_ByteByByte reads the same one byte at a time, and writes it so
// where that is not too much. The two rows of many MiB are cut so by the tests
// of the event reader.
//
// CASES: C3
func TestStreams_ByteByByte(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		r := r.joined()
		body, rest := r.Chunks[0].data, r.Chunks[1:]
		if r.waits() || len(body) > 1<<20 {
			continue
		}
		if len(body) < 64<<10 {
			r.Chunks = nil
			for i := range body {
				r.Chunks = append(r.Chunks, chunk{data: body[i : i+1]})
			}
			r.Chunks = append(r.Chunks, rest...)
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.run(t, r.onLoopback(t, 1))
		})
	}
}

// TestStreams_RealTimers plays the rows that wait with the timers that people
// have, on a clock that runs only when everybody waits.
//
// covers: K6
// CASES: C7
func TestStreams_RealTimers(t *testing.T) {
	for _, r := range loadRows(t) {
		if r.waits() {
			t.Run(r.ID, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dial := func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						read := newMeter()
						go r.play(server, read, func(gone <-chan struct{}) {
							select {
							case <-gone:
							case <-time.After(10 * time.Minute):
							}
						})
						return meteredConn{client, read, 1 << 20}, nil
					}
					r.run(t, Config{BaseURL: "http://localhost/v1", DialContext: dial})
				})
			})
		}
	}
}
