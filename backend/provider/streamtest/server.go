package streamtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// play serves one request on conn as the row says. read counts what the client
// has read, since a reset throws away what has not arrived.
func (r Row) play(conn net.Conn, read *meter, silence Silence) {
	defer func() { _ = conn.Close() }()
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
			silence(gone)
		case c.hold:
			<-gone
			return
		case c.close == "reset":
			read.wait(sent)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			return
		case len(c.Data) > 0:
			if !write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(c.Data), c.Data)) {
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

// Silence is how a server keeps silent: it returns when that was long enough, or
// the client has gone.
type Silence func(gone <-chan struct{})

// Brief is the silence of rows on a real socket: longer than the timers of
// [Timers].
func Brief(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-time.After(time.Second):
	}
}

// Timers is those of the rows that wait, on a real socket. The others keep their
// length, so that a busy machine changes no outcome.
func (r Row) Timers() provider.Timers {
	var t provider.Timers
	if r.Waits() {
		t.FirstToken, t.Silence, t.Grace = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
	}
	return t
}

// Serve listens on loopback and plays the row to whoever comes until stop is
// called. The configuration leads there; its client reads at most limit bytes
// at a time.
func (r Row) Serve(limit int) (cfg dialect.Config, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return dialect.Config{}, nil, err
	}
	read := newMeter()
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.play(conn, read, Brief)
		}
	})
	cfg = dialect.Config{
		BaseURL: "http://" + l.Addr().String() + "/v1",
		Profile: r.Profile,
		Key:     Key,
		Timers:  r.Timers(),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return meteredConn{c, read, limit}, nil
		},
	}
	return cfg, func() { _ = l.Close(); served.Wait() }, nil
}

// Pipe returns a configuration whose connections are pipes to a server that
// plays the row, for a clock that runs only when everybody waits.
func (r Row) Pipe(silence Silence) dialect.Config {
	return dialect.Config{
		BaseURL: "http://localhost/v1",
		Profile: r.Profile,
		Key:     Key,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			read := newMeter()
			go r.play(server, read, silence)
			return meteredConn{client, read, 1 << 20}, nil
		},
	}
}

// Key goes with each request, as it would in life.
func Key(context.Context) (string, error) { return "sk-TESTKEY-stream-0123456789", nil }
