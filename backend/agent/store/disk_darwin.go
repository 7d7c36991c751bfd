package store

import "golang.org/x/sys/unix"

// onNetworkDisk reports whether a path lies on a network file system, where
// the locks that the write-ahead log needs cannot be trusted. A file system
// that cannot be asked counts as local.
func onNetworkDisk(path string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return false
	}
	return st.Flags&unix.MNT_LOCAL == 0
}
