package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// client is one connection to the agent. What it can do is listed in serve; what
// is not listed there does not exist for it: no key, no tool, no provider.
type client struct {
	server *server
	conn   *rpc.Conn
	sub    *host.Subscription
	// known is closed when conn is set, told when nothing more will be sent.
	known, told chan struct{}
	greeted     atomic.Bool
	// follows says that the client is sent what happens.
	follows atomic.Bool
	// following and telling start what sends.
	following, telling sync.Once
	wg                 sync.WaitGroup // of what sends
}

// empty answers what has no result.
type empty struct{}

func (k *client) request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method == wire.MethodHello {
		return answer(method, params, func(p wire.HelloParams) (wire.HelloResult, error) { return k.hello(ctx, p) })
	}
	if !k.greeted.Load() {
		return nil, &fault.Error{Code: fault.InvalidInput, Op: method, Detail: wire.MethodHello}
	}
	return k.serve(ctx, method, params)
}

// hello greets. From then on the client is told of the Runner.
func (k *client) hello(ctx context.Context, p wire.HelloParams) (wire.HelloResult, error) {
	if p.Protocol != wire.Protocol {
		return wire.HelloResult{}, &fault.Error{
			Code: fault.ProtocolError, Op: wire.MethodHello, Detail: fmt.Sprintf("protocol %d, not %d", p.Protocol, wire.Protocol),
		}
	}
	if !p.Kind.Valid() || len(p.Version) > 200 {
		return wire.HelloResult{}, fault.New(fault.InvalidInput, wire.MethodHello, nil)
	}
	k.greeted.Store(true)
	k.server.log.Info("client of the agent", "kind", p.Kind)
	rpc.AfterReply(ctx, func() {
		k.telling.Do(func() { k.send(k.tell) })
	})
	cfg := k.server.cfg
	return wire.HelloResult{
		Protocol: wire.Protocol, Kind: cfg.Kind, Version: cfg.Version, PID: pid(), Runner: k.server.host.Runner().Wire(),
	}, nil
}

// send runs f as long as the connection lasts.
func (k *client) send(f func(ctx context.Context)) {
	<-k.known
	ctx, cancel := context.WithCancel(k.server.ctx)
	k.wg.Go(func() {
		defer cancel()
		f(ctx)
	})
	k.wg.Go(func() {
		select {
		case <-k.conn.Done():
		case <-ctx.Done():
		}
		cancel()
	})
}

// serve answers a request of a client that has greeted.
func (k *client) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	h := k.server.host
	switch method {
	case wire.MethodPing:
		return empty{}, nil
	case wire.MethodEventsSubscribe:
		return answer(method, params, func(p wire.SubscribeParams) (wire.SubscribeResult, error) { return k.subscribe(ctx, p) })

	case wire.MethodRunSubmit:
		return answer(method, params, func(p wire.TaskParams) (wire.SubmitResult, error) { return h.SubmitTask(ctx, p) })
	case wire.MethodRunContinue:
		return answer(method, params, func(p wire.TaskParams) (wire.SubmitResult, error) { return h.ContinueTask(ctx, p) })
	case wire.MethodRunCancel:
		return answer(method, params, func(p wire.CancelParams) (wire.CancelResult, error) { return h.Cancel(ctx, p.CommandID, p.RunID) })
	case wire.MethodRunGet:
		return answer(method, params, func(p wire.RunGetParams) (core.Run, error) { return h.Run(ctx, p.RunID) })
	case wire.MethodRunList:
		return answer(method, params, func(p wire.RunListParams) ([]core.Run, error) { return h.Runs(ctx, p.Limit) })
	case wire.MethodRunDetail:
		return answer(method, params, func(p wire.RunGetParams) (core.RunDetail, error) { return h.RunDetail(ctx, p.RunID) })

	case wire.MethodApprovalDecide:
		return answer(method, params, func(p wire.ApprovalDecideParams) (core.Approval, error) { return h.DecideApproval(ctx, p) })
	case wire.MethodProposalGet:
		return answer(method, params, func(p wire.ProposalGetParams) (core.Proposal, error) { return h.Proposal(ctx, p.ProposalID) })
	case wire.MethodProposalDecide:
		return answer(method, params, func(p wire.ProposalDecideParams) (wire.ProposalDecideResult, error) {
			state, err := h.Decide(ctx, p)
			return wire.ProposalDecideResult{State: state}, err
		})
	case wire.MethodToolGet:
		return answer(method, params, func(p wire.ToolGetParams) (core.ToolCall, error) { return h.ToolCall(ctx, p.ToolCallID) })
	case wire.MethodToolReconcile:
		return answer(method, params, func(p wire.ToolReconcileParams) (empty, error) { return empty{}, h.Reconcile(ctx, p) })
	case wire.MethodContextExplain:
		return answer(method, params, func(p wire.ContextExplainParams) ([]core.ContextReport, error) {
			return h.ExplainContext(ctx, p.RunID)
		})
	case wire.MethodArtifactGet:
		return answer(method, params, func(p wire.ArtifactGetParams) (wire.ArtifactGetResult, error) { return h.Artifact(ctx, p) })
	}
	return k.serveSessions(ctx, method, params)
}

// serveSessions is the part of serve about sessions and their record.
func (k *client) serveSessions(ctx context.Context, method string, params json.RawMessage) (any, error) {
	h := k.server.host
	switch method {
	case wire.MethodSessionCreate:
		return answer(method, params, func(p wire.SessionCreateParams) (core.Session, error) { return h.CreateSession(ctx, p) })
	case wire.MethodSessionList:
		return answer(method, params, func(p wire.SessionListParams) ([]core.Session, error) {
			if p.Archived {
				return h.ArchivedSessions(ctx)
			}
			return h.Sessions(ctx)
		})
	case wire.MethodSessionGet:
		return answer(method, params, func(p wire.SessionGetParams) (wire.SessionGetResult, error) { return h.Session(ctx, p.SessionID) })
	case wire.MethodSessionChange:
		return answer(method, params, func(p wire.SessionChangeParams) (core.Session, error) { return h.ChangeSession(ctx, p) })
	case wire.MethodSessionDelete:
		return answer(method, params, func(p wire.SessionDeleteParams) (empty, error) { return empty{}, h.DeleteSession(ctx, p) })
	case wire.MethodSessionEvents:
		return answer(method, params, func(p wire.SessionEventsParams) (wire.SessionEventsResult, error) { return h.SessionEvents(ctx, p) })
	case wire.MethodSendLogList:
		// What left, when and to whom; never what it said, and nothing clears it.
		return answer(method, params, func(p wire.SendListParams) (wire.SendListResult, error) { return h.Sends(ctx, p) })
	case wire.MethodStoreBackup:
		return answer(method, params, func(p wire.BackupParams) (empty, error) { return empty{}, h.Backup(ctx, p.Path) })
	}
	return nil, rpc.ErrNoMethod
}

// subscribe gives the state, and has what follows sent once the answer is.
func (k *client) subscribe(ctx context.Context, p wire.SubscribeParams) (wire.SubscribeResult, error) {
	if len(p.Sessions) > 0 {
		return wire.SubscribeResult{}, &fault.Error{Code: fault.InvalidInput, Op: wire.MethodEventsSubscribe, Detail: "sessions"}
	}
	res, follow, err := k.sub.State(ctx, p.AfterSeq)
	if err != nil {
		return wire.SubscribeResult{}, err
	}
	rpc.AfterReply(ctx, func() {
		follow()
		k.follows.Store(true)
		k.following.Do(func() { k.send(k.follow) })
	})
	return res, nil
}

// follow sends what happens.
func (k *client) follow(ctx context.Context) {
	for {
		it, ok := k.sub.Next(ctx)
		if !ok {
			if ctx.Err() == nil {
				close(k.told)
			}
			return
		}
		var err error
		switch {
		case it.Event != nil:
			err = k.conn.Notify(wire.NotifyEvent, it.Event)
		case it.Preview != nil:
			err = k.conn.Notify(wire.NotifyPreview, it.Preview)
		case it.Resync != nil:
			k.server.log.Info("client lags", "seq", it.Resync.Seq)
			err = k.conn.Notify(wire.NotifyResync, wire.Resync{Seq: it.Resync.Seq})
		}
		if fault.CodeOf(err) == fault.TooLarge {
			k.sub.Lose()
			continue
		}
		if err != nil {
			return
		}
	}
}

// tell sends where the Runner stands.
func (k *client) tell(ctx context.Context) {
	for {
		select {
		case <-k.sub.RunnerChanged():
		case <-ctx.Done():
			return
		}
		if err := k.conn.Notify(wire.NotifyRunner, k.server.host.Runner().Wire()); err != nil {
			return
		}
	}
}

// answer calls f with decoded params. A field that is not known is refused: what
// a client believes it said must not be left out.
func answer[P, R any](method string, params json.RawMessage, f func(P) (R, error)) (any, error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	var p P
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		// The error may quote what was sent: only its kind is kept.
		return nil, fault.New(fault.InvalidInput, method, fmt.Errorf("params: %T", err))
	}
	return f(p)
}
