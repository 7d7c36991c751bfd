package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"

	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/tools"
	"galley/backend/credential"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/reviewed"
	"galley/backend/search"
	"galley/backend/settings"
	"galley/backend/workspace"
)

// Config is what the window gives the back end.
type Config struct {
	Home    settings.Home
	Log     *slog.Logger
	Version string
	// Send passes a message to the page; called from one goroutine.
	Send    func(Message)
	Dialogs Dialogs
	OpenURL func(url string)
	Relabel func([]MenuLabel)
	// Quit ends the program without a question.
	Quit func()
	// Ring is the keyring; nil for the system's.
	Ring credential.Ring
	// Network says where a proxy is looked for; its zero value is the system.
	Network network.Config
}

// Backend is everything behind the window, wired. Make one with [New], start it
// when the window is there, end it with [Backend.Close].
type Backend struct {
	documents *Documents
	workspace *Workspace
	agent     *Agent
	settings  *Settings

	grants *workspace.Grants
	set    *document.Set
	host   *host.Host
	// tools carries out what runs ask for; tasks makes those of other programs.
	tools *tools.Executor
	tasks *task.Maker
	store *settings.Store
	keys  *credential.Store
	// network says how providers are reached.
	network *network.Resolver
	emitter *Emitter
	search  *search.Engine
	index   *search.Index
	sets    *reviewed.Manager
	closing *closing
	// watcher follows the open folder and files.
	watcher *workspace.Watcher
	// sessions opens what was named or stored; stored is its file.
	sessions *sessions
	stored   *settings.Sessions
	log      *slog.Logger
	// recoveryDir holds the copies that a save makes.
	recoveryDir string

	// ctx ends with the program.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// New builds the back end. It reads the program's own files and nothing of the
// person's (F11).
func New(cfg Config) (*Backend, error) {
	store, err := settings.Load(settings.Config{Home: cfg.Home})
	if err != nil {
		return nil, err
	}
	grants := workspace.NewGrants()
	emitter := NewEmitter(cfg.Send)
	set, err := document.New(document.Config{
		Grants: grants, Home: cfg.Home.Dir, Log: cfg.Log,
		OnDisk: func(c document.DiskChange) { emitter.Emit("document.disk_changed", diskChangedOf(c)) },
	})
	if err != nil {
		return nil, err
	}
	keys := credential.New(credential.Config{KeysFile: cfg.Home.Keys(), PlainFile: cfg.Home.Credentials(), Ring: cfg.Ring})
	net := network.New(cfg.Network)
	b := &Backend{network: net, grants: grants, set: set, store: store, keys: keys, log: cfg.Log, recoveryDir: cfg.Home.Recovery(), emitter: emitter}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.closing = &closing{end: func() {
		cfg.Log.Warn("page takes no note of the question to close, ending")
		cfg.Quit()
	}}
	ctx := func() context.Context { return b.ctx }
	by := gestures{dialogs: cfg.Dialogs, granter: grants}
	b.stored = settings.OpenSessions(settings.SessionConfig{Home: cfg.Home, Log: cfg.Log})
	b.sessions = newSessions(set, grants, by, b.stored, b.emitter, cfg.Log)
	b.documents = &Documents{set: set, gestures: by, emitter: b.emitter, ctx: ctx, quit: cfg.Quit, closing: b.closing, sessions: b.sessions, attached: sync.OnceFunc(b.usable), log: cfg.Log}
	b.search, b.index, b.watcher = b.newSearch(), b.newIndex(), b.newWatcher()
	b.setAside()
	b.sessions.aim = b.aim
	if b.sets, err = b.newSets(cfg.Home); err != nil {
		return nil, err
	}
	b.sessions.entered = b.recoverSets
	b.workspace = &Workspace{watcher: b.watcher, changed: b.changed, move: b.move, search: b.search, index: b.index, sets: b.sets, set: set, grants: grants, gestures: by, sessions: b.sessions, ctx: ctx, openURL: cfg.OpenURL, sampleDir: cfg.Home.Sample(), settings: store, log: cfg.Log}
	if err = b.newHost(cfg); err != nil {
		return nil, err
	}
	b.agent = &Agent{host: b.host, submit: b.host.Submit, docs: set, settings: store, network: net, promptDir: filepath.Join(cfg.Home.Dir, "prompts"), folder: grants.Workspace, begin: b.reach, end: b.tools.End, ctx: ctx, log: cfg.Log}
	b.settings = &Settings{
		store: store, aside: b.setAside, home: cfg.Home, keys: keys, network: net, chooseCAFile: cfg.Dialogs.OpenCertificates, host: b.host, emitter: b.emitter,
		relabel: cfg.Relabel, version: cfg.Version, ctx: ctx, background: b.wg.Go, log: cfg.Log,
	}
	return b, nil
}

// usable begins what waits for a window that can be used (F11).
func (b *Backend) usable() {
	b.wg.Go(b.sweep)
	b.wg.Go(func() { b.watcher.Run(b.ctx) })
	b.aim()
}

// sweep clears up behind a program that died while saving. It reads the files
// that were being saved, so it waits for a window that is usable (F11).
func (b *Backend) sweep() {
	left, err := workspace.Sweep(b.recoveryDir)
	if err != nil {
		b.log.Warn("recovery folder not swept", "err", err)
	}
	b.keys.Tidy()
	for _, l := range left {
		b.log.Warn("a save was cut short, its copies are kept", "state", l.State, "id", l.ID)
	}
	if err := b.set.TidyHistory(b.ctx); err != nil && b.ctx.Err() == nil {
		b.log.Warn("history not tidied", "code", fault.CodeOf(err))
	}
}

// Bound returns the services that the page can call.
func (b *Backend) Bound() []any { return []any{b.documents, b.workspace, b.agent, b.settings} }

// Middleware is that of the asset server; see [Middleware].
func (b *Backend) Middleware(nonce string) func(http.Handler) http.Handler {
	return Middleware(nonce, b.set, b.log)
}

// OpenSample writes and opens the sample folder, before the window is there.
func (b *Backend) OpenSample() error {
	b.sessions.startNamed()
	_, err := b.workspace.OpenSample()
	return err
}

// OpenAtStart has files and folders opened that the command line names, in place
// of the last session.
func (b *Backend) OpenAtStart(paths []string) {
	b.sessions.startNamed()
	b.sessions.openNamed(paths)
}

// Open has files and folders opened that the person named outside of the page:
// by a second start, in the system's file manager, by a drop that came natively
// (never one that the page tells of). Paths are absolute. It does not wait; what
// cannot be opened is told to the page as open.failed.
func (b *Backend) Open(paths []string) { b.sessions.openNamed(paths) }

// Reaches reports whether a path lies within what the person opened already.
func (b *Backend) Reaches(path string) bool {
	_, err := b.grants.PermitRead(path)
	if err != nil {
		_, err = b.grants.PermitList(path)
	}
	return err == nil
}

// Start begins to send to the page, starts the Runner, and opens what there is
// to open once a page has attached.
func (b *Backend) Start() {
	b.wg.Go(func() { b.emitter.Run(b.ctx) })
	b.wg.Go(func() { b.stored.Run(b.ctx) })
	b.wg.Go(func() { b.sessions.run(b.ctx) })
	b.host.Start()
}

// MenuInvoked passes the command of a native menu item to the page.
func (b *Backend) MenuInvoked(command string) {
	b.emitter.Emit("menu.invoked", MenuInvoked{Command: command})
}

// AskToClose reports whether something would be lost by ending now; the page
// has then been asked what to do. Where it takes no note within ten seconds the
// program ends, and what is unsaved is kept as drafts.
func (b *Backend) AskToClose() bool {
	ask := CloseRequested{Unsaved: []string{}, Runs: []string{}}
	for _, info := range b.set.List() {
		if info.Dirty {
			ask.Unsaved = append(ask.Unsaved, info.ID)
		}
	}
	for _, run := range b.host.ActiveRuns() {
		ask.Runs = append(ask.Runs, string(run.ID))
	}
	if len(ask.Unsaved)+len(ask.Runs) == 0 {
		return false
	}
	b.closing.asked()
	b.emitter.Emit("window.close_requested", ask)
	return true
}

// Close keeps drafts of what is unsaved, has the Runner cancel and record what
// runs, and ends. It waits until ctx ends; the error says what was not kept.
func (b *Backend) Close(ctx context.Context) error {
	b.closing.heard()
	b.sessions.freeze()
	b.stored.Survived()
	err := b.set.Close(ctx)
	b.host.Close(ctx)
	b.tools.Close()
	b.tasks.Close()
	b.cancel()
	b.search.Close()
	b.index.Close()
	b.wg.Wait()
	err = errors.Join(err, b.stored.Flush())
	b.network.Close()
	b.keys.Close()
	b.grants.Close()
	return err
}
