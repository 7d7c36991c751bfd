package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"galley/backend/fault"
)

// errNoManager says that no file manager answered.
var errNoManager = errors.New("no file manager")

// Reveal shows the file or folder at path, which was granted or lies in a
// granted folder, in the system's file manager. It may be a granted folder
// itself. Faults: not_found, not_granted, outside_workspace; internal when there
// is no file manager.
func (g *Grants) Reveal(ctx context.Context, path string) error {
	const op = "reveal"
	p, err := g.locate(op, path)
	if err != nil {
		return err
	}
	var info os.FileInfo
	err = p.folder.within(func(d Dir) (err error) {
		info, err = d.Lstat(p.rel)
		return err
	})
	if err != nil {
		return classify(op, p.path, err)
	}
	// What is handed on is a path without links, so that what is shown is what
	// was permitted.
	folder, base := splitRel(p.rel)
	if p.rel == "." {
		folder, base = ".", ""
	}
	at, err := g.calls.EvalSymlinks(filepath.Join(p.folder.at(), folder))
	if err != nil {
		return classify(op, p.path, err)
	}
	at = filepath.Join(at, base)
	if now, err := g.calls.Lstat(at); err != nil || !os.SameFile(now, info) {
		return failure(fault.NotFound, op, p.path, err)
	}
	if err := show(ctx, at, base == ""); err != nil {
		return fault.New(fault.Internal, op, err)
	}
	return nil
}

// launch starts a program that shows something and may run for as long as the
// person looks at it. It is waited for in the background, so that nothing of
// it is left.
func launch(ctx context.Context, name string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return errors.Join(errNoManager, err)
	}
	// It outlives the call that asked for it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	if err := cmd.Start(); err != nil {
		return errors.Join(errNoManager, err)
	}
	var reaper sync.WaitGroup
	reaper.Go(func() { _ = cmd.Wait() })
	return nil
}
