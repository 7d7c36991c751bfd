//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/bench"
	"galley/backend/rpc"
)

// flood is how many previews one round sends, word what each adds.
const (
	flood = 20_000
	word  = " some words"
)

// serveFlood is a Runner that does nothing but send previews when it is told to
// stop a run.
func serveFlood() error {
	return serve(func(c *rpc.Conn, method string, raw json.RawMessage) (any, error) {
		switch method {
		case wire.MethodInitialize:
			p, err := rpc.Decode[wire.InitializeParams](method, raw)
			return wire.InitializeResult{Protocol: wire.Protocol, BootNonce: p.BootNonce, BootID: "flood", PID: os.Getpid()}, err
		case wire.MethodEventsSubscribe:
			return wire.SubscribeResult{Events: []core.Event{}}, nil
		case wire.MethodPing, wire.MethodShutdown:
			return struct{}{}, nil
		case wire.MethodRunCancel:
			p, err := rpc.Decode[wire.CancelParams](method, raw)
			if err != nil {
				return nil, err
			}
			text := 0
			for range flood {
				err := c.Notify(wire.NotifyPreview, core.Preview{RunID: p.RunID, Attempt: 1, Keep: text, Text: word})
				if err != nil {
					return nil, err
				}
				text += len(word)
			}
			return wire.CancelResult{RunID: p.RunID, Receipt: "accepted"}, nil
		}
		return nil, rpc.ErrNoMethod
	})
}

// previews is what a preview costs from one process to the page of the other,
// beside the same notifications on a bare connection.
func previews(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := start(filepath.Join(dir, "previews"), []string{exe, "flood"}, nil)
	if err != nil {
		return err
	}
	defer p.end()
	n := 0
	var heap uint64
	r, err := bench.Pair{
		ID: "bm-14", Name: fmt.Sprintf("%d previews to the page beside encoding them", flood), Rounds: 10,
		Ours: func() (time.Duration, error) {
			n++
			begun := time.Now()
			_, err := p.Cancel(context.Background(), "c", core.RunID(fmt.Sprint("r", n)))
			if err != nil {
				return 0, err
			}
			err = p.until(func() (bool, error) { return p.text == flood*len(word), nil })
			took := time.Since(begun)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
			p.change(func() { p.text = 0 })
			return took, err
		},
		Peer: func() (time.Duration, error) {
			begun := time.Now()
			for i := range flood {
				b, err := json.Marshal(core.Preview{RunID: "r", Attempt: 1, Keep: i * len(word), Text: word})
				if err != nil {
					return 0, err
				}
				var v core.Preview
				if err := json.Unmarshal(b, &v); err != nil {
					return 0, err
				}
			}
			return time.Since(begun), nil
		},
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	figure("preview", "median="+each(r.Ours[len(r.Ours)/2], flood)+" min="+each(r.Ours[0], flood)+
		fmt.Sprintf(" heap-of-the-host=%dMB", heap>>20))
	return nil
}

// starts is the time from nothing to a Runner that answers and tells its state,
// on a database that is there, beside a child that only answers.
func starts(dir string) error {
	home := filepath.Join(dir, "starts")
	r, err := bench.Pair{
		ID: "bm-14", Name: "Runner start beside a child that answers", Rounds: 12,
		Ours: func() (time.Duration, error) {
			begun := time.Now()
			p, err := start(home, nil, nil)
			took := time.Since(begun)
			if p != nil {
				p.end()
			}
			return took, err
		},
		Peer: func() (time.Duration, error) {
			begun := time.Now()
			p, err := startPeer()
			if err != nil {
				return 0, err
			}
			err = p.echo()
			took := time.Since(begun)
			if end := p.end(); err == nil {
				err = end
			}
			return took, err
		},
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	return nil
}
