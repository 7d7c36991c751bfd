package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/tools"
	"galley/backend/agent/wire"
	"galley/backend/attach"
	"galley/backend/credential"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
	"galley/backend/workspace"
)

const (
	// readyTime is how long the agent may take to answer: a Runner waits up to
	// 10 s for another one's lock.
	readyTime = 40 * time.Second
	// holderTime is how long another process that holds the agent may take.
	holderTime = 10 * time.Second
	// leaveTime is how long what runs may take to be cancelled and recorded.
	leaveTime = 5 * time.Second
)

// agent is the agent of a home as a command uses it: that of the process that
// holds it, or its own. End it with close.
type agent struct {
	home   settings.Home
	store  *settings.Store
	keys   *credential.Store
	net    *network.Resolver
	grants *workspace.Grants
	docs   *document.Set
	exec   *tools.Executor
	maker  *task.Maker
	host   *host.Host
	sub    *host.Subscription
	log    *slog.Logger
	file   io.Closer
	// own is a folder of this process alone, removed at the end.
	own string
}

// openAgent takes the agent of a home, or finds who holds it, and waits until it
// answers.
func openAgent(ctx context.Context, home settings.Home) (*agent, error) {
	a, err := newAgent(home, wire.ClientCommand)
	if err != nil {
		return nil, err
	}
	a.host.Start()
	if err := a.ready(ctx); err != nil {
		a.close(leaveTime)
		return nil, err
	}
	return a, nil
}

// newAgent builds everything and starts nothing; kind is what others are told
// that this program is.
func newAgent(home settings.Home, kind wire.ClientKind) (a *agent, err error) {
	if err := home.Make(); err != nil {
		return nil, err
	}
	a = &agent{home: home}
	a.log, a.file = openLog(home)
	if a.store, err = settings.Load(settings.Config{Home: home}); err != nil {
		return nil, err
	}
	a.keys = credential.New(credential.Config{KeysFile: home.Keys(), PlainFile: home.Credentials()})
	a.net = network.New(network.Config{})
	// Nothing is granted here: what a run may reach is its own.
	a.grants = workspace.NewGrants()
	// No document is open here. Drafts and history in the home are a window's,
	// which may be writing them.
	if a.own, err = os.MkdirTemp("", "galley-command-"); err != nil {
		return nil, &fault.Error{Code: fault.ReadOnly, Op: "start agent", Detail: os.TempDir(), Err: err}
	}
	if a.docs, err = document.New(document.Config{Grants: a.grants, Home: a.own, Log: a.log}); err != nil {
		return nil, err
	}
	a.exec, err = tools.New(tools.Config{Grants: a.grants, Documents: a.docs, Home: home.Dir, Log: a.log})
	if err != nil {
		return nil, err
	}
	a.maker = task.New(task.Config{
		Settings: a.store, Network: a.net, Log: a.log,
		Begin:    func(cmd core.CommandID, r task.Reach) { a.exec.Begin(cmd, tools.Scope(r)) },
		End:      a.exec.End,
		Language: func() string { return language(a.store.Get().Language, os.Getenv) },
	})
	lock := attach.NewAgent(attach.AgentConfig{Home: home, Kind: kind, Version: Version(), Log: a.log})
	a.host, err = host.New(host.Config{
		Home: home.Dir, Logger: a.log, Tools: prober{a.exec},
		Credential: func(ctx context.Context, ref string) (string, error) {
			return task.Key(ctx, a.store, a.net, a.keys, ref)
		},
		Claim: lock.Claim, Dial: lock.Dial, Complete: a.maker.Complete, Abandon: a.maker.Drop,
		OnEvent: func(e core.Event) {
			a.exec.OnEvent(e)
			a.maker.OnEvent(e)
		},
	})
	if err != nil {
		return nil, err
	}
	a.sub = a.host.Subscribe()
	return a, nil
}

// openLog is the program's own log file; what cannot be logged is left out.
func openLog(home settings.Home) (*slog.Logger, io.Closer) {
	f, err := os.OpenFile(home.Log(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return slog.New(slog.DiscardHandler), io.NopCloser(nil)
	}
	return slog.New(slog.NewTextHandler(f, nil)).With("process", "command"), f
}

// ready waits until the agent answers.
func (a *agent) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	holder := time.NewTimer(holderTime)
	defer holder.Stop()
	for {
		r := a.host.Runner()
		switch {
		case r.Status == host.Ready, r.Status == host.Elsewhere && r.Code == "":
			return nil
		case r.Status == host.Failed, r.Code == fault.StoreFailed, r.Code == fault.DiskFull:
			return &fault.Error{Code: r.Code, Op: "start agent"}
		}
		select {
		case <-a.sub.RunnerChanged():
		case <-holder.C:
			if r := a.host.Runner(); r.Status == host.Elsewhere && r.Code != "" {
				code := fault.Busy
				if r.Holder != "" { // it answers, and has no Runner
					code = r.Code
				}
				return &fault.Error{Code: code, Op: "reach agent", Detail: string(host.Elsewhere)}
			}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fault.New(fault.RunnerGone, "start agent", ctx.Err())
			}
			return fault.New(fault.Cancelled, "start agent", ctx.Err())
		}
	}
}

// elsewhere says who holds the agent; empty when this process does.
func (a *agent) elsewhere() wire.ClientKind {
	if r := a.host.Runner(); r.Status == host.Elsewhere {
		return r.Holder
	}
	return ""
}

// close ends everything; what runs here is cancelled and recorded within limit.
func (a *agent) close(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.sub.Close()
	a.host.Close(ctx)
	a.exec.Close()
	a.maker.Close()
	if err := a.docs.Close(ctx); err != nil {
		a.log.Warn("documents not closed", "err", err)
	}
	a.net.Close()
	a.keys.Close()
	a.grants.Close()
	if err := os.RemoveAll(a.own); err != nil {
		a.log.Warn("own folder not removed", "err", err)
	}
	_ = a.file.Close() // nothing more is logged
}

// prober looks after calls of earlier starts where they were to write.
type prober struct{ *tools.Executor }

// Probe implements host.Tools.
func (p prober) Probe(ctx context.Context, q wire.ToolProbeParams) (wire.ToolProbeResult, error) {
	g, err := task.Recorded(q.Intent)
	if err != nil {
		// The folder is gone: what was in it cannot be known.
		return wire.ToolProbeResult{Verdict: core.VerdictUnknown}, nil
	}
	defer g.Close()
	p.Begin(q.CommandID, tools.Scope{Grants: g})
	defer p.End(q.CommandID)
	return p.Executor.Probe(ctx, q)
}

// language is the language of a person who chose one in the settings, else of
// the environment.
func language(set string, getenv func(string) string) string {
	if set == "en" || set == "zh" {
		return set
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return "zh"
			}
			return "en"
		}
	}
	return "en"
}

// folderAndFile makes what a person named absolute, and sees that it is there.
func folderAndFile(folder, file string) (dir, doc string, err error) {
	if folder != "" {
		if dir, err = filepath.Abs(folder); err != nil {
			return "", "", err
		}
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return "", "", &usageError{fmt.Sprintf("%s is not a folder that can be opened.", visible(folder))}
		}
	}
	if file != "" {
		if doc, err = filepath.Abs(file); err != nil {
			return "", "", err
		}
		info, err := os.Stat(doc)
		if err != nil || !info.Mode().IsRegular() {
			return "", "", &usageError{fmt.Sprintf("%s is not a file that can be opened.", visible(file))}
		}
	}
	return dir, doc, nil
}
