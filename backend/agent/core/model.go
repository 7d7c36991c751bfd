package core

import (
	"context"
	"encoding/json"
)

// Role is who speaks in a Message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// PartType tells the parts of a Message apart.
type PartType string

// The types of part.
const (
	PartText       PartType = "text"
	PartReasoning  PartType = "reasoning"
	PartToolCall   PartType = "tool_call"
	PartToolResult PartType = "tool_result"
)

// Part is one piece of a Message; Type says which fields are set.
type Part struct {
	Type PartType `json:"type"`
	// Text of a text or reasoning part, or of a tool result.
	Text string `json:"text,omitempty"`
	// ToolCallID is our own id of the call (tool_call, tool_result).
	ToolCallID ToolCallID `json:"toolCallId,omitempty"`
	// ProviderCallID is the provider's id of the call; may be empty.
	ProviderCallID string `json:"providerCallId,omitempty"`
	// Name of the tool (tool_call, tool_result).
	Name string `json:"name,omitempty"`
	// Input of a tool call, as JSON.
	Input json.RawMessage `json:"input,omitempty"`
	// IsError marks a tool result the model should read as a failure.
	IsError bool `json:"isError,omitempty"`
	// Envelope is opaque provider data that belongs to this part (K2).
	Envelope *Envelope `json:"-"`
}

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Envelope keeps opaque data of a provider exactly as it came. It goes back to
// the same dialect and origin only (AGENT.md, provider layer).
type Envelope struct {
	V       int    `json:"v"`
	Dialect string `json:"dialect"`
	// Origin is the base URL host and the model family it came from.
	Origin string `json:"origin"`
	Raw    []byte `json:"raw"`
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Request is one request to a model.
type Request struct {
	Model    string
	System   string
	Messages []Message
	Tools    []ToolSpec
	// MaxOutputTokens limits the answer; 0 leaves it to the provider.
	MaxOutputTokens int
	// PromptTokensEstimate is what we think the prompt costs; 0: unknown.
	PromptTokensEstimate int
	// Temperature of the sampling; nil leaves it to the provider.
	Temperature *float64
	// Effort is how much the model should think, one of the Effort values; ""
	// leaves it to the provider.
	Effort string
	// Known is what is known of the model, from whom it may be; the zero value
	// for nothing. A dialect that has to say how long an answer may be says no
	// more than that.
	Known Capabilities
	// Refused are optional parameters, by their names on the wire, that this
	// model is known to refuse: they are left out, and a limit that has another
	// name takes that.
	Refused []string
}

// Delta is a streamed piece of an answer. At least one field is set.
type Delta struct {
	Text      string
	Reasoning string
}

// Finish says how a whole answer ended.
type Finish string

// The finishes. FinishToolCalls and FinishContentFilter are of one step; the
// others are also a StopReason of a run.
const (
	FinishEndTurn       Finish = "end_turn"
	FinishMaxTokens     Finish = "max_tokens"
	FinishRefusal       Finish = "refusal"
	FinishToolCalls     Finish = "tool_calls"
	FinishContentFilter Finish = "content_filter"
)

// AnswerCall is a tool call of a whole answer.
type AnswerCall struct {
	// ID is our own, unique in the answer and stable for the stream.
	ID string
	// ProviderID is the provider's; empty when it gave none.
	ProviderID string
	Name       string
	// Arguments is a JSON object; nil when Invalid.
	Arguments json.RawMessage
	// Raw is what came; set when Invalid, since it is no JSON.
	Raw     string
	Invalid bool
}

// Answer is what a model said. When Stream returns an error, Answer holds what
// had come: Text and Reasoning only, never calls.
type Answer struct {
	Text      string
	Reasoning string
	// Refusal holds the words of a refusal where the dialect has its own field.
	Refusal   string
	Calls     []AnswerCall
	Finish    Finish
	Usage     Usage
	Envelopes []Envelope
	// Clipped warns that a local server silently cut the prompt.
	Clipped bool
}

// UsageKind says how far token counts can be trusted.
type UsageKind string

// The kinds of usage.
const (
	UsageExact     UsageKind = "exact"
	UsageEstimated UsageKind = "estimated"
	UsageUnknown   UsageKind = "unknown"
)

// Usage counts tokens. With Kind unknown or empty the numbers mean nothing.
type Usage struct {
	Kind      UsageKind `json:"kind"`
	Input     int       `json:"input"`
	Output    int       `json:"output"`
	Cached    int       `json:"cached"`
	Reasoning int       `json:"reasoning"`
}

// Model streams answers. Implementations live in backend/provider.
type Model interface {
	// Stream sends one request and blocks until the answer is whole, the
	// stream failed, or ctx ended. It calls onDelta in order, from one
	// goroutine, before it returns. Failures are *fault.Error; a cancelled ctx
	// gives fault.Cancelled. It never retries.
	Stream(ctx context.Context, req Request, onDelta func(Delta)) (Answer, error)
}
