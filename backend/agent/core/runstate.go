package core

// RunState is where a run stands.
type RunState string

// The run states; the last four are final.
const (
	RunQueued      RunState = "queued"
	RunRunning     RunState = "running"
	RunWaiting     RunState = "waiting_for_approval"
	RunCancelling  RunState = "cancelling"
	RunCancelled   RunState = "cancelled"
	RunSucceeded   RunState = "succeeded"
	RunFailed      RunState = "failed"
	RunInterrupted RunState = "interrupted"
)

// ToolCallState is where a tool call stands.
type ToolCallState string

// The tool-call states; the last four are final.
const (
	CallProposed  ToolCallState = "proposed"
	CallWaiting   ToolCallState = "waiting_for_approval"
	CallReady     ToolCallState = "ready"
	CallRunning   ToolCallState = "running"
	CallSucceeded ToolCallState = "succeeded"
	CallFailed    ToolCallState = "failed"
	CallCancelled ToolCallState = "cancelled"
	CallUnknown   ToolCallState = "unknown"
)
