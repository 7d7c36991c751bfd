package store

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// covers: R9
func TestHistory_IsAllThatAContextIsBuiltOf(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")

	read := runningCall(t, s, run.ID, "search", core.ToolRead)
	facts := core.ToolFacts{Path: "a.md", Bytes: 12, Hits: 3, Files: 2, Version: 4, More: true}
	must(t, s.FinishCall(ctx, read.ID, core.CallEnd{State: core.CallSucceeded, Result: "two hits", Facts: facts}))
	patch := runningCall(t, s, run.ID, "proposePatch", core.ToolWrite)
	p := proposal(2)
	p.ID = "p"
	must(t, s.FinishCall(ctx, patch.ID, core.CallEnd{State: core.CallSucceeded, Result: "proposed, not applied", Proposal: p}))
	_, err := s.Decide(ctx, "decide", "p", accept("1"), 5)
	must(t, err)
	denied := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	a, err := s.AskApproval(ctx, core.Approval{ToolCallID: denied.ID, Rule: core.PermNotesWrite, Summary: core.ToolSummary{Path: "b.md", Text: "# B", Bytes: 3, Words: 2, Invisible: true}})
	must(t, err)
	decide(t, s, "no", a, core.Deny)
	must(t, s.KeepDraft(ctx, run.ID, assistantMessage("So far")))

	h, err := s.History(ctx, run.SessionID)
	must(t, err)
	var said []string
	for _, m := range h.Messages {
		said = append(said, fmt.Sprintf("%d %s %s %s", m.Ord, m.Role, m.Status, m.Parts[0].Text))
	}
	want := []string{"1 user complete Make it shorter", "2 assistant complete I look.", "3 assistant complete I look.", "4 assistant complete I look."}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("messages while it runs (-want +got):\n%s", diff)
	}
	if len(h.Runs) != 1 || h.Runs[0].ID != run.ID || h.Session.ID != run.SessionID {
		t.Errorf("runs are %+v of %+v", h.Runs, h.Session)
	}
	if len(h.Calls) != 3 || h.Calls[0].Result != "two hits" || h.Calls[0].Facts != facts || h.Calls[2].Reason != "permission_denied" {
		t.Errorf("calls are %+v", h.Calls)
	}
	if len(h.Proposals) != 1 || h.Proposals[0].Hunks[0].Outcome != core.HunkAccepted || h.Proposals[0].ToolCallID != patch.ID {
		t.Errorf("proposals are %+v", h.Proposals)
	}
	a.State, a.DecidedAtMs = core.ApprovalDenied, 1_000
	if diff := cmp.Diff([]core.Approval{a}, h.Approvals); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
	if h.Verdicts == nil || len(h.Verdicts) != 0 {
		t.Errorf("verdicts are %v", h.Verdicts)
	}

	// What broke off belongs to the history once its run has ended; what was
	// thrown away does not.
	_, err = s.End(ctx, run.ID, core.RunEnd{State: core.RunFailed})
	must(t, err)
	thrown := submit(t, s, in(run.SessionID, rewrite("d")))
	must(t, s.Start(ctx, thrown.ID))
	m := assistantMessage("Nothing.")
	_, err = s.End(ctx, thrown.ID, core.RunEnd{State: core.RunSucceeded, Message: &m, MessageStatus: "discarded"})
	must(t, err)
	h, err = s.History(ctx, run.SessionID)
	must(t, err)
	if last := h.Messages[4]; last.Status != "partial" || last.Parts[0].Text != "So far" || last.RunID != run.ID {
		t.Errorf("the partial message is %+v", last)
	}
	if len(h.Messages) != 6 || h.Messages[5].Role != core.RoleUser || len(h.Runs) != 2 {
		t.Errorf("messages are %+v", h.Messages)
	}
	_, err = s.History(ctx, "none")
	wantCode(t, err, fault.NotFound)
}

// covers: H2
func TestRunDetail_TellsAllOfARun(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	c := runningCall(t, s, run.ID, "mcp_send", core.ToolWrite)
	other := submit(t, s, in(run.SessionID, rewrite("d")))
	s, _ = restart(t, s, "two")
	recovered(t, s)
	must(t, s.ReconcileByPerson(ctx, "v", c.ID, core.VerdictApplied))

	d, err := s.RunDetail(ctx, run.ID)
	must(t, err)
	if d.Run.State != core.RunInterrupted || d.Session.ID != run.SessionID || len(d.Calls) != 1 || len(d.Approvals) != 1 ||
		d.Proposals == nil || d.ModelCalls == nil || len(d.Messages) != 2 {
		t.Errorf("detail is %+v", d)
	}
	if d.Messages[0].Ord != 1 || d.Messages[0].Attempt != 0 || d.Messages[1].Attempt != 1 {
		t.Errorf("messages are %+v", d.Messages)
	}
	want := []core.ToolReconciled{{Call: d.Calls[0], Verdict: core.VerdictApplied, By: "person"}}
	if diff := cmp.Diff(want, d.Reconciled); diff != "" {
		t.Errorf("reconciled (-want +got):\n%s", diff)
	}
	call, err := s.ToolCall(ctx, c.ID)
	if err != nil || call.State != core.CallUnknown {
		t.Errorf("call is %+v, %v", call, err)
	}
	runs, err := s.Runs(ctx, 10)
	if err != nil || len(runs) != 2 || runs[0].ID != other.ID || len(runs[1].Tools) != 2 {
		t.Errorf("runs are %+v, %v", runs, err)
	}
	if runs, err = s.Runs(ctx, 1); err != nil || len(runs) != 1 {
		t.Errorf("newest run: %+v, %v", runs, err)
	}
	_, err = s.RunDetail(ctx, "none")
	wantCode(t, err, fault.NotFound)
	_, err = s.ToolCall(ctx, "none")
	wantCode(t, err, fault.NotFound)
}

// covers: R9
func TestContexts_AreKeptForTheNewestRuns(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t, func(c *Config) { c.KeepContexts = 2 })
	ctx := t.Context()
	var runs []core.Run
	for i := range 4 {
		run := talk(t, s, core.CommandID(fmt.Sprint(i)))
		runs = append(runs, run)
		if i == 2 {
			continue // asked for none, and counts as none
		}
		for step := 1; step <= 2; step++ {
			report := core.ContextReport{Tokens: step, Basis: "b", Parts: []core.ContextPart{{Kind: "system", Form: "whole", Bytes: 4}}}
			if step == 2 {
				report.Parts = nil
			}
			_, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: step, Attempt: step, Context: &report})
			must(t, err)
		}
	}
	for i, want := range []int{0, 2, 0, 2} {
		got, err := s.Contexts(ctx, runs[i].ID)
		if err != nil || len(got) != want || got == nil {
			t.Errorf("run %d: %+v, %v; want %d", i, got, err, want)
		}
		for j, r := range got {
			if r.RunID != runs[i].ID || r.Step != j+1 || r.Tokens != j+1 || r.Parts == nil {
				t.Errorf("run %d: report %d is %+v", i, j, r)
			}
		}
	}
	_, err := s.Contexts(ctx, "none")
	wantCode(t, err, fault.NotFound)
}

// covers: R5
func TestSnapshot_HoldsTheApprovalsThatWait(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := talk(t, s, "c")
	first := ask(t, s, propose(t, s, run.ID, "createDocument", core.ToolWrite))
	other := talk(t, s, "d")
	second := ask(t, s, propose(t, s, other.ID, "renameDocument", core.ToolWrite))
	st, _, err := s.Snapshot(t.Context())
	must(t, err)
	if diff := cmp.Diff([]core.Approval{first, second}, st.Approvals); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
	decide(t, s, "yes", first, core.AllowOnce)
	decide(t, s, "no", second, core.Deny)
	st, _, err = s.Snapshot(t.Context())
	if err != nil || st.Approvals == nil || len(st.Approvals) != 0 {
		t.Errorf("approvals are %+v, %v", st.Approvals, err)
	}
}

// covers: R6
func TestReconcileByPerson_StandsBesideTheState(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	c := runningCall(t, s, run.ID, "mcp_send", core.ToolWrite)
	wantCode(t, s.ReconcileByPerson(ctx, "early", c.ID, core.VerdictApplied), fault.InvalidInput) // it still runs
	must(t, s.FinishCall(ctx, c.ID, core.CallEnd{State: core.CallUnknown, Reason: "timeout"}))
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	s, rec := restart(t, s, "two")

	must(t, s.ReconcileByPerson(ctx, "v", c.ID, core.VerdictAbsent))
	must(t, s.ReconcileByPerson(ctx, "v", c.ID, core.VerdictAbsent))
	wantCode(t, s.ReconcileByPerson(ctx, "v", c.ID, core.VerdictApplied), fault.CommandConflict)
	wantCode(t, s.ReconcileByPerson(ctx, "w", c.ID, core.VerdictUnknown), fault.InvalidInput)
	wantCode(t, s.ReconcileByPerson(ctx, "w", "none", core.VerdictAbsent), fault.NotFound)
	wantCall(t, s, c, core.CallUnknown, "timeout")
	events := rec.upTo(s.LastSeq())
	if len(events) != 1 {
		t.Fatalf("events are %+v", events)
	}
	e := payload[core.ToolReconciled](t, events[0])
	if events[0].Type != core.EventToolReconciled || events[0].ToolCallID != c.ID || e.By != "person" || e.Verdict != core.VerdictAbsent || e.Call.State != core.CallUnknown {
		t.Errorf("event is %+v", e)
	}
	must(t, s.ReconcileByPerson(ctx, "corrected", c.ID, core.VerdictApplied))
	h, err := s.History(ctx, run.SessionID)
	if err != nil || h.Verdicts[c.ID] != core.VerdictApplied {
		t.Errorf("verdicts are %v, %v", h.Verdicts, err)
	}
}
