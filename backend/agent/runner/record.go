package runner

import (
	"context"
	"fmt"
	"sync/atomic"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
)

// recorder is what the runtime of one run writes to.
type recorder struct {
	core.Journal
	run       core.Run
	hub       *hub
	questions *questions
	// gone says that the host went away without the answer to a call.
	gone *atomic.Bool
}

var _ core.Recorder = recorder{}

// Preview implements core.Recorder.
func (r recorder) Preview(p core.Preview) { r.hub.preview(r.run.SessionID, p) }

// AskApproval implements core.Recorder. The question is known before it is
// asked: the answer may be there before this returns.
func (r recorder) AskApproval(ctx context.Context, a core.Approval) (core.Approval, error) {
	if a.ID == "" {
		a.ID = core.ApprovalID(newID())
	}
	r.questions.expect(a)
	asked, err := r.Journal.AskApproval(ctx, a)
	if err != nil {
		r.questions.forget(a.ID)
		return core.Approval{}, err
	}
	return asked, nil
}

// AwaitApproval implements core.Recorder. An approval that expires comes back
// so; its call is cancelled then.
func (r recorder) AwaitApproval(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	a, err := r.questions.await(ctx, id)
	if err == nil {
		crash.At("before_ready")
	}
	return a, err
}

// FinishCall implements core.Recorder. A write whose answer went away with the
// host is left as it is, running: this Runner ends, and the next one's host
// looks at what became of it, where this one could only say that nobody knows.
func (r recorder) FinishCall(ctx context.Context, id core.ToolCallID, end core.CallEnd) error {
	if end.State == core.CallUnknown && r.gone.Load() {
		return fmt.Errorf("finish tool call: %w", errHostGone)
	}
	return r.Journal.FinishCall(ctx, id, end)
}
