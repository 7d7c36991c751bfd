//go:build linux || darwin

package workspace

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readAttributes returns the extended attributes of f. POSIX access lists are
// among them on Linux, tags and Finder flags on macOS. A file system without
// attributes has none.
func readAttributes(f *os.File) ([]Attribute, error) {
	names, err := readSized(func(b []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), b) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "listxattr", Path: f.Name(), Err: err}
	}
	var out []Attribute
	for name := range strings.SplitSeq(string(names), "\x00") {
		if name == "" {
			continue
		}
		value, err := readSized(func(b []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, b) })
		if err != nil {
			continue // gone since, or not ours to read
		}
		out = append(out, Attribute{Name: name, Value: value})
	}
	return out, nil
}

// readSized calls get with room enough, also when the value grows meanwhile.
func readSized(get func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := get(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		b := make([]byte, n)
		n, err = get(b)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	}
}

func writeAttribute(f *os.File, a Attribute) error {
	if err := unix.Fsetxattr(int(f.Fd()), a.Name, a.Value, 0); err != nil {
		return &os.PathError{Op: "setxattr", Path: f.Name(), Err: err}
	}
	return nil
}
