package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// events is a journal that holds events only.
type events struct {
	core.Journal
	mu   sync.Mutex
	list []core.Event
	// during runs inside of Snapshot, after it was taken.
	during func()
}

func (j *events) Snapshot(context.Context) (core.State, int64, error) {
	j.mu.Lock()
	seq := int64(len(j.list))
	during := j.during
	j.during = nil
	j.mu.Unlock()
	if during != nil {
		during()
	}
	return core.State{Sessions: []core.Session{}, Runs: []core.Run{}, Proposals: []core.Proposal{}}, seq, nil
}

func (j *events) EventsAfter(_ context.Context, after int64, limit int) ([]core.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rest := j.list[min(int(after), len(j.list)):]
	return rest[:min(limit, len(rest))], nil
}

// commit adds an event and publishes it.
func (j *events) commit(h *hub, run core.RunID, typ core.EventType, size int) {
	j.mu.Lock()
	e := core.Event{
		Seq: int64(len(j.list) + 1), RunID: run, Type: typ,
		Payload: json.RawMessage(fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", size))),
	}
	j.list = append(j.list, e)
	j.mu.Unlock()
	h.event(e)
}

// client is the host's side of a hub. gate holds up whatever it is told.
type client struct {
	conn *rpc.Conn

	mu      sync.Mutex
	changed chan struct{}
	gate    chan struct{}
	seqs    []int64
	resyncs []int64
	text    map[core.RunID]string
	order   []string
}

func connect(t *testing.T, h *hub) *client {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{changed: make(chan struct{}), text: map[core.RunID]string{}}
	var server *rpc.Conn
	serving := make(chan struct{})
	server = rpc.New(rpc.Config{Read: r1, Write: w2, Logger: quiet(), ErrorCode: wire.ErrorCode, Handler: rpc.Handler{
		Request: func(ctx context.Context, m string, raw json.RawMessage) (any, error) {
			<-serving
			return method(m, wrongSubscribe, func(ctx context.Context, p wire.SubscribeParams) (wire.SubscribeResult, error) {
				return h.subscribe(ctx, server, p)
			})(ctx, raw)
		},
	}})
	close(serving)
	c.conn = rpc.New(rpc.Config{Read: r2, Write: w1, Logger: quiet(), Handler: rpc.Handler{Notify: c.notify}})
	t.Cleanup(func() {
		_ = c.conn.Close()
		h.finish()
		_ = server.Close()
		h.wait()
	})
	return c
}

func (c *client) notify(_ context.Context, m string, raw json.RawMessage) {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m {
	case wire.NotifyEvent:
		var e core.Event
		_ = json.Unmarshal(raw, &e)
		c.seqs = append(c.seqs, e.Seq)
		c.order = append(c.order, fmt.Sprint(e.Seq))
	case wire.NotifyPreview:
		var p core.Preview
		_ = json.Unmarshal(raw, &p)
		c.text[p.RunID] = feed.Apply(c.text[p.RunID], p)
		c.order = append(c.order, "preview")
	case wire.NotifyResync:
		var r wire.Resync
		_ = json.Unmarshal(raw, &r)
		c.resyncs = append(c.resyncs, r.Seq)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *client) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(60 * time.Second)
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

func (c *client) subscribe(t *testing.T, after int64) wire.SubscribeResult {
	t.Helper()
	var res wire.SubscribeResult
	if err := c.conn.Call(within(t), wire.MethodEventsSubscribe, wire.SubscribeParams{AfterSeq: after}, &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// What is committed before, while and after a subscription is answered comes
// exactly once, whatever the cursor.
// covers: R5
func TestHub_NoGapNoRepeat(t *testing.T) {
	for _, after := range []int64{0, 1, 5, 10} {
		j := &events{}
		h := newHub(quiet())
		h.journal = j
		for range 10 {
			j.commit(h, "r", core.EventRunStarted, 0)
		}
		j.during = func() {
			for range 3 {
				j.commit(h, "r", core.EventRunStarted, 0)
			}
		}
		c := connect(t, h)
		res := c.subscribe(t, after)
		if res.SnapshotSeq != 10 {
			t.Fatalf("snapshot at %d", res.SnapshotSeq)
		}
		wantEvents := 10 - int(after)
		if after == 0 {
			wantEvents = 0
		}
		if len(res.Events) != wantEvents {
			t.Errorf("after %d: %d events", after, len(res.Events))
		}
		j.commit(h, "r", core.EventRunStarted, 0)
		c.subscribe(t, 14) // a second one disturbs nothing
		j.commit(h, "r", core.EventRunStarted, 0)
		c.until(t, "event 15", func() bool { return len(c.seqs) > 0 && c.seqs[len(c.seqs)-1] == 15 })
		if got := fmt.Sprint(c.seqs); got != "[11 12 13 14 15]" {
			t.Errorf("after %d: got %s", after, got)
		}
	}
}

// A client that does not read is let lag instead of filling memory, is told so
// once, and goes on from its cursor.
// covers: R5 R10
func TestHub_LaggingClient(t *testing.T) {
	j := &events{}
	h := newHub(quiet())
	h.journal = j
	c := connect(t, h)
	c.subscribe(t, 0)
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	const n = 10_000
	for range n {
		j.commit(h, "r", core.EventRunStarted, 2000)
	}
	if !h.feed.Lagging() {
		t.Fatal("20 MB wait")
	}
	close(gate)
	c.until(t, "resync", func() bool { return len(c.resyncs) == 1 })
	c.mu.Lock()
	last := c.seqs[len(c.seqs)-1]
	if c.resyncs[0] != last {
		t.Errorf("resync after %d, the last event was %d", c.resyncs[0], last)
	}
	c.mu.Unlock()
	res := c.subscribe(t, last)
	if res.SnapshotSeq != n || len(res.Events) != 0 {
		t.Errorf("snapshot at %d with %d events", res.SnapshotSeq, len(res.Events))
	}
	j.commit(h, "r", core.EventRunStarted, 0)
	c.until(t, "the next event", func() bool { return c.seqs[len(c.seqs)-1] == n+1 })
	if len(c.resyncs) != 1 || len(c.seqs) != int(last)+1 {
		t.Errorf("%d resyncs, %d events", len(c.resyncs), len(c.seqs))
	}
}

// Events overtake previews that wait, and a late client gets the whole preview.
// covers: R10
func TestHub_Previews(t *testing.T) {
	j := &events{}
	h := newHub(quiet())
	h.journal = j
	h.preview("s", core.Preview{RunID: "r", Attempt: 1, Text: "one "})
	h.preview("s", core.Preview{RunID: "r", Attempt: 1, Keep: 4, Text: "two"})
	h.preview("s", core.Preview{RunID: "gone", Attempt: 1, Text: "x"})
	j.commit(h, "gone", core.EventRunSucceeded, 0)
	c := connect(t, h)
	c.subscribe(t, 0)
	c.until(t, "whole preview", func() bool { return c.text["r"] == "one two" })
	if _, there := c.text["gone"]; there {
		t.Error("the preview of a run that ended came")
	}
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate, c.order = gate, nil
	c.mu.Unlock()
	text := "one two"
	for i := range 20_000 {
		next := text + " word"
		if i%7 == 0 {
			next = "again"
		}
		keep, add := feed.Between(text, next)
		h.preview("s", core.Preview{RunID: "r", Attempt: 1, Keep: keep, Text: add})
		text = next
	}
	j.commit(h, "r", core.EventRunCancelling, 0)
	close(gate)
	c.until(t, "the newest text and the event", func() bool {
		return c.text["r"] == text && len(c.seqs) == 1
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) > 15_000 {
		t.Errorf("%d previews were sent", len(c.order))
	}
}

func TestHub_RefusesWhatItCannotDo(t *testing.T) {
	h := newHub(quiet())
	h.journal = &events{}
	c := connect(t, h)
	for _, p := range []wire.SubscribeParams{{AfterSeq: -1}, {Sessions: []core.SessionID{"a b"}}} {
		err := c.conn.Call(within(t), wire.MethodEventsSubscribe, p, nil)
		if fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%+v: got %v", p, err)
		}
	}
}
