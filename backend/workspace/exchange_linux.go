package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func renameNew(folder *os.File, from, to string) error {
	return renameFlags(folder, from, to, unix.RENAME_NOREPLACE)
}

func exchange(folder *os.File, a, b string) error {
	return renameFlags(folder, a, b, unix.RENAME_EXCHANGE)
}

func renameFlags(folder *os.File, from, to string, flags uint) error {
	fd := int(folder.Fd())
	err := unix.Renameat2(fd, from, fd, to, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
