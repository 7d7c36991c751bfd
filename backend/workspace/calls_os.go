package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OSCalls returns the real file system.
func OSCalls() Calls { return osCalls{} }

type osCalls struct{}

func (osCalls) OpenDir(path string) (Dir, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return osDir{r}, nil
}

func (osCalls) EvalSymlinks(path string) (string, error)     { return filepath.EvalSymlinks(path) }
func (osCalls) Lstat(path string) (fs.FileInfo, error)       { return os.Lstat(path) }
func (osCalls) Readlink(path string) (string, error)         { return os.Readlink(path) }
func (osCalls) MkdirAll(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }

type osDir struct{ root *os.Root }

func (d osDir) Open(name string, flag int, perm fs.FileMode) (Handle, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osHandle{f}, nil
}

func (d osDir) OpenDir(name string) (Dir, error) {
	r, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return osDir{r}, nil
}

func (d osDir) Stat(name string) (fs.FileInfo, error)  { return d.root.Stat(name) }
func (d osDir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d osDir) Readlink(name string) (string, error)   { return d.root.Readlink(name) }
func (d osDir) Rename(from, to string) error           { return renameIn(d.root, from, to) }
func (d osDir) RenameNew(from, to string) error        { return d.withFolder(from, to, renameNew) }
func (d osDir) Exchange(a, b string) error             { return d.withFolder(a, b, exchange) }
func (d osDir) Remove(name string) error               { return d.root.Remove(name) }
func (d osDir) Close() error                           { return d.root.Close() }

func (d osDir) List() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer letGo(f)
	return f.ReadDir(-1)
}

func (d osDir) Sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer letGo(f)
	return syncFolder(f)
}

// withFolder makes a call on two names of the folder itself, which os.Root does
// not offer.
func (d osDir) withFolder(a, b string, call func(folder *os.File, a, b string) error) error {
	if filepath.Base(a) != a || filepath.Base(b) != b {
		return &os.LinkError{Op: "rename", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer letGo(f)
	if err := call(f, a, b); err != nil {
		return &os.LinkError{Op: "rename", Old: a, New: b, Err: err}
	}
	return nil
}

type osHandle struct{ f *os.File }

func (h osHandle) Read(p []byte) (int, error)               { return h.f.Read(p) }
func (h osHandle) ReadAt(p []byte, off int64) (int, error)  { return h.f.ReadAt(p, off) }
func (h osHandle) WriteAt(p []byte, off int64) (int, error) { return h.f.WriteAt(p, off) }
func (h osHandle) Stat() (fs.FileInfo, error)               { return h.f.Stat() }
func (h osHandle) Identity() (Identity, error)              { return identityOf(h.f) }
func (h osHandle) Chmod(mode fs.FileMode) error             { return h.f.Chmod(mode) }
func (h osHandle) Chown(uid, gid int) error                 { return h.f.Chown(uid, gid) }
func (h osHandle) Attributes() ([]Attribute, error)         { return readAttributes(h.f) }
func (h osHandle) SetAttribute(a Attribute) error           { return writeAttribute(h.f, a) }
func (h osHandle) Truncate(size int64) error                { return h.f.Truncate(size) }
func (h osHandle) Sync() error                              { return h.f.Sync() }
func (h osHandle) Close() error                             { return h.f.Close() }
