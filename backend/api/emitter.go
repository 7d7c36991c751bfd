package api

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf16"

	"galley/backend/agent/core"
	"galley/backend/text"
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

// maxPayload is the size in bytes over which a committed event travels without
// its body: Wails evaluates each message as a script.
const maxPayload = 32 << 10

// EmitEvent queues a committed event of the Runner.
func (e *Emitter) EmitEvent(ev core.Event) error {
	m := Message{
		Envelope: Envelope{Type: string(ev.Type), Seq: ev.Seq, RunID: string(ev.RunID), SessionID: string(ev.SessionID), AtMs: ev.AtMs},
		Payload:  ev.Payload,
	}
	if len(ev.Payload) > maxPayload {
		var err error
		if m.Payload, m.Ref, err = withoutBody(ev); err != nil {
			return fmt.Errorf("shorten %s: %w", ev.Type, err)
		}
	}
	e.add(m)
	return nil
}

// withoutBody returns the payload of a large event without its body, and false
// where it is the whole: of other types there is nothing to fetch.
func withoutBody(ev core.Event) (payload any, short bool, err error) {
	switch ev.Type {
	case core.EventProposalCreated:
		var p core.Proposal
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return nil, false, err
		}
		p.Patch.Edits, p.Hunks = []text.Edit{}, []core.Hunk{}
		return p, true, nil
	case core.EventMessageCommitted:
		var m core.MessageCommitted
		if err := json.Unmarshal(ev.Payload, &m); err != nil {
			return nil, false, err
		}
		m.Message.Parts = []core.Part{}
		return m, true, nil
	default:
		return ev.Payload, false, nil
	}
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
