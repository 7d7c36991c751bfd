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

	"galley/backend/agent/core"
	"galley/backend/fault"
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
