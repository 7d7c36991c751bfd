package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"galley/backend/workspace"
)

// power keeps book of what a cut of the power could take: bytes of a file that
// was written and not made durable since, and names of a folder that changed.
type power struct {
	workspace.Calls
	// target is the name that must never be cut.
	target string

	// mu guards what follows.
	mu    sync.Mutex
	loose map[string]bool // files, by name, and folders, by path
	wrong []string
	// named counts the times that the target got other bytes.
	named int
}

func newPower(target string) *power {
	return &power{Calls: workspace.OSCalls(), target: target, loose: map[string]bool{}}
}

func (p *power) set(name string, loose bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if loose {
		p.loose[name] = true
		return
	}
	delete(p.loose, name)
}

// places notes that the target gets the bytes of the file from.
func (p *power) places(from, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to != p.target {
		return
	}
	p.named++
	if p.loose[from] {
		p.wrong = append(p.wrong, "the target got bytes that are not durable")
	}
}

// writes notes a write into the target itself, for which all that was written
// elsewhere has to be durable.
func (p *power) writes(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.target {
		return
	}
	p.named++
	for other := range p.loose {
		if other != p.target {
			p.wrong = append(p.wrong, "the target was written before "+filepath.Base(other)+" was durable")
		}
	}
}

func (p *power) OpenDir(path string) (workspace.Dir, error) {
	d, err := p.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return powerDir{d, p, filepath.Clean(path)}, nil
}

type powerDir struct {
	workspace.Dir
	p    *power
	path string
}

func (d powerDir) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return powerDir{in, d.p, filepath.Join(d.path, name)}, nil
}

func (d powerDir) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	h, err := d.Dir.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 {
		d.p.set(d.path, true)
	}
	return powerHandle{h, d.p, name}, nil
}

func (d powerDir) Rename(from, to string) error {
	d.p.places(from, to)
	d.p.set(d.path, true)
	return d.Dir.Rename(from, to)
}

func (d powerDir) RenameNew(from, to string) error {
	d.p.places(from, to)
	d.p.set(d.path, true)
	return d.Dir.RenameNew(from, to)
}

func (d powerDir) Exchange(a, b string) error {
	d.p.places(a, b)
	d.p.set(d.path, true)
	return d.Dir.Exchange(a, b)
}

func (d powerDir) Sync() error {
	err := d.Dir.Sync()
	if err == nil {
		d.p.set(d.path, false)
	}
	return err
}

type powerHandle struct {
	workspace.Handle
	p    *power
	name string
}

func (h powerHandle) WriteAt(b []byte, at int64) (int, error) {
	h.p.writes(h.name)
	h.p.set(h.name, true)
	return h.Handle.WriteAt(b, at)
}

func (h powerHandle) Truncate(size int64) error {
	h.p.writes(h.name)
	h.p.set(h.name, true)
	return h.Handle.Truncate(size)
}

func (h powerHandle) Sync() error {
	err := h.Handle.Sync()
	if err == nil {
		h.p.set(h.name, false)
	}
	return err
}

// crash-2, crash-3: a name gets bytes only when these are durable, a file is
// written in place only when its copies are, and when a write returns its bytes
// and its name are durable.
//
// covers: F4
func TestWrite_PowerCut(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := s.bench(t)
			p := newPower(filepath.Base(s.target))
			if s.name == "link" {
				p.target = "a.md"
			}
			g := workspace.NewGrantsOn(p)
			t.Cleanup(g.Close)
			_, err := g.GrantFolder(b.root + "/w")
			must(t, err)
			var base workspace.Stat
			if !s.new {
				base = b.base(s.target)
			}
			target, err := g.PermitWrite(b.path(s.target))
			must(t, err)
			_, err = target.Write([]byte(s.text), workspace.WriteOptions{Base: base, RecoveryDir: b.recovery()})
			must(t, err)
			b.want(s.target, s.text)
			p.check(t, b.root+"/w")
		})
	}
}

// covers: F6
func TestReplaceFile_PowerCut(t *testing.T) {
	path := t.TempDir() + "/a.draft"
	p := newPower("a.draft")
	for _, data := range []string{"one", "two"} {
		must(t, workspace.ReplaceFileOn(p, path, []byte(data), 0o600))
		p.check(t, filepath.Dir(path))
	}
}

// check judges a write that has returned.
func (p *power) check(t *testing.T, folder string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.wrong)
	if p.named == 0 {
		t.Error("the target got nothing")
	}
	if len(p.wrong) > 0 {
		t.Error(strings.Join(slices.Compact(p.wrong), "; "))
	}
	if p.loose[p.target] || p.loose[folder] {
		t.Errorf("not durable at the end: %v", p.loose)
	}
}
