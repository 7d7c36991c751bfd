package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// proposed ends a new run with a proposal and returns that.
func proposed(t *testing.T, s *Store, cmd core.CommandID, p *core.Proposal) core.Proposal {
	t.Helper()
	run := started(t, s, cmd)
	p.ID = core.ProposalID("p-" + cmd)
	_, err := s.End(t.Context(), run.ID, core.RunEnd{State: core.RunSucceeded, Outcome: "proposal", Proposal: p})
	must(t, err)
	got, err := s.Proposal(t.Context(), p.ID)
	must(t, err)
	return got
}

func accept(ids ...string) []core.HunkDecision { return decisions(core.HunkAccepted, ids) }
func reject(ids ...string) []core.HunkDecision { return decisions(core.HunkRejected, ids) }
func reopen(ids ...string) []core.HunkDecision { return decisions(core.HunkOpen, ids) }

func decisions(o core.HunkOutcome, ids []string) []core.HunkDecision {
	var list []core.HunkDecision
	for _, id := range ids {
		list = append(list, core.HunkDecision{ID: id, Outcome: o})
	}
	return list
}

// covers: R4
func TestDecide_StateFollowsTheLatestOutcomes(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	p := proposed(t, s, "c", proposal(3))
	steps := []struct {
		cmd   core.CommandID
		hunks []core.HunkDecision
		want  core.ProposalState
	}{
		{"1", reject("1"), core.ProposalProposed},
		{"2", accept("2"), core.ProposalPartlyApplied},
		{"3", accept("1", "3"), core.ProposalApplied},
		{"4", reopen("1", "2", "3"), core.ProposalProposed}, // undo
		{"5", accept("1", "2", "3"), core.ProposalApplied},  // redo
		{"6", reject("3"), core.ProposalPartlyApplied},
		{"7", reject("1", "2"), core.ProposalRejected},
	}
	for i, st := range steps {
		got, err := s.Decide(ctx, st.cmd, p.ID, st.hunks, 5+i)
		must(t, err)
		if got != st.want {
			t.Errorf("after %s: %s, want %s", st.cmd, got, st.want)
		}
		stored, err := s.Proposal(ctx, p.ID)
		must(t, err)
		if decided := stored.DecidedAtMs != 0; stored.State != st.want || decided != (st.want != core.ProposalProposed) {
			t.Errorf("after %s: stored %s, decided at %d", st.cmd, stored.State, stored.DecidedAtMs)
		}
		events := rec.upTo(s.LastSeq())
		e := payload[core.ProposalDecided](t, events[len(events)-1])
		want := core.ProposalDecided{ProposalID: p.ID, State: st.want, Hunks: st.hunks, AppliedVersion: 5 + i}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
	// The same command is the same answer, whatever happened since.
	before := s.LastSeq()
	got, err := s.Decide(ctx, "3", p.ID, accept("1", "3"), 7)
	must(t, err)
	if got != core.ProposalApplied || s.LastSeq() != before {
		t.Errorf("repeated command: %s and events up to %d, want applied and %d", got, s.LastSeq(), before)
	}
	_, err = s.Decide(ctx, "3", p.ID, accept("1"), 7)
	wantCode(t, err, fault.CommandConflict)
	_, err = s.Decide(ctx, "3", p.ID, accept("1", "3"), 8)
	wantCode(t, err, fault.CommandConflict)
	stored, err := s.Proposal(ctx, p.ID)
	must(t, err)
	for _, h := range stored.Hunks {
		if h.Outcome != core.HunkRejected {
			t.Errorf("hunk %s is %q, want rejected", h.ID, h.Outcome)
		}
	}
}

func TestDecide_Refuses(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	p := proposed(t, s, "c", proposal(2))
	before := s.LastSeq()
	for name, hunks := range map[string][]core.HunkDecision{
		"other hunk":    accept("1", "3"),
		"twice":         accept("1", "1"),
		"other outcome": decisions("maybe", []string{"1"}),
		"no outcome":    decisions("", []string{"1"}),
	} {
		_, err := s.Decide(ctx, core.CommandID(name), p.ID, hunks, 5)
		if fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: %v, want invalid_input", name, err)
		}
	}
	_, err := s.Decide(ctx, "x", "none", accept("1"), 5)
	wantCode(t, err, fault.NotFound)
	_, err = s.Decide(ctx, "", p.ID, accept("1"), 5)
	wantCode(t, err, fault.InvalidInput)
	_, err = s.Proposal(ctx, "none")
	wantCode(t, err, fault.NotFound)
	stored, err := s.Proposal(ctx, p.ID)
	must(t, err)
	if s.LastSeq() != before || stored.Hunks[0].Outcome != "" {
		t.Error("a refused decision left something behind")
	}
}

func TestProposal_CutOffAndSupersedesAreKept(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	first := proposal(2)
	first.CutOff = true
	a := proposed(t, s, "a", first)
	if !a.CutOff {
		t.Error("cut_off was lost")
	}
	_, err := s.Decide(ctx, "d", a.ID, accept("1"), 5)
	must(t, err)
	second := proposal(1)
	second.Supersedes = a.ID
	before := s.LastSeq()
	b := proposed(t, s, "b", second)
	if b.Supersedes != a.ID || b.CutOff {
		t.Errorf("new proposal supersedes %q, cut off %v", b.Supersedes, b.CutOff)
	}
	a, err = s.Proposal(ctx, a.ID)
	must(t, err)
	if a.State != core.ProposalSuperseded || a.Hunks[0].Outcome != core.HunkAccepted {
		t.Errorf("old proposal is %s, hunk 1 %s", a.State, a.Hunks[0].Outcome)
	}
	var told bool
	for _, e := range rec.upTo(s.LastSeq())[before:] {
		if e.Type == core.EventProposalDecided {
			d := payload[core.ProposalDecided](t, e)
			told = d.ProposalID == a.ID && d.State == core.ProposalSuperseded && d.Hunks != nil
		}
	}
	if !told {
		t.Error("no event says that the old proposal is superseded")
	}
	// An undo of what was accepted before is still recorded.
	got, err := s.Decide(ctx, "e", a.ID, reopen("1"), 9)
	must(t, err)
	if got != core.ProposalSuperseded {
		t.Errorf("undo in a superseded proposal: %s, want superseded", got)
	}
	// A decided one stays decided; one that does not exist is left out.
	_, err = s.Decide(ctx, "f", b.ID, accept("1"), 10)
	must(t, err)
	third := proposal(1)
	third.Supersedes = b.ID
	proposed(t, s, "c", third)
	b, err = s.Proposal(ctx, b.ID)
	must(t, err)
	if b.State != core.ProposalApplied {
		t.Errorf("applied proposal became %s", b.State)
	}
	fourth := proposal(1)
	fourth.Supersedes = "none"
	if d := proposed(t, s, "d2", fourth); d.Supersedes != "" {
		t.Errorf("supersedes %q, want nothing", d.Supersedes)
	}
}
