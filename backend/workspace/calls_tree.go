package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Tree is the part of a [Dir] that changes what a folder holds. Names are of
// the folder itself: one with a separator, and "." and "..", are fs.ErrInvalid.
type Tree interface {
	Mkdir(name string, perm fs.FileMode) error
	// Move renames an entry into another open folder, which may be the same.
	// It never replaces: a name that is taken is fs.ErrExist, but for an empty
	// folder under a folder's name where the system cannot tell. A last link
	// is moved itself. Another device is syscall.EXDEV.
	Move(from string, to Dir, name string) error
	// Symlink makes a link with the text of one that was copied. What leads
	// out of the folder cannot be followed by any other call.
	Symlink(text, name string) error
	// SetModTime sets the time of the last change of a file or folder.
	SetModTime(name string, t time.Time) error
}

// baseOnly refuses what is no name of the folder itself.
func baseOnly(op string, names ...string) error {
	for _, n := range names {
		if n == "" || n == "." || n == ".." || filepath.Base(n) != n {
			return &fs.PathError{Op: op, Path: n, Err: os.ErrInvalid}
		}
	}
	return nil
}

func (d osDir) Mkdir(name string, perm fs.FileMode) error {
	if err := baseOnly("mkdir", name); err != nil {
		return err
	}
	return d.root.Mkdir(name, perm)
}

func (d osDir) Move(from string, to Dir, name string) error {
	if err := baseOnly("move", from, name); err != nil {
		return err
	}
	other, ok := to.(osDir)
	if !ok {
		return &fs.PathError{Op: "move", Path: name, Err: os.ErrInvalid}
	}
	a, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer letGo(a)
	b, err := other.root.Open(".")
	if err != nil {
		return err
	}
	defer letGo(b)
	if err := moveBetween(a, from, b, name); err != nil {
		return &os.LinkError{Op: "move", Old: from, New: name, Err: err}
	}
	return nil
}

func (d osDir) Symlink(text, name string) error {
	if err := baseOnly("symlink", name); err != nil {
		return err
	}
	return d.root.Symlink(text, name)
}

func (d osDir) SetModTime(name string, t time.Time) error {
	if err := baseOnly("set time", name); err != nil {
		return err
	}
	return d.root.Chtimes(name, time.Time{}, t)
}
