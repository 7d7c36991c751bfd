package api

import "galley/backend/fault"

// PreviewReplace finds what replacing every hit would change.
func (s *Workspace) PreviewReplace(req ReplaceRequest) (ReviewedSet, error) {
	return call(s.log, "PreviewReplace", func() (ReviewedSet, error) { return ReviewedSet{}, fault.New(fault.Internal, "PreviewReplace", nil) })
}

// ApplySet applies the ticked edits: all of them or none. Faults: changed_on_disk, stale.
func (s *Workspace) ApplySet(req ApplySetRequest) (AppliedSet, error) {
	return call(s.log, "ApplySet", func() (AppliedSet, error) { return AppliedSet{}, fault.New(fault.Internal, "ApplySet", nil) })
}

// UndoSet takes an applied set back: all of it or nothing.
func (s *Workspace) UndoSet(page int64, id string) (AppliedSet, error) {
	return call(s.log, "UndoSet", func() (AppliedSet, error) { return AppliedSet{}, fault.New(fault.Internal, "UndoSet", nil) })
}

// DropSet ends a review that is not applied.
func (s *Workspace) DropSet(id string) error {
	return do(s.log, "DropSet", func() error { return fault.New(fault.Internal, "DropSet", nil) })
}
