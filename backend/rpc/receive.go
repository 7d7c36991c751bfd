package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"galley/backend/fault"
)

// errGivenUp is the cause of a request's ctx when the peer cancelled it.
var errGivenUp = errors.New("the caller gave up")

// notifying marks the ctx of a notification with its Conn: a Call with such a
// ctx cannot wait for the queue it holds up.
type notifying struct{}

// replies collects what a handler wants done after its reply.
type replies struct {
	mu    sync.Mutex
	after []func()
}

// AfterReply has f called once the reply to the request whose ctx this is has
// been written, or could not be. Outside of a request it calls f at once.
func AfterReply(ctx context.Context, f func()) {
	r, ok := ctx.Value(repliesKey{}).(*replies)
	if !ok {
		f()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(r.after, f)
}

// repliesKey is where a request's ctx keeps its *replies.
type repliesKey struct{}

// receiver is the jsonrpc2.Handler: it runs on the reader and only queues.
type receiver struct{ c *Conn }

func (r receiver) Handle(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	if !req.Notif {
		r.c.queueRequest(ctx, req.ID, req.Method, params)
		return
	}
	if req.Method == cancelMethod {
		r.c.cancelRequest(params)
		return
	}
	if r.c.handler.Notify == nil {
		return
	}
	r.c.queue.push(item{bytes: len(params), do: func() { r.c.notify(req.Method, params) }})
}

// onReceive runs on the reader before a reply reaches its caller.
func (c *Conn) onReceive(_ *jsonrpc2.Request, resp *jsonrpc2.Response) {
	if resp == nil || resp.ID.IsString {
		return
	}
	c.mu.Lock()
	handled := c.calls[resp.ID.Num]
	delete(c.calls, resp.ID.Num)
	c.mu.Unlock()
	if handled != nil {
		c.queue.push(item{do: func() { close(handled) }})
	}
}

// work is the one worker.
func (c *Conn) work() {
	for {
		it, ok := c.queue.pop()
		if !ok {
			return
		}
		it.do()
	}
}

func (c *Conn) notify(method string, params json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic in notification", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	c.handler.Notify(context.WithValue(c.life, notifying{}, c), method, params)
}

func (c *Conn) queueRequest(ctx context.Context, id jsonrpc2.ID, method string, params json.RawMessage) {
	c.mu.Lock()
	_, twice := c.requests[id]
	full := c.open >= c.maxReqs
	if !twice && !full {
		ctx, c.requests[id] = context.WithCancelCause(ctx)
		c.open++
	}
	c.mu.Unlock()
	switch {
	case twice:
		c.queue.push(item{do: func() {
			c.refuse(id, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "id in use"})
		}})
	case full:
		c.queue.push(item{do: func() {
			c.refuse(id, &jsonrpc2.Error{Code: codeOverloaded, Message: "overloaded"})
		}})
	default:
		c.queue.push(item{bytes: len(params), do: func() {
			if !c.spawn(func() { c.answer(ctx, id, method, params) }) {
				c.settle(id)
				c.replied()
			}
		}})
	}
}

// refuse answers on the side: a write may block, and the queue must not. It
// waits only when too many refusals do already: a peer that asks and does not
// read is then not read either.
func (c *Conn) refuse(id jsonrpc2.ID, e *jsonrpc2.Error) {
	c.refusals <- struct{}{}
	done := func() { <-c.refusals }
	if !c.spawn(func() {
		defer done()
		c.reply(&jsonrpc2.Response{ID: id, Error: e})
	}) {
		done()
	}
}

// replied frees the place of a request.
func (c *Conn) replied() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

func (c *Conn) cancelRequest(params json.RawMessage) {
	var p cancelParams
	if err := json.Unmarshal(params, &p); err != nil {
		c.log.Warn("bad cancel", "err", fmt.Sprintf("%T", err))
		return
	}
	c.mu.Lock()
	cancel := c.requests[p.ID]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errGivenUp)
	}
}

// settle forgets a request of the peer and frees its context.
func (c *Conn) settle(id jsonrpc2.ID) {
	c.mu.Lock()
	cancel := c.requests[id]
	delete(c.requests, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

func (c *Conn) answer(ctx context.Context, id jsonrpc2.ID, method string, params json.RawMessage) {
	after := &replies{}
	result, err := c.call(context.WithValue(ctx, repliesKey{}, after), method, params)
	resp := &jsonrpc2.Response{ID: id}
	if err == nil {
		err = resp.SetResult(result)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), errGivenUp) && errors.Is(err, ctx.Err()) {
			err = fault.New(fault.Cancelled, method, err)
		}
		resp.Result, resp.Error = nil, c.encodeError(method, err)
	}
	c.settle(id)
	c.reply(resp)
	c.replied()
	after.mu.Lock()
	fs := after.after
	after.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

// call runs the handler and turns a panic into an error.
func (c *Conn) call(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic in request", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, method, errPanic)
		}
	}()
	if c.handler.Request == nil {
		return nil, ErrNoMethod
	}
	return c.handler.Request(ctx, method, params)
}

func (c *Conn) reply(resp *jsonrpc2.Response) {
	c.turn.take(control)
	defer c.turn.leave()
	err := c.conn.SendResponse(c.life, resp)
	if fault.CodeOf(err) == fault.TooLarge {
		// The peer would wait for ever.
		err = c.conn.SendResponse(c.life, &jsonrpc2.Response{ID: resp.ID, Error: c.encodeError("reply", err)})
	}
	if err != nil {
		c.log.Debug("reply not sent", "err", c.sendFailed("reply", err))
	}
}
