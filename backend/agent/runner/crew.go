package runner

import "sync"

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
