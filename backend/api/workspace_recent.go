package api

import "galley/backend/fault"

// Recent lists what was opened of late.
func (s *Workspace) Recent() (Recent, error) {
	return call(s.log, "Recent", func() (Recent, error) { return Recent{}, fault.New(fault.Internal, "Recent", nil) })
}

// OpenRecent opens a folder that Recent lists.
func (s *Workspace) OpenRecent(path string) (WorkspaceInfo, error) {
	return call(s.log, "OpenRecent", func() (WorkspaceInfo, error) { return WorkspaceInfo{}, fault.New(fault.Internal, "OpenRecent", nil) })
}

// ForgetRecent empties the list of Recent.
func (s *Workspace) ForgetRecent() error {
	return do(s.log, "ForgetRecent", func() error { return fault.New(fault.Internal, "ForgetRecent", nil) })
}
