//go:build !linux

package proc

// awaitExit says that this system cannot tell an exit without reaping it.
func awaitExit(int) bool { return false }
