package core

// ContextPart is one piece of what was sent to a model with one request, so
// that it can be explained afterwards what left, and what did not (R9).
type ContextPart struct {
	// Kind is system, tools, document, selection, outline, message, tool_call,
	// tool_result, summary, note or answer_reserve.
	Kind string `json:"kind"`
	// Label names it for people: a path, a tool, the first words of a message.
	Label string `json:"label"`
	// Form is whole, summary (shortened or replaced), or left_out.
	Form string `json:"form"`
	// Bytes is its size as sent, in UTF-8; of a part that was left out, as it is.
	Bytes int `json:"bytes"`
	// Tokens is an estimate; see ContextReport.Basis.
	Tokens int `json:"tokens"`
	// Ord is the message's place in the session; 0 for none. A summary covers
	// Ord to UntilOrd.
	Ord      int        `json:"ord"`
	UntilOrd int        `json:"untilOrd"`
	Call     ToolCallID `json:"toolCallId"`
}

// ContextReport lists what one request held.
type ContextReport struct {
	RunID RunID `json:"runId"`
	Step  int   `json:"step"`
	// Tokens is the sum of the parts that were sent, an estimate; Size what the
	// model takes, 0 when that is not known; Reserve what is kept free for the
	// answer.
	Tokens  int `json:"tokens"`
	Size    int `json:"size"`
	Reserve int `json:"reserve"`
	// Basis says how tokens are estimated and with which margin, in words of
	// the code ("utf8/4+cjk, 15% margin").
	Basis string `json:"basis"`
	// Parts are in the order in which they were sent; never nil.
	Parts []ContextPart `json:"parts"`
	// Degraded says that opaque data of another provider was left out (K2).
	Degraded bool `json:"degraded"`
}
