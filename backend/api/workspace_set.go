package api

import (
	"context"

	"galley/backend/fault"
	"galley/backend/reviewed"
	"galley/backend/settings"
	"galley/backend/text"
)

// PreviewReplace finds what replacing every hit would change. CancelSearch with
// the search's id ends it. Faults: invalid_input, cancelled.
func (s *Workspace) PreviewReplace(req ReplaceRequest) (ReviewedSet, error) {
	return call(s.log, "preview replace", func() (ReviewedSet, error) {
		set, err := s.sets.Replace(s.ctx(), reviewed.Replacement{ID: req.Search.ID, Query: queryOf(req.Search), With: req.With})
		return reviewedSetOf(set), err
	})
}

// ApplySet applies the ticked edits: all of them or none. Faults: changed_on_disk, stale.
func (s *Workspace) ApplySet(req ApplySetRequest) (AppliedSet, error) {
	return call(s.log, "apply set", func() (AppliedSet, error) {
		if err := s.set.CheckPage(req.Page); err != nil {
			return appliedSetOf(reviewed.Applying{}), err
		}
		ticks := make([]reviewed.Ticks, 0, len(req.Ticked))
		for _, t := range req.Ticked {
			ticks = append(ticks, reviewed.Ticks(t))
		}
		done, err := s.sets.Apply(s.ctx(), req.ID, ticks)
		return appliedSetOf(done), err
	})
}

// UndoSet takes an applied set back: all of it or nothing. Faults:
// changed_on_disk, stale.
func (s *Workspace) UndoSet(page int64, id string) (AppliedSet, error) {
	return call(s.log, "undo set", func() (AppliedSet, error) {
		if err := s.set.CheckPage(page); err != nil {
			return appliedSetOf(reviewed.Applying{}), err
		}
		done, err := s.sets.Undo(s.ctx(), id)
		return appliedSetOf(done), err
	})
}

// DropSet ends a review that is not applied.
func (s *Workspace) DropSet(id string) error {
	return do(s.log, "drop set", func() error {
		s.sets.Drop(id)
		return nil
	})
}

// planMove makes the set of link changes that go with a move; it has no files
// where no link needs one.
func (s *Workspace) planMove(ctx context.Context, from, to string) (ReviewedSet, error) {
	set, err := s.sets.PlanMove(ctx, from, to)
	return reviewedSetOf(set), err
}

// newSets returns the manager of the sets under review.
func (b *Backend) newSets(home settings.Home) (*reviewed.Manager, error) {
	return reviewed.New(reviewed.Config{
		Grants: b.grants, Documents: b.set, Home: home.Dir, Log: b.log, Find: b.search.Run,
		Move: func(ctx context.Context, from, to string) error {
			_, err := b.move(ctx, from, to)
			return err
		},
	})
}

// recoverSets takes back what a program that died while applying a set left
// half made, now that a folder is open and before its documents are.
func (b *Backend) recoverSets(ctx context.Context) {
	r, err := b.sets.Recover(ctx)
	if err != nil && ctx.Err() == nil {
		b.log.Warn("reviewed sets not recovered", "code", fault.CodeOf(err))
	}
	if len(r.Left) > 0 {
		b.log.Warn("files of a set that was cut short stay as something else wrote them", "count", len(r.Left), "kept", len(r.Kept))
	}
}

func reviewedSetOf(s reviewed.Set) ReviewedSet {
	out := ReviewedSet{ID: s.ID, Kind: string(s.Kind), From: s.From, To: s.To, State: string(s.State), Files: make([]SetFile, 0, len(s.Files)), Cut: s.Cut}
	for _, f := range s.Files {
		file := SetFile{
			Path: f.Path, Name: f.Name, DocumentID: f.DocumentID, Version: f.Version,
			Edits: make([]SetEdit, 0, len(f.Edits)), Problem: string(f.Problem), Left: f.Left,
		}
		for _, e := range f.Edits {
			file.Edits = append(file.Edits, SetEdit{
				From: e.From, To: e.To, Insert: e.Insert, Old: e.Old, Line: e.Line, Before: e.Before, After: e.After,
			})
		}
		out.Files = append(out.Files, file)
	}
	return out
}

func appliedSetOf(a reviewed.Applying) AppliedSet {
	out := AppliedSet{Set: reviewedSetOf(a.Set), Documents: make([]DocumentEdits, 0, len(a.Documents))}
	for _, d := range a.Documents {
		out.Documents = append(out.Documents, DocumentEdits{ID: d.ID, Version: d.Version, Edits: append([]text.Edit{}, d.Edits...)})
	}
	return out
}
