package host

import (
	"context"
	"encoding/json"
	"path/filepath"

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
	// ContextTokens is what the model takes; 0 when that is not known.
	ContextTokens int
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
		ContextTokens: r.ContextTokens,
	})
}

// Submit accepts a run. It is busy, with the detail "elsewhere", where another
// process holds the agent.
func (h *Host) Submit(ctx context.Context, p wire.SubmitParams) (wire.SubmitResult, error) {
	return reply[wire.SubmitResult](ctx, h.begin, wire.MethodRunSubmit, p)
}

// Continue accepts a run that goes on where another ended. It is busy as Submit
// is.
func (h *Host) Continue(ctx context.Context, p wire.ContinueParams) (wire.SubmitResult, error) {
	return reply[wire.SubmitResult](ctx, h.begin, wire.MethodRunContinue, p)
}

// Cancel tells a run to stop. The receipt is stored; the end comes as an event
// (R7).
func (h *Host) Cancel(ctx context.Context, cmd core.CommandID, id core.RunID) (wire.CancelResult, error) {
	return reply[wire.CancelResult](ctx, h.call, wire.MethodRunCancel, wire.CancelParams{CommandID: cmd, RunID: id})
}

// Decide records what a person decided on the hunks of a proposal.
func (h *Host) Decide(ctx context.Context, p wire.ProposalDecideParams) (core.ProposalState, error) {
	var res wire.ProposalDecideResult
	err := h.call(ctx, wire.MethodProposalDecide, p, &res)
	return res.State, err
}

// DecideApproval records a person's answer to an approval. One that comes late,
// or was given for another input, is stale_approval (T5).
func (h *Host) DecideApproval(ctx context.Context, p wire.ApprovalDecideParams) (core.Approval, error) {
	return reply[core.Approval](ctx, h.call, wire.MethodApprovalDecide, p)
}

// Reconcile records what a person found out about a call whose outcome is not
// known.
func (h *Host) Reconcile(ctx context.Context, p wire.ToolReconcileParams) error {
	return h.call(ctx, wire.MethodToolReconcile, p, nil)
}

// Run returns a run as it is committed.
func (h *Host) Run(ctx context.Context, id core.RunID) (core.Run, error) {
	return reply[core.Run](ctx, h.call, wire.MethodRunGet, wire.RunGetParams{RunID: id})
}

// Runs returns the newest runs, newest first, at most limit (1 to 1,000).
func (h *Host) Runs(ctx context.Context, limit int) ([]core.Run, error) {
	return reply[[]core.Run](ctx, h.call, wire.MethodRunList, wire.RunListParams{Limit: limit})
}

// RunDetail returns a run with all that is known of it.
func (h *Host) RunDetail(ctx context.Context, id core.RunID) (core.RunDetail, error) {
	return reply[core.RunDetail](ctx, h.call, wire.MethodRunDetail, wire.RunGetParams{RunID: id})
}

// ToolCall returns a call with its whole input and result.
func (h *Host) ToolCall(ctx context.Context, id core.ToolCallID) (core.ToolCall, error) {
	return reply[core.ToolCall](ctx, h.call, wire.MethodToolGet, wire.ToolGetParams{ToolCallID: id})
}

// ExplainContext lists what each request of a run held, in order (R9).
func (h *Host) ExplainContext(ctx context.Context, id core.RunID) ([]core.ContextReport, error) {
	return reply[[]core.ContextReport](ctx, h.call, wire.MethodContextExplain, wire.ContextExplainParams{RunID: id})
}

// Artifact returns a piece of an artifact.
func (h *Host) Artifact(ctx context.Context, p wire.ArtifactGetParams) (wire.ArtifactGetResult, error) {
	return reply[wire.ArtifactGetResult](ctx, h.call, wire.MethodArtifactGet, p)
}

// CreateSession makes a session.
func (h *Host) CreateSession(ctx context.Context, p wire.SessionCreateParams) (core.Session, error) {
	return reply[core.Session](ctx, h.call, wire.MethodSessionCreate, p)
}

// Sessions returns the sessions of the state: those that are not archived, and
// those of the runs and proposals in it.
func (h *Host) Sessions(ctx context.Context) ([]core.Session, error) {
	return h.listSessions(ctx, wire.SessionListParams{})
}

// ArchivedSessions returns the conversations that are archived, the last 200
// that were, the last first.
func (h *Host) ArchivedSessions(ctx context.Context) ([]core.Session, error) {
	return h.listSessions(ctx, wire.SessionListParams{Archived: true})
}

func (h *Host) listSessions(ctx context.Context, p wire.SessionListParams) ([]core.Session, error) {
	return reply[[]core.Session](ctx, h.call, wire.MethodSessionList, p)
}

// Session returns a session and its messages.
func (h *Host) Session(ctx context.Context, id core.SessionID) (wire.SessionGetResult, error) {
	return reply[wire.SessionGetResult](ctx, h.call, wire.MethodSessionGet, wire.SessionGetParams{SessionID: id})
}

// ChangeSession renames a session or puts it away.
func (h *Host) ChangeSession(ctx context.Context, p wire.SessionChangeParams) (core.Session, error) {
	return reply[core.Session](ctx, h.call, wire.MethodSessionChange, p)
}

// DeleteSession removes a session with everything that belongs to it.
func (h *Host) DeleteSession(ctx context.Context, p wire.SessionDeleteParams) error {
	return h.call(ctx, wire.MethodSessionDelete, p, nil)
}

// SessionEvents returns a page of a session's events, oldest first.
func (h *Host) SessionEvents(ctx context.Context, p wire.SessionEventsParams) (wire.SessionEventsResult, error) {
	return reply[wire.SessionEventsResult](ctx, h.call, wire.MethodSessionEvents, p)
}

// Backup writes a consistent copy of the database to an absolute path. A path
// in the home is invalid_input: a copy there could take the place of what it is
// a copy of.
func (h *Host) Backup(ctx context.Context, path string) error {
	if !named(path) || path == "" || within(h.cfg.Home, path) {
		return &fault.Error{Code: fault.InvalidInput, Op: wire.MethodStoreBackup, Detail: "path"}
	}
	return h.call(ctx, wire.MethodStoreBackup, wire.BackupParams{Path: path}, nil)
}

// within reports whether path lies in folder, by their real names as far as
// these are there.
func within(folder, path string) bool {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// Proposal returns a proposal.
func (h *Host) Proposal(ctx context.Context, id core.ProposalID) (core.Proposal, error) {
	return reply[core.Proposal](ctx, h.call, wire.MethodProposalGet, wire.ProposalGetParams{ProposalID: id})
}

// Chat has a model say one answer, without session, tools or record.
func (h *Host) Chat(ctx context.Context, p wire.ChatParams) (wire.ChatResult, error) {
	return reply[wire.ChatResult](ctx, h.begin, wire.MethodModelChat, p)
}

// TestProvider makes a smallest request to a model, where one is named, and
// lists the provider's models.
func (h *Host) TestProvider(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	return reply[wire.ProviderModelsResult](ctx, h.begin, wire.MethodProviderTest, p)
}

// Models lists a provider's models.
func (h *Host) Models(ctx context.Context, p wire.ProviderTestParams) (wire.ProviderModelsResult, error) {
	return reply[wire.ProviderModelsResult](ctx, h.begin, wire.MethodProviderModels, p)
}

// DescribeModel says what is known of a model of a provider, after asking the
// provider where that was not done today.
func (h *Host) DescribeModel(ctx context.Context, p wire.ModelParams) (wire.ModelDescribeResult, error) {
	return reply[wire.ModelDescribeResult](ctx, h.begin, wire.MethodModelDescribe, p)
}

// ForgetModel forgets what was learned and asked of a model, and says what is
// known of it then.
func (h *Host) ForgetModel(ctx context.Context, p wire.ModelParams) (wire.ModelDescribeResult, error) {
	return reply[wire.ModelDescribeResult](ctx, h.begin, wire.MethodModelForget, p)
}

// Sends returns a page of the send log, newest first, without the bodies (K9);
// also where another process holds the agent.
func (h *Host) Sends(ctx context.Context, p wire.SendListParams) (wire.SendListResult, error) {
	return reply[wire.SendListResult](ctx, h.call, wire.MethodSendLogList, p)
}

// Send returns a piece of what left with one request. It is busy, with the
// detail "elsewhere", where another process holds the agent: what left is read
// where it left.
func (h *Host) Send(ctx context.Context, p wire.SendGetParams) (wire.SendGetResult, error) {
	return reply[wire.SendGetResult](ctx, h.begin, wire.MethodSendLogGet, p)
}

// ClearSends removes entries of the send log. It is busy as Send is.
func (h *Host) ClearSends(ctx context.Context, p wire.SendClearParams) (wire.SendListResult, error) {
	return reply[wire.SendListResult](ctx, h.begin, wire.MethodSendLogClear, p)
}

// reply makes a call and returns what came back.
func reply[T any](ctx context.Context, call func(context.Context, string, any, any) error, method string, params any) (T, error) {
	var res T
	err := call(ctx, method, params, &res)
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
	case wire.MethodToolPrepare:
		return answer(method, params, func(p wire.ToolPrepareParams) (core.Prepared, error) { return h.desk.prepare(ctx, p) })
	case wire.MethodToolExecute:
		return answer(method, params, func(p wire.ToolExecuteParams) (core.ToolResult, error) { return h.desk.execute(ctx, p) })
	case wire.MethodToolProbe:
		return answer(method, params, func(p wire.ToolProbeParams) (wire.ToolProbeResult, error) { return h.desk.probe(ctx, p) })
	case wire.MethodToolCancel:
		return answer(method, params, func(p wire.ToolCancelParams) (struct{}, error) {
			h.desk.cancel(p.ToolCallID)
			return struct{}{}, nil
		})
	}
	return nil, rpc.ErrNoMethod
}

// answer calls f with decoded params.
func answer[P, R any](method string, params json.RawMessage, f func(P) (R, error)) (any, error) {
	p, err := rpc.Decode[P](method, params)
	if err != nil {
		return nil, err
	}
	return f(p)
}
