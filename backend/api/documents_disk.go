package api

import "galley/backend/fault"

// Compare gives what a three-way compare needs.
func (s *Documents) Compare(page int64, id string) (Comparison, error) {
	return call(s.log, "Compare", func() (Comparison, error) { return Comparison{}, fault.New(fault.Internal, "Compare", nil) })
}

// History lists the kept versions of a document.
func (s *Documents) History(id string) (History, error) {
	return call(s.log, "History", func() (History, error) { return History{}, fault.New(fault.Internal, "History", nil) })
}

// OpenRecent opens a file that Workspace.Recent lists.
func (s *Documents) OpenRecent(path string) (Document, error) {
	return call(s.log, "OpenRecent", func() (Document, error) { return Document{}, fault.New(fault.Internal, "OpenRecent", nil) })
}

// ReportView keeps how the window's tabs stand for the next start.
func (s *Documents) ReportView(req ViewReport) error {
	return do(s.log, "ReportView", func() error { return fault.New(fault.Internal, "ReportView", nil) })
}
