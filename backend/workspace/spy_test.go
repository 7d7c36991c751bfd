package workspace_test

import (
	"io/fs"

	"galley/backend/workspace"
)

// spyCalls lets a test act just before a file is made durable, that is, after
// the comparison and before the rename.
type spyCalls struct {
	workspace.Calls
	beforeSync func()
}

func (s *spyCalls) OpenDir(path string) (workspace.Dir, error) {
	d, err := s.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return spyDir{d, s}, nil
}

type spyDir struct {
	workspace.Dir
	s *spyCalls
}

func (d spyDir) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return spyDir{in, d.s}, nil
}

func (d spyDir) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	h, err := d.Dir.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return spyHandle{h, d.s}, nil
}

type spyHandle struct {
	workspace.Handle
	s *spyCalls
}

func (h spyHandle) Sync() error {
	if h.s.beforeSync != nil {
		h.s.beforeSync()
	}
	return h.Handle.Sync()
}
