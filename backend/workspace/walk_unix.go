//go:build unix

package workspace

import (
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// quick is an open folder whose names are opened relative to it and without
// following a link. That is what os.Root comes to for a single name, without
// what it costs for a path.
type quick struct {
	f *os.File
	// whole says that a short read means the end of a file here.
	whole bool
}

// quicken returns the folder that d has open; false for one that is not of the
// real file system.
func quicken(d Dir) (quick, bool) {
	real, ok := d.(osDir)
	if !ok {
		return quick{}, false
	}
	f, err := real.root.Open(".")
	if err != nil {
		return quick{}, false
	}
	return quick{f, readsWhole(int(f.Fd()))}, true
}

func (q quick) list() ([]fs.DirEntry, error) { return q.f.ReadDir(-1) }

func (q quick) close() { letGo(q.f) }

func (q quick) open(name string) (quick, error) {
	fd, err := q.openAt(name, unix.O_DIRECTORY)
	if err != nil {
		return quick{}, err
	}
	return quick{os.NewFile(uintptr(fd), q.f.Name()+"/"+name), readsWhole(fd)}, nil
}

// openFile opens what was listed as a regular file. Should it be something else
// by now, neither opening nor reading waits, nothing is followed, and a link
// fails.
func (q quick) openFile(name string) (reader, error) {
	fd, err := q.openAt(name, openQuietly)
	if err != nil {
		return nil, err
	}
	return descriptor(fd), nil
}

// openAt opens one name of the folder for reading. A name that could mean more
// than an entry of it is refused.
func (q quick) openAt(name string, flag int) (fd int, err error) {
	if !plainName(name) {
		return -1, errLink
	}
	err = again(func() error {
		fd, err = unix.Openat(int(q.f.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flag, 0)
		return err
	})
	return fd, err
}

// plainName reports whether name is that of an entry, and of nothing beyond.
func plainName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		if name[i] == '/' || name[i] == 0 {
			return false
		}
	}
	return true
}

// descriptor is an open file as the system numbers it.
type descriptor int

func (d descriptor) Read(p []byte) (n int, err error) {
	err = again(func() error {
		n, err = unix.Read(int(d), p)
		return err
	})
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (d descriptor) size() (int64, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(int(d), &st) })
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNoFile
	}
	return st.Size, err
}

func (d descriptor) Close() error { return unix.Close(int(d)) }

// again makes a system call until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR { //nolint:errorlint // an errno, by value
			return err
		}
	}
}
