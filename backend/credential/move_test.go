package credential

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/fault"
)

// inPlain puts keys into the file of dir by the names of their references.
func inPlain(t *testing.T, dir string, refs ...string) {
	t.Helper()
	s := newStore(t, dir, newMemoryRing())
	for _, ref := range refs {
		must(t, s.Set(t.Context(), ref, secret(t, planted+"-"+ref), File))
	}
}

// plainHolds lists the references whose keys stand in the file.
func plainHolds(t *testing.T, dir string, refs ...string) (held []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, ref := range refs {
		if strings.Contains(string(data), planted+"-"+ref+`"`) {
			held = append(held, ref)
		}
	}
	return held
}

// covers: K5
func TestStore_MoveToKeyring(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	refs := []string{"network-proxy", "one", "two"}
	inPlain(t, dir, refs...)
	s := newStore(t, dir, ring)
	if plain, err := s.InPlainText(); err != nil || !plain {
		t.Errorf("%v, %v", plain, err)
	}
	n, err := s.MoveToKeyring(t.Context())
	if err != nil || n != 3 {
		t.Errorf("moved %d, %v", n, err)
	}
	for _, ref := range refs {
		wantKey(t, s, ref, planted+"-"+ref)
		wantDescription(t, s, ref, Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 1234})
	}
	if got := files(t, dir); strings.Contains(got, "TESTKEY") || strings.Contains(got, "credentials.json") {
		t.Errorf("left: %s", got)
	}
	if plain, err := s.InPlainText(); err != nil || plain {
		t.Errorf("%v, %v", plain, err)
	}
	if n, err := s.MoveToKeyring(t.Context()); n != 0 || err != nil || len(ring.holds()) != 3 {
		t.Errorf("moved %d more, %v; %d in the ring", n, err, len(ring.holds()))
	}
}

// A keyring that fails, keeps nothing or gives back something else: the key stays
// in the file, is said to be there, and none is left in the keyring.
//
// covers: K5 C14
func TestStore_MoveThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*memoryRing)
		want  fault.Code
	}{
		"missing":     {func(r *memoryRing) { r.err = fault.New(fault.KeyringMissing, "x", nil) }, fault.KeyringMissing},
		"locked":      {func(r *memoryRing) { r.err = fault.New(fault.KeyringLocked, "x", nil) }, fault.KeyringLocked},
		"mute":        {func(r *memoryRing) { r.err = fault.New(fault.KeyringTimeout, "x", nil) }, fault.KeyringTimeout},
		"keeps none":  {func(r *memoryRing) { r.lossy = true }, fault.KeyringMissing},
		"gives wrong": {func(r *memoryRing) { r.garbles = true }, fault.KeyringMissing},
	} {
		t.Run(name, func(t *testing.T) {
			dir, ring := t.TempDir(), newMemoryRing()
			inPlain(t, dir, "one", "two")
			ring.set(c.spoil)
			s := newStore(t, dir, ring)
			n, err := s.MoveToKeyring(t.Context())
			wantCode(t, err, c.want)
			if n != 0 {
				t.Errorf("moved %d", n)
			}
			for _, ref := range []string{"one", "two"} {
				wantDescription(t, s, ref, Description{Place: File, StoredAtMs: 1234})
				wantKey(t, s, ref, planted+"-"+ref)
			}
			if got := ring.holds(); len(got) != 0 {
				t.Errorf("the ring holds %d items", len(got))
			}
		})
	}
}

// One that is no key stays, is told, and keeps no other from moving.
//
// covers: K5
func TestStore_MoveLeavesWhatIsNoKey(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	inPlain(t, dir, "one", "two")
	path := filepath.Join(dir, "credentials.json")
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(data), planted+"-one", planted+"\\u0001-one", 1)), 0o600))
	s := newStore(t, dir, ring)
	n, err := s.MoveToKeyring(t.Context())
	wantCode(t, err, fault.KeyMalformed)
	if n != 1 || strings.Contains(err.Error(), "TESTKEY") {
		t.Errorf("moved %d: %v", n, err)
	}
	wantDescription(t, s, "one", Description{Place: File, StoredAtMs: 1234})
	wantDescription(t, s, "two", Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 1234})
}

// A keyring that was given up and stores after all, when another key was stored
// meanwhile: the later key is what counts and nothing is left of the first.
//
// covers: K4 K5
func TestStore_LateItemIsInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ring, wake := newMemoryRing(), make(chan struct{})
		var sets atomic.Int32
		ring.before = func(_ context.Context, name string) {
			if name == "set" && sets.Add(1) == 1 {
				<-wake
			}
		}
		s := New(Config{KeysFile: filepath.Join(dir, "k"), PlainFile: filepath.Join(dir, "p"), Ring: ring})
		defer s.Close()
		wantCode(t, s.Set(t.Context(), "openai", secret(t, "sk-first"), Keyring), fault.KeyringTimeout)
		must(t, s.Set(t.Context(), "openai", secret(t, "sk-second"), Keyring))
		close(wake)
		synctest.Wait()
		wantKey(t, s, "openai", "sk-second")
		if got := ring.holds(); !slices.Equal(got, []string{"sk-second"}) {
			t.Errorf("the ring holds %q", got)
		}
	})
}

// A replaced key stays until the new one is there, and goes then.
//
// covers: K4 K5
func TestStore_ReplaceThatFailsKeepsTheKey(t *testing.T) {
	ring := newMemoryRing()
	s := newStore(t, t.TempDir(), ring)
	must(t, s.Set(t.Context(), "openai", secret(t, "sk-old"), Keyring))
	ring.set(func(r *memoryRing) { r.lossy = true })
	wantCode(t, s.Set(t.Context(), "openai", secret(t, "sk-new"), Keyring), fault.KeyringMissing)
	ring.set(func(r *memoryRing) { r.lossy = false })
	wantKey(t, s, "openai", "sk-old")
	must(t, s.Set(t.Context(), "openai", secret(t, "sk-new"), Keyring))
	wantKey(t, s, "openai", "sk-new")
	if got := ring.holds(); !slices.Equal(got, []string{"sk-new"}) {
		t.Errorf("the ring holds %q", got)
	}
}

// A key that is read while another takes its place is one of the two.
//
// covers: K4
func TestStore_ReadWhileReplaced(t *testing.T) {
	ring := newMemoryRing()
	s := newStore(t, t.TempDir(), ring)
	must(t, s.Set(t.Context(), "openai", secret(t, "sk-old"), Keyring))
	var replaced atomic.Bool
	ring.set(func(r *memoryRing) {
		r.before = func(ctx context.Context, name string) {
			if name == "get" && replaced.CompareAndSwap(false, true) {
				must(t, s.Set(ctx, "openai", secret(t, "sk-new"), Keyring))
			}
		}
	})
	wantKey(t, s, "openai", "sk-new")
	wantDescription(t, s, "openai", Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 1234})
}

// A list of a version before, whose items have the reference alone as a name.
//
// covers: K4
func TestStore_ReadsAListOfAVersionBefore(t *testing.T) {
	dir, ring := t.TempDir(), newMemoryRing()
	must(t, os.WriteFile(filepath.Join(dir, "keys.json"), []byte(`{"scope":"S","keys":{"openai":{"keyring":"Test Ring","storedAtMs":7}}}`), 0o600))
	ring.items["galley/S/openai"] = "sk-old"
	s := newStore(t, dir, ring)
	wantKey(t, s, "openai", "sk-old")
	wantDescription(t, s, "openai", Description{Place: Keyring, Keyring: "Test Ring", StoredAtMs: 7})
	must(t, s.Set(t.Context(), "openai", secret(t, "sk-new"), Keyring))
	wantKey(t, s, "openai", "sk-new")
	if got := ring.holds(); !slices.Equal(got, []string{"sk-new"}) {
		t.Errorf("the ring holds %q", got)
	}
	must(t, s.Delete(t.Context(), "openai"))
	if got := ring.holds(); len(got) != 0 {
		t.Errorf("the ring holds %q", got)
	}
}

// Nothing of the keyring's answers is waited for longer than its limit.
//
// covers: K5
func TestStore_MoveIntoAMuteKeyring(t *testing.T) {
	dir := t.TempDir()
	inPlain(t, dir, "one", "two")
	synctest.Test(t, func(t *testing.T) {
		ring, wake := newMemoryRing(), make(chan struct{})
		ring.before = func(context.Context, string) { <-wake }
		s := New(Config{KeysFile: filepath.Join(dir, "keys.json"), PlainFile: filepath.Join(dir, "credentials.json"), Ring: ring})
		start := time.Now()
		n, err := s.MoveToKeyring(t.Context())
		wantCode(t, err, fault.KeyringTimeout)
		if d := time.Since(start); n != 0 || d != 3*time.Second {
			t.Errorf("moved %d in %v", n, d)
		}
		close(wake)
		s.Close()
	})
	if got := plainHolds(t, dir, "one", "two"); len(got) != 2 {
		t.Errorf("the file holds %q", got)
	}
}
