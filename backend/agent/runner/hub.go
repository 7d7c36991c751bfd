package runner

import (
	"context"
	"log/slog"
	"maps"
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
//
// There is no more on the way to it than the pipe takes: what it has not read
// waits in the feed, where previews merge and events are let go past a limit,
// with a resync. Answers to its requests do not pass through here and go before
// what does (package rpc).
type hub struct {
	log     *slog.Logger
	journal core.Journal   // set before anything is served
	wg      sync.WaitGroup // the writer

	// mu guards what follows, and keeps a preview and the whole text it
	// belongs to together.
	mu   sync.Mutex
	feed *feed.Feed // nil before the first subscription
	// sessions are those that the subscriber asked for; nil means all.
	sessions map[core.SessionID]bool
	// live is the whole preview of each run that shows one.
	live    map[core.RunID]*shown
	writing bool
	closed  bool
}

// shown is what a run shows.
type shown struct {
	session core.SessionID
	whole   feed.Merged
}

func newHub(log *slog.Logger) *hub {
	return &hub{log: log, live: map[core.RunID]*shown{}}
}

// wants says whether the subscriber asked for a session. What belongs to none
// is for everybody. mu must be held.
func (h *hub) wants(id core.SessionID) bool {
	return h.sessions == nil || id == "" || h.sessions[id]
}

// event takes a committed event. It is the store's OnEvent.
func (h *hub) event(e core.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.live[e.RunID]; ok && feed.Voids(e, s.whole.Newest()) {
		delete(h.live, e.RunID)
	}
	if h.feed != nil && h.wants(e.SessionID) {
		h.feed.Event(e)
	}
}

// preview takes streamed text of a run of a session.
func (h *hub) preview(session core.SessionID, p core.Preview) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.live[p.RunID]
	if s == nil {
		s = &shown{session: session}
		h.live[p.RunID] = s
	}
	s.whole.Take(p)
	if h.feed != nil && h.wants(session) {
		h.feed.Preview(p)
	}
}

// forget drops the preview of a run that has ended without an event.
func (h *hub) forget(id core.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, id)
}

// whole is every live preview that the subscriber wants, from its start. mu
// must be held.
func (h *hub) whole() []core.Preview {
	list := make([]core.Preview, 0, len(h.live))
	for _, s := range h.live {
		if h.wants(s.session) {
			p := s.whole.Preview()
			p.Keep = 0
			list = append(list, p)
		}
	}
	return list
}

// subscribe answers with the state at a seq; every later event follows the
// answer, and so do the previews of running runs, from their start. A second
// subscription for the same sessions changes nothing of the first: events that
// its client knows from the answer may still come, and are told by their seq.
// One for other sessions takes the place of the first.
func (h *hub) subscribe(ctx context.Context, conn *rpc.Conn, p wire.SubscribeParams) (wire.SubscribeResult, error) {
	var sessions map[core.SessionID]bool
	for _, id := range p.Sessions {
		if sessions == nil {
			sessions = map[core.SessionID]bool{}
		}
		sessions[id] = true
	}
	h.mu.Lock()
	anew := h.feed == nil || h.feed.Lagging() || !maps.Equal(h.sessions, sessions)
	if h.feed == nil {
		h.feed = feed.New(0, feed.Limits{})
	}
	if anew {
		h.feed.Hold() // from here on nothing is missed
		h.sessions = sessions
	}
	f := h.feed
	h.mu.Unlock()

	res, err := h.state(ctx, p.AfterSeq, sessions)
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

// state reads the snapshot and the events before it that a cursor lacks. Where
// both together do not fit into a line the events are left out, as where there
// are too many: the client knows its cursor by the snapshot's.
func (h *hub) state(ctx context.Context, after int64, sessions map[core.SessionID]bool) (wire.SubscribeResult, error) {
	res := wire.SubscribeResult{Events: []core.Event{}}
	var err error
	if res.Snapshot, res.SnapshotSeq, err = h.journal.Snapshot(ctx); err != nil {
		return res, err
	}
	if sessions != nil {
		if res.Snapshot, err = h.only(ctx, res.Snapshot, sessions); err != nil {
			return res, err
		}
	}
	room := fitState(&res.Snapshot)
	if after <= 0 {
		return res, nil
	}
	for at := after; at < res.SnapshotSeq; {
		page, err := h.journal.EventsAfter(ctx, at, maxReplay)
		if err != nil {
			return res, err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			at = e.Seq
			if e.Seq > res.SnapshotSeq || sessions != nil && e.SessionID != "" && !sessions[e.SessionID] {
				continue
			}
			res.Events = append(res.Events, e)
			room -= sizeOf(e)
			if len(res.Events) > maxReplay || room < 0 {
				res.Events = []core.Event{}
				return res, nil
			}
		}
	}
	return res, nil
}

// only keeps what belongs to some sessions.
func (h *hub) only(ctx context.Context, s core.State, sessions map[core.SessionID]bool) (core.State, error) {
	of := map[core.RunID]core.SessionID{}
	for _, r := range s.Runs {
		of[r.ID] = r.SessionID
	}
	session := func(id core.RunID) (core.SessionID, error) {
		if known, ok := of[id]; ok || id == "" {
			return known, nil
		}
		r, err := h.journal.Run(ctx, id)
		of[id] = r.SessionID
		return r.SessionID, err
	}
	out := core.State{Sessions: []core.Session{}, Runs: []core.Run{}, Proposals: []core.Proposal{}, Approvals: []core.Approval{}}
	for _, x := range s.Sessions {
		if sessions[x.ID] {
			out.Sessions = append(out.Sessions, x)
		}
	}
	for _, r := range s.Runs {
		if sessions[r.SessionID] {
			out.Runs = append(out.Runs, r)
		}
	}
	for _, p := range s.Proposals {
		id, err := session(p.RunID)
		if err != nil {
			return s, err
		}
		if sessions[id] {
			out.Proposals = append(out.Proposals, p)
		}
	}
	for _, a := range s.Approvals {
		id, err := session(a.RunID)
		if err != nil {
			return s, err
		}
		if sessions[id] {
			out.Approvals = append(out.Approvals, a)
		}
	}
	return out, nil
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
			if fault.CodeOf(err) == fault.TooLarge {
				h.log.Warn("event sent without its body", "seq", it.Event.Seq, "type", it.Event.Type)
				err = conn.Notify(wire.NotifyEvent, withoutBody(*it.Event))
			}
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
