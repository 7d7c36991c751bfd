//go:build unix

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMoveByPlaceholder is the way of systems without a rename that refuses to
// replace.
//
// covers: F8
func TestMoveByPlaceholder(t *testing.T) {
	make := func(root, name string) {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, from, to string
		files          []string
		want           error
	}{
		{"file", "a", "b", []string{"a"}, nil},
		{"folder", "s", "t", []string{"s/x"}, nil},
		{"over a file", "a", "b", []string{"a", "b"}, unix.EEXIST},
		{"over a folder", "a", "s", []string{"a", "s/x"}, unix.EEXIST},
		{"folder over a folder", "s", "t", []string{"s/x", "t/y"}, unix.EEXIST},
		{"folder over a file", "s", "a", []string{"s/x", "a"}, unix.EEXIST},
		{"nothing", "n", "b", []string{"a"}, unix.ENOENT},
		{"folder into itself", "s", "s", []string{"s/x"}, unix.EEXIST},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, f := range c.files {
				make(root, f)
			}
			d, err := os.Open(root)
			if err != nil {
				t.Fatal(err)
			}
			defer letGo(d)
			err = moveByPlaceholder(int(d.Fd()), c.from, int(d.Fd()), c.to)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			for _, f := range c.files {
				at := filepath.Join(root, f)
				if err == nil {
					at = filepath.Join(root, c.to, f[len(c.from):])
				}
				if data, err := os.ReadFile(at); err != nil || string(data) != f {
					t.Errorf("%s: %q, %v", f, data, err)
				}
			}
			if c.want != nil {
				if _, err := os.Lstat(filepath.Join(root, "b")); err == nil && c.to == "b" && c.name == "nothing" {
					t.Error("the placeholder is left")
				}
			}
		})
	}
	// A file moved between folders on two devices leaves no placeholder.
	if a, err := os.Open(t.TempDir()); err == nil {
		defer letGo(a)
		b, err := os.Open("/dev/shm")
		if err != nil {
			return
		}
		defer letGo(b)
		make(a.Name(), "x-placeholder")
		if err := moveByPlaceholder(int(a.Fd()), "x-placeholder", int(b.Fd()), "x-placeholder"); !errors.Is(err, unix.EXDEV) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Lstat("/dev/shm/x-placeholder"); !os.IsNotExist(err) {
			t.Errorf("the placeholder is left: %v", err)
		}
	}
}
