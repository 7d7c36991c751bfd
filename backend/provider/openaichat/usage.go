package openaichat

import (
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// usageOf reads a usage object (decisions 19 and 20). It reports false when
// the object counts nothing.
func usageOf(raw json.RawMessage) (core.Usage, bool) {
	m := dialect.Object(raw)
	input, hasInput := dialect.Count(m["prompt_tokens"])
	output, hasOutput := dialect.Count(m["completion_tokens"])
	if !hasInput && !hasOutput {
		return core.Usage{}, false
	}
	u := core.Usage{Kind: core.UsageExact, Input: input, Output: output}
	cached, ok := dialect.Count(dialect.Object(m["prompt_tokens_details"])["cached_tokens"])
	if !ok {
		cached, _ = dialect.Count(m["prompt_cache_hit_tokens"])
	}
	u.Cached = cached
	u.Reasoning, _ = dialect.Count(dialect.Object(m["completion_tokens_details"])["reasoning_tokens"])
	// Where the total says so, thinking is not within the completion (xAI).
	total, _ := dialect.Count(m["total_tokens"])
	if u.Reasoning > 0 && total == input+output+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u, true
}
