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
	EventToolReconciled   EventType = "tool.reconciled"   // ToolCall
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
}

// MessageCommitted is the payload of message.committed.
type MessageCommitted struct {
	MessageID MessageID `json:"messageId"`
	Ord       int       `json:"ord"`
	Message   Message   `json:"message"`
	// Status is complete, partial or discarded.
	Status string `json:"status"`
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
