package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
)

// The types of command.
const (
	commandSubmit   = "run.submit"
	commandCancel   = "run.cancel"
	commandDecide   = "proposal.decide"
	commandApproval = "approval.decide"
	commandVerdict  = "tool.reconcile"
	commandCreate   = "session.create"
	commandChange   = "session.change"
	commandDelete   = "session.delete"
)

// The receipts of a cancel.
const (
	receiptAccepted = "accepted"
	receiptTerminal = "already_terminal"
)

// command looks a command up. Found means that it was done before with the
// same type and input; result then holds its answer.
func (t *tx) command(ctx context.Context, op string, id core.CommandID, typ string, digest [32]byte, result any) (found bool, err error) {
	if id == "" {
		return false, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "commandId"}
	}
	c, found, err := one(ctx, t, scanCommand, qCommand, string(id))
	if err != nil || !found {
		return false, err
	}
	if c.typ != typ || !bytes.Equal(c.digest, digest[:]) {
		return false, fault.New(fault.CommandConflict, op, nil)
	}
	if err := json.Unmarshal([]byte(c.result), result); err != nil {
		return false, fmt.Errorf("result of command: %w", err)
	}
	return true, nil
}

// done stores the answer to a command.
func (t *tx) done(ctx context.Context, id core.CommandID, typ string, digest [32]byte, session core.SessionID, result any) error {
	r, err := encode(result)
	if err != nil {
		return err
	}
	return t.update(ctx, qInsertCommand, string(id), typ, digest[:], orNull(session), r, t.s.cfg.BootID, t.now)
}

// digestOf is the digest of a command whose input is the store's own to name.
func digestOf(parts ...any) ([32]byte, error) {
	b, err := json.Marshal(parts)
	return sha256.Sum256(b), err
}

// Submit accepts a run: command, session, run, message and events in one
// commit. The same command again returns the run as it stands now, or not_found
// when its session was deleted. Besides Journal's faults it gives invalid_input
// for a kind that does not exist, a message without role or parts, an archived
// session, and a run to go on from that is of another session. Busy means that
// MaxQueued runs of the kind wait already; the same command may come again.
func (s *Store) Submit(ctx context.Context, sub core.Submission) (core.Run, error) {
	const op = "submit run"
	var run core.Run
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		var known core.RunID
		found, err := t.command(ctx, op, sub.CommandID, commandSubmit, sub.InputDigest, &known)
		if err != nil {
			return err
		}
		if found {
			run, err = t.runByID(ctx, op, known)
			return err
		}
		if run, err = t.submit(ctx, op, sub); err == nil {
			crash.At("before_accept_commit")
		}
		return err
	})
	if err == nil {
		crash.At("after_accept_commit")
	}
	return run, err
}

func (t *tx) submit(ctx context.Context, op string, sub core.Submission) (core.Run, error) {
	if sub.Kind != core.KindConversation && sub.Kind != core.KindRewrite {
		return core.Run{}, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "kind"}
	}
	if sub.Message.Role == "" || len(sub.Message.Parts) == 0 {
		return core.Run{}, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "message"}
	}
	queued, _, err := one(ctx, t, scanInt, qQueuedOfKind, string(sub.Kind))
	if err != nil {
		return core.Run{}, err
	}
	if queued >= int64(t.s.cfg.MaxQueued) {
		return core.Run{}, fault.New(fault.Busy, op, nil)
	}
	if sub.ParentRunID != "" {
		parent, err := t.runByID(ctx, op, sub.ParentRunID)
		if err != nil {
			return core.Run{}, err
		}
		// A session can be deleted whole: nothing outside of it refers to it.
		if parent.SessionID != sub.SessionID {
			return core.Run{}, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "parentRunId"}
		}
	}
	session, err := t.sessionFor(ctx, op, sub)
	if err != nil {
		return core.Run{}, err
	}
	run := core.Run{
		ID: core.RunID(t.s.cfg.NewID()), SessionID: session, CommandID: sub.CommandID, ParentRunID: sub.ParentRunID,
		Kind: sub.Kind, State: core.RunQueued, Runtime: sub.Runtime, Model: sub.Model, Budget: sub.Budget,
		Usage: core.Usage{Kind: core.UsageUnknown}, DocURI: sub.DocURI, CreatedAtMs: t.now,
		Tools: append([]string{}, sub.Tools...),
	}
	tools, err := encode(run.Tools)
	if err != nil {
		return core.Run{}, err
	}
	if err := t.done(ctx, sub.CommandID, commandSubmit, sub.InputDigest, session, run.ID); err != nil {
		return core.Run{}, err
	}
	model, err := encode(run.Model)
	if err != nil {
		return core.Run{}, err
	}
	budget, err := encode(run.Budget)
	if err != nil {
		return core.Run{}, err
	}
	if err := t.update(ctx, qInsertRun, string(run.ID), string(session), string(run.CommandID), orNull(run.ParentRunID),
		run.Runtime, model, budget, t.s.cfg.BootID, t.now, string(run.Kind), run.DocURI, tools); err != nil {
		return core.Run{}, err
	}
	if err := t.emit(ctx, core.EventRunAccepted, session, run.ID, "", run); err != nil {
		return core.Run{}, err
	}
	return run, t.addMessage(ctx, run, sub.Message, statusComplete, 0)
}

// sessionFor returns the session of a submission, made when it names none.
func (t *tx) sessionFor(ctx context.Context, op string, sub core.Submission) (core.SessionID, error) {
	if sub.SessionID != "" {
		have, ok, err := one(ctx, t, scanSession, qSession, string(sub.SessionID))
		if err != nil {
			return "", err
		}
		if !ok {
			return "", &fault.Error{Code: fault.NotFound, Op: op, Detail: "session"}
		}
		if have.ArchivedAtMs != 0 {
			return "", &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "session"}
		}
		return have.ID, t.update(ctx, qTouchSession, t.now, string(have.ID))
	}
	n := sub.Session
	if n.Runtime == "" {
		n.Runtime = sub.Runtime
	}
	if n.Model == (core.ModelRef{}) {
		n.Model = sub.Model
	}
	if n.DocURI == "" {
		n.DocURI = sub.DocURI
	}
	n, err := t.addSession(ctx, n)
	return n.ID, err
}

// Start moves queued → running. It gives busy while another run of the session
// is active, cancelled when the run was cancelled in the meantime, and
// invalid_input when it was started before.
func (s *Store) Start(ctx context.Context, id core.RunID) error {
	const op = "start run"
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, id)
		if err != nil {
			return err
		}
		if run.State == core.RunCancelled {
			return fault.New(fault.Cancelled, op, nil)
		}
		if !core.MayRun(core.ActorScheduler, run.State, core.RunRunning) {
			return badState(op, run.State)
		}
		active, _, err := one(ctx, t, scanInt, qActiveInSession, string(run.SessionID))
		if err != nil {
			return err
		}
		if active > 0 {
			return fault.New(fault.Busy, op, nil)
		}
		if err := t.update(ctx, qStartRun, t.now, string(id)); err != nil {
			return err
		}
		return t.emitRun(ctx, run, core.RunChanged{State: core.RunRunning})
	})
	if err == nil {
		crash.At("after_run_started")
	}
	return err
}

// Cancel stores the wish to stop, and ends the calls of the run that have not
// begun: after it nothing new can start (R7).
func (s *Store) Cancel(ctx context.Context, cmd core.CommandID, id core.RunID) (core.CancelReceipt, error) {
	const op = "cancel run"
	var receipt core.CancelReceipt
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id)
		if err != nil {
			return err
		}
		found, err := t.command(ctx, op, cmd, commandCancel, digest, &receipt)
		if err != nil || found {
			return err
		}
		run, ok, err := one(ctx, t, scanRun, qRun, string(id))
		if err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "run"}
		}
		receipt = core.CancelReceipt{RunID: id, Receipt: receiptAccepted, State: core.RunCancelling}
		switch {
		case run.State.Final():
			receipt = core.CancelReceipt{RunID: id, Receipt: receiptTerminal, State: run.State}
		case run.State == core.RunCancelling:
			// One cancel is enough; this is its receipt again.
		default:
			if run.State == core.RunQueued {
				receipt.State = core.RunCancelled
			}
			if err := t.cancel(ctx, cmd, run, receipt.State); err != nil {
				return err
			}
		}
		return t.done(ctx, cmd, commandCancel, digest, run.SessionID, receipt)
	})
	if err == nil {
		crash.At("after_cancel_commit")
	}
	return receipt, err
}

func (t *tx) cancel(ctx context.Context, cmd core.CommandID, run runRow, to core.RunState) error {
	if !core.MayRun(core.ActorCancel, run.State, to) {
		return badState("cancel run", run.State)
	}
	ended := int64(0)
	if to.Final() {
		ended = t.now
	}
	if err := t.update(ctx, qCancelRun, string(to), nil, string(cmd), t.now, timeOrNull(ended), string(run.ID)); err != nil {
		return err
	}
	if err := t.emitRun(ctx, run.Run, core.RunChanged{State: to}); err != nil {
		return err
	}
	return t.dropCalls(ctx, run.Run, reasonCancelled, core.ApprovalCancelled)
}

// End moves a run to a final state; see Journal. Open calls that have not begun
// are cancelled with it; one that still runs makes it invalid_input, and one
// whose outcome is unknown makes the run interrupted. A run that nobody told
// to stop and that ends cancelled passes through cancelling in the same
// commit. A run that is final already is invalid_input, with the run as it
// stands. A Supersedes that names no proposal is left out.
func (s *Store) End(ctx context.Context, id core.RunID, end core.RunEnd) (core.Run, error) {
	const op = "end run"
	var run core.Run
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		var err error
		if run, err = t.runByID(ctx, op, id); err != nil {
			return err
		}
		if !end.State.Final() || run.State.Final() {
			return badState(op, run.State)
		}
		running, _, err := one(ctx, t, scanInt, qCallsInState, string(id), string(core.CallRunning))
		if err != nil {
			return err
		}
		if running > 0 {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "a tool call still runs"}
		}
		unknown, _, err := one(ctx, t, scanInt, qCallsInState, string(id), string(core.CallUnknown))
		if err != nil {
			return err
		}
		switch {
		case unknown > 0:
			end.State = core.RunInterrupted
		case run.State == core.RunCancelling && end.State != core.RunInterrupted:
			end.State = core.RunCancelled
		}
		if err := t.end(ctx, op, run, end); err != nil {
			return err
		}
		run, err = t.runByID(ctx, op, id)
		return err
	})
	return run, err
}

func (t *tx) end(ctx context.Context, op string, run core.Run, end core.RunEnd) error {
	way := endPath(run.State, end.State)
	if way == nil {
		return badState(op, run.State)
	}
	if err := t.dropCalls(ctx, run, reasonEnded, core.ApprovalCancelled); err != nil {
		return err
	}
	// A Runner that had no time left ends a run whose request it still waited for.
	if err := t.closeRequests(ctx, run, reasonEnded); err != nil {
		return err
	}
	if end.Message != nil {
		attempt := 0
		if end.Message.Role == core.RoleAssistant {
			var err error
			if attempt, err = t.lastAttempt(ctx, run.ID); err != nil {
				return err
			}
		}
		if err := t.addMessage(ctx, run, *end.Message, end.MessageStatus, attempt); err != nil {
			return err
		}
	} else if err := t.commitDraft(ctx, run); err != nil {
		return err
	}
	if end.Proposal != nil {
		p := *end.Proposal
		p.RunID = run.ID
		if err := t.addProposal(ctx, op, run.SessionID, p); err != nil {
			return err
		}
	}
	for _, st := range way[:len(way)-1] {
		if err := t.update(ctx, qMoveRun, string(st), nil, string(run.ID)); err != nil {
			return err
		}
		if err := t.emitRun(ctx, run, core.RunChanged{State: st}); err != nil {
			return err
		}
	}
	if err := t.final(ctx, run, core.RunChanged{
		State: end.State, Reason: end.Reason, Fault: end.Fault, Usage: end.Usage, Outcome: end.Outcome,
		Clipped: end.Clipped,
	}); err != nil {
		return err
	}
	return t.update(ctx, qTouchSession, t.now, string(run.SessionID))
}

// endPath returns the states on the way of an end by the loop, the end last;
// nil when there is no way. A wait for approval is over when the run is, and a
// run that stops was told to.
func endPath(from, to core.RunState) []core.RunState {
	switch {
	case core.MayRun(core.ActorLoop, from, to):
		return []core.RunState{to}
	case to == core.RunCancelled && core.MayRun(core.ActorCancel, from, core.RunCancelling):
		return []core.RunState{core.RunCancelling, to}
	case core.MayRun(core.ActorLoop, from, core.RunRunning) && core.MayRun(core.ActorLoop, core.RunRunning, to):
		return []core.RunState{core.RunRunning, to}
	}
	return nil
}

// final writes the end of a run and its event.
func (t *tx) final(ctx context.Context, run core.Run, c core.RunChanged) error {
	if c.Usage.Kind == "" {
		c.Usage.Kind = core.UsageUnknown
	}
	usage, err := encode(c.Usage)
	if err != nil {
		return err
	}
	var class, info any
	if c.Fault != nil {
		class = c.Fault.Code
		if info, err = encode(c.Fault); err != nil {
			return err
		}
	}
	if err := t.update(ctx, qEndRun, string(c.State), orNull(c.Reason), class, info, usage, string(c.Usage.Kind), t.now, string(run.ID)); err != nil {
		return err
	}
	return t.emitRun(ctx, run, c)
}

// Run returns one run as it is committed.
func (s *Store) Run(ctx context.Context, id core.RunID) (core.Run, error) {
	const op = "get run"
	r, ok, err := one(ctx, plain{s.reader}, scanRun, qRun, string(id))
	if err != nil {
		return core.Run{}, readFault(op, err)
	}
	if !ok {
		return core.Run{}, &fault.Error{Code: fault.NotFound, Op: op, Detail: "run"}
	}
	return r.Run, nil
}

func (t *tx) runByID(ctx context.Context, op string, id core.RunID) (core.Run, error) {
	r, ok, err := one(ctx, t, scanRun, qRun, string(id))
	if err == nil && !ok {
		err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "run"}
	}
	return r.Run, err
}

// emitRun emits the event that belongs to the state in c.
func (t *tx) emitRun(ctx context.Context, run core.Run, c core.RunChanged) error {
	if c.Usage.Kind == "" {
		c.Usage.Kind = core.UsageUnknown
	}
	return t.emit(ctx, runEvent(run.State, c.State), run.SessionID, run.ID, "", c)
}

// runEvent names the event of a change of state.
func runEvent(from, to core.RunState) core.EventType {
	switch to {
	case core.RunQueued:
		return core.EventRunAccepted
	case core.RunRunning:
		if from == core.RunWaiting {
			return core.EventRunResumed
		}
		return core.EventRunStarted
	case core.RunWaiting:
		return core.EventRunWaiting
	case core.RunCancelling:
		return core.EventRunCancelling
	case core.RunCancelled:
		return core.EventRunCancelled
	case core.RunSucceeded:
		return core.EventRunSucceeded
	case core.RunFailed:
		return core.EventRunFailed
	case core.RunInterrupted:
		return core.EventRunInterrupted
	}
	panic("run state " + string(to) + " is not known")
}

// badState refuses a move that the state tables forbid.
func badState[S ~string](op string, state S) error {
	return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: string(state)}
}

// readFault turns an error of a read into a fault.
func readFault(op string, err error) error {
	f, _ := classify(op, err)
	return f
}
