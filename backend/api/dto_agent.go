package api

import (
	"encoding/json"

	"galley/backend/agent/core"
)

// Place is where in which document a person asks something. Positions are
// UTF-16 units at Version.
type Place struct {
	// DocumentID is the document in front; "" for none.
	DocumentID string `json:"documentId"`
	Version    int    `json:"version"`
	From       int    `json:"from"`
	To         int    `json:"to"`
}

// MessageRequest sends a message in a conversation. It waits its turn when
// another conversation is active.
type MessageRequest struct {
	CommandID string `json:"commandId"`
	// SessionID is "" for a new session.
	SessionID string `json:"sessionId"`
	Text      string `json:"text"`
	Place     Place  `json:"place"`
	// ProviderID and Model; "" means those of the settings.
	ProviderID string `json:"providerId"`
	Model      string `json:"model"`
	Language   string `json:"language"`
}

// ContinueRequest goes on with a run that did not end well. It makes a new run,
// which is told what is known of the old one.
type ContinueRequest struct {
	CommandID  string `json:"commandId"`
	RunID      string `json:"runId"`
	Place      Place  `json:"place"`
	ProviderID string `json:"providerId"`
	Model      string `json:"model"`
	Language   string `json:"language"`
}

// ApprovalRequest answers an approval. InputDigest is that of what was shown.
type ApprovalRequest struct {
	CommandID   string `json:"commandId"`
	ApprovalID  string `json:"approvalId"`
	ToolCallID  string `json:"toolCallId"`
	InputDigest string `json:"inputDigest"`
	// Decision is allow_once, allow_session (reads only) or deny.
	Decision string `json:"decision"`
}

// ReconcileRequest says what a person found out about a call whose outcome is
// not known.
type ReconcileRequest struct {
	CommandID  string `json:"commandId"`
	ToolCallID string `json:"toolCallId"`
	// Verdict is applied or absent.
	Verdict string `json:"verdict"`
}

// SessionChange renames a session or puts it away. Archive is "", archive or
// restore; an empty title stays.
type SessionChange struct {
	CommandID string `json:"commandId"`
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
	Archive   string `json:"archive"`
}

// SessionRemoval deletes a session with everything that belongs to it.
type SessionRemoval struct {
	CommandID string `json:"commandId"`
	SessionID string `json:"sessionId"`
}

// EventRecord is a committed event as it is read again: the payload is that of
// its type in the event table.
type EventRecord struct {
	Envelope
	Payload json.RawMessage `json:"payload"`
}

// SessionEvents is a page of a session's events, oldest first. Bodies over 32
// KB are left out, as in messages (Envelope.Ref).
type SessionEvents struct {
	Events []EventRecord `json:"events"`
	// More says that there are more after the last one.
	More bool `json:"more"`
}

// MessageBody is a committed message with its parts.
type MessageBody struct {
	Message core.Message `json:"message"`
}

// ArtifactText is a piece of an output that was too large to show whole.
type ArtifactText struct {
	Artifact core.Artifact `json:"artifact"`
	Text     string        `json:"text"`
	// Next is the offset of what follows, in bytes; 0 at the end.
	Next int64 `json:"next"`
}
