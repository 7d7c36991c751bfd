package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"galley/backend/fault"
)

// maxLinks is how many links a path may pass through.
const maxLinks = 40

// place is a granted path: a name inside an open folder.
type place struct {
	folder *anchor
	// rel is relative to folder, "." for itself.
	rel string
	// path is absolute, as it was asked for.
	path string
	// exact is true for a file that was granted by itself: no link may stand
	// in its place.
	exact bool
}

// PermitRead permits reading the regular file at path, which was granted or
// lies in a granted folder. Faults: not_granted, outside_workspace, not_found,
// not_a_file.
func (g *Grants) PermitRead(path string) (File, error) {
	const op = "read"
	p, err := g.locate(op, path)
	if err != nil {
		return File{}, err
	}
	return permitRead(op, p)
}

func permitRead(op string, p place) (File, error) {
	f := File{place: p}
	// Opening proves that it can be read and is a file; nothing is kept open.
	h, _, err := f.open(op)
	if err != nil {
		return File{}, err
	}
	letGo(h)
	return f, nil
}

// PermitList permits listing the folder at path, which was granted or lies in
// a granted folder. Faults: not_granted, outside_workspace, not_found,
// not_a_file when it is no folder.
func (g *Grants) PermitList(path string) (Folder, error) {
	const op = "list"
	p, err := g.locate(op, path)
	if err != nil {
		return Folder{}, err
	}
	return g.permitList(op, p)
}

func (g *Grants) permitList(op string, p place) (Folder, error) {
	if p.exact {
		return Folder{}, failure(fault.NotAFile, op, p.path, nil)
	}
	var info fs.FileInfo
	err := p.folder.within(func(d Dir) (err error) {
		info, err = d.Stat(p.rel)
		return err
	})
	if err != nil {
		return Folder{}, classify(op, p.path, err)
	}
	if !info.IsDir() {
		return Folder{}, failure(fault.NotAFile, op, p.path, nil)
	}
	return Folder{place: p, ignored: g.Ignored}, nil
}

// PermitWrite permits writing the regular file at path: one that was granted,
// or one inside a granted folder, which need not exist there but whose own
// folder must. The granted folder itself is refused. Faults: not_granted,
// outside_workspace, not_found for the folder, not_a_file, reserved_name for a
// new file.
func (g *Grants) PermitWrite(path string) (Target, error) {
	const op = "write"
	p, err := g.locate(op, path)
	if err != nil {
		return Target{}, err
	}
	return g.permitWrite(op, p)
}

func (g *Grants) permitWrite(op string, p place) (Target, error) {
	t := Target{place: p, calls: g.calls}
	spot, err := t.settle(op)
	if err != nil {
		return Target{}, err
	}
	letGo(spot.dir)
	return t, nil
}

// locate finds the grant that path falls under. It looks at no file.
func (g *Grants) locate(op, path string) (place, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if f := g.files[filepath.Clean(path)]; f != nil && filepath.IsAbs(path) {
		return place{folder: f.folder, rel: f.base, path: filepath.Clean(path), exact: true}, nil
	}
	return g.inFolders(op, path)
}

// locateIn is locate among the granted folders alone.
func (g *Grants) locateIn(op, path string) (place, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.inFolders(op, path)
}

// inFolders is locateIn; mu must be held.
func (g *Grants) inFolders(op, path string) (place, error) {
	if err := checkPath(op, path); err != nil {
		return place{}, err
	}
	refused := fault.NotGranted
	if len(g.folders) > 0 {
		refused = fault.OutsideWorkspace
	}
	if !filepath.IsAbs(path) {
		return place{}, failure(refused, op, path, nil)
	}
	path = filepath.Clean(path)
	best, found := place{}, false
	for _, f := range g.folders {
		for _, root := range []string{f.given, f.real} {
			rel, ok := cutRoot(root, path)
			// The innermost of nested folders has the shortest rest.
			if ok && (!found || len(rel) < len(best.rel)) {
				best, found = place{folder: f.folder, rel: rel, path: path}, true
			}
		}
	}
	if !found {
		return place{}, failure(refused, op, path, nil)
	}
	return best, nil
}

// cutRoot returns path relative to root when it is root or lies inside it by
// name; "." for root itself.
func cutRoot(root, path string) (string, bool) {
	if sameName(root, path) {
		return ".", true
	}
	if !strings.HasSuffix(root, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	if len(path) > len(root) && sameName(root, path[:len(root)]) {
		return path[len(root):], true
	}
	return "", false
}

// sameName compares as the usual file system of this system does. It decides
// no more than which folder a name is then opened in.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// checkPath refuses what no system takes for a path.
func checkPath(op, path string) error {
	if path == "" || strings.ContainsRune(path, 0) {
		return fault.New(fault.InvalidInput, op, nil)
	}
	return nil
}

// Refusals of our own, which classify turns into faults.
var (
	errLink     = errors.New("a link is on the way")
	errNoFile   = errors.New("not a regular file")
	errTooLarge = errors.New("over the limit")
)

// failure is a fault that quotes the path the person knows.
func failure(code fault.Code, op, path string, cause error) error {
	e := fault.New(code, op, cause)
	e.Detail = path
	return e
}

// classify gives a file-system error its fault. An error that has one keeps it.
func classify(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	_, isErrno := errors.AsType[syscall.Errno](err)
	_, isPathError := errors.AsType[*fs.PathError](err)
	code := fault.Internal
	switch {
	case errors.Is(err, fs.ErrClosed):
		code = fault.NotGranted // revoked meanwhile
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = fault.NotFound
	case errors.Is(err, fs.ErrExist):
		code = fault.Exists
	case isDiskFull(err):
		code = fault.DiskFull
	case isReadOnlyMedium(err):
		code = fault.ReadOnly
	case errors.Is(err, errTooLarge):
		code = fault.TooLarge
	case errors.Is(err, errNoFile), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENXIO):
		code = fault.NotAFile
	case errors.Is(err, syscall.ENAMETOOLONG):
		code = fault.ReservedName
	case errors.Is(err, syscall.ELOOP), errors.Is(err, errLink):
		code = fault.OutsideWorkspace
	case errors.Is(err, fs.ErrPermission):
		code = fault.NotGranted
	case isPathError && !isErrno:
		// os.Root has no exported error for a path that leaves it; every
		// other refusal of its is a system error.
		code = fault.OutsideWorkspace
	}
	return failure(code, op, path, err)
}
