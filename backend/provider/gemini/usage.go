package gemini

import (
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/provider/dialect"
)

// usageOf reads a usage object (decisions 19 and 20), which leaves zeros out.
// It reports false when the object counts nothing.
func usageOf(raw json.RawMessage) (core.Usage, bool) {
	m := dialect.Object(raw)
	counted := false
	count := func(name string) int {
		n, ok := dialect.Count(m[name])
		counted = counted || ok
		return n
	}
	u := core.Usage{Kind: core.UsageExact}
	u.Input = count("promptTokenCount") + count("toolUsePromptTokenCount")
	u.Reasoning = count("thoughtsTokenCount")
	u.Output = count("candidatesTokenCount") + u.Reasoning
	if !counted {
		return core.Usage{}, false
	}
	u.Cached = count("cachedContentTokenCount")
	return u, true
}
