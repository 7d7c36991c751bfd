package provider

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
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/backend/fault"
)

const proxyPassword = "pass/WORD+of-the-proxy"

func secretly(password string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return password, nil }
}

// authority is a private one.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ACME Proxy CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate for a name that is good until then.
func (a authority) issue(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secureServer answers each request with an event, under a certificate. It
// counts the bodies that reach it.
func secureServer(t *testing.T, cert tls.Certificate) (addr string, bodies *atomic.Int32) {
	t.Helper()
	bodies = &atomic.Int32{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "{}" {
			bodies.Add(1)
		}
		_, _ = io.WriteString(w, "data: hi\n\ndata: [DONE]\n\n")
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), bodies
}

// dialTo dials addr, whatever is asked for, and counts.
func dialTo(addr string, n *atomic.Int32) dialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		n.Add(1)
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}

// TestExtraCA: certificates besides those of the system are tried when the
// system does not know the authority. They excuse nothing else, and the way that
// went is kept.
//
// covers: K7
func TestExtraCA(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t), newAuthority(t)
	good := time.Now().Add(time.Hour)
	tests := []struct {
		name  string
		cert  tls.Certificate
		extra []byte
		want  fault.Code
		dials int32
	}{
		{"none", own.issue(t, "api.provider.test", good), nil, fault.TLS, 1},
		{"its own", own.issue(t, "api.provider.test", good), own.pem, "", 2},
		{"among others", own.issue(t, "api.provider.test", good), append(append([]byte("words\n"), other.pem...), own.pem...), "", 2},
		{"another", own.issue(t, "api.provider.test", good), other.pem, fault.TLS, 2},
		{"expired", own.issue(t, "api.provider.test", time.Now().Add(-time.Minute)), own.pem, fault.TLS, 1},
		{"another name", own.issue(t, "www.provider.test", good), own.pem, fault.TLS, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr, bodies := secureServer(t, tt.cert)
			var dials atomic.Int32
			c, err := NewClient(ClientConfig{
				BaseURL: "https://api.provider.test/v1", KeyOptional: true, ExtraCA: tt.extra, DialContext: dialTo(addr, &dials),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdle()
			err = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
			if fault.CodeOf(err) != tt.want {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if dials.Load() != tt.dials {
				t.Errorf("%d connections, want %d", dials.Load(), tt.dials)
			}
			if tt.want != "" {
				if bodies.Load() != 0 {
					t.Error("a body was sent to somebody who is not trusted")
				}
				if !strings.Contains(fault.From(err).Detail, "issued by ACME Proxy CA") {
					t.Errorf("detail %q", fault.From(err).Detail)
				}
				return
			}
			// Known by now: no more handshakes that fail.
			c.CloseIdle()
			before := dials.Load()
			if err := c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{}); err != nil {
				t.Fatal(err)
			}
			if n := dials.Load() - before; n != 1 {
				t.Errorf("%d connections for the second request, want 1", n)
			}
			if bodies.Load() != 2 {
				t.Errorf("%d bodies came, want 2", bodies.Load())
			}
		})
	}
	if _, err := NewClient(ClientConfig{BaseURL: "https://api.provider.test", ExtraCA: []byte("no certificate")}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("what holds no certificate: %v", err)
	}
}

// TestExtraCA_NotAnyMore: when the certificate is another's again, the way of
// the system is gone back to.
//
// covers: K7
func TestExtraCA_NotAnyMore(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t), newAuthority(t)
	good := time.Now().Add(time.Hour)
	first, _ := secureServer(t, own.issue(t, "api.provider.test", good))
	second, _ := secureServer(t, other.issue(t, "api.provider.test", good))
	var n atomic.Int32
	at := first
	c, err := NewClient(ClientConfig{
		BaseURL: "https://api.provider.test/v1", KeyOptional: true, ExtraCA: own.pem,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialTo(at, &n)(ctx, network, addr)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		defer c.CloseIdle()
		return c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	at = second
	if err := ask(); fault.CodeOf(err) != fault.TLS || n.Load() != 4 {
		t.Errorf("%v after %d connections, want both ways tried", err, n.Load())
	}
	// A stand-in for a system that knows the other.
	c.system.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	c.system.TLSClientConfig.RootCAs.AddCert(other.cert)
	if err := ask(); err != nil || c.byExtra.Load() {
		t.Errorf("%v, by the extra ones: %v", err, c.byExtra.Load())
	}
}

// TestExtraCA_OnlyForCertificates: nothing else that fails is tried again.
//
// covers: K7
func TestExtraCA_OnlyForCertificates(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	c, err := NewClient(ClientConfig{
		BaseURL: "https://api.provider.test/v1", KeyOptional: true, ExtraCA: newAuthority(t).pem,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, io.ErrUnexpectedEOF
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
	if fault.CodeOf(err) != fault.StreamCut || dials.Load() != 1 {
		t.Errorf("%v after %d connections", err, dials.Load())
	}
}

// TestExtraCA_ProxyAlone: the proxy may need the extra certificates, and the
// provider those of the system.
//
// covers: K7
func TestExtraCA_ProxyAlone(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t), newAuthority(t)
	good := time.Now().Add(time.Hour)
	addr, bodies := secureServer(t, other.issue(t, "api.provider.test", good))
	cert := own.issue(t, "proxy.test", good)
	at, _ := httpProxy(t, addr, "", &cert)
	var dials atomic.Int32
	c, err := NewClient(ClientConfig{
		BaseURL: "https://api.provider.test/v1", ProxyURL: "https://proxy.test", ExtraCA: own.pem, KeyOptional: true,
		DialContext: dialTo(at, &dials),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	// A stand-in for a system that knows the provider.
	c.system.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	c.system.TLSClientConfig.RootCAs.AddCert(other.cert)
	err = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
	if err != nil || bodies.Load() != 1 {
		t.Errorf("%v, %d bodies", err, bodies.Load())
	}
}

// httpProxy is one that wants a login, with TLS when it has a certificate. It
// leads every CONNECT to addr.
func httpProxy(t *testing.T, addr, wants string, cert *tls.Certificate, challenges ...string) (at string, heard func() []string) {
	t.Helper()
	var mu sync.Mutex
	var logins []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("the proxy was sent %s %s", r.Method, r.URL)
			return
		}
		login := r.Header.Get("Proxy-Authorization")
		mu.Lock()
		logins = append(logins, login)
		mu.Unlock()
		if login != wants {
			for _, c := range challenges {
				w.Header().Add("Proxy-Authenticate", c)
			}
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		far, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		w.WriteHeader(http.StatusOK)
		near, rest, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		pipe(near, rest.Reader, far)
	}))
	s.Config.ErrorLog = quiet()
	if cert != nil {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), logins...)
	}
}

// pipe carries bytes both ways until one side ends.
func pipe(near net.Conn, in io.Reader, far net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(far, in); _ = far.Close() })
	_, _ = io.Copy(near, far)
	_ = near.Close()
	both.Wait()
}

// TestProxy_Login: the name goes with the password to the proxy, at CONNECT and
// nowhere else, and neither is in what comes of a failure.
//
// covers: K4 K7
func TestProxy_Login(t *testing.T) {
	t.Parallel()
	own := newAuthority(t)
	good := time.Now().Add(time.Hour)
	addr, bodies := secureServer(t, own.issue(t, "api.provider.test", good))
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+proxyPassword))
	proxyCert := own.issue(t, "proxy.test", good)
	tests := []struct {
		name, scheme string
		password     func(context.Context) (string, error)
		challenges   []string
		want         fault.Code
		detail       string
	}{
		{"right", "http", secretly(proxyPassword), nil, "", ""},
		{"right, by TLS", "https", secretly(proxyPassword), nil, "", ""},
		{"wrong", "http", secretly("wrong-password-1"), []string{"NTLM", `Basic realm="x"`}, fault.ProxyAuth, "asks for Basic"},
		{"wrong, by TLS", "https", secretly("wrong-password-1"), []string{`Basic realm="a, b"`}, fault.ProxyAuth, "asks for Basic"},
		{"ntlm alone", "http", secretly("wrong-password-1"), []string{"Negotiate", "NTLM"}, fault.ProxyAuth, "asks for Negotiate"},
		{"no password", "http", nil, []string{"Basic"}, fault.ProxyAuth, "asks for Basic"},
		{"locked", "http", func(context.Context) (string, error) {
			return "", fault.New(fault.KeyringLocked, "get", nil)
		}, nil, fault.KeyringLocked, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var cert *tls.Certificate
			if tt.scheme == "https" {
				cert = &proxyCert
			}
			at, heard := httpProxy(t, addr, basic, cert, tt.challenges...)
			var dials atomic.Int32
			l := &ledger{}
			c, err := NewClient(ClientConfig{
				BaseURL: "https://api.provider.test/v1", ProxyURL: tt.scheme + "://proxy.test:8080", ProxyUser: "ann",
				ProxyPassword: tt.password, ExtraCA: own.pem, KeyOptional: true, DialContext: dialTo(at, &dials), Recorder: l,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdle()
			err = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
			if fault.CodeOf(err) != tt.want {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if err != nil && !strings.Contains(fault.From(err).Detail, tt.detail) {
				t.Errorf("detail %q, want %q", fault.From(err).Detail, tt.detail)
			}
			said := fmt.Sprint(err, l.begun, c.proxy)
			for _, secret := range []string{proxyPassword, "wrong-password-1", basic[6:]} {
				if strings.Contains(said, secret) {
					t.Errorf("the password is in %s", said)
				}
			}
			if tt.want == "" && (len(l.begun) != 1 || l.begun[0].Proxy != "proxy.test:8080") {
				t.Errorf("recorded %+v", l.begun)
			}
			if tt.want == "" && len(heard()) == 0 {
				t.Error("the proxy was not asked")
			}
		})
	}
	t.Cleanup(func() {
		if bodies.Load() != 2 {
			t.Errorf("%d bodies came, want 2", bodies.Load())
		}
	})
}

// socksServer is a SOCKS5 server that wants a login, or none when it is empty.
// It leads to addr, or refuses with a code.
func socksServer(t *testing.T, addr, user, password string, refuse byte) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		next := func() []byte {
			n, _ := in.ReadByte()
			b := make([]byte, n)
			_, _ = io.ReadFull(in, b)
			return b
		}
		_, _ = in.ReadByte()
		methods := next()
		switch {
		case user == "":
			_, _ = conn.Write([]byte{5, 0})
		case !strings.Contains(string(methods), "\x02"):
			_, _ = conn.Write([]byte{5, 0xff})
			return
		default:
			_, _ = conn.Write([]byte{5, 2})
			_, _ = in.ReadByte()
			if string(next()) != user || string(next()) != password {
				_, _ = conn.Write([]byte{1, 1})
				return
			}
			_, _ = conn.Write([]byte{1, 0})
		}
		head := make([]byte, 4)
		_, _ = io.ReadFull(in, head)
		if host := string(next()); host != "api.provider.test" {
			t.Errorf("the proxy was asked for %q", host)
		}
		_, _ = io.ReadFull(in, make([]byte, 2))
		_, _ = conn.Write([]byte{5, refuse, 0, 3, 2, 'x', 'y', 0, 1})
		if refuse != 0 {
			return
		}
		far, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		pipe(conn, in, far)
	}
	served.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			served.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); served.Wait() })
	return ln.Addr().String()
}

// TestProxy_Socks: the same through SOCKS.
//
// covers: K4 K7
func TestProxy_Socks(t *testing.T) {
	t.Parallel()
	own := newAuthority(t)
	addr, _ := secureServer(t, own.issue(t, "api.provider.test", time.Now().Add(time.Hour)))
	tests := []struct {
		name, wants, user, password string
		refuse                      byte
		want                        fault.Code
	}{
		{"open", "", "", "", 0, ""},
		{"open, with a login", "", "ann", proxyPassword, 0, ""},
		{"right", "ann", "ann", proxyPassword, 0, ""},
		{"wrong", "ann", "ann", "wrong-password-1", 0, fault.ProxyAuth},
		{"none", "ann", "", "", 0, fault.ProxyAuth},
		{"no way", "", "", "", 4, fault.Proxy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := socksServer(t, addr, tt.wants, proxyPassword, tt.refuse)
			c, err := NewClient(ClientConfig{
				BaseURL: "https://api.provider.test/v1", ProxyURL: "socks5://" + at, ProxyUser: tt.user,
				ProxyPassword: secretly(tt.password), ExtraCA: own.pem, KeyOptional: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdle()
			err = c.Stream(t.Context(), "chat", "https://api.provider.test/v1/x", []byte("{}"), &plainDecoder{})
			if fault.CodeOf(err) != tt.want {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if err != nil && (fault.From(err).Detail != at || strings.Contains(fmt.Sprint(err), "assword")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestProxyOf: what is no proxy is refused, and its words are not told.
//
// covers: K4 K7
func TestProxyOf(t *testing.T) {
	t.Parallel()
	for raw, user := range map[string]string{
		"http://ann:" + proxyPassword + "@proxy.test": "", "ftp://proxy.test": "", "": "", "proxy.test:8080": "", "http://%zz" + url.QueryEscape(proxyPassword): "",
		"http://proxy.test": "a:b", "socks5://proxy.test": strings.Repeat("a", 256),
	} {
		_, err := proxyOf(raw, user)
		if fault.CodeOf(err) != fault.InvalidInput || strings.Contains(fmt.Sprint(err), "WORD") {
			t.Errorf("proxyOf(%q) gives %v", raw, err)
		}
	}
}
