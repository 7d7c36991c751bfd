// Package wire is the contract between host and Runner: method names,
// parameters, results and the protocol version. It holds types only.
//
// The transport is JSON-RPC 2.0 over the Runner's stdio, one JSON value a line
// (LF), at most [MaxLine] bytes a line.
package wire

import (
	"encoding/json"

	"galley/backend/agent/core"
)

// Protocol is the version both sides must agree on in runner.initialize.
const Protocol = 1

// MaxLine is the longest line in bytes, without its LF.
const MaxLine = 8 << 20

// Requests from host to Runner.
const (
	MethodInitialize      = "runner.initialize"
	MethodShutdown        = "runner.shutdown"
	MethodSessionCreate   = "session.create"
	MethodSessionList     = "session.list"
	MethodSessionGet      = "session.get"
	MethodSessionArchive  = "session.archive"
	MethodRunSubmit       = "run.submit"
	MethodRunGet          = "run.get"
	MethodRunCancel       = "run.cancel"
	MethodRunContinue     = "run.continue"
	MethodModelChat       = "model.chat"
	MethodApprovalDecide  = "approval.decide"
	MethodProposalDecide  = "proposal.decide"
	MethodProposalGet     = "proposal.get"
	MethodToolReconcile   = "tool.reconcile"
	MethodEventsSubscribe = "events.subscribe"
	MethodProviderTest    = "provider.test"
	MethodProviderModels  = "provider.models"
)

// Notifications from Runner to host.
const (
	NotifyEvent   = "event"   // core.Event
	NotifyPreview = "preview" // core.Preview
	NotifyResync  = "resync"  // Resync
)

// Requests from Runner to host.
const (
	MethodToolExecute   = "tool.execute"
	MethodToolProbe     = "tool.probe"
	MethodToolCancel    = "tool.cancel"
	MethodPing          = "ping" // both directions
	MethodCredentialGet = "credential.get"
)

// NotifyCancelRequest is sent by a caller that gave up on a request.
const NotifyCancelRequest = "$/cancel_request"

// JSON-RPC error codes of ours. The error's data is a core.FaultInfo.
const (
	ErrOverloaded      = -32001
	ErrFault           = -32000 // any other fault; the code is in data
	ErrCommandConflict = -32010
	ErrNotFound        = -32011
	ErrStaleApproval   = -32012
	ErrBusy            = -32013
	ErrStoreFailed     = -32014
)

// Exit codes of the Runner. Anything else but 0 is a crash.
const (
	// ExitStoreFailed: the database cannot be used; starting again does not
	// help.
	ExitStoreFailed = 3
)

// InitializeParams of runner.initialize.
type InitializeParams struct {
	Protocol int `json:"protocol"`
	// BootNonce is the host's; the Runner answers it.
	BootNonce string `json:"bootNonce"`
}

// InitializeResult of runner.initialize.
type InitializeResult struct {
	Protocol  int    `json:"protocol"`
	BootNonce string `json:"bootNonce"`
	// BootID names this start of the Runner in the store.
	BootID string `json:"bootId"`
	PID    int    `json:"pid"`
}

// ShutdownParams of runner.shutdown.
type ShutdownParams struct {
	DeadlineMs int64 `json:"deadlineMs"`
}

// ProviderConfig is a provider without its secret; it travels with each
// request that needs it, since configurations are the host's.
type ProviderConfig struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is "mock" or "openai_chat" so far.
	Kind string `json:"kind"`
	// Profile tunes a dialect: "", "compatible", "openrouter", "deepseek",
	// "azure", "ollama", "lmstudio", "llamacpp", "mistral", "xai".
	Profile string `json:"profile"`
	BaseURL string `json:"baseUrl"`
	// CredentialRef names the key; empty when the provider needs none.
	CredentialRef string `json:"credentialRef"`
	// ProxyURL is the proxy for this address as the host resolved it; empty
	// for none.
	ProxyURL string `json:"proxyUrl"`
}

// SubmitParams of run.submit.
type SubmitParams struct {
	CommandID core.CommandID `json:"commandId"`
	// SessionID may be empty for a rewrite: a session of its own is made.
	SessionID    core.SessionID  `json:"sessionId"`
	Kind         core.RunKind    `json:"kind"`
	Input        string          `json:"input"`
	Rewrite      *RewriteInput   `json:"rewrite,omitempty"`
	ModelRef     core.ModelRef   `json:"modelRef"`
	Provider     ProviderConfig  `json:"providerConfig"`
	AllowedTools []string        `json:"allowedTools"`
	Budget       core.Budget     `json:"budget"`
	Snapshot     *core.Snapshot  `json:"snapshot,omitempty"`
	Supersedes   core.ProposalID `json:"supersedes"`
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

// SubmitResult of run.submit; sent only after the commit.
type SubmitResult struct {
	RunID     core.RunID     `json:"runId"`
	SessionID core.SessionID `json:"sessionId"`
	State     core.RunState  `json:"state"`
}

// CancelParams of run.cancel.
type CancelParams struct {
	CommandID core.CommandID `json:"commandId"`
	RunID     core.RunID     `json:"runId"`
}

// CancelResult of run.cancel: the persisted receipt.
type CancelResult struct {
	RunID core.RunID `json:"runId"`
	// Receipt is accepted or already_terminal.
	Receipt string        `json:"receipt"`
	State   core.RunState `json:"state"`
}

// RunGetParams of run.get.
type RunGetParams struct {
	RunID core.RunID `json:"runId"`
}

// SessionGetParams of session.get.
type SessionGetParams struct {
	SessionID core.SessionID `json:"sessionId"`
}

// SessionGetResult of session.get: a session and its complete messages.
type SessionGetResult struct {
	Session  core.Session   `json:"session"`
	Messages []core.Message `json:"messages"`
}

// ChatParams of model.chat: one answer, without session, tools or record.
type ChatParams struct {
	ModelRef core.ModelRef  `json:"modelRef"`
	Provider ProviderConfig `json:"providerConfig"`
	Messages []core.Message `json:"messages"`
}

// ChatResult of model.chat.
type ChatResult struct {
	Text   string      `json:"text"`
	Finish core.Finish `json:"finish"`
	Usage  core.Usage  `json:"usage"`
}

// ProposalGetParams of proposal.get; the result is a core.Proposal.
type ProposalGetParams struct {
	ProposalID core.ProposalID `json:"proposalId"`
}

// ProposalDecideParams of proposal.decide.
type ProposalDecideParams struct {
	CommandID  core.CommandID      `json:"commandId"`
	ProposalID core.ProposalID     `json:"proposalId"`
	Hunks      []core.HunkDecision `json:"hunks"`
	// AppliedVersion is the document's version after the transaction.
	AppliedVersion int `json:"appliedVersion"`
}

// ProposalDecideResult of proposal.decide.
type ProposalDecideResult struct {
	State core.ProposalState `json:"state"`
}

// SubscribeParams of events.subscribe.
type SubscribeParams struct {
	// AfterSeq is the client's cursor; 0 for none. The Runner answers with the
	// state at SnapshotSeq and then sends every event with a greater seq.
	AfterSeq int64            `json:"afterSeq"`
	Sessions []core.SessionID `json:"sessions,omitempty"`
}

// SubscribeResult of events.subscribe: the state at a cursor.
type SubscribeResult struct {
	Snapshot    core.State `json:"snapshot"`
	SnapshotSeq int64      `json:"snapshotSeq"`
	// Events are those after AfterSeq up to SnapshotSeq, when AfterSeq > 0 and
	// there are at most 1,000 of them; else empty.
	Events []core.Event `json:"events"`
}

// Resync tells a lagging client to subscribe again after Seq.
type Resync struct {
	Seq int64 `json:"seq"`
}

// CredentialParams of credential.get.
type CredentialParams struct {
	CredentialRef string `json:"credentialRef"`
}

// CredentialResult of credential.get. Held in memory only.
type CredentialResult struct {
	Secret string `json:"secret"`
}

// ToolExecuteParams of tool.execute.
type ToolExecuteParams struct {
	ToolCallID  core.ToolCallID `json:"toolCallId"`
	Name        string          `json:"name"`
	Input       json.RawMessage `json:"input"`
	InputDigest string          `json:"inputDigest"`
	DeadlineMs  int64           `json:"deadlineMs"`
}

// ToolExecuteResult of tool.execute.
type ToolExecuteResult struct {
	Text       string `json:"text"`
	IsError    bool   `json:"isError"`
	PreDigest  string `json:"preDigest"`
	PostDigest string `json:"postDigest"`
}

// ProviderTestParams of provider.test and provider.models.
type ProviderTestParams struct {
	Provider ProviderConfig `json:"providerConfig"`
	Model    string         `json:"model"`
}

// ProviderModelsResult of provider.test and provider.models.
type ProviderModelsResult struct {
	// URL is the final address a chat request goes to.
	URL    string   `json:"url"`
	Models []string `json:"models"`
}
