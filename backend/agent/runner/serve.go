package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/loop"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/text"
)

// method makes a handler of a function with typed parameters.
func method[P, R any](name string, f func(context.Context, P) (R, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		p, err := rpc.Decode[P](name, raw)
		if err != nil {
			return nil, err
		}
		return f(ctx, p)
	}
}

type empty struct{}

// serve answers a request of the host.
func (r *Runner) serve(ctx context.Context, name string, params json.RawMessage) (any, error) {
	switch name {
	case wire.MethodPing:
		return empty{}, nil
	case wire.MethodInitialize:
		return method(name, r.initialize)(ctx, params)
	case wire.MethodShutdown:
		return method(name, func(ctx context.Context, p wire.ShutdownParams) (empty, error) {
			rpc.AfterReply(ctx, func() { r.end(nil, time.Duration(p.DeadlineMs)*time.Millisecond) })
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
	return h(ctx, params)
}

// handler returns what answers a method once the database is open; nil for a
// method that there is not.
func (r *Runner) handler(name string) func(context.Context, json.RawMessage) (any, error) {
	switch name {
	case wire.MethodRunSubmit:
		return method(name, r.submit)
	case wire.MethodRunGet:
		return method(name, func(ctx context.Context, p wire.RunGetParams) (core.Run, error) {
			return r.store.Run(ctx, p.RunID)
		})
	case wire.MethodRunCancel:
		return method(name, r.cancel)
	case wire.MethodEventsSubscribe:
		return method(name, func(ctx context.Context, p wire.SubscribeParams) (wire.SubscribeResult, error) {
			return r.hub.subscribe(ctx, r.conn, p)
		})
	case wire.MethodProposalGet:
		return method(name, func(ctx context.Context, p wire.ProposalGetParams) (core.Proposal, error) {
			return r.store.Proposal(ctx, p.ProposalID)
		})
	case wire.MethodProposalDecide:
		return method(name, r.decide)
	case wire.MethodSessionList:
		return method(name, r.sessions)
	case wire.MethodSessionGet:
		return method(name, r.session)
	case wire.MethodProviderTest:
		return method(name, r.testProvider)
	case wire.MethodProviderModels:
		return method(name, r.listModels)
	case wire.MethodModelChat:
		return method(name, r.chat)
	}
	return nil
}

// submit accepts a run after looking at everything that is said about it.
func (r *Runner) submit(ctx context.Context, p wire.SubmitParams) (wire.SubmitResult, error) {
	if why := wrongSubmit(p); why != "" {
		return wire.SubmitResult{}, &fault.Error{Code: fault.InvalidInput, Op: wire.MethodRunSubmit, Detail: why}
	}
	digest, err := submitDigest(p)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	sub := core.Submission{
		CommandID: p.CommandID, InputDigest: digest, SessionID: p.SessionID,
		Session: core.Session{Title: title(p), Runtime: loop.Name, Model: p.ModelRef},
		Kind:    p.Kind, Runtime: loop.Name, Model: p.ModelRef, Budget: p.Budget.WithDefaults(),
		Message: core.Message{
			Role:  core.RoleUser,
			Parts: []core.Part{{Type: core.PartText, Text: asked(p)}},
		},
	}
	if p.Snapshot != nil {
		sub.DocURI, sub.Session.DocURI = p.Snapshot.DocURI, p.Snapshot.DocURI
	}
	run, err := r.sched.submit(ctx, sub, p)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	return wire.SubmitResult{RunID: run.ID, SessionID: run.SessionID, State: run.State}, nil
}

// wrongSubmit names what is wrong with a submission; "" when nothing is.
func wrongSubmit(p wire.SubmitParams) string {
	switch {
	case p.CommandID == "":
		return "commandId"
	case p.ModelRef.Model == "":
		return "modelRef"
	case len(p.AllowedTools) > 0:
		return "allowedTools"
	case !knownKind(p.Provider.Kind):
		return "providerConfig.kind"
	case p.Snapshot != nil && !sound(*p.Snapshot):
		return "snapshot"
	}
	switch p.Kind {
	case core.KindConversation:
		if strings.TrimSpace(p.Input) == "" {
			return "input"
		}
	case core.KindRewrite:
		switch {
		case p.Snapshot == nil:
			return "snapshot"
		case p.Rewrite == nil, strings.TrimSpace(asked(p)) == "":
			return "rewrite"
		}
	default:
		return "kind"
	}
	return ""
}

// sound reports whether a snapshot is whole: its digest is its text's and its
// selection lies in it.
func sound(s core.Snapshot) bool {
	sum := sha256.Sum256([]byte(s.Text))
	if s.Digest != hex.EncodeToString(sum[:]) || s.BaseVersion < 1 {
		return false
	}
	_, err := text.NewIndex(s.Text).Slice(s.Selection.From, s.Selection.To)
	return err == nil
}

// submitDigest is the digest of what is asked for: without the id of the
// command, and without the proxy, which may change from one try to the next.
func submitDigest(p wire.SubmitParams) ([32]byte, error) {
	p.CommandID = ""
	p.Provider.ProxyURL = ""
	b, err := json.Marshal(p)
	if err != nil {
		return [32]byte{}, fault.New(fault.Internal, wire.MethodRunSubmit, err)
	}
	return sha256.Sum256(b), nil
}

// asked is what the person asked for, as the session keeps it.
func asked(p wire.SubmitParams) string {
	if p.Kind != core.KindRewrite || p.Rewrite == nil {
		return p.Input
	}
	if s := strings.TrimSpace(p.Rewrite.Instruction); s != "" {
		return s
	}
	return p.Rewrite.Preset
}

// maxTitle is the longest title of a session in bytes.
const maxTitle = 120

// title is the first line of what was asked for.
func title(p wire.SubmitParams) string {
	s, _, _ := strings.Cut(strings.TrimSpace(asked(p)), "\n")
	if len(s) <= maxTitle {
		return s
	}
	s = s[:maxTitle]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

func (r *Runner) cancel(ctx context.Context, p wire.CancelParams) (wire.CancelResult, error) {
	receipt, err := r.sched.cancel(ctx, p.CommandID, p.RunID)
	if err != nil {
		return wire.CancelResult{}, err
	}
	return wire.CancelResult{RunID: receipt.RunID, Receipt: receipt.Receipt, State: receipt.State}, nil
}

func (r *Runner) decide(ctx context.Context, p wire.ProposalDecideParams) (wire.ProposalDecideResult, error) {
	state, err := r.store.Decide(ctx, p.CommandID, p.ProposalID, p.Hunks, p.AppliedVersion)
	return wire.ProposalDecideResult{State: state}, err
}

func (r *Runner) sessions(ctx context.Context, _ empty) ([]core.Session, error) {
	state, _, err := r.store.Snapshot(ctx)
	return state.Sessions, err
}

func (r *Runner) session(ctx context.Context, p wire.SessionGetParams) (wire.SessionGetResult, error) {
	state, _, err := r.store.Snapshot(ctx)
	if err != nil {
		return wire.SessionGetResult{}, err
	}
	for _, s := range state.Sessions {
		if s.ID == p.SessionID {
			h, err := r.store.History(ctx, s.ID)
			res := wire.SessionGetResult{Session: s, Messages: []core.MessageCommitted{}}
			for _, m := range h.Messages {
				res.Messages = append(res.Messages, core.MessageCommitted{MessageID: m.ID, Ord: m.Ord, Message: m.Message, Status: m.Status})
			}
			return res, err
		}
	}
	return wire.SessionGetResult{}, &fault.Error{Code: fault.NotFound, Op: wire.MethodSessionGet, Detail: "session"}
}
