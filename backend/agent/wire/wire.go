// Package wire is the contract between host and Runner: method names,
// parameters, results and the protocol version. It holds types, and the numbers of faults.
//
// The transport is JSON-RPC 2.0 over the Runner's stdio, one JSON value a line
// (LF), at most [MaxLine] bytes a line.
//
// Everything in a request is looked at before anything happens; what does not
// fit is invalid_input, with the name of the field as its detail. Identifiers
// have 1 to 200 bytes and no blanks, names and titles at most 500 bytes in one
// line, paths and URIs at most 16 KiB; what a person says has at most 1 MiB. A
// member that is not known is left alone.
//
// A request that changes something carries a command id: sent again with the
// same input it has the effect of one and gives its result; with another input
// it is command_conflict. An answer means that the change is committed.
//
// An answer that would not fit into a line is cut; where that can happen the
// result says so.
package wire

import (
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// Protocol is the version both sides must agree on in runner.initialize.
const Protocol = 1

// MaxLine is the longest line in bytes, without its LF.
const MaxLine = 8 << 20

// MaxWhole is the longest [core.ToolResult].Whole in bytes, and MaxWholeLine the
// most it may take of a line: with the text beside it a line holds both.
const (
	MaxWhole     = 4 << 20
	MaxWholeLine = 6 << 20
)

// Requests from host to Runner.
const (
	MethodInitialize      = "runner.initialize"
	MethodShutdown        = "runner.shutdown"
	MethodSessionCreate   = "session.create"
	MethodSessionList     = "session.list"
	MethodSessionGet      = "session.get"
	MethodSessionChange   = "session.change"
	MethodSessionDelete   = "session.delete"
	MethodSessionEvents   = "session.events"
	MethodRunSubmit       = "run.submit"
	MethodRunGet          = "run.get"
	MethodRunList         = "run.list"
	MethodRunDetail       = "run.detail"
	MethodRunCancel       = "run.cancel"
	MethodRunContinue     = "run.continue"
	MethodModelChat       = "model.chat"
	MethodApprovalDecide  = "approval.decide"
	MethodProposalDecide  = "proposal.decide"
	MethodProposalGet     = "proposal.get"
	MethodToolGet         = "tool.get"
	MethodToolReconcile   = "tool.reconcile"
	MethodContextExplain  = "context.explain"
	MethodArtifactGet     = "artifact.get"
	MethodStoreBackup     = "store.backup"
	MethodEventsSubscribe = "events.subscribe"
	MethodProviderTest    = "provider.test"
	MethodProviderModels  = "provider.models"
	MethodModelDescribe   = "model.describe"
	MethodModelForget     = "model.forget"
	MethodSendLogList     = "sendlog.list"
	MethodSendLogGet      = "sendlog.get"
	MethodSendLogClear    = "sendlog.clear"
)

// Notifications from Runner to host.
const (
	NotifyEvent   = "event"   // core.Event
	NotifyPreview = "preview" // core.Preview
	NotifyResync  = "resync"  // Resync
)

// Requests from Runner to host.
const (
	MethodToolPrepare   = "tool.prepare"
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
	// ExitDiskFull: the same, since the disk under it takes no more.
	ExitDiskFull = 8
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

// ShutdownParams of runner.shutdown. The Runner answers, takes nothing more in,
// cancels what is active, records it, and ends; its end is that of the
// connection.
type ShutdownParams struct {
	// DeadlineMs is how long that may take, in ms from now; at most 5,000
	// counts.
	DeadlineMs int64 `json:"deadlineMs"`
}

// PingParams of ping. The answer is an empty object.
type PingParams struct {
	// SleptMs is how long the machine slept since the last ping, when the host
	// saw that it did: requests and children are to be looked at. 0 otherwise.
	SleptMs int64 `json:"sleptMs"`
}

// ProviderConfig is a provider without its secret; it travels with each
// request that needs it, since configurations are the host's.
type ProviderConfig struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is one of those of provider/endpoint.
	Kind string `json:"kind"`
	// Profile tunes a dialect: "", "compatible", "openrouter", "deepseek",
	// "azure", "ollama", "lmstudio", "llamacpp", "mistral", "xai".
	Profile string `json:"profile"`
	BaseURL string `json:"baseUrl"`
	// CredentialRef names the key; empty when the provider needs none.
	CredentialRef string `json:"credentialRef"`
	// ProxyURL is the proxy for this address as the host resolved it, without a
	// user name; empty for none.
	ProxyURL string `json:"proxyUrl"`
	// ProxyUser is the name that the proxy knows the person by, and
	// ProxyCredentialRef names the password; empty for none.
	ProxyUser          string `json:"proxyUser"`
	ProxyCredentialRef string `json:"proxyCredentialRef"`
	// ExtraCA holds certificates, as PEM, that are trusted besides those of the
	// system; empty for none.
	ExtraCA string `json:"extraCa"`
	// Record keeps what leaves in the send log (K9).
	Record bool `json:"record"`
	// Temperature, MaxOutputTokens and Effort are those of core.Request.
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxOutputTokens int      `json:"maxOutputTokens"`
	Effort          string   `json:"effort"`
}

// SubmitParams of run.submit.
type SubmitParams struct {
	CommandID core.CommandID `json:"commandId"`
	// SessionID may be empty for a rewrite: a session of its own is made.
	SessionID core.SessionID `json:"sessionId"`
	Kind      core.RunKind   `json:"kind"`
	// Input is what the person says; only for a conversation.
	Input string `json:"input"`
	// Rewrite and Snapshot are needed for a rewrite.
	Rewrite  *RewriteInput  `json:"rewrite,omitempty"`
	ModelRef core.ModelRef  `json:"modelRef"`
	Provider ProviderConfig `json:"providerConfig"`
	// AllowedTools are the names of the tools that the run may call (T8):
	// those of core.ConversationTools, with the mock provider also those of
	// core.DevelopmentTools. A rewrite has none.
	AllowedTools []string `json:"allowedTools"`
	// Budget's zero fields are defaults.
	Budget     core.Budget     `json:"budget"`
	Snapshot   *core.Snapshot  `json:"snapshot,omitempty"`
	Supersedes core.ProposalID `json:"supersedes"`
	// Policy holds what the person set per permission; nil for the defaults.
	Policy core.Policy `json:"policy,omitempty"`
	// ContextTokens is how many tokens the model takes; 0 when not known.
	ContextTokens int `json:"contextTokens"`
	// Language is the interface's BCP 47 tag ("en", "zh").
	Language string `json:"language"`
	// WorkspaceID is the path of the folder that the session belongs to; empty
	// for none.
	WorkspaceID string `json:"workspaceId"`
}

// ContinueParams of run.continue: a new run that goes on where an interrupted,
// failed or cancelled one ended, and is told the truth about it. It takes what
// run.submit takes, but kind and input. The result is a SubmitResult. A run that
// has not ended, that succeeded, or that is a rewrite is invalid_input.
type ContinueParams struct {
	CommandID     core.CommandID `json:"commandId"`
	FromRunID     core.RunID     `json:"fromRunId"`
	ModelRef      core.ModelRef  `json:"modelRef"`
	Provider      ProviderConfig `json:"providerConfig"`
	AllowedTools  []string       `json:"allowedTools"`
	Budget        core.Budget    `json:"budget"`
	Snapshot      *core.Snapshot `json:"snapshot,omitempty"`
	Policy        core.Policy    `json:"policy,omitempty"`
	ContextTokens int            `json:"contextTokens"`
	Language      string         `json:"language"`
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

// RunListParams of run.list; the result is a []core.Run, newest first.
type RunListParams struct {
	// Limit is 1 to 1,000.
	Limit int `json:"limit"`
}

// SessionListParams of session.list; the result is []core.Session, never null.
// Archived asks for the conversations that are archived, the last 200 that were,
// in the place of the sessions of the state.
type SessionListParams struct {
	Archived bool `json:"archived"`
}

// SessionGetParams of session.get.
type SessionGetParams struct {
	SessionID core.SessionID `json:"sessionId"`
}

// SessionCreateParams of session.create; the result is a core.Session.
type SessionCreateParams struct {
	CommandID   core.CommandID `json:"commandId"`
	Title       string         `json:"title"`
	WorkspaceID string         `json:"workspaceId"`
	DocURI      string         `json:"docUri"`
	ModelRef    core.ModelRef  `json:"modelRef"`
}

// SessionChangeParams of session.change; the result is a core.Session. A field
// that is absent stays.
type SessionChangeParams struct {
	CommandID core.CommandID `json:"commandId"`
	SessionID core.SessionID `json:"sessionId"`
	Title     *string        `json:"title,omitempty"`
	Archived  *bool          `json:"archived,omitempty"`
}

// SessionDeleteParams of session.delete.
type SessionDeleteParams struct {
	CommandID core.CommandID `json:"commandId"`
	SessionID core.SessionID `json:"sessionId"`
}

// SessionEventsParams of session.events: a page of a session's events, from
// which its history can be replayed.
type SessionEventsParams struct {
	SessionID core.SessionID `json:"sessionId"`
	AfterSeq  int64          `json:"afterSeq"`
	// Limit is 1 to 1,000.
	Limit int `json:"limit"`
}

// SessionEventsResult of session.events. An answer is cut before it is too
// long for a line: More then says so.
type SessionEventsResult struct {
	Events []core.Event `json:"events"`
	More   bool         `json:"more"`
}

// ApprovalDecideParams of approval.decide; the result is a core.Approval. An
// answer that is late, repeated by another command, or about another call or
// input is stale_approval (T5).
type ApprovalDecideParams struct {
	CommandID   core.CommandID  `json:"commandId"`
	ApprovalID  core.ApprovalID `json:"approvalId"`
	ToolCallID  core.ToolCallID `json:"toolCallId"`
	InputDigest string          `json:"inputDigest"`
	Decision    core.Decision   `json:"decision"`
}

// ToolGetParams of tool.get; the result is a core.ToolCall.
type ToolGetParams struct {
	ToolCallID core.ToolCallID `json:"toolCallId"`
}

// ToolReconcileParams of tool.reconcile: what a person found out about a call
// whose outcome is unknown. Verdict is applied or absent.
type ToolReconcileParams struct {
	CommandID  core.CommandID   `json:"commandId"`
	ToolCallID core.ToolCallID  `json:"toolCallId"`
	Verdict    core.ToolVerdict `json:"verdict"`
}

// ContextExplainParams of context.explain; the result is a
// []core.ContextReport, one for each request of the run.
type ContextExplainParams struct {
	RunID core.RunID `json:"runId"`
}

// ArtifactGetParams of artifact.get.
type ArtifactGetParams struct {
	ArtifactID core.ArtifactID `json:"artifactId"`
	// Offset and Limit are in bytes; Limit is at most 1 MiB.
	Offset int64 `json:"offset"`
	Limit  int   `json:"limit"`
}

// ArtifactGetResult of artifact.get. Text begins and ends at whole characters.
type ArtifactGetResult struct {
	Artifact core.Artifact `json:"artifact"`
	Text     string        `json:"text"`
	// Next is the offset that follows; 0 at the end.
	Next int64 `json:"next"`
}

// BackupParams of store.backup. Path is absolute; what is there is replaced
// only when the copy is whole.
type BackupParams struct {
	Path string `json:"path"`
}

// SessionGetResult of session.get: a session and its messages, also those that
// broke off.
type SessionGetResult struct {
	Session  core.Session            `json:"session"`
	Messages []core.MessageCommitted `json:"messages"`
	// Omitted is how many of the oldest messages are left out since they do not
	// fit into a line; session.events has them.
	Omitted int `json:"omitted"`
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
	AfterSeq int64 `json:"afterSeq"`
	// Sessions limit state, events and previews to some sessions, and to what
	// belongs to none; nil means all. A later subscription takes the place of
	// an earlier one.
	Sessions []core.SessionID `json:"sessions,omitempty"`
}

// SubscribeResult of events.subscribe: the state at a cursor.
type SubscribeResult struct {
	Snapshot    core.State `json:"snapshot"`
	SnapshotSeq int64      `json:"snapshotSeq"`
	// Events are those after AfterSeq up to SnapshotSeq, when AfterSeq > 0, there
	// are at most 1,000 of them and they fit into the line; else empty.
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

// ToolCallRef says which call a tool request is about, and of which run. The
// host finds what the run was given (document, folder) by its command.
type ToolCallRef struct {
	CommandID  core.CommandID  `json:"commandId"`
	RunID      core.RunID      `json:"runId"`
	SessionID  core.SessionID  `json:"sessionId"`
	ToolCallID core.ToolCallID `json:"toolCallId"`
}

// ToolPrepareParams of tool.prepare; the result is a core.Prepared. It has no
// effect.
type ToolPrepareParams struct {
	ToolCallRef
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolExecuteParams of tool.execute; the result is a core.ToolResult. The same
// call is never sent twice.
type ToolExecuteParams struct {
	ToolCallRef
	Name        string          `json:"name"`
	Input       json.RawMessage `json:"input"`
	InputDigest string          `json:"inputDigest"`
	// Intent is what was stored before.
	Intent core.Intent `json:"intent"`
	// DeadlineMs is how long it may take, in ms from now.
	DeadlineMs int64 `json:"deadlineMs"`
	// MaxBytes bounds the text of the result.
	MaxBytes int `json:"maxBytes"`
	// WholeBytes bounds the whole that comes beside a text which is a part of
	// it; at most [MaxWhole]. Without room for more than MaxBytes none comes.
	WholeBytes int `json:"wholeBytes"`
}

// ToolCancelParams of tool.cancel: stop if that is still possible. The answer
// of tool.execute says what happened; the Runner waits 2 s for it and then
// records that nobody knows. One that comes later is recorded beside that.
type ToolCancelParams struct {
	ToolCallID core.ToolCallID `json:"toolCallId"`
}

// ToolProbeParams of tool.probe: what became of a call of an earlier start.
type ToolProbeParams struct {
	ToolCallRef
	Name   string      `json:"name"`
	Intent core.Intent `json:"intent"`
}

// ToolProbeResult of tool.probe.
type ToolProbeResult struct {
	Verdict core.ToolVerdict `json:"verdict"`
}

// ProviderTestParams of provider.test and provider.models.
type ProviderTestParams struct {
	Provider ProviderConfig `json:"providerConfig"`
	Model    string         `json:"model"`
}

// ProviderModelsResult of provider.test and provider.models.
type ProviderModelsResult struct {
	// URL is the final address a request for an answer goes to.
	URL string `json:"url"`
	// Models are what the provider offers, in its order; never nil. Where they
	// could not be listed after a test that went well, ModelsCode says why.
	Models     []core.ModelInfo `json:"models"`
	ModelsCode fault.Code       `json:"modelsCode"`
	// Answer is what the model of a test said, at most 200 characters; the times
	// are from the sending to the first token and to the whole answer, in ms.
	Answer       string     `json:"answer"`
	FirstTokenMs int64      `json:"firstTokenMs"`
	TotalMs      int64      `json:"totalMs"`
	Usage        core.Usage `json:"usage"`
}

// ModelParams of model.describe and model.forget.
type ModelParams struct {
	Provider ProviderConfig `json:"providerConfig"`
	Model    string         `json:"model"`
	// ContextTokens is what the person set of the model; 0 for nothing.
	ContextTokens int `json:"contextTokens"`
	// Ask has the endpoint tell of the model first, unless it did so today;
	// without it nothing is sent. model.forget never asks.
	Ask bool `json:"ask"`
}

// ModelDescribeResult of model.describe and model.forget: what is known of a
// model, and the facts that were learned or asked, newest first.
type ModelDescribeResult struct {
	Capabilities core.Capabilities `json:"capabilities"`
	Facts        []core.Fact       `json:"facts"`
}

// Send is an entry of the send log: a request that left for a provider (K9).
type Send struct {
	ID int64 `json:"id"`
	// AtMs and EndedAtMs are in ms since 1970; EndedAtMs is 0 when the end was
	// not seen.
	AtMs      int64 `json:"atMs"`
	EndedAtMs int64 `json:"endedAtMs"`
	// ProviderID and ProviderName are those of the configuration at the time.
	ProviderID   string `json:"providerId"`
	ProviderName string `json:"providerName"`
	Model        string `json:"model"`
	// Purpose is conversation, rewrite, chat, test, models or describe.
	Purpose   string         `json:"purpose"`
	SessionID core.SessionID `json:"sessionId"`
	RunID     core.RunID     `json:"runId"`
	Method    string         `json:"method"`
	URL       string         `json:"url"`
	// Proxy is the host of the proxy it went through; "" for none.
	Proxy string `json:"proxy"`
	// SentBytes is the length of the body that left; ReceivedBytes that of the
	// answer's body.
	SentBytes     int64 `json:"sentBytes"`
	ReceivedBytes int64 `json:"receivedBytes"`
	// Status is that of HTTP, 0 for none; Code is the fault, "" for none. With
	// an end that was not seen it is interrupted when the Runner that sent it is
	// gone, so that none can come any more; before that it is on its way.
	Status int        `json:"status"`
	Code   fault.Code `json:"code"`
	// HasBody is false when the body was empty, or went with its session.
	HasBody bool `json:"hasBody"`
}

// SendListParams of sendlog.list: the entries before BeforeID, newest first; 0
// for the newest. Limit is 1 to 200.
type SendListParams struct {
	BeforeID int64 `json:"beforeId"`
	Limit    int   `json:"limit"`
}

// SendListResult of sendlog.list and sendlog.clear.
type SendListResult struct {
	Sends []Send `json:"sends"`
	// Count and Bytes are those of the whole log; Bytes as it lies on the disk.
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	// KeptDays and KeptBytes are the bounds after which the oldest go.
	KeptDays  int   `json:"keptDays"`
	KeptBytes int64 `json:"keptBytes"`
}

// SendGetParams of sendlog.get: at most Limit bytes of the body from Offset, in
// bytes; Limit is 1 to 1 MiB. A character is never cut.
type SendGetParams struct {
	ID     int64 `json:"id"`
	Offset int64 `json:"offset"`
	Limit  int   `json:"limit"`
}

// SendGetResult of sendlog.get.
type SendGetResult struct {
	Send Send   `json:"send"`
	Body string `json:"body"`
	// NextOffset is where the rest begins; 0 when there is none.
	NextOffset int64 `json:"nextOffset"`
}

// SendClearParams of sendlog.clear: the entries up to UpToID, so that what came
// since the person looked stays; 0 clears all.
type SendClearParams struct {
	UpToID int64 `json:"upToId"`
}
