package api

import "galley/backend/fault"

// Create makes an empty file or a folder. Faults: exists, reserved_name.
func (s *Workspace) Create(req CreateRequest) (Entry, error) {
	return call(s.log, "Create", func() (Entry, error) { return Entry{}, fault.New(fault.Internal, "Create", nil) })
}

// Move renames or moves a file or folder. Where links of other files would break it answers with the set of their changes instead.
func (s *Workspace) Move(req MoveRequest) (MoveResult, error) {
	return call(s.log, "Move", func() (MoveResult, error) { return MoveResult{}, fault.New(fault.Internal, "Move", nil) })
}

// Duplicate copies a file or folder beside itself under a free name.
func (s *Workspace) Duplicate(path string) (Entry, error) {
	return call(s.log, "Duplicate", func() (Entry, error) { return Entry{}, fault.New(fault.Internal, "Duplicate", nil) })
}

// Trash moves a file or folder to the system's trash.
func (s *Workspace) Trash(path string) error {
	return do(s.log, "Trash", func() error { return fault.New(fault.Internal, "Trash", nil) })
}

// Reveal shows a file or folder in the system's file manager.
func (s *Workspace) Reveal(path string) error {
	return do(s.log, "Reveal", func() error { return fault.New(fault.Internal, "Reveal", nil) })
}
