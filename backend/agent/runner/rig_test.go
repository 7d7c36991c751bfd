package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/provider/endpoint"
	"galley/backend/rpc"
)

// rig is a whole Runner over two pipes, with its real store, loop and mock
// provider, and a host of the test at the other end.
type rig struct {
	t    *testing.T
	home string
	conn *rpc.Conn
	// stop is what a signal does; ended gets what Run returned.
	stop  context.CancelFunc
	ended chan error

	// What the host answers; a nil one is a host that knows no tools.
	prepare func(context.Context, wire.ToolPrepareParams) (core.Prepared, error)
	execute func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error)
	probe   func(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error)
	// secret is the key of every provider.
	secret string

	// mu guards what follows; changed is closed and made anew when it changes.
	mu      sync.Mutex
	changed chan struct{}
	events  []core.Event
	resyncs []int64
	texts   map[core.RunID]string
	// asked lists what the Runner asked the host, "method tool".
	asked []string
	// cancels are closed when the host is told to stop a call.
	cancels map[core.ToolCallID]chan struct{}
}

// boot starts a Runner on a home. Edit sets what the host answers.
func boot(t *testing.T, home string, edit func(*rig)) *rig {
	t.Helper()
	r := &rig{
		t: t, home: home, ended: make(chan error, 1), changed: make(chan struct{}),
		texts: map[core.RunID]string{}, cancels: map[core.ToolCallID]chan struct{}{},
		prepare: func(context.Context, wire.ToolPrepareParams) (core.Prepared, error) { return core.Prepared{}, nil },
		execute: func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			return core.ToolResult{Text: "did " + p.Name}, nil
		},
	}
	if edit != nil {
		edit(r)
	}
	r1, w1 := pipe(t)
	r2, w2 := pipe(t)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		r.ended <- Run(ctx, Config{Home: home, Stdin: r1, Stdout: w2, Logger: quiet()})
	}()
	r.conn = rpc.New(rpc.Config{
		Read: r2, Write: w1, Logger: quiet(), Handler: rpc.Handler{Request: r.serve, Notify: r.notify},
	})
	t.Cleanup(func() { r.close() })
	return r
}

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// close is the host's end, and waits for the Runner's.
func (r *rig) close() {
	_ = r.conn.Close()
	select {
	case err, ok := <-r.ended:
		if ok {
			close(r.ended)
		}
		if err != nil && !r.t.Failed() {
			r.t.Errorf("the Runner ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		r.t.Error("the Runner does not end")
	}
	r.stop()
}

func (r *rig) serve(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	switch method {
	case wire.MethodPing:
		return struct{}{}, nil
	case wire.MethodCredentialGet:
		return wire.CredentialResult{Secret: r.secret}, nil
	case wire.MethodToolPrepare:
		p, err := rpc.Decode[wire.ToolPrepareParams](method, raw)
		if err != nil {
			return nil, err
		}
		r.change(func() { r.asked = append(r.asked, method+" "+p.Name) })
		return r.prepare(ctx, p)
	case wire.MethodToolExecute:
		p, err := rpc.Decode[wire.ToolExecuteParams](method, raw)
		if err != nil {
			return nil, err
		}
		r.change(func() {
			r.asked = append(r.asked, method+" "+p.Name)
			r.cancels[p.ToolCallID] = make(chan struct{})
		})
		return r.execute(ctx, p)
	case wire.MethodToolCancel:
		p, err := rpc.Decode[wire.ToolCancelParams](method, raw)
		if err != nil {
			return nil, err
		}
		r.change(func() {
			r.asked = append(r.asked, method)
			close(r.cancels[p.ToolCallID])
		})
		return struct{}{}, nil
	case wire.MethodToolProbe:
		p, err := rpc.Decode[wire.ToolProbeParams](method, raw)
		if err != nil {
			return nil, err
		}
		r.change(func() { r.asked = append(r.asked, method+" "+p.Name) })
		if r.probe == nil {
			return nil, rpc.ErrNoMethod
		}
		return r.probe(ctx, p)
	}
	return nil, rpc.ErrNoMethod
}

// told is closed when the host is told to stop a call that it executes.
func (r *rig) told(id core.ToolCallID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancels[id]
}

func (r *rig) notify(_ context.Context, method string, raw json.RawMessage) {
	r.change(func() {
		switch method {
		case wire.NotifyEvent:
			var e core.Event
			_ = json.Unmarshal(raw, &e)
			r.events = append(r.events, e)
		case wire.NotifyPreview:
			var p core.Preview
			_ = json.Unmarshal(raw, &p)
			r.texts[p.RunID] = feed.Apply(r.texts[p.RunID], p)
		case wire.NotifyResync:
			var s wire.Resync
			_ = json.Unmarshal(raw, &s)
			r.resyncs = append(r.resyncs, s.Seq)
		}
	})
}

func (r *rig) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// until waits until ok, which is called with mu held.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	late := time.After(60 * time.Second)
	for {
		r.mu.Lock()
		done, changed := ok(), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			r.mu.Lock()
			for _, e := range r.events {
				r.t.Logf("%d %s %s", e.Seq, e.Type, e.Payload)
			}
			r.mu.Unlock()
			r.t.Fatalf("never: %s", what)
		}
	}
}

// greet makes the first calls.
func (r *rig) greet() {
	r.t.Helper()
	r.must(wire.MethodInitialize, wire.InitializeParams{Protocol: wire.Protocol, BootNonce: "n"}, nil)
	r.must(wire.MethodEventsSubscribe, wire.SubscribeParams{}, nil)
}

func ready(t *testing.T, edit func(*rig)) *rig {
	t.Helper()
	t.Parallel()
	r := boot(t, t.TempDir(), edit)
	r.greet()
	return r
}

func (r *rig) call(method string, params, result any) error {
	return r.conn.Call(within(r.t), method, params, result)
}

func (r *rig) must(method string, params, result any) {
	r.t.Helper()
	if err := r.call(method, params, result); err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
}

// refused wants a fault.
func (r *rig) refused(code fault.Code, method string, params any) {
	r.t.Helper()
	if err := r.call(method, params, nil); fault.CodeOf(err) != code {
		r.t.Errorf("%s: got %v, want %s", method, err, code)
	}
}

// message is a submission of a conversation with the mock provider.
func message(command, words string, tools ...string) wire.SubmitParams {
	if tools == nil {
		tools = []string{}
	}
	return wire.SubmitParams{
		CommandID: core.CommandID(command), Kind: core.KindConversation, Input: words,
		ModelRef: core.ModelRef{ProviderID: "p", Model: "mock-1"}, Provider: wire.ProviderConfig{ID: "p", Kind: endpoint.KindMock},
		AllowedTools: tools, Language: "en",
	}
}

func (r *rig) submit(p wire.SubmitParams) wire.SubmitResult {
	r.t.Helper()
	var res wire.SubmitResult
	r.must(wire.MethodRunSubmit, p, &res)
	return res
}

// ends waits for the end of a run and returns it.
func (r *rig) ends(id core.RunID) core.Run {
	r.t.Helper()
	r.until("the end of run "+string(id), func() bool {
		for _, e := range r.events {
			if e.RunID == id && (e.Type == core.EventRunCancelled || e.Type == core.EventRunFailed ||
				e.Type == core.EventRunSucceeded || e.Type == core.EventRunInterrupted) {
				return true
			}
		}
		return false
	})
	var run core.Run
	r.must(wire.MethodRunGet, wire.RunGetParams{RunID: id}, &run)
	return run
}

func (r *rig) endsAs(id core.RunID, want core.RunState) core.Run {
	r.t.Helper()
	run := r.ends(id)
	if run.State != want {
		r.t.Fatalf("run ended %s (%s, %+v), want %s", run.State, run.Reason, run.Fault, want)
	}
	return run
}

// endsOrHas waits for a run's end that may have come before we listened.
func (r *rig) endsOrHas(id core.RunID, want core.RunState) {
	r.t.Helper()
	if run := r.detail(id).Run; !run.State.Final() {
		r.ends(id)
	}
	if run := r.detail(id).Run; run.State != want {
		r.t.Errorf("run is %s, want %s", run.State, want)
	}
}

func (r *rig) detail(id core.RunID) core.RunDetail {
	r.t.Helper()
	var d core.RunDetail
	r.must(wire.MethodRunDetail, wire.RunGetParams{RunID: id}, &d)
	return d
}

// waits returns the approval that a run waits for.
func (r *rig) waits(id core.RunID) core.Approval {
	r.t.Helper()
	var a core.Approval
	r.until("an approval of run "+string(id), func() bool {
		for _, e := range r.events {
			if e.RunID == id && e.Type == core.EventApprovalAsked {
				_ = json.Unmarshal(e.Payload, &a)
			}
			if e.Type == core.EventApprovalDecided && e.ToolCallID == a.ToolCallID {
				a = core.Approval{}
			}
		}
		return a.ID != ""
	})
	return a
}

// executing waits until the host was asked to execute a tool so many times.
func (r *rig) executing(tool string, times int) {
	r.t.Helper()
	r.until("execution of "+tool, func() bool {
		n := 0
		for _, a := range r.asked {
			if a == wire.MethodToolExecute+" "+tool {
				n++
			}
		}
		return n == times
	})
}

func decision(a core.Approval, command string, d core.Decision) wire.ApprovalDecideParams {
	return wire.ApprovalDecideParams{
		CommandID: core.CommandID(command), ApprovalID: a.ID, ToolCallID: a.ToolCallID, InputDigest: a.InputDigest, Decision: d,
	}
}

func snapshotOf(words string) *core.Snapshot {
	sum := sha256.Sum256([]byte(words))
	return &core.Snapshot{DocURI: "file:///n/a.md", BaseVersion: 1, Digest: hex.EncodeToString(sum[:]), Text: words}
}

const create = `/tool createDocument {"dir":"","name":"a.md","text":"words"}`

var errHost = errors.New("host broke")

func states(d core.RunDetail) string {
	s := ""
	for _, c := range d.Calls {
		s += fmt.Sprintf("%s:%s:%s ", c.Name, c.State, c.Reason)
	}
	return s
}
