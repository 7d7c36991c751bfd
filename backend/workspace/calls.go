package workspace

import (
	"io"
	"io/fs"
)

// Calls is the seam through which every file-system call of this package
// goes, so that a test can fail, tear or kill at any single call. [OSCalls]
// is the one for real use; package filefault wraps another.
//
// Implementations are safe for concurrent use. Errors keep the causes of the
// standard library (fs.ErrNotExist, syscall.Errno), since callers branch on
// them.
type Calls interface {
	// OpenDir opens a folder by an absolute path, following links.
	OpenDir(path string) (Dir, error)
	// EvalSymlinks resolves every link of an absolute path.
	EvalSymlinks(path string) (string, error)
	// Lstat describes what path names, without following a last link.
	Lstat(path string) (fs.FileInfo, error)
	// Readlink returns where the link at path leads.
	Readlink(path string) (string, error)
	// MkdirAll makes a folder and its parents.
	MkdirAll(path string, perm fs.FileMode) error
}

// Dir is an open folder out of which no name leads: it follows links that
// stay inside and refuses every other way out, as os.Root does. Names are
// relative to it.
type Dir interface {
	Tree

	// Open opens a file with the flags of package os.
	Open(name string, flag int, perm fs.FileMode) (Handle, error)
	// OpenDir opens a folder inside as a Dir of its own.
	OpenDir(name string) (Dir, error)
	// Stat follows a last link, Lstat does not.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	// Rename replaces to when it exists.
	Rename(from, to string) error
	// RenameNew is Rename that fails with fs.ErrExist when to exists.
	RenameNew(from, to string) error
	// Exchange makes each of two names stand for what the other one did, at
	// once. Names are of the folder itself. RenameNew and Exchange fail with
	// errors.ErrUnsupported where the system or the medium has no such call.
	Exchange(a, b string) error
	Remove(name string) error
	// List returns the entries of the folder itself in no order.
	List() ([]fs.DirEntry, error)
	// Sync makes the folder's entries durable where the system can.
	Sync() error
	Close() error
}

// Handle is an open file.
type Handle interface {
	io.Reader
	io.ReaderAt
	io.WriterAt
	Stat() (fs.FileInfo, error)
	// Identity tells whether two handles are one file.
	Identity() (Identity, error)
	Chmod(mode fs.FileMode) error
	// Chown takes -1 for "leave".
	Chown(uid, gid int) error
	// Attributes returns the extended attributes, access lists among them.
	Attributes() ([]Attribute, error)
	SetAttribute(a Attribute) error
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Attribute is one extended attribute of a file.
type Attribute struct {
	Name  string
	Value []byte
}

// Identity names a file independently of its path. It is comparable; the zero
// value names none.
type Identity struct {
	// Volume is the device or volume number.
	Volume uint64
	// File is the inode or file index.
	File uint64
}

// letGo closes a folder, or a file that was only read or given up: no bytes
// are waiting in it, so that an error of Close says nothing about any.
func letGo(c io.Closer) { _ = c.Close() }
