package rpc

import "sync"

// rank says what goes first when several messages wait to be written.
type rank int

const (
	// control are replies, calls and cancels.
	control rank = iota
	// data are notifications.
	data
)

// turn lets one message be written at a time, control before data.
type turn struct {
	// mu guards what follows; free is signalled when it changes.
	mu   sync.Mutex
	free sync.Cond
	busy bool
	// waiting counts the control messages whose turn has not come.
	waiting int
}

func newTurn() *turn {
	t := &turn{}
	t.free.L = &t.mu
	return t
}

// take waits until it is the turn of a message of this rank. leave must follow.
func (t *turn) take(r rank) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r == control {
		t.waiting++
		defer func() { t.waiting-- }()
	}
	for t.busy || r == data && t.waiting > 0 {
		t.free.Wait()
	}
	t.busy = true
}

func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	t.free.Broadcast()
}
