// Package credential owns the keys of providers: the system's keyring, and
// where there is none the two places that a person can choose instead.
//
// A key is named by a reference (a provider's id) and is never part of an
// error, a log or anything that is encoded. Each keyring call ends after a
// limit, since a keyring can wait for a person who is not there. A Store is
// safe for concurrent use. The invariant that matters: a key is in the place
// the person chose or nowhere, and "stored" is said only after it was read
// back.
package credential

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// Place says where a key is kept.
type Place string

// The places of a key.
const (
	// None: there is no key.
	None Place = "none"
	// Keyring: the system's keyring.
	Keyring Place = "keyring"
	// Memory: until the program quits.
	Memory Place = "memory"
	// File: plain text in a file that only the person can read. To ask for
	// this place is to have consented.
	File Place = "file"
)

// Valid reports whether p is one of the places.
func (p Place) Valid() bool {
	switch p {
	case None, Keyring, Memory, File:
		return true
	}
	return false
}

// Description tells of a key without it.
type Description struct {
	Place Place
	// Keyring is the name of the keyring ("Secret Service"); "" elsewhere.
	Keyring string
	// StoredAtMs is in ms since 1970; 0 for None.
	StoredAtMs int64
}

// Config is what a Store is made of.
type Config struct {
	// KeysFile lists the keys in the keyring, without them.
	KeysFile string
	// PlainFile is for keys in plain text; made when first asked for.
	PlainFile string
	// Ring is the keyring; nil for the system's.
	Ring Ring
	// Limit ends a keyring call; 0 means 3 s.
	Limit time.Duration
	// Now is the clock; nil for time.Now.
	Now func() time.Time
	// Calls are the file-system calls that write the files; nil for the
	// system's.
	Calls workspace.Calls
}

// Store holds keys.
type Store struct {
	ring  *limited
	now   func() time.Time
	list  list
	plain plain

	// folder is where the files lie; tidied clears it up once.
	folder string
	tidied sync.Once

	// changing is held for a whole Set, Delete or MoveToKeyring, files and keyring included,
	// so that what is in which place and what the lists say agree. Readers do
	// not wait for it.
	changing chan struct{}

	// mu guards what follows.
	mu     sync.Mutex
	memory map[string]held
}

type held struct {
	key  Secret
	atMs int64
}

// New returns a Store. It calls no keyring and reads no file.
func New(cfg Config) *Store {
	if cfg.Ring == nil {
		cfg.Ring = SystemRing()
	}
	if cfg.Limit == 0 {
		cfg.Limit = 3 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Calls == nil {
		cfg.Calls = workspace.OSCalls()
	}
	return &Store{
		ring: newLimited(cfg.Ring, cfg.Limit), now: cfg.Now, folder: filepath.Dir(cfg.PlainFile),
		list: list{file{cfg.KeysFile, cfg.Calls}}, plain: plain{file{cfg.PlainFile, cfg.Calls}},
		changing: make(chan struct{}, 1), memory: make(map[string]held),
	}
}

// Close forgets the keys in memory and waits for keyring calls under way, at
// most for the limit.
func (s *Store) Close() {
	s.mu.Lock()
	s.memory = make(map[string]held)
	s.mu.Unlock()
	s.ring.close()
}

// KeyringName looks for the keyring and returns its name ("Secret Service"),
// asking nobody to unlock it. Faults: keyring_missing with what was looked for
// in Detail, keyring_locked, keyring_timeout.
func (s *Store) KeyringName(ctx context.Context) (string, error) {
	return s.ring.name(ctx)
}

// Set stores a key under ref in place, and then removes it from the other
// places. In place Keyring it is read back before this returns. Faults:
// invalid_input for ref or place, key_malformed for an empty key,
// keyring_missing, keyring_locked, keyring_timeout (nothing is stored then),
// disk_full, read_only.
func (s *Store) Set(ctx context.Context, ref string, key Secret, place Place) error {
	const op = "set key"
	if !validRef(ref) || place == None || !place.Valid() {
		return fault.New(fault.InvalidInput, op, nil)
	}
	if key.Empty() {
		return malformed("empty")
	}
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	atMs := s.now().UnixMilli()
	switch place {
	case Memory:
		s.mu.Lock()
		s.memory[ref] = held{key, atMs}
		s.mu.Unlock()
		if err := s.plain.remove(ref); err != nil {
			return err
		}
		return s.leaveRing(ctx, ref)
	case File:
		if err := s.plain.set(ref, key, atMs); err != nil {
			return err
		}
		s.forget(ref)
		return s.leaveRing(ctx, ref)
	default:
		if err := s.setInRing(ctx, ref, key, atMs); err != nil {
			return err
		}
		s.forget(ref)
		return s.plain.remove(ref)
	}
}

// Get returns the key under ref. Faults: no_key, invalid_input, key_malformed,
// keyring_missing, keyring_locked, keyring_timeout.
func (s *Store) Get(ctx context.Context, ref string) (Secret, error) {
	const op = "get key"
	if !validRef(ref) {
		return Secret{}, fault.New(fault.InvalidInput, op, nil)
	}
	s.mu.Lock()
	h, ok := s.memory[ref]
	s.mu.Unlock()
	if ok {
		return h.key, nil
	}
	if e, ok, err := s.plain.get(ref); err != nil {
		return Secret{}, err
	} else if ok {
		return NewSecret(e.Key)
	}
	for {
		l, err := s.list.read()
		if err != nil {
			return Secret{}, err
		}
		if _, ok := l.Keys[ref]; !ok {
			return Secret{}, fault.New(fault.NoKey, op, nil)
		}
		data, err := s.ring.get(ctx, l.item(ref))
		if err == nil {
			return NewSecret(string(data))
		}
		if !errors.Is(err, ErrNoItem) {
			return Secret{}, err
		}
		if err := s.unlist(ctx, ref, l.item(ref)); err != nil {
			return Secret{}, err
		}
	}
}

// unlist stops saying that a key is there which was removed in the keyring's own
// program, unless another took its place meanwhile.
func (s *Store) unlist(ctx context.Context, ref, item string) error {
	if err := s.begin(ctx, "get key"); err != nil {
		return err
	}
	defer s.end()
	l, err := s.list.read()
	if err != nil || l.item(ref) != item {
		return err
	}
	return s.list.remove(ref)
}

// Delete removes the key under ref from every place. A key that is not there
// is no error. Faults: invalid_input, those of the keyring (the key is then
// still described as there), disk_full, read_only.
func (s *Store) Delete(ctx context.Context, ref string) error {
	return s.remove(ctx, "delete key", ref, func() error { return s.leaveRing(ctx, ref) })
}

// remove takes a key out of memory and file, and then out of the keyring as
// leave does.
func (s *Store) remove(ctx context.Context, op, ref string, leave func() error) error {
	if !validRef(ref) {
		return fault.New(fault.InvalidInput, op, nil)
	}
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	s.forget(ref)
	if err := s.plain.remove(ref); err != nil {
		return err
	}
	return leave()
}

// Describe tells where the key under ref is. It calls no keyring: a key that
// was removed in the keyring's own program shows only when it is used.
func (s *Store) Describe(_ context.Context, ref string) (Description, error) {
	s.mu.Lock()
	h, ok := s.memory[ref]
	s.mu.Unlock()
	if ok {
		return Description{Place: Memory, StoredAtMs: h.atMs}, nil
	}
	if e, ok, err := s.plain.get(ref); err != nil {
		return Description{Place: None}, err
	} else if ok {
		return Description{Place: File, StoredAtMs: e.StoredAtMs}, nil
	}
	l, err := s.list.read()
	if err != nil {
		return Description{Place: None}, err
	}
	if e, ok := l.Keys[ref]; ok {
		return Description{Place: Keyring, Keyring: e.Keyring, StoredAtMs: e.StoredAtMs}, nil
	}
	return Description{Place: None}, nil
}

func (s *Store) forget(ref string) {
	s.mu.Lock()
	delete(s.memory, ref)
	s.mu.Unlock()
}

func (s *Store) begin(ctx context.Context, op string) error {
	select {
	case s.changing <- struct{}{}:
		s.tidied.Do(s.tidy)
		return nil
	case <-ctx.Done():
		return fault.New(fault.Cancelled, op, context.Cause(ctx))
	}
}

func (s *Store) end() { <-s.changing }

// Tidy removes what processes that died while writing left beside the files: a
// key may be in it. A change does so by itself.
func (s *Store) Tidy() { s.tidied.Do(s.tidy) }

// tidy is Tidy each time. What cannot be removed is met by the next start.
func (s *Store) tidy() { _ = workspace.SweepFolder(s.folder) }

// validRef holds for the ids of providers.
func validRef(ref string) bool {
	if ref == "" || len(ref) > 64 {
		return false
	}
	return !strings.ContainsFunc(ref, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}
