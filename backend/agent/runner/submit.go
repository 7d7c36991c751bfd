package runner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/loop"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// submit accepts a run.
func (r *Runner) submit(ctx context.Context, p wire.SubmitParams) (wire.SubmitResult, error) {
	digest, err := submitDigest(p)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	sub := core.Submission{
		CommandID: p.CommandID, InputDigest: digest, SessionID: p.SessionID,
		Session: core.Session{Title: title(p), WorkspaceID: p.WorkspaceID, Runtime: loop.Name, Model: p.ModelRef},
		Kind:    p.Kind, Runtime: loop.Name, Model: p.ModelRef, Budget: p.Budget.WithDefaults(),
		Tools: p.AllowedTools, Message: personSays(asked(p)),
	}
	if p.Snapshot != nil {
		sub.DocURI, sub.Session.DocURI = p.Snapshot.DocURI, p.Snapshot.DocURI
	}
	return r.accept(ctx, sub, job{
		provider: p.Provider, tools: p.AllowedTools, policy: p.Policy, snapshot: p.Snapshot,
		rewrite: rewriteInput(p.Rewrite), supersedes: p.Supersedes,
		contextTokens: p.ContextTokens, language: p.Language,
	})
}

// continueRun accepts a run that goes on where another ended. What is told of
// that one to the model is what the journal knows (R6).
func (r *Runner) continueRun(ctx context.Context, p wire.ContinueParams) (wire.SubmitResult, error) {
	const op = wire.MethodRunContinue
	from, err := r.store.Run(ctx, p.FromRunID)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	if !from.State.Final() || from.State == core.RunSucceeded || from.Kind != core.KindConversation {
		return wire.SubmitResult{}, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "fromRunId"}
	}
	digest, err := continueDigest(p)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	sub := core.Submission{
		CommandID: p.CommandID, InputDigest: digest, SessionID: from.SessionID, ParentRunID: from.ID,
		Kind: core.KindConversation, Runtime: loop.Name, Model: p.ModelRef, Budget: p.Budget.WithDefaults(),
		DocURI: from.DocURI, Tools: p.AllowedTools, Message: personSays(goOn(p.Language)),
	}
	if p.Snapshot != nil {
		sub.DocURI = p.Snapshot.DocURI
	}
	return r.accept(ctx, sub, job{
		provider: p.Provider, tools: p.AllowedTools, policy: p.Policy, snapshot: p.Snapshot,
		contextTokens: p.ContextTokens, language: p.Language,
	})
}

// accept answers after the commit and not before (R4).
func (r *Runner) accept(ctx context.Context, sub core.Submission, j job) (wire.SubmitResult, error) {
	run, err := r.sched.submit(ctx, sub, j)
	if err != nil {
		return wire.SubmitResult{}, err
	}
	return wire.SubmitResult{RunID: run.ID, SessionID: run.SessionID, State: run.State}, nil
}

func personSays(words string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: words}}}
}

// goOn is what a person says by continuing.
func goOn(language string) string {
	if lang, _, _ := strings.Cut(strings.ToLower(language), "-"); lang == "zh" {
		return "继续。"
	}
	return "Continue."
}

// submitDigest is the digest of what is asked for: without the id of the
// command, and without the way to the provider, which may change from one try
// to the next.
func submitDigest(p wire.SubmitParams) ([32]byte, error) {
	p.CommandID = ""
	p.Provider = withoutWay(p.Provider)
	return digest(wire.MethodRunSubmit, p)
}

// continueDigest is submitDigest of a continuation.
func continueDigest(p wire.ContinueParams) ([32]byte, error) {
	p.CommandID = ""
	p.Provider = withoutWay(p.Provider)
	return digest(wire.MethodRunContinue, p)
}

// withoutWay leaves out of a provider how it is reached, and whether that is
// recorded.
func withoutWay(p wire.ProviderConfig) wire.ProviderConfig {
	p.ProxyURL, p.ProxyUser, p.ProxyCredentialRef, p.ExtraCA, p.Record = "", "", "", "", false
	return p
}

func digest(op string, v any) ([32]byte, error) {
	b, err := json.Marshal([]any{op, v})
	if err != nil {
		return [32]byte{}, fault.New(fault.Internal, op, err)
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

// maxTitle is the longest title in bytes that a session is given by itself.
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

func rewriteInput(in *wire.RewriteInput) *core.RewriteInput {
	if in == nil {
		return nil
	}
	out := core.RewriteInput(*in)
	return &out
}
