package document

import (
	"os"
	"testing"
)

// A name can be any bytes here, as those that older systems wrote are: the draft
// and the history of such a file find it again.
//
// covers: F6
func TestRestoreDraft_NameThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	const name, moved = "caf\xe9.md", "th\xe9.md"
	b := newBench(t)
	b.file(name, "a\n")
	id := b.open(name).ID
	b.replace(id, "a", "b")
	b.save(id)
	b.replace(id, "b", "c")
	if err := b.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = b.restart()
	left := b.drafts()
	if len(left) != 1 || left[0].Path != b.path(name) || left[0].Conflict {
		t.Fatalf("drafts: %+v", left)
	}
	i := b.restore(left[0].ID)
	if i.Path != b.path(name) || i.Disk != DiskSame {
		t.Errorf("restored %+v", i)
	}
	b.save(i.ID)
	b.wantDisk(name, "c\n")
	b = b.restart()
	if err := b.Move(t.Context(), b.path(name), b.path(moved), func() error { return os.Rename(b.path(name), b.path(moved)) }); err != nil {
		t.Fatal(err)
	}
	b.wantVersions(b.open(moved).ID, "saved c\n", "saved b\n", "opened a\n")
}
