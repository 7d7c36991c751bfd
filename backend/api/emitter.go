package api

import (
	"context"
	"sync"
	"unicode/utf16"

	"galley/backend/agent/core"
)

// maxQueued is how many messages may wait for the page. Past it the queue is
// dropped, which leaves a gap in the numbers, so that the page attaches again.
const maxQueued = 4096

// Message is one message to the page.
type Message struct {
	Envelope
	Payload any `json:"payload"`
}

// Emitter sends messages to the page: one goroutine, in order, bounded.
// Adjacent previews of one run that still wait are merged into one.
type Emitter struct {
	send func(Message)

	mu sync.Mutex // mu guards the fields below
	// queue holds what waits; n is the number of the newest message.
	queue []Message
	n     int64
	// open is true once a page has attached: what came before is part of the
	// state that it got.
	open bool
	wake chan struct{}
}

// NewEmitter returns an emitter that hands messages to send, from the goroutine
// that runs [Emitter.Run].
func NewEmitter(send func(Message)) *Emitter {
	return &Emitter{send: send, wake: make(chan struct{}, 1)}
}

// Run sends until ctx ends.
func (e *Emitter) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		for {
			m, ok := e.next()
			if !ok || ctx.Err() != nil {
				break
			}
			e.send(m)
		}
	}
}

func (e *Emitter) next() (Message, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return Message{}, false
	}
	m := e.queue[0]
	e.queue[0] = Message{}
	e.queue = e.queue[1:]
	return m, true
}

// Emit queues a message of the host's own. payload must be the type that
// [Events] names for typ. It never blocks.
func (e *Emitter) Emit(typ string, payload any) {
	e.add(Message{Envelope: Envelope{Type: typ}, Payload: payload})
}

// EmitEvent queues a committed event of the Runner.
func (e *Emitter) EmitEvent(ev core.Event) error {
	envelope, payload, err := forPage(ev)
	if err != nil {
		return err
	}
	e.add(Message{Envelope: envelope, Payload: payload})
	return nil
}

// Gap leaves a gap in the numbers before the next message, upon which the page
// fetches the state anew.
func (e *Emitter) Gap() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
}

// EmitPreview queues streamed text.
func (e *Emitter) EmitPreview(p core.Preview) {
	e.add(Message{Envelope: Envelope{Type: "preview", RunID: string(p.RunID)}, Payload: p})
}

// Open begins to take messages. Before, there is no page to read them.
func (e *Emitter) Open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = true
}

func (e *Emitter) add(m Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		return
	}
	if last := len(e.queue) - 1; last >= 0 {
		if merged, ok := mergePreviews(e.queue[last].Payload, m.Payload); ok {
			e.queue[last].Payload = merged
			return
		}
	}
	e.n++
	if len(e.queue) >= maxQueued {
		e.queue = nil // their numbers are the gap that makes the page attach again
	}
	m.N = e.n
	e.queue = append(e.queue, m)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// mergePreviews composes two previews of the same attempt, a before b.
func mergePreviews(a, b any) (core.Preview, bool) {
	p, ok := a.(core.Preview)
	q, ok2 := b.(core.Preview)
	if !ok || !ok2 || p.RunID != q.RunID || p.Attempt != q.Attempt {
		return core.Preview{}, false
	}
	if q.Keep <= p.Keep {
		return q, true
	}
	units := utf16.Encode([]rune(p.Text))
	keep := min(q.Keep-p.Keep, len(units))
	q.Text = string(utf16.Decode(units[:keep])) + q.Text
	q.Keep = p.Keep
	return q, true
}
