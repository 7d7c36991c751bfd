package credential

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/fault"
)

// memoryRing is a keyring in memory that can be made to go wrong.
type memoryRing struct {
	mu      sync.Mutex
	items   map[string]string
	err     error                         // every call fails with it
	lossy   bool                          // Set says yes and keeps nothing
	garbles bool                          // Get gives something else
	before  func(context.Context, string) // called before each call with its name
}

func newMemoryRing() *memoryRing { return &memoryRing{items: map[string]string{}} }

func (r *memoryRing) enter(ctx context.Context, name string) error {
	r.mu.Lock()
	before, err := r.before, r.err
	r.mu.Unlock()
	if before != nil {
		before(ctx, name)
	}
	return err
}

func (r *memoryRing) Name(ctx context.Context) (string, error) {
	return "Test Ring", r.enter(ctx, "name")
}

func (r *memoryRing) Set(ctx context.Context, item string, data []byte) (string, error) {
	if err := r.enter(ctx, "set"); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lossy {
		r.items[item] = string(data)
	}
	return "Test Ring", nil
}

func (r *memoryRing) Get(ctx context.Context, item string) ([]byte, error) {
	if err := r.enter(ctx, "get"); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.items[item]
	if !ok {
		return nil, ErrNoItem
	}
	if r.garbles {
		return []byte("garbled"), nil
	}
	return []byte(v), nil
}

func (r *memoryRing) Remove(ctx context.Context, item string) error {
	if err := r.enter(ctx, "remove"); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.items, item)
	return nil
}

func (r *memoryRing) Close() {}

func (r *memoryRing) set(change func(*memoryRing)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *memoryRing) holds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, v := range r.items {
		out = append(out, v)
	}
	return out
}

func newStore(t *testing.T, dir string, ring Ring) *Store {
	t.Helper()
	s := New(Config{
		KeysFile: filepath.Join(dir, "keys.json"), PlainFile: filepath.Join(dir, "credentials.json"), Ring: ring,
		Now: func() time.Time { return time.UnixMilli(1234) },
	})
	t.Cleanup(s.Close)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func wantKey(t testing.TB, s *Store, ref, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), ref)
	if err != nil || got.Reveal() != want {
		t.Errorf("%s: got %q (%v), want %q", ref, got.Reveal(), err, want)
	}
}

func wantDescription(t testing.TB, s *Store, ref string, want Description) {
	t.Helper()
	got, err := s.Describe(t.Context(), ref)
	if err != nil || got != want {
		t.Errorf("%s: got %+v (%v), want %+v", ref, got, err, want)
	}
}

// files returns the content of every file under dir.
func files(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all.WriteString(p + "\n" + string(data) + "\n")
		return err
	}))
	return all.String()
}

// covers: K4
func TestStore_KeyringIsTheDefaultPlace(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	s := newStore(t, dir, ring)
	wantDescription(t, s, "openai", Description{Place: None})
	_, err := s.Get(t.Context(), "openai")
	wantCode(t, err, fault.NoKey)

	must(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring))
	wantKey(t, s, "openai", planted)
	in := Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 1234}
	wantDescription(t, s, "openai", in)
	if got := files(t, dir); strings.Contains(got, "TESTKEY") || !strings.Contains(got, "openai") {
		t.Errorf("files: %s", got)
	}

	// The next start.
	again := newStore(t, dir, ring)
	wantKey(t, again, "openai", planted)
	wantDescription(t, again, "openai", in)
	must(t, again.Set(t.Context(), "openai", secret(t, "sk-2"), Keyring))
	wantKey(t, s, "openai", "sk-2")
	if got := ring.holds(); len(got) != 1 {
		t.Errorf("the ring holds %d items", len(got))
	}
	must(t, s.Delete(t.Context(), "openai"))
	must(t, s.Delete(t.Context(), "openai"))
	wantDescription(t, again, "openai", Description{Place: None})
	if got := ring.holds(); len(got) != 0 {
		t.Errorf("the ring holds %d items", len(got))
	}
}

// Two homes of one person do not see each other's keys.
func TestStore_HomesAreApart(t *testing.T) {
	ring := newMemoryRing()
	a, b := newStore(t, t.TempDir(), ring), newStore(t, t.TempDir(), ring)
	must(t, a.Set(t.Context(), "openai", secret(t, "sk-a"), Keyring))
	must(t, b.Set(t.Context(), "openai", secret(t, "sk-b"), Keyring))
	wantKey(t, a, "openai", "sk-a")
	must(t, b.Delete(t.Context(), "openai"))
	wantKey(t, a, "openai", "sk-a")
}

// TestStore_C14 is row C14: no keyring. Nothing is written, nothing is said to
// be configured; then each of the two choices.
//
// covers: K5
func TestStore_C14(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	for _, code := range []fault.Code{fault.KeyringMissing, fault.KeyringLocked, fault.KeyringTimeout} {
		ring.set(func(r *memoryRing) { r.err = fault.New(code, "find keyring", nil) })
		s := newStore(t, dir, ring)
		wantCode(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring), code)
		wantDescription(t, s, "openai", Description{Place: None})
		_, err := s.Get(t.Context(), "openai")
		wantCode(t, err, fault.NoKey)
		_, err = s.KeyringName(t.Context())
		wantCode(t, err, code)
		if got := files(t, dir); got != "" {
			t.Errorf("%s: written: %s", code, got)
		}
	}

	s := newStore(t, dir, ring)
	must(t, s.Set(t.Context(), "openai", secret(t, planted), Memory))
	wantKey(t, s, "openai", planted)
	wantDescription(t, s, "openai", Description{Place: Memory, StoredAtMs: 1234})
	if got := files(t, dir); got != "" {
		t.Errorf("written: %s", got)
	}
	s.Close()
	wantDescription(t, s, "openai", Description{Place: None})
	wantDescription(t, newStore(t, dir, ring), "openai", Description{Place: None})

	s = newStore(t, dir, ring)
	must(t, s.Set(t.Context(), "openai", secret(t, planted), File))
	wantDescription(t, newStore(t, dir, ring), "openai", Description{Place: File, StoredAtMs: 1234})
	wantKey(t, newStore(t, dir, ring), "openai", planted)
	path := filepath.Join(dir, "credentials.json")
	info, err := os.Stat(path)
	must(t, err)
	if os.PathSeparator == '/' && info.Mode() != 0o600 {
		t.Errorf("mode: %v", info.Mode())
	}
	must(t, s.Set(t.Context(), "other", secret(t, "sk-o"), File))
	must(t, s.Delete(t.Context(), "openai"))
	if got := files(t, dir); strings.Contains(got, "TESTKEY") || !strings.Contains(got, "sk-o") {
		t.Errorf("after deleting: %s", got)
	}
	must(t, s.Delete(t.Context(), "other"))
	if got := files(t, dir); got != "" {
		t.Errorf("the file stays: %s", got)
	}

	// A keyring has come: the key moves there and leaves the file.
	must(t, s.Set(t.Context(), "openai", secret(t, planted), File))
	ring.set(func(r *memoryRing) { r.err = nil })
	must(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring))
	wantDescription(t, s, "openai", Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 1234})
	if got := files(t, dir); strings.Contains(got, "TESTKEY") {
		t.Errorf("still in plain text: %s", got)
	}
}

// A file that others could read becomes private with the first key.
//
// covers: K5
func TestStore_PlainFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "credentials.json")
	must(t, os.WriteFile(path, []byte(`{"keys":{}}`), 0o644))
	s := newStore(t, dir, newMemoryRing())
	must(t, s.Set(t.Context(), "openai", secret(t, planted), File))
	info, err := os.Stat(path)
	must(t, err)
	if os.PathSeparator == '/' && info.Mode() != 0o600 {
		t.Errorf("mode: %v", info.Mode())
	}
	// What cannot be parsed is neither quoted nor written over.
	must(t, os.WriteFile(path, []byte(`{"keys": TESTKEY`), 0o600))
	err = s.Set(t.Context(), "openai", secret(t, "sk-2"), File)
	if err == nil || strings.Contains(err.Error(), "TESTKEY") || strings.Contains(err.Error(), "'T'") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != `{"keys": TESTKEY` {
		t.Errorf("file: %q, %v", got, err)
	}
}

// A keyring that says yes and keeps nothing, or gives back something else.
//
// covers: K5
func TestStore_ReadsBackBeforeItSaysStored(t *testing.T) {
	for name, change := range map[string]func(*memoryRing){
		"keeps nothing": func(r *memoryRing) { r.lossy = true },
		"garbles":       func(r *memoryRing) { r.garbles = true },
	} {
		t.Run(name, func(t *testing.T) {
			dir, ring := t.TempDir(), newMemoryRing()
			ring.set(change)
			s := newStore(t, dir, ring)
			wantCode(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring), fault.KeyringMissing)
			wantDescription(t, s, "openai", Description{Place: None})
			if got := ring.holds(); len(got) != 0 {
				t.Errorf("the ring holds %d items", len(got))
			}
			if got := files(t, dir); got != "" {
				t.Errorf("written: %s", got)
			}
		})
	}
}

// The list cannot be written: the key does not stay in the keyring either.
//
// covers: K5
func TestStore_UnlistedKeyIsTakenBack(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	blocked := filepath.Join(dir, "file")
	must(t, os.WriteFile(blocked, nil, 0o600))
	s := newStore(t, dir, ring)
	ring.set(func(r *memoryRing) {
		r.before = func(_ context.Context, name string) {
			if name == "set" { // the folder goes between reading and writing
				must(t, os.RemoveAll(dir))
				must(t, os.WriteFile(dir, nil, 0o600))
			}
		}
	})
	if err := s.Set(t.Context(), "openai", secret(t, planted), Keyring); err == nil {
		t.Error("stored without a list")
	}
	if got := ring.holds(); len(got) != 0 {
		t.Errorf("the ring holds %d items", len(got))
	}
	must(t, os.Remove(dir))
}

// Removed in the keyring's own program.
func TestStore_KeyThatWasRemovedElsewhere(t *testing.T) {
	ring := newMemoryRing()
	s := newStore(t, t.TempDir(), ring)
	must(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring))
	ring.set(func(r *memoryRing) { clear(r.items) })
	_, err := s.Get(t.Context(), "openai")
	wantCode(t, err, fault.NoKey)
	wantDescription(t, s, "openai", Description{Place: None})
}

// A key that cannot be removed is still said to be there.
func TestStore_DeleteThatFails(t *testing.T) {
	ring := newMemoryRing()
	s := newStore(t, t.TempDir(), ring)
	must(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring))
	ring.set(func(r *memoryRing) { r.err = fault.New(fault.KeyringLocked, "x", nil) })
	wantCode(t, s.Delete(t.Context(), "openai"), fault.KeyringLocked)
	if d, _ := s.Describe(t.Context(), "openai"); d.Place != Keyring {
		t.Errorf("described as %+v", d)
	}
	_, err := s.Get(t.Context(), "openai")
	wantCode(t, err, fault.KeyringLocked)
	ring.set(func(r *memoryRing) { r.err = nil })
	wantKey(t, s, "openai", planted)
}

func TestStore_Refusals(t *testing.T) {
	s := newStore(t, t.TempDir(), newMemoryRing())
	for _, ref := range []string{"", "A", "a/b", "../x", "ä", strings.Repeat("a", 65)} {
		wantCode(t, s.Set(t.Context(), ref, secret(t, "k"), Memory), fault.InvalidInput)
		_, err := s.Get(t.Context(), ref)
		wantCode(t, err, fault.InvalidInput)
		wantCode(t, s.Delete(t.Context(), ref), fault.InvalidInput)
	}
	for _, place := range []Place{None, "", "cloud"} {
		wantCode(t, s.Set(t.Context(), "a", secret(t, "k"), place), fault.InvalidInput)
	}
	wantCode(t, s.Set(t.Context(), "a", Secret{}, Memory), fault.KeyMalformed)
}

// A mute keyring: every call ends after 3 s, and when too many hang the next
// one ends as well. The clock is synctest's.
//
// covers: K4 K5
func TestStore_MuteKeyring(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ring, wake := newMemoryRing(), make(chan struct{})
		ring.before = func(context.Context, string) { <-wake }
		s := New(Config{KeysFile: filepath.Join(dir, "k"), PlainFile: filepath.Join(dir, "p"), Ring: ring})
		for range maxCalls + 2 {
			start := time.Now()
			wantCode(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring), fault.KeyringTimeout)
			if d := time.Since(start); d != 3*time.Second {
				t.Errorf("waited %v", d)
			}
		}
		wantDescription(t, s, "openai", Description{Place: None})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.KeyringName(ctx)
		wantCode(t, err, fault.Cancelled)

		// It wakes up after all: what it then stores is taken back, since the
		// person was told that nothing was stored.
		close(wake)
		synctest.Wait()
		if got := ring.holds(); len(got) != 0 {
			t.Errorf("the ring holds %d items", len(got))
		}
		must(t, s.Set(t.Context(), "openai", secret(t, planted), Keyring))
		s.Close()
	})
}

// A hanging call does not keep the program from ending.
func TestStore_CloseWithAHangingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring, wake := newMemoryRing(), make(chan struct{})
		ring.before = func(context.Context, string) { <-wake }
		s := New(Config{KeysFile: "none", PlainFile: "none", Ring: ring})
		_, err := s.KeyringName(t.Context())
		wantCode(t, err, fault.KeyringTimeout)
		start := time.Now()
		s.Close()
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("waited %v", d)
		}
		close(wake)
	})
}

func TestStore_PanicInTheKeyring(t *testing.T) {
	ring := newMemoryRing()
	ring.before = func(context.Context, string) { panic(planted) }
	s := newStore(t, t.TempDir(), ring)
	err := s.Set(t.Context(), "openai", secret(t, planted), Keyring)
	wantCode(t, err, fault.Internal)
	if strings.Contains(err.Error(), "TESTKEY") {
		t.Errorf("the error quotes the key: %v", err)
	}
}

func TestStore_ManyAtOnce(t *testing.T) {
	ring := newMemoryRing()
	s := newStore(t, t.TempDir(), ring)
	var all sync.WaitGroup
	for _, ref := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			if err := s.Set(t.Context(), ref, secret(t, "sk-"+ref), Keyring); err != nil {
				t.Error(err)
			}
			wantKey(t, s, ref, "sk-"+ref)
		})
	}
	all.Wait()
	if got := ring.holds(); len(got) != 6 {
		t.Errorf("the ring holds %d items", len(got))
	}
}

func TestRing_Memory(t *testing.T) {
	must(t, conform(t.Context(), newMemoryRing()))
}

// conform tries what every Ring must do.
func conform(ctx context.Context, r Ring) error {
	const item, other = "galley/test/a", "galley/test/b"
	name, err := r.Name(ctx)
	if err != nil || name == "" {
		return errors.Join(errors.New("no name"), err)
	}
	if _, err := r.Get(ctx, item); !errors.Is(err, ErrNoItem) {
		return errors.Join(errors.New("an item that is not there"), err)
	}
	if err := r.Remove(ctx, item); err != nil {
		return errors.Join(errors.New("removing what is not there"), err)
	}
	for _, value := range []string{"first", "second", strings.Repeat("k", MaxSecret)} {
		if got, err := r.Set(ctx, item, []byte(value)); err != nil || got != name {
			return errors.Join(errors.New("set by "+got), err)
		}
		if got, err := r.Get(ctx, item); err != nil || string(got) != value {
			return errors.Join(errors.New("got something else"), err)
		}
	}
	if _, err := r.Set(ctx, other, []byte("other")); err != nil {
		return err
	}
	if err := r.Remove(ctx, item); err != nil {
		return err
	}
	if _, err := r.Get(ctx, item); !errors.Is(err, ErrNoItem) {
		return errors.Join(errors.New("a removed item"), err)
	}
	if got, err := r.Get(ctx, other); err != nil || string(got) != "other" {
		return errors.Join(errors.New("the other item"), err)
	}
	return r.Remove(ctx, other)
}
