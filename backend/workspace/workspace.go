// Package workspace owns what the program may reach on disk: the grants that a
// person's gestures create, the three permits that every access passes, and
// the atomic write.
//
// It must not know documents, agents or the page. A path is absolute at this
// surface and counts only when it was granted; what it leads to is opened
// through os.Root, so `..`, links that leave and links swapped between check
// and use fail. All types are safe for concurrent use.
//
// The invariants that matter: nothing is read, listed or written but through
// PermitRead, PermitList and PermitWrite, those of [Inside], and the changes of
// the tree (Create, CreateFile, Move, Duplicate, Trash), which keep to the
// granted folders as PermitWrite does; a write leaves the old or the new content whole; and nothing of the
// person's is ever deleted or replaced by a change of the tree.
package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"galley/backend/fault"
)

// Grants records what the person opened. Grants are made by GrantFile,
// GrantFolder and GrantSave alone, which only native dialogs, the command
// line, a native drop and the stored session may call.
type Grants struct {
	calls Calls
	// aside is nil until SetIgnored.
	aside atomic.Pointer[aside]

	// mu guards what follows. No file-system call is made while it is held.
	mu      sync.RWMutex
	files   map[string]*fileGrant // by each path that names the file
	folders []*folderGrant        // in the order they were opened; the last is the workspace
}

// fileGrant is one file, named by its folder and base name as they were when
// the person chose it, so that a link changed later leads nowhere else.
type fileGrant struct {
	given  string // as the person named it
	real   string // with every link resolved
	folder *anchor
	base   string
}

// folderGrant is one folder and everything inside.
type folderGrant struct {
	given  string
	real   string
	folder *anchor
}

// NewGrants returns grants on the real file system; nothing is granted yet.
func NewGrants() *Grants { return NewGrantsOn(OSCalls()) }

// NewGrantsOn returns grants whose file-system calls all go through calls.
func NewGrantsOn(calls Calls) *Grants {
	return &Grants{calls: calls, files: make(map[string]*fileGrant)}
}

// GrantFile grants the file at path, which must exist; links are followed, as
// the person sees them. It returns the cleaned absolute path as given. Faults:
// not_found, not_a_file.
func (g *Grants) GrantFile(path string) (string, error) {
	const op = "grant file"
	given, err := absolute(op, path)
	if err != nil {
		return "", err
	}
	real, err := g.calls.EvalSymlinks(given)
	if err != nil {
		return "", classify(op, given, err)
	}
	info, err := g.calls.Lstat(real)
	if err != nil {
		return "", classify(op, given, err)
	}
	if !info.Mode().IsRegular() {
		return "", failure(fault.NotAFile, op, given, nil)
	}
	return given, g.addFile(op, given, real)
}

// GrantSave grants a file that the person chose to save under; it need not
// exist, its folder must. A link to a file that is missing grants that file.
// Faults: not_found for the folder, not_a_file, reserved_name.
func (g *Grants) GrantSave(path string) (string, error) {
	const op = "grant save"
	given, err := absolute(op, path)
	if err != nil {
		return "", err
	}
	at := given
	for range maxLinks {
		folder, err := g.calls.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return "", classify(op, given, err)
		}
		at = filepath.Join(folder, filepath.Base(at))
		info, err := g.calls.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if reservedName(filepath.Base(at)) {
				return "", failure(fault.ReservedName, op, given, nil)
			}
			return given, g.addFile(op, given, at)
		case err != nil:
			return "", classify(op, given, err)
		case info.Mode().IsRegular():
			return given, g.addFile(op, given, at)
		case info.Mode()&fs.ModeSymlink == 0:
			return "", failure(fault.NotAFile, op, given, nil)
		}
		to, err := g.calls.Readlink(at)
		if err != nil {
			return "", classify(op, given, err)
		}
		if filepath.IsAbs(to) {
			at = to
			continue
		}
		// The folder is free of links here, so `..` in the link's text can
		// only be misread behind a further link of that text.
		at = filepath.Join(folder, to)
	}
	return "", failure(fault.NotAFile, op, given, nil)
}

// GrantFolder grants the folder at path and everything inside, and makes it
// the workspace. Folders granted before stay granted until they are revoked,
// since their documents may still be open. It returns the cleaned absolute
// path as given. Faults: not_found, not_a_file when it is no folder.
func (g *Grants) GrantFolder(path string) (string, error) {
	const op = "grant folder"
	given, err := absolute(op, path)
	if err != nil {
		return "", err
	}
	real, err := g.calls.EvalSymlinks(given)
	if err != nil {
		return "", classify(op, given, err)
	}
	info, err := g.calls.Lstat(real)
	if err != nil {
		return "", classify(op, given, err)
	}
	if !info.IsDir() {
		return "", failure(fault.NotAFile, op, given, nil)
	}
	folder, err := openAnchor(g.calls, real)
	if err != nil {
		return "", classify(op, given, err)
	}
	granted := &folderGrant{given: given, real: real, folder: folder}

	g.mu.Lock()
	old := g.takeFolder(given)
	g.folders = append(g.folders, granted)
	g.mu.Unlock()
	if old != nil {
		old.folder.close()
	}
	return given, nil
}

// Revoke takes back what was granted under path, a file or a folder. Permits
// given out before fail as not_granted from then on. A path that was not
// granted is no error.
func (g *Grants) Revoke(path string) {
	path = filepath.Clean(path)
	var gone []*anchor

	g.mu.Lock()
	if f := g.takeFolder(path); f != nil {
		gone = append(gone, f.folder)
	}
	if f := g.files[path]; f != nil {
		delete(g.files, f.given)
		// The real path may by now belong to another grant of the same file.
		if g.files[f.real] == f {
			delete(g.files, f.real)
		}
		gone = append(gone, f.folder)
	}
	g.mu.Unlock()

	for _, a := range gone {
		a.close()
	}
}

// Close takes everything back.
func (g *Grants) Close() {
	g.mu.Lock()
	files, folders := g.files, g.folders
	g.files, g.folders = make(map[string]*fileGrant), nil
	g.mu.Unlock()
	for _, f := range files {
		f.folder.close()
	}
	for _, f := range folders {
		f.folder.close()
	}
}

// Workspace returns the folder that was opened last and is still granted, as
// it was given; "" when there is none.
func (g *Grants) Workspace() string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.folders) == 0 {
		return ""
	}
	return g.folders[len(g.folders)-1].given
}

func (g *Grants) addFile(op, given, real string) error {
	folder, err := openAnchor(g.calls, filepath.Dir(real))
	if err != nil {
		return classify(op, given, err)
	}
	f := &fileGrant{given: given, real: real, folder: folder, base: filepath.Base(real)}
	var gone *anchor

	g.mu.Lock()
	if old := g.files[given]; old != nil && old.given == given {
		delete(g.files, old.given)
		if g.files[old.real] == old {
			delete(g.files, old.real)
		}
		gone = old.folder
	}
	g.files[given] = f
	if g.files[real] == nil {
		g.files[real] = f
	}
	g.mu.Unlock()

	if gone != nil {
		gone.close()
	}
	return nil
}

// takeFolder removes and returns the folder given as path. mu must be held.
func (g *Grants) takeFolder(path string) *folderGrant {
	for i, f := range g.folders {
		if f.given == path {
			g.folders = append(g.folders[:i:i], g.folders[i+1:]...)
			return f
		}
	}
	return nil
}

// absolute cleans a path that the person named.
func absolute(op, path string) (string, error) {
	if err := checkPath(op, path); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", classify(op, path, err)
	}
	return abs, nil
}
