package store

import (
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// A question that nobody answered is no consent: its call is cancelled and the
// run goes on. An answer that came in the last moment counts.
// covers: T5
func TestExpireApproval(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	a := ask(t, s, c)
	for range 2 { // the second finds it closed
		got, err := s.ExpireApproval(ctx, a.ID)
		if err != nil || got.State != core.ApprovalExpired || got.DecidedAtMs == 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	wantCall(t, s, c, core.CallCancelled, reasonExpired)
	wantState(t, s, run.ID, core.RunRunning, "")
	_, err := s.DecideApproval(ctx, "late", a.ID, c.ID, c.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.StaleApproval)

	second := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	a = ask(t, s, second)
	decide(t, s, "yes", a, core.AllowOnce)
	if got, err := s.ExpireApproval(ctx, a.ID); err != nil || got.State != core.ApprovalAllowedOnce {
		t.Errorf("an answered one: %+v, %v", got, err)
	}
	wantCall(t, s, second, core.CallWaiting, "")
	_, err = s.ExpireApproval(ctx, "none")
	wantCode(t, err, fault.NotFound)
}

// What a host says too late stands beside a call's state, once, and only where
// the state leaves something to be known.
// covers: R6 R7
func TestReconcileLate(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	known := runningCall(t, s, run.ID, "createDocument", core.ToolWrite)
	must(t, s.FinishCall(ctx, known.ID, core.CallEnd{State: core.CallSucceeded, Result: "made"}))
	wantCode(t, s.ReconcileLate(ctx, known.ID, core.VerdictApplied), fault.InvalidInput)

	lost := runningCall(t, s, run.ID, "createDocument", core.ToolWrite)
	wantCode(t, s.ReconcileLate(ctx, lost.ID, core.VerdictUnknown), fault.InvalidInput)
	must(t, s.FinishCall(ctx, lost.ID, core.CallEnd{State: core.CallUnknown, Reason: "no_answer"}))
	must(t, s.ReconcileLate(ctx, lost.ID, core.VerdictApplied))
	wantCode(t, s.ReconcileLate(ctx, lost.ID, core.VerdictAbsent), fault.InvalidInput)
	wantCall(t, s, lost, core.CallUnknown, "no_answer")
	h, err := s.History(ctx, run.SessionID)
	must(t, err)
	if got := h.Verdicts[lost.ID]; got != core.VerdictApplied || len(h.Verdicts) != 1 {
		t.Errorf("verdicts %v", h.Verdicts)
	}
	// A person has the last word.
	must(t, s.ReconcileByPerson(ctx, "v", lost.ID, core.VerdictAbsent))
	h, err = s.History(ctx, run.SessionID)
	must(t, err)
	if got := h.Verdicts[lost.ID]; got != core.VerdictAbsent {
		t.Errorf("the person said absent, it is %s", got)
	}
	wantCode(t, s.ReconcileLate(ctx, "none", core.VerdictApplied), fault.NotFound)
}
