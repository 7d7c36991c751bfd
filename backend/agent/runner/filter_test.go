package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/provider/endpoint"
	"galley/backend/text"
)

// A client that asks for some sessions gets their state, events and previews,
// and what belongs to none; asking anew takes the place of what it asked before.
// covers: R5
func TestSubscribe_SomeSessionsOnly(t *testing.T) {
	r := ready(t, nil)
	mine := r.submit(message("c1", create, core.ToolCreateDocument))
	a := r.waits(mine.RunID)
	other := r.submit(message("c2", "/tool x {}")) // waits behind the first
	rewrite := r.submit(wire.SubmitParams{
		CommandID: "c3", Kind: core.KindRewrite, ModelRef: core.ModelRef{Model: "mock-1"}, Provider: wire.ProviderConfig{Kind: endpoint.KindMock},
		Snapshot: snapshotOf("The very good text is good.\n"), AllowedTools: []string{}, Rewrite: &wire.RewriteInput{Instruction: "improve"},
	})
	r.ends(rewrite.RunID)

	var res wire.SubscribeResult
	r.must(wire.MethodEventsSubscribe, wire.SubscribeParams{AfterSeq: 1, Sessions: []core.SessionID{mine.SessionID}}, &res)
	if len(res.Snapshot.Sessions) != 1 || res.Snapshot.Sessions[0].ID != mine.SessionID ||
		len(res.Snapshot.Runs) != 1 || res.Snapshot.Runs[0].ID != mine.RunID ||
		len(res.Snapshot.Approvals) != 1 || res.Snapshot.Approvals[0].ID != a.ID || len(res.Snapshot.Proposals) != 0 {
		t.Errorf("state %+v", res.Snapshot)
	}
	if len(res.Events) == 0 {
		t.Error("nothing was replayed")
	}
	for _, e := range res.Events {
		if e.SessionID != mine.SessionID && e.SessionID != "" {
			t.Errorf("event %d of session %s was replayed", e.Seq, e.SessionID)
		}
	}
	r.mu.Lock()
	before := len(r.events)
	clear(r.texts)
	r.mu.Unlock()
	r.must(wire.MethodApprovalDecide, decision(a, "a1", core.Deny), nil)
	r.endsAs(mine.RunID, core.RunSucceeded)
	// The other session's run ends without a word to this client.
	var run core.Run
	for !run.State.Final() {
		r.must(wire.MethodRunGet, wire.RunGetParams{RunID: other.RunID}, &run)
	}
	r.mu.Lock()
	for _, e := range r.events[before:] {
		if e.SessionID != mine.SessionID && e.SessionID != "" {
			t.Errorf("event %d %s of session %s came", e.Seq, e.Type, e.SessionID)
		}
	}
	if _, ok := r.texts[other.RunID]; ok {
		t.Error("a preview of the other session came")
	}
	last := r.events[len(r.events)-1].Seq
	r.mu.Unlock()

	// All of them again, from where it stands: no gap and no repeat.
	r.must(wire.MethodEventsSubscribe, wire.SubscribeParams{AfterSeq: last}, &res)
	seen := map[int64]bool{}
	for _, e := range res.Events {
		seen[e.Seq] = true
	}
	if len(res.Snapshot.Sessions) < 2 || res.SnapshotSeq < last {
		t.Errorf("state at %d with %d sessions", res.SnapshotSeq, len(res.Snapshot.Sessions))
	}
	end := r.submit(message("c5", "/tool x {}"))
	r.ends(end.RunID)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events[before:] {
		if e.Seq > last && seen[e.Seq] {
			t.Errorf("event %d came twice", e.Seq)
		}
		seen[e.Seq] = true
	}
	for seq := last + 1; seq <= r.events[len(r.events)-1].Seq; seq++ {
		if !seen[seq] {
			t.Errorf("event %d is missing", seq)
		}
	}
}

// Up to a thousand events are brought along, by number and by what a line
// takes; a client that lacks more starts from the state.
// covers: R5 R10
func TestSubscribe_ReplayIsBounded(t *testing.T) {
	for _, c := range []struct{ events, size, after, want int }{
		{1000, 10, 0, 0},
		{1001, 10, 1, 1000},
		{1002, 10, 1, 0},
		{3000, 10, 2500, 500},
		{20, 1 << 20, 15, 5},
		{20, 1 << 20, 1, 0},
	} {
		j := &events{}
		h := newHub(quiet())
		h.journal = j
		for range c.events {
			j.commit(h, "r", core.EventRunStarted, c.size)
		}
		client := connect(t, h)
		res := client.subscribe(t, int64(c.after))
		if len(res.Events) != c.want || res.SnapshotSeq != int64(c.events) {
			t.Errorf("%d events of %d after %d: %d came, state at %d", c.events, c.size, c.after, len(res.Events), res.SnapshotSeq)
		}
		j.commit(h, "r", core.EventRunStarted, 0)
		client.until(t, "the next event", func() bool { return len(client.seqs) == 1 && client.seqs[0] == int64(c.events+1) })
	}
}

// large is a journal whose state is large.
type large struct {
	events
	state core.State
}

func (l *large) Snapshot(context.Context) (core.State, int64, error) { return l.state, 7, nil }

// In a state that does not fit into a line the older proposals go without their
// edits; one whose words alone are too long goes.
// covers: R10
func TestSubscribe_AStateThatIsTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		p           core.Proposal
		come, whole int
	}{
		"long edits":   {core.Proposal{Patch: core.Patch{Edits: []text.Edit{{Insert: strings.Repeat("x", 1<<20)}}}, Hunks: []core.Hunk{{ID: "1"}}}, 20, 7},
		"long summary": {core.Proposal{Patch: core.Patch{Summary: strings.Repeat("x", 1<<20)}}, 7, 0},
	} {
		l := &large{state: core.State{Sessions: []core.Session{}, Runs: []core.Run{}, Approvals: []core.Approval{}}}
		for i := range 20 {
			p := c.p
			p.ID = core.ProposalID(fmt.Sprint(i))
			l.state.Proposals = append(l.state.Proposals, p)
		}
		h := newHub(quiet())
		h.journal = l
		res := connect(t, h).subscribe(t, 0)
		whole := 0
		for i, p := range res.Snapshot.Proposals {
			if len(p.Hunks) > 0 && len(p.Patch.Edits) > 0 {
				whole++
			}
			if p.ID != core.ProposalID(fmt.Sprint(i)) {
				t.Errorf("%s: proposal %d is %s", name, i, p.ID)
			}
		}
		if len(res.Snapshot.Proposals) != c.come || whole != c.whole {
			t.Errorf("%s: %d proposals came, %d of them whole", name, len(res.Snapshot.Proposals), whole)
		}
	}
}

// An event that is longer than a line goes without its body, and the others
// follow.
// covers: R10
func TestHub_AnEventLongerThanALine(t *testing.T) {
	j := &events{}
	h := newHub(quiet())
	h.journal = j
	c := connect(t, h)
	c.subscribe(t, 0)
	long, err := json.Marshal(core.MessageCommitted{MessageID: "m", Message: core.Message{
		Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: strings.Repeat("x", wire.MaxLine)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.event(core.Event{Seq: 1, RunID: "r", Type: core.EventMessageCommitted, Payload: long})
	h.event(core.Event{Seq: 2, RunID: "r", Type: core.EventRunStarted, Payload: json.RawMessage(`{}`)})
	c.until(t, "both", func() bool { return fmt.Sprint(c.seqs) == "[1 2]" })
	if len(c.resyncs) != 0 {
		t.Error("it had to fetch the state")
	}
	// One that cannot be cut makes it fetch the state, and nothing stands still.
	h.event(core.Event{Seq: 3, RunID: "r", Type: core.EventRunStarted, Payload: long})
	c.until(t, "resync", func() bool { return len(c.resyncs) == 1 })
}
