//go:build unix

package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketFolders lists where a socket may lie, best first.
func socketFolders() []folder {
	var out []folder
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		out = append(out, folder{path: dir})
	}
	mine := "galley-" + strconv.Itoa(os.Geteuid())
	// The folder for temporary files can have a long path too.
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		out = append(out, folder{path: filepath.Join(dir, mine), own: true})
	}
	return out
}

var (
	errForeign = errors.New("it belongs to another user")
	errOpen    = errors.New("other users can enter it")
	errKind    = errors.New("it is something else")
)

// checkFolder sees that only this user can reach what is in a folder.
func checkFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("socket folder: %w", errKind)
	case !mine(info):
		return fmt.Errorf("socket folder: %w", errForeign)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("socket folder: %w", errOpen)
	}
	return nil
}

// checkSocket sees that there is a socket of this user at path, in a folder
// that only this user can enter.
func checkSocket(path string) error {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket: %w", errKind)
	case !mine(info):
		return fmt.Errorf("socket: %w", errForeign)
	}
	return nil
}

func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// sameUser sees that the process at the other end belongs to this user.
func sameUser(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errKind
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var asked error
	if err := raw.Control(func(fd uintptr) { uid, asked = peer(int(fd)) }); err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the process at the other end: %w", errForeign)
	}
	return nil
}

// tryLock locks the file at path, which is made when missing; nil when another
// process has it.
func tryLock(path string) (*lock, error) {
	// The file is never removed: a lock on a removed file locks nobody out.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		// What stands in it is of a process that has ended.
		if err = f.Truncate(0); err == nil {
			return &lock{f}, nil
		}
	}
	_ = f.Close() // it was not used
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}
