package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// trashScript asks Foundation, by the system's own script host, to move a file
// to the trash. Unlike the Finder it needs no leave of the person, and unlike
// a rename into ~/.Trash it knows each volume's trash and refuses where there
// is none.
const trashScript = `ObjC.import('Foundation');
function run(argv) {
  const ok = $.NSFileManager.defaultManager.trashItemAtURLResultingItemURLError($.NSURL.fileURLWithPath(argv[0]), null, null);
  if (!ok) { throw new Error('no trash'); }
}`

func (g *Grants) discard(ctx context.Context, t twig) error {
	folder, err := t.realFolder(g.calls)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, t.base)
	// The call takes a path: see that it still leads to what was permitted.
	now, err := g.calls.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, t.info) {
		return errLink
	}
	cmd := exec.CommandContext(ctx, "/usr/bin/osascript", "-l", "JavaScript", "-e", trashScript, path)
	if err := cmd.Run(); err != nil {
		if _, exit := errors.AsType[*exec.ExitError](err); exit {
			return errors.Join(errNoTrash, err)
		}
		return fmt.Errorf("run osascript: %w", err)
	}
	return nil
}
