//go:build crashtest && linux

package matrix

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/api"
	"galley/backend/fault"
	"galley/backend/text"
)

func decode(m message, v any) bool { return json.Unmarshal(m.Payload, v) == nil }

func decodeRaw(t testing.TB, raw json.RawMessage, v any) {
	t.Helper()
	try(t, json.Unmarshal(raw, v))
}

func stop(s *stage, pid int) {
	s.t.Helper()
	try(s.t, unix.Kill(pid, unix.SIGSTOP))
}

const newText = "# New\n\nMade by a tool.\n"

// The states of a creation that died.
const (
	allowed   = ", question allowed_once"
	noEffect  = "interrupted(runner_lost), createDocument failed(no_effect)" + allowed
	happened  = "interrupted(runner_lost), createDocument succeeded(reconciled)" + allowed
	nobody    = "interrupted(runner_lost), createDocument unknown(runner_lost)" + allowed
	cancelled = "cancelled(runner_lost), createDocument succeeded" + allowed
	// A Runner that sees its host go has all stopped before it ends.
	noEffectStopped = "cancelled(runner_lost), createDocument failed(no_effect)" + allowed
	happenedStopped = "cancelled(runner_lost), createDocument succeeded(reconciled)" + allowed
)

// effectRows are rows 12 to 16, 19, 21, 22: the effect of a call.
func effectRows() []row {
	made := create("new.md", newText)
	absent := func(s *stage, _ *view, _ core.RunDetail) { s.is("new.md", "-") }
	there := func(s *stage, _ *view, _ core.RunDetail) { s.is("new.md", newText) }
	edit := func(s *stage) { s.write("new.md", "mine\n") }
	edited := func(s *stage, w *view, d core.RunDetail) {
		s.is("new.md", "mine\n")
		tellsTheModel(s, w, d)
	}
	return []row{
		{"12", "before_effect (create)", "host", noEffectStopped, died{in: "host", point: "before_effect", words: made, allow: true, more: absent}.play},
		{"12", "before_effect (create)", "runner", noEffect, died{in: "runner", point: "before_effect", words: made, allow: true, more: absent}.play},
		{"13", "after_effect (create)", "host", happenedStopped, died{in: "host", point: "after_effect", words: made, allow: true, more: there}.play},
		{"13", "after_effect (create)", "runner", happened, died{in: "runner", point: "after_effect", words: made, allow: true, more: there}.play},
		{"13", "after_rename (create)", "host", happenedStopped, died{in: "host", point: "after_rename", words: made, allow: true, more: there}.play},
		{"14", "after_effect, edited since", "host", nobody, died{in: "host", point: "after_effect", words: made, allow: true, between: edit, more: edited}.play},
		{"14", "after_effect, edited since", "runner", nobody, func(s *stage) string {
			return standing(s, "runner", "after_effect", func(w *view, pid int, _ func()) {
				edit(s)
				s.kill(pid)
				w.ready(pid)
			}, edited)
		}},
		{"15", "between_temp_and_rename", "host", noEffectStopped, died{in: "host", point: "between_temp_and_rename", words: made, allow: true, more: absent, between: func(s *stage) {
			if all := strings.Join(s.files(s.folder), " "); !strings.Contains(all, ".galley-") {
				s.t.Errorf("no temporary file was there to remove: %s", all)
			}
		}}.play},
		{"15", "between_temp_and_rename", "runner", noEffect, func(s *stage) string {
			return standing(s, "host", "between_temp_and_rename", func(w *view, _ int, release func()) {
				old := w.ready(0)
				s.kill(old)
				w.ready(old)
				release()
			}, absent)
		}},
		{"16", "after_rename, power lost", "recorded calls", "created whole or not at all, renamed or not, nothing lost", powerLost},
		{"19", "before_decide", "host", "proposal proposed, base differs; sent again: applied", decided},
		{"21", "after_cancel_commit, no call", "runner", "cancelled(runner_lost), request unknown(runner_lost), words partial", func(s *stage) string {
			// The words are held, so that the run cannot end before the kill.
			w := s.open(append(s.dies("runner", "after_cancel_commit"), s.holds("runner", "mid_text")...)...)
			run := w.submit("c1", "Hello.")
			old, _ := s.held()
			cancel := w.send("Agent.Cancel", api.CancelRequest{CommandID: "x1", RunID: string(run)})
			w.ready(old)
			s.died("runner")
			cancel()
			d := w.ended(run)
			// The receipt outlives the crash (R7).
			if r := ask[api.CancelReceipt](w, "Agent.Cancel", api.CancelRequest{CommandID: "x1", RunID: string(run)}); r.Receipt != "accepted" {
				s.t.Errorf("the receipt is %+v", r)
			}
			return s.finish(w, d)
		}},
		{"21", "after_cancel_commit, call runs", "runner", nobody, func(s *stage) string {
			// The effect has happened and the file is another's by now: nobody knows.
			env := append(s.dies("runner", "after_cancel_commit"), s.holds("host", "after_effect")...)
			return s.held2(env, func(w *view, run core.RunID, release func()) {
				old := w.ready(0)
				edit(s)
				cancel := w.send("Agent.Cancel", api.CancelRequest{CommandID: "x1", RunID: string(run)})
				w.ready(old)
				s.died("runner")
				cancel()
				release()
			}, edited)
		}},
		{"22", "cancel while create finishes", "none", "cancelled, createDocument succeeded" + allowed, func(s *stage) string {
			return s.held2(s.holds("host", "after_effect"), func(w *view, run core.RunID, release func()) {
				if r := ask[api.CancelReceipt](w, "Agent.Cancel", api.CancelRequest{CommandID: "x1", RunID: string(run)}); r.State != string(core.RunCancelling) {
					s.t.Errorf("the receipt is %+v", r)
				}
				release()
			}, func(s *stage, w *view, d core.RunDetail) { inTrueOrder(s, d); there(s, w, d) })
		}},
		{"22", "after_result, while cancelling", "runner", cancelled, func(s *stage) string {
			env := append(s.dies("runner", "after_result"), s.holds("host", "after_effect")...)
			return s.held2(env, func(w *view, run core.RunID, release func()) {
				old := w.ready(0)
				ask[api.CancelReceipt](w, "Agent.Cancel", api.CancelRequest{CommandID: "x1", RunID: string(run)})
				release()
				w.ready(old)
				s.died("runner")
			}, func(s *stage, w *view, d core.RunDetail) { inTrueOrder(s, d); there(s, w, d) })
		}},
	}
}

// standing creates a document with one process standing at a point.
func standing(s *stage, in, point string, then func(w *view, pid int, release func()), more func(*stage, *view, core.RunDetail)) string {
	s.t.Helper()
	var w *view
	return s.stand(s.holds(in, point), &w, func(_ core.RunID, pid int, release func()) { then(w, pid, release) }, more)
}

// held2 is standing where the run is needed and not the process.
func (s *stage) held2(env []string, then func(w *view, run core.RunID, release func()), more func(*stage, *view, core.RunDetail)) string {
	s.t.Helper()
	var w *view
	return s.stand(env, &w, func(run core.RunID, _ int, release func()) { then(w, run, release) }, more)
}

func (s *stage) stand(env []string, at **view, then func(core.RunID, int, func()), more func(*stage, *view, core.RunDetail)) string {
	s.t.Helper()
	w := s.open(env...)
	*at = w
	run := w.submit("c1", create("new.md", newText))
	a := w.asked(run)
	if got := w.allow(a)(); got.Code != "" {
		s.t.Errorf("the answer was refused: %s", got.Code)
	}
	pid, release := s.held()
	if state := ask[core.RunDetail](w, "Agent.RunDetail", string(run)); state.Calls[0].State != core.CallRunning {
		s.t.Errorf("while its process stands the call is told as %s", told(state))
	}
	then(run, pid, release)
	d := w.ended(run)
	if more != nil {
		more(s, w, d)
	}
	return s.finish(w, d)
}

// tellsTheModel continues a run with a call whose outcome nobody knows: the
// model is told so, and it is not done again (R13).
func tellsTheModel(s *stage, w *view, d core.RunDetail) {
	s.t.Helper()
	again := s.note(ask[api.RunRef](w, "Agent.ContinueRun", api.ContinueRequest{CommandID: "c2", RunID: string(d.Run.ID), ProviderID: "mock", Language: "en"}))
	e := w.ended(again)
	words := ""
	for _, m := range e.Messages {
		if m.Message.Role == core.RoleAssistant {
			words += m.Message.Parts[0].Text
		}
	}
	if e.Run.State != core.RunSucceeded || len(e.Calls) != 0 || !strings.Contains(words, "The outcome of 1 call(s) is not known") {
		s.t.Errorf("it goes on as %s and says %q", told(e), words)
	}
}

// inTrueOrder checks that the wish to stop came before the success that was
// kept.
func inTrueOrder(s *stage, d core.RunDetail) {
	s.t.Helper()
	got := strings.Join(s.rowsOf("SELECT type||coalesce('/'||json_extract(payload_json,'$.state'),'') FROM events WHERE type IN('run.cancelling','run.cancelled') OR (type='tool.changed' AND json_extract(payload_json,'$.state')='succeeded') ORDER BY seq"), " ")
	if want := "run.cancelling/cancelling tool.changed/succeeded run.cancelled/cancelled"; got != want {
		s.t.Errorf("the order of %s is %s", told(d), got)
	}
}

// decided is row 19: the editor applied a patch, and the decision was not sent.
func decided(s *stage) string {
	w := s.open(s.dies("host", "before_decide")...)
	runner := w.ready(0)
	doc := w.document("plan.md")
	req := asking("c1", patch)
	req.Place = api.Place{DocumentID: doc.ID, Version: doc.Version}
	run := s.note(ask[api.RunRef](w, "Agent.SubmitMessage", req))
	d := w.ended(run)
	p := d.Proposals[0]
	w.synced(doc, p.Patch.Edits)
	after := strings.Replace(planText, "old words", "new words", 1)
	ask[api.SaveResult](w, "Documents.Save", api.SaveRequest{Page: w.page, ID: doc.ID, Version: 2, Length: text.Length(after), Digest: text.Digest(after)})
	decide := api.DecideRequest{CommandID: "d1", ProposalID: string(p.ID), AppliedVersion: 2, Hunks: []core.HunkDecision{{ID: p.Hunks[0].ID, Outcome: core.HunkAccepted}}}
	w.send("Agent.Decide", decide)
	w.killed(runner)
	s.died("host")

	w = s.open()
	doc = w.document("plan.md")
	p = ask[core.Proposal](w, "Agent.Proposal", string(p.ID))
	state := "proposal " + string(p.State)
	data, err := os.ReadFile(doc.Path)
	try(s.t, err)
	// The page sees by the digest that the text is no longer the one it was
	// proposed for: it asks whether it is in the text already.
	if string(data) == after && text.Digest(string(data)) != p.BaseDigest {
		state += ", base differs"
	}
	req = asking("c2", patch)
	req.Place = api.Place{DocumentID: doc.ID, Version: 2} // of the window that died
	w.codeOf(w.send("Agent.SubmitMessage", req)(), fault.UnknownBase)
	for range 2 {
		if got := ask[api.DecideResult](w, "Agent.Decide", decide); got.State != string(core.ProposalApplied) {
			s.t.Errorf("sent again it is %+v", got)
		}
	}
	decide.Hunks[0].Outcome = core.HunkRejected
	w.codeOf(w.send("Agent.Decide", decide)(), fault.CommandConflict)
	p = ask[core.Proposal](w, "Agent.Proposal", string(p.ID))
	if n := s.rowsOf("SELECT count(*) FROM events WHERE type='proposal.decided'"); n[0] != "1" {
		s.t.Errorf("%v decisions", n)
	}
	s.is("plan.md", after)
	s.finish(w, w.ended(run))
	return state + "; sent again: " + string(p.State)
}
