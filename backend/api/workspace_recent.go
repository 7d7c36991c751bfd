package api

import (
	"path/filepath"

	"galley/backend/fault"
)

// Recent lists what was opened of late. Nothing is looked at on the disk.
func (s *Workspace) Recent() (Recent, error) {
	return call(s.log, "recent", func() (Recent, error) {
		files, folders := s.sessions.store.Recent()
		r := Recent{Files: make([]RecentFile, 0, len(files)), Workspaces: make([]WorkspaceInfo, 0, len(folders))}
		for _, f := range files {
			r.Files = append(r.Files, RecentFile{Path: f.Path, Name: filepath.Base(f.Path), AtMs: f.AtMs})
		}
		for _, f := range folders {
			r.Workspaces = append(r.Workspaces, workspaceOf(f.Path))
		}
		return r, nil
	})
}

// OpenRecent opens a folder that Recent lists; every other is not_granted.
func (s *Workspace) OpenRecent(path string) (WorkspaceInfo, error) {
	return call(s.log, "open recent folder", func() (WorkspaceInfo, error) {
		if !s.sessions.holdsFolder(path) {
			return WorkspaceInfo{}, fault.New(fault.NotGranted, "open recent folder", nil)
		}
		path, err := s.sessions.changeFolder(true, func() (string, error) { return s.gestures.storedFolder(path) })
		return workspaceOf(path), err
	})
}

// ForgetRecent empties the list of Recent, and drops the sessions of folders
// that are not open.
func (s *Workspace) ForgetRecent() error {
	return do(s.log, "forget recent", func() error {
		s.sessions.store.Forget(s.grants.Workspace())
		return nil
	})
}
