package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// writing is a window with a document open, ready to have it rewritten.
type writing struct {
	*window
	number int64
	doc    Document
	text   string
	path   string
}

// sample has CRLF, characters of two units and a passage to rewrite.
const (
	passage = "The quick brown fox 🦊 jumps over the lazy dog, and the dog, which had been asleep under the old tree by the river since noon, " +
		"lifts its head, looks at the fox for a while, finds that it has seen foxes before, and goes back to sleep."
	sampleText  = "# Notes 😀\n\n" + passage + "\nLast line.\n"
	sampleBytes = "# Notes 😀\r\n\r\n" + passage + "\r\nLast line.\r\n"
)

func newWriting(t *testing.T) *writing {
	t.Helper()
	w := &writing{window: openWindow(t, newHome(t)), text: sampleText}
	w.path = filepath.Join(w.folder(map[string]string{"notes.md": sampleBytes}), "notes.md")
	w.number = w.page()
	w.doc = ask[Document](w.window, "Documents.Open", w.path)
	w.ready()
	return w
}

// selected is a request to rewrite a passage that the text holds once.
func (w *writing) selected(command, passage, instruction string) RewriteRequest {
	w.t.Helper()
	if strings.Count(w.text, passage) != 1 {
		w.t.Fatalf("%q is not there once", passage)
	}
	from := text.Length(w.text[:strings.Index(w.text, passage)])
	return RewriteRequest{
		CommandID: command, DocumentID: w.doc.ID, Version: w.doc.Version, From: from, To: from + text.Length(passage),
		Instruction: instruction, ProviderID: settings.Mock().ID, Language: "en",
	}
}

func (w *writing) submit(r RewriteRequest) RunRef {
	w.t.Helper()
	return ask[RunRef](w.window, "Agent.SubmitRewrite", r)
}

// ended waits for the end of a run and returns it.
func (w *writing) ended(id string) core.RunChanged {
	w.t.Helper()
	var end core.RunChanged
	w.find("the end of a run", func(m message) bool {
		switch core.EventType(m.Type) {
		case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
		default:
			return false
		}
		try(w.t, json.Unmarshal(m.Payload, &end))
		return m.RunID == id
	})
	return end
}

// proposed waits for the proposal of a run.
func (w *writing) proposed(id string) core.Proposal {
	w.t.Helper()
	return await(w.window, "proposal.created", func(e Envelope, _ core.Proposal) bool { return e.RunID == id })
}

// A rewrite from the selection to the saved file: the events tell it in order,
// the edits are those of the base, and only the word that was to change has
// other bytes.
//
// covers: R5 F3
func TestAgent_Rewrite(t *testing.T) {
	w := newWriting(t)
	w.mark()
	req := w.selected("c1", passage, `replace "quick" with "slow 🐢"`)
	ref := w.submit(req)
	// It is committed when the call returns.
	run, err := w.backend.host.Run(t.Context(), core.RunID(ref.RunID))
	if err != nil || string(run.SessionID) != ref.SessionID || run.CommandID != "c1" || run.DocURI != w.doc.URI {
		t.Errorf("the run is not there: %+v (%v)", run, err)
	}
	if end := w.ended(ref.RunID); end.State != core.RunSucceeded || end.Outcome != "proposal" || end.Fault != nil {
		t.Errorf("ended %+v", end)
	}

	// What was sent can be explained (R9).
	reports := ask[[]core.ContextReport](w.window, "Agent.ExplainContext", ref.RunID)
	if len(reports) != 1 || reports[0].Size != settings.Mock().ContextTokens || reports[0].Tokens < 100 || len(reports[0].Parts) != 5 {
		t.Errorf("contexts %+v", reports)
	}

	var order []string
	var shows shown
	n, seq := int64(0), int64(0)
	list, _ := w.sent()
	for _, m := range list {
		if n > 0 && m.N != n+1 {
			t.Errorf("number %d after %d", m.N, n)
		}
		n = m.N
		if m.Seq > 0 {
			if m.Seq <= seq || m.SessionID != ref.SessionID || m.AtMs == 0 || m.Ref {
				t.Errorf("seq %d after %d: %+v", m.Seq, seq, m.Envelope)
			}
			seq = m.Seq
		}
		if m.Type == "preview" {
			var p core.Preview
			try(t, json.Unmarshal(m.Payload, &p))
			if m.RunID != ref.RunID {
				t.Errorf("preview of %q", m.RunID)
			}
			shows.apply(t, p)
		}
		if len(order) == 0 || order[len(order)-1] != m.Type {
			order = append(order, m.Type)
		}
	}
	last := -1
	for _, typ := range []string{"session.created", "run.accepted", "run.started", "preview", "proposal.created", "run.succeeded"} {
		i := slices.Index(order, typ)
		if i <= last {
			t.Errorf("%s is out of order in %v", typ, order)
		}
		last = i
	}
	// The last words may be held back until the answer is whole.
	if got := string(utf16.Decode(shows.text)); !strings.HasPrefix(got, "The slow 🐢 brown fox 🦊 jumps") || !strings.HasPrefix(strings.Replace(passage, "quick", "slow 🐢", 1), got) {
		t.Errorf("the preview showed %q", got)
	}

	p := w.proposed(ref.RunID)
	if p.DocURI != w.doc.URI || p.BaseDigest != text.Digest(sampleText) || p.Patch.BaseVersion != 1 || p.State != core.ProposalProposed || p.CutOff {
		t.Errorf("proposal %+v", p)
	}
	want := strings.Replace(sampleText, "quick", "slow 🐢", 1)
	if got, err := text.Apply(sampleText, p.Patch.Edits); err != nil || got != want {
		t.Errorf("the edits make %q (%v)", got, err)
	}
	if d := cmp.Diff(p, ask[core.Proposal](w.window, "Agent.Proposal", string(p.ID))); d != "" {
		t.Error(d)
	}
	if open := ask[AgentState](w.window, "Agent.Attach", 0); len(open.Proposals) != 1 || open.Cursor < seq {
		t.Errorf("attached at %d with %d proposals", open.Cursor, len(open.Proposals))
	}

	// Accept: one transaction of the page, then the decision, then a save.
	if got := content(t, w.path); got != sampleBytes {
		t.Fatalf("a proposal changed the file: %q", got)
	}
	w.typed(w.number, w.doc, Change{Edits: p.Patch.Edits, Endings: []text.EndingRun{}})
	w.mark()
	decide := DecideRequest{CommandID: "d1", ProposalID: string(p.ID), AppliedVersion: 2}
	for _, h := range p.Hunks {
		decide.Hunks = append(decide.Hunks, core.HunkDecision{ID: h.ID, Outcome: core.HunkAccepted})
	}
	if got := ask[DecideResult](w.window, "Agent.Decide", decide); got.State != string(core.ProposalApplied) {
		t.Errorf("decided: %+v", got)
	}
	told := await[core.ProposalDecided](w.window, "proposal.decided", nil)
	if told.ProposalID != p.ID || told.State != core.ProposalApplied || told.AppliedVersion != 2 || len(told.Hunks) != len(p.Hunks) {
		t.Errorf("told %+v", told)
	}
	ask[SaveResult](w.window, "Documents.Save", saving(w.number, w.doc.ID, 2, want))
	if got := content(t, w.path); got != strings.Replace(sampleBytes, "quick", "slow 🐢", 1) {
		t.Errorf("saved %q", got)
	}
}

// The same command again is the same run or decision; with other input it is a
// conflict.
//
// covers: R4
func TestAgent_CommandsAreIdempotent(t *testing.T) {
	w := newWriting(t)
	req := w.selected("c1", passage, `replace "quick" with "slow"`)
	ref := w.submit(req)
	if again := w.submit(req); again != ref {
		t.Errorf("again: %+v, first %+v", again, ref)
	}
	other := req
	other.Instruction = "shorten"
	w.refused(fault.CommandConflict, "Agent.SubmitRewrite", other)
	w.ended(ref.RunID)
	if again := w.submit(req); again != ref {
		t.Errorf("after its end: %+v, first %+v", again, ref)
	}
	p := w.proposed(ref.RunID)
	reject := DecideRequest{CommandID: "d1", ProposalID: string(p.ID), Hunks: []core.HunkDecision{{ID: p.Hunks[0].ID, Outcome: core.HunkRejected}}}
	for range 2 {
		ask[DecideResult](w.window, "Agent.Decide", reject)
	}
	reject.Hunks[0].Outcome = core.HunkAccepted
	w.refused(fault.CommandConflict, "Agent.Decide", reject)
	if runs := ask[AgentState](w.window, "Agent.Attach", 0).Runs; len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
}

// What a page sends is checked before anything is made of it.
//
// covers: X5
func TestAgent_RefusesWhatIsNotSound(t *testing.T) {
	w := newWriting(t)
	latin := filepath.Join(filepath.Dir(w.path), "latin.md")
	write(t, latin, "caf\xe9 au lait\n")
	view := ask[Document](w.window, "Documents.Open", latin)
	good := w.selected("c1", passage, "shorten")
	fox := text.Length(sampleText[:strings.Index(sampleText, "🦊")])
	for _, c := range []struct {
		name   string
		change func(*RewriteRequest)
		want   fault.Code
	}{
		{"older version", func(r *RewriteRequest) { r.Version = 0 }, fault.UnknownBase},
		{"newer version", func(r *RewriteRequest) { r.Version = 2 }, fault.UnknownBase},
		{"document that is not open", func(r *RewriteRequest) { r.DocumentID = "none" }, fault.NotFound},
		{"document by path", func(r *RewriteRequest) { r.DocumentID = w.path }, fault.NotFound},
		{"from below 0", func(r *RewriteRequest) { r.From = -1 }, fault.InvalidInput},
		{"from past to", func(r *RewriteRequest) { r.From, r.To = r.To, r.From }, fault.InvalidInput},
		{"to past the end", func(r *RewriteRequest) { r.To = text.Length(sampleText) + 1 }, fault.InvalidInput},
		{"from inside a pair", func(r *RewriteRequest) { r.From = fox + 1 }, fault.InvalidInput},
		{"to inside a pair", func(r *RewriteRequest) { r.To = fox + 1 }, fault.InvalidInput},
		{"no provider", func(r *RewriteRequest) { r.ProviderID = "" }, fault.NoProvider},
		{"unknown provider", func(r *RewriteRequest) { r.ProviderID = "none" }, fault.NoProvider},
		{"unknown preset", func(r *RewriteRequest) { r.Preset = "flatter" }, fault.InvalidInput},
		{"preset by path", func(r *RewriteRequest) { r.Preset = "../prompts/improve" }, fault.InvalidInput},
		{"nothing asked for", func(r *RewriteRequest) { r.Instruction = "" }, fault.InvalidInput},
		{"only blanks", func(r *RewriteRequest) { r.Instruction = " \n" }, fault.InvalidInput},
		{"too much asked for", func(r *RewriteRequest) { r.Instruction = strings.Repeat("x", maxInstruction+1) }, fault.InvalidInput},
		{"no command", func(r *RewriteRequest) { r.CommandID = "" }, fault.InvalidInput},
		{"long command", func(r *RewriteRequest) { r.CommandID = strings.Repeat("c", 101) }, fault.InvalidInput},
		{"long model", func(r *RewriteRequest) { r.Model = strings.Repeat("m", 201) }, fault.InvalidInput},
		{"long language", func(r *RewriteRequest) { r.Language = strings.Repeat("e", 36) }, fault.InvalidInput},
		{"read-only document", func(r *RewriteRequest) { r.DocumentID, r.From, r.To = view.ID, 0, 1 }, fault.ReadOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := good
			c.change(&req)
			w.refused(c.want, "Agent.SubmitRewrite", req)
		})
	}
	state := ask[SettingsState](w.window, "Settings.SaveProvider", settings.Provider{
		ID: "bare", Name: "No model", Kind: settings.KindOpenAIChat, BaseURL: "http://127.0.0.1:9/v1",
	})
	req := good
	req.ProviderID, req.Model = state.Providers[len(state.Providers)-1].ID, ""
	w.refused(fault.ModelNotFound, "Agent.SubmitRewrite", req)
	if got := ask[AgentState](w.window, "Agent.Attach", 0); len(got.Runs)+len(got.Sessions)+len(got.Proposals) != 0 {
		t.Errorf("made of it: %+v", got)
	}
	// The request that all of them were made from is a good one.
	p := w.proposed(w.submit(good).RunID)
	decide := func(command string, hunks ...core.HunkDecision) DecideRequest {
		return DecideRequest{CommandID: command, ProposalID: string(p.ID), Hunks: hunks, AppliedVersion: 2}
	}
	first := p.Hunks[0].ID
	w.refused(fault.InvalidInput, "Agent.Decide", decide("d1", core.HunkDecision{ID: "99", Outcome: core.HunkAccepted}))
	w.refused(fault.InvalidInput, "Agent.Decide", decide("d2", core.HunkDecision{ID: first, Outcome: "maybe"}))
	w.refused(fault.InvalidInput, "Agent.Decide", decide("d3", core.HunkDecision{ID: first, Outcome: core.HunkAccepted}, core.HunkDecision{ID: first, Outcome: core.HunkRejected}))
	w.refused(fault.InvalidInput, "Agent.Decide", decide("", core.HunkDecision{ID: first, Outcome: core.HunkAccepted}))
	w.refused(fault.InvalidInput, "Agent.Cancel", CancelRequest{RunID: string(p.RunID)})
	w.refused(fault.NotFound, "Agent.Decide", DecideRequest{CommandID: "d4", ProposalID: "none", Hunks: []core.HunkDecision{{ID: "1", Outcome: core.HunkAccepted}}})
	w.refused(fault.InvalidInput, "Agent.Proposal", "")
	if got := ask[core.Proposal](w.window, "Agent.Proposal", string(p.ID)); got.State != core.ProposalProposed {
		t.Errorf("the proposal is %s", got.State)
	}
}

// The presets reach the model with the prompt of the preset, the person's own
// where there is one.
func TestAgent_PresetReachesTheModel(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, says("The quick fox jumps."))
	req := w.selected("c1", passage, "keep the fox")
	req.Preset, req.ProviderID = "shorten", e.configured(w.window)
	w.ended(w.submit(req).RunID)
	got := <-e.arrived
	for _, part := range []string{strings.TrimSpace(content(t, "prompt/shorten.md")), "keep the fox", passage, "# Notes 😀"} {
		if !strings.Contains(got.prompt(), part) {
			t.Errorf("%q is not in %q", part, got.prompt())
		}
	}
	if got.Model != "small" {
		t.Errorf("model %q", got.Model)
	}
	write(t, filepath.Join(w.home.Dir, "prompts", "shorten.md"), "Halve it, please.")
	req.CommandID, req.Model = "c2", "large"
	w.ended(w.submit(req).RunID)
	if got = <-e.arrived; !strings.Contains(got.prompt(), "Halve it, please.") || got.Model != "large" {
		t.Errorf("model %q: %q", got.Model, got.prompt())
	}
	// A local server without a key is used without one, also when it is asked
	// what it tells of each model.
	if keys := e.seen(); !slices.Equal(keys, []string{"", "", "", ""}) {
		t.Errorf("keys %q", keys)
	}
}

// A proposal whose body is too large for a message is told without it, and
// fetched by its id.
func TestAgent_LargeProposal(t *testing.T) {
	w := newWriting(t)
	long := strings.Repeat("A sentence about a fox. ", 3000) + "🦊"
	e := newEndpoint(t, says(long))
	req := w.selected("c1", passage, "go on and on")
	req.ProviderID = e.configured(w.window)
	ref := w.submit(req)
	w.ended(ref.RunID)
	told := await(w.window, "proposal.created", func(e Envelope, _ core.Proposal) bool { return e.RunID == ref.RunID && e.Ref })
	if len(told.Patch.Edits) != 0 || len(told.Hunks) != 0 || told.DocURI != w.doc.URI {
		t.Errorf("told %d edits", len(told.Patch.Edits))
	}
	whole := ask[core.Proposal](w.window, "Agent.Proposal", string(told.ID))
	got, err := text.Apply(sampleText, whole.Patch.Edits)
	if err != nil || !strings.Contains(got, long) {
		t.Errorf("the edits make %.100q (%v)", got, err)
	}
	list, _ := w.sent()
	for _, m := range list {
		if m.Seq > 0 && len(m.Payload) > maxPayload {
			t.Errorf("%s has %d bytes", m.Type, len(m.Payload))
		}
	}
}

// A provider without its key fails as no_key, before anything is sent to it.
//
// covers: K6
func TestAgent_NoKey(t *testing.T) {
	w := newWriting(t)
	state := ask[SettingsState](w.window, "Settings.SaveProvider", settings.Provider{
		Name: "Far", Kind: settings.KindOpenAIChat, BaseURL: "https://api.example.invalid/v1", Model: "m",
	})
	far := state.Providers[len(state.Providers)-1]
	if !far.NeedsKey || far.Key.Place != "none" || far.URL != "https://api.example.invalid/v1/chat/completions" {
		t.Errorf("provider %+v", far)
	}
	req := w.selected("c1", passage, "shorten")
	req.ProviderID = far.ID
	end := w.ended(w.submit(req).RunID)
	if end.State != core.RunFailed || end.Fault == nil || end.Fault.Code != string(fault.NoKey) {
		t.Errorf("ended %+v", end)
	}
	w.refused(fault.NoKey, "Settings.TestProvider", far.ID)
	w.refused(fault.NoProvider, "Settings.TestProvider", "none")
}

// A Runner that is killed takes its run with it and nothing else: the page is
// told that it stopped and is back, the run is interrupted, the document can be
// edited all along, and the next rewrite works.
//
// covers: R2 R6 K8
func TestAgent_RunnerIsKilled(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, holds("The slow", " fox."))
	req := w.selected("c1", passage, "shorten")
	req.ProviderID = e.configured(w.window)
	ref := w.submit(req)
	<-e.arrived
	await(w.window, "preview", func(_ Envelope, p core.Preview) bool { return string(p.RunID) == ref.RunID })

	before := w.ready()
	w.mark()
	kill(t, before.PID)
	gone := await(w.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Stopped) })
	if gone.Code != string(fault.RunnerGone) || gone.PID != 0 {
		t.Errorf("told %+v", gone)
	}
	after := w.ready()
	if after.PID == before.PID || after.Restarts != before.Restarts+1 || after.Code != "" {
		t.Errorf("back as %+v, was %+v", after, before)
	}
	told := await(w.window, "run.interrupted", func(e Envelope, _ core.RunChanged) bool { return e.RunID == ref.RunID })
	if told.State != core.RunInterrupted {
		t.Errorf("told %+v", told)
	}
	state := ask[AgentState](w.window, "Agent.Attach", 0)
	if len(state.Runs) != 1 || state.Runs[0].State != core.RunInterrupted || state.Runner.Status != string(host.Ready) {
		t.Errorf("attached: %+v", state)
	}
	// The command is answered with its run, which is not started again.
	if again := w.submit(req); again != ref {
		t.Errorf("again: %+v", again)
	}

	e.answers(says("The slow fox."))
	req.CommandID = "c2"
	if end := w.ended(w.submit(req).RunID); end.State != core.RunSucceeded {
		t.Errorf("the next one ended %+v", end)
	}
	w.typed(w.number, w.doc, insertion(0, "x"))
	ask[SaveResult](w.window, "Documents.Save", saving(w.number, w.doc.ID, 2, "x"+sampleText))
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	try(t, err)
	try(t, p.Kill())
}

// Without a Runner everything but AI works, and AI says why it does not.
//
// covers: K8
func TestAgent_WithoutARunner(t *testing.T) {
	w := makeWindow(t, newHome(t)) // not started
	path := filepath.Join(w.folder(map[string]string{"a.md": "a\n"}), "a.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(0, "x"))
	ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 2, "xa\n"))
	if got := ask[AgentState](w, "Agent.Attach", 7); got.Runner.Status != string(host.Starting) || got.Cursor != 7 {
		t.Errorf("attached: %+v", got)
	}
	w.refused(fault.RunnerGone, "Agent.SubmitRewrite", RewriteRequest{
		CommandID: "c", DocumentID: d.ID, Version: 2, To: 1, Preset: "improve", ProviderID: settings.Mock().ID,
	})
	w.refused(fault.RunnerGone, "Agent.Cancel", CancelRequest{CommandID: "c", RunID: "r"})
	w.refused(fault.RunnerGone, "Settings.TestProvider", settings.Mock().ID)
	ask[SettingsState](w, "Settings.Get")
}

// A Runner whose database cannot be used is given up and says so; asking for
// it again tries again.
//
// covers: K8
func TestAgent_DatabaseFails(t *testing.T) {
	home := newHome(t)
	try(t, home.Make())
	try(t, os.Mkdir(home.Runs(), 0o700))
	w := openWindow(t, home)
	failed := func() RunnerState {
		return await(w, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Failed) })
	}
	if got := failed(); got.Code != string(fault.StoreFailed) {
		t.Errorf("told %+v", got)
	}
	if got := ask[AgentState](w, "Agent.Attach", 0); got.Runner.Status != string(host.Failed) || got.Runner.Code != string(fault.StoreFailed) {
		t.Errorf("attached: %+v", got)
	}
	w.refused(fault.StoreFailed, "Agent.Proposal", "p")
	try(t, os.Remove(home.Runs()))
	w.mark()
	ask[RunnerState](w, "Agent.RestartRunner")
	w.ready()
}

func TestAgent_RestartRunner(t *testing.T) {
	w := newWriting(t)
	before := w.ready()
	w.mark()
	if got := ask[RunnerState](w.window, "Agent.RestartRunner"); got.PID != before.PID {
		t.Errorf("answered %+v", got)
	}
	after := w.ready()
	if after.PID == before.PID || after.Restarts != before.Restarts+1 {
		t.Errorf("after %+v, before %+v", after, before)
	}
	if end := w.ended(w.submit(w.selected("c1", passage, "shorten")).RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
}

// Cancel stores the wish, then the run ends; a second wish is answered with the
// first receipt.
//
// covers: R7
func TestAgent_Cancel(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, holds("The slow", " fox."))
	req := w.selected("c1", passage, "shorten")
	req.ProviderID = e.configured(w.window)
	ref := w.submit(req)
	<-e.arrived
	cancel := CancelRequest{CommandID: "x1", RunID: ref.RunID}
	first := ask[CancelReceipt](w.window, "Agent.Cancel", cancel)
	if first.RunID != ref.RunID || first.Receipt != "accepted" || first.State != string(core.RunCancelling) {
		t.Errorf("receipt %+v", first)
	}
	if again := ask[CancelReceipt](w.window, "Agent.Cancel", cancel); again != first {
		t.Errorf("again %+v", again)
	}
	if end := w.ended(ref.RunID); end.State != core.RunCancelled {
		t.Errorf("ended %+v", end)
	}
	late := ask[CancelReceipt](w.window, "Agent.Cancel", CancelRequest{CommandID: "x2", RunID: ref.RunID})
	if late.Receipt != "already_terminal" || late.State != string(core.RunCancelled) {
		t.Errorf("late %+v", late)
	}
	var order []string
	list, _ := w.sent()
	for _, m := range list {
		if m.RunID == ref.RunID && strings.HasPrefix(m.Type, "run.") {
			order = append(order, m.Type)
		}
	}
	if d := cmp.Diff([]string{"run.accepted", "run.started", "run.cancelling", "run.cancelled"}, order); d != "" {
		t.Error(d)
	}
}

// Quitting with a run under way names it, and its end is recorded.
//
// covers: R2
func TestBackend_ClosesWithARun(t *testing.T) {
	w := newWriting(t)
	e := newEndpoint(t, holds("The slow", " fox."))
	req := w.selected("c1", passage, "shorten")
	req.ProviderID = e.configured(w.window)
	ref := w.submit(req)
	<-e.arrived
	w.mark()
	if !w.backend.AskToClose() {
		t.Fatal("does not ask")
	}
	got := await[CloseRequested](w.window, "window.close_requested", nil)
	if d := cmp.Diff(CloseRequested{Unsaved: []string{}, Runs: []string{ref.RunID}}, got); d != "" {
		t.Error(d)
	}
	w.tell("Documents.Quit", w.number, false)
	w.close()

	next := openWindow(t, w.home)
	next.ready()
	state := ask[AgentState](next, "Agent.Attach", 0)
	if len(state.Runs) != 1 || state.Runs[0].State != core.RunCancelled || string(state.Runs[0].ID) != ref.RunID {
		t.Errorf("recorded %+v", state.Runs)
	}
	if next.backend.AskToClose() {
		t.Error("asks about a run that has ended")
	}
}
