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
	// maxTasks is how many commands are remembered.
	maxTasks = 64
)

// tasks remembers the submissions that tasks became, so that a task that comes
// again is the same submission, although the document has changed since (R4).
type tasks struct {
	// mu guards what follows.
	mu    sync.Mutex
	known map[core.CommandID]submission
	order []core.CommandID
}

type submission struct {
	digest [32]byte
	params wire.SubmitParams
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
	if _, ok := t.known[id]; !ok {
		t.order = append(t.order, id)
	}
	t.known[id] = s
	if len(t.order) > maxTasks {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
}

// drop forgets a command that came to nothing.
func (t *tasks) drop(id core.CommandID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
	t.order = slices.DeleteFunc(t.order, func(o core.CommandID) bool { return o == id })
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
