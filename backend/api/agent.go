package api

import (
	"context"
	"log/slog"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
	"galley/backend/text"
)

// maxInstruction bounds what a person types into the rewrite box, in bytes.
const maxInstruction = 32 << 10

// The longest name of a model and the longest BCP 47 tag that we take, in
// bytes.
const (
	maxName = 200
	maxTag  = 35
)

// Agent is the bound service of runs and proposals.
type Agent struct {
	host     *host.Host
	docs     *document.Set
	settings *settings.Store
	network  *network.Resolver
	// promptDir is where a person's own prompts lie.
	promptDir string
	// submit accepts a run of a conversation: the host's, but in tests.
	submit func(context.Context, wire.SubmitParams) (wire.SubmitResult, error)
	// folder is the path of the open folder; empty for none.
	folder func() string
	// begin and end say what the tools of a command's run may reach, and that it
	// comes to nothing.
	begin func(core.CommandID, task.Reach)
	end   func(core.CommandID)
	// unsure are requests that may have been accepted.
	unsure unsure
	ctx    func() context.Context
	log    *slog.Logger
}

// Attach returns sessions, runs and open proposals at a cursor. Without a
// Runner it returns the Runner's state and nothing else: the page attaches
// again when the Runner is ready.
func (s *Agent) Attach(afterSeq int64) (AgentState, error) {
	return call(s.log, "attach agent", func() (AgentState, error) {
		out := AgentState{
			Cursor: afterSeq, Runner: runnerStateOf(s.host.Runner()),
			Sessions: []core.Session{}, Runs: []core.Run{}, Proposals: []core.Proposal{}, Approvals: []core.Approval{},
		}
		state, err := s.host.State(s.ctx())
		if fault.CodeOf(err) == fault.RunnerGone || fault.CodeOf(err) == fault.StoreFailed {
			return out, nil
		}
		if err != nil {
			return AgentState{}, err
		}
		out.Cursor, out.Sessions, out.Runs = state.Seq, state.Sessions, state.Runs
		out.Proposals, out.Approvals = state.Proposals, state.Approvals
		return out, nil
	})
}

// SubmitRewrite has the selection of a document rewritten. It returns when the
// run is committed.
func (s *Agent) SubmitRewrite(req RewriteRequest) (RunRef, error) {
	return call(s.log, "submit rewrite", func() (RunRef, error) {
		r, err := s.rewriteOf(req)
		if err != nil {
			return RunRef{}, err
		}
		res, err := s.host.SubmitRewrite(s.ctx(), r)
		return RunRef{RunID: string(res.RunID), SessionID: string(res.SessionID)}, err
	})
}

func (s *Agent) rewriteOf(req RewriteRequest) (host.Rewrite, error) {
	const op = "submit rewrite"
	if req.CommandID == "" || len(req.CommandID) > 100 || len(req.Instruction) > maxInstruction ||
		len(req.Model) > maxName || len(req.Language) > maxTag {
		return host.Rewrite{}, fault.New(fault.InvalidInput, op, nil)
	}
	if req.ProviderID == "" {
		return host.Rewrite{}, fault.New(fault.NoProvider, op, nil)
	}
	p, ref, err := task.Provider(s.settings, op, core.ModelRef{ProviderID: req.ProviderID, Model: req.Model})
	if err != nil {
		return host.Rewrite{}, err
	}
	prompt, err := promptOf(s.promptDir, req.Preset)
	if err != nil {
		return host.Rewrite{}, err
	}
	snap, err := s.docs.Snapshot(req.DocumentID, req.Version)
	if err != nil {
		return host.Rewrite{}, err
	}
	if snap.ReadOnly != "" {
		return host.Rewrite{}, fault.New(fault.ReadOnly, op, nil)
	}
	if req.From < 0 || req.From > req.To || req.To > text.Length(snap.Text) {
		return host.Rewrite{}, fault.New(fault.InvalidInput, op, nil)
	}
	reached, err := task.ProviderConfig(s.ctx(), s.settings, s.network, p)
	if err != nil {
		return host.Rewrite{}, err
	}
	return host.Rewrite{
		CommandID: core.CommandID(req.CommandID),
		Snapshot: core.Snapshot{
			DocURI: snap.URI, BaseVersion: snap.Version, Digest: snap.Digest, Text: snap.Text,
			Selection: core.Range{From: req.From, To: req.To},
		},
		Input: wire.RewriteInput{
			Preset: req.Preset, Prompt: prompt, Instruction: req.Instruction, Language: req.Language,
		},
		Model:      ref,
		Provider:   reached,
		Budget:     task.Budget(s.settings.Get().Limits),
		Supersedes: core.ProposalID(req.Supersedes),

		ContextTokens: p.ContextTokens,
	}, nil
}

// Cancel asks a run to stop; the receipt is stored.
func (s *Agent) Cancel(req CancelRequest) (CancelReceipt, error) {
	return call(s.log, "cancel run", func() (CancelReceipt, error) {
		r, err := s.host.Cancel(s.ctx(), core.CommandID(req.CommandID), core.RunID(req.RunID))
		return CancelReceipt{RunID: string(r.RunID), Receipt: r.Receipt, State: string(r.State)}, err
	})
}

// Decide records what a person decided on hunks.
func (s *Agent) Decide(req DecideRequest) (DecideResult, error) {
	return call(s.log, "decide proposal", func() (DecideResult, error) {
		crash.At("before_decide")
		state, err := s.host.Decide(s.ctx(), wire.ProposalDecideParams{
			CommandID: core.CommandID(req.CommandID), ProposalID: core.ProposalID(req.ProposalID),
			Hunks: req.Hunks, AppliedVersion: req.AppliedVersion,
		})
		return DecideResult{State: string(state)}, err
	})
}

// Proposal returns a proposal with its body.
func (s *Agent) Proposal(id string) (core.Proposal, error) {
	return call(s.log, "get proposal", func() (core.Proposal, error) {
		return s.host.Proposal(s.ctx(), core.ProposalID(id))
	})
}

// RestartRunner starts the Runner anew, also after it was given up.
func (s *Agent) RestartRunner() (RunnerState, error) {
	return call(s.log, "restart runner", func() (RunnerState, error) { return runnerStateOf(s.host.Restart()), nil })
}

func runnerStateOf(r host.Runner) RunnerState {
	return RunnerState{Status: string(r.Status), Code: string(r.Code), PID: r.PID, Restarts: r.Restarts}
}
