// Package task makes whole submissions of what a person names in a few words: a
// model of the settings, a folder, a file. The window does so for its page and
// for clients of its socket, the command line for itself and for its own.
//
// A folder and a file that are named are granted to that one run and to nobody
// else, and taken back when it ends. What a client asks for can be stricter
// than what the person set, never milder.
package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/markdown"
	"galley/backend/network"
	"galley/backend/settings"
	"galley/backend/text"
	"galley/backend/workspace"
)

// Reach is what the tools of a run may work with; zero fields are none. It
// becomes a scope of package tools.
type Reach struct {
	// DocumentID is that of the document where it is open in this process.
	DocumentID string
	// File is the absolute path of the document where it is not.
	File string
	// Snapshot is the document as it is sent with the run.
	Snapshot *core.Snapshot
	// Workspace is the absolute path of the folder.
	Workspace string
	// Grants are those of this run alone.
	Grants *workspace.Grants
}

// Config is what a Maker is made of. Settings, Network, Begin, End and Log are needed.
type Config struct {
	Settings *settings.Store
	// Network says how a provider is reached.
	Network *network.Resolver
	Log     *slog.Logger
	// Begin and End tell the tools what the run of a command may reach.
	Begin func(core.CommandID, Reach)
	End   func(core.CommandID)
	// Open finds the document of a path that is open in this process, with its
	// unsaved text; nil where none are.
	Open func(path string) (id string, s core.Snapshot, ok bool)
	// Language is the interface's BCP 47 tag when a task names none; nil means
	// "en".
	Language func() string
}

// maxKept bounds how many runs have grants of their own.
const maxKept = 64

// Maker makes submissions. Its methods may be called from any goroutine.
type Maker struct {
	cfg Config

	// mu guards what follows.
	mu sync.Mutex
	// kept are the grants of runs that have not ended, the oldest first.
	kept []kept
}

// kept are the grants of one command.
type kept struct {
	command core.CommandID
	run     core.RunID // empty until it is accepted
	grants  *workspace.Grants
}

// New returns a Maker.
func New(cfg Config) *Maker { return &Maker{cfg: cfg} }

// Complete makes a submission of a task; it is a host.Config's. Faults:
// no_provider, model_not_found, those of opening the folder and the file, with
// the path as detail, those of [ProviderConfig], not_granted for what is the program's own, and too_large, unsupported_encoding for the file.
func (m *Maker) Complete(ctx context.Context, t wire.TaskParams) (wire.SubmitParams, error) {
	set := m.cfg.Settings.Get()
	p, ref, err := Provider(m.cfg.Settings, "complete task", t.ModelRef)
	if err != nil {
		return wire.SubmitParams{}, err
	}
	reached, err := ProviderConfig(ctx, m.cfg.Settings, m.cfg.Network, p)
	if err != nil {
		return wire.SubmitParams{}, err
	}
	out := wire.SubmitParams{
		CommandID: t.CommandID, SessionID: t.SessionID, Kind: core.KindConversation, Input: t.Input,
		ModelRef: ref, Provider: reached, AllowedTools: allowed(Tools(p), t.AllowedTools),
		Budget: smaller(Budget(set.Limits), t.Budget), Policy: tighten(Policy(set.Permissions), t.Policy),
		ContextTokens: p.ContextTokens, Language: t.Language,
	}
	if out.Language == "" {
		out.Language = "en"
		if m.cfg.Language != nil {
			out.Language = m.cfg.Language()
		}
	}
	for _, path := range []string{t.Folder, t.File} {
		// Who may begin a run is not to learn the keys by it.
		if path != "" && m.cfg.Settings.Home().Private(path) {
			return wire.SubmitParams{}, &fault.Error{Code: fault.NotGranted, Op: "complete task", Detail: path}
		}
	}
	grants, err := grant(t.Folder, t.File)
	if err != nil {
		return wire.SubmitParams{}, err
	}
	grants.SetIgnored(set.ShowHidden, set.Ignored)
	reach := Reach{Grants: grants}
	if t.Folder != "" {
		reach.Workspace = filepath.Clean(t.Folder)
		out.WorkspaceID = reach.Workspace
	}
	if t.File != "" {
		if err := m.document(&reach, filepath.Clean(t.File)); err != nil {
			grants.Close()
			return wire.SubmitParams{}, err
		}
		out.Snapshot = reach.Snapshot
	}
	if m.runs(t.CommandID) {
		// It came again: what its run was given first stays.
		grants.Close()
		return out, nil
	}
	m.keep(t.CommandID, grants)
	m.cfg.Begin(t.CommandID, reach)
	return out, nil
}

// runs reports whether the run of a command was accepted and has not ended.
func (m *Maker) runs(cmd core.CommandID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.kept, func(k kept) bool { return k.command == cmd && k.run != "" })
}

// document finds the document of a run: as it is open here, or as it lies on the
// disk.
func (m *Maker) document(r *Reach, path string) error {
	if m.cfg.Open != nil {
		if id, s, ok := m.cfg.Open(path); ok {
			r.DocumentID, r.Snapshot = id, &s
			return nil
		}
	}
	f, err := r.Grants.PermitRead(path)
	if err != nil {
		return err
	}
	s, err := Snapshot(f)
	if err != nil {
		return err
	}
	r.File, r.Snapshot = path, &s
	return nil
}

// Snapshot reads a file as the document of a run. Faults: those of reading,
// too_large, unsupported_encoding.
func Snapshot(f workspace.File) (core.Snapshot, error) {
	data, _, err := f.Read(document.MaxEditable)
	if err != nil {
		return core.Snapshot{}, err
	}
	_, lines, err := text.Decode(data)
	if err != nil {
		return core.Snapshot{}, err
	}
	s := lines.Text()
	return core.Snapshot{
		DocURI: document.FileURI(f.Path()), BaseVersion: 1, Digest: lines.Digest(), Text: s,
		FrontMatter: markdown.FrontMatter(s),
	}, nil
}

// Drop forgets a command that came to nothing, unless its run has begun all the
// same: then the command was sent again as something else.
func (m *Maker) Drop(cmd core.CommandID) {
	if m.runs(cmd) {
		return
	}
	m.cfg.End(cmd)
	m.letGo(func(k kept) bool { return k.command == cmd })
}

// OnEvent follows the runs, so that grants go with the run they were made for.
// It never blocks for long.
func (m *Maker) OnEvent(e core.Event) {
	switch e.Type {
	case core.EventRunAccepted:
		var r core.Run
		if json.Unmarshal(e.Payload, &r) != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for i := range m.kept {
			if m.kept[i].command == r.CommandID {
				m.kept[i].run = r.ID
			}
		}
	case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
		m.letGo(func(k kept) bool { return k.run != "" && k.run == e.RunID })
	default:
	}
}

// Close takes back everything that was granted. No call of a tool may run any
// more.
func (m *Maker) Close() { m.letGo(func(kept) bool { return true }) }

// keep holds the grants of a command; those of an earlier try of it go.
func (m *Maker) keep(cmd core.CommandID, g *workspace.Grants) {
	m.letGo(func(k kept) bool { return k.command == cmd })
	m.mu.Lock()
	m.kept = append(m.kept, kept{command: cmd, grants: g})
	var over []kept
	if n := len(m.kept) - maxKept; n > 0 {
		over = slices.Clone(m.kept[:n])
		m.kept = slices.Delete(m.kept, 0, n)
	}
	m.mu.Unlock()
	for _, k := range over {
		m.cfg.Log.Warn("grants of a run whose end was missed are taken back")
		k.grants.Close()
	}
}

func (m *Maker) letGo(gone func(kept) bool) {
	var out []kept
	m.mu.Lock()
	m.kept = slices.DeleteFunc(m.kept, func(k kept) bool {
		if gone(k) {
			out = append(out, k)
			return true
		}
		return false
	})
	m.mu.Unlock()
	for _, k := range out {
		k.grants.Close()
	}
}

// fileFault names the file of a fault where it names none.
func fileFault(err error, path string) error {
	f := fault.From(err)
	if f.Detail != "" {
		return err
	}
	named := *f
	named.Detail = path
	return &named
}
