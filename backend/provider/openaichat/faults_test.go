package openaichat

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const plantedKey = "sk-TEST/KEY-1-abcdefghij0123456789"

func planted(context.Context) (string, error) { return plantedKey, nil }

// ask sends a small request and returns the fault, in which the key must not be.
func ask(t *testing.T, cfg Config) *fault.Error {
	t.Helper()
	return streamtest.Planted(plantedKey, hello(), New)(t, cfg)
}

func hello() core.Request {
	return core.Request{Model: "fern-2", Messages: []core.Message{userSays("hello")}}
}

func userSays(s string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: s}}}
}

// TestFaults_ToldApart: what comes back from a server, each its own code.
//
// CASES: C17
// covers: K6
func TestFaults_ToldApart(t *testing.T) {
	t.Parallel()
	streamtest.ToldApart(t, ask, []streamtest.Answered{
		{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + plantedKey + `"}}`, Want: fault.BadKey},
		{Status: 403, Body: `{"error":{"message":"not for you"}}`, Want: fault.NoPermission},
		{Status: 404, Body: `{"error":{"message":"The model fern-2 does not exist","code":"model_not_found"}}`, Want: fault.ModelNotFound},
		{Status: 429, Header: map[string]string{"Retry-After": "30"}, Body: `{"error":{"message":"slow down"}}`, Want: fault.RateLimited, After: 30 * time.Second},
		{Status: 429, Body: `{"error":{"code":"insufficient_quota"}}`, Want: fault.Quota},
		{Status: 400, Body: `{"error":{"code":"context_length_exceeded"}}`, Want: fault.ContextTooLong},
		{Status: 400, Body: `{"error":{"message":"bad"}}`, Want: fault.BadRequest},
		{Status: 500, Want: fault.ProviderError},
		{Status: 529, Want: fault.Overloaded},
		{Status: 200, Body: `<html>`, Want: fault.NotAnAPI},
	})
}

// TestFaults_Echo: a provider that says the key back, in each way, is quoted
// without it, and an answer that holds it is stored without it.
func TestFaults_Echo(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal("you sent " + plantedKey)
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Echo(t, plantedKey, ask, map[string]string{
		"json":    `{"error":{"message":` + string(quoted) + `,"type":"` + plantedKey + `","code":"` + plantedKey + `","param":"` + plantedKey + `"}}`,
		"slashes": `{"error":"` + strings.ReplaceAll(plantedKey, "/", `\/`) + `"}`,
		"escapes": `{"error":"you sent sk\u002dTEST\u002fKEY\u002d1\u002dabcdefghij0123456789"}`,
		"base64":  `{"error":"` + base64.StdEncoding.EncodeToString([]byte("Bearer "+plantedKey)) + `"}`,
		"text":    "no such key: " + plantedKey,
		"split":   "no such key: " + plantedKey[:20] + "\n" + plantedKey[20:],
		"stream":  "data: {\"error\":{\"message\":\"" + plantedKey + "\"}}\n\n",
	})

	t.Run("answer", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, piece := range []string{plantedKey[:9], plantedKey[9:] + " is it"} {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q,\"reasoning_content\":%q}}]}\n\n", piece, piece)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":%q}}]},\"finish_reason\":\"stop\"}]}\n\n", `{"k":"`+plantedKey+`"}`)
		}))
		t.Cleanup(s.Close)
		m, err := New(Config{BaseURL: s.URL, Key: planted, Timers: provider.Timers{Grace: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		var deltas strings.Builder
		a, err := m.Stream(t.Context(), hello(), func(d core.Delta) { deltas.WriteString(d.Text + d.Reasoning) })
		if err != nil || a.Text != "[redacted] is it" || len(a.Calls) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		for _, s := range []string{deltas.String(), a.Reasoning, string(a.Calls[0].Arguments), string(a.Envelopes[0].Raw)} {
			if strings.Contains(s, "abcdefghij") {
				t.Errorf("the key is in %q", s)
			}
		}
	})
}

// TestFaults_Redirect: no redirect is followed, and so no key goes along.
//
// covers: K7
func TestFaults_Redirect(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions", status)
		}))
		f := ask(t, Config{BaseURL: s.URL})
		if f == nil || f.Code != fault.NotAnAPI || !strings.Contains(f.Detail, strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d gives %v", status, f)
		}
		m, err := New(Config{BaseURL: s.URL, Key: planted})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Models(t.Context()); fault.CodeOf(err) != fault.NotAnAPI {
			t.Errorf("%d gives %v for the list of models", status, err)
		}
		s.Close()
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d requests went to the other host", n)
	}
}

// TestFaults_Network tells apart why there is no answer at all.
//
// CASES: C17
// covers: K6 K7
func TestFaults_Network(t *testing.T) {
	t.Parallel()
	online := func() bool { return true }
	dialError := func(err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := gone.Addr().String()
	gone.Close()

	t.Run("dns", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "https://api.exmaple.test/v1", Resolver: noSuchName(t), Online: online})
		if f == nil || f.Code != fault.DNS || f.Detail != "api.exmaple.test" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("dns without any network", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "https://api.exmaple.test/v1", Resolver: noSuchName(t), Online: func() bool { return false }})
		if f == nil || f.Code != fault.Offline {
			t.Errorf("got %v", f)
		}
	})
	t.Run("offline", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "https://api.provider.test", DialContext: dialError(syscall.ENETUNREACH)})
		if f == nil || f.Code != fault.Offline {
			t.Errorf("got %v", f)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "http://" + refused})
		if f == nil || f.Code != fault.ConnectionRefused || f.Detail != refused {
			t.Errorf("got %v", f)
		}
	})
	t.Run("unknown authority", func(t *testing.T) {
		t.Parallel()
		addr, _ := ownAuthority(t, http.NotFoundHandler())
		f := ask(t, Config{BaseURL: "https://" + addr + "/v1"})
		if f == nil || f.Code != fault.TLS || !strings.Contains(f.Detail, "issued by ACME Proxy CA") {
			t.Errorf("got %v", f)
		}
	})
	t.Run("https to a server without", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(s.Close)
		f := ask(t, Config{BaseURL: strings.Replace(s.URL, "http:", "https:", 1)})
		if f == nil || f.Code != fault.NotAnAPI {
			t.Errorf("got %v", f)
		}
	})
	t.Run("not http", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "http://" + speak(t, "SSH-2.0-Example\r\n\r\n")})
		if f == nil || f.Code != fault.ProtocolError {
			t.Errorf("got %v", f)
		}
	})
	t.Run("proxy gone", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "https://api.provider.test", ProxyURL: "http://" + refused})
		if f == nil || f.Code != fault.Proxy || f.Detail != refused {
			t.Errorf("got %v", f)
		}
	})
	t.Run("proxy wants a login", func(t *testing.T) {
		t.Parallel()
		p := speak(t, "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n")
		f := ask(t, Config{BaseURL: "https://api.provider.test", ProxyURL: "http://" + p})
		if f == nil || f.Code != fault.ProxyAuth || !strings.Contains(f.Detail, "NTLM") {
			t.Errorf("got %v", f)
		}
	})
	t.Run("proxy refuses", func(t *testing.T) {
		t.Parallel()
		p := speak(t, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		f := ask(t, Config{BaseURL: "https://api.provider.test", ProxyURL: "http://" + p})
		if f == nil || f.Code != fault.Proxy {
			t.Errorf("got %v", f)
		}
	})
	t.Run("bad proxy address", func(t *testing.T) {
		t.Parallel()
		f := ask(t, Config{BaseURL: "https://api.provider.test", ProxyURL: "http://u:proxypassword@%zz"})
		if f == nil || f.Code != fault.InvalidInput || strings.Contains(f.Error(), "proxypassword") {
			t.Errorf("got %v", f)
		}
	})
}

// TestProxy_NotForLoopback: plain http stays on this machine, whatever proxy is
// configured, and the environment is not asked.
//
// covers: K7
func TestProxy_NotForLoopback(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	if f := ask(t, Config{BaseURL: s.URL, ProxyURL: "http://127.0.0.1:1"}); f != nil {
		t.Errorf("got %v", f)
	}
}

// TestHTTPS_Required: no key is fetched, let alone sent, for plain http.
//
// covers: K7
func TestHTTPS_Required(t *testing.T) {
	t.Parallel()
	_, err := New(Config{BaseURL: "http://api.provider.test/v1", Key: func(context.Context) (string, error) {
		t.Error("the key was asked for")
		return plantedKey, nil
	}})
	if fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("got %v", err)
	}
}

// TestKey holds what is said of keys before anything is sent.
//
// covers: K6
func TestKey(t *testing.T) {
	t.Parallel()
	dial := func(context.Context, string, string) (net.Conn, error) {
		t.Error("something was sent")
		return nil, errors.New("no")
	}
	key := func(s string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return s, err }
	}
	tests := []struct {
		name   string
		key    func(context.Context) (string, error)
		want   fault.Code
		detail string
	}{
		{"empty", key(" ", nil), fault.NoKey, "api.provider.test"},
		{"no-break space", key("sk-a\u00a0b", nil), fault.KeyMalformed, "U+00A0"},
		{"line break", key("sk-a\nb", nil), fault.KeyMalformed, "U+000A"},
		{"keyring", key("", fault.New(fault.KeyringLocked, "get", nil)), fault.KeyringLocked, ""},
	}
	for _, tt := range tests {
		f := ask(t, Config{BaseURL: "https://api.provider.test", DialContext: dial, Key: tt.key})
		if f == nil || f.Code != tt.want || f.Detail != tt.detail {
			t.Errorf("%s: got %v, want %s (%s)", tt.name, f, tt.want, tt.detail)
		}
	}
	m, err := New(Config{BaseURL: "https://api.provider.test", DialContext: dial})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stream(t.Context(), hello(), nil); fault.CodeOf(err) != fault.NoKey {
		t.Errorf("without a key: %v", err)
	}
	// A server on this machine may need none.
	asked := false
	f := ask(t, Config{BaseURL: "http://127.0.0.1:9/v1", Key: key("", nil), DialContext: func(context.Context, string, string) (net.Conn, error) {
		asked = true
		return nil, errors.New("no")
	}})
	if !asked || f == nil || f.Code == fault.NoKey {
		t.Errorf("on loopback without a key: %v", f)
	}
}

// TestTimers: each limit has its own code, with the lengths that people have.
//
// covers: K6
func TestTimers(t *testing.T) {
	never := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	mute := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}
	tests := []struct {
		name   string
		dial   func(context.Context, string, string) (net.Conn, error)
		timers provider.Timers
		want   time.Duration
	}{
		{"connect", never, provider.Timers{}, 15 * time.Second},
		{"first token", mute, provider.Timers{}, 300 * time.Second},
		{"budget", mute, provider.TimersOf(core.Budget{FirstTokenMs: 1500}), 1500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				f := ask(t, Config{BaseURL: "http://localhost", DialContext: tt.dial, Timers: tt.timers})
				if f == nil || f.Code != fault.Timeout || time.Since(start) != tt.want {
					t.Errorf("%v after %v, want timeout after %v", f, time.Since(start), tt.want)
				}
			})
		})
	}
	t.Run("cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			m, err := New(Config{BaseURL: "http://localhost", Key: planted, DialContext: mute})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(ctx, hello(), func(core.Delta) {})
			if fault.CodeOf(err) != fault.Cancelled {
				t.Errorf("got %v", err)
			}
		})
	})
}

// speak listens on loopback and answers whatever comes with words.
func speak(t *testing.T, words string) string {
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
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				_, _ = io.WriteString(conn, words)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// noSuchName returns a resolver whose server knows no name.
func noSuchName(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if n < 12 {
				continue
			}
			buf[2] |= 0x80 // an answer
			buf[3] = 0x83  // recursion available, no such name
			_, _ = pc.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// ownAuthority serves TLS with a certificate of an authority that nobody knows,
// and returns the address and the authority's own certificate.
func ownAuthority(t *testing.T, h http.Handler) (string, []byte) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ACME Proxy CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), caDER
}
