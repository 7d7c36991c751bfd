package filefault

import (
	"io/fs"
	"time"

	"galley/backend/workspace"
)

func (d *dir) Mkdir(name string, perm fs.FileMode) error {
	return d.c.spoil("make folder", nil, func() error { return d.d.Mkdir(name, perm) })
}

// Move looks through the other folder's wrapper.
func (d *dir) Move(from string, to workspace.Dir, name string) error {
	if other, ok := to.(*dir); ok {
		to = other.d
	}
	return d.c.spoil("move", nil, func() error { return d.d.Move(from, to, name) })
}

func (d *dir) Symlink(text, name string) error {
	return d.c.spoil("link", nil, func() error { return d.d.Symlink(text, name) })
}

func (d *dir) SetModTime(name string, t time.Time) error {
	return d.c.spoil("set time", nil, func() error { return d.d.SetModTime(name, t) })
}
