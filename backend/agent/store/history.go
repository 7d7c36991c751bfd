package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// History returns what a context is built of, as one commit left it. Messages
// stand in the order in which they came: one that a person wrote while a run
// was going on stands between that run's, under its own run, which may still be
// queued. What streams in now is no message yet.
func (s *Store) History(ctx context.Context, id core.SessionID) (core.History, error) {
	const op = "get history"
	h := core.History{Messages: []core.StoredMessage{}, Verdicts: map[core.ToolCallID]core.ToolVerdict{}}
	err := s.read(ctx, op, func(ctx context.Context, q querier) error {
		var err error
		if h.Session, err = session(ctx, q, op, id); err != nil {
			return err
		}
		rows, err := messages(ctx, q, qHistory, id)
		if err != nil {
			return err
		}
		for _, m := range rows {
			h.Messages = append(h.Messages, m.StoredMessage)
		}
		runs, err := all(ctx, q, scanRun, qRunsOfSession, string(id))
		if err != nil {
			return err
		}
		h.Runs = plainRuns(runs)
		found, err := all(ctx, q, scanReconciliation, qReconciliationsOf, string(id))
		if err != nil {
			return err
		}
		for _, v := range found {
			h.Verdicts[v.call] = v.verdict // the last one counts
		}
		h.Calls, h.Approvals, h.Proposals, err = actions(ctx, q, string(id), qCallsOf, qApprovalsOf, qProposalsOf)
		return err
	})
	if err != nil {
		return core.History{}, err
	}
	return h, nil
}

// actions reads calls, approvals and proposals by queries that take one id.
func actions(ctx context.Context, q querier, id, calls, approvals, proposals string) ([]core.ToolCall, []core.Approval, []core.Proposal, error) {
	cs, err := all(ctx, q, scanCall, calls, id)
	if err != nil {
		return nil, nil, nil, err
	}
	as, err := all(ctx, q, scanApproval, approvals, id)
	if err != nil {
		return nil, nil, nil, err
	}
	ps, err := all(ctx, q, scanProposal, proposals, id)
	if err != nil {
		return nil, nil, nil, err
	}
	list := make([]core.Proposal, len(ps))
	for i, p := range ps {
		list[i] = p.Proposal
	}
	return plainCalls(cs), as, list, nil
}

func plainRuns(rows []runRow) []core.Run {
	runs := make([]core.Run, len(rows))
	for i, r := range rows {
		runs[i] = r.Run
	}
	return runs
}

func plainCalls(rows []callRow) []core.ToolCall {
	calls := make([]core.ToolCall, len(rows))
	for i, r := range rows {
		calls[i] = r.ToolCall
	}
	return calls
}

// Runs returns the newest runs, newest first, at most limit; never nil.
func (s *Store) Runs(ctx context.Context, limit int) ([]core.Run, error) {
	rows, err := all(ctx, plain{s.reader}, scanRun, qRuns, limit)
	if err != nil {
		return nil, readFault("get runs", err)
	}
	return plainRuns(rows), nil
}

// RunDetail returns one run with all that is known of it, as one commit left
// it. Its slices are never nil.
func (s *Store) RunDetail(ctx context.Context, id core.RunID) (core.RunDetail, error) {
	const op = "get run"
	d := core.RunDetail{Messages: []core.MessageCommitted{}, Reconciled: []core.ToolReconciled{}}
	err := s.read(ctx, op, func(ctx context.Context, q querier) error {
		run, ok, err := one(ctx, q, scanRun, qRun, string(id))
		if err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "run"}
		}
		d.Run = run.Run
		if d.Session, err = session(ctx, q, op, run.SessionID); err != nil {
			return err
		}
		if d.Calls, d.Approvals, d.Proposals, err = actions(ctx, q, string(id), qCallsOfRun, qApprovalsRun, qProposalsRun); err != nil {
			return err
		}
		rows, err := all(ctx, q, scanMessage, qMessagesOfRun, string(id))
		if err != nil {
			return err
		}
		for _, m := range rows {
			d.Messages = append(d.Messages, m.committed())
		}
		if d.ModelCalls, err = all(ctx, q, scanAttempt, qModelCallsOfRun, string(id)); err != nil {
			return err
		}
		found, err := all(ctx, q, scanReconciliation, qReconciliationsRun, string(id))
		if err != nil {
			return err
		}
		for _, v := range found {
			for _, c := range d.Calls {
				if c.ID == v.call {
					d.Reconciled = append(d.Reconciled, core.ToolReconciled{Call: c, Verdict: v.verdict, By: v.by})
				}
			}
		}
		return nil
	})
	if err != nil {
		return core.RunDetail{}, err
	}
	return d, nil
}

// Contexts returns what each request of a run held, in order; never nil. Those
// of older runs are gone (Config.KeepContexts).
func (s *Store) Contexts(ctx context.Context, id core.RunID) ([]core.ContextReport, error) {
	const op = "get contexts"
	var list []core.ContextReport
	err := s.read(ctx, op, func(ctx context.Context, q querier) error {
		if _, ok, err := one(ctx, q, scanRun, qRun, string(id)); err != nil || !ok {
			if err == nil {
				err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "run"}
			}
			return err
		}
		var err error
		list, err = all(ctx, q, scanContext, qContexts, string(id))
		return err
	})
	return list, err
}

// ToolCall returns one call as it is committed.
func (s *Store) ToolCall(ctx context.Context, id core.ToolCallID) (core.ToolCall, error) {
	const op = "get tool call"
	c, ok, err := one(ctx, plain{s.reader}, scanCall, qCall, string(id))
	if err != nil {
		return core.ToolCall{}, readFault(op, err)
	}
	if !ok {
		return core.ToolCall{}, &fault.Error{Code: fault.NotFound, Op: op, Detail: "tool call"}
	}
	return c.ToolCall, nil
}
