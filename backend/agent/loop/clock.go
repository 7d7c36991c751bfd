package loop

import (
	"context"
	"sync"
	"time"
)

// clock ends a run whose time is up. What a person takes to decide about an
// approval is not the run's time: the clock stands meanwhile.
type clock struct {
	// mu guards what follows.
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time
	held  bool
}

// withClock returns a ctx that ends with errTime when the time is up. Its stop
// must be called.
func withClock(ctx context.Context, d time.Duration) (context.Context, *clock, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: d, since: time.Now()}
	c.timer = time.AfterFunc(d, func() { cancel(errTime) })
	return ctx, c, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// hold lets the clock stand until release.
func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A timer that cannot be stopped has gone off.
	if !c.held && c.timer.Stop() {
		c.left -= time.Since(c.since)
		c.held = true
	}
}

// release lets the clock go on.
func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.held, c.since = false, time.Now()
		c.timer.Reset(max(0, c.left))
	}
}
