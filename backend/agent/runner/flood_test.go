package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/rpc"
)

// flooded serves a hub to a peer that is no rpc.Conn: it writes lines and reads
// them when it likes.
func flooded(t *testing.T, h *hub) (in io.Writer, out *bufio.Reader) {
	t.Helper()
	r1, w1 := pipe(t)
	r2, w2 := pipe(t)
	var server *rpc.Conn
	serving := make(chan struct{})
	server = rpc.New(rpc.Config{Read: r1, Write: w2, Logger: quiet(), ErrorCode: wire.ErrorCode, Handler: rpc.Handler{
		Request: func(ctx context.Context, m string, raw json.RawMessage) (any, error) {
			<-serving
			if m == wire.MethodRunCancel {
				return wire.CancelResult{Receipt: "accepted"}, nil
			}
			return method(m, wrongSubscribe, func(ctx context.Context, p wire.SubscribeParams) (wire.SubscribeResult, error) {
				return h.subscribe(ctx, server, p)
			})(ctx, raw)
		},
	}})
	close(serving)
	t.Cleanup(func() {
		_ = w1.Close()
		_ = r2.Close()
		_ = server.Close()
		h.finish()
		h.wait()
	})
	return w1, bufio.NewReader(r2)
}

func say(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// Under a thousand previews a second that nobody reads, memory stays what the
// text is, a request is taken in and answered at once, and when the client
// reads again the answer stands behind what the pipe held and no more, every
// fact comes, and the text is the newest.
// covers: R7 R10
func TestHub_FloodOfPreviews(t *testing.T) {
	j := &events{}
	h := newHub(quiet())
	h.journal = j
	in, out := flooded(t, h)
	say(t, in, `{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"afterSeq":0}}`)
	if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatal(line, err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	text, facts := "", 0
	for i := range 20_000 {
		next := text + " some words"
		if i%500 == 0 { // a step ends: a fact
			j.commit(h, "r", core.EventRunStarted, 100)
			facts++
			next = "anew"
		}
		keep, add := feed.Between(text, next)
		h.preview("s", core.Preview{RunID: "r", Attempt: 1, Keep: keep, Text: add})
		text = next
	}
	say(t, in, `{"jsonrpc":"2.0","id":2,"method":"run.cancel","params":{}}`)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	got, seqs, bytes, answered := "", []int64{}, 0, -1
	begun := time.Now()
	var took time.Duration
	for answered < 0 || len(seqs) < facts || got != text {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID == 2:
			answered, took = bytes, time.Since(begun)
		case m.Method == wire.NotifyEvent:
			var e core.Event
			_ = json.Unmarshal(m.Params, &e)
			seqs = append(seqs, e.Seq)
		case m.Method == wire.NotifyPreview:
			var p core.Preview
			_ = json.Unmarshal(m.Params, &p)
			got = feed.Apply(got, p)
		}
		bytes += len(line)
	}
	if answered > 512<<10 {
		t.Errorf("the answer stood behind %d bytes", answered)
	}
	t.Logf("bm-14 slow-client-of-the-runner cancel-answered=%s after it reads again, bytes-before-the-answer=%d bytes=%d bar=200ms",
		took.Round(10*time.Microsecond), answered, bytes)
	for i, seq := range seqs {
		if seq != int64(i+1) {
			t.Fatalf("fact %d has seq %d", i, seq)
		}
	}
}

// BenchmarkHub_Preview is the cost of a preview on its way out.
func BenchmarkHub_Preview(b *testing.B) {
	h := newHub(quiet())
	h.journal = &events{}
	h.feed = feed.New(0, feed.Limits{})
	n := 0
	for b.Loop() {
		if n > 64<<10 {
			n = 0
		}
		h.preview("s", core.Preview{RunID: "r", Attempt: 1, Keep: n, Text: " some words"})
		n += 11
	}
}
