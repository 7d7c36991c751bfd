package store

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// covers: R4
func TestSession_CreateAndChangeAreIdempotent(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	asked := core.Session{Title: "Talk", WorkspaceID: "/w", DocURI: "file:///a.md", Runtime: "native", Model: core.ModelRef{ProviderID: "p", Model: "m"}}
	made, err := s.CreateSession(ctx, "c", asked)
	must(t, err)
	want := asked
	want.ID, want.CreatedAtMs, want.UpdatedAtMs = "boot-1", 1_000, 1_000
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	again, err := s.CreateSession(ctx, "c", asked)
	if err != nil || again != made {
		t.Errorf("the same command gave %+v, %v", again, err)
	}
	other := asked
	other.Title = "Other"
	_, err = s.CreateSession(ctx, "c", other)
	wantCode(t, err, fault.CommandConflict)
	_, err = s.CreateSession(ctx, "", asked)
	wantCode(t, err, fault.InvalidInput)

	title, yes, no := "Renamed", true, false
	changed, err := s.ChangeSession(ctx, "rename", made.ID, &title, nil)
	must(t, err)
	if changed.Title != title || changed.ArchivedAtMs != 0 {
		t.Errorf("renamed session is %+v", changed)
	}
	put, err := s.ChangeSession(ctx, "archive", made.ID, nil, &yes)
	must(t, err)
	if put.Title != title || put.ArchivedAtMs != 1_000 {
		t.Errorf("archived session is %+v", put)
	}
	_, err = s.Submit(ctx, in(made.ID, rewrite("r")))
	wantCode(t, err, fault.InvalidInput)
	if away, err := s.ArchivedSessions(ctx); err != nil || len(away) != 1 || away[0] != put {
		t.Errorf("archived are %+v, %v", away, err)
	}
	if st, _, err := s.Snapshot(ctx); err != nil || len(st.Sessions) != 0 {
		t.Errorf("the state holds %+v, %v", st.Sessions, err)
	}
	back, err := s.ChangeSession(ctx, "restore", made.ID, nil, &no)
	if err != nil || back.ArchivedAtMs != 0 {
		t.Errorf("restored session is %+v, %v", back, err)
	}
	if away, err := s.ArchivedSessions(ctx); err != nil || away == nil || len(away) != 0 {
		t.Errorf("archived are %+v, %v", away, err)
	}
	// The first command again changes nothing, and shows what is.
	back, err = s.ChangeSession(ctx, "archive", made.ID, nil, &yes)
	if err != nil || back.ArchivedAtMs != 0 {
		t.Errorf("repeated command gave %+v, %v", back, err)
	}
	before := s.LastSeq()
	_, err = s.ChangeSession(ctx, "same", made.ID, &title, &no)
	must(t, err)
	if s.LastSeq() != before {
		t.Error("a change to what is made an event")
	}
	_, err = s.ChangeSession(ctx, "none", "none", &title, nil)
	wantCode(t, err, fault.NotFound)

	types := []core.EventType{core.EventSessionCreated, core.EventSessionChanged, core.EventSessionChanged, core.EventSessionChanged}
	if diff := cmp.Diff(types, rec.types(s)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	events, err := s.SessionEvents(ctx, made.ID, 1, 2)
	must(t, err)
	if len(events) != 2 || events[0].Seq != 2 || payload[core.Session](t, events[1]) != put {
		t.Errorf("a page of events is %+v", events)
	}
	_, err = s.SessionEvents(ctx, "none", 0, 2)
	wantCode(t, err, fault.NotFound)
}

// covers: R11 R4
func TestDeleteSession_LeavesNothingOfIt(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	const secret = "Wombat-in-the-cellar"
	words := func(sub core.Submission) core.Submission {
		sub.Message = userMessage(secret)
		sub.Session.Title = secret
		return sub
	}
	sub := words(rewrite("c"))
	sub.Kind = core.KindConversation
	run := submit(t, s, sub)
	must(t, s.Start(ctx, run.ID))
	_, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: 1, Context: &core.ContextReport{Basis: secret}})
	must(t, err)
	m := assistantMessage(secret)
	m.Parts[0].Envelope = &core.Envelope{V: 1, Dialect: "d", Origin: "o", Raw: []byte(secret)}
	_, err = s.CommitStep(ctx, run.ID, 1, m, nil)
	must(t, err)
	read := propose(t, s, run.ID, "search", core.ToolRead)
	decide(t, s, "grant", ask(t, s, read), core.AllowSession)
	must(t, s.ReadyCall(ctx, read.ID, intent(read)))
	must(t, s.StartCall(ctx, read.ID))
	must(t, s.FinishCall(ctx, read.ID, core.CallEnd{State: core.CallSucceeded, Result: secret, Truncated: true, Whole: secret + secret}))
	write := propose(t, s, run.ID, "createDocument", core.ToolWrite)
	a, err := s.AskApproval(ctx, core.Approval{ToolCallID: write.ID, Rule: core.PermNotesWrite, Summary: core.ToolSummary{Text: secret}})
	must(t, err)
	decide(t, s, "allow", a, core.AllowOnce)
	must(t, s.ReadyCall(ctx, write.ID, intent(write)))
	must(t, s.StartCall(ctx, write.ID))
	must(t, s.FinishCall(ctx, write.ID, core.CallEnd{State: core.CallUnknown}))
	must(t, s.ReconcileByPerson(ctx, "found", write.ID, core.VerdictApplied))
	p := proposal(1)
	p.ID, p.Patch.Summary = "p", secret
	patch := runningCall(t, s, run.ID, "proposePatch", core.ToolWrite)
	must(t, s.FinishCall(ctx, patch.ID, core.CallEnd{State: core.CallSucceeded, Proposal: p}))

	wantCode(t, s.DeleteSession(ctx, "delete", run.SessionID), fault.Busy)
	_, err = s.End(ctx, run.ID, core.RunEnd{State: core.RunInterrupted})
	must(t, err)
	next := in(run.SessionID, words(rewrite("next")))
	next.ParentRunID = run.ID
	queued := submit(t, s, next)
	wantCode(t, s.DeleteSession(ctx, "delete", run.SessionID), fault.Busy)
	_, err = s.Cancel(ctx, "x", queued.ID)
	must(t, err)
	// Another session holds a newer version of the proposal.
	newer := proposal(1)
	newer.Supersedes = "p"
	kept := proposed(t, s, "kept", newer)
	call, err := s.ToolCall(ctx, read.ID)
	must(t, err)
	if _, err := os.Stat(s.cfg.Artifacts + "/" + string(call.ArtifactID)); err != nil {
		t.Fatalf("the whole result has no file: %v", err)
	}

	must(t, s.DeleteSession(ctx, "delete", run.SessionID))
	must(t, s.DeleteSession(ctx, "delete", run.SessionID))
	wantCode(t, s.DeleteSession(ctx, "other", run.SessionID), fault.NotFound)

	// Of the session there is one row left that is told, and its commands.
	for _, table := range []string{"runs", "sessions", "messages", "envelopes", "model_calls", "contexts", "tool_calls", "approvals", "grants", "artifacts", "reconciliations", "proposals"} {
		n, _, err := one(ctx, plain{s.reader}, scanInt, "SELECT count(*) FROM "+table)
		must(t, err)
		want := map[string]int64{"runs": 1, "sessions": 1, "messages": 1, "proposals": 1}[table] // those of the other session
		if n != want {
			t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
	if got, err := s.Proposal(ctx, kept.ID); err != nil || got.Supersedes != "" {
		t.Errorf("the other session's proposal is %+v, %v", got, err)
	}
	if left, err := os.ReadDir(s.cfg.Artifacts); err != nil || len(left) != 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	events, err := s.EventsAfter(ctx, 0, 1<<20)
	must(t, err)
	told := 0
	for _, e := range events {
		if e.SessionID == run.SessionID {
			told++
			if e.Type != core.EventSessionDeleted || payload[core.SessionDeleted](t, e).SessionID != run.SessionID {
				t.Errorf("event left: %+v", e)
			}
		}
		if strings.Contains(string(e.Payload), secret) {
			t.Errorf("event %d still says it", e.Seq)
		}
	}
	if told != 1 {
		t.Errorf("%d events of the session, want session.deleted", told)
	}
	if types := rec.types(s); types[len(types)-1] != core.EventSessionDeleted {
		t.Errorf("the last event published is %s", types[len(types)-1])
	}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(s.cfg.Path + suffix)
		must(t, err)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("runs.db%s still holds what was deleted", suffix)
		}
	}
	_, err = s.History(ctx, run.SessionID)
	wantCode(t, err, fault.NotFound)

	// A command of it that comes again starts nothing.
	before := s.LastSeq()
	_, err = s.Submit(ctx, sub)
	wantCode(t, err, fault.NotFound)
	_, err = s.DecideApproval(ctx, "allow", a.ID, a.ToolCallID, a.InputDigest, core.AllowOnce)
	wantCode(t, err, fault.NotFound)
	receipt, err := s.Cancel(ctx, "x", queued.ID)
	if err != nil || receipt.Receipt != "accepted" {
		t.Errorf("cancel again: %+v, %v", receipt, err)
	}
	changed := sub
	changed.InputDigest[0]++
	_, err = s.Submit(ctx, changed)
	wantCode(t, err, fault.CommandConflict)
	if s.LastSeq() != before {
		t.Error("a command of a deleted session made an event")
	}
}

func TestSubmit_GoesOnFromARunOfItsOwnSession(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	old, other := talk(t, s, "c"), talk(t, s, "d")
	next := in(other.SessionID, rewrite("n"))
	next.ParentRunID = old.ID
	_, err := s.Submit(t.Context(), next)
	wantCode(t, err, fault.InvalidInput)
}
