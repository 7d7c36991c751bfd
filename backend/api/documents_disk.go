package api

import (
	"galley/backend/fault"
)

// OpenRecent opens a file that Workspace.Recent lists; every other is
// not_granted.
func (s *Documents) OpenRecent(path string) (Document, error) {
	return call(s.log, "open recent", func() (Document, error) {
		if !s.sessions.holdsFile(path) {
			return Document{}, fault.New(fault.NotGranted, "open recent", nil)
		}
		if err := s.gestures.storedFile(path); err != nil {
			return Document{}, err
		}
		info, err := s.set.Open(s.ctx(), path)
		s.sessions.opened(info.Path)
		return documentOf(info), err
	})
}

// ReportView keeps how the window's tabs stand for the next start.
func (s *Documents) ReportView(req ViewReport) error {
	return do(s.log, "report view", func() error { return s.sessions.report(req) })
}
