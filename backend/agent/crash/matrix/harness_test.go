//go:build crashtest && linux

package matrix

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/api"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// faultsOfHarness are the nine faults that a harness has to stand.
func faultsOfHarness() []row {
	made := create("new.md", newText)
	return []row{
		{"S3.1", "answer lost after the commit", "host", "interrupted(never_started)", answerLost},
		{"S3.2", "model stream breaks in a call", "none (provider)", "failed(stream_cut), request failed(stream_cut), words partial", streamBreaks},
		{"S3.3", "quit while a question waits", "none", "cancelled, createDocument cancelled(cancelled), question cancelled", func(s *stage) string {
			w := s.open()
			run := w.submit("c1", made)
			a := w.asked(run)
			w.quit()
			w = s.open()
			d := w.ended(run)
			if got := d.Approvals[0]; got.Summary.Text != newText || got.InputDigest != a.InputDigest {
				s.t.Errorf("the question is told as %+v", got)
			}
			w.codeOf(w.allow(a)(), fault.StaleApproval)
			s.is("new.md", "-")
			return s.finish(w, d)
		}},
		{"S3.4", "intent stored, effect not to be seen", "host", "interrupted(runner_lost), createDocument unknown(runner_lost)" + allowed, died{
			in: "host", point: "before_effect", allow: true,
			words:   `/tool createDocument {"dir":"notes","name":"new.md","text":"x"}`,
			between: func(s *stage) { try(s.t, os.Remove(s.path("notes"))) },
			more:    tellsTheModel,
		}.withFolder("notes")},
		{"S3.5", "tool done, result not stored", "runner", happened, func(s *stage) string { return full(s, refuse, nil) }},
		{"S3.6", "database takes no more", "runner", "Runner failed, editor saves; started again: succeeded", noMore},
		{"S3.7", "page reads nothing", "none", "cancelled, request failed(cancelled), words partial", slowPage},
		{"S3.8", "cancel meets a stubborn child", "child", "child and grandchild killed after 2 s, within 5 s", cancelMeetsChild},
		{"S3.9", "both killed while words come", "runner and host", "interrupted(runner_lost), request unknown(runner_lost), words partial", func(s *stage) string {
			w := s.open(s.holds("runner", "mid_text")...)
			run := w.submit("c1", "Hello.")
			runner, _ := s.held()
			bothDie(s, w, runner)
			w = s.open()
			return s.finish(w, w.ended(run))
		}},
	}
}

// withFolder is play with a folder in the workspace.
func (p died) withFolder(name string) func(s *stage) string {
	return func(s *stage) string {
		try(s.t, os.Mkdir(s.path(name), 0o755))
		return p.play(s)
	}
}

func decodeRef(w *view, req api.MessageRequest) api.RunRef {
	w.s.t.Helper()
	return ask[api.RunRef](w, "Agent.SubmitMessage", req)
}

// answerLost: the Runner has stored a run, and whom it would tell is gone. The
// command again is that run, which is not begun twice.
func answerLost(s *stage) string {
	w := s.open(s.holds("runner", "after_accept_commit")...)
	runner := w.ready(0)
	w.send("Agent.SubmitMessage", asking("c1", "Hello."))
	_, release := s.held()
	try(s.t, w.cmd.Process.Kill())
	w.killed(0)
	release()
	s.gone(runner)
	stored := s.rowsOf("SELECT id FROM runs")
	w = s.open()
	run := w.submit("c1", "Hello.")
	if len(stored) != 1 || stored[0] != string(run) {
		s.t.Errorf("stored were %v, the command again gave %s", stored, run)
	}
	d := w.ended(run)
	if len(d.ModelCalls) > 1 {
		s.t.Errorf("%d requests", len(d.ModelCalls))
	}
	return s.finish(w, d)
}

// provider puts a provider into the settings that answers with f.
func (s *stage) provider(w *view, f http.HandlerFunc) (id string) {
	s.t.Helper()
	srv := httptest.NewServer(f)
	s.t.Cleanup(srv.Close)
	state := ask[api.SettingsState](w, "Settings.SaveProvider", settings.Provider{
		Name: "Test", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: srv.URL + "/v1", Model: "m",
	})
	return state.Providers[len(state.Providers)-1].ID
}

// chunk writes a piece of an answer and has it sent.
func chunk(w http.ResponseWriter, delta map[string]any) {
	b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b) // who reads may be gone
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// streamBreaks: half of a call never becomes one, and asking again ends.
func streamBreaks(s *stage) string {
	var asked atomic.Int32
	w := s.open()
	id := s.provider(w, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		chunk(w, map[string]any{"content": "I make it. "})
		chunk(w, map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": "call_1", "type": "function",
			"function": map[string]string{"name": "createDocument", "arguments": `{"dir":"","name":"new.md","te`},
		}}})
		panic(http.ErrAbortHandler) // the connection breaks
	})
	req := asking("c1", "Make a note.")
	req.ProviderID = id
	run := s.note(decodeRef(w, req))
	d := w.ended(run)
	if n := asked.Load(); n < 1 || n > 4 {
		s.t.Errorf("the provider was asked %d times", n)
	}
	if last := d.Messages[len(d.Messages)-1]; last.Message.Role != core.RoleAssistant || !strings.HasPrefix(last.Message.Parts[0].Text, "I make it.") {
		s.t.Errorf("kept was %+v", last)
	}
	s.is("new.md", "-")
	return s.finish(w, d)
}

// noMore: commits fail while nothing runs. Nothing is accepted that is not
// stored, what was told stays true, and the editor goes on.
func noMore(s *stage) string {
	w := s.open()
	runner := w.ready(0)
	first := w.ended(w.submit("c1", "Hello."))
	told1 := ask[api.AgentState](w, "Agent.Attach", 0).Cursor
	refuse(s, runner)
	if a := w.send("Agent.SubmitMessage", asking("c2", "Hello again."))(); a.Code == "" {
		s.t.Error("a run was accepted that is not stored")
	}
	state := "Runner " + w.runner("failed").Status
	doc := w.document("plan.md")
	w.synced(doc, []text.Edit{{Insert: "Typed. "}})
	after := "Typed. " + planText
	ask[api.SaveResult](w, "Documents.Save", api.SaveRequest{Page: w.page, ID: doc.ID, Version: 2, Length: text.Length(after), Digest: text.Digest(after)})
	if s.read("plan.md") == after {
		state += ", editor saves"
	}
	ask[api.RunnerState](w, "Agent.RestartRunner")
	w.ready(runner)
	if now := ask[api.AgentState](w, "Agent.Attach", 0).Cursor; now < told1 {
		s.t.Errorf("told were events up to %d, stored are %d", told1, now)
	}
	if d := w.ended(first.Run.ID); told(d) != told(first) {
		s.t.Errorf("what was %s is %s", told(first), told(d))
	}
	d := w.ended(w.submit("c2", "Hello again."))
	return state + "; started again: " + s.finish(w, d)
}

// mostMemory is how much each process may use while nobody reads, in KiB.
const mostMemory = 400 << 10

// slowPage: words come a thousand times a second and the page reads nothing. The
// memory stays bounded, a cancel is heard, and every fact comes in the end.
func slowPage(s *stage) string {
	w := s.open()
	runner := w.ready(0)
	flooded, pieces := make(chan struct{}), 0
	id := s.provider(w, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for ; ; pieces++ {
			chunk(w, map[string]any{"content": "word 字 "})
			if pieces == 2000 {
				close(flooded)
			}
			select {
			case <-pace.C:
			case <-r.Context().Done():
				return
			}
		}
	})
	req := asking("c1", "Talk.")
	req.ProviderID = id
	run := s.note(decodeRef(w, req))
	w.deaf.Lock()
	select {
	case <-flooded:
	case <-time.After(patience):
		s.t.Fatal("the words did not come")
	}
	for _, pid := range []int{runner, w.cmd.Process.Pid} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		try(s.t, err)
		kib := 0
		if _, err := fmt.Sscan(field(string(data), "VmRSS:"), &kib); err != nil || kib > mostMemory {
			s.t.Errorf("process %d uses %d KiB, %v", pid, kib, err)
		}
	}
	begun := time.Now()
	var receipt core.CancelReceipt
	try(s.t, s.client().Call(s.t.Context(), wire.MethodRunCancel, wire.CancelParams{CommandID: "x1", RunID: run}, &receipt))
	if took := time.Since(begun); took > 2*time.Second || receipt.Receipt != "accepted" {
		s.t.Errorf("after %s the receipt is %+v", took, receipt)
	}
	w.deaf.Unlock()
	d := w.ended(run)
	// Every event of the run came, in order.
	w.find("the end of the run", func(m message) bool { return m.Type == string(core.EventRunCancelled) })
	var seqs []string
	w.mu.Lock()
	for _, m := range w.messages {
		if m.Seq > 0 && m.RunID == string(run) {
			seqs = append(seqs, fmt.Sprint(m.Seq))
		}
	}
	w.mu.Unlock()
	if want := s.rowsOf(fmt.Sprintf("SELECT seq FROM events WHERE run_id='%s' ORDER BY seq", run)); strings.Join(seqs, " ") != strings.Join(want, " ") {
		s.t.Errorf("told were %v, stored are %v", seqs, want)
	}
	return s.finish(w, d)
}

// cancelMeetsChild: a child that takes no hint, with a child of its own.
func cancelMeetsChild(s *stage) string {
	k := s.keeper("supervise")
	leaf := 0
	k.says("leaf", &leaf)
	parent := parentOf(s, leaf)
	begun := time.Now()
	_, err := io.WriteString(k.in, "cancel\n")
	try(s.t, err)
	code := 0
	k.says("ended", &code)
	took := time.Since(begun)
	s.gone(parent)
	s.gone(leaf)
	if code != -1 || took < 2*time.Second || took > endTime {
		return fmt.Sprintf("ended with %d after %s", code, took)
	}
	return "child and grandchild killed after 2 s, within 5 s"
}

// field returns what stands behind a name in a file of lines.
func field(data, name string) string {
	for line := range strings.Lines(data) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
