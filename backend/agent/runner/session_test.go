package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// A run that did not end well is gone on with by a new one that names it; the
// model is told what is known, and one that succeeded is done.
// covers: R6
func TestContinue_NamesTheRunAndTellsTheTruth(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
			return core.ToolResult{}, errHost
		}
	})
	p := message("c1", create, core.ToolCreateDocument)
	p.Snapshot = snapshotOf("one\ntwo\n")
	first := r.submit(p)
	goOn := func(command string, from core.RunID) wire.ContinueParams {
		return wire.ContinueParams{
			CommandID: core.CommandID(command), FromRunID: from, ModelRef: p.ModelRef, Provider: p.Provider,
			AllowedTools: []string{}, Language: "zh-CN",
		}
	}
	a := r.waits(first.RunID)
	r.refused(fault.InvalidInput, wire.MethodRunContinue, goOn("k0", first.RunID)) // it has not ended
	r.must(wire.MethodApprovalDecide, decision(a, "a1", core.AllowOnce), nil)
	r.endsAs(first.RunID, core.RunInterrupted)

	var res, again wire.SubmitResult
	r.must(wire.MethodRunContinue, goOn("k1", first.RunID), &res)
	r.must(wire.MethodRunContinue, goOn("k1", first.RunID), &again)
	if res.RunID != again.RunID || res.RunID == first.RunID || res.SessionID != first.SessionID {
		t.Errorf("continued as %+v, then %+v", res, again)
	}
	run := r.endsAs(res.RunID, core.RunSucceeded)
	if run.ParentRunID != first.RunID || run.DocURI != p.Snapshot.DocURI || run.Kind != core.KindConversation {
		t.Errorf("run %+v", run)
	}
	if old := r.detail(first.RunID); old.Run.State != core.RunInterrupted || len(old.Calls) != 1 {
		t.Errorf("the old run changed: %s, calls %s", old.Run.State, states(old))
	}
	d := r.detail(res.RunID)
	if got := d.Messages[0].Message.Parts[0].Text; got != "继续。" {
		t.Errorf("the person said %q", got)
	}
	var reports []core.ContextReport
	r.must(wire.MethodContextExplain, wire.ContextExplainParams{RunID: res.RunID}, &reports)
	told := false
	for _, part := range reports[0].Parts {
		told = told || part.Kind == "tool_result" && part.Call == r.detail(first.RunID).Calls[0].ID
	}
	if !told {
		t.Errorf("the model is not told of the call: %+v", reports[0].Parts)
	}

	r.refused(fault.InvalidInput, wire.MethodRunContinue, goOn("k2", res.RunID)) // it succeeded
	r.refused(fault.NotFound, wire.MethodRunContinue, goOn("k3", "none"))
	r.refused(fault.CommandConflict, wire.MethodRunContinue, goOn("c1", first.RunID))
	rewrite := r.submit(wire.SubmitParams{
		CommandID: "w1", Kind: core.KindRewrite, ModelRef: p.ModelRef, Provider: p.Provider, Snapshot: snapshotOf("one\ntwo\n"),
		Rewrite: &wire.RewriteInput{Instruction: "x"}, AllowedTools: []string{},
	})
	r.ends(rewrite.RunID)
	r.refused(fault.InvalidInput, wire.MethodRunContinue, goOn("k4", rewrite.RunID))
}

// One run waits for a person, eight wait behind it, the ninth is busy; one that
// waits can be cancelled, and then there is room again.
// covers: R8
func TestQueue_EightThenBusy(t *testing.T) {
	r := ready(t, nil)
	first := r.submit(message("c0", create, core.ToolCreateDocument))
	a := r.waits(first.RunID)
	var queued []wire.SubmitResult
	for i := range 8 {
		p := message(fmt.Sprint("q", i), "/tool listWorkspace {}")
		p.SessionID = first.SessionID
		if i%2 == 1 {
			p.SessionID = "" // one conversation at a time in the whole program
		}
		queued = append(queued, r.submit(p))
		if queued[i].State != core.RunQueued {
			t.Errorf("run %d is %s", i, queued[i].State)
		}
	}
	r.refused(fault.Busy, wire.MethodRunSubmit, message("q8", "and more"))
	if again := r.submit(message("c0", create, core.ToolCreateDocument)); again.RunID != first.RunID {
		t.Error("a command that came again was refused or made anew")
	}
	for _, q := range queued {
		r.until("run "+string(q.RunID)+" is shown", func() bool {
			return slices.ContainsFunc(r.events, func(e core.Event) bool { return e.RunID == q.RunID && e.Type == core.EventRunAccepted })
		})
	}
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x", RunID: queued[3].RunID}, nil)
	r.endsAs(queued[3].RunID, core.RunCancelled)
	last := r.submit(message("q8", "/tool listWorkspace {}"))
	r.must(wire.MethodApprovalDecide, decision(a, "a", core.Deny), nil)
	r.endsAs(last.RunID, core.RunSucceeded)
	order := []core.RunID{}
	for _, e := range r.events {
		if e.Type == core.EventRunStarted {
			order = append(order, e.RunID)
		}
	}
	want := []core.RunID{first.RunID}
	for i, q := range append(queued, last) {
		if i != 3 {
			want = append(want, q.RunID)
		}
	}
	if fmt.Sprint(order) != fmt.Sprint(want) {
		t.Errorf("started %v, want %v", order, want)
	}
}

// A session is made, renamed, put away, read and deleted, each by a command
// that counts once.
// covers: R4 R11
func TestSession_Life(t *testing.T) {
	r := ready(t, nil)
	make1 := wire.SessionCreateParams{CommandID: "s1", Title: "Notes", WorkspaceID: "/notes", DocURI: "file:///notes/a.md"}
	var s, again core.Session
	r.must(wire.MethodSessionCreate, make1, &s)
	r.must(wire.MethodSessionCreate, make1, &again)
	if s.ID == "" || again != s || s.WorkspaceID != "/notes" {
		t.Errorf("sessions %+v, %+v", s, again)
	}
	p := message("c1", "hello")
	p.SessionID = s.ID
	r.endsAs(r.submit(p).RunID, core.RunSucceeded)
	name, yes, no := "Better", true, false
	r.must(wire.MethodSessionChange, wire.SessionChangeParams{CommandID: "s2", SessionID: s.ID, Title: &name}, &s)
	r.must(wire.MethodSessionChange, wire.SessionChangeParams{CommandID: "s3", SessionID: s.ID, Archived: &yes}, &s)
	if s.Title != name || s.ArchivedAtMs == 0 {
		t.Errorf("session %+v", s)
	}
	p.CommandID = "c2"
	r.refused(fault.InvalidInput, wire.MethodRunSubmit, p)
	var away []core.Session
	r.must(wire.MethodSessionList, wire.SessionListParams{Archived: true}, &away)
	if len(away) != 1 || away[0] != s {
		t.Errorf("archived are %+v", away)
	}
	r.must(wire.MethodSessionChange, wire.SessionChangeParams{CommandID: "s4", SessionID: s.ID, Archived: &no}, &s)
	var got wire.SessionGetResult
	r.must(wire.MethodSessionGet, wire.SessionGetParams{SessionID: s.ID}, &got)
	if len(got.Messages) != 2 || got.Session.Title != name || got.Omitted != 0 {
		t.Errorf("session %+v", got)
	}
	var list []core.Session
	r.must(wire.MethodSessionList, struct{}{}, &list)
	if len(list) != 1 || list[0].ID != s.ID {
		t.Errorf("sessions %+v", list)
	}
	run := r.submit(wire.SubmitParams{
		CommandID: "c3", SessionID: s.ID, Kind: core.KindConversation, Input: create, ModelRef: p.ModelRef, Provider: p.Provider,
		AllowedTools: []string{core.ToolCreateDocument},
	})
	r.waits(run.RunID)
	r.refused(fault.Busy, wire.MethodSessionDelete, wire.SessionDeleteParams{CommandID: "s5", SessionID: s.ID})
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x", RunID: run.RunID}, nil)
	r.ends(run.RunID)
	r.must(wire.MethodSessionDelete, wire.SessionDeleteParams{CommandID: "s6", SessionID: s.ID}, nil)
	r.must(wire.MethodSessionDelete, wire.SessionDeleteParams{CommandID: "s6", SessionID: s.ID}, nil)
	r.refused(fault.NotFound, wire.MethodSessionGet, wire.SessionGetParams{SessionID: s.ID})
	r.refused(fault.NotFound, wire.MethodRunDetail, wire.RunGetParams{RunID: run.RunID})
	r.until("session.deleted", func() bool {
		return r.events[len(r.events)-1].Type == core.EventSessionDeleted
	})
}

// A history is replayed page by page and is what was told at the time, also
// where one event is as long as a page.
// covers: R5
func TestSession_EventsPageByPage(t *testing.T) {
	r := ready(t, nil)
	long := strings.Repeat("long words ", 60_000) // two thirds of a page
	p := message("c1", "/tool listWorkspace {}")
	first := r.submit(p)
	r.endsAs(first.RunID, core.RunSucceeded)
	for i := range 3 {
		p := message(fmt.Sprint("m", i), "/tool x {}\n"+long)
		p.SessionID = first.SessionID
		r.ends(r.submit(p).RunID) // too long for a model, but said
	}
	for _, limit := range []int{1, 7, 1000} {
		var seqs, want []int64
		pages, after := 0, int64(0)
		for more := true; more; pages++ {
			var res wire.SessionEventsResult
			r.must(wire.MethodSessionEvents, wire.SessionEventsParams{SessionID: first.SessionID, AfterSeq: after, Limit: limit}, &res)
			if len(res.Events) > limit || len(res.Events) == 0 && res.More {
				t.Fatalf("limit %d: %d events, more %t", limit, len(res.Events), res.More)
			}
			for _, e := range res.Events {
				seqs, after = append(seqs, e.Seq), e.Seq
			}
			more = res.More
		}
		for _, e := range r.events {
			if e.SessionID == first.SessionID {
				want = append(want, e.Seq)
			}
		}
		if fmt.Sprint(seqs) != fmt.Sprint(want) {
			t.Errorf("limit %d: got %v, want %v", limit, seqs, want)
		}
		if limit == 1000 && pages < 3 {
			t.Errorf("%d pages for two megabytes", pages)
		}
	}
	r.refused(fault.NotFound, wire.MethodSessionEvents, wire.SessionEventsParams{SessionID: "none", Limit: 1})
}

// What was asked of the store by name: a backup that opens.
// covers: R12
func TestStore_Backup(t *testing.T) {
	r := ready(t, nil)
	res := r.submit(message("c1", "/tool listWorkspace {}"))
	r.endsAs(res.RunID, core.RunSucceeded)
	home := t.TempDir()
	path := filepath.Join(home, "runs.db")
	r.must(wire.MethodStoreBackup, wire.BackupParams{Path: path}, nil)
	if st, err := os.Stat(path); err != nil || st.Size() == 0 {
		t.Fatal(err)
	}
	copied := boot(t, home, nil)
	copied.greet()
	if got := copied.detail(res.RunID); got.Run.State != core.RunSucceeded {
		t.Errorf("the copy says %s", got.Run.State)
	}
}

// However the end comes, a question that is open is closed with its run, within
// the time there is, and a restart shows it.
// covers: R2 T5
func TestEnd_ClosesAQuestion(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"shutdown": func(r *rig) {
			r.must(wire.MethodShutdown, wire.ShutdownParams{DeadlineMs: 4000}, nil)
		},
		"signal":         func(r *rig) { r.stop() },
		"host is gone":   func(r *rig) { _ = r.conn.Close() },
		"no time at all": func(r *rig) { r.must(wire.MethodShutdown, wire.ShutdownParams{DeadlineMs: -1}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			r := boot(t, home, nil)
			r.greet()
			res := r.submit(message("c1", create, core.ToolCreateDocument))
			a := r.waits(res.RunID)
			waiting := r.submit(message("c2", "later"))
			begun := time.Now()
			end(r)
			select {
			case err := <-r.ended:
				if err != nil {
					t.Error(err)
				}
				close(r.ended)
			case <-time.After(30 * time.Second):
				t.Fatal("it does not end")
			}
			if took := time.Since(begun); took > DrainTime {
				t.Errorf("it took %v", took)
			}
			again := boot(t, home, nil)
			again.greet()
			d := again.detail(res.RunID)
			want := core.ApprovalCancelled
			if name == "no time at all" && d.Approvals[0].State == core.ApprovalExpired {
				want = core.ApprovalExpired // recovery closed it
			}
			if !d.Run.State.Final() || d.Approvals[0].State != want || d.Calls[0].State != core.CallCancelled {
				t.Errorf("run %s, approval %s, calls %s", d.Run.State, d.Approvals[0].State, states(d))
			}
			if got := again.detail(waiting.RunID).Run.State; !got.Final() {
				t.Errorf("the run that waited is %s", got)
			}
			again.refused(fault.StaleApproval, wire.MethodApprovalDecide, decision(a, "a1", core.AllowOnce))
		})
	}
}
