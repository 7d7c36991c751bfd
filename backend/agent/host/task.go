package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// The limits of a task, in bytes.
const (
	maxID    = 100
	maxInput = 1 << 20
	maxName  = 200
	maxTag   = 35
	maxPath  = 32 << 10
	// maxTasks is how many commands are remembered, and maxTaskBytes about how
	// much they may hold together, in bytes; the last one always is.
	maxTasks     = 64
	maxTaskBytes = 64 << 20
)

// tasks remembers the submissions that tasks became, so that a task that comes
// again is the same submission, although the document has changed since (R4).
type tasks struct {
	// mu guards what follows.
	mu    sync.Mutex
	known map[core.CommandID]submission
	order []core.CommandID
	bytes int
	// making are the commands that are just being sent; a channel is closed
	// when that is over.
	making map[core.CommandID]chan struct{}
}

type submission struct {
	digest [32]byte
	params wire.SubmitParams
}

// size is about how many bytes it holds.
func (s submission) size() int {
	n := len(s.params.Input)
	if s.params.Snapshot != nil {
		n += len(s.params.Snapshot.Text)
	}
	return n
}

// turn waits until nobody else sends the same command. Its end is to be called.
func (t *tasks) turn(ctx context.Context, op string, id core.CommandID) (end func(), err error) {
	for {
		t.mu.Lock()
		other, busy := t.making[id]
		if !busy {
			if t.making == nil {
				t.making = map[core.CommandID]chan struct{}{}
			}
			over := make(chan struct{})
			t.making[id] = over
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.making, id)
				t.mu.Unlock()
				close(over)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, callFault(op, ctx.Err())
		}
	}
}

// get returns what a command became. It is a conflict when that was something
// else.
func (t *tasks) get(id core.CommandID, digest [32]byte) (p wire.SubmitParams, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.known[id]
	if ok && s.digest != digest {
		return p, false, fault.New(fault.CommandConflict, wire.MethodRunSubmit, nil)
	}
	return s.params, ok, nil
}

func (t *tasks) put(id core.CommandID, s submission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[core.CommandID]submission{}
	}
	t.forget(id)
	t.order = append(t.order, id)
	t.known[id] = s
	t.bytes += s.size()
	for len(t.order) > 1 && (len(t.order) > maxTasks || t.bytes > maxTaskBytes) {
		t.forget(t.order[0])
	}
}

// forget is drop with mu held.
func (t *tasks) forget(id core.CommandID) {
	t.bytes -= t.known[id].size()
	delete(t.known, id)
	t.order = slices.DeleteFunc(t.order, func(o core.CommandID) bool { return o == id })
}

// drop forgets a command that came to nothing.
func (t *tasks) drop(id core.CommandID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(id)
}

// SubmitTask begins a run whose model, folder and file are only named, here or
// with the process that holds the agent. The same command again gives the same
// run (R4). Faults: invalid_input, those of Config.Complete and of Submit.
func (h *Host) SubmitTask(ctx context.Context, t wire.TaskParams) (wire.SubmitResult, error) {
	const op = wire.MethodRunSubmit
	switch {
	case t.FromRunID != "":
		return wire.SubmitResult{}, wrongTask(op, "fromRunId")
	case strings.TrimSpace(t.Input) == "" || len(t.Input) > maxInput:
		return wire.SubmitResult{}, wrongTask(op, "input")
	}
	return h.task(ctx, op, t, func(p wire.SubmitParams) any { return p })
}

// ContinueTask is SubmitTask for run.continue.
func (h *Host) ContinueTask(ctx context.Context, t wire.TaskParams) (wire.SubmitResult, error) {
	const op = wire.MethodRunContinue
	switch {
	case t.FromRunID == "" || len(t.FromRunID) > maxID:
		return wire.SubmitResult{}, wrongTask(op, "fromRunId")
	case t.Input != "":
		return wire.SubmitResult{}, wrongTask(op, "input")
	case t.SessionID != "":
		return wire.SubmitResult{}, wrongTask(op, "sessionId")
	}
	return h.task(ctx, op, t, func(p wire.SubmitParams) any {
		return wire.ContinueParams{
			CommandID: p.CommandID, FromRunID: t.FromRunID, ModelRef: p.ModelRef, Provider: p.Provider,
			AllowedTools: p.AllowedTools, Budget: p.Budget, Snapshot: p.Snapshot, Policy: p.Policy,
			ContextTokens: p.ContextTokens, Language: p.Language,
		}
	})
}

// task completes a task and sends it, or leaves both to the holder.
func (h *Host) task(ctx context.Context, op string, t wire.TaskParams, params func(wire.SubmitParams) any) (wire.SubmitResult, error) {
	var res wire.SubmitResult
	if field := wrongField(t); field != "" {
		return res, wrongTask(op, field)
	}
	h.mu.Lock()
	conn, watching := h.conn, h.watching
	code := h.runner.Code
	h.mu.Unlock()
	switch {
	case conn == nil:
		return res, goneFault(op, code)
	case watching:
		err := h.call(ctx, op, t, &res)
		return res, err
	case h.cfg.Complete == nil:
		return res, &fault.Error{Code: fault.NotFound, Op: op, Detail: "task"}
	}
	b, err := json.Marshal(t)
	if err != nil {
		return res, fault.New(fault.Internal, op, err)
	}
	digest := sha256.Sum256(append([]byte(op), b...))
	// Sent twice at the same time, what the one is granted would be taken from
	// the other.
	end, err := h.tasks.turn(ctx, op, t.CommandID)
	if err != nil {
		return res, err
	}
	defer end()
	p, known, err := h.tasks.get(t.CommandID, digest)
	if err != nil {
		return res, err
	}
	if !known {
		if p, err = h.cfg.Complete(ctx, t); err != nil {
			return res, err
		}
		h.tasks.put(t.CommandID, submission{digest, p})
	}
	err = h.begin(ctx, op, params(p), &res)
	switch fault.CodeOf(err) {
	case "", fault.RunnerGone, fault.Timeout, fault.Cancelled:
		// It may have been accepted, and then comes again.
	default:
		h.tasks.drop(t.CommandID)
		if h.cfg.Abandon != nil {
			h.cfg.Abandon(t.CommandID)
		}
	}
	return res, err
}

// wrongField names what is wrong with a task; "" when nothing is.
func wrongField(t wire.TaskParams) string {
	known := core.ConversationTools()
	known = append(known, core.DevelopmentTools()...)
	switch {
	case t.CommandID == "" || len(t.CommandID) > maxID:
		return "commandId"
	case len(t.SessionID) > maxID:
		return "sessionId"
	case len(t.ModelRef.ProviderID) > maxName || len(t.ModelRef.Model) > maxName:
		return "modelRef"
	case len(t.Language) > maxTag:
		return "language"
	case !named(t.Folder):
		return "folder"
	case !named(t.File):
		return "file"
	}
	for _, name := range t.AllowedTools {
		if !slices.Contains(known, name) {
			return "allowedTools"
		}
	}
	for perm, v := range t.Policy {
		if !perm.Valid() || !v.Valid() {
			return "policy"
		}
	}
	return ""
}

// named reports whether path is absolute, or not given.
func named(path string) bool {
	return path == "" || filepath.IsAbs(path) && len(path) <= maxPath && !strings.ContainsRune(path, 0)
}

func wrongTask(op, field string) error {
	return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: field}
}
