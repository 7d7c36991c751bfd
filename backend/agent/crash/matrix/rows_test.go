//go:build crashtest && linux

package matrix

import (
	"strings"

	"galley/backend/agent/core"
	"galley/backend/api"
	"galley/backend/fault"
)

// died is a run that was under way when a process died at a point.
type died struct {
	// words are what the mock is asked, allow whether its question is answered.
	in, point, words string
	allow            bool
	// between happens when all is dead and nothing is started yet; only where
	// the host dies.
	between func(s *stage)
	// more looks at the end.
	more func(s *stage, w *view, d core.RunDetail)
}

// play has the process die, starts what a person would, sends the command again
// and returns the state.
func (p died) play(s *stage) string {
	w := s.open(s.dies(p.in, p.point)...)
	old := w.ready(0)
	first := w.send("Agent.SubmitMessage", asking("c1", p.words))
	if p.allow {
		var a core.Approval
		w.find("a question", func(m message) bool {
			return m.Type == string(core.EventApprovalAsked) && decode(m, &a)
		})
		w.allow(a)() // its answer may be lost
	}
	if p.in == "runner" {
		w.ready(old)
		if got := s.died("runner"); got != old {
			s.t.Errorf("process %d died, the Runner was %d", got, old)
		}
	} else {
		w.killed(old)
		if got := s.died("host"); got != w.cmd.Process.Pid {
			s.t.Errorf("process %d died, the window was %d", got, w.cmd.Process.Pid)
		}
		if p.between != nil {
			p.between(s)
		}
		w = s.open()
	}
	was := first()
	// The command again is the run that there is (R4).
	run := w.submit("c1", p.words)
	if was.Code == "" {
		var ref api.RunRef
		decodeRaw(s.t, was.Result, &ref)
		if core.RunID(ref.RunID) != run {
			s.t.Errorf("sent again the command gave %s, it was %s", run, ref.RunID)
		}
	} else if was.Code != fault.RunnerGone && was.Code != "gone" {
		s.t.Errorf("the first answer was %s", was.Code)
	}
	d := w.ended(run)
	if p.more != nil {
		p.more(s, w, d)
	}
	return s.finish(w, d)
}

// acceptRows are rows 1 and 2: the commit of a run.
func acceptRows() []row {
	return []row{
		{"1", "before_accept_commit", "runner", "no run; sent again: succeeded", func(s *stage) string {
			w := s.open(s.dies("runner", "before_accept_commit")...)
			old := w.ready(0)
			w.codeOf(w.send("Agent.SubmitMessage", asking("c1", "Hello."))(), fault.RunnerGone)
			w.ready(old)
			s.died("runner")
			state := ask[api.AgentState](w, "Agent.Attach", 0)
			if len(state.Runs)+len(state.Sessions) != 0 {
				s.t.Errorf("there are %d runs and %d sessions", len(state.Runs), len(state.Sessions))
			}
			return "no run; sent again: " + s.finish(w, w.ended(w.submit("c1", "Hello.")))
		}},
		{"2", "after_accept_commit", "runner", "interrupted(never_started)", died{
			in: "runner", point: "after_accept_commit", words: "Hello.",
			more: func(s *stage, w *view, d core.RunDetail) {
				if len(d.ModelCalls) != 0 || len(d.Messages) != 1 {
					s.t.Errorf("%d requests and %d messages", len(d.ModelCalls), len(d.Messages))
				}
			},
		}.play},
	}
}

// modelRows are rows 3 to 6: a request to the model.
func modelRows() []row {
	return []row{
		{"3", "after_run_started", "runner", "interrupted(runner_lost)", died{in: "runner", point: "after_run_started", words: "Hello."}.play},
		{"3", "before_request", "runner", "interrupted(runner_lost), request failed(no_effect)", died{in: "runner", point: "before_request", words: "Hello."}.play},
		{"4", "request_sent", "runner", "interrupted(runner_lost), request unknown(runner_lost)", died{
			in: "runner", point: "request_sent", words: "Hello.",
			more: func(s *stage, _ *view, d core.RunDetail) {
				if d.Run.Usage.Kind != core.UsageUnknown || d.ModelCalls[0].Usage.Kind != core.UsageUnknown {
					s.t.Errorf("usage is told as %+v, %+v", d.Run.Usage, d.ModelCalls[0].Usage)
				}
				if len(d.Messages) != 1 {
					s.t.Errorf("%d messages", len(d.Messages))
				}
			},
		}.play},
		{"5", "mid_text", "runner", "interrupted(runner_lost), request unknown(runner_lost), words partial", died{
			in: "runner", point: "mid_text", words: "Hello.",
			more: func(s *stage, _ *view, d core.RunDetail) {
				last := d.Messages[len(d.Messages)-1]
				if last.Message.Role != core.RoleAssistant || last.Message.Parts[0].Text == "" {
					s.t.Errorf("kept was %+v", last)
				}
				if words := s.galley("runs", "show", string(d.Run.ID)); !strings.Contains(words, "here it broke off") {
					s.t.Errorf("galley runs show does not say that it broke off:\n%s", words)
				}
			},
		}.play},
		{"6", "mid_tool_args", "runner", "interrupted(runner_lost), request unknown(runner_lost)", died{
			in: "runner", point: "mid_tool_args", words: create("new.md", "# New\n"),
			more: func(s *stage, _ *view, _ core.RunDetail) { s.is("new.md", "-") },
		}.play},
	}
}

// callRows are rows 7 to 11, 18, 20 and 28: a call up to its effect.
func callRows() []row {
	made := create("new.md", "# New\n")
	absent := func(s *stage, _ *view, _ core.RunDetail) { s.is("new.md", "-") }
	readable := func(state core.ApprovalState) func(s *stage, w *view, d core.RunDetail) {
		return func(s *stage, w *view, d core.RunDetail) {
			s.is("new.md", "-")
			if a := d.Approvals[0]; a.State != state || a.Summary.Text != "# New\n" || a.Summary.Path != "new.md" {
				s.t.Errorf("the question is told as %+v", a)
			}
		}
	}
	return []row{
		{"7", "after_proposed", "runner", "interrupted(runner_lost), createDocument cancelled(runner_lost)", died{
			in: "runner", point: "after_proposed", words: made, more: absent,
		}.play},
		{"8", "after_approval_asked", "runner", "interrupted(runner_lost), createDocument cancelled(runner_lost), question expired", died{
			in: "runner", point: "after_approval_asked", words: made,
			more: func(s *stage, w *view, d core.RunDetail) {
				readable(core.ApprovalExpired)(s, w, d)
				// Consent that comes now is for nothing.
				w.codeOf(w.allow(d.Approvals[0])(), fault.StaleApproval)
				s.is("new.md", "-")
			},
		}.play},
		{"9", "before_ready, approval decided", "runner", "interrupted(runner_lost), createDocument cancelled(runner_lost), question allowed_once", died{
			in: "runner", point: "before_ready", words: made, allow: true, more: readable(core.ApprovalAllowedOnce),
		}.play},
		{"10", "after_ready", "runner", "interrupted(runner_lost), createDocument cancelled(runner_lost), question allowed_once", died{
			in: "runner", point: "after_ready", words: made, allow: true, more: absent,
		}.play},
		{"11", "after_running (read)", "runner", "interrupted(runner_lost), searchWorkspace failed(interrupted_read)", died{
			in: "runner", point: "after_running", words: search,
			more: func(s *stage, w *view, d core.RunDetail) {
				// What only read may be done again.
				again := s.note(ask[api.RunRef](w, "Agent.ContinueRun", api.ContinueRequest{CommandID: "c2", RunID: string(d.Run.ID), ProviderID: "mock", Language: "en"}))
				if e := w.ended(again); e.Run.State != core.RunSucceeded || e.Run.ParentRunID != d.Run.ID {
					s.t.Errorf("it goes on as %s", told(e))
				}
			},
		}.play},
		{"18", "after_patch", "runner", "interrupted(runner_lost), proposePatch succeeded, proposal proposed", patched},
		{"20", "after_result", "runner", "interrupted(runner_lost), searchWorkspace succeeded", died{
			in: "runner", point: "after_result", words: search,
			more: func(s *stage, _ *view, d core.RunDetail) {
				if !strings.Contains(d.Calls[0].Result, "plan.md") || len(d.ModelCalls) != 1 {
					s.t.Errorf("kept was %q, %d requests", d.Calls[0].Result, len(d.ModelCalls))
				}
			},
		}.play},
		{"28", "waiting for an approval", "runner and host", "interrupted(runner_lost), createDocument cancelled(runner_lost), question expired", func(s *stage) string {
			w := s.open()
			runner := w.ready(0)
			run := w.submit("c1", made)
			a := w.asked(run)
			bothDie(s, w, runner)
			w = s.open()
			if got := w.submit("c1", made); got != run {
				s.t.Errorf("sent again the command gave %s", got)
			}
			d := w.ended(run)
			readable(core.ApprovalExpired)(s, w, d)
			w.codeOf(w.allow(a)(), fault.StaleApproval)
			s.is("new.md", "-")
			return s.finish(w, d)
		}},
	}
}

// bothDie kills a Runner and its window, so that neither sees the other's end.
func bothDie(s *stage, w *view, runner int) {
	s.t.Helper()
	stop(s, runner)
	try(s.t, w.cmd.Process.Kill())
	w.killed(0)
	s.kill(runner)
}

// patched is row 18: the patch and its result are one commit.
func patched(s *stage) string {
	w := s.open(s.dies("runner", "after_patch")...)
	old := w.ready(0)
	doc := w.document("plan.md")
	req := asking("c1", patch)
	req.Place = api.Place{DocumentID: doc.ID, Version: doc.Version}
	first := w.send("Agent.SubmitMessage", req)
	w.ready(old)
	s.died("runner")
	first()
	run := s.note(ask[api.RunRef](w, "Agent.SubmitMessage", req))
	d := w.ended(run)
	if len(d.Proposals) != 1 || d.Proposals[0].ToolCallID != d.Calls[0].ID {
		s.t.Errorf("proposals are %+v", d.Proposals)
	}
	open := ask[api.AgentState](w, "Agent.Attach", 0).Proposals
	if len(open) != 1 || open[0].DocURI != doc.URI {
		s.t.Errorf("open are %+v", open)
	}
	s.is("plan.md", planText) // nothing is applied by itself
	if n := s.rowsOf("SELECT count(*) FROM proposals"); n[0] != "1" {
		s.t.Errorf("%v proposals", n)
	}
	return s.finish(w, d)
}
