package workspace

import "golang.org/x/sys/unix"

// renameAcross fails with ENOTSUP where the medium has no such rename.
func renameAcross(from int, a string, to int, b string) error {
	return unix.RenameatxNp(from, a, to, b, unix.RENAME_EXCL)
}
