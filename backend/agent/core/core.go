// Package core owns the vocabulary of the agent host: Session, Run, ToolCall,
// Event, Artifact, Message, Approval, Command, Patch, Proposal, Tool, Policy,
// the state tables, and the Model and Runtime interfaces.
//
// It is a leaf over text and fault: no I/O and no goroutine. Values are plain
// data; whoever receives one owns it. Times are Unix milliseconds. Identifiers
// are opaque strings made by the process that creates the thing.
package core

// Identifiers. Each is unique within one store.
type (
	SessionID  string
	RunID      string
	MessageID  string
	ToolCallID string
	ApprovalID string
	ProposalID string
	ArtifactID string
	// CommandID is chosen by a client and makes a command idempotent.
	CommandID string
)
