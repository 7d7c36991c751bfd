package core

// Known is what is known of a question: yes, no, or nothing yet.
type Known string

// The answers.
const (
	KnownNot Known = ""
	KnownYes Known = "yes"
	KnownNo  Known = "no"
)

// Source says where a fact of a model comes from. A later one in this list goes
// before an earlier one.
type Source string

// The sources.
const (
	SourceNone Source = ""
	// SourceKnown: the program's own table of well-known models.
	SourceKnown Source = "known"
	// SourceAsked: the endpoint told.
	SourceAsked Source = "asked"
	// SourceLearned: a request was refused for it.
	SourceLearned Source = "learned"
	// SourceSet: the person.
	SourceSet Source = "set"
)

// Capabilities are what a model can do (K10).
type Capabilities struct {
	// ContextTokens is how many tokens prompt and answer have together; 0 when
	// not known. ContextSource says who said so.
	ContextTokens int    `json:"contextTokens"`
	ContextSource Source `json:"contextSource"`
	// MaxOutputTokens is the longest answer; 0 when not known.
	MaxOutputTokens int `json:"maxOutputTokens"`
	// Tools: the model can call tools. StreamedArguments: their arguments come
	// in pieces. Reasoning: it thinks before it answers.
	Tools             Known `json:"tools"`
	StreamedArguments Known `json:"streamedArguments"`
	Reasoning         Known `json:"reasoning"`
}

// Over returns c with what it does not know taken from the weaker d.
func (c Capabilities) Over(d Capabilities) Capabilities {
	if c.ContextTokens == 0 {
		c.ContextTokens, c.ContextSource = d.ContextTokens, d.ContextSource
	}
	if c.MaxOutputTokens == 0 {
		c.MaxOutputTokens = d.MaxOutputTokens
	}
	for _, k := range []struct {
		own  *Known
		weak Known
	}{{&c.Tools, d.Tools}, {&c.StreamedArguments, d.StreamedArguments}, {&c.Reasoning, d.Reasoning}} {
		if *k.own == KnownNot {
			*k.own = k.weak
		}
	}
	return c
}

// ModelInfo is a model that a provider offers.
type ModelInfo struct {
	// ID is what a request names; never empty.
	ID string `json:"id"`
	// Name is what the provider calls it for people; may be empty.
	Name string `json:"name"`
	Capabilities
}

// Fact is one thing that was learned or asked of a model. Facts belong to an
// address as well: the same model elsewhere may be different.
type Fact struct {
	// Name is one of the Fact names, or FactParam with the name of a parameter
	// on the wire.
	Name string `json:"name"`
	// Value is "no" or "yes" of what a model can do, a number of tokens, or
	// "refused" of a parameter.
	Value  string `json:"value"`
	Source Source `json:"source"`
	// AtMs is when, in ms since 1970.
	AtMs int64 `json:"atMs"`
}

// The names of facts.
const (
	FactContextTokens     = "context_tokens"
	FactMaxOutputTokens   = "max_output_tokens"
	FactTools             = "tools"
	FactStreamedArguments = "streamed_arguments"
	FactReasoning         = "reasoning"
	// FactParam goes before the name of a parameter that was refused.
	FactParam = "param:"
)

// FactRefused is the value of a parameter that the model does not take.
const FactRefused = "refused"

// The values of Request.Effort.
const (
	EffortNone   = "none"
	EffortLow    = "low"
	EffortMedium = "medium"
	EffortHigh   = "high"
)
