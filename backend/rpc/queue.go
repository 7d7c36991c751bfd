package rpc

import "sync"

// item is one thing to be done in order.
type item struct {
	do    func()
	bytes int
}

// queue is a bounded FIFO between the reader, which blocks when it is full, and
// the one worker.
type queue struct {
	maxItems, maxBytes int
	// ended is closed when pop has returned false or drop was called.
	ended chan struct{}

	// mu guards what follows; change is signalled when it changes.
	mu       sync.Mutex
	change   sync.Cond
	items    []item
	bytes    int
	finished bool // nothing more comes
	over     bool // ended is closed
}

func newQueue(maxItems, maxBytes int) *queue {
	q := &queue{maxItems: maxItems, maxBytes: maxBytes, ended: make(chan struct{})}
	q.change.L = &q.mu
	return q
}

// push waits for room and appends it. One item is always taken, whatever its
// size. After finish and drop it is thrown away.
func (q *queue) push(it item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.finished && len(q.items) > 0 &&
		(len(q.items) >= q.maxItems || q.bytes+it.bytes > q.maxBytes) {
		q.change.Wait()
	}
	if q.finished {
		return
	}
	q.items = append(q.items, it)
	q.bytes += it.bytes
	q.change.Broadcast()
}

// pop waits for the next item; ok is false when there will be none.
func (q *queue) pop() (it item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.finished {
		q.change.Wait()
	}
	if len(q.items) == 0 {
		q.end()
		return item{}, false
	}
	it = q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.bytes -= it.bytes
	q.change.Broadcast()
	return it, true
}

// finish says that nothing more comes; what is queued is still handed out.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished = true
	q.change.Broadcast()
}

// drop is finish with what is queued thrown away.
func (q *queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.bytes = nil, 0
	q.finished = true
	q.end()
	q.change.Broadcast()
}

// end closes ended once. mu must be held.
func (q *queue) end() {
	if !q.over {
		q.over = true
		close(q.ended)
	}
}
