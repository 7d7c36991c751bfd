package api

import (
	"errors"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

func (s *Agent) pending(op string) error {
	return fault.New(fault.Internal, op, errors.New("not built yet"))
}

// SubmitMessage sends a message of a conversation. It returns when the run is
// committed.
func (s *Agent) SubmitMessage(req MessageRequest) (RunRef, error) {
	return call(s.log, "submit message", func() (RunRef, error) { return RunRef{}, s.pending("submit message") })
}

// ContinueRun makes a new run that goes on where another ended.
func (s *Agent) ContinueRun(req ContinueRequest) (RunRef, error) {
	return call(s.log, "continue run", func() (RunRef, error) { return RunRef{}, s.pending("continue run") })
}

// DecideApproval records a person's answer to an approval.
func (s *Agent) DecideApproval(req ApprovalRequest) (core.Approval, error) {
	return call(s.log, "decide approval", func() (core.Approval, error) { return core.Approval{}, s.pending("decide approval") })
}

// ReconcileCall records what a person found out about a call.
func (s *Agent) ReconcileCall(req ReconcileRequest) error {
	_, err := call(s.log, "reconcile call", func() (struct{}, error) { return struct{}{}, s.pending("reconcile call") })
	return err
}

// ChangeSession renames a session or puts it away.
func (s *Agent) ChangeSession(req SessionChange) (core.Session, error) {
	return call(s.log, "change session", func() (core.Session, error) { return core.Session{}, s.pending("change session") })
}

// DeleteSession deletes a session.
func (s *Agent) DeleteSession(req SessionRemoval) error {
	_, err := call(s.log, "delete session", func() (struct{}, error) { return struct{}{}, s.pending("delete session") })
	return err
}

// SessionEvents returns the events of a session after a seq, oldest first.
func (s *Agent) SessionEvents(sessionID string, afterSeq int64) (SessionEvents, error) {
	return call(s.log, "get session events", func() (SessionEvents, error) {
		return SessionEvents{}, s.pending("session events")
	})
}

// RunDetail returns a run with all that is known of it.
func (s *Agent) RunDetail(runID string) (core.RunDetail, error) {
	return call(s.log, "get run detail", func() (core.RunDetail, error) { return core.RunDetail{}, s.pending("run detail") })
}

// ToolCall returns a call with its whole input and result.
func (s *Agent) ToolCall(id string) (core.ToolCall, error) {
	return call(s.log, "get tool call", func() (core.ToolCall, error) { return core.ToolCall{}, s.pending("tool call") })
}

// MessageText returns a message of a session with its parts.
func (s *Agent) MessageText(sessionID, messageID string) (MessageBody, error) {
	return call(s.log, "get message", func() (MessageBody, error) { return MessageBody{}, s.pending("message") })
}

// ExplainContext lists what each request of a run held.
func (s *Agent) ExplainContext(runID string) ([]core.ContextReport, error) {
	return call(s.log, "explain context", func() ([]core.ContextReport, error) { return nil, s.pending("explain context") })
}

// ArtifactText returns a piece of an artifact from an offset in bytes.
func (s *Agent) ArtifactText(id string, offset int64) (ArtifactText, error) {
	return call(s.log, "get artifact", func() (ArtifactText, error) { return ArtifactText{}, s.pending("artifact") })
}
