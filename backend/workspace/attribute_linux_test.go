package workspace_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWrite_KeepsAttributesAndAccessList sets both by hand, replaces the file
// and reads them back.
//
// covers: F4
func TestWrite_KeepsAttributesAndAccessList(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old"})
	path := b.path("a.md")
	must(t, os.Chmod(path, 0o640))
	must(t, unix.Setxattr(path, "user.galley.tag", []byte("red\x00green"), 0))
	must(t, unix.Setxattr(path, "user.empty", nil, 0))
	// owner rw, user 1234 rw, group r, mask rw, others none.
	var acl bytes.Buffer
	must(t, binary.Write(&acl, binary.LittleEndian, uint32(2)))
	for _, e := range []struct {
		Tag, Perm uint16
		ID        uint32
	}{
		{0x01, 6, 0xffffffff},
		{0x02, 6, 1234},
		{0x04, 4, 0xffffffff},
		{0x10, 6, 0xffffffff},
		{0x20, 0, 0xffffffff},
	} {
		must(t, binary.Write(&acl, binary.LittleEndian, e))
	}
	must(t, unix.Setxattr(path, "system.posix_acl_access", acl.Bytes(), 0))
	before := b.base("a.md")

	res := b.save("a.md", "new")
	b.want("a.md", "new")
	if res.Stat.Inode == before.Inode {
		t.Fatal("the file was not replaced")
	}
	for name, want := range map[string][]byte{
		"user.galley.tag": []byte("red\x00green"), "user.empty": {}, "system.posix_acl_access": acl.Bytes(),
	} {
		got := make([]byte, 200)
		n, err := unix.Getxattr(path, name, got)
		if err != nil || !bytes.Equal(got[:n], want) {
			t.Errorf("%s: got %x (%v), want %x", name, got[:max(n, 0)], err, want)
		}
	}
	now := b.base("a.md")
	// Getting its name is a later change of the file.
	if res.Stat.ChangeTimeNs = now.ChangeTimeNs; now.Mode != before.Mode || res.Stat != now {
		t.Errorf("mode %v, was %v", now.Mode, before.Mode)
	}
}
