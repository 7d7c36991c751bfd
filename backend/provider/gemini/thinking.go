package gemini

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"galley/backend/agent/core"
)

// thinkingConfig asks a model to think so much, and to tell of it. It has a
// level or a budget, never both.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	// ThinkingBudget is in tokens; nil for none.
	ThinkingBudget *int `json:"thinkingBudget,omitempty"`
}

// The optional parameters by their names on the wire.
const (
	paramTemperature = "temperature"
	paramMaxOutput   = "maxOutputTokens"
	paramThinking    = "thinkingConfig"
	paramThoughts    = "includeThoughts"
	paramLevel       = "thinkingLevel"
	paramBudget      = "thinkingBudget"
)

// thinker says how a model's thinking is steered.
type thinker int

const (
	thinkUnknown thinker = iota // asked for a level when the person wants one
	thinkNever
	thinkBudget // 2.5
	thinkLevel  // 3 and later
)

var versionPattern = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?`)

// bare is the name of a model without what stands before it.
func bare(model string) string {
	model = strings.ToLower(strings.TrimSpace(model))
	return model[strings.LastIndexByte(model, '/')+1:]
}

// version returns which Gemini a model is; false when its name does not tell.
func version(model string) (major, minor int, ok bool) {
	m := versionPattern.FindStringSubmatch(bare(model))
	if m == nil {
		return 0, 0, false
	}
	major, err := strconv.Atoi(m[1])
	minor, _ = strconv.Atoi(m[2])
	return major, minor, err == nil
}

// isLatest reports whether a name stands for the newest model of its line.
func isLatest(model string) bool {
	return strings.HasPrefix(bare(model), "gemini-") && strings.HasSuffix(bare(model), "-latest")
}

// wantsSignatures reports whether a model refuses calls without a thought
// signature, as those from Gemini 3 on do.
func wantsSignatures(model string) bool {
	major, _, ok := version(model)
	return ok && major >= 3 || !ok && isLatest(model)
}

func thinkerOf(model string) thinker {
	major, minor, ok := version(model)
	switch {
	case ok && major < 2, ok && major == 2 && minor < 5:
		return thinkNever
	case ok && major == 2:
		for _, line := range []string{"-image", "-tts", "-audio"} {
			if strings.Contains(bare(model), line) {
				return thinkNever
			}
		}
		return thinkBudget
	case ok, isLatest(model):
		return thinkLevel
	}
	return thinkUnknown
}

// thinking returns what a request says of thinking; nil for nothing. Models
// that are known to think are asked to tell of it.
func thinking(req core.Request) *thinkingConfig {
	refused := func(name string) bool { return slices.Contains(req.Refused, name) }
	kind := thinkerOf(req.Model)
	if kind == thinkNever || refused(paramThinking) {
		return nil
	}
	var c thinkingConfig
	if req.Effort != "" {
		budget := kind == thinkBudget
		// A model that refuses the one takes the other.
		if budget && refused(paramBudget) || !budget && refused(paramLevel) {
			budget = !budget
		}
		switch {
		case budget && !refused(paramBudget):
			n := budgetOf(req.Effort, req.Model)
			c.ThinkingBudget = &n
		case !budget && !refused(paramLevel):
			c.ThinkingLevel = levelOf(req.Effort, req.Model)
		}
	}
	// Where nothing is thought, asking for thoughts is refused.
	known := kind == thinkBudget || kind == thinkLevel
	c.IncludeThoughts = (known || req.Effort != "") && req.Effort != core.EffortNone && !refused(paramThoughts)
	if c == (thinkingConfig{}) {
		return nil
	}
	return &c
}

// budgetOf returns the tokens for an effort, those that Google's own table of
// efforts has.
func budgetOf(effort, model string) int {
	switch effort {
	case core.EffortNone:
		if strings.Contains(bare(model), "-pro") {
			return 128 // the least: it cannot be turned off
		}
		return 0
	case core.EffortLow:
		return 1024
	case core.EffortMedium:
		return 8192
	default:
		return 24576
	}
}

// levelOf returns the level for an effort. Thinking cannot be turned off: none
// is the least that the model has.
func levelOf(effort, model string) string {
	name := bare(model)
	switch effort {
	case core.EffortNone:
		major, minor, ok := version(model)
		flash := ok && major == 3 && minor < 7 && strings.Contains(name, "-flash")
		if flash || ok && major == 3 && strings.Contains(name, "-flash-lite") {
			return "MINIMAL"
		}
		return "LOW"
	case core.EffortLow:
		return "LOW"
	case core.EffortMedium:
		if strings.HasPrefix(name, "gemini-3-pro") {
			return "HIGH" // it has two levels
		}
		return "MEDIUM"
	default:
		return "HIGH"
	}
}
