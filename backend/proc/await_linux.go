package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit waits until the child has ended, without reaping it: its id, which
// is its group's too, stays taken. It reports whether that is so.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
