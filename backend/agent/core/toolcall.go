package core

import (
	"crypto/sha256"
	"encoding/json"
)

// ToolCall is one call of a tool in a run.
type ToolCall struct {
	ID    ToolCallID `json:"id"`
	RunID RunID      `json:"runId"`
	// ModelCallID is the ModelCall that asked for it; may be empty.
	ModelCallID string `json:"modelCallId"`
	// Ord counts the calls of the run from 1; the store gives it.
	Ord int `json:"ord"`
	// ProviderCallID is the provider's id; may be empty.
	ProviderCallID string   `json:"providerCallId"`
	Name           string   `json:"name"`
	Kind           ToolKind `json:"kind"`
	// Input is normalised JSON.
	Input json.RawMessage `json:"input"`
	// InputDigest is the hex SHA-256 of Input.
	InputDigest string        `json:"inputDigest"`
	State       ToolCallState `json:"state"`
	// Reason says why the state is what it is; may be empty.
	Reason string `json:"reason"`
	// Attempt counts tries of the same call from 1.
	Attempt int `json:"attempt"`
	// Result is what the model is told; empty until the call ended.
	Result string `json:"result"`
	// Truncated says that Result is shorter than what came.
	Truncated bool `json:"truncated"`
	// ArtifactID names the whole of what came; empty when Result is it.
	ArtifactID ArtifactID `json:"artifactId"`
	// Facts are what a row shows of the call besides its input.
	Facts        ToolFacts `json:"facts"`
	ProposedAtMs int64     `json:"proposedAtMs"`
	ReadyAtMs    int64     `json:"readyAtMs"`   // 0: never ready
	StartedAtMs  int64     `json:"startedAtMs"` // 0: not started
	EndedAtMs    int64     `json:"endedAtMs"`   // 0: not ended
}

// ToolFacts are what the host tells of a call for people: what was read and how
// much of it (T7). Zero fields say nothing.
type ToolFacts struct {
	// Path is relative to the workspace, or the document's name.
	Path string `json:"path"`
	// Bytes read or written; Hits of a search in Files files.
	Bytes int `json:"bytes"`
	Hits  int `json:"hits"`
	Files int `json:"files"`
	// Version is the document's as it was read; 0 for none.
	Version int `json:"version"`
	// More says that there was more than was given.
	More bool `json:"more"`
}

// Intent is what is stored before a side effect: everything recovery needs to
// tell afterwards whether it happened (R6).
type Intent struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// InputDigest is the hex SHA-256 of Input.
	InputDigest string `json:"inputDigest"`
	// BaseVersion is the document's version; 0 when no document is touched.
	BaseVersion int `json:"baseVersion"`
	// Source and Target are the absolute paths that a file tool reads from and
	// writes to; empty for none.
	Source string `json:"source"`
	Target string `json:"target"`
	// PreDigest and PostDigest are hex digests of the target's bytes before
	// and after; empty when it has none.
	PreDigest  string `json:"preDigest"`
	PostDigest string `json:"postDigest"`
	// IdemKey is unique in the store; empty when the tool needs none.
	IdemKey string `json:"idemKey"`
	Attempt int    `json:"attempt"`
}

// ApprovalState is where an approval stands.
type ApprovalState string

// The states of an approval; all but pending are final.
const (
	ApprovalPending        ApprovalState = "pending"
	ApprovalAllowedOnce    ApprovalState = "allowed_once"
	ApprovalAllowedSession ApprovalState = "allowed_session"
	ApprovalDenied         ApprovalState = "denied"
	ApprovalExpired        ApprovalState = "expired"
	ApprovalCancelled      ApprovalState = "cancelled"
)

// Approval is a question put to a person, bound to one call and its input (T5).
type Approval struct {
	ID         ApprovalID `json:"id"`
	ToolCallID ToolCallID `json:"toolCallId"`
	RunID      RunID      `json:"runId"`
	// InputDigest is the hex SHA-256 of the call's input.
	InputDigest string `json:"inputDigest"`
	// Rule names what made it ask: the permission.
	Rule Permission `json:"rule"`
	// Summary is what the person is shown.
	Summary     ToolSummary   `json:"summary"`
	State       ApprovalState `json:"state"`
	CreatedAtMs int64         `json:"createdAtMs"`
	ExpiresAtMs int64         `json:"expiresAtMs"` // 0: does not expire
	DecidedAtMs int64         `json:"decidedAtMs"` // 0: not decided
}

// InputDigest returns the SHA-256 of a normalised input.
func InputDigest(norm json.RawMessage) [32]byte { return sha256.Sum256(norm) }

// CallEnd is how a tool call that was running ended.
type CallEnd struct {
	// State is one of the four final states. Cancelled needs proof that
	// nothing happened or that it was undone.
	State  ToolCallState
	Reason string
	// Result is what the model is told; Truncated says that more came.
	Result    string
	Truncated bool
	// PostDigest is the hex digest of the target afterwards; may be empty.
	PostDigest string
	Facts      ToolFacts
	// Whole is all that came where Result is shorter; it is kept as an artifact
	// with the result. Empty for none.
	Whole string
	// WholeKind says whether Whole may be cleaned away; empty means log.
	WholeKind ArtifactKind
	// Proposal is committed with the result, nil when there is none.
	Proposal *Proposal
}

// UnsettledCall is a call of an earlier start whose effect only the host can
// see: it was running when the Runner was lost.
type UnsettledCall struct {
	Call   ToolCall
	Intent Intent
}
