package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/text"
)

// The whole way of one rewrite, with the offline provider.
// covers: R1 R2 R5 K1
func TestHost_Rewrite(t *testing.T) {
	p := start(t, t.TempDir())
	p.ready(0)
	r := rewrite("c1", mock())
	r.Input = wire.RewriteInput{Preset: "improve", Prompt: "Improve the passage.", Language: "en"}
	res := p.submit(r)
	end := event[core.RunChanged](p, res.RunID, core.EventRunSucceeded)
	if end.Outcome != "proposal" {
		t.Fatalf("end %+v", end)
	}
	proposal := event[core.Proposal](p, res.RunID, core.EventProposalCreated)
	got, err := text.Apply(document, proposal.Patch.Edits)
	if err != nil || got == document || !strings.HasPrefix(got, "Intro.\n\n") || !strings.HasSuffix(got, "\n\nEnd.\n") {
		t.Errorf("accepted: %q, %v", got, err)
	}
	if want := "run.accepted message.committed run.started model_call.begun model_call.ended message.committed proposal.created run.succeeded"; p.kinds(res.RunID) != want {
		t.Errorf("events %s, want %s", p.kinds(res.RunID), want)
	}
	p.contiguous()
	if len(p.ActiveRuns()) != 0 {
		t.Errorf("active: %+v", p.ActiveRuns())
	}

	ctx := within(t)
	stored, err := p.Proposal(ctx, proposal.ID)
	if err != nil || len(stored.Patch.Edits) != len(proposal.Patch.Edits) || stored.BaseDigest != r.Snapshot.Digest {
		t.Errorf("stored %+v, %v", stored, err)
	}
	var hunks []core.HunkDecision
	for _, h := range proposal.Hunks {
		hunks = append(hunks, core.HunkDecision{ID: h.ID, Outcome: core.HunkAccepted})
	}
	decide := wire.ProposalDecideParams{CommandID: "d1", ProposalID: proposal.ID, Hunks: hunks, AppliedVersion: 2}
	for range 2 {
		if state, err := p.Decide(ctx, decide); err != nil || state != core.ProposalApplied {
			t.Errorf("decide: %s, %v", state, err)
		}
	}
	p.until("proposal.decided", func() bool { return p.events[len(p.events)-1].Type == core.EventProposalDecided })
	state, err := p.State(ctx)
	if err != nil || len(state.Runs) != 1 || state.Runs[0].State != core.RunSucceeded || state.Seq != p.events[len(p.events)-1].Seq {
		t.Errorf("state %+v, %v", state, err)
	}
	for _, bad := range []error{
		second(p.Proposal(ctx, "none")), second(p.Run(ctx, "none")), second(p.Cancel(ctx, "x", "none")),
	} {
		if fault.CodeOf(bad) != fault.NotFound {
			t.Errorf("got %v, want not_found", bad)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// covers: R4
func TestHost_CommandsAreIdempotent(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	r := rewrite("same", s.provider())
	ids := make(chan core.RunID, 5)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { ids <- p.submit(r).RunID })
	}
	wg.Wait()
	first := <-ids
	for range 4 {
		if id := <-ids; id != first {
			t.Errorf("run %s, want %s", id, first)
		}
	}
	c := s.next(t)
	other := r
	other.Input.Instruction = "something else"
	if _, err := p.SubmitRewrite(within(t), other); fault.CodeOf(err) != fault.CommandConflict {
		t.Errorf("got %v, want command_conflict", err)
	}
	c.say("The new words stay here.")
	c.finish()
	event[core.RunChanged](p, first, core.EventRunSucceeded)
	if res := p.submit(r); res.RunID != first || res.State != core.RunSucceeded {
		t.Errorf("after the end: %+v", res)
	}
	select {
	case <-s.calls:
		t.Error("a second request was sent")
	default:
	}
}

// Everything that is said is looked at before anything is stored.
// covers: X5
func TestHost_RefusesWhatIsWrong(t *testing.T) {
	p := start(t, t.TempDir())
	p.ready(0)
	for name, edit := range map[string]func(*host.Rewrite){
		"no command":       func(r *host.Rewrite) { r.CommandID = "" },
		"no model":         func(r *host.Rewrite) { r.Model.Model = "" },
		"no instruction":   func(r *host.Rewrite) { r.Input.Instruction = " " },
		"kind":             func(r *host.Rewrite) { r.Provider.Kind = "other" },
		"digest":           func(r *host.Rewrite) { r.Snapshot.Digest = strings.Repeat("0", 64) },
		"version":          func(r *host.Rewrite) { r.Snapshot.BaseVersion = 0 },
		"selection":        func(r *host.Rewrite) { r.Snapshot.Selection.To = 10_000 },
		"turned selection": func(r *host.Rewrite) { r.Snapshot.Selection.From = 20 },
	} {
		r := rewrite("c-"+name, mock())
		r.Snapshot.Selection.To = min(r.Snapshot.Selection.To, 15)
		edit(&r)
		if _, err := p.SubmitRewrite(within(t), r); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: got %v, want invalid_input", name, err)
		}
	}
	big := rewrite("big", mock())
	big.Snapshot.Text = strings.Repeat("x", wire.MaxLine)
	if _, err := p.SubmitRewrite(within(t), big); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("got %v, want too_large", err)
	}
	if state, err := p.State(within(t)); err != nil || len(state.Runs) != 0 {
		t.Errorf("state %+v, %v", state, err)
	}
}

// covers: R7
func TestHost_CancelWithReceipt(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	if active := p.ActiveRuns(); len(active) != 1 || active[0].ID != run || active[0].State != core.RunRunning {
		t.Errorf("active %+v", active)
	}
	for range 2 { // repeated cancels are one
		receipt, err := p.Cancel(within(t), "cancel-1", run)
		if err != nil || receipt.Receipt != "accepted" || receipt.State != core.RunCancelling {
			t.Errorf("receipt %+v, %v", receipt, err)
		}
	}
	<-c.gone // the provider saw it
	event[core.RunChanged](p, run, core.EventRunCancelled)
	if want := "run.accepted message.committed run.started model_call.begun run.cancelling model_call.ended message.committed run.cancelled"; p.kinds(run) != want {
		t.Errorf("events %s, want %s", p.kinds(run), want)
	}
	if m := p.lastMessage(t, run); m.Status != "partial" || m.Message.Parts[0].Text != "The old words " {
		t.Errorf("message %+v", m)
	}
	receipt, err := p.Cancel(within(t), "cancel-2", run)
	if err != nil || receipt.Receipt != "already_terminal" || receipt.State != core.RunCancelled {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	p.contiguous()
}

// lastMessage is the newest message that was committed for a run.
func (p *program) lastMessage(t *testing.T, run core.RunID) core.MessageCommitted {
	t.Helper()
	var m core.MessageCommitted
	p.mu.Lock()
	events := p.events
	p.mu.Unlock()
	for _, e := range events {
		if e.RunID == run && e.Type == core.EventMessageCommitted {
			m = decode[core.MessageCommitted](t, e.Payload)
		}
	}
	return m
}

// Three rewrites at a time; eight more wait; the next is refused; one that
// waits can be cancelled; a conversation does not wait behind them.
// covers: R8
func TestHost_QueuesRewrites(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	var runs []core.RunID
	for i := range 11 {
		runs = append(runs, p.submit(rewrite("c"+string(rune('a'+i)), s.provider())).RunID)
		if i < 3 {
			event[core.RunChanged](p, runs[i], core.EventRunStarted)
		}
	}
	if _, err := p.SubmitRewrite(within(t), rewrite("one-more", s.provider())); fault.CodeOf(err) != fault.Busy {
		t.Errorf("got %v, want busy", err)
	}
	receipt, err := p.Cancel(within(t), "x", runs[3])
	if err != nil || receipt.State != core.RunCancelled {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	talk, err := p.Submit(within(t), wire.SubmitParams{
		CommandID: "talk", Kind: core.KindConversation, Input: "hello", Provider: s.provider(),
		ModelRef: core.ModelRef{ProviderID: "test", Model: "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	event[core.RunChanged](p, talk.RunID, core.EventRunStarted)
	for range 11 { // in whatever order they come
		c := s.next(t)
		c.say("The new words stay here.")
		c.finish()
	}
	for i, run := range append(runs, talk.RunID) {
		if i != 3 {
			event[core.RunChanged](p, run, core.EventRunSucceeded)
		}
	}
	if got := p.kinds(runs[3]); got != "run.accepted message.committed run.cancelled" {
		t.Errorf("the cancelled one: %s", got)
	}
}

// A reader that is slow gets merged previews, and a cancel is answered at once
// all the same.
// covers: R10 R7
func TestHost_SlowReaderOfPreviews(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	release := make(chan struct{})
	var once sync.Once
	defer once.Do(func() { close(release) })
	p.change(func() { p.slow = func() { <-release } })
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	const words = 1000
	c.say("The old words ")
	for range words {
		c.say("word ")
	}
	begun := time.Now()
	if receipt, err := p.Cancel(within(t), "x", run); err != nil || receipt.Receipt != "accepted" {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("the receipt took %s", d)
	}
	once.Do(func() { close(release) })
	event[core.RunChanged](p, run, core.EventRunCancelled)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.previews > 3 || p.resyncs != 0 {
		t.Errorf("%d previews waited, %d resyncs", p.previews, p.resyncs)
	}
}

// A page that begins in mid-stream gets the state, and the whole preview.
// covers: R5
func TestHost_StateInMidStream(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	run := p.submit(rewrite("c1", s.provider())).RunID
	c := s.next(t)
	c.say("The old words ")
	p.shown(run, "The old words")
	p.change(func() { p.texts[run] = "" }) // a new page knows nothing
	state, err := p.State(within(t))
	if err != nil || len(state.Runs) != 1 || state.Runs[0].State != core.RunRunning {
		t.Fatalf("state %+v, %v", state, err)
	}
	p.shown(run, "The old words")
	c.say("leave.")
	p.shown(run, "The old words leave.")
	c.finish()
	event[core.RunChanged](p, run, core.EventRunSucceeded)
	p.contiguous()
}

// covers: K3 K6
func TestHost_TestsAProvider(t *testing.T) {
	s := serve(t)
	p := start(t, t.TempDir())
	p.ready(0)
	var wg sync.WaitGroup
	wg.Go(func() {
		c := s.next(t)
		c.say("OK")
		c.finish()
	})
	res, err := p.TestProvider(within(t), wire.ProviderTestParams{Provider: s.provider(), Model: "m-1"})
	wg.Wait()
	if err != nil || res.URL != s.URL+"/v1/chat/completions" || len(res.Models) != 2 || res.Models[0].ID != "m-1" || res.Answer != "OK" {
		t.Errorf("got %+v, %v", res, err)
	}
	bad := s.provider()
	bad.CredentialRef = "provider/none"
	if _, err := p.TestProvider(within(t), wire.ProviderTestParams{Provider: bad, Model: "m-1"}); fault.CodeOf(err) != fault.NoKey {
		t.Errorf("got %v, want no_key", err)
	}
	bad = s.provider()
	bad.BaseURL = "http://example.com/v1"
	if _, err := p.Models(within(t), wire.ProviderTestParams{Provider: bad}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("got %v, want invalid_input", err)
	}
	// A run meets the same fault, as its end.
	r := rewrite("c1", s.provider())
	r.Provider.CredentialRef = "provider/none"
	run := p.submit(r).RunID
	if end := event[core.RunChanged](p, run, core.EventRunFailed); end.Fault == nil || end.Fault.Code != "no_key" {
		t.Errorf("end %+v", end)
	}
}

// Calls while there is no Runner fail at once.
// covers: K8
func TestHost_NoRunner(t *testing.T) {
	p := start(t, t.TempDir(), func(c *host.Config) { c.Command = []string{filepath.Join(t.TempDir(), "nothing")} })
	p.until("given up", func() bool {
		return len(p.runners) > 0 && p.runners[len(p.runners)-1].Status == host.Failed
	})
	r := p.Runner()
	if r.Code != fault.RunnerGone || r.Restarts != 3 || r.PID != 0 {
		t.Errorf("runner %+v", r)
	}
	ctx := context.Background() // a call that waited would wait for ever
	for _, err := range []error{
		second(p.SubmitRewrite(ctx, rewrite("c", mock()))), second(p.Cancel(ctx, "x", "r")), second(p.State(ctx)),
		second(p.Proposal(ctx, "p")), second(p.TestProvider(ctx, wire.ProviderTestParams{})),
	} {
		if fault.CodeOf(err) != fault.RunnerGone {
			t.Errorf("got %v, want runner_gone", err)
		}
	}
}

// A Runner that ends at once is started three times more and then given up.
// covers: R2
func TestHost_GivesUpAfterThree(t *testing.T) {
	p := start(t, t.TempDir(), func(c *host.Config) { c.Command = []string{"/bin/false"} })
	p.until("given up", func() bool {
		return len(p.runners) > 0 && p.runners[len(p.runners)-1].Status == host.Failed
	})
	if r := p.Runner(); r.Restarts != 3 {
		t.Errorf("runner %+v", r)
	}
	p.mu.Lock()
	stopped := 0
	for _, r := range p.runners {
		if r.Status == host.Stopped {
			stopped++
		}
	}
	p.mu.Unlock()
	if stopped != 3 {
		t.Errorf("stopped %d times", stopped)
	}
}

// A database that cannot be used is said, and the Runner is not started again
// by itself; when the person has seen to it, it can be.
// covers: R2 R12 K8
func TestHost_StoreFailed(t *testing.T) {
	home := t.TempDir()
	db := filepath.Join(home, "runs.db")
	if err := os.WriteFile(db, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, home)
	p.until("failed", func() bool {
		return len(p.runners) > 0 && p.runners[len(p.runners)-1].Status == host.Failed
	})
	if r := p.Runner(); r.Code != fault.StoreFailed || r.Restarts != 0 {
		t.Errorf("runner %+v", r)
	}
	if _, err := p.State(within(t)); fault.CodeOf(err) != fault.StoreFailed {
		t.Errorf("got %v, want store_failed", err)
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	p.Restart()
	if r := p.ready(0); r.Restarts != 1 {
		t.Errorf("runner %+v", r)
	}
	if _, err := p.State(within(t)); err != nil {
		t.Error(err)
	}
}

// A Runner that finds the database held by another one waits for it.
// covers: R2
func TestHost_WaitsForAnotherRunner(t *testing.T) {
	home := t.TempDir()
	other, err := store.Open(within(t), store.Config{Path: filepath.Join(home, "runs.db")})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, home)
	p.until("starting", func() bool {
		return len(p.runners) > 0 && p.runners[len(p.runners)-1].PID != 0
	})
	if r := p.Runner(); r.Status != host.Starting {
		t.Errorf("runner %+v", r)
	}
	if _, err := p.State(context.Background()); fault.CodeOf(err) != fault.RunnerGone {
		t.Errorf("got %v, want runner_gone", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if r := p.ready(0); r.Restarts != 0 {
		t.Errorf("runner %+v", r)
	}
}
