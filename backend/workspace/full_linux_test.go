package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// fullDisk is the size in bytes of the small disk.
const fullDisk = 128 << 10

// TestSave_FullDisk saves to a real disk that has no room: a small tmpfs in a
// mount namespace of the child's own.
//
// covers: F4
func TestSave_FullDisk(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for _, what := range []string{"text", "text and recovery", "in place", "in place and recovery", "new file", "drained"} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			// In case the child did not live to take its disk away.
			defer func() { _ = syscall.Unmount(filepath.Join(root, "disk"), syscall.MNT_DETACH) }()
			cmd := exec.Command(program, root, what)
			cmd.Env = append(os.Environ(), childEnv+"=full")
			cmd.Dir = "/"
			attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			if os.Getuid() != 0 {
				attr.Cloneflags |= syscall.CLONE_NEWUSER
				attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
				attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
			}
			cmd.SysProcAttr = attr
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "nothing lost" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// saveToFullDisk mounts the small disk, saves where there is no room, and says
// whether all that was there before is there after.
func saveToFullDisk(root, what string) error {
	// EINVAL: the root is no mount of its own, as under chroot. The disk can
	// then be seen outside as well, until it is taken away again.
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	disk := filepath.Join(root, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("galley", disk, "tmpfs", 0, fmt.Sprintf("size=%d", fullDisk)); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	recovery := filepath.Join(root, "recovery")
	if strings.HasSuffix(what, "and recovery") {
		recovery = filepath.Join(disk, "recovery")
	}
	file := filepath.Join(disk, "a.md")
	old := strings.Repeat("old text\r\n", fullDisk*6/10/10)
	if what != "new file" {
		if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
			return err
		}
	}
	if strings.HasPrefix(what, "in place") {
		if err := os.Link(file, filepath.Join(disk, "other")); err != nil {
			return err
		}
	}
	if what == "drained" { // not one block is free
		if err := drain(filepath.Join(disk, "ballast")); err != nil {
			return err
		}
	}

	g := workspace.NewGrants()
	defer g.Close()
	if _, err := g.GrantFolder(disk); err != nil {
		return err
	}
	var base workspace.Stat
	if what != "new file" {
		f, err := g.PermitRead(file)
		if err != nil {
			return err
		}
		if _, base, err = f.Read(1 << 30); err != nil {
			return err
		}
	}
	target, err := g.PermitWrite(file)
	if err != nil {
		return err
	}
	text := strings.Repeat("new text\r\n", fullDisk*14/10/10)
	res, err := target.Write([]byte(text), workspace.WriteOptions{Base: base, RecoveryDir: recovery})
	if fault.CodeOf(err) != fault.DiskFull {
		return fmt.Errorf("saved to a full disk: %+v, %w", res, err)
	}
	return checkNothingLost(file, old, what, text, res)
}

func checkNothingLost(file, old, what, text string, res workspace.WriteResult) error {
	got, err := os.ReadFile(file)
	switch {
	case what == "new file":
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("half of a new file is there: %d bytes (%w)", len(got), err)
		}
	case err != nil || string(got) != old:
		return fmt.Errorf("the old text is gone: %d bytes, %q (%w)", len(got), short(got), err)
	}
	if res.RecoveryPath != "" {
		if copied, err := os.ReadFile(res.RecoveryPath); err != nil || string(copied) != text {
			return fmt.Errorf("the copy of the new text holds %d bytes (%w)", len(copied), err)
		}
	} else if !strings.HasSuffix(what, "and recovery") {
		return errors.New("there was room elsewhere, and no copy of the new text")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			return fmt.Errorf("%s is left on the full disk", e.Name())
		}
	}
	fmt.Print("nothing lost")
	return nil
}

// drain fills the disk to its last block.
func drain(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 512); ; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
