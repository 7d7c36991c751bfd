package runner

import (
	"context"
	"encoding/json"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// handler answers one method.
type handler func(context.Context, json.RawMessage) (any, error)

// method makes a handler of a function with typed parameters. Wrong names what
// is wrong with them, "" when nothing is; nil when nothing can be.
func method[P, R any](name string, wrong func(P) string, f func(context.Context, P) (R, error)) handler {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		p, err := rpc.Decode[P](name, raw)
		if err != nil {
			return nil, err
		}
		if wrong != nil {
			if what := wrong(p); what != "" {
				return nil, &fault.Error{Code: fault.InvalidInput, Op: name, Detail: what}
			}
		}
		return f(ctx, p)
	}
}

// empty is the answer that says no more than that something was done.
type empty struct{}

// serve answers a request of the host.
func (r *Runner) serve(ctx context.Context, name string, params json.RawMessage) (any, error) {
	switch name {
	case wire.MethodPing:
		return r.ping(params)
	case wire.MethodInitialize:
		return method(name, nil, r.initialize)(ctx, params)
	case wire.MethodShutdown:
		return method(name, nil, func(ctx context.Context, p wire.ShutdownParams) (empty, error) {
			d := time.Duration(min(max(p.DeadlineMs, 0), maxDeadlineMs)) * time.Millisecond
			rpc.AfterReply(ctx, func() { r.end(nil, d) })
			return empty{}, nil
		})(ctx, params)
	}
	h := r.handler(name)
	if h == nil {
		return nil, rpc.ErrNoMethod
	}
	if err := r.ready(name); err != nil {
		return nil, err
	}
	rpc.AfterReply(ctx, r.answers.begin())
	return h(ctx, params)
}

// ping is a sign of life, and takes the host's word that the machine slept.
func (r *Runner) ping(params json.RawMessage) (empty, error) {
	var p wire.PingParams
	if len(params) > 0 && json.Unmarshal(params, &p) != nil {
		return empty{}, &fault.Error{Code: fault.InvalidInput, Op: wire.MethodPing}
	}
	if p.SleptMs > 0 {
		r.woke(time.Duration(min(p.SleptMs, maxBudgetMs*365)) * time.Millisecond)
	}
	return empty{}, nil
}

// handler returns what answers a method once the database is open; nil for a
// method that there is not.
func (r *Runner) handler(name string) handler {
	switch name {
	case wire.MethodSessionCreate:
		return method(name, wrongSessionCreate, r.createSession)
	case wire.MethodSessionList:
		return method(name, nil, r.sessions)
	case wire.MethodSessionGet:
		return method(name, wrongSession, r.session)
	case wire.MethodSessionChange:
		return method(name, wrongSessionChange, r.changeSession)
	case wire.MethodSessionDelete:
		return method(name, wrongSessionDelete, r.deleteSession)
	case wire.MethodSessionEvents:
		return method(name, wrongSessionEvents, r.sessionEvents)

	case wire.MethodRunSubmit:
		return method(name, wrongSubmit, r.submit)
	case wire.MethodRunContinue:
		return method(name, wrongContinue, r.continueRun)
	case wire.MethodRunCancel:
		return method(name, wrongCancel, r.cancel)
	case wire.MethodRunGet:
		return method(name, wrongRun, r.run)
	case wire.MethodRunDetail:
		return method(name, wrongRun, r.runDetail)
	case wire.MethodRunList:
		return method(name, wrongRunList, r.runs)

	case wire.MethodApprovalDecide:
		return method(name, wrongApproval, r.decideApproval)
	case wire.MethodToolGet:
		return method(name, wrongToolGet, r.toolCall)
	case wire.MethodToolReconcile:
		return method(name, wrongReconcile, r.reconcile)
	case wire.MethodContextExplain:
		return method(name, wrongExplain, r.explain)
	case wire.MethodArtifactGet:
		return method(name, wrongArtifact, r.artifact)
	case wire.MethodProposalGet:
		return method(name, wrongProposalGet, r.proposal)
	case wire.MethodProposalDecide:
		return method(name, wrongDecide, r.decide)

	case wire.MethodEventsSubscribe:
		return method(name, wrongSubscribe, r.subscribe)
	case wire.MethodStoreBackup:
		return method(name, wrongBackup, r.backup)

	case wire.MethodProviderTest:
		return method(name, wrongTest, r.testProvider)
	case wire.MethodProviderModels:
		return method(name, wrongTest, r.listModels)
	case wire.MethodModelChat:
		return method(name, wrongChat, r.chat)
	case wire.MethodModelDescribe:
		return method(name, wrongDescribe, r.describeModel)
	case wire.MethodModelForget:
		return method(name, wrongDescribe, r.forgetModel)

	case wire.MethodSendLogList:
		return method(name, wrongSends, r.sends)
	case wire.MethodSendLogGet:
		return method(name, wrongSend, r.send)
	case wire.MethodSendLogClear:
		return method(name, wrongSendClear, r.clearSends)
	}
	return nil
}

func (r *Runner) run(ctx context.Context, p wire.RunGetParams) (core.Run, error) {
	return r.store.Run(ctx, p.RunID)
}

func (r *Runner) runDetail(ctx context.Context, p wire.RunGetParams) (core.RunDetail, error) {
	d, err := r.store.RunDetail(ctx, p.RunID)
	if err == nil {
		fitDetail(&d)
	}
	return d, err
}

func (r *Runner) runs(ctx context.Context, p wire.RunListParams) ([]core.Run, error) {
	return r.store.Runs(ctx, p.Limit)
}

func (r *Runner) cancel(ctx context.Context, p wire.CancelParams) (wire.CancelResult, error) {
	receipt, err := r.sched.cancel(ctx, p.CommandID, p.RunID)
	return wire.CancelResult{RunID: receipt.RunID, Receipt: receipt.Receipt, State: receipt.State}, err
}

// decideApproval wakes the run when the decision is committed.
func (r *Runner) decideApproval(ctx context.Context, p wire.ApprovalDecideParams) (core.Approval, error) {
	a, err := r.store.DecideApproval(ctx, p.CommandID, p.ApprovalID, p.ToolCallID, p.InputDigest, p.Decision)
	if err == nil {
		r.sched.questions.settle(a)
	}
	return a, err
}

func (r *Runner) toolCall(ctx context.Context, p wire.ToolGetParams) (core.ToolCall, error) {
	return r.store.ToolCall(ctx, p.ToolCallID)
}

func (r *Runner) reconcile(ctx context.Context, p wire.ToolReconcileParams) (empty, error) {
	return empty{}, r.store.ReconcileByPerson(ctx, p.CommandID, p.ToolCallID, p.Verdict)
}

func (r *Runner) explain(ctx context.Context, p wire.ContextExplainParams) ([]core.ContextReport, error) {
	list, err := r.store.Contexts(ctx, p.RunID)
	if list == nil {
		list = []core.ContextReport{}
	}
	return fitReports(list), err
}

func (r *Runner) artifact(ctx context.Context, p wire.ArtifactGetParams) (wire.ArtifactGetResult, error) {
	a, b, err := r.store.Artifact(ctx, p.ArtifactID, p.Offset, max(p.Limit, minPiece))
	if err != nil {
		return wire.ArtifactGetResult{}, err
	}
	return pieceOf(a, b, p.Offset), nil
}

func (r *Runner) proposal(ctx context.Context, p wire.ProposalGetParams) (core.Proposal, error) {
	return r.store.Proposal(ctx, p.ProposalID)
}

func (r *Runner) decide(ctx context.Context, p wire.ProposalDecideParams) (wire.ProposalDecideResult, error) {
	state, err := r.store.Decide(ctx, p.CommandID, p.ProposalID, p.Hunks, p.AppliedVersion)
	return wire.ProposalDecideResult{State: state}, err
}

func (r *Runner) subscribe(ctx context.Context, p wire.SubscribeParams) (wire.SubscribeResult, error) {
	return r.hub.subscribe(ctx, r.conn, p)
}

func (r *Runner) backup(ctx context.Context, p wire.BackupParams) (empty, error) {
	return empty{}, r.store.Backup(ctx, p.Path)
}
