package loop

import (
	"encoding/json"

	"galley/backend/agent/core"
)

// basis names how tokens are estimated: a quarter of the bytes in UTF-8, but a
// whole token for each character of a script that tokenisers do not put
// together into words, and something more for what no rule sees.
const basis = "utf8/4+cjk, 15% margin"

// marginPercent is what is added to every estimate.
const marginPercent = 15

// frameTokens is what a message, a call or a result costs besides its text:
// its role, its ids, its quotation marks.
const frameTokens = 8

// tokens estimates what a text costs, the margin included.
func tokens(s string) int { return withMargin(rawTokens(s)) }

// rawTokens is the estimate without its margin.
func rawTokens(s string) int {
	whole, rest := 0, 0
	for _, r := range s {
		switch {
		case r < 0x80:
			rest++
		case isWide(r):
			whole++
		case r < 0x800:
			rest += 2
		case r < 0x10000:
			rest += 3
		default:
			rest += 4
		}
	}
	return whole + (rest+3)/4
}

func withMargin(n int) int { return n + (n*marginPercent+99)/100 }

// isWide tells the characters that count as a token each: those of Chinese,
// Japanese and Korean, and their marks.
func isWide(r rune) bool {
	switch {
	case r < 0x2E80:
		return false
	case r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7AF, r >= 0xF900 && r <= 0xFAFF, r >= 0xFF00 && r <= 0xFFEF:
		return true
	}
	return r >= 0x20000 && r <= 0x3FFFF
}

// toolTokens estimates what the schemas of the tools cost.
func toolTokens(specs []core.ToolSpec) (bytes, n int) {
	for _, s := range specs {
		raw := toolJSON(s)
		bytes += len(raw)
		n += tokens(raw) + withMargin(frameTokens)
	}
	return bytes, n
}

// toolJSON is a tool about as it goes out.
func toolJSON(s core.ToolSpec) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return s.Name + s.Description + string(s.InputSchema)
	}
	return string(raw)
}

// answerTokens estimates what an answer cost to write.
func answerTokens(a core.Answer) int {
	n := rawTokens(a.Text) + rawTokens(a.Reasoning)
	for _, c := range a.Calls {
		n += rawTokens(c.Name) + rawTokens(string(c.Arguments)) + rawTokens(c.Raw) + frameTokens
	}
	return n
}
