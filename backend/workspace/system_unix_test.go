//go:build unix

package workspace_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

const enospc = syscall.ENOSPC

func umask(mask int) int { return syscall.Umask(mask) }

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// The folder takes no new file, the file can be written: made by an error at
// the one call that makes the temporary file, and at the rename (a folder with
// the sticky bit).
//
// covers: F4
func TestWrite_UnwritableFolderFallsBack(t *testing.T) {
	for _, call := range []string{"open", "rename"} {
		for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM} {
			b := newBench(t, map[string]string{"w/a.md": "old"})
			base := b.base("a.md")
			fellBack := false
			for n := 1; ; n++ {
				b.calls.Arm(filefault.Plan{At: n, Mode: filefault.Before, Err: errno})
				res, err := b.write("a.md", "new", workspace.WriteOptions{Base: base})
				fired := b.calls.Fired()
				b.calls.Arm(filefault.Plan{})
				if fired == "" {
					break
				}
				if fired == call && err == nil && res.Fallback {
					fellBack = true
					b.want("a.md", "new")
					if got, err := os.ReadFile(res.RecoveryPath); err != nil || string(got) != "old" {
						t.Errorf("recovery copy: got %q, %v", got, err)
					}
					if got := names(t, b.root+"/w"); len(got) != 1 {
						t.Errorf("left over: %v", got)
					}
				}
				must(t, os.WriteFile(b.path("a.md"), []byte("old"), 0o644))
			}
			if !fellBack {
				t.Errorf("%v at %s: no fallback", errno, call)
			}
		}
	}
}

// The same for real, by a process that may not write the folder.
//
// covers: F4
func TestWrite_UnwritableFolderForReal(t *testing.T) {
	b := newBench(t, map[string]string{"w/a.md": "old", "w/ro.md": "old", "recovery/": ""})
	if os.Getuid() == 0 {
		for _, p := range []string{b.recovery(), b.path("a.md"), b.path("ro.md")} {
			must(t, os.Chown(p, nobody, nobody))
		}
		openForNobody(t, b.root)
	}
	must(t, os.Chmod(b.path("ro.md"), 0o400))
	must(t, os.Chmod(b.root+"/w", 0o555))
	t.Cleanup(func() { _ = os.Chmod(b.root+"/w", 0o755) })

	out := asNobody(t, "write", b.root, "a.md", "new")
	if out != "fallback old" {
		t.Errorf("a.md: %s", out)
	}
	b.want("a.md", "new")
	if out := asNobody(t, "write", b.root, "new.md", "new"); out != string(fault.ReadOnly) {
		t.Errorf("new.md: %s", out)
	}
	if out := asNobody(t, "write", b.root, "ro.md", "new"); out != string(fault.ReadOnly) {
		t.Errorf("ro.md: %s", out)
	}
	b.want("ro.md", "old")
	if got := strings.Join(names(t, b.root+"/w"), " "); got != "a.md ro.md" {
		t.Errorf("the folder holds %s", got)
	}
}

// A file that belongs to somebody else, in a folder that takes new files: the
// text is saved, and nobody gets more than he had.
//
// covers: F4
func TestWrite_OwnerIsKeptWhereAllowed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only a superuser can make a file of another owner")
	}
	b := newBench(t, map[string]string{"w/a.md": "old", "w/b.md": "old", "recovery/": ""})
	must(t, os.Chown(b.path("a.md"), 1234, 2345))
	must(t, os.Chmod(b.path("a.md"), 0o664|os.ModeSetgid))
	b.save("a.md", "new")
	st := statT(t, b.path("a.md"))
	if st.Uid != 1234 || st.Gid != 2345 || st.Mode&0o7777 != 0o2664 {
		t.Errorf("owner %d:%d, mode %o", st.Uid, st.Gid, st.Mode&0o7777)
	}

	// Written by one who may neither give it away nor keep its group.
	must(t, os.Chown(b.path("b.md"), 1234, 2345))
	must(t, os.Chmod(b.path("b.md"), 0o676|os.ModeSetgid))
	must(t, os.Chown(b.recovery(), nobody, nobody))
	must(t, os.Chmod(b.root+"/w", 0o777))
	openForNobody(t, b.root)
	if out := asNobody(t, "write", b.root, "b.md", "new"); out != "replaced" {
		t.Errorf("b.md: %s", out)
	}
	st = statT(t, b.path("b.md"))
	if st.Uid != nobody || st.Mode&0o7777 != 0o666 {
		t.Errorf("owner %d:%d, mode %o", st.Uid, st.Gid, st.Mode&0o7777)
	}
}

func statT(t *testing.T, path string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Sys().(*syscall.Stat_t)
}
