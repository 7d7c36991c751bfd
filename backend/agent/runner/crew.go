package runner

import (
	"sync"
	"time"
)

// crew owns goroutines that may be started at any time until its end.
type crew struct {
	wg sync.WaitGroup

	// mu guards over: nothing starts any more.
	mu   sync.Mutex
	over bool
}

// start runs f in a goroutine of the crew and reports whether it did.
func (c *crew) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.wg.Go(f)
	return true
}

// end lets nothing start any more and waits for what runs.
func (c *crew) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.wg.Wait()
}

// answers counts the requests of the host that have no answer yet.
type answers struct {
	// mu guards what follows; none is closed when the count is 0 and made anew
	// when it is not.
	mu   sync.Mutex
	open int
	none chan struct{}
}

// begin counts a request, until the function it returns is called.
func (a *answers) begin() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == 0 {
		a.none = make(chan struct{})
	}
	a.open++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open--; a.open == 0 {
			close(a.none)
		}
	}
}

// wait waits until all have their answers, for a while at most.
func (a *answers) wait(limit time.Duration) {
	a.mu.Lock()
	none, open := a.none, a.open
	a.mu.Unlock()
	if open == 0 {
		return
	}
	select {
	case <-none:
	case <-time.After(limit):
	}
}
