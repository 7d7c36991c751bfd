package api

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/provider"
	"galley/backend/provider/endpoint"
	"galley/backend/settings"
)

// Settings is the bound service of settings, providers and keys. A key can be
// stored and deleted; no method returns one (K4).
type Settings struct {
	store *settings.Store
	// aside takes up which files and folders are set aside.
	aside   func()
	home    settings.Home
	keys    *credential.Store
	network *network.Resolver
	// chooseCAFile asks for a file of certificates; "" when cancelled.
	chooseCAFile func(context.Context) (string, error)
	host         *host.Host
	emitter      *Emitter
	// relabel shows the native menu in the page's words.
	relabel func([]MenuLabel)
	version string
	ctx     func() context.Context
	// background runs what the page does not wait for; it ends with the program.
	background func(func())
	keyring    keyringName
	trials     trials
	log        *slog.Logger
}

// Get returns everything the settings tab shows.
func (s *Settings) Get() (SettingsState, error) {
	return call(s.log, "get settings", func() (SettingsState, error) {
		s.lookForKeyring()
		return s.state(s.ctx()), nil
	})
}

// Update stores the person's choices.
func (s *Settings) Update(next settings.Settings) (SettingsState, error) {
	return s.changed("update settings", func(ctx context.Context) error {
		// What is refused takes no key or password along.
		if err := s.store.Check(next); err != nil {
			return err
		}
		if err := s.leaveNetwork(ctx, next.Network); err != nil {
			return err
		}
		if err := s.store.Update(next); err != nil {
			return err
		}
		s.aside()
		return nil
	})
}

// SaveProvider adds a provider (an empty id) or changes one. An address on
// another host loses its key first: a key was given for one place only.
func (s *Settings) SaveProvider(p settings.Provider) (SettingsState, error) {
	return s.changed("save provider", func(ctx context.Context) error {
		if err := s.store.CheckProvider(p); err != nil {
			return err
		}
		if old, ok := s.store.Provider(p.ID); ok && !provider.SameHost(old.BaseURL, p.BaseURL) {
			if err := s.dropKey(ctx, p.ID); err != nil {
				return err
			}
		}
		_, err := s.store.SaveProvider(p)
		return err
	})
}

// DeleteProvider deletes a provider and its key. The key goes first, so that
// none is left behind that nothing shows.
func (s *Settings) DeleteProvider(id string) (SettingsState, error) {
	return s.changed("delete provider", func(ctx context.Context) error {
		if err := s.dropKey(ctx, id); err != nil {
			return err
		}
		return s.store.DeleteProvider(id)
	})
}

// dropKey deletes a key whose place is given up. Where the keyring is not there
// it is no longer the key of ref: another provider may have that id one day, and
// the keyring may come back.
func (s *Settings) dropKey(ctx context.Context, ref string) error {
	err := s.keys.Delete(ctx, ref)
	if fault.CodeOf(err) == fault.KeyringMissing {
		return s.keys.Disown(ctx, ref)
	}
	return err
}

// SetKey stores a key. Without a keyring it is keyring_missing and nothing is
// stored; the person may then choose memory or file (K5).
func (s *Settings) SetKey(req SetKeyRequest) (SettingsState, error) {
	return s.changed("set key", func(ctx context.Context) error {
		p, ok := s.store.Provider(req.ProviderID)
		if !ok {
			return fault.New(fault.NoProvider, "set key", nil)
		}
		if p.Kind == settings.KindMock {
			// It has none, and none that is stored for it would be shown.
			return fault.New(fault.InvalidInput, "set key", nil)
		}
		secret, err := credential.NewSecret(req.Key)
		if err != nil {
			return err
		}
		return s.keys.Set(ctx, req.ProviderID, secret, credential.Place(req.Place))
	})
}

// DeleteKey deletes a key wherever it is.
func (s *Settings) DeleteKey(providerID string) (SettingsState, error) {
	return s.changed("delete key", func(ctx context.Context) error { return s.keys.Delete(ctx, providerID) })
}

// TestProvider makes the smallest request to a provider and lists its models.
// StopTest gives it up, which is cancelled: a server that loads its model first
// may take any time.
func (s *Settings) TestProvider(id string) (TestResult, error) {
	return call(s.log, "test provider", func() (TestResult, error) {
		ctx, done := s.trials.begin(s.ctx(), id)
		defer done()
		p, ok := s.store.Provider(id)
		if !ok {
			return TestResult{}, fault.New(fault.NoProvider, "test provider", nil)
		}
		reached, err := s.reached(p)
		if err != nil {
			return TestResult{}, err
		}
		r, err := s.host.TestProvider(ctx, wire.ProviderTestParams{Provider: reached, Model: p.Model})
		models := r.Models
		if models == nil {
			models = []core.ModelInfo{}
		}
		return TestResult{
			URL: r.URL, Models: models, ModelsCode: string(r.ModelsCode),
			Answer: r.Answer, FirstTokenMs: r.FirstTokenMs, TotalMs: r.TotalMs, Usage: r.Usage,
		}, err
	})
}

// StopTest gives up every test of a provider that runs; none is no fault.
func (s *Settings) StopTest(id string) error {
	return do(s.log, "stop test", func() error {
		s.trials.stop(id)
		return nil
	})
}

// trials are the tests that run. The zero value is ready.
type trials struct {
	mu    sync.Mutex // guards what follows
	last  int
	stops map[string]map[int]context.CancelFunc
}

// begin returns the context of a test of a provider, and what ends it.
func (r *trials) begin(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stops == nil {
		r.stops = make(map[string]map[int]context.CancelFunc)
	}
	if r.stops[id] == nil {
		r.stops[id] = make(map[int]context.CancelFunc)
	}
	r.last++
	n := r.last
	r.stops[id][n] = cancel
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.stops[id], n)
		if len(r.stops[id]) == 0 {
			delete(r.stops, id)
		}
	}
}

func (r *trials) stop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.stops[id] {
		cancel()
	}
}

// SetMenu shows the native menu in the words of the page's language.
func (s *Settings) SetMenu(labels []MenuLabel) error {
	return do(s.log, "set menu", func() error {
		if len(labels) > 200 {
			return fault.New(fault.InvalidInput, "set menu", nil)
		}
		s.relabel(labels)
		return nil
	})
}

// changed runs a change and returns, and tells, the state after it.
func (s *Settings) changed(op string, change func(context.Context) error) (SettingsState, error) {
	return call(s.log, op, func() (SettingsState, error) {
		if err := change(s.ctx()); err != nil {
			return SettingsState{}, err
		}
		s.lookForKeyring()
		return s.told(), nil
	})
}

// told tells the page the state, and returns it.
func (s *Settings) told() SettingsState {
	state := s.state(s.ctx())
	s.emitter.Emit("settings.changed", state)
	return state
}

func (s *Settings) state(ctx context.Context) SettingsState {
	found := s.store.Providers()
	state := SettingsState{
		Settings: s.store.Get(), Providers: make([]ProviderState, 0, len(found)),
		Problems: s.store.Problems(), File: s.home.Settings(), KeptAside: s.store.KeptAside(),
		Version: s.version, OS: runtime.GOOS, CanMoveKeys: s.canMoveKeys(),
	}
	if state.Problems == nil {
		state.Problems = []string{}
	}
	for _, p := range found {
		state.Providers = append(state.Providers, s.providerState(ctx, p))
	}
	return state
}

func (s *Settings) providerState(ctx context.Context, p settings.Provider) ProviderState {
	out := ProviderState{Provider: p, Key: KeyState{Place: string(credential.None), Path: s.home.Credentials()}}
	if p.Kind == settings.KindMock {
		return out
	}
	out.NeedsKey = task.NeedsKey(p)
	url, err := endpoint.URL(p.Kind, p.BaseURL, p.Model)
	if err != nil {
		out.Problem = string(fault.CodeOf(err))
	}
	out.URL = url
	if d, ok := endpoint.Dialect(p.Kind); ok && err == nil {
		if out.ModelsURL, err = provider.ModelsURL(d, p.BaseURL); err != nil {
			out.Problem = string(fault.CodeOf(err))
		}
	}
	d, err := s.keys.Describe(ctx, p.ID)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Info("key not described", "code", fault.CodeOf(err))
	}
	out.Key.Place, out.Key.Keyring, out.Key.StoredAtMs = string(d.Place), d.Keyring, d.StoredAtMs
	return out
}
