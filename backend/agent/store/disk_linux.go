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
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, unix.V9FS_MAGIC:
		return true
	}
	return false
}
