//go:build unix

package search

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO and a socket are no files, and one that takes the place of a file
// between listing and reading makes nobody wait.
//
// covers: F7 F9
func TestRun_SpecialFiles(t *testing.T) {
	change := func() {}
	b := newBench(t, map[string]string{"a.md": "x", "swapped.md": "x"}, func(c *Config) {
		c.Unsaved = func() map[string]string { change(); return nil }
	})
	at := func(name string) string { return filepath.Join(b.dir, name) }
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(syscall.Mkfifo(at("fifo.md"), 0o644))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	try(err)
	defer syscall.Close(fd)
	t.Chdir(b.dir) // the name of a socket must be short
	try(syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}))
	found, s := b.run(Query{Text: "x"})
	want(t, "files", []string{"a.md", "swapped.md"}, names(found))
	want(t, "summary", Summary{Searched: 2, Files: 2, Hits: 2}, s)

	change = func() {
		try(os.Remove(at("swapped.md")))
		try(syscall.Mkfifo(at("swapped.md"), 0o644))
	}
	found, _ = b.run(Query{Text: "x"})
	want(t, "files", []string{"a.md"}, names(found))
}
