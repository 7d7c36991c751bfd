//go:build soak

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/attach"
	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/settings"
)

// soaker is a client of the agent's socket that keeps a cursor, loses its
// connection now and then, and goes on where it was.
type soaker struct {
	name  string
	agent *attach.Agent

	// mu guards what follows; changed is closed and made anew at every change.
	mu      sync.Mutex
	changed chan struct{}
	conn    *rpc.Conn // nil while there is none
	runner  wire.RunnerStatus
	// joined says that the answer of this connection's subscription is in
	// events; what came before waits in early.
	joined bool
	early  []core.Event
	events []core.Event
	cursor int64
	// attached counts connections, again events that the cursor covered.
	attached, again, resyncs int
	wrong                    []string
}

func newSoaker(home settings.Home, name string) *soaker {
	return &soaker{
		name: name, changed: make(chan struct{}),
		agent: attach.NewAgent(attach.AgentConfig{Home: home, Kind: wire.ClientOther, Version: name, Log: quiet()}),
	}
}

func (c *soaker) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits for a condition, which is called with mu held.
func (c *soaker) until(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stay keeps a connection until ctx ends. Whoever drops it is attached anew.
func (c *soaker) stay(ctx context.Context) {
	for ctx.Err() == nil {
		conn, hello, err := c.agent.Dial(ctx, rpc.Handler{Notify: c.notify})
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		c.change(func() { c.conn, c.runner, c.joined, c.early = conn, hello.Runner, false, nil; c.attached++ })
		for ctx.Err() == nil && alive(conn) && !c.join(ctx, conn) {
			pause(ctx, 20*time.Millisecond)
		}
		select {
		case <-conn.Done():
		case <-ctx.Done():
		}
		c.change(func() { c.conn = nil })
		_ = conn.Close() // it has ended, or we do
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func alive(conn *rpc.Conn) bool {
	select {
	case <-conn.Done():
		return false
	default:
		return true
	}
}

// join subscribes at the cursor and takes what the answer brings before what
// came beside it.
func (c *soaker) join(ctx context.Context, conn *rpc.Conn) bool {
	c.mu.Lock()
	after := c.cursor
	c.mu.Unlock()
	var res wire.SubscribeResult
	if err := conn.Call(ctx, wire.MethodEventsSubscribe, wire.SubscribeParams{AfterSeq: after}, &res); err != nil {
		return false
	}
	c.change(func() {
		for _, e := range res.Events {
			c.take(e)
		}
		if c.cursor < res.SnapshotSeq {
			c.wrong = append(c.wrong, fmt.Sprintf("the answer at %d leaves out what came after %d", res.SnapshotSeq, c.cursor))
			c.cursor = res.SnapshotSeq
		}
		for _, e := range c.early {
			c.take(e)
		}
		c.joined, c.early = true, nil
	})
	return true
}

// take adds an event, once. mu must be held.
func (c *soaker) take(e core.Event) {
	switch {
	case e.Seq <= c.cursor:
		c.again++
	case e.Seq != c.cursor+1:
		c.wrong = append(c.wrong, fmt.Sprintf("%d follows %d", e.Seq, c.cursor))
		fallthrough
	default:
		c.cursor = e.Seq
		c.events = append(c.events, e)
	}
}

func (c *soaker) notify(ctx context.Context, method string, raw json.RawMessage) {
	switch method {
	case wire.NotifyEvent:
		var e core.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			c.change(func() { c.wrong = append(c.wrong, err.Error()) })
			return
		}
		c.change(func() {
			if c.joined {
				c.take(e)
			} else {
				c.early = append(c.early, e)
			}
		})
	case wire.NotifyRunner:
		var r wire.RunnerStatus
		if json.Unmarshal(raw, &r) == nil {
			c.change(func() { c.runner = r })
		}
	case wire.NotifyResync:
		// A new connection is the plainest way to subscribe anew.
		c.change(func() { c.resyncs++ })
		c.drop()
	}
}

// drop loses the connection.
func (c *soaker) drop() {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		go func() { _ = conn.Close() }() // also called from its own handler
	}
}

// call makes a call, as often as its connection or the Runner is lost over it:
// commands are idempotent.
func (c *soaker) call(ctx context.Context, method string, params, result any) error {
	for {
		var conn *rpc.Conn
		if err := c.until(ctx, func() bool { conn = c.conn; return conn != nil }); err != nil {
			return err
		}
		err := conn.Call(ctx, method, params, result)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch code := fault.CodeOf(err); {
		case errors.Is(err, rpc.ErrClosed), code == fault.RunnerGone, code == fault.Cancelled, code == fault.Timeout, code == fault.Busy:
			pause(ctx, 20*time.Millisecond)
		default:
			return err
		}
	}
}

// state is where a run stands by the events from a place on. mu must be held.
func (c *soaker) state(run core.RunID, from int) (open *core.Approval, ended bool) {
	for _, e := range c.events[from:] {
		if e.RunID != run {
			continue
		}
		switch e.Type {
		case core.EventApprovalAsked:
			var a core.Approval
			if json.Unmarshal(e.Payload, &a) == nil {
				open = &a
			}
		case core.EventApprovalDecided:
			open = nil
		case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
			ended = true
		}
	}
	return open, ended
}
