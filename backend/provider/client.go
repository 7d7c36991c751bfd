package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
)

// ClientConfig configures a [Client]. Only BaseURL is required.
type ClientConfig struct {
	// BaseURL is the provider's address as the person typed it.
	BaseURL string
	// ProxyURL is the proxy for this address as the host resolved it; empty
	// for none. The environment is not looked at. A plain http address is on
	// this machine and never goes through a proxy.
	ProxyURL string
	// Key gives the key when a request is about to be made; nil when there is
	// none. No key and an empty one are the fault no_key, unless KeyOptional;
	// no key is no fault on loopback either.
	Key         func(ctx context.Context) (string, error)
	KeyOptional bool
	// Authorize puts a key on a request; nil means "Authorization: Bearer".
	Authorize func(h http.Header, key string)
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
// concurrent use. It uses a transport and no http.Client: no redirect is ever
// followed, so a key cannot go along with one.
type Client struct {
	cfg   ClientConfig
	http  *http.Transport
	host  string // of the provider, with its port when there is one
	name  string // the same without a port
	proxy *url.URL
}

// NewClient returns a client, or the fault invalid_input when the address or
// the proxy is none (see [ChatURL]).
func NewClient(cfg ClientConfig) (*Client, error) {
	base, _, err := baseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	cfg.Timers = cfg.Timers.withDefaults(cfg.Local)
	if cfg.Online == nil {
		cfg.Online = hasNetwork
	}
	c := &Client{cfg: cfg, host: base.Host, name: base.Hostname()}
	if cfg.ProxyURL != "" && base.Scheme == "https" {
		c.proxy, err = url.Parse(cfg.ProxyURL)
		if err != nil || c.proxy.Hostname() == "" {
			// The error quotes the address, which may hold a password.
			return nil, &fault.Error{Code: fault.InvalidInput, Op: "proxy", Detail: "not a URL"}
		}
	}
	// RootCAs stays nil: the system's own verifier and roots are used (K7).
	c.http = &http.Transport{
		DialContext:            cfg.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // decoded by sniff, and not asked for
		MaxResponseHeaderBytes: 256 << 10,
		OnProxyConnectResponse: onProxyConnect,
	}
	if c.proxy != nil {
		c.http.Proxy = http.ProxyURL(c.proxy)
	}
	if cfg.DialContext == nil {
		dialer := &net.Dialer{Resolver: cfg.Resolver}
		c.http.DialContext = dialer.DialContext
		if base.Scheme == "http" {
			c.http.DialContext = dialLoopback(dialer)
		}
	}
	return c, nil
}

// CloseIdle closes connections that no request uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// dialLoopback refuses a connection that leaves the machine, whatever the name
// "localhost" was resolved to.
func dialLoopback(d *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
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

// onProxyConnect gives a proxy's refusal a type; the transport's own error is
// its words only.
func onProxyConnect(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	scheme, _, _ := strings.Cut(res.Header.Get("Proxy-Authenticate"), " ")
	return &proxyRefusal{status: res.StatusCode, scheme: scheme}
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
	// *APIError, or [ErrNotAnAnswer] when it is no answer of the dialect.
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
// blocks until then. The error is a *fault.Error.
func (c *Client) Stream(ctx context.Context, op, url string, body []byte, dec Decoder) error {
	a, err := c.begin(ctx, op, http.MethodPost, url, body, c.cfg.Timers.FirstToken)
	if err != nil {
		return err
	}
	defer a.end()
	dec.Begin(a.red)
	res, err := c.http.RoundTrip(a.req)
	if err != nil {
		return a.sendFault(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return a.statusFault(res)
	}
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
	if err != nil {
		return a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
	}
	return a.cancelled()
}

// getTimeout limits the wait for the answer to a Get, also of a local server:
// no model has to be loaded for it.
const getTimeout = 30 * time.Second

// Get asks url and returns its JSON, at most 16 MiB. The error is a
// *fault.Error.
func (c *Client) Get(ctx context.Context, op, url string) (json.RawMessage, error) {
	a, err := c.begin(ctx, op, http.MethodGet, url, nil, getTimeout)
	if err != nil {
		return nil, err
	}
	defer a.end()
	res, err := c.http.RoundTrip(a.req)
	if err != nil {
		return nil, a.sendFault(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, a.statusFault(res)
	}
	a.dog.set(c.cfg.Timers.Silence, errSilence, true)
	in := &capReader{src: &touchReader{src: res.Body, touch: a.dog.touch}, left: MaxLine}
	kind, r, err := sniff(in)
	if err != nil {
		return nil, a.cutFault(err, nil)
	}
	if kind != bodyJSON {
		return nil, a.fault(fault.NotAnAPI, fmt.Sprint(res.StatusCode), nil)
	}
	var raw json.RawMessage
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

// attempt is one request on its way.
type attempt struct {
	c   *Client
	op  string
	ctx context.Context // the caller's
	req *http.Request
	red *Redactor
	dog *watchdog
	far *traced
}

// traced is how far a request got; the transport tells from its goroutines.
type traced struct {
	mu sync.Mutex
	reach
}

// begin fetches the key and prepares a request whose timers run.
func (c *Client) begin(ctx context.Context, op, method, url string, body []byte, first time.Duration) (*attempt, error) {
	a := &attempt{c: c, op: op, ctx: ctx, far: &traced{}}
	key, err := c.key(ctx, op)
	if err != nil {
		return nil, err
	}
	secrets := []string{key}
	if c.proxy != nil && c.proxy.User != nil {
		password, _ := c.proxy.User.Password()
		secrets = append(secrets, password)
	}
	a.red = NewRedactor(secrets...)

	rctx, cancel := context.WithCancelCause(ctx)
	a.dog = &watchdog{cancel: cancel}
	a.dog.set(c.cfg.Timers.Connect, errConnect, false)
	rctx = httptrace.WithClientTrace(rctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			a.far.mark(func(r *reach) { r.connected = true })
			a.dog.set(first, errFirst, false)
		},
		GotFirstResponseByte: func() { a.far.mark(func(r *reach) { r.answered = true }) },
	})
	req, err := http.NewRequestWithContext(rctx, method, url, bytes.NewReader(body))
	if err != nil {
		a.end()
		return nil, a.fault(fault.InvalidInput, "", nil)
	}
	req.Header.Set("User-Agent", "galley")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case key == "":
	case c.cfg.Authorize != nil:
		c.cfg.Authorize(req.Header, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	a.req = req
	return a, nil
}

func (t *traced) mark(set func(*reach)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set(&t.reach)
}

// key asks for the key and refuses one that no header can carry, naming the
// character and never the key.
func (c *Client) key(ctx context.Context, op string) (string, error) {
	none := &fault.Error{Code: fault.NoKey, Op: op, Detail: c.host}
	if c.cfg.Key == nil {
		if c.cfg.KeyOptional || IsLoopback(c.name) {
			return "", nil
		}
		return "", none
	}
	key, err := c.cfg.Key(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", &fault.Error{Code: fault.Cancelled, Op: op, Err: context.Cause(ctx)}
		}
		return "", fault.From(err)
	}
	key = strings.TrimSpace(key)
	if key == "" && !c.cfg.KeyOptional {
		return "", none
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return "", &fault.Error{Code: fault.KeyMalformed, Op: op, Detail: fmt.Sprintf("U+%04X", r)}
		}
	}
	return key, nil
}

// end stops the timers and lets the connection go.
func (a *attempt) end() { a.dog.stop() }

// fault builds the fault of this attempt. Nothing leaves without the redactor.
func (a *attempt) fault(code fault.Code, detail string, cause error) *fault.Error {
	f := &fault.Error{Code: code, Op: a.op, Detail: a.c.host}
	if detail != "" {
		f.Detail += " " + a.red.Words(detail)
	}
	if cause != nil {
		f.Err = errors.New(a.red.Words(cause.Error()))
	}
	return f
}

// cancelled returns the fault cancelled when the caller gave up, else nil.
func (a *attempt) cancelled() error {
	if a.ctx.Err() == nil {
		return nil
	}
	return &fault.Error{Code: fault.Cancelled, Op: a.op, Err: context.Cause(a.ctx)}
}

// ownReason returns the fault when the caller or a timer ended the request.
func (a *attempt) ownReason() *fault.Error {
	if err := a.cancelled(); err != nil {
		return fault.From(err)
	}
	switch context.Cause(a.req.Context()) {
	case errConnect, errFirst:
		return a.fault(fault.Timeout, "", context.Cause(a.req.Context()))
	case errSilence:
		return a.fault(fault.Stalled, "", errSilence)
	}
	return nil
}

// sendFault says why there was no answer.
func (a *attempt) sendFault(err error) error {
	if f := a.ownReason(); f != nil {
		return f
	}
	proxy := ""
	if a.c.proxy != nil {
		proxy = a.c.proxy.Host
	}
	a.far.mu.Lock()
	far := a.far.reach
	a.far.mu.Unlock()
	f := networkFault(err, a.c.host, proxy, far, a.c.cfg.Online)
	f.Op = a.op
	f.Detail = a.red.Words(f.Detail)
	f.Err = errors.New(a.red.Words(err.Error()))
	return f
}

// cutFault says what an answer is whose body ended with err.
func (a *attempt) cutFault(err error, dec Decoder) error {
	if err := a.cancelled(); err != nil {
		return err
	}
	if dec != nil && dec.Finished() {
		return nil
	}
	if f := a.ownReason(); f != nil {
		return f
	}
	if isGarbage(err) {
		return a.fault(fault.ProtocolError, "", err)
	}
	return a.fault(fault.StreamCut, "", err)
}

// statusFault says what an answer is whose status is no success.
func (a *attempt) statusFault(res *http.Response) error {
	a.dog.set(a.c.cfg.Timers.Silence, errSilence, false)
	if res.StatusCode < 400 {
		detail := fmt.Sprint(res.StatusCode)
		if to, err := res.Location(); err == nil {
			detail += ", leads to " + to.Host
		}
		return a.fault(fault.NotAnAPI, detail, nil)
	}
	kind, r, err := sniff(&capReader{src: res.Body, left: maxErrorBody})
	if err != nil {
		return a.apiFault(res, nil)
	}
	if kind == bodyPage {
		switch res.StatusCode {
		case http.StatusForbidden, http.StatusNotFound, http.StatusNetworkAuthenticationRequired:
			return a.fault(fault.NotAnAPI, fmt.Sprintf("%d, a web page", res.StatusCode), nil)
		}
		return a.apiFault(res, nil)
	}
	return a.apiFault(res, readError(r, kind))
}

// readError reads what a failed request came back with: JSON, a stream with an
// error in it, or plain words. A body cut short is read as far as it goes.
func readError(r io.Reader, kind bodyKind) *APIError {
	data, _ := io.ReadAll(r)
	if kind == bodyJSON {
		api, _ := ParseError(data, true)
		return api
	}
	events := NewEventReader(bytes.NewReader(data))
	for {
		ev, err := events.Next()
		if err != nil {
			break
		}
		if api, ok := ParseError(ev.Data, true); ok {
			return api
		}
	}
	return &APIError{Message: strings.TrimSpace(string(data)), retry: -1}
}

// apiFault classifies what the provider said; api may be nil.
func (a *attempt) apiFault(res *http.Response, api *APIError) error {
	if err := a.cancelled(); err != nil {
		return err
	}
	if api == nil {
		api = &APIError{retry: -1}
	}
	code := Classify(res.StatusCode, api)
	if res.StatusCode == http.StatusProxyAuthRequired || api.Status == http.StatusProxyAuthRequired {
		code = fault.ProxyAuth
	}
	f := a.fault(code, detailOf(res.StatusCode, api), nil)
	f.RetryAfter = retryAfter(res.Header, api, time.Now())
	return f
}

// maxWords limits what is kept of the provider's words, in characters.
const maxWords = 400

// detailOf puts together what a message may quote: status, codes and words.
func detailOf(status int, e *APIError) string {
	var parts []string
	if status >= 400 {
		parts = append(parts, fmt.Sprint(status))
	}
	for _, s := range []string{e.Type, e.Code, e.Param} {
		if s != "" && (len(parts) == 0 || parts[len(parts)-1] != s) {
			parts = append(parts, s)
		}
	}
	s := strings.Join(parts, " ")
	words := strings.Join(strings.Fields(e.Message), " ")
	if s != "" && words != "" {
		s += ": "
	}
	s = strings.ToValidUTF8(s+words, "\uFFFD")
	if r := []rune(s); len(r) > maxWords {
		s = string(r[:maxWords]) + "…"
	}
	return s
}

// watchdog ends a request when the timer that runs now expires.
type watchdog struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards the rest
	timer *time.Timer
	d     time.Duration
	cause error
	bytes bool // each byte starts it again
}

// set replaces the timer. With the cause that already runs it starts it again.
func (w *watchdog) set(d time.Duration, cause error, bytes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.d, w.cause, w.bytes = d, cause, bytes
	if d < 0 {
		w.timer = nil
		return
	}
	w.timer = time.AfterFunc(d, func() { w.cancel(cause) })
}

// touch is told of each piece of the body.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes && w.timer != nil {
		w.timer.Reset(w.d)
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(context.Canceled)
}

// touchReader tells of each read that brought something.
type touchReader struct {
	src   io.Reader
	touch func()
}

func (r *touchReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	if n > 0 {
		r.touch()
	}
	return n, err
}
