package host

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// What is remembered of commands is bounded by what it holds.
//
// covers: R10
func TestTasks_RememberWithinBounds(t *testing.T) {
	var known tasks
	text := strings.Repeat("x", 7<<20)
	for i := range 100 {
		known.put(core.CommandID(strconv.Itoa(i)), submission{params: wire.SubmitParams{Snapshot: &core.Snapshot{Text: text}}})
		if known.bytes > maxTaskBytes || len(known.known) != len(known.order) {
			t.Fatalf("%d bytes in %d and %d commands", known.bytes, len(known.known), len(known.order))
		}
	}
	if _, ok, err := known.get("99", [32]byte{}); !ok || err != nil {
		t.Errorf("the last one is not known: %v", err)
	}
	for _, id := range append([]core.CommandID{}, known.order...) {
		known.drop(id)
	}
	if known.bytes != 0 || len(known.known) != 0 {
		t.Errorf("%d bytes in %d commands are left", known.bytes, len(known.known))
	}
}

// A command that comes twice at the same time is made a submission of once.
//
// covers: R4
func TestTask_SentTwiceAtTheSameTime(t *testing.T) {
	h, err := New(Config{Home: t.TempDir(), Command: []string{"none"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	made := 0
	h.cfg.Complete = func(_ context.Context, p wire.TaskParams) (wire.SubmitParams, error) {
		mu.Lock()
		made++
		mu.Unlock()
		runtime.Gosched()
		return wire.SubmitParams{CommandID: p.CommandID}, nil
	}
	ourIn, theirOut := io.Pipe()
	theirIn, ourOut := io.Pipe()
	runner := rpc.New(rpc.Config{
		Read: theirIn, Write: theirOut, Logger: h.log,
		Handler: rpc.Handler{Request: func(context.Context, string, json.RawMessage) (any, error) {
			return wire.SubmitResult{RunID: "r"}, nil
		}},
	})
	conn := rpc.New(rpc.Config{Read: ourIn, Write: ourOut, Logger: h.log})
	defer func() { _, _ = conn.Close(), runner.Close() }()
	h.setConn(conn, false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if res, err := h.SubmitTask(t.Context(), wire.TaskParams{CommandID: "c", Input: "do"}); err != nil || res.RunID != "r" {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	// Who waits can give up.
	end, err := h.tasks.turn(t.Context(), "op", "d")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.tasks.turn(ctx, "op", "d"); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
}
