package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// restart closes a store and opens the next one on the same file, as the next
// start of the Runner does, without recovering yet.
func restart(t *testing.T, s *Store, boot string) (*Store, *recorder) {
	t.Helper()
	must(t, s.Close())
	r := newRecorder()
	return openAt(t, s.cfg.Path, boot, func(c *Config) { c.OnEvent = r.add }), r
}

func recovered(t *testing.T, s *Store) core.Recovered {
	t.Helper()
	got, err := s.Recover(t.Context())
	must(t, err)
	return got
}

// modelCalls returns phase, usage kind and error class of a run's calls.
func modelCalls(t *testing.T, s *Store, run core.RunID) []string {
	t.Helper()
	list, err := all(t.Context(), plain{s.reader}, func(r scanner) (string, error) {
		var phase, kind, class string
		err := r.Scan(&phase, &kind, &class)
		return phase + " " + kind + " " + class, err
	}, `SELECT phase,COALESCE(usage_kind,''),COALESCE(error_class,'') FROM model_calls WHERE run_id=? ORDER BY step,attempt`, string(run))
	must(t, err)
	return list
}

// covers: R6 (rows 2, 3, 4, 5 of the crash matrix)
func TestRecover_RunsAndModelCalls(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	queued := submit(t, s, rewrite("queued"))
	begun := started(t, s, "begun")
	var calls []core.ModelCall
	for i, p := range []core.CallPhase{core.PhaseDone, core.PhaseFailed, core.PhasePrepared, core.PhaseSent, core.PhaseStreaming} {
		c, err := s.BeginModelCall(ctx, core.ModelCall{RunID: begun.ID, Step: i, Attempt: 1})
		must(t, err)
		c.Phase, c.Usage.Kind = p, core.UsageExact
		must(t, s.UpdateModelCall(ctx, c))
		calls = append(calls, c)
	}
	must(t, s.KeepDraft(ctx, begun.ID, assistantMessage("Half a sen")))
	done := started(t, s, "done")
	_, err := s.End(ctx, done.ID, core.RunEnd{State: core.RunSucceeded, Reason: "end_turn"})
	must(t, err)
	cancelling := started(t, s, "cancelling")
	_, err = s.Cancel(ctx, "x", cancelling.ID)
	must(t, err)

	s, rec := restart(t, s, "two")
	before := s.LastSeq()
	got := recovered(t, s)
	want := core.Recovered{Runs: []core.RunID{queued.ID, begun.ID, cancelling.ID}, UnknownCalls: []core.ToolCallID{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recovered (-want +got):\n%s", diff)
	}
	wantState(t, s, queued.ID, core.RunInterrupted, "never_started")
	wantState(t, s, begun.ID, core.RunInterrupted, "runner_lost")
	wantState(t, s, cancelling.ID, core.RunCancelled, "runner_lost")
	wantState(t, s, done.ID, core.RunSucceeded, "end_turn")
	wantCalls := []string{"done exact ", "failed exact ", "failed unknown no_effect", "unknown unknown runner_lost", "unknown unknown runner_lost"}
	if diff := cmp.Diff(wantCalls, modelCalls(t, s, begun.ID)); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
	events := rec.upTo(s.LastSeq())
	types := rec.types(s)
	wantTypes := []core.EventType{
		core.EventRunInterrupted, core.EventModelCallEnded, core.EventModelCallEnded, core.EventModelCallEnded,
		core.EventMessageCommitted, core.EventRunInterrupted, core.EventRunCancelled, core.EventRunnerRecovered,
	}
	if diff := cmp.Diff(wantTypes, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if e := payload[core.ModelCallEnded](t, events[2]); e.Step != 3 || e.Phase != core.PhaseUnknown || e.Code != "runner_lost" || e.Usage.Kind != core.UsageUnknown {
		t.Errorf("the end of the call that was sent is %+v", e)
	}
	if m := payload[core.MessageCommitted](t, events[4]); m.Status != "partial" || m.Message.Parts[0].Text != "Half a sen" {
		t.Errorf("the partial message is %+v", m)
	}
	if e := payload[core.RunnerRecovered](t, events[7]); len(e.Runs) != 3 || e.UnknownCalls == nil {
		t.Errorf("runner.recovered says %+v", e)
	}
	if events[0].Seq != before+1 {
		t.Errorf("first new seq is %d, want %d", events[0].Seq, before+1)
	}
	// What is settled is not settled again, in this start or the next.
	if again := recovered(t, s); len(again.Runs) != 0 {
		t.Errorf("recovered twice: %v", again.Runs)
	}
	s, _ = restart(t, s, "three")
	before = s.LastSeq()
	if again := recovered(t, s); len(again.Runs) != 0 || s.LastSeq() != before {
		t.Errorf("recovered by the next start: %v", again.Runs)
	}
	// The runs of this start are its own.
	live := started(t, s, "live")
	recovered(t, s)
	wantState(t, s, live.ID, core.RunRunning, "")
	_ = calls
}

// covers: R6 (rows 7 to 11, 17, 18, 20, 21 and 28 of the crash matrix)
func TestRecover_ToolCallsByClass(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// left leaves a call behind in a run that is running.
		left   func(t *testing.T, s *Store, run core.RunID) core.ToolCall
		call   core.ToolCallState
		reason string
		run    core.RunState
		// cancelled is the run's state when it was cancelling.
		cancelled core.RunState
	}{
		{
			"proposed",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				return propose(t, s, run, "createDocument", core.ToolWrite)
			},
			core.CallCancelled, "runner_lost", core.RunInterrupted, core.RunCancelled,
		},
		{
			"asked",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				c := propose(t, s, run, "createDocument", core.ToolWrite)
				ask(t, s, c)
				return c
			},
			core.CallCancelled, "runner_lost", core.RunInterrupted, core.RunCancelled,
		},
		{
			"allowed, not ready",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				c := propose(t, s, run, "createDocument", core.ToolWrite)
				decide(t, s, core.CommandID("y"+c.ID), ask(t, s, c), core.AllowOnce)
				return c
			},
			core.CallCancelled, "runner_lost", core.RunInterrupted, core.RunCancelled,
		},
		{
			"ready",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				return readyCall(t, s, run, "createDocument", core.ToolWrite)
			},
			core.CallCancelled, "runner_lost", core.RunInterrupted, core.RunCancelled,
		},
		{
			"running read",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				return runningCall(t, s, run, "search", core.ToolRead)
			},
			core.CallFailed, "interrupted_read", core.RunInterrupted, core.RunCancelled,
		},
		{
			"running proposePatch",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				return runningCall(t, s, run, "proposePatch", core.ToolWrite)
			},
			core.CallFailed, "no_effect", core.RunInterrupted, core.RunCancelled,
		},
		{
			"finished proposePatch",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				c := runningCall(t, s, run, "proposePatch", core.ToolWrite)
				must(t, s.FinishCall(t.Context(), c.ID, core.CallEnd{State: core.CallSucceeded, Proposal: proposal(1)}))
				return c
			},
			core.CallSucceeded, "", core.RunInterrupted, core.RunCancelled,
		},
		{
			"running external",
			func(t *testing.T, s *Store, run core.RunID) core.ToolCall {
				return runningCall(t, s, run, "mcp_echo", core.ToolWrite)
			},
			core.CallUnknown, "runner_lost", core.RunInterrupted, core.RunInterrupted,
		},
	}
	s, _ := openNew(t)
	type left struct {
		run, cancelling core.Run
		calls           [2]core.ToolCall
	}
	var all []left
	for i, tt := range tests {
		var l left
		l.run = started(t, s, core.CommandID(fmt.Sprint("r", i)))
		l.calls[0] = tt.left(t, s, l.run.ID)
		l.cancelling = started(t, s, core.CommandID(fmt.Sprint("c", i)))
		l.calls[1] = tt.left(t, s, l.cancelling.ID)
		_, err := s.Cancel(t.Context(), core.CommandID(fmt.Sprint("x", i)), l.cancelling.ID)
		must(t, err)
		all = append(all, l)
	}
	s, rec := restart(t, s, "two")
	got := recovered(t, s)
	var unknown []core.ToolCallID
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := all[i]
			wantCall(t, s, l.calls[0], tt.call, tt.reason)
			wantState(t, s, l.run.ID, tt.run, "runner_lost")
			wantState(t, s, l.cancelling.ID, tt.cancelled, "runner_lost")
			if tt.call == core.CallUnknown {
				unknown = append(unknown, l.calls[0].ID, l.calls[1].ID)
			}
		})
	}
	if diff := cmp.Diff(unknown, got.UnknownCalls); diff != "" {
		t.Errorf("unknown calls (-want +got):\n%s", diff)
	}
	expired := 0
	for _, e := range rec.upTo(s.LastSeq()) {
		if e.Type == core.EventApprovalDecided {
			a := payload[core.Approval](t, e)
			if a.State != core.ApprovalExpired {
				t.Errorf("approval became %s, want expired", a.State)
			}
			_, err := s.DecideApproval(t.Context(), "late", a.ID, a.ToolCallID, a.InputDigest, core.AllowOnce)
			wantCode(t, err, fault.StaleApproval)
			expired++
		}
	}
	if expired != 1 {
		t.Errorf("%d approvals expired, want 1", expired)
	}
}

// covers: R6 (rows 12 to 14 of the crash matrix, as far as the store decides)
func TestRecover_AFileCallWaitsForTheHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		seen       core.ToolCallState
		reason     string
		run        core.RunState
		cancelling core.RunState
	}{
		{core.CallSucceeded, "reconciled", core.RunInterrupted, core.RunCancelled},
		{core.CallFailed, "no_effect", core.RunInterrupted, core.RunCancelled},
		{core.CallUnknown, "runner_lost", core.RunInterrupted, core.RunInterrupted},
	}
	for _, tt := range tests {
		t.Run(string(tt.seen), func(t *testing.T) {
			t.Parallel()
			s, _ := openNew(t)
			ctx := t.Context()
			run := started(t, s, "c")
			create := runningCall(t, s, run.ID, "createDocument", core.ToolWrite)
			ask(t, s, propose(t, s, run.ID, "renameDocument", core.ToolWrite))
			other := started(t, s, "d")
			rename := runningCall(t, s, other.ID, "renameDocument", core.ToolWrite)
			_, err := s.Cancel(ctx, "x", other.ID)
			must(t, err)
			wantCode(t, s.Reconcile(ctx, create.ID, tt.seen), fault.InvalidInput) // its executor still answers

			s, rec := restart(t, s, "two")
			if got := recovered(t, s); len(got.UnknownCalls) != 0 {
				t.Errorf("unknown calls %v before the host looked", got.UnknownCalls)
			}
			wantState(t, s, run.ID, core.RunRunning, "") // the question expired
			wantState(t, s, other.ID, core.RunCancelling, "")
			open, err := s.Unsettled(ctx)
			must(t, err)
			if len(open) != 2 || open[0].Call.ID != create.ID || open[0].Intent.IdemKey != string(create.ID) || open[1].Call.ID != rename.ID {
				t.Errorf("unsettled calls are %+v", open)
			}
			wantCode(t, s.Reconcile(ctx, create.ID, core.CallCancelled), fault.InvalidInput)
			must(t, s.Reconcile(ctx, create.ID, tt.seen))
			must(t, s.Reconcile(ctx, rename.ID, tt.seen))
			wantCode(t, s.Reconcile(ctx, create.ID, tt.seen), fault.InvalidInput) // it is final
			wantCall(t, s, create, tt.seen, tt.reason)
			wantState(t, s, run.ID, tt.run, "runner_lost")
			wantState(t, s, other.ID, tt.cancelling, "runner_lost")
			n := 0
			for _, typ := range rec.types(s) {
				if typ == core.EventToolReconciled {
					n++
				}
			}
			if n != 2 {
				t.Errorf("%d tool.reconciled events, want 2", n)
			}
		})
	}
}

// covers: R6
func TestRecover_ContinuingIsANewRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	s := openAt(t, path, "one")
	old := started(t, s, "c")
	s, _ = restart(t, s, "two")
	recovered(t, s)
	next := in(old.SessionID, rewrite("d"))
	next.ParentRunID = old.ID
	got := submit(t, s, next)
	if got.ID == old.ID || got.ParentRunID != old.ID || got.State != core.RunQueued {
		t.Errorf("continued run is %+v", got)
	}
	stored, err := s.Run(t.Context(), got.ID)
	must(t, err)
	if stored.ParentRunID != old.ID {
		t.Errorf("stored parent is %q", stored.ParentRunID)
	}
	must(t, s.Start(t.Context(), got.ID))
}
