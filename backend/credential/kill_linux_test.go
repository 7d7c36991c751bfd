package credential

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// killedEnv makes the test program change the keys of a folder and be killed at
// one point of it: "<change> <half or at> <number>".
const killedEnv = "GALLEY_CREDENTIAL_KILLED"

// points counts what a process does, and kills it at one of them.
type points struct {
	done, last atomic.Int64
}

// pass is a point.
func (p *points) pass() {
	if p.done.Add(1) == p.last.Load() {
		die()
	}
}

// die is kill -9.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// diskRing is a keyring that outlives a process: an item a file. The point before
// and after each call is counted.
type diskRing struct {
	dir  string
	pass func()
}

func (r diskRing) path(item string) string {
	return filepath.Join(r.dir, hex.EncodeToString([]byte(item)))
}

func (r diskRing) Name(context.Context) (string, error) { return "Disk Ring", nil }

func (r diskRing) Set(_ context.Context, item string, data []byte) (string, error) {
	r.pass()
	defer r.pass()
	return "Disk Ring", os.WriteFile(r.path(item), data, 0o600)
}

func (r diskRing) Get(_ context.Context, item string) ([]byte, error) {
	r.pass()
	defer r.pass()
	data, err := os.ReadFile(r.path(item))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoItem
	}
	return data, err
}

func (r diskRing) Remove(_ context.Context, item string) error {
	r.pass()
	defer r.pass()
	if err := os.Remove(r.path(item)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r diskRing) Close() {}

// diskStore is a Store whose files and keyring lie in dir.
func diskStore(dir string, calls workspace.Calls, pass func()) *Store {
	return New(Config{
		KeysFile: filepath.Join(dir, "home", "keys.json"), PlainFile: filepath.Join(dir, "home", "credentials.json"),
		Ring: diskRing{filepath.Join(dir, "ring"), pass}, Calls: calls,
	})
}

// change is what a process is killed in. It begins with the keys of killedRefs in
// one place.
type change struct {
	from Place
	do   func(context.Context, *Store) error
}

func changes() map[string]change {
	set := func(place Place) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error { return setNew(ctx, s, place) }
	}
	remove := func(ctx context.Context, s *Store) error { return s.Delete(ctx, "one") }
	return map[string]change{
		"move": {File, func(ctx context.Context, s *Store) error {
			_, err := s.MoveToKeyring(ctx)
			return err
		}},
		"set in the file":          {File, set(File)},
		"set from file to keyring": {File, set(Keyring)},
		"set in the keyring":       {Keyring, set(Keyring)},
		"set from keyring to file": {Keyring, set(File)},
		"delete from the file":     {File, remove},
		"delete from the keyring":  {Keyring, remove},
	}
}

// setNew stores another key for "one".
func setNew(ctx context.Context, s *Store, place Place) error {
	key, err := NewSecret(planted + "-new")
	if err != nil {
		return err
	}
	return s.Set(ctx, "one", key, place)
}

func killedRefs() []string { return []string{"one", "two"} }

// playKilled is the process that is killed. When it lives it returns the names of
// the calls of files.
func playKilled(what, dir string) ([]string, error) {
	p := &points{}
	change, rest, _ := strings.Cut(what, "/")
	mode, number, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	calls := filefault.New(workspace.OSCalls())
	if mode == "half" {
		calls.Arm(filefault.Plan{At: n, Mode: filefault.Half, Die: die})
	} else {
		p.last.Store(int64(n))
	}
	calls.Watch(func(string) { p.pass() })
	s := diskStore(dir, calls, p.pass)
	defer s.Close()
	err = changes()[change].do(context.Background(), s)
	return calls.Names(), err
}

// A process is killed at each point at which it moves, stores or deletes a key:
// before each call of a file or the keyring, after each of the keyring, and half
// through each write. At the next start each key is there; it is where it is said
// to be and nowhere else but in the keyring; and moving and deleting once more
// leave nothing behind.
//
// covers: K4 K5
func TestStore_KilledAtEachPoint(t *testing.T) {
	for change := range changes() {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			killed := 0
			try := func(mode string, n int) (lived bool, calls []string) {
				dir := t.TempDir()
				if lived, calls = killAt(t, change, mode, n, dir); !lived {
					killed++
					judgeKilled(t, fmt.Sprintf("%s %s %d", change, mode, n), change, dir)
				}
				return lived, calls
			}
			var calls []string
			for n := 1; ; n++ {
				lived, made := try("at", n)
				if lived {
					calls = made
					break
				}
			}
			for i, name := range calls {
				if name == "write" {
					try("half", i+1)
				}
			}
			t.Logf("killed at %d points", killed)
			if killed < 10 {
				t.Errorf("only %d points", killed)
			}
		})
	}
}

// killAt makes two keys in plain text and has a process change them that is
// killed at point n. One that lived says what calls of files it made.
func killAt(t *testing.T, change, mode string, n int, dir string) (lived bool, calls []string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "ring"), 0o700))
	s := diskStore(dir, nil, func() {})
	for _, ref := range killedRefs() {
		must(t, s.Set(t.Context(), ref, secret(t, planted+"-"+ref), changes()[change].from))
	}
	s.Close()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s/%s/%d", killedEnv, change, mode, n), "HOME="+dir, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return true, strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	if cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%s %d: %v\n%s", mode, n, err, out)
	}
	return false, nil
}

func judgeKilled(t *testing.T, name, change, dir string) {
	t.Helper()
	s := diskStore(dir, nil, func() {})
	defer s.Close()
	s.Tidy()
	may := map[string][]string{"one": {planted + "-one"}, "two": {planted + "-two"}}
	switch {
	case strings.HasPrefix(change, "delete"):
		may["one"] = append(may["one"], "")
	case strings.HasPrefix(change, "set"):
		may["one"] = append(may["one"], planted+"-new")
	}
	for ref, values := range may {
		d, err := s.Describe(t.Context(), ref)
		must(t, err)
		got, err := s.Get(t.Context(), ref)
		if d.Place == None && slices.Contains(values, "") {
			continue
		}
		if err != nil || !slices.Contains(values, got.Reveal()) {
			t.Errorf("%s: %s is %q (%v), said to be in %s", name, ref, got.Reveal(), err, d.Place)
			continue
		}
		inRing, inPlain := holding(t, filepath.Join(dir, "ring"), got.Reveal()), holding(t, filepath.Join(dir, "home"), got.Reveal())
		switch d.Place {
		case File:
			if !slices.Equal(inPlain, []string{"credentials.json"}) {
				t.Errorf("%s: %s is said to be in the file and is in %q", name, ref, inPlain)
			}
		case Keyring:
			if len(inRing) != 1 || len(inPlain) != 0 {
				t.Errorf("%s: %s is said to be in the keyring and is in %d items and in %q", name, ref, len(inRing), inPlain)
			}
		default:
			t.Errorf("%s: %s is said to be in %s", name, ref, d.Place)
		}
	}
	// What is in plain text is what is said to be there, and in that file alone.
	for _, file := range holding(t, filepath.Join(dir, "home"), "TESTKEY") {
		if file != "credentials.json" {
			t.Errorf("%s: a key is in %s", name, file)
		}
	}

	copied := t.TempDir()
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	if _, err := s.MoveToKeyring(t.Context()); err != nil {
		t.Errorf("%s: move again: %v", name, err)
	}
	key, err := NewSecret(planted + "-one")
	must(t, err)
	must(t, s.Set(t.Context(), "one", key, Keyring))
	for _, ref := range killedRefs() {
		wantKey(t, s, ref, planted+"-"+ref)
	}
	if items := holding(t, filepath.Join(dir, "ring"), ""); len(items) != 2 || len(holding(t, filepath.Join(dir, "home"), "TESTKEY")) != 0 {
		t.Errorf("%s: moved again, %d items", name, len(items))
	}

	other := diskStore(copied, nil, func() {})
	defer other.Close()
	for _, ref := range killedRefs() {
		must(t, other.Delete(t.Context(), ref))
	}
	if items := holding(t, filepath.Join(copied, "ring"), ""); len(items) != 0 || len(holding(t, filepath.Join(copied, "home"), "TESTKEY")) != 0 {
		t.Errorf("%s: deleted, %d items", name, len(items))
	}
}

// holding lists the files of a folder that hold a text.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		if strings.Contains(string(data), text) {
			names = append(names, e.Name())
		}
	}
	return names
}
