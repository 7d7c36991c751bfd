//go:build darwin || freebsd || netbsd

package workspace

import (
	"io/fs"
	"syscall"
)

// changeTimeOf is the time of the file's last change of any kind, in
// nanoseconds since 1970, which no program can put back; 0 when it is not known.
func changeTimeOf(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ctimespec.Nano()
}
