package endpoint

import "galley/backend/agent/core"

// WellKnown returns what the program knows of a model by its name; the zero
// value for one that it does not know.
func WellKnown(kind, profile, model string) core.Capabilities {
	return core.Capabilities{}
}
