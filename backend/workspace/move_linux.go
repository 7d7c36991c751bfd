package workspace

import "golang.org/x/sys/unix"

// renameAcross fails with EINVAL where the medium has no such rename.
func renameAcross(from int, a string, to int, b string) error {
	return unix.Renameat2(from, a, to, b, unix.RENAME_NOREPLACE)
}
