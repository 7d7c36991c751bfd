package provider

// Dialect is a language that providers speak. It names itself in an envelope.
type Dialect string

// The dialects.
const (
	Chat      Dialect = "openai-chat"
	Responses Dialect = "openai-responses"
	Messages  Dialect = "anthropic-messages"
	Gemini    Dialect = "gemini"
)
