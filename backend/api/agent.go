package api

import "galley/backend/agent/core"

// Agent is the bound service.
type Agent struct{}

// Attach is not wired yet.
func (s *Agent) Attach(afterSeq int64) (AgentState, error) {
	var r AgentState
	return r, nil
}

// SubmitRewrite is not wired yet.
func (s *Agent) SubmitRewrite(req RewriteRequest) (RunRef, error) {
	var r RunRef
	return r, nil
}

// Cancel is not wired yet.
func (s *Agent) Cancel(req CancelRequest) (CancelReceipt, error) {
	var r CancelReceipt
	return r, nil
}

// Decide is not wired yet.
func (s *Agent) Decide(req DecideRequest) (DecideResult, error) {
	var r DecideResult
	return r, nil
}

// Proposal is not wired yet.
func (s *Agent) Proposal(id string) (core.Proposal, error) {
	var r core.Proposal
	return r, nil
}

// RestartRunner is not wired yet.
func (s *Agent) RestartRunner() (RunnerState, error) {
	var r RunnerState
	return r, nil
}
