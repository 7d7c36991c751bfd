//go:build crashtest && linux

package matrix

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"galley/backend/agent/core"
	"galley/backend/agent/tools"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/workspace"
)

// Row 16: the power fails. The calls of a creation and of a renaming are
// recorded; what a disk may hold after each of them, with everything that was
// not made durable lost, kept or half kept in every combination, is written to
// a folder, and the next start looks at it.

// act is one change of the file system.
type act struct {
	// what is create, write, truncate, sync, move, remove or sync folder.
	what string
	// dir and name are the entry's, to and as where a move leads.
	dir, name, to, as string
	// file numbers the files by their making.
	file int
	at   int64
	data []byte
}

// recorder is a file system that keeps what was changed.
type recorder struct {
	workspace.Calls
	mu    sync.Mutex // mu guards what follows
	acts  []act
	files map[string]int // the file of each name, by path
	n     int
}

func (r *recorder) add(a act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, a)
}

func (r *recorder) OpenDir(path string) (workspace.Dir, error) {
	d, err := r.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &folder{d, r, filepath.Clean(path)}, nil
}

type folder struct {
	workspace.Dir
	r    *recorder
	path string
}

func (d *folder) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &folder{in, d.r, filepath.Join(d.path, name)}, nil
}

func (d *folder) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	h, err := d.Dir.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(d.path, name)
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	if _, known := d.r.files[at]; !known && flag&os.O_CREATE != 0 {
		d.r.n++
		d.r.files[at] = d.r.n
		d.r.acts = append(d.r.acts, act{what: "create", dir: d.path, name: name, file: d.r.n})
	}
	return &file{h, d.r, d.r.files[at]}, nil
}

func (d *folder) moved(from string, to *folder, name string) {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	a, b := filepath.Join(d.path, from), filepath.Join(to.path, name)
	d.r.files[b] = d.r.files[a]
	delete(d.r.files, a)
	d.r.acts = append(d.r.acts, act{what: "move", dir: d.path, name: from, to: to.path, as: name})
}

func (d *folder) Move(from string, to workspace.Dir, name string) error {
	other := to.(*folder)
	err := d.Dir.Move(from, other.Dir, name)
	if err == nil {
		d.moved(from, other, name)
	}
	return err
}

func (d *folder) Rename(from, to string) error {
	err := d.Dir.Rename(from, to)
	if err == nil {
		d.moved(from, d, to)
	}
	return err
}

func (d *folder) RenameNew(from, to string) error {
	err := d.Dir.RenameNew(from, to)
	if err == nil {
		d.moved(from, d, to)
	}
	return err
}

func (d *folder) Remove(name string) error {
	err := d.Dir.Remove(name)
	if err == nil {
		d.r.mu.Lock()
		delete(d.r.files, filepath.Join(d.path, name))
		d.r.mu.Unlock()
		d.r.add(act{what: "remove", dir: d.path, name: name})
	}
	return err
}

func (d *folder) Sync() error {
	err := d.Dir.Sync()
	if err == nil {
		d.r.add(act{what: "sync folder", dir: d.path})
	}
	return err
}

type file struct {
	workspace.Handle
	r *recorder
	n int
}

func (h *file) WriteAt(b []byte, at int64) (int, error) {
	n, err := h.Handle.WriteAt(b, at)
	h.r.add(act{what: "write", file: h.n, at: at, data: bytes.Clone(b[:n])})
	return n, err
}

func (h *file) Truncate(size int64) error {
	err := h.Handle.Truncate(size)
	if err == nil {
		h.r.add(act{what: "truncate", file: h.n, at: size})
	}
	return err
}

func (h *file) Sync() error {
	err := h.Handle.Sync()
	if err == nil {
		h.r.add(act{what: "sync", file: h.n})
	}
	return err
}

// disks calls f with every state that a disk may be in when the power fails
// after the first k acts: names by path and what their files hold.
func disks(before map[string]string, acts []act, f func(map[string]string)) {
	durable := func(i int) bool {
		return slices.ContainsFunc(acts[i:], func(s act) bool {
			switch acts[i].what {
			case "write", "truncate":
				return s.what == "sync" && s.file == acts[i].file
			case "move":
				return s.what == "sync folder" && (s.dir == acts[i].dir || s.dir == acts[i].to)
			}
			return s.what == "sync folder" && s.dir == acts[i].dir
		})
	}
	var loose []int // acts that may be lost
	for i, a := range acts {
		if !strings.HasPrefix(a.what, "sync") && !durable(i) {
			loose = append(loose, i)
		}
	}
	for kept := range 1 << len(loose) {
		for _, half := range []bool{false, true} {
			names := maps.Clone(before)
			at, data := map[string]int{}, map[int]string{}
			torn := false
			for i, a := range acts {
				j := slices.Index(loose, i)
				lost := j >= 0 && kept&(1<<j) == 0
				switch a.what {
				case "write":
					b := a.data
					if lost && half {
						b, torn, lost = b[:len(b)/2], true, false
					}
					if !lost {
						whole := []byte(data[a.file])
						whole = append(whole, make([]byte, max(0, int(a.at)+len(b)-len(whole)))...)
						copy(whole[a.at:], b)
						data[a.file] = string(whole)
					}
				case "truncate":
					if !lost && int(a.at) < len(data[a.file]) {
						data[a.file] = data[a.file][:a.at]
					}
				}
				if lost {
					continue
				}
				from, to := filepath.Join(a.dir, a.name), filepath.Join(a.to, a.as)
				switch a.what {
				case "create":
					at[from], names[from] = a.file, ""
				case "remove":
					delete(names, from)
					delete(at, from)
				case "move":
					// A name whose making was lost still leads to its file.
					n, made := at[from]
					if !made {
						n = origin(acts[:i], from)
					}
					if n != 0 {
						at[to] = n
					}
					names[to] = names[from]
					delete(names, from)
					delete(at, from)
				}
			}
			for name, n := range at {
				names[name] = data[n]
			}
			if !half || torn {
				f(names)
			}
		}
	}
}

// origin is the file that was made under a name; 0 when it was there before.
func origin(acts []act, at string) int {
	for _, a := range slices.Backward(acts) {
		if a.what == "create" && filepath.Join(a.dir, a.name) == at {
			return a.file
		}
	}
	return 0
}

// office is the host's tools on a folder.
type office struct {
	exec  *tools.Executor
	close func()
}

func newOffice(s *stage, root string, calls workspace.Calls) office {
	s.t.Helper()
	g := workspace.NewGrantsOn(calls)
	_, err := g.GrantFolder(filepath.Join(root, "w"))
	try(s.t, err)
	log, home := slog.New(slog.DiscardHandler), filepath.Join(root, "home")
	docs, err := document.New(document.Config{Grants: g, Home: home, Log: log})
	try(s.t, err)
	e, err := tools.New(tools.Config{Grants: g, Documents: docs, Home: home, Log: log})
	try(s.t, err)
	e.Begin("c1", tools.Scope{Workspace: filepath.Join(root, "w")})
	return office{e, func() {
		e.Close()
		try(s.t, docs.Close(context.Background()))
		g.Close()
	}}
}

// deed is an effect of a tool.
type deed struct {
	tool string
	in   map[string]string
	// before are the files, made and old the names after and before it.
	before    map[string]string
	made, old string
	content   string
}

func powerLost(s *stage) string {
	for _, d := range []deed{
		{core.ToolCreateDocument, map[string]string{"dir": "", "name": "new.md", "text": newText}, map[string]string{"keep.md": "kept"}, "new.md", "", newText},
		{core.ToolRenameDocument, map[string]string{"path": "a.md", "newName": "b.md"}, map[string]string{"keep.md": "kept", "a.md": planText}, "b.md", "a.md", planText},
	} {
		d.play(s)
	}
	if s.t.Failed() {
		return "something is lost"
	}
	return "created whole or not at all, renamed or not, nothing lost"
}

// play does the deed once and looks at every disk that a cut could leave.
func (d deed) play(s *stage) {
	s.t.Helper()
	root := s.ground(d, "recorded", nil)
	rec := &recorder{Calls: workspace.OSCalls(), files: map[string]int{}}
	o := newOffice(s, root, rec)
	registry, err := core.NewRegistry(core.Tools()...)
	try(s.t, err)
	declared, _ := registry.Tool(d.tool)
	typed, err := json.Marshal(d.in)
	try(s.t, err)
	in, err := declared.Input.Normalise(typed)
	try(s.t, err)
	ref := wire.ToolCallRef{CommandID: "c1", RunID: "r", SessionID: "s", ToolCallID: "t1"}
	p, err := o.exec.Prepare(s.t.Context(), wire.ToolPrepareParams{ToolCallRef: ref, Name: d.tool, Input: in})
	try(s.t, err)
	sum := core.InputDigest(in)
	intent := core.Intent{
		Tool: d.tool, Input: in, InputDigest: hex.EncodeToString(sum[:]), Source: p.Source, Target: p.Target,
		PreDigest: p.PreDigest, PostDigest: p.PostDigest,
	}
	rec.mu.Lock()
	rec.acts = nil
	rec.mu.Unlock()
	r, err := o.exec.Execute(s.t.Context(), wire.ToolExecuteParams{
		ToolCallRef: ref, Name: d.tool, Input: in, InputDigest: intent.InputDigest, Intent: intent, MaxBytes: 1 << 16,
	})
	if err != nil || r.IsError {
		s.t.Fatalf("%s: %+v, %v", d.tool, r, err)
	}
	o.close()
	before := map[string]string{}
	for name, data := range d.before {
		before[filepath.Join(root, "w", name)] = data
	}
	seen, states := map[core.ToolVerdict]int{}, map[string]bool{}
	for k := range len(rec.acts) + 1 {
		disks(before, rec.acts[:k], func(disk map[string]string) {
			key := fmt.Sprint(k == len(rec.acts), disk)
			if states[key] {
				return
			}
			states[key] = true
			v := d.look(s, fmt.Sprintf("%s-%d", d.tool, len(states)), root, disk, ref, intent)
			seen[v]++
			if k == len(rec.acts) && v != core.VerdictApplied {
				s.t.Errorf("%s had returned, and after a loss of power it is %s: %v", d.tool, v, disk)
			}
		})
	}
	s.t.Logf("%s: %d calls, %d disks, verdicts %v", d.tool, len(rec.acts), len(states), seen)
	if seen[core.VerdictAbsent] == 0 || seen[core.VerdictApplied] == 0 {
		s.t.Errorf("%s: the verdicts are %v", d.tool, seen)
	}
}

// ground is a folder with a home beside it; disk nil gives the files before.
func (s *stage) ground(d deed, name string, disk map[string]string) (root string) {
	s.t.Helper()
	root, err := filepath.EvalSymlinks(s.t.TempDir())
	try(s.t, err)
	root = filepath.Join(root, name)
	for _, dir := range []string{"w", "home/recovery"} {
		try(s.t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	if disk == nil {
		disk = map[string]string{}
		for name, data := range d.before {
			disk[filepath.Join(root, "w", name)] = data
		}
	}
	for path, data := range disk {
		try(s.t, os.WriteFile(path, []byte(data), 0o644))
	}
	return root
}

// look writes a disk and has the next start look at it.
func (d deed) look(s *stage, name, was string, disk map[string]string, ref wire.ToolCallRef, in core.Intent) core.ToolVerdict {
	s.t.Helper()
	root := s.ground(d, name, map[string]string{})
	moved := func(path string) string {
		if path == "" {
			return ""
		}
		return root + strings.TrimPrefix(path, was)
	}
	for path, data := range disk {
		if !strings.HasPrefix(path, was) {
			continue
		}
		try(s.t, os.WriteFile(moved(path), []byte(data), 0o644))
	}
	in.Source, in.Target = moved(in.Source), moved(in.Target)
	o := newOffice(s, root, workspace.OSCalls())
	defer o.close()
	res, err := o.exec.Probe(s.t.Context(), wire.ToolProbeParams{ToolCallRef: ref, Name: d.tool, Intent: in})
	try(s.t, err)
	want := maps.Clone(d.before)
	if res.Verdict == core.VerdictApplied {
		delete(want, d.old)
		want[d.made] = d.content
	}
	got := map[string]string{}
	for _, name := range s.files(filepath.Join(root, "w")) {
		data, err := os.ReadFile(filepath.Join(root, "w", name))
		try(s.t, err)
		got[name] = string(data)
	}
	if res.Verdict == core.VerdictUnknown || !maps.Equal(got, want) {
		s.t.Errorf("%s: told to be %s, and there is %v", name, res.Verdict, got)
	}
	return res.Verdict
}
