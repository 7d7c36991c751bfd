package reviewed

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/search"
	"galley/backend/text"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// bench is a workspace on disk with everything around it.
type bench struct {
	t     testing.TB
	root  string // holds w, the workspace, and home
	calls *filefault.Calls
	*rig
	page int64
}

// rig is one start of the program.
type rig struct {
	grants *workspace.Grants
	docs   *document.Set
	m      *Manager
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	root := memoryDir(t)
	b := &bench{t: t, root: root, calls: filefault.New(workspace.OSCalls())}
	try(t, os.MkdirAll(b.path(""), 0o755))
	for name, data := range files {
		b.put(name, data)
	}
	b.start()
	return b
}

// memoryDir is a folder in memory where the system has one: what the loops ask
// is which bytes are where, and a real disk only makes them slow.
func memoryDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "galley") //nolint:usetesting // TempDir would lie on a disk
	try(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start begins anew, as after the end of the program.
func (b *bench) start() {
	b.t.Helper()
	r, err := newRig(b.root, b.calls)
	try(b.t, err)
	b.rig = r
	b.page = b.docs.Attach().Page
	b.t.Cleanup(func() { try(b.t, r.docs.Close(context.Background())) })
}

func newRig(root string, calls workspace.Calls) (*rig, error) {
	r := &rig{grants: workspace.NewGrantsOn(calls)}
	if _, err := r.grants.GrantFolder(filepath.Join(root, "w")); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	home := filepath.Join(root, "home")
	var err error
	if r.docs, err = document.New(document.Config{Grants: r.grants, Home: home, Log: log}); err != nil {
		return nil, err
	}
	engine := search.New(search.Config{
		Folder: func() (workspace.Folder, error) { return r.grants.PermitList(r.grants.Workspace()) }, Log: log,
		Unsaved: func() map[string]string {
			out := map[string]string{}
			for _, i := range r.docs.List() {
				if s, _, err := r.docs.Text(i.ID); err == nil && i.Dirty && i.Path != "" {
					out[i.Path] = s
				}
			}
			return out
		},
	})
	r.m, err = New(Config{
		Grants: r.grants, Documents: r.docs, Home: home, Log: log, Calls: calls, Find: engine.Run,
		Move: func(ctx context.Context, from, to string) error {
			return r.docs.Move(ctx, from, to, func() error {
				_, err := r.grants.Move(ctx, from, to)
				return err
			})
		},
	})
	return r, err
}

func (b *bench) path(name string) string {
	return filepath.Join(b.root, "w", filepath.FromSlash(name))
}

func (b *bench) put(name, data string) {
	b.t.Helper()
	try(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	try(b.t, os.WriteFile(b.path(name), []byte(data), 0o644))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	try(b.t, err)
	return string(data)
}

func (b *bench) want(name, data string) {
	b.t.Helper()
	if got := b.content(name); got != data {
		b.t.Errorf("%s holds %q, want %q", name, got, data)
	}
}

// snapshot is all files of the workspace with their bytes; folders too.
func (b *bench) snapshot() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	top := b.path("")
	try(b.t, filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(p)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return out
}

func (b *bench) journals() []string {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.root, "home", "recovery", "sets"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	try(b.t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// open opens a document.
func (b *bench) open(name string) document.Info {
	b.t.Helper()
	info, err := b.docs.Open(context.Background(), b.path(name))
	try(b.t, err)
	return info
}

// edit makes a document's text another one, as one transaction of the page.
func (b *bench) edit(id string, edits ...text.Edit) document.Info {
	b.t.Helper()
	info, err := b.docs.Info(id)
	try(b.t, err)
	_, err = b.docs.Sync(document.SyncRequest{Page: b.page, ID: id, FromVersion: info.Version, Changes: []document.Change{{Edits: edits}}})
	try(b.t, err)
	info, err = b.docs.Info(id)
	try(b.t, err)
	return info
}

func (b *bench) save(id string) {
	b.t.Helper()
	info, err := b.docs.Info(id)
	try(b.t, err)
	s, version, err := b.docs.Text(id)
	try(b.t, err)
	_, err = b.docs.Save(context.Background(), document.SaveRequest{Page: b.page, ID: id, Version: version, Length: info.Length, Digest: text.Digest(s)})
	try(b.t, err)
}

// replace makes a replacement's set.
func (b *bench) replace(what, with string) Set {
	b.t.Helper()
	set, err := b.m.Replace(context.Background(), Replacement{ID: "r", Query: search.Query{Text: what, Case: true}, With: with})
	try(b.t, err)
	return set
}

func (b *bench) plan(from, to string) Set {
	b.t.Helper()
	set, err := b.m.PlanMove(context.Background(), b.path(from), b.path(to))
	try(b.t, err)
	return set
}

// all ticks everything.
func all(set Set) []Ticks {
	var out []Ticks
	for _, f := range set.Files {
		t := Ticks{Path: f.Path}
		for i := range f.Edits {
			t.Edits = append(t.Edits, i)
		}
		out = append(out, t)
	}
	return out
}

func (b *bench) apply(set Set) Applying {
	b.t.Helper()
	a, err := b.m.Apply(context.Background(), set.ID, all(set))
	try(b.t, err)
	return a
}

func (b *bench) undo(id string) Applying {
	b.t.Helper()
	a, err := b.m.Undo(context.Background(), id)
	try(b.t, err)
	return a
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t testing.TB, err error, code fault.Code, detail string) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Code != code || detail != "" && f.Detail != detail {
		t.Errorf("got %v, want %s (%s)", err, code, detail)
	}
}
