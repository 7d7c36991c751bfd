package core

// Valid reports whether o is one of the outcomes a decision may have.
func (o HunkOutcome) Valid() bool {
	return o == HunkAccepted || o == HunkRejected || o == HunkOpen
}

// Open reports whether a proposal in s still waits for a person.
func (s ProposalState) Open() bool {
	return s == ProposalProposed || s == ProposalPartlyApplied
}

// DecidedState returns the state of a proposal from the latest outcome of each
// of its hunks; an empty outcome counts as open. All accepted is applied, all
// rejected is rejected. Otherwise it is partly applied as soon as one hunk is
// accepted, and proposed as long as none is. A superseded, stale or
// unknown-base proposal stays what it is, whatever an undo reopens.
func (p Proposal) DecidedState() ProposalState {
	if p.State != "" && !p.State.Open() && p.State != ProposalApplied && p.State != ProposalRejected {
		return p.State
	}
	var accepted, rejected int
	for _, h := range p.Hunks {
		switch h.Outcome {
		case HunkAccepted:
			accepted++
		case HunkRejected:
			rejected++
		case HunkOpen:
		}
	}
	switch n := len(p.Hunks); {
	case n > 0 && accepted == n:
		return ProposalApplied
	case n > 0 && rejected == n:
		return ProposalRejected
	case accepted > 0:
		return ProposalPartlyApplied
	}
	return ProposalProposed
}
