package core

import "context"

// State is sessions, runs, open proposals and pending approvals at one cursor.
// Slices are never nil. Runs holds the non-final ones and the newest 50 others.
type State struct {
	Sessions  []Session  `json:"sessions"`
	Runs      []Run      `json:"runs"`
	Proposals []Proposal `json:"proposals"`
	Approvals []Approval `json:"approvals"`
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
	// Tools are the names of the tools that the run may use.
	Tools []string
	// Message is the person's; committed with the run.
	Message Message
}

// StoredMessage is a message of a session with what only the journal knows.
type StoredMessage struct {
	ID    MessageID
	RunID RunID
	Ord   int
	Message
	// Status is complete or partial.
	Status string
}

// History is everything that a context can be built of: a session's messages
// in order, also those that broke off, and what became of the calls and
// proposals of its runs. A tool's result is no message: it stands in its call,
// so that a call without one cannot be left alone (R9). It holds facts only:
// what streams in now is not part of it.
type History struct {
	Session Session
	// Messages are in the order in which they were committed; never nil. What a
	// person wrote while a run went on stands among that run's messages, but
	// belongs to its own run, which may still be queued: a context is made run
	// by run.
	Messages []StoredMessage
	// Runs, Calls and Proposals are in order of creation; never nil.
	Runs      []Run
	Calls     []ToolCall
	Proposals []Proposal
	Approvals []Approval
	// Verdicts are what was found out of calls afterwards, the last of each;
	// never nil.
	Verdicts map[ToolCallID]ToolVerdict
}

// RunDetail is a run with all that is known of it.
type RunDetail struct {
	Run       Run        `json:"run"`
	Session   Session    `json:"session"`
	Calls     []ToolCall `json:"calls"`
	Approvals []Approval `json:"approvals"`
	Proposals []Proposal `json:"proposals"`
	// Messages are those of the run, in order.
	Messages []MessageCommitted `json:"messages"`
	// ModelCalls are its attempts, in order; also those that have not ended.
	ModelCalls []ModelCallEnded `json:"modelCalls"`
	// Reconciled is what was found out of its calls afterwards, in order.
	Reconciled []ToolReconciled `json:"reconciled"`
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
	// Outcome of a rewrite and Clipped; see RunChanged.
	Outcome string
	Clipped bool
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
	// Context is what the request holds; nil when nobody asks.
	Context *ContextReport
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

	// BeginModelCall records a call as prepared, with what its request holds,
	// and returns it with its id. Attempts count over the whole run: the newest
	// has the highest number. A run that was told to stop gives cancelled.
	BeginModelCall(ctx context.Context, call ModelCall) (ModelCall, error)
	// UpdateModelCall records a later phase; model_call.ended tells of the last.
	UpdateModelCall(ctx context.Context, call ModelCall) error
	// WithdrawAttempt voids the preview of a failed attempt and drops its
	// draft.
	WithdrawAttempt(ctx context.Context, call ModelCall) error
	// KeepDraft stores what has come of the assistant's message, as the newest
	// attempt's. End or Recover commits the last one when no other message does.
	KeepDraft(ctx context.Context, id RunID, m Message) error
	// Messages returns a session's complete messages in order.
	Messages(ctx context.Context, id SessionID) ([]Message, error)
	// History returns what a context is built of.
	History(ctx context.Context, id SessionID) (History, error)

	// CommitStep records the assistant's message of a step that goes on,
	// together with the calls it asks for, in their order: one tool_call part
	// for each. What has no id yet gets one, part and call the same: the message
	// is committed with them. A run that was told to stop gives cancelled.
	CommitStep(ctx context.Context, id RunID, attempt int, m Message, calls []ToolCall) ([]ToolCall, error)
	// RefuseCall ends a proposed call that schema or policy refuse.
	RefuseCall(ctx context.Context, id ToolCallID, reason, result string) error
	// AskApproval makes a proposed call, and its run, wait for a person.
	AskApproval(ctx context.Context, a Approval) (Approval, error)
	// DecideApproval records a person's answer (T5).
	DecideApproval(ctx context.Context, cmd CommandID, id ApprovalID, call ToolCallID, inputDigest string, d Decision) (Approval, error)
	// Granted reports whether a person allowed a tool for the session.
	Granted(ctx context.Context, session SessionID, tool string) (bool, error)
	// ReadyCall stores the intent of a call: nothing may happen before (R6).
	ReadyCall(ctx context.Context, id ToolCallID, in Intent) error
	// StartCall commits that a ready call is about to be carried out.
	StartCall(ctx context.Context, id ToolCallID) error
	// FinishCall commits the result of a running call, with its proposal and
	// the artifact that holds the whole of it. Where no artifact can be kept,
	// for its size or the disk, the result is committed without.
	FinishCall(ctx context.Context, id ToolCallID, end CallEnd) error
	// ToolCall returns one call.
	ToolCall(ctx context.Context, id ToolCallID) (ToolCall, error)
	// ToolCalls returns the calls of a run in order.
	ToolCalls(ctx context.Context, run RunID) ([]ToolCall, error)
	// Unsettled returns the calls of earlier starts that the host must look at.
	Unsettled(ctx context.Context) ([]UnsettledCall, error)
	// Reconcile settles such a call by what the host has seen.
	Reconcile(ctx context.Context, id ToolCallID, to ToolCallState) error
	// ReconcileByPerson records what a person found out about a call whose
	// state is unknown, applied or absent; idempotent by command. The state
	// stays, and the last verdict counts.
	ReconcileByPerson(ctx context.Context, cmd CommandID, id ToolCallID, v ToolVerdict) error

	// CreateSession makes a session; idempotent by command.
	CreateSession(ctx context.Context, cmd CommandID, s Session) (Session, error)
	// ChangeSession renames a session or archives it; idempotent by command. A
	// nil field stays.
	ChangeSession(ctx context.Context, cmd CommandID, id SessionID, title *string, archived *bool) (Session, error)
	// DeleteSession removes a session with its rows, events and files; busy
	// while a run of it has not ended. Its commands stay known: one that comes
	// again is not_found and starts nothing.
	DeleteSession(ctx context.Context, cmd CommandID, id SessionID) error
	// SessionEvents returns at most limit events of a session with seq > after.
	SessionEvents(ctx context.Context, id SessionID, after int64, limit int) ([]Event, error)
	// Runs returns the newest runs, newest first, at most limit.
	Runs(ctx context.Context, limit int) ([]Run, error)
	// RunDetail returns one run with all that is known of it.
	RunDetail(ctx context.Context, id RunID) (RunDetail, error)
	// Contexts returns what each request of a run held, in order; none when the
	// run is older than those that are kept.
	Contexts(ctx context.Context, id RunID) ([]ContextReport, error)
	// Artifact returns at most limit bytes of an artifact from an offset, none
	// at its end. One that was cleaned away or whose file is gone is not_found.
	Artifact(ctx context.Context, id ArtifactID, offset int64, limit int) (Artifact, []byte, error)
	// Backup writes a consistent copy of the database to a path.
	Backup(ctx context.Context, path string) error

	// Proposal returns one proposal.
	Proposal(ctx context.Context, id ProposalID) (Proposal, error)
	// Decide records decisions on hunks; idempotent by command. A proposal can
	// be decided again, since an undo reopens hunks.
	Decide(ctx context.Context, cmd CommandID, id ProposalID, hunks []HunkDecision, appliedVersion int) (ProposalState, error)

	// Snapshot returns the state and the seq it stands at, consistently.
	Snapshot(ctx context.Context) (State, int64, error)
	// EventsAfter returns at most limit events with seq > after, in order.
	EventsAfter(ctx context.Context, after int64, limit int) ([]Event, error)
	// Recover settles what the database alone decides about earlier starts, and
	// clears away what is orphaned or past its time.
	Recover(ctx context.Context) (Recovered, error)
}
