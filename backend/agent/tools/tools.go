// Package tools carries out the tools of core.Tools for runs: it reads and
// lists, makes proposals, and creates and renames documents.
//
// It has no permission of its own (T3): every path goes through the permits of
// workspace, narrowed to the folder that the run was started with, and search
// is the person's search. What a document holds is what its mirror holds,
// unsaved text too; only documents that are not open are read from disk.
// Nothing here changes an open document: proposePatch makes a proposal, and
// accepting it is the person's.
//
// What a tool reads is data. It goes to the model between marks that a text
// cannot contain, named as data, and nothing in it is ever followed here.
//
// An [Executor] implements host.Tools and may be used by several goroutines.
// The invariant that matters: a call that wrote nothing says so, one that wrote
// says what it wrote, and where that cannot be known it is an error and never a
// guess.
package tools

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/workspace"
)

// Config says what an [Executor] works with.
type Config struct {
	// Grants says which files may be reached. Required.
	Grants *workspace.Grants
	// Documents are the open ones. Required.
	Documents *document.Set
	// Home is the program's own folder; what a crash leaves of a new file is
	// noted in its recovery folder. Required.
	Home string
	// Log gets no text, no path and no query. Required.
	Log *slog.Logger
	// Ready is closed when the folders of an earlier start are open again, so
	// that files may be looked at; nil when there are none to wait for. Only
	// Probe waits for it.
	Ready <-chan struct{}
	// Created is told of a file that was made, with its absolute path; nil for
	// nobody.
	Created func(path string)
	// Move moves a file, by absolute paths, with all that has to follow it.
	// After an error nothing has moved. nil for Documents.Move with
	// Grants.Move.
	Move func(ctx context.Context, from, to string) error
	// Now and NewID are for proposals; nil for the clock and random ids.
	Now   func() time.Time
	NewID func() string
}

// Executor carries out tools. Make one with [New] and end it with
// [Executor.Close].
type Executor struct {
	cfg      Config
	registry core.Registry
	tools    map[string]tool
	wg       sync.WaitGroup

	// mu guards what follows. No file is touched while it is held.
	mu     sync.Mutex
	scopes scopes
	// running are the calls under way; the channel is closed at the end.
	running map[core.ToolCallID]chan struct{}
}

// tool is how one tool is carried out.
type tool struct {
	// free says that it needs no scope.
	free bool
	// effect says that it changes files: its end is then waited for, whatever
	// ctx says.
	effect  bool
	prepare func(ctx context.Context, c *call) (core.Prepared, error)
	// run gives a result. An error is its fault: nothing has happened.
	// Where that is not known the error is errUnknown.
	run   func(ctx context.Context, c *call) (core.ToolResult, error)
	probe func(ctx context.Context, c *call) (core.ToolVerdict, error)
}

// call is one call of a tool.
type call struct {
	wire.ToolCallRef
	name string
	// input is normalised, digest its hex SHA-256.
	input  json.RawMessage
	digest string
	intent core.Intent
	// max bounds the text of the result, in bytes.
	max int
	// whole bounds what is kept beside a text that is a part of it, in bytes.
	whole int
	scope scope
	// deliver is called when the result is given out; nil for nothing.
	deliver func()
	// begun is set when the effect may have happened.
	begun bool
}

// errUnknown says that nobody knows what happened.
var errUnknown = errors.New("nobody knows what happened")

// defaultMax is how long a result may be when nothing is said, in bytes.
const defaultMax = 256 << 10

// New returns an executor. Fault: internal for an incomplete configuration.
func New(cfg Config) (*Executor, error) {
	if cfg.Grants == nil || cfg.Documents == nil || cfg.Home == "" || cfg.Log == nil {
		return nil, fault.New(fault.Internal, "new tools", errors.New("incomplete configuration"))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = newID
	}
	registry, err := core.NewRegistry(core.Tools()...)
	if err != nil {
		return nil, fault.New(fault.Internal, "new tools", err)
	}
	e := &Executor{cfg: cfg, registry: registry, running: map[core.ToolCallID]chan struct{}{}}
	if cfg.Move == nil {
		e.cfg.Move = e.move
	}
	e.tools = map[string]tool{
		core.ToolGetActiveDocument: {prepare: e.prepareDocument, run: e.getActiveDocument},
		core.ToolGetSelection:      {prepare: e.prepareDocument, run: e.getSelection},
		core.ToolGetOutline:        {prepare: e.prepareDocument, run: e.getOutline},
		core.ToolSearchWorkspace:   {prepare: e.prepareSearch, run: e.searchWorkspace},
		core.ToolReadDocument:      {prepare: e.prepareRead, run: e.readDocument},
		core.ToolListWorkspace:     {prepare: e.prepareList, run: e.listWorkspace},
		core.ToolProposePatch:      {prepare: e.preparePropose, run: e.proposePatch},
		core.ToolCreateDocument:    {effect: true, prepare: e.prepareCreate, run: e.createDocument, probe: e.probeCreate},
		core.ToolRenameDocument:    {effect: true, prepare: e.prepareRename, run: e.renameDocument, probe: e.probeRename},
		core.ToolSystemEcho:        {free: true, prepare: prepareNothing, run: systemEcho},
		core.ToolMathAdd:           {free: true, prepare: prepareNothing, run: mathAdd},
	}
	return e, nil
}

// closeTime is how long Close waits for a call that does not end: one that
// reads from a disk which no longer answers cannot be ended by anybody.
const closeTime = 5 * time.Second

// Close waits for the calls under way, up to 5 s. Their contexts have to end
// first.
func (e *Executor) Close() {
	ended := make(chan struct{})
	go func() { // ends with the calls
		defer close(ended)
		e.wg.Wait()
	}()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		e.cfg.Log.Warn("tools still under way at the end")
	}
}

// recoveryFolder is where a new file is noted while it is made.
func (e *Executor) recoveryFolder() string { return filepath.Join(e.cfg.Home, "recovery") }

// Prepare implements host.Tools: it looks at a call and has no effect. Faults
// have a Detail in plain words, which names paths relative to the workspace and
// holds no text of a document.
func (e *Executor) Prepare(ctx context.Context, p wire.ToolPrepareParams) (core.Prepared, error) {
	t, c, err := e.begin(p.ToolCallRef, p.Name, p.Input)
	if err != nil {
		return core.Prepared{}, err
	}
	type prepared struct {
		core.Prepared
		err error
	}
	done := make(chan prepared, 1)
	e.wg.Go(func() {
		var got prepared
		defer func() {
			if r := recover(); r != nil {
				e.panicked(c, debug.Stack())
				got.err = fault.New(fault.Internal, "prepare tool call", nil)
			}
			done <- got
		}()
		got.Prepared, got.err = t.prepare(ctx, c)
	})
	select {
	case got := <-done:
		if got.err != nil {
			return core.Prepared{}, plain(got.err)
		}
		return got.Prepared, nil
	case <-ctx.Done():
		return core.Prepared{}, plain(stopped(ctx))
	}
}

// Execute implements host.Tools. Whatever goes wrong is a result, also a panic;
// an error says that nobody knows what happened.
func (e *Executor) Execute(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
	if p.DeadlineMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(p.DeadlineMs)*time.Millisecond)
		defer cancel()
	}
	t, c, err := e.begin(p.ToolCallRef, p.Name, p.Input)
	if err != nil {
		return failed(err), nil
	}
	c.intent, c.max, c.whole = p.Intent, p.MaxBytes, min(p.WholeBytes, wire.MaxWhole)
	if c.max <= 0 {
		c.max = defaultMax
	}
	if p.InputDigest != "" && p.InputDigest != c.digest {
		// Not what was judged and approved.
		return failed(refuse(fault.StaleApproval, "The input is not the one that was agreed to. Nothing was done.")), nil
	}
	end, err := e.enter(c.ToolCallID)
	if err != nil {
		return failed(err), nil
	}
	type outcome struct {
		core.ToolResult
		err error
	}
	done := make(chan outcome, 1)
	e.wg.Go(func() {
		var got outcome
		defer func() {
			if r := recover(); r != nil {
				e.panicked(c, debug.Stack())
				got = outcome{err: fault.New(fault.Internal, "execute tool call", nil)}
				if c.begun {
					got.err = errUnknown
				}
			}
			end()
			done <- got
		}()
		if ctx.Err() != nil {
			got.err = stopped(ctx)
			return
		}
		got.ToolResult, got.err = t.run(ctx, c)
	})
	finish := func(got outcome) (core.ToolResult, error) {
		switch {
		case errors.Is(got.err, errUnknown):
			return core.ToolResult{}, got.err
		case got.err != nil:
			return failed(got.err), nil
		}
		if c.deliver != nil {
			c.deliver()
		}
		got.Text, got.Whole = head(got.Text, c.max), fitting(got.Whole, c.whole)
		return got.ToolResult, nil
	}
	if t.effect {
		return finish(<-done)
	}
	select {
	case got := <-done:
		return finish(got)
	case <-ctx.Done():
		return failed(stopped(ctx)), nil
	}
}

// Probe implements host.Tools: it looks at the disk for what became of a call
// of an earlier start, after the folders of that start are open again. An error
// says that it could not look yet.
func (e *Executor) Probe(ctx context.Context, p wire.ToolProbeParams) (wire.ToolProbeResult, error) {
	unknown := wire.ToolProbeResult{Verdict: core.VerdictUnknown}
	if e.cfg.Ready != nil {
		select {
		case <-e.cfg.Ready:
		case <-ctx.Done():
			return unknown, stopped(ctx)
		}
	}
	t, ok := e.tools[p.Name]
	if !ok {
		return unknown, nil
	}
	if t.probe == nil {
		// It has no effect outside of the store.
		return wire.ToolProbeResult{Verdict: core.VerdictAbsent}, nil
	}
	// The Runner may have been lost while this process still works on it.
	if err := e.settled(ctx, p.ToolCallID); err != nil {
		return unknown, err
	}
	c := &call{ToolCallRef: p.ToolCallRef, name: p.Name, intent: p.Intent}
	c.scope = e.scopeOf(p.ToolCallRef)
	type outcome struct {
		core.ToolVerdict
		err error
	}
	done := make(chan outcome, 1)
	e.wg.Go(func() {
		got := outcome{ToolVerdict: core.VerdictUnknown}
		defer func() {
			if r := recover(); r != nil {
				e.panicked(c, debug.Stack())
				got = outcome{ToolVerdict: core.VerdictUnknown}
			}
			done <- got
		}()
		got.ToolVerdict, got.err = t.probe(ctx, c)
	})
	select {
	case got := <-done:
		return wire.ToolProbeResult{Verdict: got.ToolVerdict}, got.err
	case <-ctx.Done():
		return unknown, stopped(ctx)
	}
}

// begin checks a call and finds its scope.
func (e *Executor) begin(ref wire.ToolCallRef, name string, input json.RawMessage) (tool, *call, error) {
	declared, known := e.registry.Tool(name)
	t, ok := e.tools[name]
	if !ok || !known {
		return tool{}, nil, refuse(fault.NotFound, "There is no such tool.")
	}
	norm, err := declared.Input.Normalise(input)
	if err != nil {
		return tool{}, nil, err
	}
	digest := core.InputDigest(norm)
	c := &call{ToolCallRef: ref, name: name, input: norm, digest: hex.EncodeToString(digest[:])}
	c.scope = e.scopeOf(ref)
	if !t.free && !c.scope.known {
		return tool{}, nil, refuse(fault.NotFound,
			"The document and the folder of this run are no longer at hand, since the program was started anew. Tell the person, who can ask again.")
	}
	return t, c, nil
}

// enter notes that a call is under way; end is called when it is over. A call
// is carried out by one goroutine at a time.
func (e *Executor) enter(id core.ToolCallID) (end func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, twice := e.running[id]; twice {
		return nil, refuse(fault.Busy, "This call is already under way.")
	}
	over := make(chan struct{})
	e.running[id] = over
	return func() {
		e.mu.Lock()
		delete(e.running, id)
		e.mu.Unlock()
		close(over)
	}, nil
}

// settled waits until a call is not under way.
func (e *Executor) settled(ctx context.Context, id core.ToolCallID) error {
	e.mu.Lock()
	over := e.running[id]
	e.mu.Unlock()
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// panicked notes a broken tool. The value is not logged: it may hold text.
func (e *Executor) panicked(c *call, stack []byte) {
	e.cfg.Log.Error("tool panicked", slog.String("tool", c.name), slog.String("call", string(c.ToolCallID)), slog.String("stack", string(stack)))
}

// decode reads the input, which has been checked, into v.
func (c *call) decode(v any) error {
	if err := json.Unmarshal(c.input, v); err != nil {
		return fault.New(fault.InvalidInput, "read tool input", err)
	}
	return nil
}

// stopped is the fault of a context that has ended.
func stopped(ctx context.Context) error {
	code, say := fault.Cancelled, "It was stopped before anything happened."
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code, say = fault.Timeout, "It took too long and was given up. Nothing was changed."
	}
	return &fault.Error{Code: code, Op: "tool", Detail: say, Err: ctx.Err()}
}

func newID() string { return strings.ToLower(randText()) }
