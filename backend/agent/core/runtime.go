package core

import "context"

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
	// Messages are the session's complete ones in order, the person's new one
	// last. Never empty.
	Messages []Message
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

// Recorder is what a Runtime writes while it runs: the part of Journal about
// model calls, and previews. The first three block until the commit; their
// errors are Journal's, and after one nothing more may be started.
type Recorder interface {
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
