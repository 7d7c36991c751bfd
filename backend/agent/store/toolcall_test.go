package store

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// step commits a message that asks for calls of these names.
func step(t testing.TB, s *Store, run core.RunID, kind core.ToolKind, names ...string) ([]core.ToolCall, error) {
	t.Helper()
	m := assistantMessage("I look.")
	var calls []core.ToolCall
	for _, name := range names {
		c := core.ToolCall{Name: name, Kind: kind, Input: json.RawMessage(`{"path":"a.md"}`)}
		m.Parts = append(m.Parts, core.Part{Type: core.PartToolCall, Name: name, Input: c.Input})
		calls = append(calls, c)
	}
	return s.CommitStep(t.Context(), run, 1, m, calls)
}

func propose(t testing.TB, s *Store, run core.RunID, name string, kind core.ToolKind) core.ToolCall {
	t.Helper()
	calls, err := step(t, s, run, kind, name)
	if err != nil {
		t.Fatal(err)
	}
	return calls[0]
}

func intent(c core.ToolCall) core.Intent {
	return core.Intent{Tool: c.Name, Input: c.Input, InputDigest: c.InputDigest, Attempt: 1, IdemKey: string(c.ID)}
}

func ask(t testing.TB, s *Store, c core.ToolCall) core.Approval {
	t.Helper()
	a, err := s.AskApproval(t.Context(), core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func decide(t testing.TB, s *Store, cmd core.CommandID, a core.Approval, d core.Decision) {
	t.Helper()
	if _, err := s.DecideApproval(t.Context(), cmd, a.ID, a.ToolCallID, a.InputDigest, d); err != nil {
		t.Fatal(err)
	}
}

// readyCall brings a call of the given name as far as ready, asking where it
// must.
func readyCall(t testing.TB, s *Store, run core.RunID, name string, kind core.ToolKind) core.ToolCall {
	t.Helper()
	c := propose(t, s, run, name, kind)
	if kind == core.ToolWrite && name != "proposePatch" {
		decide(t, s, core.CommandID("allow "+c.ID), ask(t, s, c), core.AllowOnce)
	}
	must(t, s.ReadyCall(t.Context(), c.ID, intent(c)))
	return c
}

func runningCall(t testing.TB, s *Store, run core.RunID, name string, kind core.ToolKind) core.ToolCall {
	t.Helper()
	c := readyCall(t, s, run, name, kind)
	must(t, s.StartCall(t.Context(), c.ID))
	return c
}

func wantCall(t testing.TB, s *Store, c core.ToolCall, want core.ToolCallState, reason string) {
	t.Helper()
	list, err := s.ToolCalls(t.Context(), c.RunID)
	must(t, err)
	for _, got := range list {
		if got.ID == c.ID {
			if got.State != want || got.Reason != reason {
				t.Errorf("call %s %s is %s (%q), want %s (%q)", c.ID, c.Name, got.State, got.Reason, want, reason)
			}
			return
		}
	}
	t.Errorf("call %s is gone", c.ID)
}

// covers: R3 R6
func TestToolCall_ARead(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "search", core.ToolRead)
	before := s.LastSeq() - 1
	if c.Ord != 1 || c.State != core.CallProposed || len(c.InputDigest) != 64 {
		t.Errorf("call is %+v", c)
	}
	wantCode(t, s.StartCall(ctx, c.ID), fault.InvalidInput) // no intent yet
	must(t, s.ReadyCall(ctx, c.ID, intent(c)))
	must(t, s.StartCall(ctx, c.ID))
	wantCode(t, s.StartCall(ctx, c.ID), fault.InvalidInput)
	must(t, s.FinishCall(ctx, c.ID, core.CallEnd{State: core.CallSucceeded, Result: "two hits", Truncated: true}))
	wantCode(t, s.FinishCall(ctx, c.ID, core.CallEnd{State: core.CallFailed}), fault.InvalidInput)
	wantCall(t, s, c, core.CallSucceeded, "")
	list, err := s.ToolCalls(ctx, run.ID)
	must(t, err)
	if got := list[0]; got.Result != "two hits" || !got.Truncated || got.EndedAtMs == 0 {
		t.Errorf("call is %+v", got)
	}
	if second := propose(t, s, run.ID, "search", core.ToolRead); second.Ord != 2 {
		t.Errorf("second call has ord %d", second.Ord)
	}
	at := core.ToolCallState("")
	for _, e := range rec.upTo(s.LastSeq())[before : before+4] {
		got := payload[core.ToolCall](t, e)
		if e.Type != core.EventToolChanged || e.ToolCallID != c.ID || at != "" && !core.CanCall(at, got.State) {
			t.Errorf("event %s of %s moves %s to %s", e.Type, e.ToolCallID, at, got.State)
		}
		at = got.State
	}
	wantCode(t, s.StartCall(ctx, "none"), fault.NotFound)
	_, err = step(t, s, run.ID, "other", "search")
	wantCode(t, err, fault.InvalidInput)
}

func TestToolCall_RefusedByPolicy(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "search", core.ToolRead)
	must(t, s.RefuseCall(t.Context(), c.ID, "policy_denied", "not allowed"))
	wantCall(t, s, c, core.CallFailed, "policy_denied")
	wantCode(t, s.RefuseCall(t.Context(), c.ID, "policy_denied", ""), fault.InvalidInput)
	wantState(t, s, run.ID, core.RunRunning, "")
}

// covers: T1 T5
func TestToolCall_AWriteAsksFirst(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	wantCode(t, s.ReadyCall(ctx, c.ID, intent(c)), fault.InvalidInput) // nobody was asked
	wantCall(t, s, c, core.CallProposed, "")
	a := ask(t, s, c)
	wantState(t, s, run.ID, core.RunWaiting, "")
	wantCode(t, s.ReadyCall(ctx, c.ID, intent(c)), fault.StaleApproval) // nobody answered

	other := propose2(t, s, "o")
	stale := []struct {
		name   string
		call   core.ToolCallID
		digest string
	}{{"digest", c.ID, other.InputDigest[:63] + "x"}, {"call", other.ID, c.InputDigest}}
	for _, tt := range stale {
		_, err := s.DecideApproval(ctx, core.CommandID("s"+tt.name), a.ID, tt.call, tt.digest, core.AllowOnce)
		if fault.CodeOf(err) != fault.StaleApproval {
			t.Errorf("another %s: %v, want stale_approval", tt.name, err)
		}
	}
	_, err := s.DecideApproval(ctx, "session", a.ID, c.ID, c.InputDigest, core.AllowSession)
	wantCode(t, err, fault.InvalidInput) // T4: not for a write
	_, err = s.DecideApproval(ctx, "none", "none", c.ID, c.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.NotFound)

	decide(t, s, "yes", a, core.AllowOnce)
	wantState(t, s, run.ID, core.RunRunning, "")
	wantCall(t, s, c, core.CallWaiting, "")
	decide(t, s, "yes", a, core.AllowOnce) // the same command again
	_, err = s.DecideApproval(ctx, "late", a.ID, c.ID, c.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.StaleApproval)
	_, err = s.DecideApproval(ctx, "yes", a.ID, c.ID, c.InputDigest, core.Deny)
	wantCode(t, err, fault.CommandConflict)

	changed := intent(c)
	changed.Input = json.RawMessage(`{"path":"b.md"}`)
	wantCode(t, s.ReadyCall(ctx, c.ID, changed), fault.StaleApproval)
	must(t, s.ReadyCall(ctx, c.ID, intent(c)))
	wantCall(t, s, c, core.CallReady, "")

	want := []core.EventType{core.EventToolChanged, core.EventApprovalAsked, core.EventRunWaiting}
	var got []core.EventType
	for _, e := range rec.upTo(s.LastSeq()) {
		if e.RunID == run.ID && (e.Type == core.EventApprovalAsked || e.Type == core.EventApprovalDecided || e.Type == core.EventRunWaiting || e.Type == core.EventRunResumed) {
			got = append(got, e.Type)
		}
	}
	want = []core.EventType{want[1], want[2], core.EventApprovalDecided, core.EventRunResumed}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// propose2 proposes a call in a run of its own.
func propose2(t testing.TB, s *Store, cmd core.CommandID) core.ToolCall {
	t.Helper()
	return propose(t, s, started(t, s, cmd).ID, "renameDocument", core.ToolWrite)
}

// covers: T5
func TestToolCall_DenialIsAResultTheRunGoesOnFrom(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := started(t, s, "c")
	first := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	second := propose(t, s, run.ID, "renameDocument", core.ToolWrite)
	a, b := ask(t, s, first), ask(t, s, second)
	decide(t, s, "no", a, core.Deny)
	wantCall(t, s, first, core.CallFailed, "permission_denied")
	wantState(t, s, run.ID, core.RunWaiting, "") // the other question is open
	decide(t, s, "no2", b, core.Deny)
	wantState(t, s, run.ID, core.RunRunning, "")
	wantCode(t, s.ReadyCall(t.Context(), first.ID, intent(first)), fault.InvalidInput)
}

// covers: T4
func TestApproval_ForTheSessionIsRememberedForReads(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "search", core.ToolRead)
	decide(t, s, "yes", ask(t, s, c), core.AllowSession)
	for _, tt := range []struct {
		session core.SessionID
		tool    string
		want    bool
	}{{run.SessionID, "search", true}, {run.SessionID, "list", false}, {"other", "search", false}} {
		got, err := s.Granted(ctx, tt.session, tt.tool)
		if err != nil || got != tt.want {
			t.Errorf("granted %s in %s: %v, %v", tt.tool, tt.session, got, err)
		}
	}
}

// covers: T5
func TestApproval_ALateAnswerIsStale(t *testing.T) {
	t.Parallel()
	now := int64(1_000)
	s, _ := openNew(t, func(c *Config) { c.Now = func() time.Time { return time.UnixMilli(now) } })
	run := started(t, s, "c")
	c := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	a, err := s.AskApproval(t.Context(), core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite, ExpiresAtMs: 2_000})
	must(t, err)
	// The writer reads the clock; a change that waited for it comes between.
	must(t, s.change(t.Context(), "test", func(context.Context, *tx) error { now = 2_000; return nil }))
	_, err = s.DecideApproval(t.Context(), "yes", a.ID, c.ID, c.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.StaleApproval)
	wantCall(t, s, c, core.CallWaiting, "")
}

// covers: R7
func TestCancel_NothingStartsAfterAndRealResultsAreKept(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	running := runningCall(t, s, run.ID, "createDocument", core.ToolWrite)
	ready := readyCall(t, s, run.ID, "search", core.ToolRead)
	fresh := propose(t, s, run.ID, "search", core.ToolRead)
	waiting := propose(t, s, run.ID, "renameDocument", core.ToolWrite)
	a := ask(t, s, waiting)
	_, err := s.Cancel(ctx, "x", run.ID)
	must(t, err)
	for _, c := range []core.ToolCall{ready, fresh, waiting} {
		wantCall(t, s, c, core.CallCancelled, "cancelled")
	}
	wantCode(t, s.StartCall(ctx, ready.ID), fault.Cancelled)
	_, err = step(t, s, run.ID, core.ToolRead, "search")
	wantCode(t, err, fault.Cancelled)
	_, err = s.DecideApproval(ctx, "yes", a.ID, waiting.ID, waiting.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.StaleApproval)
	_, err = s.End(ctx, run.ID, core.RunEnd{State: core.RunCancelled})
	wantCode(t, err, fault.InvalidInput) // one still runs
	must(t, s.FinishCall(ctx, running.ID, core.CallEnd{State: core.CallSucceeded, Result: "created"}))
	_, err = s.End(ctx, run.ID, core.RunEnd{State: core.RunCancelled})
	must(t, err)
	wantState(t, s, run.ID, core.RunCancelled, "")
	wantCall(t, s, running, core.CallSucceeded, "")
}

func TestFinishCall_CommitsItsProposalOnce(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := started(t, s, "c")
	c := runningCall(t, s, run.ID, "proposePatch", core.ToolWrite)
	p := proposal(1)
	p.ID = "p"
	must(t, s.FinishCall(ctx, c.ID, core.CallEnd{State: core.CallSucceeded, Result: "proposed, not applied", Proposal: p}))
	got, err := s.Proposal(ctx, "p")
	must(t, err)
	if got.ToolCallID != c.ID || got.RunID != run.ID || got.Origin != core.OriginTool {
		t.Errorf("proposal is %+v", got)
	}
	// The database itself refuses a second proposal of the call.
	p.ID, p.ToolCallID, p.RunID = "p2", c.ID, run.ID
	err = s.change(ctx, "test", func(ctx context.Context, x *tx) error {
		return x.addProposal(ctx, "test", run.SessionID, *p)
	})
	wantCode(t, err, fault.Internal)
}
