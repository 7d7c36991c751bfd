package reviewed

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"galley/backend/fault"
	"galley/backend/search"
	"galley/backend/text"
)

// Replacement is what to replace everywhere.
type Replacement struct {
	// ID is that by which the search for it can be cancelled.
	ID    string
	Query search.Query
	// With replaces each match; with a regexp, $1 and ${name} stand for groups.
	With string
}

// Replace makes the set that replaces every match in the open workspace, the
// texts of open documents included as they stand. Faults: invalid_input for a
// query that is none, not_granted without a workspace, cancelled.
func (m *Manager) Replace(ctx context.Context, r Replacement) (Set, error) {
	matcher, err := search.Compile(r.Query)
	if err != nil {
		return Set{}, err
	}
	root, err := m.begin(ctx)
	if err != nil {
		return Set{}, err
	}
	with := strings.ReplaceAll(strings.ReplaceAll(r.With, "\r\n", "\n"), "\r", "\n")
	var paths []string
	sum, err := m.cfg.Find(ctx, r.ID, r.Query, func(found []search.File) {
		for _, f := range found {
			paths = append(paths, f.Path)
		}
	})
	if err != nil {
		return Set{}, err
	}
	open := m.openNow()
	files, err := each(ctx, paths, func(path string) *File {
		c, err := m.read(path, open)
		if err != nil {
			return nil
		}
		edits, _ := matcher.Edits(c.text, with, MaxEdits+1, snippetUnits)
		edits = slices.DeleteFunc(edits, func(e search.Edit) bool { return e.Insert == e.Old })
		if len(edits) == 0 {
			return nil
		}
		f := c.file(root)
		f.Edits = edits
		return &f
	})
	if err != nil {
		return Set{}, err
	}
	files, cut := limit(once(files))
	return m.add(&kept{root: root, Set: Set{
		Kind: Replace, From: r.Query.Text, To: with, Files: files, Cut: cut || sum.PastLimit > 0,
	}}), nil
}

// once keeps the first entry of each open document, which two paths may name.
func once(files []File) []File {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f File) bool {
		again := f.DocumentID != "" && seen[f.DocumentID]
		seen[f.DocumentID] = true
		return again
	})
}

// begin returns the open workspace after putting right what an earlier end left
// undone in it.
func (m *Manager) begin(ctx context.Context) (root string, err error) {
	root = m.cfg.Grants.Workspace()
	if root == "" {
		return "", fault.New(fault.NotGranted, "reviewed set", nil)
	}
	_, err = m.Recover(ctx)
	return root, err
}

// PlanMove makes the set of link changes that go with moving from to to: after
// it every link of every note in the workspace leads to what it leads to now. A
// set without files says that no link needs a change; it is not kept. Faults:
// not_granted without a workspace, outside_workspace, not_found, exists,
// cancelled.
func (m *Manager) PlanMove(ctx context.Context, from, to string) (Set, error) {
	const op = "plan move"
	from, to = filepath.Clean(from), filepath.Clean(to)
	root, err := m.begin(ctx)
	if err != nil {
		return Set{}, err
	}
	s, err := m.surveyOf(ctx, root)
	if err != nil {
		return Set{}, err
	}
	was, inFrom := relTo(root, from)
	is, inTo := relTo(root, to)
	switch {
	case !inFrom || was == ".":
		return Set{}, named(fault.OutsideWorkspace, op, from)
	case !inTo || is == ".":
		return Set{}, named(fault.OutsideWorkspace, op, to)
	}
	now := newTree(s.files, s.folders, m.fold, m.look(root))
	if _, _, there := now.at(was); !there {
		return Set{}, named(fault.NotFound, op, from)
	}
	if real, _, there := now.at(is); there && text.FoldName(real) != text.FoldName(was) {
		return Set{}, named(fault.Exists, op, to)
	}
	set := Set{Kind: Move, From: from, To: to, State: Open, Cut: s.cut}
	mv := move{was, is}
	if was == is || strings.HasPrefix(is, was+"/") {
		// The move itself says what is wrong with that.
		return set, nil
	}
	then := now.moved(mv)
	look := needles(now, mv)
	open := m.openNow()
	var paths []string
	for _, rel := range s.files {
		if isNote(rel) && !s.aside[rel] {
			paths = append(paths, s.abs(rel))
		}
	}
	files, err := each(ctx, paths, func(path string) *File { return m.relinked(root, path, open, now, then, mv, look) })
	if err != nil {
		return Set{}, err
	}
	if files = once(files); len(files) == 0 {
		return set, nil
	}
	var cut bool
	set.Files, cut = limit(files)
	set.Cut = set.Cut || cut
	return m.add(&kept{root: root, Set: set}), nil
}

// relinked makes the entry of one file; nil when nothing changes in it. A file
// that cannot be read has no links that anybody could follow.
func (m *Manager) relinked(root, path string, open openDocuments, now, then *tree, mv move, look []string) *File {
	rel, _ := relTo(root, path)
	c, err := m.read(path, open)
	if err != nil || !mv.moves(rel) && !mayLink(c.text, look) {
		return nil
	}
	changes := relink(now, then, mv, rel, c.text)
	if len(changes.edits) == 0 && changes.left == 0 {
		return nil
	}
	f := c.file(root)
	f.Left = changes.left
	ix := text.NewIndex(c.text)
	line, at := 1, 0
	for _, e := range changes.edits {
		// The ranges come from this very text.
		a, _ := ix.Byte(e.From)
		b, _ := ix.Byte(e.To)
		line += strings.Count(c.text[at:a], "\n")
		at = a
		shown := search.Edit{Edit: e, Old: c.text[a:b], Line: line}
		shown.Before, shown.After = around(c.text, a, b, snippetUnits)
		f.Edits = append(f.Edits, shown)
	}
	return &f
}
