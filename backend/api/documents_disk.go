package api

import "galley/backend/fault"

// OpenRecent opens a file that Workspace.Recent lists.
func (s *Documents) OpenRecent(path string) (Document, error) {
	return call(s.log, "OpenRecent", func() (Document, error) { return Document{}, fault.New(fault.Internal, "OpenRecent", nil) })
}

// ReportView keeps how the window's tabs stand for the next start.
func (s *Documents) ReportView(req ViewReport) error {
	return do(s.log, "ReportView", func() error { return fault.New(fault.Internal, "ReportView", nil) })
}
