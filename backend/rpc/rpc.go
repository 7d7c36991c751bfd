// Package rpc makes JSON-RPC 2.0 over a pair of pipes safe to build on. It is
// the only importer of sourcegraph/jsonrpc2 and knows no method but the one
// that cancels a request.
//
// # Order
//
// What the peer sends is handled in the order in which it came. Notifications
// are handled one after another. A request is handled in a goroutine of its
// own, which starts when everything before it has been handled (a notification)
// or has started (a request), so that a request can take long and can call
// back. [Conn.Call] returns after every notification that the peer sent before
// its reply has been handled.
//
// # Bounds
//
// A line has a longest length; what waits to be handled is bounded by number
// and bytes, and a reader that lags stops reading, so that the pipe and then
// the writer feel it; calls that await a reply and requests being handled are
// capped. Nothing here grows with what a peer sends.
//
// # Control before data
//
// One message is written at a time. What waits to be written goes by what it
// is: replies, calls and cancels before notifications, so that no answer waits
// behind a flood of them, only behind the one that is being written.
//
// # End
//
// When the peer goes away or the framing breaks, every call that waits ends
// with [ErrClosed] and the contexts of running requests end; what was received
// before is still handled. Close waits for all of it.
//
// # Failures
//
// A *fault.Error crosses as an error object whose data is {code, detail,
// retryAfterMs}; its cause and its operation stay behind. Any other error of a
// handler crosses as internal and is logged on the side where it happened.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"galley/backend/fault"
)

// ErrClosed says that the connection ended, by either side. Test with
// errors.Is.
var ErrClosed = errors.New("rpc: connection closed")

// ErrNoMethod is what a [Handler] returns for a method it does not know.
var ErrNoMethod = errors.New("rpc: no such method")

// cancelMethod is the notification by which a caller gives up on a request.
const cancelMethod = "$/cancel_request"

// The defaults of Config.
const (
	defaultMaxLine     = 8 << 20
	defaultMaxCalls    = 256
	defaultMaxRequests = 256
	defaultQueueItems  = 1024
	defaultQueueBytes  = 16 << 20
)

// Handler answers what the peer sends. Both functions are called in the order
// described in the package comment. Params are the message's own and may be
// nil. A panic is logged and becomes internal.
type Handler struct {
	// Request answers a request. Its ctx ends when the peer cancels the
	// request or the connection ends. nil knows no method.
	Request func(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Notify takes a notification. It must not be slow, since everything that
	// came later waits for it, and it must not wait for a Call on the same
	// connection. Its ctx ends with Close. nil ignores all.
	Notify func(ctx context.Context, method string, params json.RawMessage)
}

// Config configures a Conn. Read, Write and Logger are needed; the zero value
// of the others means the default.
type Config struct {
	// Read and Write are the two pipes. The Conn closes both, which must end a
	// Read and a Write that block.
	Read  io.ReadCloser
	Write io.WriteCloser

	Handler Handler
	Logger  *slog.Logger

	// MaxLine is the longest line in bytes without its LF (8 MiB).
	MaxLine int
	// MaxCalls is how many of our calls may await a reply, given-up ones that
	// the peer has not answered yet included (256). One more fails as busy.
	MaxCalls int
	// MaxRequests is how many requests of the peer are queued, handled or
	// answered at once (256). One more is refused as overloaded; when as many
	// refusals wait to be written, the peer is read no more until it reads.
	MaxRequests int

	// ErrorCode gives the JSON-RPC error code of a fault; nil gives -32000 for
	// all. What a fault is travels in the data, not in this number.
	ErrorCode func(fault.Code) int
}

// Conn is one connection. Its methods may be called from any goroutine.
type Conn struct {
	conn     *jsonrpc2.Conn
	stream   *stream
	handler  Handler
	log      *slog.Logger
	code     func(fault.Code) int
	maxCalls int
	maxReqs  int

	queue *queue
	turn  *turn
	// life ends with Close, not when the peer goes away.
	life context.Context
	end  context.CancelFunc
	// wg counts the worker, running requests and writes in flight.
	wg     sync.WaitGroup
	nextID atomic.Uint64

	// refusals holds a token for each refusal that is being written.
	refusals chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	closing bool
	// open counts the peer's requests whose reply is not written.
	open int
	// calls are our calls whose reply has not come, by id.
	calls map[uint64]chan struct{}
	// requests are the peer's, queued or running.
	requests map[jsonrpc2.ID]context.CancelCauseFunc
}

// New starts to read and returns the connection.
func New(cfg Config) *Conn {
	life, end := context.WithCancel(context.Background())
	c := &Conn{
		handler:  cfg.Handler,
		log:      cfg.Logger,
		code:     cfg.ErrorCode,
		maxCalls: or(cfg.MaxCalls, defaultMaxCalls),
		maxReqs:  or(cfg.MaxRequests, defaultMaxRequests),
		queue:    newQueue(defaultQueueItems, defaultQueueBytes),
		turn:     newTurn(),
		life:     life,
		end:      end,
		calls:    map[uint64]chan struct{}{},
		requests: map[jsonrpc2.ID]context.CancelCauseFunc{},
	}
	c.refusals = make(chan struct{}, c.maxReqs)
	c.stream = newStream(cfg.Read, cfg.Write, or(cfg.MaxLine, defaultMaxLine), cfg.Logger)
	c.conn = jsonrpc2.NewConn(life, c.stream, receiver{c},
		jsonrpc2.OnRecv(c.onReceive), jsonrpc2.SetLogger(logger{cfg.Logger}))
	// The reader runs already, but only the worker and what it starts use
	// c.conn.
	c.wg.Go(c.work)
	c.wg.Go(func() {
		<-c.conn.DisconnectNotify()
		c.mu.Lock()
		clear(c.calls)
		c.mu.Unlock()
		c.queue.finish()
	})
	return c
}

func or(v, def int) int {
	if v > 0 {
		return v
	}
	return def
}

// Done is closed when the connection has ended, by either side. What was
// received before may still be being handled; Close waits for that.
func (c *Conn) Done() <-chan struct{} { return c.conn.DisconnectNotify() }

// BadLines counts the lines that were no JSON-RPC message.
func (c *Conn) BadLines() int { return int(c.stream.bad.Load()) }

// Close ends the connection and waits until nothing of it runs any more. Where
// the connection still stood, what is queued is dropped; where the peer had
// gone already, queued notifications are handled first. It must not be called
// from a handler.
// Calling it again waits as well.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	select {
	case <-c.conn.DisconnectNotify():
	default:
		c.queue.drop()
		c.end()
	}
	err := c.conn.Close()
	c.wg.Wait()
	c.end()
	if errors.Is(err, jsonrpc2.ErrClosed) {
		return nil
	}
	return err
}

// spawn runs f as part of the connection's life and reports whether it did:
// after Close nothing starts.
func (c *Conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.wg.Go(f)
	return true
}

// Notify sends a notification and returns when it is written, or with
// [ErrClosed]. It blocks while the peer does not read.
func (c *Conn) Notify(method string, params any) error { return c.notifyAs(data, method, params) }

func (c *Conn) notifyAs(r rank, method string, params any) error {
	c.turn.take(r)
	defer c.turn.leave()
	if err := c.conn.Notify(c.life, method, params); err != nil {
		return c.sendFailed(method, err)
	}
	return nil
}

// Call sends a request, waits for its reply and decodes it into result, which
// may be nil. A reply that is an error is returned as a *fault.Error. When ctx
// ends first, the peer is told to give up and the error wraps ctx.Err(). When
// the connection ends first, the error wraps [ErrClosed].
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	id, handled, err := c.reserve(method)
	if err != nil {
		return err
	}
	type sent struct {
		wait jsonrpc2.Waiter
		err  error
	}
	// A write blocks while the peer does not read, so it does not happen here:
	// ctx has to be able to end the call all the same.
	written := make(chan sent, 1)
	ok := c.spawn(func() {
		c.turn.take(control)
		w, err := c.conn.DispatchCall(c.life, method, params, jsonrpc2.PickID(jsonrpc2.ID{Num: id}))
		c.turn.leave()
		if err != nil {
			c.forget(id)
		}
		written <- sent{w, err}
	})
	if !ok {
		c.forget(id)
		return fmt.Errorf("%s: %w", method, ErrClosed)
	}
	var s sent
	select {
	case s = <-written:
	case <-ctx.Done():
		c.spawn(func() {
			if s := <-written; s.err == nil {
				c.giveUp(id)
			}
		})
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
	if s.err != nil {
		return c.sendFailed(method, s.err)
	}
	err = s.wait.Wait(ctx, result)
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		err = decodeError(method, e)
	} else if err != nil {
		switch {
		case errors.Is(err, jsonrpc2.ErrClosed):
			return fmt.Errorf("%s: %w", method, ErrClosed)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			c.spawn(func() { c.giveUp(id) })
			return fmt.Errorf("%s: %w", method, err)
		}
		err = fmt.Errorf("%s: decode result: %w", method, err)
	}
	if ctx.Value(notifying{}) == c {
		return err // the queue stands still as long as we do
	}
	select {
	case <-handled:
	case <-ctx.Done():
	case <-c.queue.ended:
	}
	return err
}

// reserve makes an id and a channel that is closed when everything that came
// before the reply has been handled.
func (c *Conn) reserve(method string) (uint64, chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return 0, nil, fmt.Errorf("%s: %w", method, ErrClosed)
	}
	if len(c.calls) >= c.maxCalls {
		return 0, nil, fault.New(fault.Busy, method, errors.New("too many calls await a reply"))
	}
	id := c.nextID.Add(1)
	handled := make(chan struct{})
	c.calls[id] = handled
	return id, handled, nil
}

func (c *Conn) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

type cancelParams struct {
	ID jsonrpc2.ID `json:"id"`
}

func (c *Conn) giveUp(id uint64) {
	if err := c.notifyAs(control, cancelMethod, cancelParams{jsonrpc2.ID{Num: id}}); err != nil {
		c.log.Debug("cancel not sent", "err", err)
	}
}

// sendFailed closes the connection after a write that failed half-way: the
// stream has no more frames to trust.
func (c *Conn) sendFailed(op string, err error) error {
	if errors.Is(err, jsonrpc2.ErrClosed) {
		return fmt.Errorf("%s: %w", op, ErrClosed)
	}
	if errors.Is(err, errWrite) {
		// Closing fails only when it is closed.
		_ = c.conn.Close()
		return fmt.Errorf("%s: %w: %w", op, ErrClosed, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// logger passes what jsonrpc2 has to say on to slog. It never holds params.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, v ...any) {
	l.log.Debug("jsonrpc2", "msg", fmt.Sprintf(format, v...))
}
