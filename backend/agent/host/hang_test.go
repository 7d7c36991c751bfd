package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"galley/backend/agent/wire"
	"galley/backend/rpc"
)

// One that hangs is found out also when it was just asked for the state, by us
// or by a reader who waits as long as it takes.
//
// covers: R2
func TestFollow_FindsOutWhoHangsWhileItIsAsked(t *testing.T) {
	h, err := New(Config{
		Home: t.TempDir(), Command: []string{"none"}, Logger: slog.New(slog.DiscardHandler),
		PingEvery: 5 * time.Millisecond, PingTimeout: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 8)
	ourIn, theirOut := io.Pipe()
	theirIn, ourOut := io.Pipe()
	hung := rpc.New(rpc.Config{
		Read: theirIn, Write: theirOut, Logger: h.log,
		Handler: rpc.Handler{Request: func(ctx context.Context, method string, _ json.RawMessage) (any, error) {
			if method == wire.MethodEventsSubscribe {
				asked <- struct{}{}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	})
	conn := rpc.New(rpc.Config{Read: ourIn, Write: ourOut, Logger: h.log, Handler: rpc.Handler{Notify: h.notify}})
	h.setConn(conn, true)
	reader := make(chan error, 1)
	go func() {
		_, _, err := h.Subscribe().State(context.Background(), 0)
		reader <- err
	}()
	<-asked
	h.lag()
	left := make(chan error, 1)
	go func() {
		left <- h.follow(conn, wire.HelloResult{Kind: wire.ClientWindow, Runner: wire.RunnerStatus{Status: string(Ready)}})
	}()
	select {
	case err := <-left:
		if !errors.Is(err, errHangs) {
			t.Errorf("left by %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody found out that it hangs")
	}
	_, _ = conn.Close(), hung.Close()
	<-reader
	h.wg.Wait()
}
