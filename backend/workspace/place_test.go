package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// meddler lets something else act right before and right after the moment in
// which two files are exchanged.
type meddler struct {
	workspace.Calls
	before, after func(n int)
	n             int
	// beforeOpen acts before a file is opened.
	beforeOpen func(name string)
	// without makes the call one that the system does not have.
	without bool
}

func (m *meddler) OpenDir(path string) (workspace.Dir, error) {
	d, err := m.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return meddlerDir{d, m}, nil
}

type meddlerDir struct {
	workspace.Dir
	m *meddler
}

func (d meddlerDir) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return meddlerDir{in, d.m}, nil
}

func (d meddlerDir) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	if d.m.beforeOpen != nil {
		d.m.beforeOpen(name)
	}
	return d.Dir.Open(name, flag, perm)
}

func (d meddlerDir) Exchange(a, b string) error {
	d.m.n++
	if d.m.before != nil {
		d.m.before(d.m.n)
	}
	if d.m.without {
		return errors.ErrUnsupported
	}
	err := d.Dir.Exchange(a, b)
	if d.m.after != nil {
		d.m.after(d.m.n)
	}
	return err
}

func (d meddlerDir) RenameNew(from, to string) error {
	if d.m.before != nil {
		d.m.n++
		d.m.before(d.m.n)
	}
	return d.Dir.RenameNew(from, to)
}

// meddled is a workspace with a.md and what a write saw of it.
func meddled(t *testing.T, m *meddler) (b *bench, base workspace.Stat, write func(workspace.WriteOptions) error) {
	t.Helper()
	b = newBench(t, map[string]string{"w/a.md": "old"})
	base = b.base("a.md")
	m.Calls = workspace.OSCalls()
	g := workspace.NewGrantsOn(m)
	t.Cleanup(g.Close)
	_, err := g.GrantFolder(b.root + "/w")
	must(t, err)
	return b, base, func(o workspace.WriteOptions) error {
		target, err := g.PermitWrite(b.path("a.md"))
		must(t, err)
		o.Base, o.RecoveryDir = base, b.recovery()
		_, err = target.Write([]byte("mine"), o)
		return err
	}
}

// replaceOutside is what another editor does: a new file renamed over.
func (b *bench) replaceOutside(text string) {
	b.t.Helper()
	must(b.t, os.WriteFile(b.root+"/other", []byte(text), 0o644))
	must(b.t, os.Rename(b.root+"/other", b.path("a.md")))
}

// Something else writes between the last look and the rename. Nothing of its
// is lost, however it writes, and on a system without the exchange too.
//
// covers: F5
func TestWrite_GivesBackWhatItDisplaced(t *testing.T) {
	for name, act := range map[string]func(b *bench){
		"renamed over": func(b *bench) { b.replaceOutside("theirs") },
		"same size, same time": func(b *bench) {
			info, err := os.Stat(b.path("a.md"))
			must(b.t, err)
			must(b.t, os.WriteFile(b.path("a.md"), []byte("OLD"), 0o644))
			must(b.t, os.Chtimes(b.path("a.md"), time.Time{}, info.ModTime()))
		},
		"truncated": func(b *bench) { must(b.t, os.Truncate(b.path("a.md"), 0)) },
		"removed":   func(b *bench) { must(b.t, os.Remove(b.path("a.md"))) },
		"a folder": func(b *bench) {
			must(b.t, os.Remove(b.path("a.md")))
			must(b.t, os.MkdirAll(b.path("a.md/in"), 0o755))
		},
	} {
		for _, without := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m := &meddler{without: without}
				b, _, write := meddled(t, m)
				var want []byte
				m.before = func(n int) {
					if n == 1 {
						act(b)
						want, _ = os.ReadFile(b.path("a.md"))
					}
				}
				err := write(workspace.WriteOptions{})
				if err == nil {
					t.Fatal("written over what something else had just written")
				}
				if code := fault.CodeOf(err); code != fault.ChangedOnDisk && code != fault.NotAFile && (!without || code != fault.NotFound) {
					t.Errorf("refused with %v", err)
				}
				got, _ := os.ReadFile(b.path("a.md"))
				if string(got) != string(want) {
					t.Errorf("the file holds %q, want %q", got, want)
				}
				if name == "a folder" {
					if _, err := os.Stat(b.path("a.md/in")); err != nil {
						t.Error(err)
					}
				}
				for _, n := range append(names(t, b.root+"/w"), names(t, b.root)...) {
					if strings.HasPrefix(n, ".galley") {
						t.Errorf("%s is left", n)
					}
				}
			})
		}
	}
}

// While a file is given back, something newer takes its place: that stays, and
// the one in between is kept.
func TestWrite_GivesWayToTheNewest(t *testing.T) {
	m := &meddler{}
	b, _, write := meddled(t, m)
	m.before = func(n int) {
		if n <= 3 {
			b.replaceOutside("theirs " + string(rune('0'+n)))
		}
	}
	var kept []string
	err := write(workspace.WriteOptions{Keep: func(old []byte, _ string) error {
		kept = append(kept, string(old))
		return nil
	}})
	wantCode(t, err, fault.ChangedOnDisk)
	b.want("a.md", "theirs 3")
	if got := strings.Join(kept, ", "); got != "old, theirs 2" {
		t.Errorf("kept %s", got)
	}
	b.wantNoLeftovers("a.md")
}

// covers: F5
func TestWrite_KeepsWhatOverwriteReplaces(t *testing.T) {
	m := &meddler{}
	b, _, write := meddled(t, m)
	b.replaceOutside("theirs")
	m.before = func(n int) {
		if n == 1 {
			b.replaceOutside("theirs again")
		}
	}
	var kept []string
	keep := func(old []byte, _ string) error {
		kept = append(kept, string(old))
		return nil
	}
	must(t, write(workspace.WriteOptions{Overwrite: true, Keep: keep}))
	b.want("a.md", "mine")
	if got := strings.Join(kept, ", "); got != "theirs, theirs again" {
		t.Errorf("kept %s", got)
	}
	b.wantNoLeftovers("a.md")

	// What cannot be kept is not written over.
	b.replaceOutside("more")
	full := fault.New(fault.DiskFull, "keep", nil)
	err := write(workspace.WriteOptions{Overwrite: true, Keep: func([]byte, string) error { return full }})
	wantCode(t, err, fault.DiskFull)
	b.want("a.md", "more")
	m.n = 0
	err = write(workspace.WriteOptions{Overwrite: true, Keep: func(old []byte, _ string) error {
		if string(old) == "theirs again" {
			return full
		}
		return nil
	}})
	wantCode(t, err, fault.DiskFull)
	b.want("a.md", "theirs again")
}

// A new file that something else makes first is not written over.
func TestWrite_NewFileThatAppears(t *testing.T) {
	m := &meddler{}
	b, _, _ := meddled(t, m)
	g := workspace.NewGrantsOn(m)
	t.Cleanup(g.Close)
	_, err := g.GrantFolder(b.root + "/w")
	must(t, err)
	target, err := g.PermitWrite(b.path("new.md"))
	must(t, err)
	m.before = func(int) { must(t, os.WriteFile(b.path("new.md"), []byte("theirs"), 0o644)) }
	_, err = target.Write([]byte("mine"), workspace.WriteOptions{RecoveryDir: b.recovery()})
	wantCode(t, err, fault.Exists)
	b.want("new.md", "theirs")
}

// The process dies between the exchange and the look at what it brought. What
// something else wrote is found by the next start.
//
// covers: F5
func TestSweep_KeepsWhatACrashDisplaced(t *testing.T) {
	type died struct{}
	m := &meddler{}
	b, _, write := meddled(t, m)
	m.before = func(int) { b.replaceOutside("theirs") }
	m.after = func(int) { panic(died{}) }
	func() {
		defer func() {
			if _, ok := recover().(died); !ok {
				t.Error("it lived")
			}
		}()
		_ = write(workspace.WriteOptions{})
	}()
	for range 2 { // until it is decided
		left, err := workspace.SweepOn(workspace.OSCalls(), b.recovery(), dead)
		must(t, err)
		if len(left) != 1 || left[0].State != workspace.Changed || left[0].Old == "" {
			t.Fatalf("leftovers: %+v", left)
		}
		got, err := os.ReadFile(left[0].Old)
		if err != nil || string(got) != "theirs" {
			t.Errorf("kept %q, %v", got, err)
		}
		if filepath.Dir(left[0].Old) != b.recovery() {
			t.Errorf("kept at %s", left[0].Old)
		}
	}
	if got := names(t, b.root+"/w"); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// A file that another program puts under the name between the look and the
// opening is no link: the save sees that it is another one, and says so.
//
// covers: F4 F5
func TestWrite_ExchangedWhileItIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "n.md")
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("n.md", "base")
	m := &meddler{Calls: workspace.OSCalls()}
	g := workspace.NewGrantsOn(m)
	t.Cleanup(g.Close)
	if _, err := g.GrantFolder(dir); err != nil {
		t.Fatal(err)
	}
	f, err := g.PermitRead(path)
	if err != nil {
		t.Fatal(err)
	}
	_, base, err := f.Read(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	target, err := g.PermitWrite(path)
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	m.beforeOpen = func(name string) {
		if name != "n.md" || times == 3 {
			return
		}
		times++
		put("theirs", "theirs")
		if err := os.Rename(filepath.Join(dir, "theirs"), path); err != nil {
			t.Error(err)
		}
	}
	_, err = target.Write([]byte("mine"), workspace.WriteOptions{Base: base, RecoveryDir: t.TempDir()})
	if fault.CodeOf(err) != fault.ChangedOnDisk {
		t.Errorf("refused with %v, not as changed on disk", err)
	}
	if got, err := os.ReadFile(path); string(got) != "theirs" || err != nil {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	if times != 3 {
		t.Errorf("exchanged %d times", times)
	}
}
