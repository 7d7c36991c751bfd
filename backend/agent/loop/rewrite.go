package loop

import (
	"context"
	"errors"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/resolve"
)

// rewrite asks once for a passage and reads the answer into a proposal.
func (r *Runtime) rewrite(ctx context.Context, t core.Task) (core.RunEnd, error) {
	req, report, err := rewriteRequest(t)
	switch {
	case err != nil:
		return failed(err), nil
	case req.PromptTokensEstimate > t.Budget.Tokens:
		return outOfTokens(t), nil
	}
	doc, sel := t.Snapshot.Text, t.Snapshot.Selection
	s := &steps{r: r, t: t, clean: resolve.NewPreview(doc, sel).Text, limit: t.Budget.Tokens}
	res, err := s.do(ctx, 1, req, &report)
	if err != nil {
		return core.RunEnd{}, err
	}
	end := core.RunEnd{State: core.RunSucceeded}
	status := complete
	finish := res.answer.Finish
	switch {
	case told(ctx, res.err):
		end, status = stopped(ctx, t), partial
	case errors.Is(res.err, errTokens):
		end, status = outOfTokens(t), partial
	case res.err != nil:
		end, status = failed(res.err), partial
	case finish == core.FinishMaxTokens:
		status = partial
	case finish == core.FinishToolCalls:
		// No tool was offered; what was said besides is the answer (T8).
		finish = core.FinishEndTurn
	}
	end.Usage, end.Clipped = res.answer.Usage, res.answer.Clipped
	say(&end, res.answer.Text, status)
	if end.State == core.RunCancelled || (res.err != nil && res.answer.Text == "") {
		return end, nil
	}
	reading := resolve.ReadRewrite(doc, sel, res.answer.Text, finishWord(finish, res.err))
	end.Outcome = string(reading.Outcome)
	if len(reading.Edits) > 0 {
		end.Proposal = r.proposal(t, reading)
	}
	return end, nil
}

// proposal is the reading under review.
func (r *Runtime) proposal(t core.Task, reading resolve.Reading) *core.Proposal {
	return &core.Proposal{
		ID: core.ProposalID(t.NewID()), Origin: core.OriginRewrite, RunID: t.Run.ID, Supersedes: t.Supersedes,
		DocURI: t.Snapshot.DocURI, BaseDigest: t.Snapshot.Digest,
		Patch: core.Patch{
			BaseVersion: t.Snapshot.BaseVersion, Edits: reading.Edits, Summary: summary(t.Rewrite),
		},
		Hunks: reading.Hunks, CutOff: reading.Outcome == resolve.CutOff,
		State: core.ProposalProposed, CreatedAtMs: r.now().UnixMilli(),
	}
}

// finishWord is the end of an answer as package resolve names it.
func finishWord(f core.Finish, err error) resolve.Finish {
	if err != nil {
		return resolve.FinishDropped
	}
	switch f {
	case core.FinishMaxTokens:
		return resolve.FinishLength
	case core.FinishRefusal:
		return resolve.FinishRefusal
	case core.FinishContentFilter:
		return resolve.FinishFilter
	case core.FinishEndTurn, core.FinishToolCalls:
	}
	return resolve.FinishStop
}

// maxSummary is the longest summary in characters.
const maxSummary = 80

// summary says in a line what was asked for.
func summary(in *core.RewriteInput) string {
	s, _, _ := strings.Cut(strings.TrimSpace(in.Instruction), "\n")
	if s == "" {
		s = in.Preset
	}
	if short := head(s, maxSummary); short != s {
		return short + "…"
	}
	return s
}
