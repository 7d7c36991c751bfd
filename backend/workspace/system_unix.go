//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openQuietly keeps an open from waiting for a writer of a FIFO, and a
// terminal from becoming ours.
const openQuietly = syscall.O_NONBLOCK | syscall.O_NOCTTY

func identityOf(f *os.File) (Identity, error) {
	info, err := f.Stat()
	if err != nil {
		return Identity{}, err
	}
	return identityOfInfo(info), nil
}

func identityOfInfo(info fs.FileInfo) Identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{Volume: uint64(st.Dev), File: uint64(st.Ino)}
}

// linksOf is the number of names that the file has.
func linksOf(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
}

func ownerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

func syncFolder(f *os.File) error { return f.Sync() }

func renameIn(r *os.Root, from, to string) error { return r.Rename(from, to) }

// alive reports whether a process runs under pid.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isReadOnlyMedium(err error) bool { return errors.Is(err, syscall.EROFS) }

func isUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}
