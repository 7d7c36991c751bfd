package core

import "testing"

func TestProposal_DecidedStateOfEveryMixOfThreeHunks(t *testing.T) {
	t.Parallel()
	outcomes := []HunkOutcome{"", HunkOpen, HunkAccepted, HunkRejected}
	for _, a := range outcomes {
		for _, b := range outcomes {
			for _, c := range outcomes {
				count := map[HunkOutcome]int{}
				p := Proposal{State: ProposalPartlyApplied}
				for _, o := range []HunkOutcome{a, b, c} {
					p.Hunks = append(p.Hunks, Hunk{Outcome: o})
					count[o]++
				}
				want := ProposalProposed
				if count[HunkAccepted] > 0 {
					want = ProposalPartlyApplied
				}
				if count[HunkAccepted] == 3 {
					want = ProposalApplied
				}
				if count[HunkRejected] == 3 {
					want = ProposalRejected
				}
				if got := p.DecidedState(); got != want {
					t.Errorf("%q %q %q: %s, want %s", a, b, c, got, want)
				}
			}
		}
	}
}

func TestProposal_DecidedStateFromEachState(t *testing.T) {
	t.Parallel()
	for state, want := range map[ProposalState]ProposalState{
		"": ProposalApplied, ProposalProposed: ProposalApplied, ProposalPartlyApplied: ProposalApplied,
		ProposalApplied: ProposalApplied, ProposalRejected: ProposalApplied,
		ProposalStale: ProposalStale, ProposalUnknownBase: ProposalUnknownBase, ProposalSuperseded: ProposalSuperseded,
	} {
		p := Proposal{State: state, Hunks: []Hunk{{Outcome: HunkAccepted}}}
		if got := p.DecidedState(); got != want {
			t.Errorf("from %q: %s, want %s", state, got, want)
		}
	}
	if got := (Proposal{State: ProposalProposed}).DecidedState(); got != ProposalProposed {
		t.Errorf("without hunks: %s, want proposed", got)
	}
}
