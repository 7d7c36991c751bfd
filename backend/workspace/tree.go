package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"galley/backend/fault"
)

// twig is one entry of a granted folder's tree, there or to be: a name in an
// open folder.
type twig struct {
	place place
	// dir is open and the caller's to close.
	dir  Dir
	base string
	// info describes the entry itself, not what a link leads to; nil when
	// there is none.
	info fs.FileInfo
}

// twig finds the entry at path for a change of the tree. It must lie in a
// granted folder and not be one; a file that is granted by itself alone has no
// tree. Faults: not_granted, outside_workspace, not_found for its folder.
func (g *Grants) twig(op, path string) (twig, error) {
	p, err := g.locateIn(op, path)
	if err != nil {
		return twig{}, err
	}
	if p.rel == "." {
		// Its own name lies in a folder that is not granted.
		return twig{}, failure(fault.OutsideWorkspace, op, p.path, nil)
	}
	t := twig{place: p}
	err = p.folder.within(func(d Dir) (err error) {
		if err = t.find(d); err != nil || t.info != nil {
			return err
		}
		// A new entry of a folder that was itself replaced belongs in the one
		// that stands there now.
		if next, moved := p.folder.successor(d); moved {
			letGo(t.dir)
			err = t.find(next)
		}
		return err
	})
	if err != nil {
		return twig{}, changeFault(op, p.path, err)
	}
	return t, nil
}

func (t *twig) find(root Dir) error {
	folder, base := splitRel(t.place.rel)
	dir, err := root.OpenDir(folder)
	if err != nil {
		// os.Root says of a file only that it is no folder, in no error that
		// could be told from one for a way out.
		if info, look := root.Stat(folder); look == nil && !info.IsDir() {
			return syscall.ENOTDIR
		}
		return err
	}
	info, err := dir.Lstat(base)
	if err != nil && !isGone(err) {
		letGo(dir)
		return err
	}
	t.dir, t.base, t.info = dir, base, nil
	if err == nil {
		t.info = info
	}
	return nil
}

// standing is twig for an entry that is there and that a listing shows.
func (g *Grants) standing(op, path string) (twig, error) {
	t, err := g.twig(op, path)
	if err != nil {
		return twig{}, err
	}
	switch {
	case t.info == nil, isTemp(t.base):
		err = failure(fault.NotFound, op, t.place.path, nil)
	case !t.info.Mode().IsRegular() && !t.info.IsDir() && t.info.Mode()&fs.ModeSymlink == 0:
		err = failure(fault.NotAFile, op, t.place.path, nil)
	}
	if err != nil {
		letGo(t.dir)
		return twig{}, err
	}
	return t, nil
}

// realFolder is the path of the entry's folder with every link resolved.
func (t twig) realFolder(calls Calls) (string, error) {
	folder, _ := splitRel(t.place.rel)
	return calls.EvalSymlinks(filepath.Join(t.place.folder.at(), folder))
}

// Create makes an empty file, or a folder, named name in the folder at folder
// and returns it. Faults: exists, reserved_name (also for a name that is too
// long), read_only, disk_full, not_found for the folder, not_granted,
// outside_workspace.
func (g *Grants) Create(folder, name string, isFolder bool) (Entry, error) {
	const op = "create"
	if reservedName(name) || isTemp(name) {
		return Entry{}, failure(fault.ReservedName, op, name, nil)
	}
	t, err := g.twig(op, filepath.Join(folder, name))
	if err != nil {
		return Entry{}, err
	}
	defer letGo(t.dir)
	if isFolder {
		err = t.dir.Mkdir(t.base, 0o777) // less the umask
	} else {
		var h Handle
		h, err = t.dir.Open(t.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			// Nothing waits in it to be written.
			letGo(h)
		}
	}
	if err != nil {
		return Entry{}, changeFault(op, t.place.path, err)
	}
	settled(t.dir)
	return g.entry(t.place.path, isFolder), nil
}

// Move renames or moves a file or folder, and what was granted inside of it
// follows: the grants name the new path from then on. It never replaces
// anything. Across devices it copies and then removes. Where that was cut, all
// of it stands at the new path, and what could not be removed at the old one
// too.
//
// Faults: exists, reserved_name, invalid_input for a folder that should move
// into itself, changed_on_disk when something wrote to it while it was copied,
// not_a_file for a device, socket or FIFO, read_only, disk_full, busy when
// another program holds it, not_found, not_granted, outside_workspace,
// cancelled. After a fault nothing has moved.
func (g *Grants) Move(ctx context.Context, from, to string) (Entry, error) {
	const op = "move"
	src, err := g.standing(op, from)
	if err != nil {
		return Entry{}, err
	}
	defer letGo(src.dir)
	dst, err := g.twig(op, to)
	if err != nil {
		return Entry{}, err
	}
	defer letGo(dst.dir)
	way, err := g.wayOf(op, src, dst)
	if err != nil {
		return Entry{}, err
	}
	if way.none {
		return g.entry(dst.place.path, src.info.IsDir()), nil
	}
	if err := g.relocate(ctx, op, src, dst, way); err != nil {
		return Entry{}, err
	}
	g.follow(way, dst.dir)
	return g.entry(dst.place.path, src.info.IsDir()), nil
}

// CheckMove returns the fault that Move would refuse from and to with before it
// touches anything; nil when it would try.
func (g *Grants) CheckMove(from, to string) error {
	const op = "move"
	src, err := g.standing(op, from)
	if err != nil {
		return err
	}
	defer letGo(src.dir)
	dst, err := g.twig(op, to)
	if err != nil {
		return err
	}
	defer letGo(dst.dir)
	_, err = g.wayOf(op, src, dst)
	return err
}

// way is where a move leads.
type way struct {
	// from and to are the paths as they were asked for; realFrom and realTo
	// have every link of their folders resolved.
	from, to, realFrom, realTo string
	// none says that both are the same name.
	none bool
	// respelt says that the new name is the entry's own in another spelling,
	// on a medium that does not tell letters' case or composition apart.
	respelt bool
}

// wayOf refuses what cannot be moved and settles where to.
func (g *Grants) wayOf(op string, src, dst twig) (way, error) {
	w := way{from: src.place.path, to: dst.place.path}
	realFrom, err := src.realFolder(g.calls)
	if err != nil {
		return way{}, changeFault(op, w.from, err)
	}
	realTo, err := dst.realFolder(g.calls)
	if err != nil {
		return way{}, changeFault(op, w.to, err)
	}
	w.realFrom, w.realTo = filepath.Join(realFrom, src.base), filepath.Join(realTo, dst.base)
	if w.realFrom == w.realTo {
		w.none = true
		return w, nil
	}
	if _, inside := cutRoot(w.realFrom, realTo); inside && src.info.IsDir() {
		return way{}, failure(fault.InvalidInput, op, w.to, nil)
	}
	// A name that came from elsewhere may be kept, but not given.
	if dst.base != src.base && reservedName(dst.base) || isTemp(dst.base) {
		return way{}, failure(fault.ReservedName, op, w.to, nil)
	}
	if dst.info == nil {
		return w, nil
	}
	if realFrom == realTo && os.SameFile(src.info, dst.info) {
		w.respelt, err = respelt(dst)
		if err != nil {
			return way{}, changeFault(op, w.to, err)
		}
	}
	if !w.respelt {
		return way{}, failure(fault.Exists, op, w.to, nil)
	}
	return w, nil
}

// respelt reports whether the name that was found is spelt in no entry of its
// folder, so that it is another one's in another spelling. A second hard link
// is an entry of its own.
func respelt(t twig) (bool, error) {
	found, err := t.dir.List()
	if err != nil {
		return false, err
	}
	for _, e := range found {
		if e.Name() == t.base {
			return false, nil
		}
	}
	return true, nil
}

// relocate makes the entry src stand at dst.
func (g *Grants) relocate(ctx context.Context, op string, src, dst twig, w way) error {
	if w.respelt {
		// Only the entry itself has the name.
		if err := src.dir.Rename(src.base, dst.base); err != nil {
			return changeFault(op, w.from, err)
		}
		settled(src.dir)
		return nil
	}
	err := moveTo(src.dir, src.base, src.info, dst.dir, dst.base)
	switch {
	case errors.Is(err, syscall.EXDEV):
		return g.carry(ctx, op, src, dst)
	case errors.Is(err, syscall.EINVAL):
		return failure(fault.InvalidInput, op, w.to, err)
	case errors.Is(err, fs.ErrExist):
		return failure(fault.Exists, op, w.to, err)
	case err != nil:
		return changeFault(op, w.from, err)
	}
	settled(src.dir, dst.dir)
	return nil
}

// moveTo is Dir.Move, which on a network can have happened and fail all the
// same.
func moveTo(from Dir, a string, info fs.FileInfo, to Dir, b string) error {
	err := from.Move(a, to, b)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, old := from.Lstat(a); !isGone(old) {
		return err
	}
	if now, look := to.Lstat(b); look != nil || !os.SameFile(now, info) {
		return err
	}
	return nil
}

// settled makes names durable. A crash before that leaves the old name or the
// new one, and what is named whole, so that a failure here takes nothing from
// anybody and cannot undo what everybody already sees.
func settled(dirs ...Dir) {
	for _, d := range dirs {
		_ = d.Sync()
	}
}

// entry describes what was made at path.
func (g *Grants) entry(path string, folder bool) Entry {
	name := filepath.Base(path)
	return Entry{Name: name, Path: path, Folder: folder, Ignored: g.Ignored(name)}
}

// changeFault is classify for a change of the tree, where a refusal by the
// system is about the disk and not about what was granted.
func changeFault(op, path string, err error) error {
	if _, named := errors.AsType[*fault.Error](err); named || err == nil {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Cancelled, op, err)
	case errors.Is(err, fs.ErrPermission):
		return failure(fault.ReadOnly, op, path, err)
	case isInUse(err):
		return failure(fault.Busy, op, path, err)
	case isDiskFull(err):
		return failure(fault.DiskFull, op, filepath.Dir(path), err)
	case errors.Is(err, fs.ErrInvalid):
		return failure(fault.InvalidInput, op, path, err)
	}
	return classify(op, path, err)
}

// follow makes the grants of what moved name its new place. Nothing else is
// granted by it. dir is the open folder of the new place.
func (g *Grants) follow(w way, dir Dir) {
	// A file that was granted by itself has another folder now. It is opened
	// out of the one that the file was just put into.
	var fresh []*anchor
	for range g.grantsOf(w.realFrom) {
		if d, err := dir.OpenDir("."); err == nil {
			fresh = append(fresh, &anchor{calls: g.calls, path: filepath.Dir(w.realTo), dir: d})
		}
	}
	old := g.rename(w, &fresh)
	for _, a := range append(old, fresh...) {
		a.close()
	}
}

// grantsOf returns the grants of one file by itself.
func (g *Grants) grantsOf(real string) []*fileGrant {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var out []*fileGrant
	for _, f := range g.files {
		if f.real == real && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// rename gives every grant its new paths, takes what it needs from fresh, and
// returns the anchors that are no grant's any more.
func (g *Grants) rename(w way, fresh *[]*anchor) (old []*anchor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	files := make(map[string]*fileGrant, len(g.files))
	moved := map[*fileGrant]bool{}
	for key, f := range g.files {
		given, real := w.follow(f.given), w.follow(f.real)
		if given == f.given && real == f.real && !moved[f] {
			files[key] = f
			continue
		}
		if moved[f] {
			continue
		}
		moved[f] = true
		if f.real == w.realFrom && len(*fresh) > 0 {
			old = append(old, f.folder)
			f.folder, *fresh = (*fresh)[0], (*fresh)[1:]
			f.base = filepath.Base(w.realTo)
		}
		f.given, f.real = given, real
	}
	// A path that another grant has stays that one's.
	for f := range moved {
		for _, key := range []string{f.given, f.real} {
			if files[key] == nil {
				files[key] = f
			}
		}
		f.folder.rebase(w.realFrom, w.realTo)
	}
	g.files = files
	for _, f := range g.folders {
		f.given, f.real = w.follow(f.given), w.follow(f.real)
		f.folder.rebase(w.realFrom, w.realTo)
	}
	return old
}

// follow returns what path is called after the move.
func (w way) follow(path string) string {
	if next, ok := rebase(path, w.from, w.to); ok {
		return next
	}
	next, _ := rebase(path, w.realFrom, w.realTo)
	return next
}

// rebase returns path as it is called when from came to be to; ok is false
// when path is not from and lies not inside.
func rebase(path, from, to string) (moved string, ok bool) {
	rest, ok := strings.CutPrefix(path, from)
	if !ok || rest != "" && !strings.HasPrefix(rest, string(filepath.Separator)) {
		return path, false
	}
	return to + rest, true
}
