package store

import (
	"context"
	"slices"

	"galley/backend/agent/core"
)

// How much a snapshot holds besides what is not finished.
const (
	stateRuns      = 50
	stateSessions  = 200
	stateProposals = 100
)

// read runs f in one read transaction, so that everything it sees belongs to
// one commit.
func (s *Store) read(ctx context.Context, op string, f func(ctx context.Context, q querier) error) error {
	t, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return readFault(op, err)
	}
	err = f(ctx, plain{t})
	// Nothing was written; a rollback only ends the read.
	if rb := t.Rollback(); rb != nil && err == nil {
		err = rb
	}
	if err != nil {
		return readFault(op, err)
	}
	return nil
}

// Snapshot returns the state and the seq it stands at. Proposals are the
// newest 100 open ones, newest first. Approvals are those that wait, the oldest
// first. Sessions are the newest 200 that hold a
// conversation and are not archived, and those of the returned runs and
// proposals.
func (s *Store) Snapshot(ctx context.Context) (core.State, int64, error) {
	st := core.State{Runs: []core.Run{}, Proposals: []core.Proposal{}}
	var seq int64
	err := s.read(ctx, "snapshot", func(ctx context.Context, q querier) error {
		var err error
		if seq, _, err = one(ctx, q, scanInt, qLastSeq); err != nil {
			return err
		}
		open, err := all(ctx, q, scanRun, qRunsOpen)
		if err != nil {
			return err
		}
		final, err := all(ctx, q, scanRun, qRunsFinal, stateRuns)
		if err != nil {
			return err
		}
		slices.Reverse(final)
		for _, r := range slices.Concat(final, open) {
			st.Runs = append(st.Runs, r.Run)
		}
		if st.Approvals, err = all(ctx, q, scanApproval, qApprovalsWaiting); err != nil {
			return err
		}
		proposals, err := all(ctx, q, scanProposal, qProposalsOpen, stateProposals)
		if err != nil {
			return err
		}
		need := []core.SessionID{}
		for _, p := range proposals {
			st.Proposals = append(st.Proposals, p.Proposal)
			need = append(need, p.session)
		}
		for _, r := range st.Runs {
			need = append(need, r.SessionID)
		}
		st.Sessions, err = sessionsOf(ctx, q, need)
		return err
	})
	if err != nil {
		return core.State{}, 0, err
	}
	return st, seq, nil
}

// sessionsOf returns the listed sessions and those that are needed besides.
func sessionsOf(ctx context.Context, q querier, need []core.SessionID) ([]core.Session, error) {
	list, err := all(ctx, q, scanSession, qSessions, stateSessions)
	if err != nil {
		return nil, err
	}
	have := map[core.SessionID]bool{"": true}
	for _, s := range list {
		have[s.ID] = true
	}
	for _, id := range need {
		if have[id] {
			continue
		}
		have[id] = true
		s, ok, err := one(ctx, q, scanSession, qSession, string(id))
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, s)
		}
	}
	return list, nil
}
