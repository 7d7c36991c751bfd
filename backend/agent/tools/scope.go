package tools

import (
	"encoding/json"
	"slices"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/text"
	"galley/backend/workspace"
)

// Scope is what a run may work with: its document and its folder. Zero fields
// are none.
type Scope struct {
	// DocumentID is that of the open document which the run is about.
	DocumentID string
	// File is the absolute path of that document where it is not open: it is
	// read from disk. It counts only without DocumentID.
	File string
	// Snapshot is the document as it was sent with the run.
	Snapshot *core.Snapshot
	// Workspace is the absolute path of the folder, which must be granted by
	// itself.
	Workspace string
	// Grants take the place of the executor's, for a run that was given a folder
	// or file of its own; nil for the executor's. They stay the caller's.
	Grants *workspace.Grants
}

// maxScopes bounds how many scopes are kept: the runs of a program are one
// active and a few queued, so that one of so many is of a run whose end was
// missed.
const maxScopes = 32

// scope is the Scope of a run and what has become of it. A value is a copy
// taken at the start of a call.
type scope struct {
	Scope
	// known is false for a run that nothing is known of.
	known bool
	// base is the document as the model saw it last; hasBase is false when it
	// never did.
	base    core.Snapshot
	hasBase bool
	// open are the proposals of the run that are not decided, in positions of
	// base.
	open []proposed
}

// proposed is a proposal of this run.
type proposed struct {
	id    core.ProposalID
	call  core.ToolCallID
	edits []text.Edit
}

// scopes are those of the runs that have not ended, the one used last at the
// end.
type scopes struct {
	kept []*keptScope
}

type keptScope struct {
	command core.CommandID
	run     core.RunID // empty until it is accepted
	scope
}

// byCommand returns the scope of a command and makes it the one used last.
func (s *scopes) byCommand(id core.CommandID) *keptScope {
	i := slices.IndexFunc(s.kept, func(k *keptScope) bool { return k.command == id })
	if id == "" || i < 0 {
		return nil
	}
	k := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), k)
	return k
}

func (s *scopes) byRun(id core.RunID) *keptScope {
	for _, k := range s.kept {
		if id != "" && k.run == id {
			return k
		}
	}
	return nil
}

func (s *scopes) remove(gone func(*keptScope) bool) { s.kept = slices.DeleteFunc(s.kept, gone) }

// Begin says what the run that a command is about to start may work with. It is
// called before the command is sent, and again for the same command is no
// error: once its run is accepted the first scope stays.
func (e *Executor) Begin(cmd core.CommandID, s Scope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k := e.scopes.byCommand(cmd); k != nil && k.run != "" {
		return
	}
	e.scopes.remove(func(k *keptScope) bool { return k.command == cmd })
	k := &keptScope{command: cmd, scope: scope{Scope: s, known: true}}
	if s.Snapshot != nil {
		k.base, k.hasBase = *s.Snapshot, true
		k.Snapshot = nil
	}
	e.scopes.kept = append(e.scopes.kept, k)
	if over := len(e.scopes.kept) - maxScopes; over > 0 {
		e.scopes.kept = slices.Delete(e.scopes.kept, 0, over)
	}
}

// End forgets a command that started no run, or whose run has ended. One that
// is not known is no error.
func (e *Executor) End(cmd core.CommandID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scopes.remove(func(k *keptScope) bool { return k.command == cmd })
}

// OnEvent follows the runs: scopes go with those that end, and proposals that
// were decided no longer stand in the way of others. It never blocks.
func (e *Executor) OnEvent(ev core.Event) {
	switch ev.Type {
	case core.EventRunAccepted:
		var r core.Run
		if json.Unmarshal(ev.Payload, &r) != nil {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if k := e.scopes.byCommand(r.CommandID); k != nil {
			k.run = r.ID
		}
	case core.EventRunCancelled, core.EventRunSucceeded, core.EventRunFailed, core.EventRunInterrupted:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.scopes.remove(func(k *keptScope) bool { return ev.RunID != "" && k.run == ev.RunID })
	case core.EventProposalCreated:
		var p core.Proposal
		if json.Unmarshal(ev.Payload, &p) != nil {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if k := e.scopes.byRun(ev.RunID); k != nil {
			for i := range k.open {
				if k.open[i].call == p.ToolCallID {
					k.open[i].id = p.ID
				}
			}
		}
	case core.EventProposalDecided:
		var d core.ProposalDecided
		if json.Unmarshal(ev.Payload, &d) != nil || d.State == core.ProposalProposed {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, k := range e.scopes.kept {
			k.open = slices.DeleteFunc(k.open, func(p proposed) bool { return p.id == d.ProposalID })
		}
	default:
	}
}

// scopeOf returns a copy of the scope of a call's run. The run is learnt from
// it too, should its acceptance have been missed.
func (e *Executor) scopeOf(ref wire.ToolCallRef) scope {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.scopes.byCommand(ref.CommandID)
	if k == nil {
		return scope{}
	}
	if k.run == "" {
		k.run = ref.RunID
	}
	s := k.scope
	s.open = slices.Clone(k.open)
	return s
}

// saw makes what a call gave the base of what the model says from now on.
// Proposals that are still open are carried over to it where their words are
// the same.
func (e *Executor) saw(cmd core.CommandID, s core.Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.scopes.byCommand(cmd)
	if k == nil {
		return
	}
	if k.hasBase && len(k.open) > 0 && k.base.Digest != s.Digest {
		since := between(k.base.Text, s.Text)
		k.open = slices.DeleteFunc(k.open, func(p proposed) bool {
			_, touched := text.MapEdits(p.edits, since)
			return slices.Contains(touched, true)
		})
		for i := range k.open {
			k.open[i].edits, _ = text.MapEdits(k.open[i].edits, since)
		}
	}
	k.base, k.hasBase = s, true
}

// proposes notes a proposal of a run.
func (e *Executor) proposes(cmd core.CommandID, p proposed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k := e.scopes.byCommand(cmd); k != nil {
		k.open = append(k.open, p)
	}
}

// grants are those that count for a run.
func (e *Executor) grants(s scope) *workspace.Grants {
	if s.Grants != nil {
		return s.Grants
	}
	return e.cfg.Grants
}
