package host

import (
	"context"
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// State is sessions, runs and open proposals at Seq.
type State struct {
	core.State
	Seq int64
}

// State returns the state at a seq, for the reader of the callbacks. Every later
// event follows through OnEvent, and the previews of runs that stream come again
// from their start, so that a page that has just begun can show them.
func (h *Host) State(ctx context.Context) (State, error) {
	res, follow, err := h.page.State(ctx, 0)
	if err != nil {
		return State{}, err
	}
	follow()
	return State{State: res.Snapshot, Seq: res.SnapshotSeq}, nil
}

// attach subscribes to what follows what is known.
func (h *Host) attach(ctx context.Context, conn *rpc.Conn) error {
	h.attaching.Lock()
	defer h.attaching.Unlock()
	_, err := h.subscribe(ctx, conn, 0)
	return err
}

// subscribe asks for the state and for the events after what is known, and after
// another cursor where that is given and not long past, and passes these on
// before any that come later. attaching must be held.
func (h *Host) subscribe(ctx context.Context, conn *rpc.Conn, after int64) (wire.SubscribeResult, error) {
	h.mu.Lock()
	h.hold = true
	p := wire.SubscribeParams{AfterSeq: h.cursor}
	if after > 0 && after < h.cursor && h.cursor-after <= maxReplay {
		p.AfterSeq = after
	}
	h.mu.Unlock()
	var res wire.SubscribeResult
	err := conn.Call(ctx, wire.MethodEventsSubscribe, p, &res)

	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.held
	h.held, h.hold = nil, false
	if err == nil {
		h.catchUp(res)
	}
	for _, e := range held {
		h.take(e)
	}
	return res, err
}

// catchUp passes on what an answer brings. mu must be held.
func (h *Host) catchUp(res wire.SubscribeResult) {
	for _, e := range res.Events {
		h.take(e)
	}
	if h.cursor < res.SnapshotSeq {
		// More happened than an answer brings along, or we know nothing yet.
		if h.known {
			h.lose()
		}
		h.cursor = res.SnapshotSeq
		// What was shown may be void by what was skipped. What still streams
		// comes again from its start.
		clear(h.texts)
	}
	h.known = true
	clear(h.runs)
	for _, r := range res.Snapshot.Runs {
		if !r.State.Final() {
			h.runs[r.ID] = r
		}
	}
}

// lose has every reader start over. mu must be held.
func (h *Host) lose() {
	for s := range h.subs {
		s.feed.Lose()
	}
}

// notify takes what the Runner tells.
func (h *Host) notify(_ context.Context, method string, params json.RawMessage) {
	var err error
	switch method {
	case wire.NotifyEvent:
		var e core.Event
		if err = json.Unmarshal(params, &e); err == nil {
			h.event(e)
		}
	case wire.NotifyPreview:
		var p core.Preview
		if err = json.Unmarshal(params, &p); err == nil {
			h.preview(p)
		}
	case wire.NotifyResync:
		h.lag()
	case wire.NotifyRunner:
		var r wire.RunnerStatus
		if err = json.Unmarshal(params, &r); err == nil {
			h.holderTells(r)
		}
	}
	if err != nil {
		h.log.Warn("notification not understood", "method", method, "err", fmt.Sprintf("%T", err))
	}
}

// lag wishes for a new subscription.
func (h *Host) lag() {
	select {
	case h.lags <- struct{}{}:
	default:
	}
}

// preview passes streamed text on.
func (h *Host) preview(p core.Preview) {
	h.mu.Lock()
	defer h.mu.Unlock()
	shown, ok := h.texts[p.RunID]
	if !ok {
		shown = &feed.Merged{}
		h.texts[p.RunID] = shown
	}
	shown.Take(p)
	for s := range h.subs {
		s.feed.Preview(p)
	}
}

// event takes one event, behind those that a subscription is about to bring.
func (h *Host) event(e core.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.hold:
		h.take(e)
	case len(h.held) < feed.DefaultEvents:
		h.held = append(h.held, e)
	default:
		h.held = nil
		h.lose()
	}
}

// take passes an event on, once. mu must be held.
func (h *Host) take(e core.Event) {
	if e.Seq <= h.cursor {
		return
	}
	h.cursor = e.Seq
	h.track(e)
	if p, ok := h.texts[e.RunID]; ok && feed.Voids(e, p.Newest()) {
		delete(h.texts, e.RunID)
	}
	for s := range h.subs {
		s.feed.Event(e)
	}
}

// track keeps runs up. mu must be held.
func (h *Host) track(e core.Event) {
	if e.Type == core.EventRunAccepted {
		var r core.Run
		if json.Unmarshal(e.Payload, &r) == nil {
			h.runs[r.ID] = r
		}
		return
	}
	r, ok := h.runs[e.RunID]
	if !ok {
		return
	}
	switch e.Type {
	case core.EventRunStarted, core.EventRunWaiting, core.EventRunResumed, core.EventRunCancelling,
		core.EventRunCancelled, core.EventRunSucceeded, core.EventRunFailed, core.EventRunInterrupted:
	default:
		return
	}
	var c core.RunChanged
	if json.Unmarshal(e.Payload, &c) != nil {
		return
	}
	r.State = c.State
	if c.State.Final() {
		delete(h.runs, e.RunID)
	} else {
		h.runs[e.RunID] = r
	}
}

// forgetRuns says that nobody knows any more what became of the runs; nothing
// is active in a Runner that there is not.
func (h *Host) forgetRuns() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.runs)
	clear(h.texts)
}

// relay calls the callbacks until the feed is closed and empty.
func (h *Host) relay() {
	for {
		it, ok := h.page.Next(context.Background())
		if !ok {
			return
		}
		switch {
		case it.Event != nil:
			if h.cfg.OnEvent != nil {
				h.cfg.OnEvent(*it.Event)
			}
		case it.Preview != nil:
			if h.cfg.OnPreview != nil {
				h.cfg.OnPreview(*it.Preview)
			}
		case it.Resync != nil:
			if h.cfg.OnResync != nil {
				h.cfg.OnResync()
			}
		}
	}
}

// goneFault is what a call gets while there is no Runner.
func goneFault(method string, code fault.Code) error {
	if !hopeless(code) {
		code = fault.RunnerGone
	}
	return &fault.Error{Code: code, Op: method}
}
