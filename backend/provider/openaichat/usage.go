package openaichat

import (
	"encoding/json"
	"math"

	"galley/backend/agent/core"
)

// usageOf reads a usage object (decisions 19 and 20). It reports false when
// the object counts nothing.
func usageOf(raw json.RawMessage) (core.Usage, bool) {
	m := object(raw)
	input, hasInput := count(m["prompt_tokens"])
	output, hasOutput := count(m["completion_tokens"])
	if !hasInput && !hasOutput {
		return core.Usage{}, false
	}
	u := core.Usage{Kind: core.UsageExact, Input: input, Output: output}
	cached, ok := count(object(m["prompt_tokens_details"])["cached_tokens"])
	if !ok {
		cached, _ = count(m["prompt_cache_hit_tokens"])
	}
	u.Cached = cached
	u.Reasoning, _ = count(object(m["completion_tokens_details"])["reasoning_tokens"])
	// Where the total says so, thinking is not within the completion (xAI).
	total, _ := count(m["total_tokens"])
	if u.Reasoning > 0 && total == input+output+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u, true
}

func count(raw json.RawMessage) (int, bool) {
	var f float64
	if isNull(raw) || json.Unmarshal(raw, &f) != nil || f < 0 || f > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// clipped reports whether a local server has read less than three quarters of
// what we think we sent: it has cut the prompt and not said so (decision 21).
func clipped(u core.Usage, estimate int) bool {
	return u.Kind == core.UsageExact && estimate > 0 && 4*u.Input < 3*estimate
}
