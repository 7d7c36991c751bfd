package workspace

import "golang.org/x/sys/unix"

// readsWhole reports whether the file system of an open folder gives less than
// was asked for at the end of a regular file only. Those on a local disk do;
// one on a network or in a program may not.
func readsWhole(fd int) bool {
	var st unix.Statfs_t
	if again(func() error { return unix.Fstatfs(fd, &st) }) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}
