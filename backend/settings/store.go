package settings

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// maxFile is how much of a settings file is read, in bytes.
const maxFile = 4 << 20

// Store is the settings file and what it says. Each change reads the file
// anew and writes only the values that changed, so that what a person edits
// there by hand meanwhile stays.
type Store struct {
	home Home
	now  func() time.Time

	// saving is held for a whole change, file included. Readers do not wait
	// for it.
	saving sync.Mutex

	// mu guards what follows.
	mu        sync.RWMutex
	said      understood
	keptAside string
}

// Config is what a Store is made of.
type Config struct {
	Home Home
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Load reads the settings of a home. A file that is not there means the
// defaults; nothing is made. One that cannot be parsed is kept aside as
// settings.broken-<time>.json, and what could be read of it is written anew;
// KeptAside and Problems tell. The Store can be used even beside an error,
// which says that the file cannot be read, or is broken and cannot be kept.
func Load(cfg Config) (*Store, error) {
	s := &Store{home: cfg.Home, now: cfg.Now, said: understood{settings: Default()}}
	if s.now == nil {
		s.now = time.Now
	}
	return s, s.Reload()
}

// Reload reads the file again after the person edited it. After an error the
// state is as before, but for what could be read of a broken file.
func (s *Store) Reload() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	_, err := s.read()
	return err
}

// Home is where the settings lie.
func (s *Store) Home() Home { return s.home }

// Get returns the settings; they are the caller's.
func (s *Store) Get() Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.said.settings.clone()
}

// Providers returns the providers that can be used, the mock first. The slice
// is the caller's.
func (s *Store) Providers() []Provider {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := []Provider{Mock()}
	for _, p := range s.said.providers {
		all = append(all, p.clone())
	}
	return all
}

// Provider returns the provider with an id.
func (s *Store) Provider(id string) (Provider, bool) {
	for _, p := range s.Providers() {
		if p.ID == id {
			return p, true
		}
	}
	return Provider{}, false
}

// Problems returns the keys of the file that could not be used
// ("textSize", "providers[1].baseUrl"), and "settings.json" when that is true
// of the file itself. The slice is the caller's, never nil.
func (s *Store) Problems() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]string{}, s.said.problems...)
}

// KeptAside returns the path to which a broken file was moved since the start;
// "" for none.
func (s *Store) KeptAside() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keptAside
}

// Check reports what would keep Update from taking the settings, as Update does;
// it changes nothing.
func (s *Store) Check(next Settings) error {
	const op = "update settings"
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.said.refuses(op, next.trimmed())
}

// refuses returns why settings cannot be taken; nil when they can.
func (u *understood) refuses(op string, next Settings) error {
	if field := next.check(); field != "" {
		return invalid(op, field)
	}
	if !u.knows(next.Provider) {
		return invalid(op, "provider")
	}
	for _, m := range next.Presets {
		if !u.knows(m.Provider) {
			return invalid(op, presetsKey)
		}
	}
	return nil
}

// CheckProvider is Check for SaveProvider; an empty ID is one that will be made.
func (s *Store) CheckProvider(p Provider) error {
	p = p.trimmed()
	if p.ID == "" {
		p.ID = "new"
	}
	if field := p.check(); field != "" || p.ID == Mock().ID {
		return invalid("save provider", cmp.Or(field, "id"))
	}
	return nil
}

// Update replaces the settings. Faults: invalid_input with the field in
// Detail; disk_full, read_only, after which the old settings hold.
func (s *Store) Update(next Settings) error {
	const op = "update settings"
	next = next.trimmed()
	if field := next.check(); field != "" {
		return invalid(op, field)
	}
	// What the page did not change may have been changed in the file.
	was := s.Get()
	return s.change(func(o object, said understood) (object, error) {
		if err := said.refuses(op, next); err != nil {
			return nil, err
		}
		var err error
		for _, key := range settingKeys() {
			if reflect.DeepEqual(next.field(key), was.field(key)) {
				continue
			}
			if o, err = o.put(key, next.field(key)); err != nil {
				return nil, err
			}
		}
		return o, nil
	})
}

// SaveProvider adds a provider, or changes the one with its id, and returns it
// as stored. An empty ID is made from the name. Faults as for Update; the mock
// cannot be changed.
func (s *Store) SaveProvider(p Provider) (Provider, error) {
	const op = "save provider"
	p = p.trimmed()
	err := s.change(func(o object, said understood) (object, error) {
		if p.ID == "" {
			p.ID = said.newID(p.Name)
		}
		if p.ID == Mock().ID {
			return nil, invalid(op, "id")
		}
		if field := p.check(); field != "" {
			return nil, invalid(op, field)
		}
		return withProvider(o, p, false)
	})
	if err != nil {
		return Provider{}, err
	}
	return p, nil
}

// DeleteProvider removes a provider, with its favourites, its prices and the
// presets that use it; when it was the chosen one, none is. Its key is not ours
// to remove. Faults: not_found, invalid_input for the mock,
// and those of writing.
func (s *Store) DeleteProvider(id string) error {
	const op = "delete provider"
	if id == Mock().ID {
		return invalid(op, "id")
	}
	return s.change(func(o object, said understood) (object, error) {
		if !said.knows(id) || id == "" {
			return nil, fault.New(fault.NotFound, op, nil)
		}
		o, err := withProvider(o, Provider{ID: id}, true)
		if err == nil && said.settings.Provider == id {
			o, err = o.set("provider", "")
		}
		if err != nil {
			return nil, err
		}
		return withoutPresets(o, id)
	})
}

// change reads the file, applies edit to it and writes it. The new state holds
// only once it is on the disk.
func (s *Store) change(edit func(object, understood) (object, error)) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	o, err := s.read()
	if err != nil {
		return err
	}
	s.mu.RLock()
	said := s.said
	s.mu.RUnlock()
	next, err := edit(o, said)
	if err != nil {
		return err
	}
	return s.write(next)
}

// write makes o the file and the state. saving must be held.
func (s *Store) write(o object) error {
	text, err := o.text()
	if err != nil {
		return fault.New(fault.Internal, "write settings", err)
	}
	if err := workspace.ReplaceFile(s.home.Settings(), text, 0o600); err != nil {
		return err
	}
	s.adopt(o)
	return nil
}

// adopt makes what o says the state.
func (s *Store) adopt(o object) {
	said := understand(o)
	s.mu.Lock()
	s.said = said
	s.mu.Unlock()
}

// read reads the file into the state, keeping a broken one aside, and returns
// what it holds. A new file starts with every default spelled out. saving must
// be held.
func (s *Store) read() (object, error) {
	const op = "read settings"
	data, err := readFile(s.home.Settings())
	if errors.Is(err, fs.ErrNotExist) {
		o, err := defaults(nil)
		if err != nil {
			return nil, fault.New(fault.Internal, op, err)
		}
		s.adopt(o)
		return o, nil
	}
	if err != nil {
		s.blame()
		return nil, fault.New(fault.Internal, op, err)
	}
	o, whole := parseObject(data)
	if whole {
		s.adopt(o)
		return o, nil
	}
	return s.setAside(o, data)
}

// setAside keeps a broken file and writes what could be read of it.
func (s *Store) setAside(o object, data []byte) (object, error) {
	o, err := defaults(o)
	if err != nil {
		return nil, fault.New(fault.Internal, "read settings", err)
	}
	s.adopt(o)
	name := "settings.broken-" + s.now().UTC().Format("20060102T150405.000") + ".json"
	kept := filepath.Join(s.home.Dir, name)
	err = workspace.ReplaceFile(kept, data, 0o600)
	if err != nil {
		// Nothing is written over a file that is not kept.
		s.blame()
		return nil, err
	}
	if err := s.write(o); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.keptAside = kept
	s.mu.Unlock()
	return o, nil
}

// blame puts the file itself among the problems.
func (s *Store) blame() {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := filepath.Base(s.home.Settings())
	if !slices.Contains(s.said.problems, name) {
		s.said.problems = append(s.said.problems[:len(s.said.problems):len(s.said.problems)], name)
	}
}

// defaults adds what o lacks, so that a person finds every key in the file.
func defaults(o object) (object, error) {
	var err error
	for _, key := range settingKeys() {
		if _, ok, bad := o.find(key); ok || bad {
			continue
		}
		if o, err = o.put(key, Default().field(key)); err != nil {
			return nil, err
		}
	}
	if _, ok := o.get(providersKey); !ok {
		return o.set(providersKey, []Provider{})
	}
	return o, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errors.New("not a settings file")
	}
	return os.ReadFile(path)
}
