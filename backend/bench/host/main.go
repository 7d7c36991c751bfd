//go:build unix

// Command host measures the agent's two processes: what a committed event, a
// call of a tool, a preview and a start cost, each beside the least that any
// program with a child and a durable log has to do.
//
// The Runner is this same program, and so are the peers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/runner"
	"galley/backend/agent/wire"
	"galley/backend/bench"
	"galley/backend/rpc"
)

func main() {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	var err error
	switch mode {
	case "runner":
		err = serveRunner(os.Args[len(os.Args)-1])
	case "echo":
		err = serveEcho()
	case "flood":
		err = serveFlood()
	default:
		err = measure()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-host:", err)
		os.Exit(1)
	}
}

func measure() error {
	dir, err := os.MkdirTemp(".", ".bench-host-") // on the project's disk, not in memory
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, m := range []func(dir string) error{events, tools, toThePage, previews, starts} {
		if err := m(dir); err != nil {
			return err
		}
	}
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// pollable makes a standard stream one whose close ends a Read that blocks.
func pollable(fd int, name string) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func stdio() (in, out *os.File, err error) {
	if in, err = pollable(0, "stdin"); err != nil {
		return nil, nil, err
	}
	out, err = pollable(1, "stdout")
	return in, out, err
}

func serveRunner(home string) error {
	in, out, err := stdio()
	if err != nil {
		return err
	}
	return runner.Run(context.Background(), runner.Config{Home: home, Stdin: in, Stdout: out, Logger: quiet()})
}

// serveEcho answers every request with its params.
func serveEcho() error {
	return serve(func(_ *rpc.Conn, _ string, params json.RawMessage) (any, error) { return params, nil })
}

// serve answers requests on the standard streams until they end.
func serve(answer func(c *rpc.Conn, method string, params json.RawMessage) (any, error)) error {
	in, out, err := stdio()
	if err != nil {
		return err
	}
	var c *rpc.Conn
	known := make(chan struct{})
	c = rpc.New(rpc.Config{Read: in, Write: out, Logger: quiet(), Handler: rpc.Handler{
		Request: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			<-known
			return answer(c, method, params)
		},
	}})
	close(known)
	<-c.Done()
	return nil
}

// program is a host and what its page gets.
type program struct {
	*host.Host
	mu      sync.Mutex
	events  []event
	runner  host.Runner
	text    int // units shown
	changed chan struct{}
}

// event is an event and when the page had it.
type event struct {
	core.Event
	at time.Time
}

func start(home string, command []string, tools host.Tools) (*program, error) {
	p := &program{changed: make(chan struct{})}
	var err error
	p.Host, err = host.New(host.Config{
		Home: home, Command: command, Logger: quiet(), Tools: tools,
		Credential: func(context.Context, string) (string, error) { return "", errors.New("there is no key") },
		OnEvent:    func(e core.Event) { p.change(func() { p.events = append(p.events, event{e, time.Now()}) }) },
		OnPreview:  func(v core.Preview) { p.change(func() { p.text = v.Keep + len(v.Text) }) },
		OnRunner:   func(r host.Runner) { p.change(func() { p.runner = r }) },
	})
	if err != nil {
		return nil, err
	}
	p.Start()
	return p, p.until(func() (bool, error) {
		if p.runner.Status == host.Failed {
			return false, fmt.Errorf("the Runner failed: %s", p.runner.Code)
		}
		return p.runner.Status == host.Ready, nil
	})
}

func (p *program) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits for a condition, which is called with mu held.
func (p *program) until(ok func() (bool, error)) error {
	late := time.After(2 * time.Minute)
	for {
		p.mu.Lock()
		done, err := ok()
		changed := p.changed
		p.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-late:
			return errors.New("what was waited for did not happen in two minutes")
		}
	}
}

func (p *program) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.Close(ctx)
}

// peer is a child that answers, and nothing else.
type peer struct {
	conn *rpc.Conn
	wait func() error
}

func startPeer() (*peer, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	child, err := os.StartProcess(exe, []string{exe, "echo"}, &os.ProcAttr{Files: []*os.File{inR, outW, os.Stderr}})
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		return nil, errors.Join(err, inW.Close(), outR.Close())
	}
	return &peer{
		conn: rpc.New(rpc.Config{Read: outR, Write: inW, Logger: quiet()}),
		wait: func() error { _, err := child.Wait(); return err },
	}, nil
}

func (p *peer) echo() error {
	var back wire.PingParams
	return p.conn.Call(context.Background(), wire.MethodPing, wire.PingParams{SleptMs: 7}, &back)
}

func (p *peer) end() error { return errors.Join(p.conn.Close(), p.wait()) }

func figure(name, value string) { bench.Figure(os.Stdout, "bm-14", name, value) }

func each(d time.Duration, n int) string {
	return (d / time.Duration(n)).Round(100 * time.Nanosecond).String()
}
