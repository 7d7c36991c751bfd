//go:build unix

package cli

import (
	"fmt"
	"os"
	"syscall"
)

// pipes returns the standard streams so that closing one ends a Read or Write
// that blocks, which an inherited descriptor in blocking mode does not.
func pipes(stdin, stdout *os.File) (in, out *os.File, err error) {
	if in, err = pollable(stdin); err != nil {
		return nil, nil, errPipe("stdin", err)
	}
	if out, err = pollable(stdout); err != nil {
		return nil, nil, errPipe("stdout", err)
	}
	return in, out, nil
}

func pollable(f *os.File) (*os.File, error) {
	// A copy, so that f is not closed twice.
	fd, err := dupCloexec(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// dupCloexec copies a descriptor that no child inherits.
func dupCloexec(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(n)
	}
	return n, err
}

// errPipe names the stream that cannot be used.
func errPipe(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }
