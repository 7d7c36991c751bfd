package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/rpc"
)

// told makes a Host that is told what happens by the test, in place of a
// Runner: tell passes a notification on, and state is what a subscription finds.
func told(t *testing.T) (h *Host, tell func(method string, v any)) {
	t.Helper()
	h, err := New(Config{Home: t.TempDir(), Command: []string{"none"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut := io.Pipe()
	theirIn, ourOut := io.Pipe()
	runner := rpc.New(rpc.Config{
		Read: theirIn, Write: theirOut, Logger: h.log,
		Handler: rpc.Handler{Request: func(_ context.Context, _ string, raw json.RawMessage) (any, error) {
			var p wire.SubscribeParams
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			res := wire.SubscribeResult{SnapshotSeq: h.cursor, Events: []core.Event{}}
			for seq := p.AfterSeq + 1; p.AfterSeq > 0 && seq <= h.cursor; seq++ {
				res.Events = append(res.Events, core.Event{Seq: seq, Type: core.EventRunStarted, Payload: json.RawMessage("{}")})
			}
			return res, nil
		}},
	})
	conn := rpc.New(rpc.Config{Read: ourIn, Write: ourOut, Logger: h.log, Handler: rpc.Handler{Notify: h.notify}})
	h.setConn(conn, false)
	t.Cleanup(func() { _, _ = conn.Close(), runner.Close() })
	return h, func(method string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		h.notify(t.Context(), method, b)
	}
}

func fact(seq int64, size int) core.Event {
	b, _ := json.Marshal(strings.Repeat("x", size))
	return core.Event{Seq: seq, RunID: "r", Type: core.EventToolChanged, Payload: b}
}

// Each reader has what happened at its own pace: one that does not read costs
// nothing after a while, and the others nothing at all.
//
// covers: R5 R10
func TestSubscription_ASlowReaderCostsTheOthersNothing(t *testing.T) {
	h, tell := told(t)
	quick, slow := h.Subscribe(), h.Subscribe()
	for _, s := range []*Subscription{quick, slow} {
		_, follow, err := s.State(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		follow()
	}
	const n = 20_000
	got := make(chan int64, 64)
	go func() {
		for {
			it, ok := quick.Next(t.Context())
			if !ok {
				close(got)
				return
			}
			if it.Event != nil {
				got <- it.Event.Seq
			}
		}
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	text := 0
	for seq := int64(1); seq <= n; seq++ {
		tell(wire.NotifyEvent, fact(seq, 500))
		tell(wire.NotifyPreview, core.Preview{RunID: "r", Attempt: 1, Keep: text, Text: "word "})
		text += 5
		if g := <-got; g != seq {
			t.Fatalf("the quick reader got %d, want %d", g, seq)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("after %d events and previews, one reader asleep: the heap grew by %d kB", n, grown>>10)
	if grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	it, ok := slow.Next(t.Context())
	if !ok || it.Resync == nil {
		t.Fatalf("the slow reader got %+v", it)
	}
	// It fetches the state anew and goes on from there.
	res, follow, err := slow.State(t.Context(), n-3)
	if err != nil || res.SnapshotSeq != n || len(res.Events) != 3 || res.Events[0].Seq != n-2 {
		t.Fatalf("got %d events up to %d, %v", len(res.Events), res.SnapshotSeq, err)
	}
	tell(wire.NotifyEvent, fact(n+1, 1))
	follow()
	if it, ok := slow.Next(t.Context()); !ok || it.Event == nil || it.Event.Seq != n+1 {
		t.Errorf("got %+v", it)
	}
	// The stream is shown from its start.
	if it, ok := slow.Next(t.Context()); !ok || it.Preview == nil || it.Preview.Keep != 0 || len(it.Preview.Text) != n*5 {
		t.Errorf("got %+v", it)
	}
	quick.Close()
	for range got { // what was left
	}
}

// A reader that comes in the middle gets the state, what it lacks, and nothing
// twice.
//
// covers: R5
func TestSubscription_BeginsInTheMiddle(t *testing.T) {
	h, tell := told(t)
	first := h.Subscribe()
	_, follow, err := first.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	follow()
	for seq := int64(1); seq <= 10; seq++ {
		tell(wire.NotifyEvent, fact(seq, 1))
	}
	second := h.Subscribe()
	tell(wire.NotifyEvent, fact(11, 1)) // before it has a state
	res, follow, err := second.State(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	tell(wire.NotifyEvent, fact(12, 1)) // between the answer and the following
	follow()
	tell(wire.NotifyEvent, fact(13, 1))
	second.Close()
	var seqs []string
	for _, e := range res.Events {
		seqs = append(seqs, fmt.Sprint(e.Seq))
	}
	seqs = append(seqs, "|")
	for {
		it, ok := second.Next(t.Context())
		if !ok {
			break
		}
		seqs = append(seqs, fmt.Sprint(it.Event.Seq))
	}
	if got, want := strings.Join(seqs, " "), "9 10 11 | 12"; got != want && got != want+" 13" {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, _, err := second.State(t.Context(), -1); err == nil {
		t.Error("a cursor below 0 was taken")
	}
}

// A reader of a Host that has ended is told so at once.
func TestSubscription_OfAHostThatEnded(t *testing.T) {
	h, _ := told(t)
	early := h.Subscribe()
	h.endReaders()
	late := h.Subscribe()
	for _, s := range []*Subscription{early, late} {
		select {
		case <-s.Over():
		case <-time.After(10 * time.Second):
			t.Fatal("not told")
		}
		if it, ok := s.Next(t.Context()); ok {
			t.Errorf("got %+v", it)
		}
	}
}

// What was shown of a run that ended in what was skipped is not shown to
// anybody who comes later.
//
// covers: R10
func TestSubscription_ShowsNothingOfWhatWasSkipped(t *testing.T) {
	h, tell := told(t)
	_, follow, err := h.Subscribe().State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	follow()
	tell(wire.NotifyPreview, core.Preview{RunID: "r", Attempt: 1, Text: "words"})
	h.mu.Lock()
	h.catchUp(wire.SubscribeResult{SnapshotSeq: h.cursor + 5000, Events: []core.Event{}})
	shown := h.whole()
	h.mu.Unlock()
	if len(shown) != 0 {
		t.Errorf("still shown: %+v", shown)
	}
}
