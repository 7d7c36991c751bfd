package provider

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"galley/backend/fault"
)

// proxyOf reads the address of a proxy. A name or password in it is refused, as
// both would stand in logs and errors.
func proxyOf(raw, user string) (*url.URL, error) {
	bad := func(detail string) (*url.URL, error) {
		return nil, &fault.Error{Code: fault.InvalidInput, Op: "proxy", Detail: detail}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		// The error quotes the address, which may hold a password.
		return bad("not a URL")
	}
	if u.User != nil {
		return bad("a name or password does not belong in the address")
	}
	switch u.Scheme {
	case "http", "https":
		if strings.Contains(user, ":") {
			return bad("no colon can be in the name")
		}
	case "socks5", "socks5h":
		if len(user) > maxSocks {
			return bad("the name is too long")
		}
	default:
		return bad("not a kind of proxy: " + u.Scheme)
	}
	return u, nil
}

// login is how the person is known to the proxy; the zero value is not at all.
type login struct{ user, password string }

// loginKey is that of the context of a request, for its way through the
// transport.
type loginKey struct{}

// String implements fmt.Stringer without the secret: a context prints what it
// holds.
func (login) String() string { return redacted }

// GoString implements fmt.GoStringer without the secret.
func (login) GoString() string { return redacted }

// login asks for the password of the proxy.
func (c *Client) login(ctx context.Context, op string) (login, error) {
	l := login{user: c.cfg.ProxyUser}
	if c.proxy == nil || l.user == "" || c.cfg.ProxyPassword == nil {
		return l, nil
	}
	var err error
	if l.password, err = c.cfg.ProxyPassword(ctx); err != nil {
		if ctx.Err() != nil {
			return login{}, &fault.Error{Code: fault.Cancelled, Op: op, Err: context.Cause(ctx)}
		}
		return login{}, fault.From(err)
	}
	return l, nil
}

// connectHeader is what goes with a CONNECT.
func connectHeader(ctx context.Context, _ *url.URL, _ string) (http.Header, error) {
	h := http.Header{"User-Agent": {"galley"}}
	if l, ok := ctx.Value(loginKey{}).(login); ok && l.user != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(l.user + ":" + l.password))
		h.Set("Proxy-Authorization", "Basic "+basic)
	}
	return h, nil
}

// proxyRefusal is a proxy's answer to CONNECT that was no success, or a SOCKS
// server's to the same wish.
type proxyRefusal struct {
	// status is that of HTTP.
	status int
	// scheme is the way of logging in that the proxy asks for ("NTLM"); Basic
	// when that is one of them, since we know it.
	scheme string
}

func (e *proxyRefusal) Error() string { return "proxy refused the connection" }

// onProxyConnect gives a proxy's refusal a type; the transport's own error is
// its words only.
func onProxyConnect(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyRefusal{status: res.StatusCode, scheme: schemeOf(res.Header["Proxy-Authenticate"])}
}

// schemeOf returns the first scheme of the challenges, or Basic when it is among
// them.
func schemeOf(challenges []string) string {
	first := ""
	for _, challenge := range challenges {
		for part := range strings.SplitSeq(challenge, ",") {
			scheme, _, _ := strings.Cut(strings.TrimSpace(part), " ")
			if scheme == "" || strings.Contains(scheme, "=") {
				continue // a parameter of the one before
			}
			if strings.EqualFold(scheme, "Basic") {
				return "Basic"
			}
			if first == "" {
				first = scheme
			}
		}
	}
	return first
}

// maxSocks limits a name, a password and a host in SOCKS, in bytes.
const maxSocks = 255

// What SOCKS calls things (RFC 1928 and 1929).
const (
	socksVersion   = 5
	socksNoLogin   = 0
	socksPassword  = 2
	socksLoginV1   = 1
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	defaultSocksAt = "1080"
)

// dialSocks returns a dialer that goes through a SOCKS5 server. The transport's
// own keeps the password in an address and tells no refusal from another.
func dialSocks(dial dialFunc, proxy *url.URL) dialFunc {
	at := proxy.Host
	if proxy.Port() == "" {
		at = net.JoinHostPort(proxy.Hostname(), defaultSocksAt)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		failed := func(err error) (net.Conn, error) {
			return nil, &net.OpError{Op: "socks connect", Net: network, Err: err}
		}
		conn, err := dial(ctx, network, at)
		if err != nil {
			return failed(err)
		}
		l, _ := ctx.Value(loginKey{}).(login)
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		err = socksHandshake(conn, l, addr)
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = conn.Close()
			return failed(err)
		}
		return conn, nil
	}
}

// socksHandshake asks the server on conn for a way to addr.
func socksHandshake(conn io.ReadWriter, l login, addr string) error {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return err
	}
	methods := []byte{socksVersion, 1, socksNoLogin}
	if l.user != "" {
		methods = []byte{socksVersion, 2, socksNoLogin, socksPassword}
	}
	var reply [4]byte
	if err := exchange(conn, methods, reply[:2]); err != nil {
		return err
	}
	if reply[0] != socksVersion {
		return errNotSocks
	}
	switch {
	case reply[1] == socksNoLogin:
	case reply[1] != socksPassword, l.user == "", len(l.password) > maxSocks:
		return &proxyRefusal{status: http.StatusProxyAuthRequired}
	default:
		ask := append([]byte{socksLoginV1, byte(len(l.user))}, l.user...)
		ask = append(append(ask, byte(len(l.password))), l.password...)
		if err := exchange(conn, ask, reply[:2]); err != nil {
			return err
		}
		if reply[1] != 0 {
			return &proxyRefusal{status: http.StatusProxyAuthRequired}
		}
	}
	ask := []byte{socksVersion, socksConnect, 0}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		ask = append(append(ask, socksIPv4), ip.AsSlice()...)
	} else if err == nil {
		ask = append(append(ask, socksIPv6), ip.AsSlice()...)
	} else if len(host) > maxSocks {
		return errNotSocks
	} else {
		ask = append(append(ask, socksName, byte(len(host))), host...)
	}
	if err := exchange(conn, append(ask, byte(port>>8), byte(port)), reply[:]); err != nil {
		return err
	}
	if reply[1] != 0 {
		return &proxyRefusal{status: http.StatusBadGateway}
	}
	// Where the server has bound to says nothing to us.
	rest := 0
	switch reply[3] {
	case socksIPv4:
		rest = net.IPv4len
	case socksIPv6:
		rest = net.IPv6len
	case socksName:
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return err
		}
		rest = int(n[0])
	default:
		return errNotSocks
	}
	_, err = io.ReadFull(conn, make([]byte, rest+2))
	return err
}

// exchange writes ask and fills reply.
func exchange(conn io.ReadWriter, ask, reply []byte) error {
	if _, err := conn.Write(ask); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, reply)
	return err
}
