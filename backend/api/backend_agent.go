package api

import (
	"context"
	"path/filepath"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/tools"
	"galley/backend/agent/wire"
	"galley/backend/attach"
	"galley/backend/fault"
	"galley/backend/markdown"
)

// newHost makes the host of the agent: what its tools may work with, who holds
// the agent of the home, and where its events go.
func (b *Backend) newHost(cfg Config) (err error) {
	b.tools, err = tools.New(tools.Config{
		Grants: b.grants, Documents: b.set, Home: cfg.Home.Dir, Log: cfg.Log, Ready: b.sessions.begun,
		Created: func(path string) { b.workspace.told(path) },
		Move: func(ctx context.Context, from, to string) error {
			_, err := b.move(ctx, from, to)
			return err
		},
	})
	if err != nil {
		return err
	}
	b.tasks = task.New(task.Config{
		Settings: b.store, Network: b.network, Log: cfg.Log, Open: b.openAt, Language: b.language,
		Begin: b.reach, End: b.tools.End,
	})
	agent := attach.NewAgent(attach.AgentConfig{Home: cfg.Home, Kind: wire.ClientWindow, Version: cfg.Version, Log: cfg.Log})
	b.host, err = host.New(host.Config{
		Home: cfg.Home.Dir, Logger: cfg.Log,
		Credential: func(ctx context.Context, ref string) (string, error) {
			return task.Key(ctx, b.store, b.network, b.keys, ref)
		},
		Claim: agent.Claim, Dial: agent.Dial, Tools: b.tools, Complete: b.tasks.Complete, Abandon: b.tasks.Drop,
		OnEvent: b.onEvent, OnPreview: b.emitter.EmitPreview, OnResync: b.resync,
		OnRunner: func(r host.Runner) { b.emitter.Emit("runner.changed", runnerStateOf(r)) },
	})
	return err
}

func (b *Backend) onEvent(e core.Event) {
	b.tools.OnEvent(e)
	b.tasks.OnEvent(e)
	if err := b.emitter.EmitEvent(e); err != nil {
		// The page would wait for it for ever: let it fetch the state.
		b.log.Error("event not passed on", "type", e.Type, "err", err)
		b.resync()
	}
}

// resync makes the page fetch the agent's state: it sees the gap by the message
// after it.
func (b *Backend) resync() {
	b.emitter.Gap()
	b.emitter.Emit("runner.changed", runnerStateOf(b.host.Runner()))
}

// reach says what the tools of a command's run may work with.
func (b *Backend) reach(cmd core.CommandID, r task.Reach) { b.tools.Begin(cmd, tools.Scope(r)) }

// openAt finds the open document of a path, with its unsaved text.
func (b *Backend) openAt(path string) (id string, s core.Snapshot, ok bool) {
	path = filepath.Clean(path)
	for _, info := range b.set.List() {
		if info.Path != path {
			continue
		}
		for {
			snap, err := b.set.Snapshot(info.ID, info.Version)
			if err == nil {
				return info.ID, core.Snapshot{
					DocURI: snap.URI, BaseVersion: snap.Version, Digest: snap.Digest, Text: snap.Text,
					Selection:   core.Range{From: min(snap.Anchor, snap.Head), To: max(snap.Anchor, snap.Head)},
					FrontMatter: markdown.FrontMatter(snap.Text),
				}, true
			}
			if fault.CodeOf(err) != fault.UnknownBase {
				return "", core.Snapshot{}, false // closed meanwhile
			}
			// It was typed into meanwhile.
			if info, err = b.set.Info(info.ID); err != nil {
				return "", core.Snapshot{}, false
			}
		}
	}
	return "", core.Snapshot{}, false
}

// language is that of the interface as far as the settings say it.
func (b *Backend) language() string {
	if l := b.store.Get().Language; l != "system" {
		return l
	}
	return "en"
}
