package reviewed

import (
	"context"
	"path/filepath"
	"runtime"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/markdown"
	"galley/backend/workspace"
)

// LinkQuery says which links are counted.
type LinkQuery struct {
	// Grants says which files may be reached, Documents are the open ones, whose
	// texts stand in for their files. Required.
	Grants    *workspace.Grants
	Documents *document.Set
	// Root is the absolute path of the workspace, Path that of a file in it.
	Root, Path string
}

// CountLinks counts the links in the notes of a workspace, those of the file
// itself too, that lead to one file. It has no effect. cut is true when there
// were more files than are looked at, and when ctx ended before all were.
// Faults: those of listing the workspace; outside_workspace.
func CountLinks(ctx context.Context, q LinkQuery) (links int, cut bool, err error) {
	m := &Manager{
		cfg:  Config{Grants: q.Grants, Documents: q.Documents},
		fold: runtime.GOOS == "windows" || runtime.GOOS == "darwin",
	}
	root := filepath.Clean(q.Root)
	to, ok := relTo(root, filepath.Clean(q.Path))
	if !ok {
		return 0, false, named(fault.OutsideWorkspace, "count links", q.Path)
	}
	s, err := m.surveyOf(ctx, root)
	if err != nil {
		return 0, false, err
	}
	now := newTree(s.files, s.folders, m.fold, m.look(root))
	if real, _, there := now.at(to); there {
		to = real
	}
	look := []string{stem(to)}
	open := m.openNow()
	for _, rel := range s.files {
		if ctx.Err() != nil {
			return links, true, nil
		}
		if !isNote(rel) || s.aside[rel] {
			continue
		}
		// A file that cannot be read has no links that anybody could follow.
		c, err := m.read(s.abs(rel), open)
		if err != nil || !mayLink(c.text, look) {
			continue
		}
		for _, l := range markdown.Links(c.text) {
			if found, ok := now.resolve(rel, l); ok && found == to {
				links++
			}
		}
	}
	return links, s.cut, nil
}
