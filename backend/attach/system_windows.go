package attach

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// socketFolders lists where a socket may lie. The folder for temporary files is
// the user's own here, and its access list is handed down.
func socketFolders() []folder {
	return []folder{{path: filepath.Join(os.TempDir(), "galley"), own: true}}
}

var errKind = errors.New("it is something else")

// checkFolder sees that the folder is one.
func checkFolder(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = errKind
	}
	return err
}

// checkSocket sees that there is something that can be a socket at path: this
// system shows one as a reparse point.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&(fs.ModeDir|fs.ModeSymlink) != 0 {
		err = errKind
	}
	return err
}

// sameUser has nothing to ask: this system tells no user of the other end, and
// the folder keeps others away.
func sameUser(net.Conn) error { return nil }

// lockedAt is the byte that is locked. It lies behind all that is written,
// since nobody else can read a locked part.
const lockedAt = 1 << 30

// tryLock locks the file at path, which is made when missing; nil when another
// process has it.
func tryLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	at := &windows.Overlapped{Offset: lockedAt}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if err == nil {
		// What stands in it is of a process that has ended.
		if err = f.Truncate(0); err == nil {
			return &lock{f}, nil
		}
	}
	_ = f.Close() // it was not used
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, nil
	}
	return nil, err
}
