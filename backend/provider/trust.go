package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// transport returns one whose certificates are held against roots; nil is who
// the system trusts. extra are the certificates that are trusted besides; nil
// for none.
func (c *Client) transport(dial dialFunc, roots, extra *x509.CertPool) *http.Transport {
	t := &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // decoded by sniff, and not asked for
		MaxResponseHeaderBytes: 256 << 10,
		OnProxyConnectResponse: onProxyConnect,
		GetProxyConnectHeader:  connectHeader,
	}
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	switch {
	case c.proxy == nil:
	case c.proxy.Scheme == "http":
		t.Proxy = http.ProxyURL(c.proxy)
	case c.proxy.Scheme == "https":
		t.Proxy = http.ProxyURL(c.proxy)
		// Proxy and provider may each need another authority, so that the two
		// ways of trust are tried for each by itself.
		t.DialTLSContext = dialTrusted(dial, extra)
	default:
		t.DialContext = dialSocks(dial, c.proxy)
	}
	return t
}

// dialTrusted returns a dialer for TLS that trusts who the system trusts and,
// where that does not know the authority, extra.
func dialTrusted(dial dialFunc, extra *x509.CertPool) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialTLS(ctx, dial, network, addr, nil)
		if extra != nil && isUnknownAuthority(err) {
			again, second := dialTLS(ctx, dial, network, addr, extra)
			if !isUnknownAuthority(second) {
				return again, second
			}
		}
		return conn, err
	}
}

func dialTLS(ctx context.Context, dial dialFunc, network, addr string, roots *x509.CertPool) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// roundTrip sends a request the way that the last certificate needed. Where the
// authority is not known there it goes the other way, with all else of the
// certificate looked at again: extra certificates excuse no wrong name and no
// date. Nothing of the request has left by then.
func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {
	if c.extra == nil {
		return c.system.RoundTrip(req)
	}
	byExtra := c.byExtra.Load()
	first, second := c.system, c.extra
	if byExtra {
		first, second = second, first
	}
	res, err := first.RoundTrip(req)
	if !isUnknownAuthority(err) {
		return res, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	res, other := second.RoundTrip(again)
	switch {
	case other == nil:
		c.byExtra.Store(!byExtra)
		return res, nil
	case isUnknownAuthority(other) && !byExtra:
		return nil, err // in the words of the system
	}
	return nil, other
}

// isUnknownAuthority reports whether a certificate was refused for who issued
// it, and for nothing else that was seen.
func isUnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}
