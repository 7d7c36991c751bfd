package provider

// EffortForm is how a server wants to be told how much a model should think.
type EffortForm string

// The forms.
const (
	// EffortPlain is reasoning_effort with the word as it is.
	EffortPlain EffortForm = ""
	// EffortObject is {"reasoning": {"effort": …}}.
	EffortObject EffortForm = "object"
	// EffortThinking is {"thinking": {"type": "enabled"}} and reasoning_effort
	// beside it, or "disabled" alone.
	EffortThinking EffortForm = "thinking"
	// EffortSwitch is reasoning_effort with "none" and "high" only.
	EffortSwitch EffortForm = "switch"
)

// Profile is what servers of the chat dialect differ in. The zero value is
// that of OpenAI itself.
type Profile struct {
	// Local says that the server runs on the person's own machine, so that its
	// first token may take any time and its context may be small.
	Local bool
	// Think says that thinking may come as tags in the text (decision 18).
	Think bool
	// EmptyContent says that a turn with calls and no text sends "" where null
	// is refused.
	EmptyContent bool
	// NoStreamOptions says that stream_options is refused; such servers send
	// usage unasked.
	NoStreamOptions bool
	// LegacyMaxTokens says that the limit is called max_tokens and not
	// max_completion_tokens, as long as no model refuses that.
	LegacyMaxTokens bool
	// Effort is how the effort goes out.
	Effort EffortForm
	// ReasoningBack says that reasoning_content goes back beside tool calls.
	ReasoningBack bool
	// DetailsBack says that reasoning_details go back.
	DetailsBack bool
	// ShortIDs says that the id of a call must be nine letters or digits.
	ShortIDs bool
	// KeyHeader is the header that carries the bare key; empty means
	// "Authorization: Bearer".
	KeyHeader string
	// KeyOptional says that such a server may need no key.
	KeyOptional bool
}

// Profiles are the names that [ProfileOf] knows; "" is the vendor of the dialect
// itself.
func Profiles() []string {
	return []string{"", "compatible", "openrouter", "deepseek", "azure", "ollama", "lmstudio", "llamacpp", "mistral", "xai"}
}

// ProfileOf returns the profile of that name. An unknown name is treated as
// "compatible"; the empty name is OpenAI itself.
func ProfileOf(name string) Profile {
	switch name {
	case "":
		return Profile{}
	case "azure":
		return Profile{KeyHeader: "api-key"}
	case "openrouter":
		return Profile{LegacyMaxTokens: true, DetailsBack: true, Effort: EffortObject}
	case "deepseek":
		return Profile{LegacyMaxTokens: true, ReasoningBack: true, Effort: EffortThinking}
	case "mistral":
		return Profile{LegacyMaxTokens: true, NoStreamOptions: true, ShortIDs: true, Effort: EffortSwitch}
	case "xai":
		return Profile{LegacyMaxTokens: true}
	case "ollama", "lmstudio", "llamacpp":
		return Profile{
			Local: true, Think: true, EmptyContent: true,
			LegacyMaxTokens: true, KeyOptional: true,
		}
	default:
		return Profile{Think: true, LegacyMaxTokens: true, KeyOptional: true}
	}
}
