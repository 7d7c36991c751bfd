//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"galley/backend/fault"
)

// TestPermit_SpecialFiles: a FIFO without a writer must not make anybody wait,
// and neither it nor a device, a socket or a terminal is a file.
//
// covers: F7
func TestPermit_SpecialFiles(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "w/to-fifo": "-> fifo"})
	w := filepath.Join(root, "w")
	must(t, syscall.Mkfifo(w+"/fifo", 0o644))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	defer syscall.Close(fd)
	t.Chdir(w) // the name of a socket must be short
	must(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}))

	g := openFolder(t, w)
	for _, name := range []string{"fifo", "to-fifo", "socket"} {
		p := filepath.Join(w, name)
		_, err := g.PermitRead(p)
		wantCode(t, err, fault.NotAFile)
		_, err = g.PermitWrite(p)
		wantCode(t, err, fault.NotAFile)
		_, err = g.GrantFile(p)
		wantCode(t, err, fault.NotAFile)
		_, err = g.GrantSave(p)
		wantCode(t, err, fault.NotAFile)
	}
	_, err = g.GrantFile("/dev/null")
	wantCode(t, err, fault.NotAFile)

	// A permit given out before the file became a FIFO.
	f, err := g.PermitRead(w + "/a.md")
	must(t, err)
	must(t, os.Remove(w+"/a.md"))
	must(t, syscall.Mkfifo(w+"/a.md", 0o644))
	_, _, err = f.Read(10)
	wantCode(t, err, fault.NotAFile)

	folder, err := g.PermitList(w)
	must(t, err)
	entries, _, err := folder.List(10)
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("listed: %+v", entries)
	}
}
