package core

import "time"

// DefaultBudget returns the limits of a run that names none (R8).
func DefaultBudget() Budget {
	return Budget{
		TimeMs:           (10 * time.Minute).Milliseconds(),
		Steps:            25,
		Tokens:           200_000,
		ToolResultBytes:  256 << 10,
		ToolResultsBytes: 4 << 20,
		ToolMs:           (30 * time.Second).Milliseconds(),
		ConnectMs:        (15 * time.Second).Milliseconds(),
		FirstTokenMs:     (300 * time.Second).Milliseconds(),
		SilenceMs:        (120 * time.Second).Milliseconds(),
	}
}

// WithDefaults returns b with every field that is zero or below filled from
// DefaultBudget.
func (b Budget) WithDefaults() Budget {
	d := DefaultBudget()
	fill64(&b.TimeMs, d.TimeMs)
	fill(&b.Steps, d.Steps)
	fill(&b.Tokens, d.Tokens)
	fill(&b.ToolResultBytes, d.ToolResultBytes)
	fill(&b.ToolResultsBytes, d.ToolResultsBytes)
	fill64(&b.ToolMs, d.ToolMs)
	fill64(&b.ConnectMs, d.ConnectMs)
	fill64(&b.FirstTokenMs, d.FirstTokenMs)
	fill64(&b.SilenceMs, d.SilenceMs)
	return b
}

func fill(v *int, def int) {
	if *v <= 0 {
		*v = def
	}
}

func fill64(v *int64, def int64) {
	if *v <= 0 {
		*v = def
	}
}
