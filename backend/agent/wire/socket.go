package wire

import "galley/backend/agent/core"

// Over the attach socket further clients of a home speak the same protocol to
// the process that holds its agent. What differs is here and in
// docs/PROTOCOL.md: a client greets first, names a model instead of giving a
// provider, and is asked nothing.

// MethodHello is the first request of a client of the socket.
const MethodHello = "hello"

// NotifyRunner tells a client of the socket where the Runner stands; its
// params are a RunnerStatus.
const NotifyRunner = "runner.changed"

// ClientKind says what kind of program is at one end of the socket.
type ClientKind string

// The kinds of program.
const (
	ClientWindow  ClientKind = "window"
	ClientCommand ClientKind = "command"
	ClientOther   ClientKind = "other"
)

// Valid reports whether k is one of the kinds.
func (k ClientKind) Valid() bool {
	return k == ClientWindow || k == ClientCommand || k == ClientOther
}

// HelloParams of hello.
type HelloParams struct {
	Protocol int        `json:"protocol"`
	Kind     ClientKind `json:"kind"`
	// Version is that of the client, for the log.
	Version string `json:"version"`
}

// HelloResult of hello: who holds the agent.
type HelloResult struct {
	Protocol int          `json:"protocol"`
	Kind     ClientKind   `json:"kind"`
	Version  string       `json:"version"`
	PID      int          `json:"pid"`
	Runner   RunnerStatus `json:"runner"`
}

// RunnerStatus is where the Runner of the holder stands.
type RunnerStatus struct {
	// Status is starting, ready, stopped or failed.
	Status string `json:"status"`
	// Code is the fault behind stopped and failed; empty otherwise.
	Code string `json:"code"`
	// PID is 0 when there is no process.
	PID int `json:"pid"`
	// Restarts counts those since the holder's start.
	Restarts int `json:"restarts"`
}

// TaskParams of run.submit and run.continue over the socket. The holder adds
// the provider, the policy and the document; the result is a SubmitResult.
type TaskParams struct {
	CommandID core.CommandID `json:"commandId"`
	// SessionID may be empty for a new session; it is for run.continue, whose
	// session is that of the run it continues.
	SessionID core.SessionID `json:"sessionId"`
	// FromRunID is the run that is continued; empty for run.submit.
	FromRunID core.RunID `json:"fromRunId"`
	// Input is what the person asks; empty for run.continue.
	Input string `json:"input"`
	// ModelRef names what is configured with the holder; empty fields mean its
	// settings.
	ModelRef core.ModelRef `json:"modelRef"`
	// AllowedTools are those of core.ConversationTools that the run may use;
	// nil means all of them, an empty list none.
	AllowedTools []string    `json:"allowedTools"`
	Budget       core.Budget `json:"budget"`
	// Policy can tighten what the person set, and nothing else.
	Policy core.Policy `json:"policy,omitempty"`
	// Language is a BCP 47 tag; empty means the holder's.
	Language string `json:"language"`
	// Folder and File are absolute paths that the person named for this run:
	// its tools may reach the folder, and the file is its document. Empty for
	// none.
	Folder string `json:"folder"`
	File   string `json:"file"`
}
