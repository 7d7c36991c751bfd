package runner

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// An answer is for one question, one call and one input; late, repeated and
// changed ones are refused, and only the right one lets the call go.
// covers: T5 R4
func TestApproval_AnswersThatAreRefused(t *testing.T) {
	r := ready(t, nil)
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	a := r.waits(res.RunID)
	if a.Rule != core.PermNotesWrite || a.RunID != res.RunID || a.State != core.ApprovalPending {
		t.Errorf("approval %+v", a)
	}
	if got := r.detail(res.RunID).Run.State; got != core.RunWaiting {
		t.Errorf("run is %s", got)
	}
	other := a
	other.InputDigest = strings.Repeat("0", 64)
	r.refused(fault.StaleApproval, wire.MethodApprovalDecide, decision(other, "a1", core.AllowOnce))
	other = a
	other.ToolCallID = "another"
	r.refused(fault.StaleApproval, wire.MethodApprovalDecide, decision(other, "a2", core.AllowOnce))
	other = a
	other.ID = "another"
	r.refused(fault.NotFound, wire.MethodApprovalDecide, decision(other, "a3", core.AllowOnce))
	// For a write there is no answer for the session (T4).
	r.refused(fault.InvalidInput, wire.MethodApprovalDecide, decision(a, "a4", core.AllowSession))

	var first, again core.Approval
	r.must(wire.MethodApprovalDecide, decision(a, "a5", core.AllowOnce), &first)
	r.must(wire.MethodApprovalDecide, decision(a, "a5", core.AllowOnce), &again)
	if first.State != core.ApprovalAllowedOnce || again != first {
		t.Errorf("answers %+v, %+v", first, again)
	}
	r.refused(fault.CommandConflict, wire.MethodApprovalDecide, decision(a, "a5", core.Deny))
	r.refused(fault.StaleApproval, wire.MethodApprovalDecide, decision(a, "a6", core.Deny))
	r.endsAs(res.RunID, core.RunSucceeded)
	if got := states(r.detail(res.RunID)); got != "createDocument:succeeded: " {
		t.Errorf("calls %s", got)
	}
	r.executing(core.ToolCreateDocument, 1)
}

// A denial is a result that the model goes on from.
// covers: T5
func TestApproval_Denied(t *testing.T) {
	r := ready(t, nil)
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.Deny), nil)
	r.endsAs(res.RunID, core.RunSucceeded)
	if got := states(r.detail(res.RunID)); got != "createDocument:failed:permission_denied " {
		t.Errorf("calls %s", got)
	}
	r.executing(core.ToolCreateDocument, 0)
}

// A run that is cancelled while it waits stops waiting; an answer then is late.
// covers: T5 R7
func TestApproval_CancelledWhileItWaits(t *testing.T) {
	r := ready(t, nil)
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	a := r.waits(res.RunID)
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x1", RunID: res.RunID}, nil)
	r.endsAs(res.RunID, core.RunCancelled)
	r.refused(fault.StaleApproval, wire.MethodApprovalDecide, decision(a, "a1", core.AllowOnce))
	d := r.detail(res.RunID)
	if d.Approvals[0].State != core.ApprovalCancelled || d.Calls[0].State != core.CallCancelled {
		t.Errorf("approval %s, calls %s", d.Approvals[0].State, states(d))
	}
	r.executing(core.ToolCreateDocument, 0)
}

// A read that the policy has confirmed is asked about once, where the person
// says so for the session; another session is asked anew.
// covers: T4
func TestApproval_AReadForTheSession(t *testing.T) {
	r := ready(t, nil)
	ask := func(command string, session core.SessionID) wire.SubmitResult {
		p := message(command, "/tool listWorkspace {}", core.ToolListWorkspace)
		p.SessionID = session
		p.Policy = core.Policy{core.PermWorkspaceRead: core.VerdictConfirm}
		return r.submit(p)
	}
	first := ask("c1", "")
	r.must(wire.MethodApprovalDecide, decision(r.waits(first.RunID), "a1", core.AllowSession), nil)
	r.endsAs(first.RunID, core.RunSucceeded)
	second := ask("c2", first.SessionID)
	r.endsAs(second.RunID, core.RunSucceeded)
	if d := r.detail(second.RunID); len(d.Approvals) != 0 || d.Calls[0].State != core.CallSucceeded {
		t.Errorf("asked %+v, calls %s", d.Approvals, states(d))
	}
	third := ask("c3", "")
	r.must(wire.MethodApprovalDecide, decision(r.waits(third.RunID), "a3", core.AllowOnce), nil)
	r.endsAs(third.RunID, core.RunSucceeded)
}

// A policy that denies is a result, and nobody is asked.
// covers: T4
func TestApproval_PolicyDenies(t *testing.T) {
	r := ready(t, nil)
	p := message("c1", create, core.ToolCreateDocument)
	p.Policy = core.Policy{core.PermNotesWrite: core.VerdictDeny}
	res := r.submit(p)
	r.endsAs(res.RunID, core.RunSucceeded)
	if got := states(r.detail(res.RunID)); got != "createDocument:failed:policy_denied " {
		t.Errorf("calls %s", got)
	}
}

// asking is questions with a store that only expires.
func asking() (*questions, *atomic.Int32) {
	var expired atomic.Int32
	return newQuestions(time.Now, func(_ context.Context, id core.ApprovalID) (core.Approval, error) {
		expired.Add(1)
		return core.Approval{ID: id, State: core.ApprovalExpired}, nil
	}), &expired
}

// An answer that comes before anybody waits is heard; the first counts.
// covers: T5
func TestQuestions_AnEarlyAnswer(t *testing.T) {
	q, _ := asking()
	q.expect(core.Approval{ID: "a"})
	q.settle(core.Approval{ID: "a", State: core.ApprovalPending}) // says nothing
	q.settle(core.Approval{ID: "a", State: core.ApprovalAllowedOnce})
	q.settle(core.Approval{ID: "a", State: core.ApprovalDenied})
	q.settle(core.Approval{ID: "nobody asked", State: core.ApprovalDenied})
	a, err := q.await(t.Context(), "a")
	if err != nil || a.State != core.ApprovalAllowedOnce {
		t.Errorf("got %+v, %v", a, err)
	}
	if len(q.open) != 0 {
		t.Errorf("%d questions stay", len(q.open))
	}
	if _, err := q.await(t.Context(), "a"); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a question that was not asked: %v", err)
	}
}

// A question expires by the clock on the wall, which goes on while the machine
// sleeps and the timers stand: after sleep it is looked at again.
// covers: R2
func TestQuestions_ExpireAlsoAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, expired := asking()
		var slept atomic.Int64
		q.now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		ask := func() chan core.Approval {
			q.expect(core.Approval{ID: "a", ExpiresAtMs: q.now().Add(time.Hour).UnixMilli()})
			got := make(chan core.Approval, 1)
			go func() {
				a, err := q.await(t.Context(), "a")
				if err != nil {
					t.Error(err)
				}
				got <- a
			}()
			synctest.Wait()
			return got
		}
		got := ask()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if expired.Load() != 0 {
			t.Error("expired too early")
		}
		time.Sleep(2 * time.Minute)
		if a := <-got; a.State != core.ApprovalExpired || expired.Load() != 1 {
			t.Errorf("got %+v", a)
		}
		got = ask()
		slept.Store(int64(2 * time.Hour)) // the timers know nothing of it
		q.wake()
		if a := <-got; a.State != core.ApprovalExpired {
			t.Errorf("after sleep: %+v", a)
		}
		got = ask()
		q.wake() // it did not sleep long enough
		synctest.Wait()
		q.settle(core.Approval{ID: "a", State: core.ApprovalDenied})
		if a := <-got; a.State != core.ApprovalDenied {
			t.Errorf("got %+v", a)
		}
	})
}

// A run whose time is up lets its question expire; one that is told to stop
// does not wait.
// covers: R7 R8
func TestQuestions_TheRunEnds(t *testing.T) {
	q, expired := asking()
	q.expect(core.Approval{ID: "a"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if a, err := q.await(ctx, "a"); err != nil || a.State != core.ApprovalExpired || expired.Load() != 1 {
		t.Errorf("time is up: %+v, %v", a, err)
	}
	q.expect(core.Approval{ID: "b"})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := q.await(ctx, "b"); fault.CodeOf(err) != fault.Cancelled || expired.Load() != 1 {
		t.Errorf("told to stop: %v", err)
	}
}
