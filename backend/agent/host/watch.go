package host

import (
	"context"
	"encoding/json"
	"time"

	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

const (
	// dialTime is how long the greeting of a holder may take.
	dialTime = 5 * time.Second
	// lookPause is how long a host waits before it looks again who holds the
	// agent, when the holder does not answer.
	lookPause = 200 * time.Millisecond
)

// watch is a client of the process that holds the agent until the connection to
// it ends. Who holds the agent then is to be looked at anew.
func (h *Host) watch() {
	ctx, cancel := context.WithTimeout(h.life, dialTime)
	conn, hello, err := h.cfg.Dial(ctx, rpc.Handler{Request: h.serveHolder, Notify: h.notify})
	cancel()
	if err != nil {
		h.log.Debug("holder of the agent not reached", "err", err)
		h.setConn(nil, true)
		h.setElsewhere(Runner{Status: Elsewhere, Code: fault.RunnerGone})
		select {
		case <-time.After(lookPause):
		case <-h.life.Done():
		}
		return
	}
	h.log.Info("agent held elsewhere", "kind", hello.Kind, "pid", hello.PID)
	err = h.follow(conn, hello)
	h.log.Info("holder of the agent left", "err", err)
	h.setConn(nil, h.life.Err() == nil)
	if err := conn.Close(); err != nil {
		h.log.Debug("close connection", "err", err)
	}
	h.setElsewhere(Runner{Status: Elsewhere, Code: fault.RunnerGone, Holder: hello.Kind})
	h.forgetRuns()
}

// follow stays with a holder until the connection ends.
func (h *Host) follow(conn *rpc.Conn, hello wire.HelloResult) error {
	h.setConn(conn, true)
	r := Runner{Status: Elsewhere, PID: hello.PID, Holder: hello.Kind}
	// It may hang while it is asked for the state: that is asked beside this
	// loop, which pings.
	lags, joined := h.lags, make(chan fault.Code, 1)
	join := func() {
		lags = nil
		h.wg.Go(func() { joined <- h.join(conn) })
	}
	if r.Code = codeOf(hello.Runner); r.Code == "" {
		join()
	} else {
		h.setElsewhere(r)
	}
	tick := time.NewTicker(h.cfg.PingEvery)
	defer tick.Stop()
	clock := h.newClock()
	for {
		select {
		case <-conn.Done():
			return rpc.ErrClosed
		case <-h.life.Done():
			return h.life.Err()
		case <-h.restart: // it is not ours to restart
		case <-lags:
			join()
		case r.Code = <-joined:
			lags = h.lags
			h.setElsewhere(r)
		case <-tick.C:
			if err := h.ping(conn, clock.slept()); err != nil {
				return err
			}
		}
	}
}

// join subscribes with a holder; the code says why it cannot be followed now.
func (h *Host) join(conn *rpc.Conn) fault.Code {
	ctx, cancel := context.WithTimeout(h.life, openTime)
	defer cancel()
	err := h.attach(ctx, conn)
	if err == nil {
		return ""
	}
	h.log.Info("holder of the agent has no Runner", "code", fault.CodeOf(err))
	if code := fault.CodeOf(err); hopeless(code) {
		return code
	}
	return fault.RunnerGone
}

// holderTells takes where the Runner of the holder stands.
func (h *Host) holderTells(s wire.RunnerStatus) {
	h.mu.Lock()
	r, watching := h.runner, h.watching
	h.mu.Unlock()
	if !watching {
		return
	}
	r.Code = codeOf(s)
	if r.Code == "" {
		h.lag() // what happened meanwhile is fetched first
		return
	}
	h.setElsewhere(r)
}

// codeOf is why a holder's Runner cannot be used; empty when it can.
func codeOf(s wire.RunnerStatus) fault.Code {
	switch {
	case Status(s.Status) == Ready:
		return ""
	case hopeless(fault.Code(s.Code)):
		return fault.Code(s.Code)
	}
	return fault.RunnerGone
}

// setElsewhere is setRunner for a state that may be the one there is.
func (h *Host) setElsewhere(r Runner) {
	h.mu.Lock()
	same := h.runner
	h.mu.Unlock()
	r.Restarts = same.Restarts
	if r != same {
		h.setRunner(r)
	}
}

// serveHolder answers the holder, which asks for nothing but a sign of life.
func (h *Host) serveHolder(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == wire.MethodPing {
		return struct{}{}, nil
	}
	return nil, rpc.ErrNoMethod
}

// Wire is the state of the Runner as clients of the socket get it.
func (r Runner) Wire() wire.RunnerStatus {
	return wire.RunnerStatus{Status: string(r.Status), Code: string(r.Code), PID: r.PID, Restarts: r.Restarts}
}
