package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/fault"
)

// record is a core.Recorder that keeps what it is told, the history that comes
// of it, and the text a reader of the previews has. It refuses what the state
// tables forbid.
type record struct {
	mu       sync.Mutex
	calls    []string
	previews []core.Preview
	at       []time.Time
	text     string
	fail     error
	failAt   core.CallPhase

	drafts    []string
	keptAt    []time.Time
	failDraft error

	// history is what History gives; steps, refusals, results and approvals
	// change it as the store would.
	history  core.History
	contexts []core.ContextReport
	intents  map[core.ToolCallID]core.Intent
	ends     map[core.ToolCallID]core.CallEnd
	granted  map[string]bool
	// decide answers an approval; nil waits until ctx ends.
	decide func(core.Approval) core.ApprovalState
	// failOn makes the method of this name fail.
	failOn map[string]error
}

func (r *record) note(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *record) BeginModelCall(_ context.Context, c core.ModelCall) (core.ModelCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.ID = fmt.Sprintf("c%d", len(r.calls))
	if r.fail != nil && r.failAt == core.PhasePrepared {
		return c, r.fail
	}
	if c.Context != nil {
		r.contexts = append(r.contexts, *c.Context)
	}
	r.note("%d.%d prepared", c.Step, c.Attempt)
	return c, nil
}

func (r *record) UpdateModelCall(_ context.Context, c core.ModelCall) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil && r.failAt == c.Phase {
		return r.fail
	}
	r.note("%d.%d %s%s", c.Step, c.Attempt, c.Phase, c.ErrorClass)
	return nil
}

func (r *record) WithdrawAttempt(_ context.Context, c core.ModelCall) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("%d.%d withdrawn %s", c.Step, c.Attempt, c.ErrorClass)
	r.text = ""
	return nil
}

func (r *record) KeepDraft(_ context.Context, _ core.RunID, m core.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drafts = append(r.drafts, m.Parts[0].Text)
	r.keptAt = append(r.keptAt, time.Now())
	return r.failDraft
}

func (r *record) Preview(p core.Preview) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.previews = append(r.previews, p)
	r.at = append(r.at, time.Now())
	r.text = feed.Apply(r.text, p)
}

func (r *record) History(context.Context, core.SessionID) (core.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history
	h.Messages = append([]core.StoredMessage{}, h.Messages...)
	h.Calls = append([]core.ToolCall{}, h.Calls...)
	h.Proposals = append([]core.Proposal{}, h.Proposals...)
	return h, r.failOn["History"]
}

func (r *record) say(run core.RunID, m core.Message) {
	r.history.Messages = append(r.history.Messages, core.StoredMessage{
		RunID: run, Ord: len(r.history.Messages) + 1, Message: m, Status: complete,
	})
}

func (r *record) CommitStep(_ context.Context, id core.RunID, _ int, m core.Message, calls []core.ToolCall) ([]core.ToolCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failOn["CommitStep"]; err != nil {
		return nil, err
	}
	r.say(id, m)
	out := append([]core.ToolCall{}, calls...)
	for i := range out {
		out[i].Ord = len(r.history.Calls) + 1
		out[i].State = core.CallProposed
		r.history.Calls = append(r.history.Calls, out[i])
		r.note("%s proposed", out[i].Name)
	}
	r.text = ""
	return out, nil
}

// move changes a call as the tables allow.
func (r *record) move(by core.Actor, id core.ToolCallID, to core.ToolCallState) (*core.ToolCall, error) {
	for i := range r.history.Calls {
		c := &r.history.Calls[i]
		if c.ID != id {
			continue
		}
		if !core.MayCall(by, c.State, to) {
			return nil, fault.New(fault.Internal, "test", fmt.Errorf("%s may not move %s from %s to %s", by, c.Name, c.State, to))
		}
		c.State = to
		return c, nil
	}
	return nil, fault.New(fault.NotFound, "test", nil)
}

func (r *record) RefuseCall(_ context.Context, id core.ToolCallID, reason, result string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.move(core.ActorPolicy, id, core.CallFailed)
	if err != nil {
		return err
	}
	c.Reason, c.Result = reason, result
	r.note("%s refused %s", c.Name, reason)
	return nil
}

func (r *record) AskApproval(_ context.Context, a core.Approval) (core.Approval, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.move(core.ActorPolicy, a.ToolCallID, core.CallWaiting)
	if err != nil {
		return a, err
	}
	a.ID, a.State = core.ApprovalID("ask-"+string(a.ToolCallID)), core.ApprovalPending
	r.history.Approvals = append(r.history.Approvals, a)
	r.note("%s asked %s %s", c.Name, a.Rule, a.Summary.Path)
	return a, nil
}

func (r *record) AwaitApproval(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	r.mu.Lock()
	var a core.Approval
	for _, have := range r.history.Approvals {
		if have.ID == id {
			a = have
		}
	}
	decide := r.decide
	r.mu.Unlock()
	if decide == nil {
		<-ctx.Done()
		return a, fault.New(fault.Cancelled, "await approval", ctx.Err())
	}
	a.State = decide(a)
	if ctx.Err() != nil {
		return a, fault.New(fault.Cancelled, "await approval", ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.State == core.ApprovalDenied {
		c, err := r.move(core.ActorApproval, a.ToolCallID, core.CallFailed)
		if err != nil {
			return a, err
		}
		c.Reason, c.Result = reasonDenied, reasonDenied
	}
	if a.State == core.ApprovalExpired {
		c, err := r.move(core.ActorCancel, a.ToolCallID, core.CallCancelled)
		if err != nil {
			return a, err
		}
		c.Reason = reasonExpired
	}
	r.note("%s", a.State)
	return a, nil
}

func (r *record) Granted(_ context.Context, _ core.SessionID, tool string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.granted[tool], r.failOn["Granted"]
}

func (r *record) ReadyCall(_ context.Context, id core.ToolCallID, in core.Intent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failOn["ReadyCall"]; err != nil {
		return err
	}
	by := core.ActorPolicy
	for _, c := range r.history.Calls {
		if c.ID == id && c.State == core.CallWaiting {
			by = core.ActorApproval
		}
	}
	c, err := r.move(by, id, core.CallReady)
	if err != nil {
		return err
	}
	if c.InputDigest != in.InputDigest || c.Name != in.Tool || string(c.Input) != string(in.Input) {
		return fault.New(fault.StaleApproval, "test", errors.New("another input"))
	}
	if r.intents == nil {
		r.intents = map[core.ToolCallID]core.Intent{}
	}
	r.intents[id] = in
	r.note("%s ready", c.Name)
	return nil
}

func (r *record) StartCall(_ context.Context, id core.ToolCallID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failOn["StartCall"]; err != nil {
		return err
	}
	c, err := r.move(core.ActorExecutor, id, core.CallRunning)
	if err == nil {
		r.note("%s running", c.Name)
	}
	return err
}

func (r *record) FinishCall(_ context.Context, id core.ToolCallID, end core.CallEnd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failOn["FinishCall"]; err != nil {
		return err
	}
	if end.Proposal != nil && end.Proposal.DocURI == "" || end.PostDigest == "none" {
		return fault.New(fault.InvalidInput, "test", nil)
	}
	c, err := r.move(core.ActorExecutor, id, end.State)
	if err != nil {
		return err
	}
	c.Reason, c.Result, c.Truncated, c.Facts = end.Reason, end.Result, end.Truncated, end.Facts
	if end.Whole != "" {
		c.ArtifactID = core.ArtifactID("art-" + string(id))
	}
	if end.Proposal != nil {
		r.history.Proposals = append(r.history.Proposals, *end.Proposal)
	}
	if r.ends == nil {
		r.ends = map[core.ToolCallID]core.CallEnd{}
	}
	r.ends[id] = end
	r.note("%s %s%s", c.Name, end.State, end.Reason)
	return nil
}

func (r *record) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.calls, ", ")
}

// toolLog is what was recorded of tools, without the model calls.
func (r *record) toolLog() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, l := range r.calls {
		if l[0] < '0' || l[0] > '9' {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, ", ")
}

// box is a core.Toolbox whose tools are functions.
type box struct {
	prepare func(ctx context.Context, c core.ToolCall) (core.Prepared, error)
	execute func(ctx context.Context, c core.ToolCall, in core.Intent) (core.ToolResult, error)
	// ran are the calls that were carried out, in order.
	ran []string
}

func (b *box) Prepare(ctx context.Context, c core.ToolCall) (core.Prepared, error) {
	if b.prepare == nil {
		return core.Prepared{}, nil
	}
	return b.prepare(ctx, c)
}

func (b *box) Execute(ctx context.Context, c core.ToolCall, in core.Intent) (core.ToolResult, error) {
	b.ran = append(b.ran, c.Name+" "+string(in.Input))
	if b.execute == nil {
		return core.ToolResult{Text: c.Name + " done"}, nil
	}
	return b.execute(ctx, c, in)
}

func registry(t testing.TB) core.Registry {
	t.Helper()
	r, err := core.NewRegistry(core.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
