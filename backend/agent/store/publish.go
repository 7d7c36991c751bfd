package store

import (
	"context"
	"fmt"
	"runtime/debug"

	"galley/backend/agent/core"
)

// publishPage is how many events the publisher reads at a time.
const publishPage = 256

// publish hands committed events to OnEvent in seq order, beginning after a
// seq. It reads them back from the database, so a slow reader costs no memory
// and nothing can be published that is not committed.
func (s *Store) publish(after int64) {
	ctx := context.Background()
	told := false
	for {
		drained := false
		select {
		case <-s.wake:
		case <-s.drained:
			drained = true
		}
		after = s.deliver(ctx, after)
		if f := s.failure.Load(); f != nil && !told {
			told = true
			if s.cfg.OnFail != nil {
				s.guarded("OnFail", func() { s.cfg.OnFail(f, s.committed.Load()) })
			}
		}
		if drained {
			return
		}
	}
}

// deliver publishes up to what is committed and returns the seq it reached.
func (s *Store) deliver(ctx context.Context, after int64) int64 {
	if s.cfg.OnEvent == nil {
		return s.committed.Load()
	}
	for after < s.committed.Load() {
		upTo := s.committed.Load()
		events, err := all(ctx, plain{s.reader}, scanEvent, qEventsBetween, after, upTo, publishPage)
		if err == nil && len(events) == 0 {
			after = upTo // they went with their session
			continue
		}
		if err != nil {
			// A later wake tries again from the same place; a client that
			// needs it sooner reads it by its cursor.
			s.log.Error("read committed events", "after", after, "err", err)
			return after
		}
		for _, e := range events {
			s.guarded("OnEvent", func() { s.cfg.OnEvent(e) })
			after = e.Seq
		}
	}
	return after
}

// guarded keeps a panic of the receiver from ending the publisher.
func (s *Store) guarded(name string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("receiver panicked", "receiver", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// EventsAfter returns at most limit events with seq > after, in order. The
// slice is never nil.
func (s *Store) EventsAfter(ctx context.Context, after int64, limit int) ([]core.Event, error) {
	events, err := all(ctx, plain{s.reader}, scanEvent, qEventsAfter, after, limit)
	if err != nil {
		return nil, readFault("read events", err)
	}
	return events, nil
}
