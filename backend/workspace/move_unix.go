//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveBetween renames name a in folder from to name b in folder to and never
// replaces.
func moveBetween(from *os.File, a string, to *os.File, b string) error {
	err := renameAcross(int(from.Fd()), a, int(to.Fd()), b)
	if isUnsupported(err) || errors.Is(err, unix.ENOSYS) {
		return moveByPlaceholder(int(from.Fd()), a, int(to.Fd()), b)
	}
	return err
}

// moveByPlaceholder is for systems and media without a rename that refuses to
// replace: the new name is taken first, by an empty file or folder of ours,
// and only that is replaced. A crash in between leaves it, and the old name
// whole.
func moveByPlaceholder(from int, a string, to int, b string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(from, a, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := unix.Mkdirat(to, b, 0o700); err != nil {
			return err
		}
		// A folder only ever replaces an empty one.
		err := unix.Renameat(from, a, to, b)
		if err != nil {
			_ = unix.Unlinkat(to, b, unix.AT_REMOVEDIR) // takes no folder that holds something
		}
		return err
	}
	fd, err := unix.Openat(to, b, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var mine, now unix.Stat_t
	ours := func() bool {
		return unix.Fstat(fd, &mine) == nil && unix.Fstatat(to, b, &now, unix.AT_SYMLINK_NOFOLLOW) == nil &&
			mine.Ino == now.Ino && mine.Dev == now.Dev && now.Size == 0
	}
	if !ours() {
		return unix.EEXIST
	}
	err = unix.Renameat(from, a, to, b)
	if err != nil && ours() {
		_ = unix.Unlinkat(to, b, 0)
	}
	return err
}

// isInUse reports whether err says that somebody else holds what was named, as
// a mount does.
func isInUse(err error) bool {
	return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ETXTBSY)
}

// isWatchLimit reports whether err says that no more can be watched.
func isWatchLimit(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}
