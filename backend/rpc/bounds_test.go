package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"time"
)

// A peer that asks and asks and does not read is not read either: what it can
// make us keep is bounded, whether its requests are answered or refused.
//
// covers: R10
func TestConn_APeerThatDoesNotRead(t *testing.T) {
	for name, slow := range map[string]bool{"answered": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			leave := make(chan struct{})
			c := New(Config{
				Read: ours, Write: ours, Logger: slog.New(slog.DiscardHandler), MaxRequests: 8,
				Handler: Handler{Request: func(context.Context, string, json.RawMessage) (any, error) {
					if slow {
						<-leave
					}
					return "answer", nil
				}},
			})
			before := runtime.NumGoroutine()
			if err := theirs.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; n < 100_000; n++ {
				if _, err := fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", n); err != nil {
					break
				}
			}
			if n == 100_000 {
				t.Error("everything is taken in")
			}
			if grown := runtime.NumGoroutine() - before; grown > 40 {
				t.Errorf("%d requests made %d goroutines", n, grown)
			}
			close(leave)
			ended := make(chan error, 1)
			go func() { ended <- c.Close() }()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the end waits for the peer")
			}
			_ = theirs.Close()
		})
	}
}
