package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// show starts the Explorer, which answers nothing of use. Its command line
// follows no rule but its own, so it is written out; a path holds no quote
// here.
func show(ctx context.Context, path string, _ bool) error {
	program := filepath.Join(os.Getenv("SystemRoot"), "explorer.exe")
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `"` + program + `" /select,"` + path + `"`}
	if err := cmd.Start(); err != nil {
		return errors.Join(errNoManager, err)
	}
	var reaper sync.WaitGroup
	reaper.Go(func() { _ = cmd.Wait() })
	return nil
}
