package core

import "context"

// State is sessions, runs and open proposals at one cursor. Slices are never
// nil. Runs holds the non-final ones and the newest 50 others.
type State struct {
	Sessions  []Session  `json:"sessions"`
	Runs      []Run      `json:"runs"`
	Proposals []Proposal `json:"proposals"`
}

// Submission is a run to accept.
type Submission struct {
	CommandID CommandID
	// InputDigest is the SHA-256 of the command's canonical input; the same
	// CommandID with another digest is a conflict.
	InputDigest [32]byte
	// SessionID may be empty: Session is then created in the same transaction.
	SessionID   SessionID
	Session     Session
	Kind        RunKind
	ParentRunID RunID
	Runtime     string
	Model       ModelRef
	Budget      Budget
	DocURI      string
	// Message is the person's; committed with the run.
	Message Message
}

// CancelReceipt is the stored answer to a cancel command.
type CancelReceipt struct {
	RunID RunID `json:"runId"`
	// Receipt is accepted or already_terminal.
	Receipt string   `json:"receipt"`
	State   RunState `json:"state"`
}

// RunEnd is how a run ended.
type RunEnd struct {
	// State is one of the four final states.
	State  RunState
	Reason string
	Fault  *FaultInfo
	Usage  Usage
	// Outcome of a rewrite; see RunChanged.
	Outcome string
	// Message is the assistant's, nil when nothing came. Status is complete,
	// partial or discarded.
	Message       *Message
	MessageStatus string
	// Proposal is committed with the end, nil when there is none.
	Proposal *Proposal
}

// CallPhase is where a model call stands.
type CallPhase string

// The phases of a model call.
const (
	PhasePrepared  CallPhase = "prepared"
	PhaseSent      CallPhase = "sent"
	PhaseStreaming CallPhase = "streaming"
	PhaseDone      CallPhase = "done"
	PhaseFailed    CallPhase = "failed"
	PhaseUnknown   CallPhase = "unknown"
)

// ModelCall is one attempt of one step.
type ModelCall struct {
	ID            string
	RunID         RunID
	Step          int
	Attempt       int
	Phase         CallPhase
	RequestDigest [32]byte
	FinishReason  string
	Usage         Usage
	ErrorClass    string
}

// Recovered is what a start found of earlier ones.
type Recovered struct {
	Runs         []RunID
	UnknownCalls []ToolCallID
}

// Journal is the durable record of sessions, runs and events. Every method
// that changes state writes the change and its events in one transaction and
// publishes the events after the commit, in seq order (R5). Errors are
// *fault.Error: command_conflict, not_found, busy, store_failed, disk_full.
// After store_failed every changing method fails the same way.
type Journal interface {
	// Submit accepts a run; the same command again returns the same run.
	Submit(ctx context.Context, s Submission) (Run, error)
	// Start moves queued → running.
	Start(ctx context.Context, id RunID) error
	// Cancel stores the wish to stop: queued → cancelled, running and
	// waiting → cancelling. Repeated cancels return the first receipt.
	Cancel(ctx context.Context, cmd CommandID, id RunID) (CancelReceipt, error)
	// End moves a run to a final state. A run that is cancelling becomes
	// cancelled or interrupted, whatever end.State says, unless its end is
	// interrupted.
	End(ctx context.Context, id RunID, end RunEnd) (Run, error)
	Run(ctx context.Context, id RunID) (Run, error)

	// BeginModelCall records a call as prepared and returns it with its id.
	BeginModelCall(ctx context.Context, call ModelCall) (ModelCall, error)
	// UpdateModelCall records a later phase.
	UpdateModelCall(ctx context.Context, call ModelCall) error
	// WithdrawAttempt voids the preview of a failed attempt and drops its
	// draft.
	WithdrawAttempt(ctx context.Context, call ModelCall) error
	// KeepDraft stores what has come of the assistant's message. End or
	// Recover commits the last one when no other message does.
	KeepDraft(ctx context.Context, id RunID, m Message) error
	// Messages returns a session's complete messages in order.
	Messages(ctx context.Context, id SessionID) ([]Message, error)

	// Proposal returns one proposal.
	Proposal(ctx context.Context, id ProposalID) (Proposal, error)
	// Decide records decisions on hunks; idempotent by command. A proposal can
	// be decided again, since an undo reopens hunks.
	Decide(ctx context.Context, cmd CommandID, id ProposalID, hunks []HunkDecision, appliedVersion int) (ProposalState, error)

	// Snapshot returns the state and the seq it stands at, consistently.
	Snapshot(ctx context.Context) (State, int64, error)
	// EventsAfter returns at most limit events with seq > after, in order.
	EventsAfter(ctx context.Context, after int64, limit int) ([]Event, error)
	// Recover settles what the database alone decides about earlier starts.
	Recover(ctx context.Context) (Recovered, error)
}
