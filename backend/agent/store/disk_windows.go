package store

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// onNetworkDisk reports whether a path lies on a network file system, where
// the locks that the write-ahead log needs cannot be trusted. A file system
// that cannot be asked counts as local.
func onNetworkDisk(path string) bool {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(path) + `\`)
	if err != nil {
		return false
	}
	return windows.GetDriveType(root) == windows.DRIVE_REMOTE
}
