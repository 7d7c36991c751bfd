package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

func renameNew(folder *os.File, from, to string) error {
	fd := int(folder.Fd())
	return unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL)
}

func exchange(folder *os.File, a, b string) error {
	fd := int(folder.Fd())
	return unix.RenameatxNp(fd, a, fd, b, unix.RENAME_SWAP)
}
