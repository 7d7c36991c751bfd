package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// message is a message about the document of a window that writes.
func (w *writing) message(command, words string) MessageRequest {
	return MessageRequest{
		CommandID: command, Text: words, Language: "en", ProviderID: settings.Mock().ID,
		Place: Place{DocumentID: w.doc.ID, Version: w.doc.Version},
	}
}

func (w *writing) say(r MessageRequest) RunRef {
	w.t.Helper()
	return ask[RunRef](w.window, "Agent.SubmitMessage", r)
}

// approval waits for the question of a run.
func (w *writing) approval(run string) core.Approval {
	w.t.Helper()
	return await(w.window, "approval.asked", func(e Envelope, _ core.Approval) bool { return e.RunID == run })
}

// answer decides an approval.
func (w *writing) answer(command string, a core.Approval, decision core.Decision) ApprovalRequest {
	return ApprovalRequest{
		CommandID: command, ApprovalID: string(a.ID), ToolCallID: string(a.ToolCallID), InputDigest: a.InputDigest, Decision: string(decision),
	}
}

// called waits until a call of a run stands in a state, and returns it.
func (w *writing) called(run, tool string, state core.ToolCallState) core.ToolCall {
	w.t.Helper()
	return await(w.window, "tool.changed", func(e Envelope, c core.ToolCall) bool {
		return e.RunID == run && c.Name == tool && c.State == state
	})
}

// history reads all events of a session again.
func (w *writing) history(session string) []EventRecord {
	w.t.Helper()
	var all []EventRecord
	for after := int64(0); ; {
		page := ask[SessionEvents](w.window, "Agent.SessionEvents", session, after)
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
		after = all[len(all)-1].Seq
	}
}

// tool is a line upon which the mock calls a tool.
func tool(t *testing.T, name string, input any) string {
	t.Helper()
	data, err := json.Marshal(input)
	try(t, err)
	return "/tool " + name + " " + string(data)
}

// absent fails when a file is there.
func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v)", filepath.Base(path), err)
	}
}

const ferry = "# Ferry 😀\n\nIt leaves at dawn.\n"

func creation(t *testing.T) string {
	t.Helper()
	return tool(t, core.ToolCreateDocument, map[string]string{"dir": "", "name": "Ferry.md", "text": ferry})
}

// A conversation from a message to a file and a proposal: nothing is written
// before the person has said so, the file holds what was approved, the proposal
// is of the document as it was sent, and all of it can be read again.
//
// covers: T2 T4 T5 R3 R5
func TestAgent_Conversation(t *testing.T) {
	w := newWriting(t)
	made := filepath.Join(filepath.Dir(w.path), "Ferry.md")
	w.mark()
	req := w.message("c1", creation(t)+"\n"+tool(t, core.ToolProposePatch, map[string]string{
		"oldText": "Last line.", "newText": "The last line 🐢.", "summary": "Say it whole",
	}))
	ref := w.say(req)
	if again := w.say(req); again != ref {
		t.Errorf("again %+v, first %+v", again, ref)
	}
	asked := w.approval(ref.RunID)
	if asked.Rule != core.PermNotesWrite || asked.State != core.ApprovalPending || asked.Summary.Path != "Ferry.md" || asked.Summary.Text != ferry || asked.Summary.Bytes != len(ferry) {
		t.Errorf("asked %+v", asked)
	}
	absent(t, made)
	// A page that attaches now gets the question too.
	open := ask[AgentState](w.window, "Agent.Attach", 0)
	if len(open.Approvals) != 1 || open.Approvals[0].ID != asked.ID || len(open.Runs) != 1 || open.Runs[0].State != core.RunWaiting {
		t.Errorf("attached to %+v, %+v", open.Approvals, open.Runs)
	}
	if run := open.Runs[0]; run.Budget.Steps != 25 || run.Budget.TimeMs != 600_000 || run.Budget.Tokens != 200_000 || run.DocURI != w.doc.URI ||
		!slices.Equal(run.Tools, append(core.ConversationTools(), core.DevelopmentTools()...)) {
		t.Errorf("run %+v", run)
	}
	if s := open.Sessions[0]; s.WorkspaceID != filepath.Dir(w.path) || s.DocURI != w.doc.URI {
		t.Errorf("session %+v", s)
	}
	// Only the very thing that was asked can be allowed, once, and not for good.
	for _, c := range []struct {
		name   string
		change func(*ApprovalRequest)
		want   fault.Code
	}{
		{"another input", func(r *ApprovalRequest) { r.InputDigest = text.Digest("x") }, fault.StaleApproval},
		{"another call", func(r *ApprovalRequest) { r.ToolCallID = "other" }, fault.StaleApproval},
		{"for the session", func(r *ApprovalRequest) { r.Decision = string(core.AllowSession) }, fault.InvalidInput},
		{"another approval", func(r *ApprovalRequest) { r.ApprovalID = "other" }, fault.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.answer("w"+strings.ReplaceAll(c.name, " ", "-"), asked, core.AllowOnce)
			c.change(&r)
			w.refused(c.want, "Agent.DecideApproval", r)
		})
	}
	absent(t, made)
	allow := w.answer("a1", asked, core.AllowOnce)
	got := ask[core.Approval](w.window, "Agent.DecideApproval", allow)
	if got.State != core.ApprovalAllowedOnce || got.ID != asked.ID || got.DecidedAtMs == 0 {
		t.Errorf("decided %+v", got)
	}
	if again := ask[core.Approval](w.window, "Agent.DecideApproval", allow); !cmp.Equal(again, got) {
		t.Errorf("again %+v", again)
	}
	w.refused(fault.StaleApproval, "Agent.DecideApproval", w.answer("a2", asked, core.Deny))

	p := w.proposed(ref.RunID)
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded || end.Fault != nil {
		t.Errorf("ended %+v", end)
	}
	if got := content(t, made); got != ferry {
		t.Errorf("made %q", got)
	}
	if got := content(t, w.path); got != sampleBytes {
		t.Errorf("a proposal changed the file: %q", got)
	}
	await(w.window, "workspace.changed", func(_ Envelope, c WorkspaceChanged) bool { return slices.Contains(c.Folders, filepath.Dir(made)) })
	if p.Origin != core.OriginTool || p.DocURI != w.doc.URI || p.Patch.BaseVersion != w.doc.Version || p.Patch.Summary != "Say it whole" || len(p.Hunks) != 1 {
		t.Errorf("proposal %+v", p)
	}
	if got, err := text.Apply(sampleText, p.Patch.Edits); err != nil || got != strings.Replace(sampleText, "Last line.", "The last line 🐢.", 1) {
		t.Errorf("the edits make %q (%v)", got, err)
	}

	w.readAgain(ref, core.CallSucceeded)
	detail := ask[core.RunDetail](w.window, "Agent.RunDetail", ref.RunID)
	if len(detail.Calls) != 2 || len(detail.Approvals) != 1 || len(detail.Proposals) != 1 || len(detail.ModelCalls) < 2 || detail.Run.State != core.RunSucceeded {
		t.Errorf("detail %+v", detail)
	}
	for i, c := range detail.Calls {
		if d := cmp.Diff(c, ask[core.ToolCall](w.window, "Agent.ToolCall", string(c.ID))); d != "" || c.Ord != i+1 {
			t.Errorf("call %d: %s", c.Ord, d)
		}
	}
	for _, m := range detail.Messages {
		got := ask[MessageBody](w.window, "Agent.MessageText", ref.SessionID, string(m.MessageID))
		if d := cmp.Diff(m.Message, got.Message); d != "" {
			t.Error(d)
		}
	}
	w.refused(fault.NotFound, "Agent.MessageText", ref.SessionID, "none")
	reports := ask[[]core.ContextReport](w.window, "Agent.ExplainContext", ref.RunID)
	if len(reports) != len(detail.ModelCalls) || reports[0].Size != settings.Mock().ContextTokens || len(reports[0].Parts) == 0 {
		t.Errorf("%d reports for %d requests: %+v", len(reports), len(detail.ModelCalls), reports)
	}
	kinds := map[string]bool{}
	for _, part := range reports[0].Parts {
		kinds[part.Kind] = true
	}
	if !kinds["document"] || !kinds["tools"] || !kinds["message"] {
		t.Errorf("the first request held %v", kinds)
	}
	begun := await[core.ModelCallBegun](w.window, "model_call.begun", nil)
	if begun.ContextSize != settings.Mock().ContextTokens || begun.ContextTokens == 0 {
		t.Errorf("begun %+v", begun)
	}
}

// readAgain compares the events of a session that came live with those that are
// read again, and looks at the last state of each call.
func (w *writing) readAgain(ref RunRef, last core.ToolCallState) {
	w.t.Helper()
	type fact struct {
		Type    string
		Seq     int64
		Ref     bool
		Payload any
	}
	decoded := func(raw json.RawMessage) (v any) {
		try(w.t, json.Unmarshal(raw, &v))
		return v
	}
	var live, again []fact
	list, _ := w.sent()
	for _, m := range list {
		if m.Seq > 0 && m.SessionID == ref.SessionID {
			live = append(live, fact{m.Type, m.Seq, m.Ref, decoded(m.Payload)})
		}
	}
	calls := map[core.ToolCallID]core.ToolCallState{}
	for _, r := range w.history(ref.SessionID) {
		again = append(again, fact{r.Type, r.Seq, r.Ref, decoded(r.Payload)})
		if r.Type == "tool.changed" {
			var c core.ToolCall
			try(w.t, json.Unmarshal(r.Payload, &c))
			calls[c.ID] = c.State
		}
	}
	if d := cmp.Diff(live, again); d != "" {
		w.t.Errorf("live and read again: %s", d)
	}
	for id, state := range calls {
		if state != last {
			w.t.Errorf("%s is %s", id, state)
		}
	}
}

// A denial is a result that the model goes on from, and nothing is written.
//
// covers: T5 T6
func TestAgent_DeniedCallGoesOn(t *testing.T) {
	w := newWriting(t)
	ref := w.say(w.message("c1", creation(t)))
	ask[core.Approval](w.window, "Agent.DecideApproval", w.answer("a1", w.approval(ref.RunID), core.Deny))
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	absent(t, filepath.Join(filepath.Dir(w.path), "Ferry.md"))
	if c := w.called(ref.RunID, core.ToolCreateDocument, core.CallFailed); c.Reason != "permission_denied" || c.StartedAtMs != 0 {
		t.Errorf("call %+v", c)
	}
}

// Stopping a run that waits for an answer closes the question; an answer that
// comes late is refused, and the run can be gone on with as a new one.
//
// covers: R7 T5 R6
func TestAgent_StopWhileAsked(t *testing.T) {
	w := newWriting(t)
	made := filepath.Join(filepath.Dir(w.path), "Ferry.md")
	ref := w.say(w.message("c1", creation(t)))
	asked := w.approval(ref.RunID)
	await(w.window, "run.waiting", func(e Envelope, _ core.RunChanged) bool { return e.RunID == ref.RunID })
	w.mark()
	// Quitting now names the run.
	if !w.backend.AskToClose() {
		t.Error("does not ask")
	}
	if got := await[CloseRequested](w.window, "window.close_requested", nil); !slices.Equal(got.Runs, []string{ref.RunID}) {
		t.Errorf("asked about %v", got.Runs)
	}
	w.tell("Documents.AcknowledgeClose", w.number)
	receipt := ask[CancelReceipt](w.window, "Agent.Cancel", CancelRequest{CommandID: "x1", RunID: ref.RunID})
	if receipt.Receipt != "accepted" {
		t.Errorf("receipt %+v", receipt)
	}
	if end := w.ended(ref.RunID); end.State != core.RunCancelled {
		t.Errorf("ended %+v", end)
	}
	decided := await[core.Approval](w.window, "approval.decided", nil)
	if decided.ID != asked.ID || decided.State != core.ApprovalCancelled {
		t.Errorf("closed %+v", decided)
	}
	w.called(ref.RunID, core.ToolCreateDocument, core.CallCancelled)
	w.refused(fault.StaleApproval, "Agent.DecideApproval", w.answer("a1", asked, core.AllowOnce))
	absent(t, made)
	if open := ask[AgentState](w.window, "Agent.Attach", 0); len(open.Approvals) != 0 {
		t.Errorf("still open: %+v", open.Approvals)
	}

	w.mark()
	on := ContinueRequest{CommandID: "c2", RunID: ref.RunID, Language: "en", ProviderID: settings.Mock().ID}
	next := ask[RunRef](w.window, "Agent.ContinueRun", on)
	if again := ask[RunRef](w.window, "Agent.ContinueRun", on); again != next {
		t.Errorf("again %+v, first %+v", again, next)
	}
	if next.SessionID != ref.SessionID || next.RunID == ref.RunID {
		t.Errorf("continued as %+v", next)
	}
	if end := w.ended(next.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	run := await(w.window, "run.accepted", func(e Envelope, _ core.Run) bool { return e.RunID == next.RunID })
	if string(run.ParentRunID) != ref.RunID {
		t.Errorf("run %+v", run)
	}
	// What has ended well is not gone on with.
	w.refused(fault.InvalidInput, "Agent.ContinueRun", ContinueRequest{CommandID: "c3", RunID: next.RunID, ProviderID: settings.Mock().ID})
}

// A Runner that is killed while a person is asked leaves the truth: the run was
// interrupted, the question is no consent, nothing was written; and what goes on
// from it tells the model so.
//
// covers: R2 R6 R13
func TestAgent_RunnerIsKilledWhileAsked(t *testing.T) {
	w := newWriting(t)
	made := filepath.Join(filepath.Dir(w.path), "Ferry.md")
	ref := w.say(w.message("c1", "Please.\n"+creation(t)))
	asked := w.approval(ref.RunID)
	before := w.ready()
	w.mark()
	kill(t, before.PID)
	await(w.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Restarts == before.Restarts+1 && r.Status == "ready" })
	if end := w.ended(ref.RunID); end.State != core.RunInterrupted {
		t.Errorf("ended %+v", end)
	}
	if got := await[core.Approval](w.window, "approval.decided", nil); got.ID != asked.ID || got.State != core.ApprovalExpired {
		t.Errorf("the question is %+v", got)
	}
	if c := w.called(ref.RunID, core.ToolCreateDocument, core.CallCancelled); c.Reason != "runner_lost" || c.StartedAtMs != 0 {
		t.Errorf("call %+v", c)
	}
	w.refused(fault.StaleApproval, "Agent.DecideApproval", w.answer("a1", asked, core.AllowOnce))
	absent(t, made)
	detail := ask[core.RunDetail](w.window, "Agent.RunDetail", ref.RunID)
	if detail.Run.State != core.RunInterrupted || len(detail.Approvals) != 1 || detail.Approvals[0].State != core.ApprovalExpired || detail.Approvals[0].Summary.Text != ferry {
		t.Errorf("detail %+v", detail)
	}
	// The document is as it was and can be edited all along.
	w.typed(w.number, w.doc, insertion(0, "x"))

	e := newEndpoint(t, says("Understood."))
	w.mark()
	next := ask[RunRef](w.window, "Agent.ContinueRun", ContinueRequest{
		CommandID: "c2", RunID: ref.RunID, Language: "en", ProviderID: e.configured(w.window),
		Place: Place{DocumentID: w.doc.ID, Version: w.doc.Version + 1},
	})
	if end := w.ended(next.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	prompt := (<-e.arrived).prompt()
	for _, part := range []string{"createDocument", "Ferry.md", "x# Notes 😀"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("%q was not told: %s", part, prompt)
		}
	}
	absent(t, made)
}

// What the person set holds for runs that begin after it: reading other
// documents is asked about or denied, and an answer for the session counts for
// reads.
//
// covers: T4 R8
func TestAgent_PermissionsAndLimits(t *testing.T) {
	w := newWriting(t)
	write(t, filepath.Join(filepath.Dir(w.path), "other.md"), "Harbour.\n")
	set := ask[SettingsState](w.window, "Settings.Get").Settings
	set.Permissions.WorkspaceRead = settings.Confirm
	set.Limits = settings.Limits{Minutes: 3, Steps: 4, Tokens: 50_000}
	ask[SettingsState](w.window, "Settings.Update", set)
	read := tool(t, core.ToolReadDocument, map[string]string{"path": "other.md"})
	first := w.say(w.message("c1", read))
	asked := w.approval(first.RunID)
	if asked.Rule != core.PermWorkspaceRead || asked.Summary.Path != "other.md" {
		t.Errorf("asked %+v", asked)
	}
	got := ask[core.Approval](w.window, "Agent.DecideApproval", w.answer("a1", asked, core.AllowSession))
	if got.State != core.ApprovalAllowedSession {
		t.Errorf("decided %+v", got)
	}
	if end := w.ended(first.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	if c := w.called(first.RunID, core.ToolReadDocument, core.CallSucceeded); !strings.Contains(c.Result, "Harbour.") || c.Facts.Path != "other.md" || c.Facts.Bytes == 0 {
		t.Errorf("call %+v", c)
	}
	again := w.message("c2", read)
	again.SessionID = first.SessionID
	second := w.say(again)
	if end := w.ended(second.RunID); end.State != core.RunSucceeded || second.SessionID != first.SessionID {
		t.Errorf("ended %+v", end)
	}
	run := await(w.window, "run.accepted", func(e Envelope, _ core.Run) bool { return e.RunID == second.RunID })
	if run.Budget.TimeMs != 180_000 || run.Budget.Steps != 4 || run.Budget.Tokens != 50_000 {
		t.Errorf("budget %+v", run.Budget)
	}
	// Another session asks anew; and where it is denied nobody is asked.
	set.Permissions = settings.Permissions{WorkspaceRead: settings.Deny, NotesWrite: settings.Deny}
	ask[SettingsState](w.window, "Settings.Update", set)
	third := w.say(w.message("c3", read+"\n"+creation(t)))
	if end := w.ended(third.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	for _, name := range []string{core.ToolReadDocument, core.ToolCreateDocument} {
		if c := w.called(third.RunID, name, core.CallFailed); c.Reason != "policy_denied" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	list, _ := w.sent()
	asks := 0
	for _, m := range list {
		if m.Type == "approval.asked" {
			asks++
		}
	}
	if asks != 1 {
		t.Errorf("asked %d times", asks)
	}
	absent(t, filepath.Join(filepath.Dir(w.path), "Ferry.md"))
}

// A call whose input and result are large is told without them, live and when it
// is read again, and fetched by its id.
//
// covers: T7
func TestAgent_LargeCall(t *testing.T) {
	w := newWriting(t)
	long := strings.Repeat("A long line of a long document about a ferry.\n", 23_000)
	write(t, filepath.Join(filepath.Dir(w.path), "long.md"), long)
	w.mark()
	ref := w.say(w.message("c1", tool(t, core.ToolReadDocument, map[string]string{"path": "long.md"})))
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded {
		t.Fatalf("ended %+v", end)
	}
	told := w.called(ref.RunID, core.ToolReadDocument, core.CallSucceeded)
	if told.Result != "" || told.Facts.Path != "long.md" || string(told.Input) != `{"path":"long.md"}` {
		t.Errorf("told %.300v", told)
	}
	whole := ask[core.ToolCall](w.window, "Agent.ToolCall", string(told.ID))
	if !strings.Contains(whole.Result, "A long line of a long document") || len(whole.Result) < maxPayload {
		t.Errorf("%d bytes of result", len(whole.Result))
	}
	w.readAgain(ref, core.CallSucceeded)
	refs := 0
	for _, r := range w.history(ref.SessionID) {
		if r.Ref {
			refs++
		}
		if len(r.Payload) > maxPayload {
			t.Errorf("%s has %d bytes", r.Type, len(r.Payload))
		}
	}
	if refs != 1 {
		t.Errorf("%d events without their bodies", refs)
	}
	if len(whole.Result) > 70_000 || !whole.Truncated || whole.ArtifactID == "" || !strings.Contains(whole.Result, "Go on with readDocument and fromLine ") {
		t.Fatalf("%d bytes of result, shortened: %t, artifact %q", len(whole.Result), whole.Truncated, whole.ArtifactID)
	}
	var all strings.Builder
	for at := int64(0); ; {
		piece := ask[ArtifactText](w.window, "Agent.ArtifactText", string(whole.ArtifactID), at)
		all.WriteString(piece.Text)
		if at = piece.Next; at == 0 {
			break
		}
	}
	if !strings.Contains(all.String(), long) {
		t.Errorf("the artifact has %d bytes", all.Len())
	}
}

// Sessions are renamed, put away, taken out and deleted.
//
// covers: R4 R11
func TestAgent_Sessions(t *testing.T) {
	w := newWriting(t)
	ref := w.say(w.message("c1", "Hello there."))
	w.ended(ref.RunID)
	change := SessionChange{CommandID: "s1", SessionID: ref.SessionID, Title: "  The ferry 渡轮  "}
	for range 2 {
		if got := ask[core.Session](w.window, "Agent.ChangeSession", change); got.Title != "The ferry 渡轮" || got.ArchivedAtMs != 0 {
			t.Errorf("renamed %+v", got)
		}
	}
	change.Title = "Another"
	w.refused(fault.CommandConflict, "Agent.ChangeSession", change)
	away := ask[core.Session](w.window, "Agent.ChangeSession", SessionChange{CommandID: "s2", SessionID: ref.SessionID, Archive: "archive"})
	if away.ArchivedAtMs == 0 || away.Title != "The ferry 渡轮" {
		t.Errorf("put away %+v", away)
	}
	if list := ask[[]core.Session](w.window, "Agent.ArchivedSessions"); len(list) != 1 || list[0] != away {
		t.Errorf("archived are %+v", list)
	}
	back := ask[core.Session](w.window, "Agent.ChangeSession", SessionChange{CommandID: "s3", SessionID: ref.SessionID, Archive: "restore"})
	if back.ArchivedAtMs != 0 {
		t.Errorf("taken out %+v", back)
	}
	w.tell("Agent.DeleteSession", SessionRemoval{CommandID: "s4", SessionID: ref.SessionID})
	await(w.window, "session.deleted", func(_ Envelope, d core.SessionDeleted) bool { return string(d.SessionID) == ref.SessionID })
	w.tell("Agent.DeleteSession", SessionRemoval{CommandID: "s4", SessionID: ref.SessionID})
	w.refused(fault.NotFound, "Agent.SessionEvents", ref.SessionID, 0)
	if got := ask[AgentState](w.window, "Agent.Attach", 0); len(got.Sessions) != 0 || len(got.Runs) != 0 {
		t.Errorf("left: %+v", got)
	}
}

// Without a document and without a folder a conversation works, and its tools
// say what there is not.
//
// covers: T6 F7
func TestAgent_ConversationAboutNothing(t *testing.T) {
	w := &writing{window: openWindow(t, newHome(t))}
	w.number = w.page()
	w.ready()
	set := ask[SettingsState](w.window, "Settings.Get").Settings
	set.Provider = settings.Mock().ID
	ask[SettingsState](w.window, "Settings.Update", set)
	// Provider and model are those of the settings.
	ref := w.say(MessageRequest{CommandID: "c1", Text: tool(t, core.ToolGetActiveDocument, struct{}{}) + "\n" +
		tool(t, core.ToolListWorkspace, struct{}{}) + "\n" + tool(t, core.ToolReadDocument, map[string]string{"path": "/etc/passwd"})})
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	for _, name := range []string{core.ToolGetActiveDocument, core.ToolListWorkspace, core.ToolReadDocument} {
		if c := w.called(ref.RunID, name, core.CallFailed); c.Result == "" || strings.Contains(c.Result, "root:") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	run := await(w.window, "run.accepted", func(e Envelope, _ core.Run) bool { return e.RunID == ref.RunID })
	if run.Model != (core.ModelRef{ProviderID: "mock", Model: "mock-1"}) || run.DocURI != "" {
		t.Errorf("run %+v", run)
	}
}

// A document that is too long to be sent is refused by its name, before
// anything is recorded.
func TestAgent_DocumentTooLongToSend(t *testing.T) {
	w := newWriting(t)
	path := filepath.Join(filepath.Dir(w.path), "huge.md")
	write(t, path, strings.Repeat("A line that is repeated very often in this document.\n", 200_000))
	huge := ask[Document](w.window, "Documents.Open", path)
	req := w.message("c1", "What is this?")
	req.Place = Place{DocumentID: huge.ID, Version: huge.Version}
	if got := w.refused(fault.TooLarge, "Agent.SubmitMessage", req); got.Detail != "huge.md" {
		t.Errorf("told %+v", got)
	}
	if got := ask[AgentState](w.window, "Agent.Attach", 0); len(got.Runs)+len(got.Sessions) != 0 {
		t.Errorf("made of it: %+v", got)
	}
	// The same command without the document is a first one.
	req.Place = Place{}
	if end := w.ended(w.say(req).RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
}

// A message that is too old for the one answer which a session fits into is
// found in the session's events.
func TestAgent_OlderMessage(t *testing.T) {
	w := newWriting(t)
	long := strings.Repeat("A long story about a ferry. ", 2000)
	ref := w.say(w.message("c1", long))
	w.ended(ref.RunID)
	found := 0
	for _, r := range w.history(ref.SessionID) {
		if r.Type != "message.committed" {
			continue
		}
		var m core.MessageCommitted
		try(t, json.Unmarshal(r.Payload, &m))
		whole := ask[MessageBody](w.window, "Agent.MessageText", ref.SessionID, string(m.MessageID))
		got, err := w.backend.agent.olderMessage("test", core.SessionID(ref.SessionID), m.MessageID)
		if err != nil || !cmp.Equal(got, whole) || len(got.Message.Parts) == 0 {
			t.Errorf("%s: %v", m.MessageID, err)
		}
		if r.Ref && strings.TrimSpace(whole.Message.Parts[0].Text) != strings.TrimSpace(long) {
			t.Errorf("the whole has %d bytes", len(whole.Message.Parts[0].Text))
		}
		found++
	}
	if found < 1 {
		t.Error("no messages")
	}
	if _, err := w.backend.agent.olderMessage("test", core.SessionID(ref.SessionID), "none"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
}

// A request whose answer was lost is the same run when it comes again, although
// the document has changed since.
//
// covers: R4
func TestAgent_LostAnswer(t *testing.T) {
	w := newWriting(t)
	whole := w.backend.agent.submit
	w.backend.agent.submit = func(ctx context.Context, p wire.SubmitParams) (wire.SubmitResult, error) {
		w.backend.agent.submit = whole
		if _, err := whole(ctx, p); err != nil {
			return wire.SubmitResult{}, err
		}
		return wire.SubmitResult{}, fault.New(fault.RunnerGone, "submit", nil)
	}
	req := w.message("c1", "Hello there.")
	w.refused(fault.RunnerGone, "Agent.SubmitMessage", req)
	run := await[core.Run](w.window, "run.accepted", nil)
	w.typed(w.number, w.doc, insertion(0, "x"))
	if ref := w.say(req); ref.RunID != string(run.ID) {
		t.Errorf("another run %+v", ref)
	}
	// It is remembered for the one request only.
	w.refused(fault.UnknownBase, "Agent.SubmitMessage", req)
}

// What a page sends is checked before anything is made of it.
//
// covers: X5
func TestAgent_ConversationRefusesWhatIsNotSound(t *testing.T) {
	w := newWriting(t)
	long, longer := strings.Repeat("x", maxID+1), strings.Repeat("x", maxMessage+1)
	good := w.message("c1", "Hello.")
	for _, c := range []struct {
		name   string
		change func(*MessageRequest)
		want   fault.Code
	}{
		{"no command", func(r *MessageRequest) { r.CommandID = "" }, fault.InvalidInput},
		{"long command", func(r *MessageRequest) { r.CommandID = long }, fault.InvalidInput},
		{"long session", func(r *MessageRequest) { r.SessionID = long }, fault.InvalidInput},
		{"unknown session", func(r *MessageRequest) { r.SessionID = "none" }, fault.NotFound},
		{"nothing said", func(r *MessageRequest) { r.Text = " \n\t" }, fault.InvalidInput},
		{"too much said", func(r *MessageRequest) { r.Text = longer }, fault.TooLarge},
		{"older version", func(r *MessageRequest) { r.Place.Version = 0 }, fault.UnknownBase},
		{"newer version", func(r *MessageRequest) { r.Place.Version = 2 }, fault.UnknownBase},
		{"document that is not open", func(r *MessageRequest) { r.Place.DocumentID = "none" }, fault.NotFound},
		{"document by path", func(r *MessageRequest) { r.Place.DocumentID = w.path }, fault.NotFound},
		{"long document", func(r *MessageRequest) { r.Place.DocumentID = long }, fault.InvalidInput},
		{"from below 0", func(r *MessageRequest) { r.Place.From = -1 }, fault.InvalidInput},
		{"from past to", func(r *MessageRequest) { r.Place.From, r.Place.To = 3, 2 }, fault.InvalidInput},
		{"to past the end", func(r *MessageRequest) { r.Place.To = text.Length(sampleText) + 1 }, fault.InvalidInput},
		{"unknown provider", func(r *MessageRequest) { r.ProviderID = "none" }, fault.NoProvider},
		{"no provider chosen", func(r *MessageRequest) { r.ProviderID = "" }, fault.NoProvider},
		{"long provider", func(r *MessageRequest) { r.ProviderID = strings.Repeat("p", maxName+1) }, fault.InvalidInput},
		{"long model", func(r *MessageRequest) { r.Model = strings.Repeat("m", maxName+1) }, fault.InvalidInput},
		{"long language", func(r *MessageRequest) { r.Language = strings.Repeat("e", maxTag+1) }, fault.InvalidInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := good
			c.change(&req)
			w.refused(c.want, "Agent.SubmitMessage", req)
		})
	}
	for _, c := range []struct {
		method string
		args   []any
		want   fault.Code
	}{
		{"Agent.ContinueRun", []any{ContinueRequest{RunID: "r", ProviderID: "mock"}}, fault.InvalidInput},
		{"Agent.ContinueRun", []any{ContinueRequest{CommandID: "c", ProviderID: "mock"}}, fault.InvalidInput},
		{"Agent.ContinueRun", []any{ContinueRequest{CommandID: "c", RunID: long, ProviderID: "mock"}}, fault.InvalidInput},
		{"Agent.ContinueRun", []any{ContinueRequest{CommandID: "c", RunID: "none", ProviderID: "mock"}}, fault.NotFound},
		{"Agent.ContinueRun", []any{ContinueRequest{CommandID: "c", RunID: "none", ProviderID: "none"}}, fault.NoProvider},
		{"Agent.ContinueRun", []any{ContinueRequest{CommandID: "c", RunID: "none", ProviderID: "mock", Place: Place{DocumentID: w.doc.ID, Version: 9}}}, fault.UnknownBase},
		{"Agent.DecideApproval", []any{ApprovalRequest{}}, fault.InvalidInput},
		{"Agent.DecideApproval", []any{ApprovalRequest{CommandID: "c", ApprovalID: "a", ToolCallID: "t", InputDigest: text.Digest(""), Decision: "always"}}, fault.InvalidInput},
		{"Agent.DecideApproval", []any{ApprovalRequest{CommandID: "c", ApprovalID: "a", ToolCallID: "t", InputDigest: long, Decision: "deny"}}, fault.InvalidInput},
		{"Agent.DecideApproval", []any{ApprovalRequest{CommandID: "c", ApprovalID: long, ToolCallID: "t", InputDigest: text.Digest(""), Decision: "deny"}}, fault.InvalidInput},
		{"Agent.DecideApproval", []any{ApprovalRequest{CommandID: "c", ApprovalID: "none", ToolCallID: "t", InputDigest: text.Digest(""), Decision: "deny"}}, fault.NotFound},
		{"Agent.ReconcileCall", []any{ReconcileRequest{CommandID: "c", ToolCallID: "t", Verdict: "unknown"}}, fault.InvalidInput},
		{"Agent.ReconcileCall", []any{ReconcileRequest{CommandID: "c", Verdict: "applied"}}, fault.InvalidInput},
		{"Agent.ReconcileCall", []any{ReconcileRequest{CommandID: "c", ToolCallID: "none", Verdict: "applied"}}, fault.NotFound},
		{"Agent.ChangeSession", []any{SessionChange{CommandID: "c", SessionID: "s"}}, fault.InvalidInput},
		{"Agent.ChangeSession", []any{SessionChange{CommandID: "c", SessionID: "s", Title: strings.Repeat("t", maxTitle+1)}}, fault.InvalidInput},
		{"Agent.ChangeSession", []any{SessionChange{CommandID: "c", SessionID: "s", Title: "a\nb"}}, fault.InvalidInput},
		{"Agent.ChangeSession", []any{SessionChange{CommandID: "c", SessionID: "s", Archive: "burn"}}, fault.InvalidInput},
		{"Agent.ChangeSession", []any{SessionChange{CommandID: "c", SessionID: "none", Title: "a"}}, fault.NotFound},
		{"Agent.DeleteSession", []any{SessionRemoval{CommandID: "c"}}, fault.InvalidInput},
		{"Agent.DeleteSession", []any{SessionRemoval{SessionID: "s"}}, fault.InvalidInput},
		{"Agent.DeleteSession", []any{SessionRemoval{CommandID: "c", SessionID: "../s"}}, fault.NotFound},
		{"Agent.SessionEvents", []any{"", 0}, fault.InvalidInput},
		{"Agent.SessionEvents", []any{long, 0}, fault.InvalidInput},
		{"Agent.SessionEvents", []any{"none", -1}, fault.InvalidInput},
		{"Agent.RunDetail", []any{""}, fault.InvalidInput},
		{"Agent.RunDetail", []any{long}, fault.InvalidInput},
		{"Agent.ToolCall", []any{""}, fault.InvalidInput},
		{"Agent.ToolCall", []any{"' OR 1=1 --"}, fault.InvalidInput},
		{"Agent.MessageText", []any{"", "m"}, fault.InvalidInput},
		{"Agent.MessageText", []any{"s", long}, fault.InvalidInput},
		{"Agent.ExplainContext", []any{""}, fault.InvalidInput},
		{"Agent.ArtifactText", []any{"", 0}, fault.InvalidInput},
		{"Agent.ArtifactText", []any{"a", -1}, fault.InvalidInput},
		{"Agent.ArtifactText", []any{"../../runs.db", 0}, fault.NotFound},
		{"Agent.ArtifactText", []any{"/etc/passwd", 0}, fault.NotFound},
	} {
		w.refused(c.want, c.method, c.args...)
	}
	if got := ask[AgentState](w.window, "Agent.Attach", 0); len(got.Runs)+len(got.Sessions)+len(got.Approvals) != 0 {
		t.Errorf("made of it: %+v", got)
	}
	// The request that all of them were made from is a good one.
	w.ended(w.say(good).RunID)
}

// The tools of a run stay inside of the folder it was asked in, whatever a model
// asks for.
//
// covers: F7 X4 X5
func TestAgent_ToolsStayInTheFolder(t *testing.T) {
	w := newWriting(t)
	folder := filepath.Dir(w.path)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), "the secret of the outside")
	if err := os.Symlink(outside, filepath.Join(folder, "out")); err != nil {
		t.Skipf("no symlinks here: %v", err)
	}
	var lines []string
	for _, path := range []string{
		"../secret.md", filepath.Join(outside, "secret.md"), "out/secret.md", "file://" + outside + "/secret.md", "notes.md\x00", "..\\secret.md",
	} {
		lines = append(lines, tool(t, core.ToolReadDocument, map[string]string{"path": path}))
	}
	lines = append(lines,
		tool(t, core.ToolCreateDocument, map[string]string{"dir": "..", "name": "x.md", "text": "x"}),
		tool(t, core.ToolCreateDocument, map[string]string{"dir": "out", "name": "x.md", "text": "x"}),
		tool(t, core.ToolCreateDocument, map[string]string{"dir": "", "name": "../x.md", "text": "x"}),
		tool(t, core.ToolCreateDocument, map[string]string{"dir": "", "name": "notes.md", "text": "x"}),
		tool(t, core.ToolRenameDocument, map[string]string{"path": "notes.md", "newName": "../x.md"}),
		tool(t, "deleteDocument", map[string]string{"path": "notes.md"}),
		tool(t, "shell", map[string]string{"command": "id"}),
	)
	ref := w.say(w.message("c1", strings.Join(lines, "\n")))
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	detail := ask[core.RunDetail](w.window, "Agent.RunDetail", ref.RunID)
	if len(detail.Calls) != len(lines) || len(detail.Approvals) != 0 {
		t.Errorf("%d calls, %d approvals", len(detail.Calls), len(detail.Approvals))
	}
	for _, c := range detail.Calls {
		if c.State != core.CallFailed || strings.Contains(c.Result, "the secret") {
			t.Errorf("%s %s: %s, %s", c.Name, c.Input, c.State, c.Result)
		}
	}
	var names []string
	for _, dir := range []string{folder, outside, filepath.Dir(folder)} {
		try(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if filepath.Base(p) == "x.md" {
				names = append(names, p)
			}
			return err
		}))
	}
	if len(names) > 0 || content(t, w.path) != sampleBytes {
		t.Errorf("written: %v", fmt.Sprint(names))
	}
}
