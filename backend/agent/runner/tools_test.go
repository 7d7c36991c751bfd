package runner

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// A conversation calls a tool, the host carries it out, and the answer follows:
// from the client's call to the record of all of it.
// covers: R6 T6
func TestRun_CallsAToolOfTheHost(t *testing.T) {
	var params wire.ToolExecuteParams
	r := ready(t, func(r *rig) {
		r.execute = func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			params = p
			return core.ToolResult{Text: "three notes", Facts: core.ToolFacts{Files: 3}}, nil
		}
	})
	p := message("c1", `/tool listWorkspace {"path":"notes"}`, core.ToolListWorkspace)
	p.Budget.ToolMs, p.Budget.ToolResultBytes = 7000, 4096
	res := r.submit(p)
	r.endsAs(res.RunID, core.RunSucceeded)
	if params.RunID != res.RunID || params.SessionID != res.SessionID || params.CommandID != "c1" ||
		params.Name != core.ToolListWorkspace || string(params.Input) != `{"path":"notes"}` ||
		params.DeadlineMs < 1 || params.DeadlineMs > 7000 || params.MaxBytes != 4096 ||
		params.WholeBytes != core.DefaultBudget().ToolResultsBytes ||
		params.Intent.Tool != params.Name || params.Intent.InputDigest != params.InputDigest {
		t.Errorf("the host was asked %+v", params)
	}
	d := r.detail(res.RunID)
	if got := states(d); got != "listWorkspace:succeeded: " || len(d.ModelCalls) != 2 || len(d.Messages) < 3 {
		t.Errorf("calls %s, %d model calls, %d messages", got, len(d.ModelCalls), len(d.Messages))
	}
	var c core.ToolCall
	r.must(wire.MethodToolGet, wire.ToolGetParams{ToolCallID: d.Calls[0].ID}, &c)
	if c.Result != "three notes" || c.Facts.Files != 3 {
		t.Errorf("call %+v", c)
	}
	var reports []core.ContextReport
	r.must(wire.MethodContextExplain, wire.ContextExplainParams{RunID: res.RunID}, &reports)
	if len(reports) != 2 || len(reports[1].Parts) <= len(reports[0].Parts) {
		t.Errorf("contexts %+v", reports)
	}
	var runs []core.Run
	r.must(wire.MethodRunList, wire.RunListParams{Limit: 10}, &runs)
	if len(runs) != 1 || runs[0].ID != res.RunID || strings.Join(runs[0].Tools, ",") != core.ToolListWorkspace {
		t.Errorf("runs %+v", runs)
	}
}

// What came of a call beside the part that the model is told is kept for people,
// as far as the run has room for results and a line for it.
// covers: R8 R9
func TestRun_KeepsTheWholeOfALongResult(t *testing.T) {
	// Each of these characters takes six bytes on the wire.
	whole := strings.Repeat("<", wire.MaxWholeLine/6)
	var room []int
	r := ready(t, func(r *rig) {
		r.execute = func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			room = append(room, p.WholeBytes)
			return core.ToolResult{Text: strings.Repeat("<", p.MaxBytes), Whole: whole[:min(len(whole), p.WholeBytes)]}, nil
		}
	})
	p := message("c1", "/tool listWorkspace {}\n/tool listWorkspace {}", core.ToolListWorkspace)
	p.Budget.ToolResultsBytes = len(whole) + 300<<10
	res := r.submit(p)
	r.ends(res.RunID)
	if len(room) != 2 || room[0] != p.Budget.ToolResultsBytes || room[1] != 300<<10 {
		t.Fatalf("room for %v", room)
	}
	c := r.detail(res.RunID).Calls[0]
	var got wire.ArtifactGetResult
	var all strings.Builder
	for at := int64(0); ; at = got.Next {
		got = wire.ArtifactGetResult{}
		r.must(wire.MethodArtifactGet, wire.ArtifactGetParams{ArtifactID: c.ArtifactID, Offset: at, Limit: 64 << 10}, &got)
		all.WriteString(got.Text)
		if got.Next == 0 {
			break
		}
	}
	if c.State != core.CallSucceeded || !c.Truncated || all.String() != whole {
		t.Errorf("%s, shortened %t, %d bytes kept", c.State, c.Truncated, all.Len())
	}
}

// A tool that was not named at the start is not called, whatever the model says.
// covers: T8
func TestRun_OnlyToolsNamedAtTheStart(t *testing.T) {
	r := ready(t, nil)
	res := r.submit(message("c1", create, core.ToolListWorkspace))
	r.endsAs(res.RunID, core.RunSucceeded)
	if len(r.asked) != 0 {
		t.Errorf("the host was asked %v", r.asked)
	}
	if got := states(r.detail(res.RunID)); got != "createDocument:failed:not_found " {
		t.Errorf("calls %s", got)
	}
}

// What goes wrong with a tool is its result, and the run goes on (T6).
// covers: T6
func TestRun_AFaultOfTheHostIsAResult(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
			return core.ToolResult{}, fault.New(fault.NotGranted, "test", nil)
		}
		r.prepare = func(_ context.Context, p wire.ToolPrepareParams) (core.Prepared, error) {
			if p.Name == core.ToolReadDocument {
				return core.Prepared{}, fault.New(fault.NotFound, "test", nil)
			}
			return core.Prepared{}, nil
		}
	})
	res := r.submit(message("c1", `/tool readDocument {"path":"gone.md"}`+"\n/tool listWorkspace {}",
		core.ToolListWorkspace, core.ToolReadDocument))
	r.endsAs(res.RunID, core.RunSucceeded)
	if got := states(r.detail(res.RunID)); got != "readDocument:failed:not_found listWorkspace:failed:not_granted " {
		t.Errorf("calls %s", got)
	}
}

// A host that breaks in the middle of a write leaves it unknown; a read is
// only broken off.
// covers: R6 T6
func TestRun_ABrokenHost(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
			return core.ToolResult{}, errHost
		}
	})
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
	r.endsAs(res.RunID, core.RunInterrupted)
	d := r.detail(res.RunID)
	if d.Calls[0].State != core.CallUnknown {
		t.Errorf("calls %s", states(d))
	}
	verdict := wire.ToolReconcileParams{CommandID: "v1", ToolCallID: d.Calls[0].ID, Verdict: core.VerdictApplied}
	r.must(wire.MethodToolReconcile, verdict, nil)
	r.must(wire.MethodToolReconcile, verdict, nil) // the same again changes nothing
	if d = r.detail(res.RunID); len(d.Reconciled) != 1 || d.Reconciled[0].Verdict != core.VerdictApplied || d.Reconciled[0].By != "person" {
		t.Errorf("reconciled %+v", d.Reconciled)
	}
	read := r.submit(message("c2", "/tool listWorkspace {}", core.ToolListWorkspace))
	r.endsAs(read.RunID, core.RunSucceeded)
	if got := r.detail(read.RunID).Calls[0].State; got != core.CallFailed {
		t.Errorf("a read became %s", got)
	}
}

// A cancel reaches the host while it executes; what really happened is kept in
// its true order, and the run ends cancelled (crash matrix 22).
// covers: R7
func TestCancel_KeepsALateResult(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			<-r.told(p.ToolCallID)
			return core.ToolResult{Text: "made", PostDigest: strings.Repeat("ab", 32)}, nil
		}
	})
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
	r.executing(core.ToolCreateDocument, 1)
	var receipt, again wire.CancelResult
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x1", RunID: res.RunID}, &receipt)
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x2", RunID: res.RunID}, &again)
	if receipt.Receipt != "accepted" || receipt.State != core.RunCancelling || again.Receipt != "accepted" && again.Receipt != "already_terminal" {
		t.Errorf("receipts %+v, %+v", receipt, again)
	}
	r.endsAs(res.RunID, core.RunCancelled)
	if got := states(r.detail(res.RunID)); got != "createDocument:succeeded: " {
		t.Errorf("calls %s", got)
	}
	order := []core.EventType{}
	for _, e := range r.events {
		var c core.ToolCall
		final := e.Type == core.EventToolChanged && json.Unmarshal(e.Payload, &c) == nil && c.State.Final()
		if final || e.Type == core.EventRunCancelling || e.Type == core.EventRunCancelled {
			order = append(order, e.Type)
		}
	}
	if want := "run.cancelling tool.changed run.cancelled"; joined(order) != want {
		t.Errorf("order %s, want %s", joined(order), want)
	}
}

func joined(types []core.EventType) string {
	list := []string{}
	for _, s := range types {
		list = append(list, string(s))
	}
	return strings.Join(list, " ")
}

// A call that was stopped before anything happened is cancelled with its run.
// covers: R7
func TestCancel_StoppedInTime(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			<-r.told(p.ToolCallID)
			return core.ToolResult{Stopped: true, IsError: true, Code: fault.Cancelled}, nil
		}
	})
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
	r.executing(core.ToolCreateDocument, 1)
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x1", RunID: res.RunID}, nil)
	r.endsAs(res.RunID, core.RunCancelled)
	if got := states(r.detail(res.RunID)); got != "createDocument:cancelled:cancelled " {
		t.Errorf("calls %s", got)
	}
}

// A host that does not answer the cancel leaves a write unknown and its run
// interrupted; what it says later stands beside that.
// covers: R6 R7
func TestCancel_NoAnswerIsUnknownAndALateOneIsRecorded(t *testing.T) {
	release := make(chan struct{})
	r := ready(t, func(r *rig) {
		r.execute = func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
			<-release
			return core.ToolResult{Text: "made"}, nil
		}
	})
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
	r.executing(core.ToolCreateDocument, 1)
	begun := time.Now()
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x1", RunID: res.RunID}, nil)
	r.endsAs(res.RunID, core.RunInterrupted)
	if took := time.Since(begun); took < cancelGrace || took > cancelGrace+2*time.Second {
		t.Errorf("given up after %v", took)
	}
	if got := r.detail(res.RunID).Calls[0].State; got != core.CallUnknown {
		t.Errorf("call is %s", got)
	}
	close(release)
	r.until("the late answer", func() bool {
		last := r.events[len(r.events)-1]
		var v core.ToolReconciled
		return last.Type == core.EventToolReconciled && json.Unmarshal(last.Payload, &v) == nil &&
			v.Verdict == core.VerdictApplied && v.By == "recovery" && v.Call.State == core.CallUnknown
	})
}

// A tool that takes too long is told to stop, and the run goes on.
// covers: R8 T6
func TestRun_ToolTimeIsBounded(t *testing.T) {
	r := ready(t, func(r *rig) {
		r.execute = func(_ context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			<-r.told(p.ToolCallID)
			return core.ToolResult{Stopped: true, IsError: true, Code: fault.Cancelled}, nil
		}
	})
	p := message("c1", "/tool listWorkspace {}", core.ToolListWorkspace)
	p.Budget.ToolMs = 50
	res := r.submit(p)
	r.endsAs(res.RunID, core.RunSucceeded)
	if got := states(r.detail(res.RunID)); got != "listWorkspace:failed:timeout " {
		t.Errorf("calls %s", got)
	}
}

// A host that goes away in the middle of a write takes the answer along: the
// next one is asked what became of it, and what it sees is what is told (crash
// matrix 12 to 14 and 26).
// covers: R2 R6
func TestRun_HostGoesAway(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[core.ToolVerdict]struct {
		run  core.RunState
		call string
	}{
		core.VerdictApplied: {core.RunCancelled, "createDocument:succeeded:reconciled "},
		core.VerdictAbsent:  {core.RunCancelled, "createDocument:failed:no_effect "},
		core.VerdictUnknown: {core.RunInterrupted, "createDocument:unknown:runner_lost "},
	} {
		home := t.TempDir()
		r := boot(t, home, func(r *rig) {
			r.execute = func(ctx context.Context, _ wire.ToolExecuteParams) (core.ToolResult, error) {
				<-ctx.Done()
				return core.ToolResult{}, errHost
			}
		})
		r.greet()
		res := r.submit(message("c1", create, core.ToolCreateDocument))
		r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
		r.executing(core.ToolCreateDocument, 1)
		begun := time.Now()
		r.close()
		if took := time.Since(begun); took > DrainTime {
			t.Errorf("the Runner took %v to end", took)
		}
		again := boot(t, home, func(r *rig) {
			r.probe = func(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error) {
				return wire.ToolProbeResult{Verdict: verdict}, nil
			}
		})
		again.greet()
		again.endsOrHas(res.RunID, want.run)
		if got := states(again.detail(res.RunID)); got != want.call {
			t.Errorf("%s: calls %s, want %s", verdict, got, want.call)
		}
	}
}
