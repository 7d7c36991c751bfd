package core

import "slices"

// Actor is who moves a run or a tool call from one state to the next.
type Actor string

// The actors.
const (
	// ActorScheduler starts queued runs.
	ActorScheduler Actor = "scheduler"
	// ActorCancel is a person's cancel command, a shutdown, or the host's end.
	ActorCancel Actor = "cancel"
	// ActorLoop is the runtime that carries out the run.
	ActorLoop Actor = "loop"
	// ActorPolicy judges a proposed tool call.
	ActorPolicy Actor = "policy"
	// ActorApproval is a person's decision with an equal input digest.
	ActorApproval Actor = "approval"
	// ActorExecutor carries out a tool call.
	ActorExecutor Actor = "executor"
	// ActorRecovery settles at a start what earlier starts left.
	ActorRecovery Actor = "recovery"
)

// Actors returns every actor. The slice is the caller's own.
func Actors() []Actor {
	return []Actor{
		ActorScheduler, ActorCancel, ActorLoop, ActorPolicy, ActorApproval, ActorExecutor, ActorRecovery,
	}
}

// RunTransition is one allowed change of a run's state.
type RunTransition struct {
	From RunState
	To   RunState
	// By holds who may do it; never empty.
	By []Actor
}

// runTransitions is the whole state machine of a run; what is not here is
// forbidden. The store's guards are generated from it. Never mutated.
var runTransitions = []RunTransition{
	{RunQueued, RunRunning, []Actor{ActorScheduler}},
	{RunQueued, RunCancelled, []Actor{ActorCancel}},
	{RunQueued, RunInterrupted, []Actor{ActorRecovery}},

	{RunRunning, RunWaiting, []Actor{ActorLoop}},
	{RunRunning, RunCancelling, []Actor{ActorCancel}},
	{RunRunning, RunSucceeded, []Actor{ActorLoop}},
	{RunRunning, RunFailed, []Actor{ActorLoop}},
	{RunRunning, RunInterrupted, []Actor{ActorLoop, ActorRecovery}},

	{RunWaiting, RunRunning, []Actor{ActorLoop}},
	{RunWaiting, RunCancelling, []Actor{ActorCancel}},
	{RunWaiting, RunInterrupted, []Actor{ActorRecovery}},

	{RunCancelling, RunCancelled, []Actor{ActorLoop, ActorRecovery}},
	{RunCancelling, RunInterrupted, []Actor{ActorLoop, ActorRecovery}},
}

// RunStates returns every run state, final ones last. The slice is the
// caller's own.
func RunStates() []RunState {
	return []RunState{
		RunQueued, RunRunning, RunWaiting, RunCancelling,
		RunCancelled, RunSucceeded, RunFailed, RunInterrupted,
	}
}

// Valid reports whether s is one of RunStates.
func (s RunState) Valid() bool { return slices.Contains(RunStates(), s) }

// Final reports whether nothing leaves s.
func (s RunState) Final() bool {
	switch s {
	case RunCancelled, RunSucceeded, RunFailed, RunInterrupted:
		return true
	case RunQueued, RunRunning, RunWaiting, RunCancelling:
	}
	return false
}

// Active reports whether a run in s holds its session: at most one run of a
// session does.
func (s RunState) Active() bool {
	return s == RunRunning || s == RunWaiting || s == RunCancelling
}

// CanRun reports whether a run may move from one state to the other at all.
func CanRun(from, to RunState) bool {
	return slices.ContainsFunc(runTransitions, func(t RunTransition) bool {
		return t.From == from && t.To == to
	})
}

// MayRun reports whether by may move a run from one state to the other.
func MayRun(by Actor, from, to RunState) bool {
	return slices.ContainsFunc(runTransitions, func(t RunTransition) bool {
		return t.From == from && t.To == to && slices.Contains(t.By, by)
	})
}

// ToolCallTransition is one allowed change of a tool call's state.
type ToolCallTransition struct {
	From ToolCallState
	To   ToolCallState
	// By holds who may do it; never empty.
	By []Actor
}

// callTransitions is the whole state machine of a tool call; what is not here
// is forbidden. The store's guards are generated from it. Never mutated.
var callTransitions = []ToolCallTransition{
	{CallProposed, CallWaiting, []Actor{ActorPolicy}},
	{CallProposed, CallReady, []Actor{ActorPolicy}},
	{CallProposed, CallFailed, []Actor{ActorPolicy}},
	{CallProposed, CallCancelled, []Actor{ActorCancel, ActorRecovery}},

	{CallWaiting, CallReady, []Actor{ActorApproval}},
	{CallWaiting, CallFailed, []Actor{ActorApproval}},
	{CallWaiting, CallCancelled, []Actor{ActorCancel, ActorRecovery}},

	{CallReady, CallRunning, []Actor{ActorExecutor}},
	{CallReady, CallCancelled, []Actor{ActorCancel, ActorRecovery}},

	{CallRunning, CallSucceeded, []Actor{ActorExecutor, ActorRecovery}},
	{CallRunning, CallFailed, []Actor{ActorExecutor, ActorRecovery}},
	// Only with proof that nothing happened or that it was undone.
	{CallRunning, CallCancelled, []Actor{ActorExecutor}},
	{CallRunning, CallUnknown, []Actor{ActorExecutor, ActorRecovery}},
}

// ToolCallStates returns every tool-call state, final ones last. The slice is
// the caller's own.
func ToolCallStates() []ToolCallState {
	return []ToolCallState{
		CallProposed, CallWaiting, CallReady, CallRunning,
		CallSucceeded, CallFailed, CallCancelled, CallUnknown,
	}
}

// Valid reports whether s is one of ToolCallStates.
func (s ToolCallState) Valid() bool { return slices.Contains(ToolCallStates(), s) }

// Final reports whether nothing leaves s.
func (s ToolCallState) Final() bool {
	switch s {
	case CallSucceeded, CallFailed, CallCancelled, CallUnknown:
		return true
	case CallProposed, CallWaiting, CallReady, CallRunning:
	}
	return false
}

// CanCall reports whether a tool call may move from one state to the other at
// all.
func CanCall(from, to ToolCallState) bool {
	return slices.ContainsFunc(callTransitions, func(t ToolCallTransition) bool {
		return t.From == from && t.To == to
	})
}

// MayCall reports whether by may move a tool call from one state to the other.
func MayCall(by Actor, from, to ToolCallState) bool {
	return slices.ContainsFunc(callTransitions, func(t ToolCallTransition) bool {
		return t.From == from && t.To == to && slices.Contains(t.By, by)
	})
}

// CallPhases returns every phase of a model call in order, final ones last.
// The slice is the caller's own.
func CallPhases() []CallPhase {
	return []CallPhase{PhasePrepared, PhaseSent, PhaseStreaming, PhaseDone, PhaseFailed, PhaseUnknown}
}

// Valid reports whether p is one of CallPhases.
func (p CallPhase) Valid() bool { return slices.Contains(CallPhases(), p) }

// Final reports whether nothing leaves p.
func (p CallPhase) Final() bool {
	return p == PhaseDone || p == PhaseFailed || p == PhaseUnknown
}

// CanPhase reports whether a model call may move from one phase to the other.
// Phases only go forward and may be left out; a call that is not final may be
// recorded again in the same phase.
func CanPhase(from, to CallPhase) bool {
	if !from.Valid() || !to.Valid() || from.Final() {
		return false
	}
	return slices.Index(CallPhases(), to) >= slices.Index(CallPhases(), from)
}
