package core

import "encoding/json"

// Event is a committed fact. Seq comes from the store alone and is never
// reused (R5).
type Event struct {
	Seq        int64           `json:"seq"`
	SessionID  SessionID       `json:"sessionId"`
	RunID      RunID           `json:"runId"`
	ToolCallID ToolCallID      `json:"toolCallId"`
	Type       EventType       `json:"type"`
	V          int             `json:"v"`
	AtMs       int64           `json:"atMs"`
	Payload    json.RawMessage `json:"payload"`
}

// EventType is noun.past_participle.
type EventType string

// The committed events. The payload type of each is in its comment.
const (
	EventSessionCreated   EventType = "session.created"   // Session
	EventSessionChanged   EventType = "session.changed"   // Session
	EventSessionDeleted   EventType = "session.deleted"   // SessionDeleted
	EventModelCallBegun   EventType = "model_call.begun"  // ModelCallBegun
	EventModelCallEnded   EventType = "model_call.ended"  // ModelCallEnded
	EventRunAccepted      EventType = "run.accepted"      // Run
	EventRunStarted       EventType = "run.started"       // RunChanged
	EventRunWaiting       EventType = "run.waiting"       // RunChanged
	EventRunResumed       EventType = "run.resumed"       // RunChanged
	EventRunCancelling    EventType = "run.cancelling"    // RunChanged
	EventRunCancelled     EventType = "run.cancelled"     // RunChanged
	EventRunSucceeded     EventType = "run.succeeded"     // RunChanged
	EventRunFailed        EventType = "run.failed"        // RunChanged
	EventRunInterrupted   EventType = "run.interrupted"   // RunChanged
	EventMessageCommitted EventType = "message.committed" // MessageCommitted
	EventAttemptWithdrawn EventType = "attempt.withdrawn" // AttemptWithdrawn
	EventToolChanged      EventType = "tool.changed"      // ToolCall
	EventToolReconciled   EventType = "tool.reconciled"   // ToolReconciled
	EventApprovalAsked    EventType = "approval.asked"    // Approval
	EventApprovalDecided  EventType = "approval.decided"  // Approval
	EventProposalCreated  EventType = "proposal.created"  // Proposal
	EventProposalDecided  EventType = "proposal.decided"  // ProposalDecided
	EventRunnerRecovered  EventType = "runner.recovered"  // RunnerRecovered
)

// RunChanged is the payload of the run.* events but run.accepted.
type RunChanged struct {
	State RunState `json:"state"`
	// Reason may be empty.
	Reason string     `json:"reason"`
	Fault  *FaultInfo `json:"fault,omitempty"`
	Usage  Usage      `json:"usage"`
	// Outcome of a finished rewrite: proposal, cut_off, refused, empty or
	// no_change; empty for other events.
	Outcome string `json:"outcome"`
	// Clipped says of a finished run that a local server silently cut what it
	// was sent: the answer is about a part of it.
	Clipped bool `json:"clipped,omitempty"`
}

// MessageCommitted is the payload of message.committed.
type MessageCommitted struct {
	MessageID MessageID `json:"messageId"`
	Ord       int       `json:"ord"`
	Message   Message   `json:"message"`
	// Status is complete, partial or discarded.
	Status string `json:"status"`
	// Attempt is the model call's whose answer it is; previews of it and of
	// earlier attempts are void. 0 for what no model said.
	Attempt int `json:"attempt"`
}

// SessionDeleted is the payload of session.deleted. The session's other events
// are gone with it.
type SessionDeleted struct {
	SessionID SessionID `json:"sessionId"`
}

// ModelCallBegun is the payload of model_call.begun: a request is about to be
// sent, with so much in it.
type ModelCallBegun struct {
	Step    int `json:"step"`
	Attempt int `json:"attempt"`
	// ContextTokens is an estimate; ContextSize what the model takes, 0 when
	// that is not known.
	ContextTokens int `json:"contextTokens"`
	ContextSize   int `json:"contextSize"`
}

// ModelCallEnded is the payload of model_call.ended.
type ModelCallEnded struct {
	Step         int       `json:"step"`
	Attempt      int       `json:"attempt"`
	Phase        CallPhase `json:"phase"`
	FinishReason string    `json:"finishReason"`
	Usage        Usage     `json:"usage"`
	// Code is the fault that ended it; empty for none.
	Code string `json:"code"`
}

// AttemptWithdrawn says that the preview of a dead attempt is void.
type AttemptWithdrawn struct {
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Code    string `json:"code"`
}

// ProposalDecided is the payload of proposal.decided.
type ProposalDecided struct {
	ProposalID     ProposalID     `json:"proposalId"`
	State          ProposalState  `json:"state"`
	Hunks          []HunkDecision `json:"hunks"`
	AppliedVersion int            `json:"appliedVersion"`
}

// ToolReconciled is the payload of tool.reconciled: what was found out about a
// call afterwards. A final state is never changed; Verdict then stands beside
// it.
type ToolReconciled struct {
	Call ToolCall `json:"call"`
	// Verdict is applied, absent or unknown.
	Verdict ToolVerdict `json:"verdict"`
	// By is recovery or person.
	By string `json:"by"`
}

// ToolVerdict is what a look at the disk, or a person, says of a call whose end
// nobody saw.
type ToolVerdict string

// The verdicts of a reconciliation.
const (
	VerdictApplied ToolVerdict = "applied"
	VerdictAbsent  ToolVerdict = "absent"
	VerdictUnknown ToolVerdict = "unknown"
)

// RunnerRecovered is the payload of runner.recovered.
type RunnerRecovered struct {
	Runs         []RunID      `json:"runs"`
	UnknownCalls []ToolCallID `json:"unknownCalls"`
}

// Preview is transient streamed text: no seq, droppable, merged per run. The
// reader keeps the first Keep UTF-16 code units of what it has for this run
// and appends Text. Text is already cleaned of fences, chatter and thinking.
type Preview struct {
	RunID   RunID  `json:"runId"`
	Attempt int    `json:"attempt"`
	Keep    int    `json:"keep"`
	Text    string `json:"text"`
	// Thinking is true while the model reasons and no text came yet.
	Thinking bool `json:"thinking"`
}
