package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// covers: R4
func TestSubmit_SameCommandSameRun(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	first := submit(t, s, rewrite("c"))
	want := core.Run{
		ID: "boot-2", SessionID: "boot-1", CommandID: "c", Kind: core.KindRewrite, State: core.RunQueued,
		Runtime: "native", Model: core.ModelRef{ProviderID: "p", Model: "m"}, Budget: core.Budget{Steps: 3},
		Usage: core.Usage{Kind: core.UsageUnknown}, DocURI: "file:///a.md", Tools: []string{}, CreatedAtMs: 1_000,
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if again := submit(t, s, rewrite("c")); again.ID != first.ID {
		t.Errorf("the same command gave run %s, want %s", again.ID, first.ID)
	}
	must(t, s.Start(t.Context(), first.ID))
	if again := submit(t, s, rewrite("c")); again.ID != first.ID || again.State != core.RunRunning {
		t.Errorf("after the start: %s %s, want %s running", again.ID, again.State, first.ID)
	}
	other := rewrite("c")
	other.InputDigest[0]++
	_, err := s.Submit(t.Context(), other)
	wantCode(t, err, fault.CommandConflict)
	_, err = s.Cancel(t.Context(), "c", first.ID)
	wantCode(t, err, fault.CommandConflict)

	wantTypes := []core.EventType{core.EventSessionCreated, core.EventRunAccepted, core.EventMessageCommitted, core.EventRunStarted}
	if diff := cmp.Diff(wantTypes, rec.types(s)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	stored, err := s.Run(t.Context(), first.ID)
	must(t, err)
	want.State, want.StartedAtMs = core.RunRunning, 1_000
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored run (-want +got):\n%s", diff)
	}
}

// covers: R4
func TestSubmit_AnswersAfterTheCommitAlone(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	// Many at once share transactions; each must see its own run committed.
	errs := make(chan error, 8)
	for i := range 8 {
		go func() {
			cmd := core.CommandID(fmt.Sprint("c", i))
			sub := rewrite(cmd)
			a, err := s.Submit(t.Context(), sub)
			if err == nil {
				_, err = s.Run(t.Context(), a.ID)
			}
			errs <- err
		}()
	}
	for range 8 {
		must(t, <-errs)
	}
}

func TestSubmit_Refuses(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	tests := map[string]struct {
		change func(*core.Submission)
		want   fault.Code
	}{
		"no command":     {func(c *core.Submission) { c.CommandID = "" }, fault.InvalidInput},
		"no kind":        {func(c *core.Submission) { c.Kind = "" }, fault.InvalidInput},
		"no message":     {func(c *core.Submission) { c.Message = core.Message{} }, fault.InvalidInput},
		"other session":  {func(c *core.Submission) { c.SessionID = "none" }, fault.NotFound},
		"other parent":   {func(c *core.Submission) { c.ParentRunID = "none" }, fault.NotFound},
		"session exists": {func(c *core.Submission) { c.Session.ID = "taken" }, fault.Internal},
	}
	taken := rewrite("first")
	taken.Session.ID = "taken"
	submit(t, s, taken)
	last := s.LastSeq()
	for name, tt := range tests {
		sub := rewrite(core.CommandID(name))
		tt.change(&sub)
		_, err := s.Submit(t.Context(), sub)
		if got := fault.CodeOf(err); got != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if s.LastSeq() != last {
		t.Errorf("refused submissions left events up to %d, want %d", s.LastSeq(), last)
	}
	// What was refused was not stored: the command can come again.
	again := rewrite("other session")
	submit(t, s, again)
}

// covers: R8
func TestSubmit_TheNinthQueuedIsBusy(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	session := submit(t, s, rewrite("r")).SessionID
	for i := range 8 {
		submit(t, s, in(session, rewrite(core.CommandID(fmt.Sprint("c", i)))))
	}
	_, err := s.Submit(t.Context(), in(session, rewrite("c8")))
	wantCode(t, err, fault.Busy)
	// Rewrites do not wait behind conversations.
	submit(t, s, rewrite("r2"))
	if a := submit(t, s, in(session, rewrite("c3"))); a.CommandID != "c3" {
		t.Errorf("a known command gave %s while the queue is full", a.CommandID)
	}
}

// covers: R3 R8
func TestStart_OneActiveRunInASession(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	a := submit(t, s, rewrite("a"))
	b := submit(t, s, in(a.SessionID, rewrite("b")))
	must(t, s.Start(t.Context(), a.ID))
	wantCode(t, s.Start(t.Context(), a.ID), fault.InvalidInput)
	wantCode(t, s.Start(t.Context(), b.ID), fault.Busy)
	wantCode(t, s.Start(t.Context(), "none"), fault.NotFound)
	wantState(t, s, b.ID, core.RunQueued, "")
	_, err := s.End(t.Context(), a.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	must(t, s.Start(t.Context(), b.ID))
	wantCode(t, s.Start(t.Context(), a.ID), fault.InvalidInput)
}

// covers: R4 R7
func TestCancel_ReceiptByState(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	queued := submit(t, s, rewrite("queued"))
	got, err := s.Cancel(ctx, "x1", queued.ID)
	must(t, err)
	if want := (core.CancelReceipt{RunID: queued.ID, Receipt: "accepted", State: core.RunCancelled}); got != want {
		t.Errorf("queued: %+v, want %+v", got, want)
	}
	wantCode(t, s.Start(ctx, queued.ID), fault.Cancelled)

	running := started(t, s, "running")
	first, err := s.Cancel(ctx, "x2", running.ID)
	must(t, err)
	if want := (core.CancelReceipt{RunID: running.ID, Receipt: "accepted", State: core.RunCancelling}); first != want {
		t.Errorf("running: %+v, want %+v", first, want)
	}
	for _, cmd := range []core.CommandID{"x2", "x3"} {
		again, err := s.Cancel(ctx, cmd, running.ID)
		must(t, err)
		if again != first {
			t.Errorf("%s again: %+v, want the first receipt %+v", cmd, again, first)
		}
	}
	_, err = s.Cancel(ctx, "x2", queued.ID)
	wantCode(t, err, fault.CommandConflict)
	_, err = s.End(ctx, running.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	wantState(t, s, running.ID, core.RunCancelled, "")
	again, err := s.Cancel(ctx, "x2", running.ID)
	must(t, err)
	if again != first {
		t.Errorf("after the end: %+v, want the first receipt %+v", again, first)
	}

	done := started(t, s, "done")
	_, err = s.End(ctx, done.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	got, err = s.Cancel(ctx, "x4", done.ID)
	must(t, err)
	if want := (core.CancelReceipt{RunID: done.ID, Receipt: "already_terminal", State: core.RunSucceeded}); got != want {
		t.Errorf("done: %+v, want %+v", got, want)
	}
	wantState(t, s, done.ID, core.RunSucceeded, "")
	_, err = s.Cancel(ctx, "x5", "none")
	wantCode(t, err, fault.NotFound)

	n := map[core.EventType]int{}
	for _, typ := range rec.types(s) {
		n[typ]++
	}
	if n[core.EventRunCancelling] != 1 || n[core.EventRunCancelled] != 2 {
		t.Errorf("%d cancelling and %d cancelled events, want 1 and 2", n[core.EventRunCancelling], n[core.EventRunCancelled])
	}
}

// covers: R7
func TestCancel_ReceiptSurvivesARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	s := openAt(t, path, "one")
	run := started(t, s, "c")
	first, err := s.Cancel(t.Context(), "x", run.ID)
	must(t, err)
	must(t, s.Close())
	s = openAt(t, path, "two")
	_, err = s.Recover(t.Context())
	must(t, err)
	wantState(t, s, run.ID, core.RunCancelled, "runner_lost")
	again, err := s.Cancel(t.Context(), "x", run.ID)
	must(t, err)
	if again != first {
		t.Errorf("receipt %+v, want %+v", again, first)
	}
}

// endTable says where each end leads from each state; "" is refused. Final
// states refuse every end.
var endTable = map[core.RunState]map[core.RunState]core.RunState{
	core.RunQueued: {},
	core.RunRunning: {
		core.RunSucceeded: core.RunSucceeded, core.RunFailed: core.RunFailed,
		core.RunInterrupted: core.RunInterrupted, core.RunCancelled: core.RunCancelled,
	},
	core.RunWaiting: {
		core.RunSucceeded: core.RunSucceeded, core.RunFailed: core.RunFailed,
		core.RunInterrupted: core.RunInterrupted, core.RunCancelled: core.RunCancelled,
	},
	core.RunCancelling: {
		core.RunSucceeded: core.RunCancelled, core.RunFailed: core.RunCancelled,
		core.RunInterrupted: core.RunInterrupted, core.RunCancelled: core.RunCancelled,
	},
}

// covers: R3
func TestEnd_FromEveryStateToEveryState(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	for _, from := range core.RunStates() {
		for _, to := range core.RunStates() {
			run := bring(t, s, core.CommandID(string(from)+"-"+string(to)), from)
			before := s.LastSeq()
			got, err := s.End(ctx, run.ID, core.RunEnd{State: to})
			want := endTable[from][to]
			if want == "" {
				wantCode(t, err, fault.InvalidInput)
				wantState(t, s, run.ID, from, "")
				if s.LastSeq() != before {
					t.Errorf("%s to %s: refused, and left events", from, to)
				}
				if _, err := s.Cancel(ctx, core.CommandID("x"+run.ID), run.ID); err != nil {
					t.Error(err) // empties the queue
				}
				continue
			}
			if err != nil || got.State != want {
				t.Errorf("%s to %s: %s, %v; want %s", from, to, got.State, err, want)
			}
			// The events of this end are a walk through the state table.
			at := from
			for _, e := range rec.upTo(s.LastSeq())[before:] {
				if e.Type == core.EventApprovalDecided || e.Type == core.EventToolChanged {
					continue
				}
				next := payload[core.RunChanged](t, e).State
				if !core.CanRun(at, next) {
					t.Errorf("%s to %s: event moves %s to %s", from, to, at, next)
				}
				at = next
			}
			if at != want {
				t.Errorf("%s to %s: events end at %s, want %s", from, to, at, want)
			}
		}
	}
}

// bring makes a run and brings it to a state.
func bring(t *testing.T, s *Store, cmd core.CommandID, to core.RunState) core.Run {
	t.Helper()
	run := submit(t, s, rewrite(cmd))
	if to == core.RunQueued {
		return run
	}
	must(t, s.Start(t.Context(), run.ID))
	end := func(st core.RunState) {
		_, err := s.End(t.Context(), run.ID, core.RunEnd{State: st})
		must(t, err)
	}
	switch to {
	case core.RunWaiting:
		c := propose(t, s, run.ID, "createDocument", core.ToolWrite)
		_, err := s.AskApproval(t.Context(), core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
		must(t, err)
	case core.RunCancelling:
		_, err := s.Cancel(t.Context(), "cancel "+cmd, run.ID)
		must(t, err)
	case core.RunCancelled, core.RunSucceeded, core.RunFailed, core.RunInterrupted:
		end(to)
	case core.RunQueued, core.RunRunning:
	}
	return run
}

func TestEnd_CommitsMessageProposalAndEndTogether(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	m := assistantMessage("Shorter.")
	before := s.LastSeq()
	got, err := s.End(ctx, run.ID, core.RunEnd{
		State: core.RunSucceeded, Reason: "end_turn", Outcome: "proposal", Clipped: true,
		Usage:   core.Usage{Kind: core.UsageExact, Input: 10, Output: 3},
		Message: &m, MessageStatus: "complete", Proposal: proposal(2),
	})
	must(t, err)
	if got.State != core.RunSucceeded || got.Usage.Input != 10 || got.EndedAtMs != 1_000 || got.Reason != "end_turn" {
		t.Errorf("run is %+v", got)
	}
	events := rec.upTo(s.LastSeq())[before:]
	want := []core.EventType{core.EventMessageCommitted, core.EventProposalCreated, core.EventRunSucceeded}
	for i, e := range events {
		if i >= len(want) || e.Type != want[i] || e.RunID != run.ID || e.SessionID != run.SessionID || e.V != 1 || e.AtMs != 1_000 {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d", len(events), len(want))
	}
	if c := payload[core.RunChanged](t, events[2]); c.Outcome != "proposal" || !c.Clipped || c.Usage.Output != 3 {
		t.Errorf("run.succeeded says %+v", c)
	}
	p := payload[core.Proposal](t, events[1])
	stored, err := s.Proposal(ctx, p.ID)
	must(t, err)
	if diff := cmp.Diff(stored, p); diff != "" {
		t.Errorf("event's proposal (-stored +event):\n%s", diff)
	}
	wantP := proposal(2)
	wantP.ID, wantP.RunID, wantP.State, wantP.CreatedAtMs = p.ID, run.ID, core.ProposalProposed, 1_000
	if diff := cmp.Diff(*wantP, stored); diff != "" {
		t.Errorf("proposal (-want +got):\n%s", diff)
	}

	// A proposal that cannot be stored takes the whole end with it.
	other := started(t, s, "d")
	bad := proposal(1)
	bad.BaseDigest = "12"
	before = s.LastSeq()
	_, err = s.End(ctx, other.ID, core.RunEnd{State: core.RunSucceeded, Message: &m, Proposal: bad})
	wantCode(t, err, fault.InvalidInput)
	wantState(t, s, other.ID, core.RunRunning, "")
	if s.LastSeq() != before {
		t.Error("a refused end left events")
	}
	list, err := s.Messages(ctx, other.SessionID)
	must(t, err)
	if len(list) != 1 {
		t.Errorf("a refused end left %d messages, want 1", len(list))
	}
}

func TestEnd_KeepsTheFault(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := started(t, s, "c")
	info := &core.FaultInfo{Code: "rate_limited", Detail: "api.example", RetryAfterMs: 30_000}
	_, err := s.End(t.Context(), run.ID, core.RunEnd{State: core.RunFailed, Fault: info})
	must(t, err)
	got, err := s.Run(t.Context(), run.ID)
	must(t, err)
	if diff := cmp.Diff(info, got.Fault); diff != "" {
		t.Errorf("fault (-want +got):\n%s", diff)
	}
	_, err = s.End(t.Context(), run.ID, core.RunEnd{State: core.RunSucceeded})
	wantCode(t, err, fault.InvalidInput)
}

// A run does not end before what it asked the model: when there is no time to
// wait for the answer, nobody knows what came of it.
//
// covers: R6 (row 26 of the crash matrix)
func TestEnd_ClosesRequests(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := submit(t, s, rewrite("c"))
	must(t, s.Start(t.Context(), run.ID))
	c, err := s.BeginModelCall(t.Context(), core.ModelCall{RunID: run.ID, Step: 1, Attempt: 1})
	must(t, err)
	for _, c.Phase = range []core.CallPhase{core.PhaseSent, core.PhaseStreaming} {
		must(t, s.UpdateModelCall(t.Context(), c))
	}
	_, err = s.End(t.Context(), run.ID, core.RunEnd{State: core.RunInterrupted, Reason: "shutdown"})
	must(t, err)
	if got := strings.Join(modelCalls(t, s, run.ID), ";"); got != "unknown unknown run_ended" {
		t.Errorf("the request is %s", got)
	}
}

func TestEnd_ALostCallInterruptsTheRun(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := runningCall(t, s, run.ID, "search", core.ToolRead)
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded})
	wantCode(t, err, fault.InvalidInput)
	must(t, s.FinishCall(ctx, c.ID, core.CallEnd{State: core.CallUnknown, Reason: "timeout"}))
	got, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	if got.State != core.RunInterrupted {
		t.Errorf("run is %s, want interrupted", got.State)
	}
}

func TestMessages_CompleteOnesInOrderWithTheirEnvelopes(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	raw := []byte{0xff, 0xfe, 0x00, 0x81}
	env := &core.Envelope{V: 1, Dialect: "gemini", Origin: "host/family", Raw: raw}
	m := core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartReasoning, Text: "hm", Envelope: env}, {Type: core.PartText, Text: "Yes."},
	}}
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded, Message: &m})
	must(t, err)
	second := submit(t, s, in(run.SessionID, rewrite("d")))
	must(t, s.Start(ctx, second.ID))
	partial := assistantMessage("Half")
	_, err = s.End(ctx, second.ID, core.RunEnd{State: core.RunFailed, Message: &partial, MessageStatus: "partial"})
	must(t, err)

	got, err := s.Messages(ctx, run.SessionID)
	must(t, err)
	want := []core.Message{userMessage("Make it shorter"), m, userMessage("Make it shorter")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	var statuses []string
	for _, e := range rec.upTo(s.LastSeq()) {
		if e.Type == core.EventMessageCommitted {
			c := payload[core.MessageCommitted](t, e)
			statuses = append(statuses, fmt.Sprint(c.Ord, " ", c.Status))
		}
	}
	if diff := cmp.Diff([]string{"1 complete", "2 complete", "3 complete", "4 partial"}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	_, err = s.Messages(ctx, "none")
	wantCode(t, err, fault.NotFound)
}

func TestKeepDraft_IsReplacedByTheEnd(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	for _, words := range []string{"One", "One two"} {
		must(t, s.KeepDraft(ctx, run.ID, assistantMessage(words)))
	}
	m := assistantMessage("One two three.")
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded, Message: &m})
	must(t, err)
	got, err := s.Messages(ctx, run.SessionID)
	must(t, err)
	if diff := cmp.Diff([]core.Message{userMessage("Make it shorter"), m}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	wantCode(t, s.KeepDraft(ctx, run.ID, m), fault.InvalidInput)
	rows, _, err := one(ctx, plain{s.reader}, scanInt, `SELECT count(*) FROM messages WHERE run_id=?`, string(run.ID))
	if err != nil || rows != 2 {
		t.Errorf("%d messages are stored, %v; want the person's and the answer", rows, err)
	}

	// An end without a message of its own commits what had come.
	other := started(t, s, "d")
	must(t, s.KeepDraft(ctx, other.ID, assistantMessage("Half")))
	_, err = s.End(ctx, other.ID, core.RunEnd{State: core.RunFailed})
	must(t, err)
	var last core.MessageCommitted
	for _, e := range rec.upTo(s.LastSeq()) {
		if e.Type == core.EventMessageCommitted {
			last = payload[core.MessageCommitted](t, e)
		}
	}
	if last.Status != "partial" || last.Message.Parts[0].Text != "Half" {
		t.Errorf("last message is %+v", last)
	}
}

func TestModelCall_PhasesGoForwardAlone(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := submit(t, s, rewrite("c"))
	_, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: 1})
	wantCode(t, err, fault.InvalidInput) // not started
	must(t, s.Start(ctx, run.ID))
	for _, from := range core.CallPhases() {
		for _, to := range core.CallPhases() {
			n := len(core.CallPhases())*int(phaseIndex(from)) + int(phaseIndex(to))
			call, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: n + 1})
			must(t, err)
			if call.Phase != core.PhasePrepared || call.ID == "" {
				t.Fatalf("begun call is %+v", call)
			}
			call.Phase = from
			must(t, s.UpdateModelCall(ctx, call))
			call.Phase = to
			err = s.UpdateModelCall(ctx, call)
			if core.CanPhase(from, to) {
				must(t, err)
			} else {
				wantCode(t, err, fault.InvalidInput)
			}
		}
	}
	_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: 1})
	wantCode(t, err, fault.InvalidInput) // taken
	_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: "none"})
	wantCode(t, err, fault.NotFound)
	wantCode(t, s.UpdateModelCall(ctx, core.ModelCall{ID: "none"}), fault.NotFound)

	call, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 2, Attempt: 1})
	must(t, err)
	call.ErrorClass = "stream_cut"
	must(t, s.KeepDraft(ctx, run.ID, assistantMessage("Half")))
	must(t, s.WithdrawAttempt(ctx, call))
	if _, ok, err := one(ctx, plain{s.reader}, scanMessage, qDraft, string(run.ID)); ok || err != nil {
		t.Errorf("a draft of the withdrawn attempt is left, %v", err)
	}
	wantCode(t, s.UpdateModelCall(ctx, call), fault.InvalidInput) // it failed
	events := rec.upTo(s.LastSeq())
	got := payload[core.AttemptWithdrawn](t, events[len(events)-1])
	if want := (core.AttemptWithdrawn{Step: 2, Attempt: 1, Code: "stream_cut"}); got != want {
		t.Errorf("event says %+v, want %+v", got, want)
	}

	_, err = s.Cancel(ctx, "x", run.ID)
	must(t, err)
	_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 3, Attempt: 1})
	wantCode(t, err, fault.Cancelled) // nothing new starts
}

func phaseIndex(p core.CallPhase) int {
	for i, q := range core.CallPhases() {
		if p == q {
			return i
		}
	}
	return -1
}

func TestChange_APanicIsInternalAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := submit(t, s, rewrite("c"))
	before := s.LastSeq()
	err := s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
		if err := x.emitRun(ctx, run, core.RunChanged{State: core.RunFailed}); err != nil {
			return err
		}
		panic("broken")
	})
	wantCode(t, err, fault.Internal)
	must(t, s.Start(t.Context(), run.ID))
	if got := s.LastSeq(); got != before+1 {
		t.Errorf("last seq is %d, want %d", got, before+1)
	}
}

func TestChange_ACancelledWaitChangesNothing(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The writer may take the job all the same; then it is done and says so.
	for i := range 20 {
		r, err := s.Submit(ctx, rewrite(core.CommandID(fmt.Sprint(i))))
		if err == nil {
			if _, err := s.Cancel(t.Context(), core.CommandID(fmt.Sprint("x", i)), r.ID); err != nil {
				t.Error(err)
			}
			continue
		}
		wantCode(t, err, fault.Cancelled)
	}
}
