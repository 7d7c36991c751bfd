package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"galley/backend/fault"
)

// errNoTrash says that the system has no trash for what lies there.
var errNoTrash = errors.New("no trash for this place")

// Trash moves a file or folder to the system's trash, from where the person
// can take it back. It never deletes: where there is no trash for the disk that
// it lies on, the fault is read_only and nothing has moved. Of a link the link
// itself goes. Faults besides: disk_full, busy, not_a_file, not_found,
// not_granted, outside_workspace, cancelled.
func (g *Grants) Trash(ctx context.Context, path string) error {
	const op = "trash"
	t, err := g.standing(op, path)
	if err != nil {
		return err
	}
	defer letGo(t.dir)
	if err := ctx.Err(); err != nil {
		return changeFault(op, t.place.path, err)
	}
	err = g.discard(ctx, t)
	if errors.Is(err, errNoTrash) || errors.Is(err, syscall.EXDEV) {
		return failure(fault.ReadOnly, op, t.place.path, err)
	}
	return changeFault(op, t.place.path, err)
}

// InTrash reports whether a path lies in the trash of some system, by the names
// on it: what is there was thrown away, wherever the trash is.
func InTrash(path string) bool {
	before := ""
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		switch {
		case name == ".Trash", name == ".Trashes", strings.HasPrefix(name, ".Trash-"),
			strings.EqualFold(name, "$Recycle.Bin"), before == "Trash" && name == "files":
			return true
		}
		before = name
	}
	return false
}
