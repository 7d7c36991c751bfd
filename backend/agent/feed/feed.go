// Package feed holds what one reader of a run database has not taken yet. A
// Feed stands on each side of the pipe between Runner and host, so that a
// reader that is slow neither blocks who publishes nor makes memory grow (R10).
//
// There are two queues. Committed events are kept in order and none is left
// out; when more wait than the limits allow, all are let go and the reader is
// told once, by a resync, to fetch the state anew. Previews are merged to one
// for each run, and let go with the run's end. Events go first.
//
// A Feed takes an event once: one whose seq is not above the last one's is
// ignored. Any goroutine may publish; one reads.
package feed

import (
	"context"
	"encoding/json"
	"sync"

	"galley/backend/agent/core"
)

// The defaults of Limits.
const (
	DefaultEvents = 4096
	DefaultBytes  = 16 << 20
)

// Limits say how much may wait. A zero field means the default.
type Limits struct {
	// Events is a number of events.
	Events int
	// Bytes is the sum of their payloads. One event is taken whatever its size.
	Bytes int
}

// Item is what Next returns; exactly one field is set.
type Item struct {
	Event   *core.Event
	Preview *core.Preview
	Resync  *Resync
}

// Resync says that events after Seq were let go.
type Resync struct{ Seq int64 }

// Feed is the two queues. New makes one.
type Feed struct {
	limits Limits
	wake   chan struct{} // holds a token when the reader should look again

	// mu guards what follows.
	mu     sync.Mutex
	events []core.Event
	bytes  int
	// last is the seq of the newest event taken or skipped, read of the newest
	// that the reader got.
	last, read int64
	// order lists the runs that have a preview, the oldest first.
	order    []core.RunID
	previews map[core.RunID]*Merged
	held     bool // Hold was called: nothing is handed out
	lagging  bool // events were let go
	told     bool // and the reader was told
	closed   bool
}

// New returns a Feed that takes every event with a seq above after.
func New(after int64, limits Limits) *Feed {
	if limits.Events <= 0 {
		limits.Events = DefaultEvents
	}
	if limits.Bytes <= 0 {
		limits.Bytes = DefaultBytes
	}
	return &Feed{
		limits: limits, wake: make(chan struct{}, 1),
		last: after, read: after, previews: map[core.RunID]*Merged{},
	}
}

// Event adds a committed event. It never blocks.
func (f *Feed) Event(e core.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || e.Seq <= f.last {
		return
	}
	f.last = e.Seq
	if p, ok := f.previews[e.RunID]; ok && Voids(e, p.first) {
		f.forget(e.RunID)
	}
	if f.lagging {
		return
	}
	if len(f.events) > 0 && (len(f.events) >= f.limits.Events || f.bytes+len(e.Payload) > f.limits.Bytes) {
		f.lose()
	} else {
		f.events = append(f.events, e)
		f.bytes += len(e.Payload)
	}
	f.signal()
}

// Lose lets everything go that waits, as if there were too much of it.
func (f *Feed) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose()
	f.held, f.told = false, false
	f.signal()
}

// lose is Lose with mu held.
func (f *Feed) lose() {
	f.events, f.bytes = nil, 0
	f.order = nil
	clear(f.previews)
	f.lagging = true
}

// Voids says whether what p shows is void or replaced by the fact e of the same
// run: its end, an attempt that was withdrawn, or the message that an attempt
// came to. The next attempt's preview can come before the event that ends the
// one before, so that the attempt decides.
func Voids(e core.Event, p core.Preview) bool {
	switch e.Type {
	case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
		return true
	case core.EventAttemptWithdrawn:
		var w core.AttemptWithdrawn
		return json.Unmarshal(e.Payload, &w) == nil && p.Attempt <= w.Attempt
	case core.EventMessageCommitted:
		// What no model said has attempt 0, and ends no preview.
		var m struct {
			Attempt int `json:"attempt"`
		}
		return json.Unmarshal(e.Payload, &m) == nil && m.Attempt > 0 && p.Attempt <= m.Attempt
	default:
		return false
	}
}

// forget lets the preview of a run go. mu must be held.
func (f *Feed) forget(id core.RunID) {
	delete(f.previews, id)
	for i, run := range f.order {
		if run == id {
			f.order = append(f.order[:i], f.order[i+1:]...)
			return
		}
	}
}

// Preview merges p with what waits of its run. It never blocks.
func (f *Feed) Preview(p core.Preview) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.lagging {
		return
	}
	f.preview(p)
	f.signal()
}

// preview merges p in. mu must be held.
func (f *Feed) preview(p core.Preview) {
	m, ok := f.previews[p.RunID]
	if !ok {
		m = &Merged{}
		f.order = append(f.order, p.RunID)
		f.previews[p.RunID] = m
	}
	m.Take(p)
}

// Show replaces what waits of previews by whole ones, for a reader that starts
// in the middle of a stream.
func (f *Feed) Show(whole []core.Preview) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.lagging {
		return
	}
	f.show(whole)
	f.signal()
}

// show is Show with mu held.
func (f *Feed) show(whole []core.Preview) {
	f.order = nil
	clear(f.previews)
	for _, p := range whole {
		f.preview(p)
	}
}

// Hold makes the feed start over: what waits is let go, and what comes is kept
// back until Resume. A reader's state is fetched between the two.
func (f *Feed) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose()
	f.held, f.lagging, f.told = true, false, false
}

// Resume ends Hold for a reader that knows everything up to seq.
func (f *Feed) Resume(seq int64, whole []core.Preview) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.events) > 0 && f.events[0].Seq <= seq {
		f.bytes -= len(f.events[0].Payload)
		f.events = f.events[1:]
	}
	f.last, f.read = max(f.last, seq), seq
	f.held = false
	if !f.lagging {
		f.show(whole)
	}
	f.signal()
}

// Lagging reports whether events were let go since the last Hold.
func (f *Feed) Lagging() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lagging
}

// Next waits for the next item. ok is false when ctx has ended, or when the
// feed is closed and everything that waited was handed out.
func (f *Feed) Next(ctx context.Context) (it Item, ok bool) {
	for {
		it, ok, closed := f.take()
		if ok || closed {
			return it, ok
		}
		select {
		case <-ctx.Done():
			return Item{}, false
		case <-f.wake:
		}
	}
}

func (f *Feed) take() (it Item, ok, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.held:
	case f.lagging:
		if !f.told {
			f.told = true
			return Item{Resync: &Resync{Seq: f.read}}, true, false
		}
	case len(f.events) > 0:
		e := f.events[0]
		f.events[0] = core.Event{}
		f.events = f.events[1:]
		f.bytes -= len(e.Payload)
		f.read = e.Seq
		return Item{Event: &e}, true, false
	case len(f.order) > 0:
		p := f.previews[f.order[0]].Preview()
		delete(f.previews, f.order[0])
		f.order = f.order[1:]
		return Item{Preview: &p}, true, false
	}
	return Item{}, false, f.closed
}

// Close ends the feed: nothing more is taken, what waits can still be read.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.held = false
	f.signal()
}

// signal wakes the reader. mu must be held.
func (f *Feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
