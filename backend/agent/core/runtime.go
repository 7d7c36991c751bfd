package core

import (
	"context"

	"galley/backend/fault"
)

// Runtime carries out runs (R1). Which one a run uses is visible nowhere but
// in the runtime's own folder.
type Runtime interface {
	// Name is what sessions and runs store as their runtime ("native").
	Name() string
	// Run carries out one accepted run and says how it ended; the caller
	// records that with Journal.End. It blocks until its model calls and tools
	// have stopped. A cancelled ctx ends it: the end is then cancelled, or
	// interrupted when a call's outcome is not known. Whatever goes wrong with
	// the model is a RunEnd with a Fault, not an error; an error means that
	// the run could not be recorded (store_failed, disk_full) or that the
	// runtime itself broke (internal). The RunEnd is meaningless then.
	Run(ctx context.Context, t Task) (RunEnd, error)
}

// Task is everything a Runtime needs for one run. It is the runtime's own.
type Task struct {
	Run     Run
	Session Session
	// Tools are those there are. The run may call those that Allowed names and
	// no other, whatever the model asks for (T8).
	Tools   Registry
	Allowed []string
	// Policy is the person's at the start of the run.
	Policy Policy
	// Toolbox has tools carried out; it may be nil when Allowed is empty.
	Toolbox Toolbox
	// ContextTokens is how many tokens the model takes; 0 when not known.
	ContextTokens int
	// MaxOutputTokens is the longest answer that is asked for; 0 leaves it to
	// the provider.
	MaxOutputTokens int
	// Language is the interface's BCP 47 tag ("en", "zh").
	Language string
	// Snapshot is the document as sent with the run; nil when there is none. A
	// rewrite always has one.
	Snapshot *Snapshot
	// Rewrite is set exactly when Run.Kind is KindRewrite.
	Rewrite *RewriteInput
	// Supersedes is the proposal a new one of this run replaces; may be empty.
	Supersedes ProposalID
	// Model is bound to Run.Model, with its address and credential.
	Model Model
	// Budget has no zero field.
	Budget Budget
	// Recorder takes what the runtime does while it runs.
	Recorder Recorder
	// NewID makes identifiers (of a proposal, a tool call).
	NewID func() string
}

// RewriteInput is what a person asked for a selection.
type RewriteInput struct {
	// Preset is the id of the prompt preset; empty for a custom instruction.
	Preset string `json:"preset"`
	// Prompt is the preset's Markdown prompt; empty when custom.
	Prompt string `json:"prompt"`
	// Instruction is what the person typed; may be empty with a preset.
	Instruction string `json:"instruction"`
	// Language is the interface's BCP 47 tag ("en", "zh").
	Language string `json:"language"`
}

// Toolbox has the host carry out tools. Its methods block until the host has
// answered, ctx has ended, or the host is gone.
type Toolbox interface {
	// Prepare looks at a call without any effect: what a person is to be shown,
	// and what its intent needs. A call that cannot succeed fails here, with a
	// fault that becomes its result.
	Prepare(ctx context.Context, c ToolCall) (Prepared, error)
	// Execute carries out a call whose start is committed. Where ctx ends it
	// tells the host to stop and still waits a little for what really
	// happened. An error means that nobody knows: the call is then interrupted
	// when it reads and unknown when it writes.
	Execute(ctx context.Context, c ToolCall, in Intent) (ToolResult, error)
}

// Prepared is what Prepare finds.
type Prepared struct {
	// Summary is what an approval shows.
	Summary ToolSummary `json:"summary"`
	// BaseVersion, Source, Target and the digests are those of an Intent.
	BaseVersion int    `json:"baseVersion"`
	Source      string `json:"source"`
	Target      string `json:"target"`
	PreDigest   string `json:"preDigest"`
	PostDigest  string `json:"postDigest"`
}

// ToolSummary is what a person is shown of a call before they decide. Zero
// fields are left out.
type ToolSummary struct {
	// Path is what the call is about, relative to the workspace; NewPath where
	// it leads.
	Path    string `json:"path"`
	NewPath string `json:"newPath"`
	// Text is the content of a new document, or what is searched for. Bytes and
	// Words count it.
	Text  string `json:"text"`
	Bytes int    `json:"bytes"`
	Words int    `json:"words"`
	// Links are how many links lead to a document that is renamed.
	Links int `json:"links"`
	// Invisible says that the text holds invisible or bidi characters (X4).
	Invisible bool `json:"invisible"`
}

// ToolResult is how a call went, as the host saw it.
type ToolResult struct {
	// Text is what the model is told. IsError marks a failure; Code is
	// then its fault.
	Text string `json:"text"`
	// Whole is all that came, where Text is a part of it; empty for none. It is
	// kept for people, as an artifact.
	Whole   string     `json:"whole,omitempty"`
	IsError bool       `json:"isError"`
	Code    fault.Code `json:"code"`
	// Stopped says that nothing happened because it was told to stop.
	Stopped bool `json:"stopped"`
	// PreDigest and PostDigest are hex digests of the target's bytes.
	PreDigest  string    `json:"preDigest"`
	PostDigest string    `json:"postDigest"`
	Facts      ToolFacts `json:"facts"`
	// Proposal is what proposePatch came to; nil for others.
	Proposal *Proposal `json:"proposal,omitempty"`
}

// Recorder is what a Runtime writes while it runs: the part of Journal about
// model calls and tools, and previews. All but Preview block until the commit;
// their errors are Journal's, and after one nothing more may be started.
type Recorder interface {
	// History returns what a context is built of. Messages of runs that wait
	// for their turn are in it too.
	History(ctx context.Context, id SessionID) (History, error)
	CommitStep(ctx context.Context, id RunID, attempt int, m Message, calls []ToolCall) ([]ToolCall, error)
	RefuseCall(ctx context.Context, id ToolCallID, reason, result string) error
	AskApproval(ctx context.Context, a Approval) (Approval, error)
	// AwaitApproval waits until a person has decided, or ctx has ended. The call
	// of an approval that is denied or expired has ended with it.
	AwaitApproval(ctx context.Context, id ApprovalID) (Approval, error)
	Granted(ctx context.Context, session SessionID, tool string) (bool, error)
	ReadyCall(ctx context.Context, id ToolCallID, in Intent) error
	StartCall(ctx context.Context, id ToolCallID) error
	FinishCall(ctx context.Context, id ToolCallID, end CallEnd) error
	// BeginModelCall records a call as prepared and returns it with its id.
	// Nothing may be sent before it has returned.
	BeginModelCall(ctx context.Context, call ModelCall) (ModelCall, error)
	// UpdateModelCall records a later phase.
	UpdateModelCall(ctx context.Context, call ModelCall) error
	// WithdrawAttempt voids the preview of a failed attempt.
	WithdrawAttempt(ctx context.Context, call ModelCall) error
	// KeepDraft stores what has come of an answer, so that a crash does not
	// lose it; each draft of a run takes the place of the one before.
	KeepDraft(ctx context.Context, id RunID, m Message) error
	// Preview shows streamed text; it may be dropped and never blocks.
	Preview(p Preview)
}
