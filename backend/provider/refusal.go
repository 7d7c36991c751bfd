package provider

import "strconv"

// RefusedParam stands in the chain of a fault whose request was refused for one
// optional parameter: without it the request may go.
type RefusedParam struct {
	// Name is that of the wire, one of those that were sent.
	Name string
}

// Error implements error.
func (e *RefusedParam) Error() string { return "the model does not take " + e.Name }

// NamedSize stands in the chain of a fault whose refusal names how much the
// model takes, in tokens; 0 for what it does not name.
type NamedSize struct {
	// Context is that of prompt and answer together, Output that of an answer.
	Context, Output int
}

// Error implements error.
func (e *NamedSize) Error() string {
	if e.Context > 0 {
		return "the model takes " + strconv.Itoa(e.Context) + " tokens"
	}
	return "the model answers in at most " + strconv.Itoa(e.Output) + " tokens"
}
