package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// flooder is a Runner without a model: told to begin, it sends a thousand
// previews a second and as many facts until it is told to stop. Its journal is
// a list.
type flooder struct {
	conn  *rpc.Conn
	known chan struct{}
	stop  chan struct{}
	done  sync.WaitGroup

	mu     sync.Mutex
	events []core.Event
}

// flooded is the run that a flooder has.
const flooded = core.RunID("r")

// flood is the whole process of a flooder.
func flood() {
	f := &flooder{known: make(chan struct{}), stop: make(chan struct{})}
	f.conn = rpc.New(rpc.Config{
		Read: os.Stdin, Write: os.Stdout, Logger: slog.New(slog.DiscardHandler), Handler: rpc.Handler{Request: f.serve},
	})
	close(f.known)
	<-f.conn.Done()
}

func (f *flooder) serve(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	<-f.known
	switch method {
	case wire.MethodInitialize:
		p, err := rpc.Decode[wire.InitializeParams](method, raw)
		return wire.InitializeResult{Protocol: wire.Protocol, BootNonce: p.BootNonce, BootID: "flood", PID: os.Getpid()}, err
	case wire.MethodPing:
		return empty{}, nil
	case wire.MethodShutdown:
		rpc.AfterReply(ctx, func() { os.Exit(0) })
		return empty{}, nil
	case wire.MethodEventsSubscribe:
		f.mu.Lock()
		defer f.mu.Unlock()
		return wire.SubscribeResult{SnapshotSeq: int64(len(f.events)), Events: []core.Event{}}, nil
	case wire.MethodSessionEvents:
		p, err := rpc.Decode[wire.SessionEventsParams](method, raw)
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		rest := f.events[p.AfterSeq:]
		n := min(len(rest), p.Limit)
		return wire.SessionEventsResult{Events: rest[:n], More: n < len(rest)}, nil
	case wire.MethodRunSubmit:
		f.done.Go(f.flood)
		return wire.SubmitResult{RunID: flooded, SessionID: "s", State: core.RunRunning}, nil
	case wire.MethodRunCancel:
		close(f.stop)
		f.done.Wait()
		f.fact(core.EventRunCancelled)
		return wire.CancelResult{RunID: flooded, Receipt: "accepted", State: core.RunCancelled}, nil
	}
	return nil, rpc.ErrNoMethod
}

func (f *flooder) fact(typ core.EventType) {
	f.mu.Lock()
	e := core.Event{
		Seq: int64(len(f.events) + 1), SessionID: "s", RunID: flooded, Type: typ, V: 1,
		Payload: json.RawMessage(`{"state":"running","pad":"` + strings.Repeat("x", 100) + `"}`),
	}
	f.events = append(f.events, e)
	f.mu.Unlock()
	_ = f.conn.Notify(wire.NotifyEvent, e) // nobody listens any more
}

func (f *flooder) flood() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	begun, sent, text := time.Now(), 0, 0
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		for ; sent < int(time.Since(begun).Milliseconds()); sent++ {
			select {
			case <-f.stop: // also while it lags behind
				return
			default:
			}
			f.fact(core.EventRunStarted)
			if text > 64<<10 {
				text = 0
			}
			err := f.conn.Notify(wire.NotifyPreview, core.Preview{RunID: flooded, Attempt: 1, Keep: text, Text: " some words"})
			if err != nil {
				return
			}
			text += len(" some words")
		}
	}
}

// A client that reads one line a second under a thousand previews and a thousand
// facts a second: memory stays bounded, a cancel that it sends is carried out and
// answered at once, behind what the socket held and no more, it is told to start
// over, and then gets every fact.
//
// covers: R7 R10
func TestServer_SlowClient(t *testing.T) {
	home := roots(t)
	exe, err := os.Executable()
	try(t, err)
	s := settle(t, home, wire.ClientWindow, func(c *host.Config) { c.Command = []string{exe, "flood"} })
	s.stands(host.Ready)
	slow := cut(t, home)
	try(t, slow.SetDeadline(time.Now().Add(2*time.Minute)))
	if _, code, _ := slow.call("hello", greeting); code != 0 {
		t.Fatal(code)
	}
	if _, code, _ := slow.call(wire.MethodEventsSubscribe, `{"afterSeq":0}`); code != 0 {
		t.Fatal(code)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err = s.Submit(t.Context(), wire.SubmitParams{CommandID: "c", Kind: core.KindConversation, Input: "flood", AllowedTools: []string{}})
	try(t, err)

	cursor, resyncs, text := int64(0), 0, ""
	take := func() (id int) {
		if !slow.r.Scan() {
			t.Fatalf("the connection ended: %v", slow.r.Err())
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
		}
		try(t, json.Unmarshal(slow.r.Bytes(), &m))
		switch m.Method {
		case wire.NotifyEvent:
			var e core.Event
			try(t, json.Unmarshal(m.Params, &e))
			if e.Seq > cursor+1 {
				t.Fatalf("event %d follows %d", e.Seq, cursor)
			}
			cursor = max(cursor, e.Seq)
		case wire.NotifyPreview:
			var p core.Preview
			try(t, json.Unmarshal(m.Params, &p))
			text = feed.Apply(text, p)
		case wire.NotifyResync:
			resyncs++
		}
		return m.ID
	}
	// The page of the holder reads as fast as all this comes; the client takes a
	// line a second until more waits for it than may.
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for enough := false; !enough; {
		<-second.C
		take()
		s.mu.Lock()
		enough = len(s.events) > feed.DefaultEvents+1500
		s.mu.Unlock()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if grown > 32<<20 { // the page of this test keeps all events
		t.Errorf("the heap grew by %d bytes", grown)
	}

	begun := time.Now()
	_, err = fmt.Fprintf(slow, `{"jsonrpc":"2.0","id":77,"method":"run.cancel","params":{"commandId":"x","runId":%q}}`+"\n", flooded)
	try(t, err)
	s.event(flooded, core.EventRunCancelled)
	stopped := time.Since(begun)
	behind := 0
	for take() != 77 {
		behind++
	}
	answered := time.Since(begun)
	if behind > 2000 {
		t.Errorf("the answer stood behind %d lines", behind)
	}
	t.Logf("bm-14 slow-client cancel-stopped=%s cancel-answered=%s lines-before-the-answer=%d heap-grown=%dkB bar=200ms",
		stopped.Round(10*time.Microsecond), answered.Round(10*time.Microsecond), behind, grown>>10)

	for resyncs == 0 {
		take()
	}
	last := s.events[len(s.events)-1].Seq
	if last-cursor < 1000 {
		t.Errorf("only %d facts were let go", last-cursor)
	}
	for cursor < last {
		raw, code, f := slow.call(wire.MethodSessionEvents, fmt.Sprintf(`{"sessionId":"s","afterSeq":%d,"limit":1000}`, cursor))
		if code != 0 {
			t.Fatalf("session.events: %d %s", code, f)
		}
		var page wire.SessionEventsResult
		try(t, json.Unmarshal(raw, &page))
		for _, e := range page.Events {
			if e.Seq != cursor+1 {
				t.Fatalf("event %d follows %d", e.Seq, cursor)
			}
			cursor = e.Seq
		}
	}
	if resyncs != 1 {
		t.Errorf("%d resyncs", resyncs)
	}
	s.gapless()
	if got := s.Runner(); got.Restarts != 0 || got.Code != fault.Code("") {
		t.Errorf("runner %+v", got)
	}
}
