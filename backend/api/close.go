package api

import (
	"sync"
	"time"
)

// closeWait is how long a page may take to take note that it is asked whether
// the program may end.
const closeWait = 10 * time.Second

// closing is the question to the page whether the program may end. A page that
// hangs cannot answer, and must not hold the program: what is unsaved is kept as
// drafts then.
type closing struct {
	// end ends the program without a question.
	end func()

	mu sync.Mutex // mu guards what follows
	// timer is nil while no question waits for the page to take note.
	timer *time.Timer
}

// asked says that the page was asked. A question that nobody has taken note of
// goes on: asking again gives a page that hangs no more time.
func (c *closing) asked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		c.timer = time.AfterFunc(closeWait, c.end)
	}
}

// heard says that the page took note: it is the person now who answers.
func (c *closing) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
