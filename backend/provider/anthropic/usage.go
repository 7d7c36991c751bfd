package anthropic

import (
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// The counts of a usage object that are read.
const (
	countInput = iota
	countCreated
	countCached
	countOutput
	countThinking
	counts
)

// usage holds the last word on each count, and which were given at all.
type usage struct {
	n     [counts]int
	given [counts]bool
}

// read takes in a usage object: what it names replaces what was there, or with
// replace false only fills in what was not (decisions 7 and 19).
func (u *usage) read(raw json.RawMessage, replace bool) {
	m := dialect.Object(raw)
	for i, field := range [counts]json.RawMessage{
		countInput:    m["input_tokens"],
		countCreated:  m["cache_creation_input_tokens"],
		countCached:   m["cache_read_input_tokens"],
		countOutput:   m["output_tokens"],
		countThinking: dialect.Object(m["output_tokens_details"])["thinking_tokens"],
	} {
		if n, ok := dialect.Count(field); ok && (replace || !u.given[i]) {
			u.n[i], u.given[i] = n, true
		}
	}
}

// total returns the usage of the answer. What was read is the three kinds of
// input together (decision 19); what was never given is unknown (decision 20).
func (u *usage) total() core.Usage {
	if !u.given[countInput] && !u.given[countCreated] && !u.given[countCached] && !u.given[countOutput] {
		return core.Usage{Kind: core.UsageUnknown}
	}
	return core.Usage{
		Kind:      core.UsageExact,
		Input:     u.n[countInput] + u.n[countCreated] + u.n[countCached],
		Output:    u.n[countOutput],
		Cached:    u.n[countCached],
		Reasoning: u.n[countThinking],
	}
}
