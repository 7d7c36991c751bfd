package runner

import (
	"context"
	"log/slog"
	"sync"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// maxReplay is how many events a subscription brings along.
const maxReplay = 1000

// hub passes committed events and previews on to the one subscriber, the host.
type hub struct {
	log     *slog.Logger
	journal core.Journal   // set before anything is served
	wg      sync.WaitGroup // the writer

	// mu guards what follows, and keeps a preview and the whole text it
	// belongs to together.
	mu   sync.Mutex
	feed *feed.Feed // nil before the first subscription
	// live is the whole preview of each run that shows one.
	live    map[core.RunID]core.Preview
	writing bool
	closed  bool
}

func newHub(log *slog.Logger) *hub {
	return &hub{log: log, live: map[core.RunID]core.Preview{}}
}

// event takes a committed event. It is the store's OnEvent.
func (h *hub) event(e core.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.live[e.RunID]; ok && feed.Voids(e, p) {
		delete(h.live, e.RunID)
	}
	if h.feed != nil {
		h.feed.Event(e)
	}
}

// preview takes streamed text.
func (h *hub) preview(p core.Preview) {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := p
	if before := h.live[p.RunID]; before.Attempt == p.Attempt {
		whole.Text = feed.Apply(before.Text, p)
	}
	whole.Keep = 0
	h.live[p.RunID] = whole
	if h.feed != nil {
		h.feed.Preview(p)
	}
}

// forget drops the preview of a run that has ended without an event.
func (h *hub) forget(id core.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, id)
}

// whole is every live preview, from its start. mu must be held.
func (h *hub) whole() []core.Preview {
	list := make([]core.Preview, 0, len(h.live))
	for _, p := range h.live {
		list = append(list, p)
	}
	return list
}

// subscribe answers with the state at a seq; every later event follows the
// answer, and so do the previews of running runs, from their start. A second
// subscription changes nothing of the first: events that its client knows from
// the answer may still come, and are told by their seq.
func (h *hub) subscribe(ctx context.Context, conn *rpc.Conn, p wire.SubscribeParams) (wire.SubscribeResult, error) {
	if p.AfterSeq < 0 || len(p.Sessions) > 0 {
		return wire.SubscribeResult{}, fault.New(fault.InvalidInput, wire.MethodEventsSubscribe, nil)
	}
	h.mu.Lock()
	anew := h.feed == nil || h.feed.Lagging()
	if h.feed == nil {
		h.feed = feed.New(0, feed.Limits{})
	}
	if anew {
		h.feed.Hold() // from here on nothing is missed
	}
	f := h.feed
	h.mu.Unlock()

	res, err := h.state(ctx, p.AfterSeq)
	if err != nil {
		if anew {
			f.Lose()
		}
		return wire.SubscribeResult{}, err
	}
	rpc.AfterReply(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if anew {
			f.Resume(res.SnapshotSeq, h.whole())
		} else {
			f.Show(h.whole())
		}
		if !h.writing && !h.closed {
			h.writing = true
			h.wg.Go(func() { h.write(conn, f) })
		}
	})
	return res, nil
}

// state reads the snapshot and the events before it that a cursor lacks.
func (h *hub) state(ctx context.Context, after int64) (wire.SubscribeResult, error) {
	res := wire.SubscribeResult{Events: []core.Event{}}
	var err error
	if res.Snapshot, res.SnapshotSeq, err = h.journal.Snapshot(ctx); err != nil {
		return res, err
	}
	if after <= 0 || res.SnapshotSeq-after > maxReplay {
		return res, nil
	}
	events, err := h.journal.EventsAfter(ctx, after, maxReplay)
	if err != nil {
		return res, err
	}
	for _, e := range events {
		if e.Seq <= res.SnapshotSeq {
			res.Events = append(res.Events, e)
		}
	}
	return res, nil
}

// write sends what the feed holds until finish or the host's end.
func (h *hub) write(conn *rpc.Conn, f *feed.Feed) {
	for {
		it, ok := f.Next(context.Background())
		if !ok {
			return
		}
		var err error
		switch {
		case it.Event != nil:
			err = conn.Notify(wire.NotifyEvent, it.Event)
		case it.Preview != nil:
			err = conn.Notify(wire.NotifyPreview, it.Preview)
		case it.Resync != nil:
			h.log.Warn("host lags", "seq", it.Resync.Seq)
			err = conn.Notify(wire.NotifyResync, wire.Resync{Seq: it.Resync.Seq})
		}
		if fault.CodeOf(err) == fault.TooLarge {
			// One event over the line limit must not stop the others: the
			// client fetches the state instead.
			h.log.Error("event too large to send", "seq", seqOf(it))
			f.Lose()
			continue
		}
		if err != nil {
			return
		}
	}
}

func seqOf(it feed.Item) int64 {
	if it.Event == nil {
		return 0
	}
	return it.Event.Seq
}

// finish lets the writer send what waits and end.
func (h *hub) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.feed != nil {
		h.feed.Close()
	}
}

// wait waits for the writer.
func (h *hub) wait() { h.wg.Wait() }
