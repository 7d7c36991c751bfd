package host

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// maxReplay is how many events the Runner brings along with a state.
const maxReplay = 1000

// Subscription is one reader of what happens. It may be as slow as it likes:
// previews merge, and where events pile up it is told by a resync to fetch the
// state anew. State may be called from any goroutine, Next from one.
type Subscription struct {
	h    *Host
	feed *feed.Feed
	// changed holds a token when the Runner's state should be looked at again.
	changed chan struct{}
	// over is closed when the Host has ended.
	over chan struct{}
	// begun says that the reader has a state; guarded by h.attaching.
	begun bool
}

// Subscribe makes a reader. It gets nothing before its first State.
func (h *Host) Subscribe() *Subscription {
	s := &Subscription{h: h, feed: feed.New(0, feed.Limits{}), changed: make(chan struct{}, 1), over: make(chan struct{})}
	s.feed.Hold()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		s.end()
		return s
	}
	h.subs[s] = true
	return s
}

// State returns the state at a seq and, where the reader's cursor after is above
// 0 and at most 1,000 events past, the events between. What follows is handed
// out by Next once follow was called, which is to be done when the reader knows
// the answer; the previews of runs that stream come first, from their start.
func (s *Subscription) State(ctx context.Context, after int64) (res wire.SubscribeResult, follow func(), err error) {
	h := s.h
	h.mu.Lock()
	conn, code := h.conn, h.runner.Code
	h.mu.Unlock()
	if conn == nil {
		return res, nil, goneFault(wire.MethodEventsSubscribe, code)
	}
	if after < 0 {
		return res, nil, fault.New(fault.InvalidInput, wire.MethodEventsSubscribe, nil)
	}
	h.attaching.Lock()
	defer h.attaching.Unlock()
	anew := !s.begun || s.feed.Lagging()
	if anew {
		s.feed.Hold()
	}
	if res, err = h.subscribe(ctx, conn, after); err != nil {
		if anew && s.begun {
			s.feed.Lose()
		}
		return wire.SubscribeResult{}, nil, callFault(wire.MethodEventsSubscribe, err)
	}
	s.begun = true
	res.Events = since(res.Events, after)
	return res, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if anew {
			s.feed.Resume(res.SnapshotSeq, h.whole())
		} else {
			s.feed.Show(h.whole())
		}
	}, nil
}

// since leaves out the events that a cursor covers. More may have been fetched
// than a reader asked for.
func since(events []core.Event, after int64) []core.Event {
	out := []core.Event{}
	for _, e := range events {
		if after > 0 && e.Seq > after {
			out = append(out, e)
		}
	}
	return out
}

// Next waits for what comes next. ok is false when ctx has ended, or when the
// Host or the Subscription is closed and everything was handed out.
func (s *Subscription) Next(ctx context.Context) (it feed.Item, ok bool) { return s.feed.Next(ctx) }

// Lose lets go what waits, as if it were too much: the reader is told to fetch
// the state anew.
func (s *Subscription) Lose() { s.feed.Lose() }

// RunnerChanged holds a token when the Runner's state has changed since the last
// one was taken.
func (s *Subscription) RunnerChanged() <-chan struct{} { return s.changed }

// Over is closed when the Host has ended and nothing more will happen; what
// waits can still be read.
func (s *Subscription) Over() <-chan struct{} { return s.over }

// Close ends the reader: what waits can still be read.
func (s *Subscription) Close() {
	s.h.mu.Lock()
	delete(s.h.subs, s)
	s.h.mu.Unlock()
	s.feed.Close()
}

// endReaders closes every subscription, once what happened is in their feeds.
func (h *Host) endReaders() {
	h.mu.Lock()
	subs := h.subs
	h.subs, h.ended = map[*Subscription]bool{}, true
	h.mu.Unlock()
	for s := range subs {
		s.end()
	}
}

func (s *Subscription) end() {
	s.feed.Close()
	close(s.over)
}

// whole returns the previews of all runs from their start. mu must be held.
func (h *Host) whole() []core.Preview {
	all := make([]core.Preview, 0, len(h.texts))
	for _, m := range h.texts {
		p := m.Preview()
		p.Keep = 0
		all = append(all, p)
	}
	return all
}
