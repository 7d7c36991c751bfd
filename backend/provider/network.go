package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"galley/backend/fault"
)

var (
	errNotLoopback = errors.New("plain http must stay on this machine")
	errNotSocks    = errors.New("no SOCKS server answers there")
)

// reach says how far a request got before it failed.
type reach struct {
	// connected: the request was about to be written.
	connected bool
	// answered: the first byte of an answer came.
	answered bool
}

// networkFault tells apart why there was no answer at all. host is that of the
// provider, proxy that of the proxy or empty.
func networkFault(err error, host, proxy string, far reach, online func() bool) *fault.Error {
	f := &fault.Error{Detail: host}
	var (
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		alert    tls.AlertError
		record   tls.RecordHeaderError
		refusal  *proxyRefusal
		lookup   *net.DNSError
		op       *net.OpError
		timeout  net.Error
		certFail = func(c *x509.Certificate) {
			f.Code = fault.TLS
			if issuer := issuerName(c); issuer != "" {
				f.Detail += ", issued by " + issuer
			}
		}
	)
	viaProxy := errors.As(err, &op) && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks"))
	if viaProxy {
		f.Detail = proxy
	}
	switch {
	case errors.As(err, &verify):
		var c *x509.Certificate
		if n := len(verify.UnverifiedCertificates); n > 0 {
			c = verify.UnverifiedCertificates[0]
		}
		certFail(c)
	case errors.As(err, &unknown):
		certFail(unknown.Cert)
	case errors.As(err, &refusal):
		f.Code, f.Detail = fault.Proxy, proxy
		if refusal.status == http.StatusProxyAuthRequired {
			f.Code = fault.ProxyAuth
			if refusal.scheme != "" {
				f.Detail += ", asks for " + refusal.scheme
			}
		}
	case viaProxy:
		f.Code = fault.Proxy
	case errors.As(err, &record):
		// Something else than TLS answers there: the address is wrong.
		f.Code = fault.NotAnAPI
	case errors.As(err, &alert):
		f.Code = fault.TLS
	case errors.Is(err, errNotLoopback):
		f.Code = fault.InvalidInput
	case errors.As(err, &lookup):
		f.Code = fault.DNS
		if !online() {
			f.Code = fault.Offline
		}
	case isOffline(err):
		f.Code = fault.Offline
	case isRefused(err):
		f.Code = fault.ConnectionRefused
	case errors.As(err, &timeout) && timeout.Timeout():
		f.Code = fault.Timeout
	case far.answered && !isCut(err):
		// It spoke, but not HTTP.
		f.Code = fault.ProtocolError
	case far.connected || isCut(err):
		f.Code = fault.StreamCut
	default:
		f.Code = fault.ConnectionRefused
	}
	return f
}

// isCut reports whether a connection ended before its time.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || isReset(err)
}

// issuerName says who issued a certificate, for a person.
func issuerName(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	if c.Issuer.CommonName != "" {
		return c.Issuer.CommonName
	}
	return strings.Join(c.Issuer.Organization, ", ") //nolint:misspell // the name of the field
}

// hasNetwork reports whether any interface but loopback is up with an address.
// Without one a name that was not found says nothing about the name.
func hasNetwork() bool {
	all, err := net.Interfaces()
	if err != nil {
		return true
	}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		if addrs, err := i.Addrs(); err != nil || len(addrs) > 0 {
			return true
		}
	}
	return false
}
