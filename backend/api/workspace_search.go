package api

import "galley/backend/fault"

// QuickOpen finds files by their path.
func (s *Workspace) QuickOpen(req QuickOpenRequest) (QuickOpenResult, error) {
	return call(s.log, "QuickOpen", func() (QuickOpenResult, error) { return QuickOpenResult{}, fault.New(fault.Internal, "QuickOpen", nil) })
}

// Search starts a search. A query that is no valid regexp is invalid_input.
func (s *Workspace) Search(req SearchRequest) error {
	return do(s.log, "Search", func() error { return fault.New(fault.Internal, "Search", nil) })
}

// CancelSearch ends the search with that id, or the making of a replacement's preview.
func (s *Workspace) CancelSearch(id string) error {
	return do(s.log, "CancelSearch", func() error { return fault.New(fault.Internal, "CancelSearch", nil) })
}
