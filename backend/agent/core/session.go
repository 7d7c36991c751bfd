package core

// RunKind tells a conversation from an inline rewrite. Rewrites are runs in
// sessions of their own and never wait behind a conversation (R8).
type RunKind string

// The kinds of run.
const (
	KindConversation RunKind = "conversation"
	KindRewrite      RunKind = "rewrite"
)

// ModelRef names a model of a configured provider.
type ModelRef struct {
	// ProviderID is the id of the provider configuration.
	ProviderID string `json:"providerId"`
	// Model is the provider's own name of the model.
	Model string `json:"model"`
}

// Session is a conversation, or the home of one rewrite.
type Session struct {
	ID           SessionID `json:"id"`
	Title        string    `json:"title"`
	WorkspaceID  string    `json:"workspaceId"`
	DocURI       string    `json:"docUri"`
	Runtime      string    `json:"runtime"`
	Model        ModelRef  `json:"model"`
	CreatedAtMs  int64     `json:"createdAtMs"`
	UpdatedAtMs  int64     `json:"updatedAtMs"`
	ArchivedAtMs int64     `json:"archivedAtMs"` // 0: not archived
}

// Run is one accepted task of a person and its loop of model and tools.
type Run struct {
	ID        RunID     `json:"id"`
	SessionID SessionID `json:"sessionId"`
	CommandID CommandID `json:"commandId"`
	// ParentRunID is the run this one continues; empty otherwise.
	ParentRunID RunID    `json:"parentRunId"`
	Kind        RunKind  `json:"kind"`
	State       RunState `json:"state"`
	// Reason says why the state is what it is ("runner_lost"); may be empty.
	Reason string `json:"reason"`
	// Fault is set when the run failed.
	Fault   *FaultInfo `json:"fault,omitempty"`
	Runtime string     `json:"runtime"`
	Model   ModelRef   `json:"model"`
	Budget  Budget     `json:"budget"`
	Usage   Usage      `json:"usage"`
	DocURI  string     `json:"docUri"`
	// Tools are the names of the tools that the run may use (T8); never nil.
	Tools       []string `json:"tools"`
	CreatedAtMs int64    `json:"createdAtMs"`
	StartedAtMs int64    `json:"startedAtMs"` // 0: not started
	EndedAtMs   int64    `json:"endedAtMs"`   // 0: not ended
}

// FaultInfo is a fault.Error as data, without its cause.
type FaultInfo struct {
	Code         string `json:"code"`
	Detail       string `json:"detail"`
	RetryAfterMs int64  `json:"retryAfterMs"`
}

// Budget holds the limits of one run (R8). A zero field means the default.
type Budget struct {
	TimeMs           int64 `json:"timeMs"`
	Steps            int   `json:"steps"`
	Tokens           int   `json:"tokens"`
	ToolResultBytes  int   `json:"toolResultBytes"`
	ToolResultsBytes int   `json:"toolResultsBytes"`
	ToolMs           int64 `json:"toolMs"`
	ConnectMs        int64 `json:"connectMs"`
	FirstTokenMs     int64 `json:"firstTokenMs"`
	SilenceMs        int64 `json:"silenceMs"`
}

// Snapshot is a document at one moment, sent with a run. Positions are UTF-16
// code units into Text.
type Snapshot struct {
	// DocURI is the document's file URI, or "untitled:" and an id.
	DocURI      string `json:"docUri"`
	BaseVersion int    `json:"baseVersion"`
	// Digest is the hex SHA-256 of Text in UTF-8.
	Digest string `json:"digest"`
	// Text is the whole document: LF, no BOM.
	Text      string `json:"text"`
	Selection Range  `json:"selection"`
	// FrontMatter is the block with its delimiters; empty when there is none.
	FrontMatter string `json:"frontMatter"`
}

// Range is half-open, in UTF-16 code units. From ≤ To.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}
