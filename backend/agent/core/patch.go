package core

import "galley/backend/text"

// Patch is a set of edits against one version of a document (P1). It is never
// a whole new document.
type Patch struct {
	BaseVersion int         `json:"baseVersion"`
	Edits       []text.Edit `json:"edits"`
	Summary     string      `json:"summary"`
}

// Hunk is one displayed group of adjacent edits: Patch.Edits[First:First+Count].
type Hunk struct {
	// ID is unique within its proposal and stable ("1", "2", …).
	ID    string `json:"id"`
	First int    `json:"first"`
	Count int    `json:"count"`
	// Warnings say what kind of thing the hunk changes (P10); never nil.
	Warnings []Warning `json:"warnings"`
	// Outcome is the latest decision; empty until there was one.
	Outcome HunkOutcome `json:"outcome,omitempty"`
}

// Warning names a kind of thing whose change a person should look at (P10).
// The kinds are those of testdata/patch/README.md.
type Warning string

// The warnings.
const (
	WarnNumber       Warning = "number"
	WarnDate         Warning = "date"
	WarnLink         Warning = "link"
	WarnCode         Warning = "code"
	WarnQuotation    Warning = "quotation"
	WarnFootnote     Warning = "footnote"
	WarnFrontMatter  Warning = "front_matter"
	WarnInvisible    Warning = "invisible"
	WarnHeadingLevel Warning = "heading_level"
	WarnMarker       Warning = "marker"
	WarnTableColumns Warning = "table_columns"
	WarnFence        Warning = "fence"
)

// Origin says what made a Proposal.
type Origin string

// The origins.
const (
	OriginTool    Origin = "tool"
	OriginRewrite Origin = "rewrite"
	OriginOffline Origin = "offline"
	OriginFile    Origin = "file"
	OriginAgent   Origin = "agent"
)

// ProposalState is what became of a Proposal.
type ProposalState string

// The states of a proposal.
const (
	ProposalProposed      ProposalState = "proposed"
	ProposalPartlyApplied ProposalState = "partly_applied"
	ProposalApplied       ProposalState = "applied"
	ProposalRejected      ProposalState = "rejected"
	ProposalStale         ProposalState = "stale"
	ProposalUnknownBase   ProposalState = "unknown_base"
	ProposalSuperseded    ProposalState = "superseded"
)

// Proposal is a Patch under review.
type Proposal struct {
	ID     ProposalID `json:"id"`
	Origin Origin     `json:"origin"`
	RunID  RunID      `json:"runId"`
	// ToolCallID is set when a tool call made it.
	ToolCallID ToolCallID `json:"toolCallId"`
	// Supersedes is the proposal this one is a newer version of.
	Supersedes ProposalID `json:"supersedes"`
	DocURI     string     `json:"docUri"`
	// BaseDigest is the hex SHA-256 of the base text in UTF-8.
	BaseDigest string `json:"baseDigest"`
	Patch      Patch  `json:"patch"`
	Hunks      []Hunk `json:"hunks"`
	// CutOff marks an answer that broke off: nothing starts ticked and there
	// is no plain accept (P7).
	CutOff      bool          `json:"cutOff"`
	State       ProposalState `json:"state"`
	CreatedAtMs int64         `json:"createdAtMs"`
	DecidedAtMs int64         `json:"decidedAtMs"` // 0: not decided
}

// HunkOutcome is a person's decision on one hunk.
type HunkOutcome string

// The outcomes. Open means that an undo took the decision back.
const (
	HunkAccepted HunkOutcome = "accepted"
	HunkRejected HunkOutcome = "rejected"
	HunkOpen     HunkOutcome = "open"
)

// HunkDecision is the decision on the hunk with this id.
type HunkDecision struct {
	ID      string      `json:"id"`
	Outcome HunkOutcome `json:"outcome"`
}
