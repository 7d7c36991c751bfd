package provider

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"galley/backend/fault"
)

// ClientConfig configures a [Client]. Only BaseURL is required.
type ClientConfig struct {
	// BaseURL is the provider's address as the person typed it.
	BaseURL string
	// Dialect is what is spoken there.
	Dialect Dialect
	// ProxyURL is the proxy for this address as the host resolved it: http,
	// https, socks5 or socks5h, without a user name; empty for none. The
	// environment is not looked at. A plain http address is on this machine and
	// never goes through a proxy. ProxyUser is the name that the proxy knows the
	// person by, and ProxyPassword gives the password when a request is about to
	// be made; empty and nil for none. A name without a password goes alone.
	ProxyURL      string
	ProxyUser     string
	ProxyPassword func(ctx context.Context) (string, error)
	// ExtraCA holds certificates, as PEM, that are trusted besides those of the
	// system; nil for none. They vouch for who issued a certificate and for
	// nothing else about it.
	ExtraCA []byte
	// Recorder keeps the send log; nil when it is off.
	Recorder Recorder
	// Key gives the key when a request is about to be made; nil when there is
	// none. No key and an empty one are the fault no_key, unless KeyOptional
	// or the address is on loopback.
	Key         func(ctx context.Context) (string, error)
	KeyOptional bool
	// Authorize puts a key on a request, and what else each request of a dialect
	// carries; nil means "Authorization: Bearer". Without a key it is not asked.
	Authorize func(h http.Header, key string)
	// Header is set on each request besides.
	Header http.Header
	// Local says that the first token may take any time.
	Local  bool
	Timers Timers

	// DialContext replaces the dialer, for tests.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// Online says whether there is any network; nil looks at the interfaces.
	Online func() bool
}

// Client sends the requests of one configured provider. It is safe for
// concurrent use. It uses transports and no http.Client: no redirect is ever
// followed, so a key cannot go along with one.
type Client struct {
	cfg   ClientConfig
	host  string // of the provider, with its port when there is one
	name  string // the same without a port
	proxy *url.URL

	// system trusts who the system trusts; extra, nil without ExtraCA, trusts
	// those alone. byExtra says that the last certificate needed them.
	system, extra *http.Transport
	byExtra       atomic.Bool
}

// NewClient returns a client, or the fault invalid_input when the address, the
// proxy or the certificates are none (see [RequestURL]).
func NewClient(cfg ClientConfig) (*Client, error) {
	base, _, err := baseURL(cfg.Dialect, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	cfg.Timers = cfg.Timers.withDefaults(cfg.Local)
	if cfg.Online == nil {
		cfg.Online = hasNetwork
	}
	c := &Client{cfg: cfg, host: base.Host, name: base.Hostname()}
	if cfg.ProxyURL != "" && base.Scheme == "https" {
		if c.proxy, err = proxyOf(cfg.ProxyURL, cfg.ProxyUser); err != nil {
			return nil, err
		}
	}
	dial := cfg.DialContext
	if dial == nil {
		dialer := &net.Dialer{Resolver: cfg.Resolver}
		dial = dialer.DialContext
		if base.Scheme == "http" {
			dial = dialLoopback(dialer)
		}
	}
	var pool *x509.CertPool
	if len(cfg.ExtraCA) > 0 {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(cfg.ExtraCA) {
			return nil, &fault.Error{Code: fault.InvalidInput, Op: "certificates", Detail: "no certificate in it"}
		}
		c.extra = c.transport(dial, pool, pool)
	}
	// RootCAs stays nil: the system's own verifier and roots are used (K7).
	c.system = c.transport(dial, nil, pool)
	return c, nil
}

// CloseIdle closes connections that no request uses.
func (c *Client) CloseIdle() {
	c.system.CloseIdleConnections()
	if c.extra != nil {
		c.extra.CloseIdleConnections()
	}
}

// dialLoopback refuses a connection that leaves the machine, whatever the name
// "localhost" was resolved to.
func dialLoopback(d *net.Dialer) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if !isLoopbackAddr(conn.RemoteAddr()) {
			_ = conn.Close()
			return nil, errNotLoopback
		}
		return conn, nil
	}
}

// Decoder translates what one dialect sends in one answer. It is used from one
// goroutine.
type Decoder interface {
	// Begin comes once, before all else, with the redactor of this request.
	Begin(r *Redactor)
	// Event reads one event; never [DONE]. It returns an *APIError when the
	// event says that the provider failed, any other error when the data is
	// not what the dialect sends.
	Event(ev Event) error
	// Whole reads a JSON value that came in place of a stream. It returns an
	// *APIError, [ErrNotAnAnswer] when it is no answer of the dialect, or
	// io.ErrUnexpectedEOF when the provider never said that it is whole.
	Whole(data []byte) error
	// Started reports whether a token came: text, thinking or part of a call.
	Started() bool
	// Finished reports whether the provider said that the answer is whole.
	Finished() bool
	// Done is told that [DONE] came, which finishes an answer too.
	Done()
}

// ErrNotAnAnswer is returned by Decoder.Whole for JSON of some other service.
var ErrNotAnAnswer = errors.New("not an answer of this dialect")

// The reasons of our own to give a request up.
var (
	errConnect = errors.New("no connection in time")
	errFirst   = errors.New("no first token in time")
	errSilence = errors.New("silence in the middle of an answer")
	errGrace   = errors.New("the answer is whole")
)

// Stream posts body to url and feeds the answer to dec until it is whole. It
// blocks until then. The error is a *fault.Error; where it says that an optional
// parameter was refused, one of those that dec names when it has a method
// Optional() []string, it wraps a [*RefusedParam], and where a refusal names a
// size, a [*NamedSize].
func (c *Client) Stream(ctx context.Context, op, url string, body []byte, dec Decoder) (err error) {
	a, err := c.begin(ctx, asking{
		op: op, method: http.MethodPost, url: url, body: body, accept: "text/event-stream",
		first: c.cfg.Timers.FirstToken,
	})
	if err != nil {
		return err
	}
	defer func() { a.end(err) }()
	if o, ok := dec.(interface{ Optional() []string }); ok {
		a.optional = o.Optional()
	}
	dec.Begin(a.red)
	res, err := a.send()
	if err != nil {
		return err
	}
	defer letGo(res.Body)
	in := &capReader{src: &touchReader{src: res.Body, touch: a.dog.touch}, left: maxBody}
	kind, r, err := sniff(in)
	if err != nil {
		return a.cutFault(err, dec)
	}
	switch kind {
	case bodyPage:
		return a.fault(fault.NotAnAPI, fmt.Sprintf("%d, a web page", res.StatusCode), nil)
	case bodyJSON:
		return a.readWhole(r, res, dec)
	default:
		return a.readEvents(r, res, dec)
	}
}

// readEvents is the loop of a stream.
func (a *attempt) readEvents(r io.Reader, res *http.Response, dec Decoder) error {
	events := NewEventReader(r)
	for {
		ev, err := events.Next()
		if err != nil {
			return a.cutFault(err, dec)
		}
		if ev.Done {
			dec.Done()
			return a.cancelled()
		}
		whole := dec.Finished()
		if err := dec.Event(ev); err != nil && !whole {
			// After the finish nothing that comes can undo it (decision 8).
			if api, ok := errors.AsType[*APIError](err); ok {
				return a.apiFault(res, api)
			}
			if ev.Ended {
				return a.fault(fault.ProtocolError, "", err)
			}
			return a.cutFault(io.ErrUnexpectedEOF, dec)
		}
		switch {
		case dec.Finished():
			a.dog.set(a.c.cfg.Timers.Grace, errGrace, false)
		case dec.Started():
			a.dog.set(a.c.cfg.Timers.Silence, errSilence, true)
		}
	}
}

// readWhole reads JSON in place of a stream (decision 6). The value is acted on
// when it is whole; the end of the body is not waited for.
func (a *attempt) readWhole(r io.Reader, res *http.Response, dec Decoder) error {
	a.dog.set(a.c.cfg.Timers.Silence, errSilence, true)
	var raw json.RawMessage
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
		}
		return a.cutFault(err, dec)
	}
	err := dec.Whole(raw)
	if api, ok := errors.AsType[*APIError](err); ok {
		return a.apiFault(res, api)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return a.cutFault(err, dec)
	}
	if err != nil {
		return a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
	}
	return a.cancelled()
}

// getTimeout limits the wait for the answer to a Get or Post, also of a local
// server: no model has to be loaded for it.
const getTimeout = 30 * time.Second

// Get asks url and returns its JSON, at most 16 MiB. The error is a
// *fault.Error.
func (c *Client) Get(ctx context.Context, op, url string) (json.RawMessage, error) {
	return c.askJSON(ctx, asking{op: op, method: http.MethodGet, url: url, accept: "application/json", first: getTimeout})
}

// Post is Get for what is asked with a body, which is JSON.
func (c *Client) Post(ctx context.Context, op, url string, body []byte) (json.RawMessage, error) {
	return c.askJSON(ctx, asking{op: op, method: http.MethodPost, url: url, body: body, accept: "application/json", first: getTimeout})
}

func (c *Client) askJSON(ctx context.Context, q asking) (raw json.RawMessage, err error) {
	a, err := c.begin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { a.end(err) }()
	res, err := a.send()
	if err != nil {
		return nil, err
	}
	defer letGo(res.Body)
	a.dog.set(c.cfg.Timers.Silence, errSilence, true)
	in := &capReader{src: &touchReader{src: res.Body, touch: a.dog.touch}, left: MaxLine}
	kind, r, err := sniff(in)
	if err != nil {
		return nil, a.cutFault(err, nil)
	}
	if kind != bodyJSON {
		return nil, a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
	}
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
		}
		return nil, a.cutFault(err, nil)
	}
	if api, ok := ParseError(raw, false); ok {
		return nil, a.apiFault(res, api)
	}
	return raw, a.cancelled()
}

// letGo closes the body of an answer. All that is wanted of it was read, so
// that an error of Close tells nothing.
func letGo(body io.Closer) { _ = body.Close() }
