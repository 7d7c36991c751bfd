//go:build unix

package document

import (
	"syscall"
	"testing"

	"galley/backend/fault"
)

func TestOpen_RefusesPipesAndDevices(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := syscall.Mkfifo(b.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Open(t.Context(), b.path("pipe"))
	wantCode(t, "pipe", err, fault.NotAFile)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.replace(id, "a", "b")
	// A file that was replaced by a pipe is not written into.
	if err := syscall.Unlink(b.path("n.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(b.path("n.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := b.request(id)
	r.Overwrite = true
	_, err = b.Save(t.Context(), r)
	wantCode(t, "save over a pipe", err, fault.NotAFile)
}

// out-5: a pipe in the file's place is no file, and nothing waits for it.
//
// covers: F5
func TestCheck_ReplacedByAPipe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "a\n")
	id := b.open("n.md").ID
	b.outside(syscall.Unlink(b.path("n.md")), syscall.Mkfifo(b.path("n.md"), 0o600))
	b.wantTold("a pipe", b.check(b.path("n.md")), "missing")
	_, err := b.Reload(t.Context(), b.page, id)
	wantCode(t, "reload", err, fault.NotAFile)
	c, err := b.Compare(t.Context(), b.page, id)
	if err != nil || !c.Missing {
		t.Errorf("%+v, %v", c, err)
	}
}
