package network

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"galley/backend/fault"
)

// directProxy is what GIO and portals call no proxy.
const directProxy = "direct://"

// targetOf reads the address of a provider. Only scheme, host and port are
// kept: nothing else of it is any business of whoever chooses a proxy. The host
// carries a port.
func targetOf(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Hostname() == "" {
		// The error quotes the address, which may hold a key.
		return nil, &fault.Error{Code: fault.InvalidInput, Op: "find proxy", Detail: "not a URL"}
	}
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	return &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(strings.ToLower(u.Hostname()), port), Path: "/"}, nil
}

// parseProxy reads the address of a proxy. What names a person is taken out of
// it: the URL has a scheme, a host and a port. secret is nil for none. The fault
// is proxy, with the host as detail where one can be read; never a password.
func parseProxy(raw string) (u *url.URL, user string, secret *string, err error) {
	raw = strings.TrimSpace(raw)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	bad := func(detail string) (*url.URL, string, *string, error) {
		return nil, "", nil, &fault.Error{Code: fault.Proxy, Op: "find proxy", Detail: detail}
	}
	in, err := url.Parse(raw)
	if err != nil || in.Hostname() == "" || strings.ContainsAny(in.Hostname(), " \t%") {
		return bad("")
	}
	scheme := strings.ToLower(in.Scheme)
	switch scheme {
	case "http", "https", "socks5", "socks5h":
	case "socks":
		// GIO and older desktops mean the newest that both sides know.
		scheme = "socks5"
	default:
		return bad(in.Scheme + "://" + in.Host)
	}
	port := in.Port()
	if port == "" {
		port = defaultPort(scheme)
	}
	if in.User != nil {
		user = in.User.Username()
		if p, ok := in.User.Password(); ok {
			secret = &p
		}
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(strings.ToLower(in.Hostname()), port)}, user, secret, nil
}

// ProxyHost returns the host with the port of a proxy's address as a person
// typed it, or "" when it is none.
func ProxyHost(raw string) string {
	u, _, _, err := parseProxy(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

func defaultPort(scheme string) string {
	switch scheme {
	case "https":
		return "443"
	case "socks5", "socks5h":
		return "1080"
	default:
		return "80"
	}
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
