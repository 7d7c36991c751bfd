package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// addProposal commits a proposal and its event, and sets aside the one it
// supersedes.
func (t *tx) addProposal(ctx context.Context, op string, session core.SessionID, p core.Proposal) error {
	if p.ID == "" {
		p.ID = core.ProposalID(t.s.cfg.NewID())
	}
	if p.State == "" {
		p.State = core.ProposalProposed
	}
	if p.Patch.Edits == nil {
		p.Patch.Edits = []text.Edit{}
	}
	p.Hunks = slices.Clone(p.Hunks)
	for i, h := range p.Hunks {
		if h.Warnings == nil {
			p.Hunks[i].Warnings = []core.Warning{}
		}
	}
	p.CreatedAtMs, p.DecidedAtMs = t.now, 0
	base, err := hex.DecodeString(p.BaseDigest)
	if err != nil || len(base) != sha256.Size {
		return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "baseDigest"}
	}
	if p.Supersedes != "" {
		old, ok, err := one(ctx, t, scanProposal, qProposal, string(p.Supersedes))
		if err != nil {
			return err
		}
		if !ok {
			p.Supersedes = ""
		} else if err := t.supersede(ctx, old); err != nil {
			return err
		}
	}
	edits, err := encode(p.Patch.Edits)
	if err != nil {
		return err
	}
	hunks, err := hunksJSON(p.Hunks)
	if err != nil {
		return err
	}
	if err := t.update(ctx, qInsertProposal, string(p.ID), string(p.Origin), orNull(p.RunID), orNull(p.ToolCallID), orNull(p.Supersedes),
		p.DocURI, p.Patch.BaseVersion, base, edits, hunks, p.Patch.Summary, string(p.State), t.now, p.CutOff); err != nil {
		return err
	}
	return t.emit(ctx, core.EventProposalCreated, session, p.RunID, p.ToolCallID, p)
}

// supersede sets an open proposal aside; one that was decided stays.
func (t *tx) supersede(ctx context.Context, old proposalRow) error {
	if !old.State.Open() {
		return nil
	}
	if err := t.update(ctx, qMoveProposal, string(core.ProposalSuperseded), t.now, string(old.ID)); err != nil {
		return err
	}
	return t.emit(ctx, core.EventProposalDecided, old.session, old.RunID, old.ToolCallID, core.ProposalDecided{
		ProposalID: old.ID, State: core.ProposalSuperseded, Hunks: []core.HunkDecision{},
	})
}

// Proposal returns one proposal, each hunk with its latest outcome.
func (s *Store) Proposal(ctx context.Context, id core.ProposalID) (core.Proposal, error) {
	const op = "get proposal"
	p, ok, err := one(ctx, plain{s.reader}, scanProposal, qProposal, string(id))
	if err != nil {
		return core.Proposal{}, readFault(op, err)
	}
	if !ok {
		return core.Proposal{}, &fault.Error{Code: fault.NotFound, Op: op, Detail: "proposal"}
	}
	return p.Proposal, nil
}

// Decide records decisions and computes the proposal's state from the latest
// outcome of all its hunks; see Proposal.DecidedState. The same command again
// returns its first answer. A hunk that does not exist or is decided twice in
// one command, and an outcome that does not exist, are invalid_input.
func (s *Store) Decide(ctx context.Context, cmd core.CommandID, id core.ProposalID, hunks []core.HunkDecision, appliedVersion int) (core.ProposalState, error) {
	const op = "decide proposal"
	var state core.ProposalState
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id, hunks, appliedVersion)
		if err != nil {
			return err
		}
		found, err := t.command(ctx, op, cmd, commandDecide, digest, &state)
		if err != nil || found {
			return err
		}
		p, ok, err := one(ctx, t, scanProposal, qProposal, string(id))
		if err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "proposal"}
		}
		if err := apply(op, p.Hunks, hunks); err != nil {
			return err
		}
		state = p.DecidedState()
		decided := t.now
		if state == core.ProposalProposed {
			decided = 0
		}
		rows, err := hunksJSON(p.Hunks)
		if err != nil {
			return err
		}
		if err := t.update(ctx, qDecideProposal, string(state), rows, string(cmd), timeOrNull(decided), string(id)); err != nil {
			return err
		}
		if err := t.done(ctx, cmd, commandDecide, digest, p.session, state); err != nil {
			return err
		}
		return t.emit(ctx, core.EventProposalDecided, p.session, p.RunID, p.ToolCallID, core.ProposalDecided{
			ProposalID: id, State: state, Hunks: append([]core.HunkDecision{}, hunks...), AppliedVersion: appliedVersion,
		})
	})
	return state, err
}

// apply writes decisions into the hunks.
func apply(op string, hunks []core.Hunk, decisions []core.HunkDecision) error {
	seen := map[string]bool{}
	for _, d := range decisions {
		i := slices.IndexFunc(hunks, func(h core.Hunk) bool { return h.ID == d.ID })
		if i < 0 || seen[d.ID] || !d.Outcome.Valid() {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "hunks"}
		}
		seen[d.ID] = true
		hunks[i].Outcome = d.Outcome
	}
	return nil
}
