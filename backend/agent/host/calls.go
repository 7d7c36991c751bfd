package host

import (
	"context"
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// Rewrite is what a rewrite needs.
type Rewrite struct {
	CommandID core.CommandID
	// Session may be empty: a session of its own is made.
	Session  core.SessionID
	Snapshot core.Snapshot
	Input    wire.RewriteInput
	Model    core.ModelRef
	Provider wire.ProviderConfig
	// Budget's zero fields are defaults.
	Budget core.Budget
	// Supersedes is the proposal that is made anew; may be empty.
	Supersedes core.ProposalID
}

// SubmitRewrite has a passage rewritten. It returns when the run is committed;
// the same command again returns the same run (R4). A document that is too
// long to be sent is too_large.
func (h *Host) SubmitRewrite(ctx context.Context, r Rewrite) (wire.SubmitResult, error) {
	return h.Submit(ctx, wire.SubmitParams{
		CommandID: r.CommandID, SessionID: r.Session, Kind: core.KindRewrite,
		Rewrite: &r.Input, ModelRef: r.Model, Provider: r.Provider,
		AllowedTools: []string{}, Budget: r.Budget, Snapshot: &r.Snapshot, Supersedes: r.Supersedes,
	})
}

// Submit accepts a run.
func (h *Host) Submit(ctx context.Context, p wire.SubmitParams) (wire.SubmitResult, error) {
	var res wire.SubmitResult
	err := h.call(ctx, wire.MethodRunSubmit, p, &res)
	return res, err
}

// Cancel tells a run to stop. The receipt is stored; the end comes as an event
// (R7).
func (h *Host) Cancel(ctx context.Context, cmd core.CommandID, id core.RunID) (wire.CancelResult, error) {
	var res wire.CancelResult
	err := h.call(ctx, wire.MethodRunCancel, wire.CancelParams{CommandID: cmd, RunID: id}, &res)
	return res, err
}

// Decide records what a person decided on the hunks of a proposal.
func (h *Host) Decide(ctx context.Context, p wire.ProposalDecideParams) (core.ProposalState, error) {
	var res wire.ProposalDecideResult
	err := h.call(ctx, wire.MethodProposalDecide, p, &res)
	return res.State, err
}

// Run returns a run as it is committed.
func (h *Host) Run(ctx context.Context, id core.RunID) (core.Run, error) {
	var res core.Run
	err := h.call(ctx, wire.MethodRunGet, wire.RunGetParams{RunID: id}, &res)
	return res, err
}

// Proposal returns a proposal.
func (h *Host) Proposal(ctx context.Context, id core.ProposalID) (core.Proposal, error) {
	var res core.Proposal
	err := h.call(ctx, wire.MethodProposalGet, wire.ProposalGetParams{ProposalID: id}, &res)
	return res, err
}

// TestProvider makes a smallest request to a model, where one is named, and
// lists the provider's models.
func (h *Host) TestProvider(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	var res wire.ProviderModelsResult
	err := h.call(ctx, wire.MethodProviderTest, p, &res)
	return res, err
}

// Models lists a provider's models.
func (h *Host) Models(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	var res wire.ProviderModelsResult
	err := h.call(ctx, wire.MethodProviderModels, p, &res)
	return res, err
}

// serve answers what the Runner asks.
func (h *Host) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case wire.MethodPing:
		return struct{}{}, nil
	case wire.MethodCredentialGet:
		p, err := rpc.Decode[wire.CredentialParams](method, params)
		if err != nil {
			return nil, err
		}
		secret, err := h.cfg.Credential(ctx, p.CredentialRef)
		if err != nil {
			return nil, err
		}
		return wire.CredentialResult{Secret: secret}, nil
	case wire.MethodToolExecute:
		// There are no tools yet.
		return nil, &fault.Error{Code: fault.NotFound, Op: method, Detail: "tool"}
	}
	return nil, rpc.ErrNoMethod
}
