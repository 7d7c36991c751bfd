package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a permit to list one folder.
type Folder struct {
	place place
	// ignored is [Grants.Ignored].
	ignored func(name string) bool
}

// Entry is a file or folder in a listing.
type Entry struct {
	Name string
	// Path is absolute, under the path that was asked for.
	Path   string
	Folder bool
	// Ignored is true for what a tree sets aside: hidden entries and folders
	// that tools fill.
	Ignored bool
}

// Path is the absolute path, as it was asked for.
func (f Folder) Path() string { return f.place.path }

// Ignored is [Grants.Ignored].
func (f Folder) Ignored(name string) bool { return f.ignored(name) }

// open opens the folder for its names.
func (f Folder) open() (dir Dir, err error) {
	err = f.place.folder.within(func(d Dir) (err error) {
		dir, err = d.OpenDir(f.place.rel)
		return err
	})
	return dir, classify("list", f.place.path, err)
}

// List returns at most limit entries, folders first and then files, each in
// natural order, and how many more there are. Links are what they lead to when
// that stays inside, else files. Our own temporary files, devices, sockets and
// FIFOs are left out. Faults: not_granted after a Revoke, outside_workspace,
// not_found.
func (f Folder) List(limit int) (entries []Entry, more int, err error) {
	const op = "list"
	var root Dir
	var found []fs.DirEntry
	err = f.place.folder.within(func(d Dir) error {
		root = d
		dir, err := d.OpenDir(f.place.rel)
		if err != nil {
			return err
		}
		defer letGo(dir)
		// A folder that is gone opens for whoever holds it, and lists nothing.
		found, err = dir.List()
		return err
	})
	if err != nil {
		return nil, 0, classify(op, f.place.path, err)
	}
	entries = make([]Entry, 0, len(found))
	for _, e := range found {
		if isTemp(e.Name()) {
			continue
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			mode = followed(root, filepath.Join(f.place.rel, e.Name()))
		}
		if !mode.IsRegular() && !mode.IsDir() {
			continue
		}
		entries = append(entries, Entry{
			Name:    e.Name(),
			Path:    filepath.Join(f.place.path, e.Name()),
			Folder:  mode.IsDir(),
			Ignored: f.ignored(e.Name()),
		})
	}
	slices.SortFunc(entries, compareEntries)
	if len(entries) > limit {
		more = len(entries) - limit
		entries = entries[:limit:limit]
	}
	return entries, more, nil
}

// followed is the type of what a link leads to. One that leads nowhere or
// outside counts as a file: opening it then says why it cannot be.
func followed(root Dir, rel string) fs.FileMode {
	info, err := root.Stat(rel)
	if err != nil {
		return 0
	}
	return info.Mode().Type()
}

func compareEntries(a, b Entry) int {
	if a.Folder != b.Folder {
		if a.Folder {
			return -1
		}
		return 1
	}
	return compareNames(a.Name, b.Name)
}

// tempPrefix and tempSuffix frame the name of a temporary file of ours.
const (
	tempPrefix = ".galley-"
	tempSuffix = ".tmp"
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix) &&
		len(name) > len(tempPrefix)+len(tempSuffix)
}

// isGone reports whether err says that a name is not there.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
