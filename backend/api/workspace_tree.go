package api

import (
	"path/filepath"

	"galley/backend/reviewed"
	"galley/backend/workspace"
)

// Create makes an empty file or a folder. Faults: exists, reserved_name,
// read_only, disk_full, not_found for its folder.
func (s *Workspace) Create(req CreateRequest) (Entry, error) {
	return call(s.log, "create", func() (Entry, error) {
		made, err := s.grants.Create(req.Folder, req.Name, req.IsFolder)
		if err != nil {
			return Entry{}, err
		}
		s.told(made.Path)
		return Entry(made), nil
	})
}

// Move renames or moves a file or folder. Where links of other files would
// break it answers with the set of their changes instead. Faults: exists,
// reserved_name, invalid_input for a folder that should move into itself,
// changed_on_disk, read_only, disk_full, busy, not_found.
func (s *Workspace) Move(req MoveRequest) (MoveResult, error) {
	return call(s.log, "move", func() (MoveResult, error) {
		kept := MoveResult{Set: reviewedSetOf(reviewed.Set{})}
		if err := s.grants.CheckMove(req.From, req.To); err != nil {
			return kept, err
		}
		if !req.KeepLinks {
			set, err := s.planMove(s.ctx(), req.From, req.To)
			if err != nil {
				return kept, err
			}
			if len(set.Files) > 0 {
				return MoveResult{Set: set}, nil
			}
		}
		moved, err := s.move(s.ctx(), req.From, req.To)
		if err != nil {
			return kept, err
		}
		return MoveResult{Moved: true, Entry: Entry(moved), Set: kept.Set}, nil
	})
}

// Duplicate copies a file or folder beside itself under a free name. Faults:
// read_only, disk_full, too_large for folders too deep, not_found.
func (s *Workspace) Duplicate(path string) (Entry, error) {
	return call(s.log, "duplicate", func() (Entry, error) {
		made, err := s.grants.Duplicate(s.ctx(), path)
		if err != nil {
			return Entry{}, err
		}
		s.told(made.Path)
		return Entry(made), nil
	})
}

// Trash moves a file or folder to the system's trash. read_only says that there
// is none for its disk, or that its folder lets nothing go; nothing is deleted.
func (s *Workspace) Trash(path string) error {
	return do(s.log, "trash", func() error {
		if err := s.grants.Trash(s.ctx(), path); err != nil {
			return err
		}
		s.told(path)
		return nil
	})
}

// Reveal shows a file or folder in the system's file manager.
func (s *Workspace) Reveal(path string) error {
	return do(s.log, "reveal", func() error { return s.grants.Reveal(s.ctx(), path) })
}

// Refresh looks at everything again: the page asks for it when the window comes
// back to the front, since what the system tells of changes can be lost. It
// does not wait; what is new comes as workspace.changed and
// document.disk_changed.
func (s *Workspace) Refresh() error {
	return do(s.log, "refresh", func() error {
		s.watcher.Refresh()
		return nil
	})
}

// told passes on what this program itself changed, without waiting for the
// system to tell of it.
func (s *Workspace) told(paths ...string) {
	c := workspace.Changes{Folders: []string{}, Files: paths}
	for _, p := range paths {
		c.Folders = append(c.Folders, filepath.Dir(p))
	}
	s.changed(c)
}
