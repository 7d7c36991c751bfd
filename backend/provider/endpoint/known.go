package endpoint

import (
	"strings"

	"galley/backend/agent/core"
)

// wellKnown is a model or a family of them. Names are as in [WellKnown]: lower
// case, with hyphens for dots.
type wellKnown struct {
	name string
	// context and output are in tokens; 0 for what is not known.
	context, output  int
	tools, reasoning core.Known
}

const (
	yes = core.KnownYes
	no  = core.KnownNo
	not = core.KnownNot
)

// table holds what the vendors' public pages said in November 2026. Where pages
// differ the smaller number stands: too small a window costs a summary, too
// large a one a refused request. The longest name that fits counts.
var table = []wellKnown{
	// OpenAI.
	{"gpt-5", 400_000, 128_000, yes, yes},
	{"gpt-5-pro", 400_000, 272_000, yes, yes},
	{"gpt-5-chat", 128_000, 16_384, not, no},
	{"gpt-5-1-chat", 128_000, 16_384, not, not},
	{"gpt-5-2-chat", 128_000, 16_384, not, not},
	{"gpt-5-3-chat", 128_000, 16_384, not, not},
	{"gpt-5-4", 1_050_000, 128_000, yes, yes},
	{"gpt-5-4-mini", 400_000, 128_000, yes, yes},
	{"gpt-5-4-nano", 400_000, 128_000, yes, yes},
	{"gpt-5-5", 1_050_000, 128_000, yes, yes},
	{"gpt-5-6", 1_050_000, 128_000, yes, yes},
	{"gpt-4-1", 1_047_576, 32_768, yes, no},
	{"gpt-4o", 128_000, 16_384, yes, no},
	{"gpt-4-turbo", 128_000, 4_096, yes, no},
	{"gpt-4-1106-preview", 128_000, 4_096, yes, no},
	{"gpt-4-0125-preview", 128_000, 4_096, yes, no},
	{"gpt-4-32k", 32_768, 0, yes, no},
	{"gpt-4", 8_192, 8_192, yes, no},
	{"gpt-3-5-turbo", 16_385, 4_096, yes, no},
	{"o1", 200_000, 100_000, yes, yes},
	{"o1-mini", 128_000, 65_536, no, yes},
	{"o1-preview", 128_000, 32_768, no, yes},
	{"o3", 200_000, 100_000, yes, yes},
	{"o3-mini", 200_000, 100_000, yes, yes},
	{"o4-mini", 200_000, 100_000, yes, yes},
	{"gpt-oss", 131_072, 0, yes, yes},
	{"gpt-oss-20b", 131_072, 0, yes, yes},
	{"gpt-oss-120b", 131_072, 0, yes, yes},

	// Anthropic.
	{"claude-3", 200_000, 4_096, yes, no},
	{"claude-3-5", 200_000, 8_192, yes, no},
	{"claude-3-7", 200_000, 64_000, yes, yes},
	{"claude-sonnet-4", 200_000, 64_000, yes, yes},
	{"claude-sonnet-4-6", 1_000_000, 64_000, yes, yes},
	{"claude-sonnet-5", 1_000_000, 128_000, yes, yes},
	{"claude-opus-4", 200_000, 32_000, yes, yes},
	{"claude-opus-4-5", 200_000, 64_000, yes, yes},
	{"claude-opus-4-6", 1_000_000, 128_000, yes, yes},
	{"claude-opus-4-7", 1_000_000, 128_000, yes, yes},
	{"claude-opus-4-8", 1_000_000, 128_000, yes, yes},
	{"claude-opus-5", 1_000_000, 128_000, yes, yes},
	{"claude-fable-5", 1_000_000, 128_000, yes, yes},
	{"claude-haiku-4-5", 200_000, 64_000, yes, yes},

	// Google.
	{"gemini-1-5-flash", 1_048_576, 8_192, yes, no},
	{"gemini-1-5-pro", 2_097_152, 8_192, yes, no},
	{"gemini-2-0-flash", 1_048_576, 8_192, yes, no},
	{"gemini-2-5", 1_048_576, 65_536, yes, yes},
	{"gemini-3", 1_048_576, 65_536, yes, yes},
	{"gemini-4", 1_048_576, 0, yes, yes},

	// DeepSeek.
	{"deepseek-chat", 128_000, 0, yes, not},
	{"deepseek-reasoner", 128_000, 0, yes, yes},
	{"deepseek-v3", 128_000, 0, yes, not},
	{"deepseek-v4", 1_000_000, 384_000, yes, yes},
	{"deepseek-flash", 1_000_000, 384_000, yes, yes},

	// xAI.
	{"grok-3", 131_072, 0, yes, no},
	{"grok-3-mini", 131_072, 0, yes, yes},
	{"grok-4", 256_000, 0, yes, yes},
	{"grok-4-fast", 2_000_000, 0, yes, yes},
	{"grok-4-1-fast", 2_000_000, 0, yes, yes},
	{"grok-4-3", 1_000_000, 0, yes, yes},
	{"grok-4-5", 500_000, 0, yes, yes},
	{"grok-4-20", 1_000_000, 0, yes, yes},
	{"grok-code-fast-1", 256_000, 0, yes, yes},

	// Mistral.
	{"mistral-large", 128_000, 0, yes, no},
	{"mistral-medium", 128_000, 0, yes, not},
	{"mistral-small", 128_000, 0, yes, not},
	{"magistral-small", 40_000, 0, yes, yes},
	{"magistral-medium", 40_000, 0, yes, yes},
	{"ministral-3b", 128_000, 0, yes, no},
	{"ministral-8b", 128_000, 0, yes, no},
	{"open-mistral-nemo", 128_000, 0, yes, no},
	{"devstral-small", 128_000, 0, yes, no},
	{"devstral-medium", 128_000, 0, yes, no},
	{"codestral", 32_000, 0, yes, no},

	// Moonshot and Zhipu.
	{"moonshot-v1-8k", 8_192, 0, yes, no},
	{"moonshot-v1-32k", 32_768, 0, yes, no},
	{"moonshot-v1-128k", 131_072, 0, yes, no},
	{"kimi-k2", 131_072, 0, yes, not},
	{"glm-4", 128_000, 0, yes, not},
	{"glm-4-5", 128_000, 0, yes, yes},
	{"glm-4-6", 200_000, 0, yes, yes},
	{"glm-5", 200_000, 0, yes, yes},
}

// WellKnown returns what the program knows of a model by its name, whoever
// offers it under whatever prefix ("anthropic/claude-opus-4.6"); the zero value
// for one that it does not know. A server on the person's own machine has as
// much room as it was given, so that no window is known there.
func WellKnown(kind, profile, model string) core.Capabilities {
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.ReplaceAll(name, ".", "-")
	var best wellKnown
	for _, w := range table {
		if len(w.name) > len(best.name) && isOf(name, w.name) {
			best = w
		}
	}
	c := core.Capabilities{Tools: best.tools, Reasoning: best.reasoning}
	if !isLocal(profile) && best.context > 0 {
		c.ContextTokens, c.ContextSource, c.MaxOutputTokens = best.context, core.SourceKnown, best.output
	}
	if strings.Contains(name, "non-reasoning") {
		c.Reasoning = no
	}
	c.StreamedArguments = streamed(kind, profile)
	return c
}

// isOf reports whether a model is of a family: its name goes on with another
// part or not at all. Models that draw or speak are of none.
func isOf(name, family string) bool {
	rest, ok := strings.CutPrefix(name, family)
	if !ok || rest != "" && rest[0] != '-' && rest[0] != ':' && rest[0] != '@' {
		return false
	}
	for _, other := range []string{"-image", "-tts", "-audio", "-live", "-realtime", "-transcribe", "-embedding", "-search"} {
		if strings.Contains(rest, other) {
			return false
		}
	}
	return true
}

func isLocal(profile string) bool {
	return profile == "ollama" || profile == "lmstudio" || profile == "llamacpp"
}

// streamed says whether the arguments of a call come in pieces; some send each
// call whole.
func streamed(kind, profile string) core.Known {
	switch {
	case kind == KindGemini, profile == "ollama", profile == "mistral":
		return no
	case kind == KindAnthropic, kind == KindOpenAIResponses, kind == KindOpenAIChat && profile != "compatible":
		return yes
	}
	return not
}
