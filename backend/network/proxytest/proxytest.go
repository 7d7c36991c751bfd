// Package proxytest serves what stands between a person and a provider: a real
// proxy that asks for a password, and servers with certificates of an authority
// that no system knows. All of it is on this machine.
//
// It is for tests only; nothing of the program imports it. What it makes ends
// with the test.
package proxytest

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Config says what a proxy asks for.
type Config struct {
	// User and Password are asked for at CONNECT unless User is empty.
	User, Password string
	// Scheme is the way of logging in that it offers; "" means Basic. Any other
	// is never satisfied.
	Scheme string
	// Hang: it takes a CONNECT and never answers.
	Hang bool
	// Leads says where a CONNECT ("provider.example:443") leads; what is not
	// there is answered with 502.
	Leads map[string]string
}

// Proxy is a running proxy.
type Proxy struct {
	// URL is its address; Host is its host with the port.
	URL, Host string
	// Arrived gets the target of each CONNECT; Left gets one when its client
	// went away while it hung.
	Arrived, Left chan string

	cfg Config

	// mu guards what follows.
	mu    sync.Mutex
	seen  []Connect
	other []string
}

// Connect is what a proxy was asked.
type Connect struct {
	Target string
	// User and Password are those of Basic; "" for none.
	User, Password string
	// Header is all that came.
	Header http.Header
}

// New starts a proxy.
func New(t testing.TB, cfg Config) *Proxy {
	t.Helper()
	if cfg.Scheme == "" {
		cfg.Scheme = "Basic"
	}
	p := &Proxy{cfg: cfg, Arrived: make(chan string, 64), Left: make(chan string, 64)}
	s := httptest.NewServer(http.HandlerFunc(p.serve))
	p.URL, p.Host = s.URL, strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return p
}

// Seen returns the CONNECTs so far.
func (p *Proxy) Seen() []Connect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Connect{}, p.seen...)
}

// Other returns what it was asked besides: nothing, since what goes through a
// proxy goes through a tunnel.
func (p *Proxy) Other() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.other...)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.mu.Lock()
		p.other = append(p.other, r.Method+" "+r.URL.String())
		p.mu.Unlock()
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c := Connect{Target: r.Host, Header: r.Header.Clone()}
	if basic, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic "); ok {
		if text, err := base64.StdEncoding.DecodeString(basic); err == nil {
			c.User, c.Password, _ = strings.Cut(string(text), ":")
		}
	}
	p.mu.Lock()
	p.seen = append(p.seen, c)
	p.mu.Unlock()
	p.Arrived <- c.Target
	if p.cfg.Hang {
		<-r.Context().Done()
		p.Left <- c.Target
		return
	}
	if p.cfg.User != "" && (p.cfg.Scheme != "Basic" || c.User != p.cfg.User || c.Password != p.cfg.Password) {
		challenge := p.cfg.Scheme
		if challenge == "Basic" {
			challenge += ` realm="corp"`
		}
		w.Header().Set("Proxy-Authenticate", challenge)
		w.WriteHeader(http.StatusProxyAuthRequired)
		_, _ = io.WriteString(w, "<html>log in</html>")
		return
	}
	to, err := net.Dial("tcp", p.cfg.Leads[c.Target])
	if p.cfg.Leads[c.Target] == "" || err != nil {
		if err == nil {
			_ = to.Close()
		}
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	Tunnel(w, to)
}

// Tunnel answers a CONNECT and passes bytes both ways until both ends are done.
// It closes to.
func Tunnel(w http.ResponseWriter, to net.Conn) {
	defer func() { _ = to.Close() }()
	w.WriteHeader(http.StatusOK)
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = from.Close() }()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(to, buffered)
		_ = to.Close()
	})
	_, _ = io.Copy(from, to)
	_ = from.Close()
	wg.Wait()
}
