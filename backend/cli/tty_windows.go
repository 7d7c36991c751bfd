package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal reports whether a person can be at the other end of f.
func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
