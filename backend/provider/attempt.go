package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
)

// attempt is one request on its way.
type attempt struct {
	c   *Client
	op  string
	ctx context.Context // the caller's
	req *http.Request
	red *Redactor
	dog *watchdog
	far *traced
	// optional are the parameters that were sent and that a model may refuse.
	optional []string

	// recorded says that the send log knows of it, under id. status and received
	// are what it is told at the end.
	recorded bool
	id       int64
	status   int
	received int64
}

// asking is what a request is made of.
type asking struct {
	op, method, url, accept string
	// body is nil for none.
	body []byte
	// first limits the time from the connection to the first token.
	first time.Duration
}

// traced is how far a request got; the transport tells from its goroutines.
type traced struct {
	mu sync.Mutex
	reach
}

// begin fetches key and password, tells the send log, and prepares a request
// whose timers run.
func (c *Client) begin(ctx context.Context, q asking) (*attempt, error) {
	a := &attempt{c: c, op: q.op, ctx: ctx, far: &traced{}}
	key, err := c.key(ctx, q.op)
	if err != nil {
		return nil, err
	}
	login, err := c.login(ctx, q.op)
	if err != nil {
		return nil, err
	}
	a.red = NewRedactor(key)

	rctx, cancel := context.WithCancelCause(context.WithValue(ctx, loginKey{}, login))
	a.dog = &watchdog{cancel: cancel}
	rctx = httptrace.WithClientTrace(rctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			a.far.mark(func(r *reach) { r.connected = true })
			a.dog.set(q.first, errFirst, false)
		},
		GotFirstResponseByte: func() { a.far.mark(func(r *reach) { r.answered = true }) },
	})
	req, err := http.NewRequestWithContext(rctx, q.method, q.url, bytes.NewReader(q.body))
	if err != nil {
		a.dog.stop()
		return nil, a.fault(fault.InvalidInput, "", nil)
	}
	req.Header.Set("User-Agent", "galley")
	req.Header.Set("Accept", q.accept)
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.cfg.Header {
		req.Header[name] = values
	}
	switch {
	case key == "":
	case c.cfg.Authorize != nil:
		c.cfg.Authorize(req.Header, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	a.req = req
	if err := a.record(q); err != nil {
		a.dog.stop()
		return nil, err
	}
	// The proxy's password never reaches the provider.
	a.red.inWords(login.password)
	a.dog.set(c.cfg.Timers.Connect, errConnect, false)
	return a, nil
}

// record tells the send log what is about to leave. What it cannot keep is not
// sent.
func (a *attempt) record(q asking) error {
	if a.c.cfg.Recorder == nil {
		return nil
	}
	s := Sending{Op: q.op, Method: q.method, URL: a.red.Words(q.url), Body: q.body}
	if a.c.proxy != nil {
		s.Proxy = a.c.proxy.Host
	}
	id, err := a.c.cfg.Recorder.Begin(a.ctx, s)
	if err != nil {
		if gone := a.cancelled(); gone != nil {
			return gone
		}
		return fault.From(err)
	}
	a.id, a.recorded = id, true
	return nil
}

// send sends the request. An answer that is no success is a fault.
func (a *attempt) send() (*http.Response, error) {
	res, err := a.c.roundTrip(a.req)
	if err != nil {
		return nil, a.sendFault(err)
	}
	a.status = res.StatusCode
	res.Body = &countedBody{ReadCloser: res.Body, n: &a.received}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer letGo(res.Body)
		return nil, a.statusFault(res)
	}
	return res, nil
}

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser
	n *int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.n += int64(n)
	return n, err
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
	if key == "" && !c.cfg.KeyOptional && !IsLoopback(c.name) {
		return "", none
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return "", &fault.Error{Code: fault.KeyMalformed, Op: op, Detail: fmt.Sprintf("U+%04X", r)}
		}
	}
	return key, nil
}

// end stops the timers, lets the connection go and tells the send log how it
// went.
func (a *attempt) end(err error) {
	a.dog.stop()
	if a.recorded {
		a.recorded = false
		a.c.cfg.Recorder.End(a.id, Outcome{Status: a.status, Code: fault.CodeOf(err), Received: a.received})
	}
}

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
	switch cause := context.Cause(a.req.Context()); {
	case errors.Is(cause, errConnect) && a.c.proxy != nil:
		// It, or what it was to reach, did not answer: it is where to look.
		return &fault.Error{Code: fault.Proxy, Op: a.op, Detail: a.c.proxy.Host, Err: errConnect}
	case errors.Is(cause, errConnect), errors.Is(cause, errFirst):
		return a.fault(fault.Timeout, "", cause)
	case errors.Is(cause, errSilence):
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
	if why := refusal(code, api, a.optional); why != nil {
		f.Err = why
	}
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
	if s == "" && words != "" {
		s = "error" // so that it can be told where the words begin
	}
	if words != "" {
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
