package reviewed

import (
	"path"
	"strings"

	"galley/backend/text"
)

// tree is the names of a workspace at one moment, or as they will be after a
// move. Paths are relative to the workspace, with slashes; "" is the workspace.
type tree struct {
	// fold is true where the file system takes names for the same that differ
	// in case or composition only.
	fold bool
	// entries says of each path whether it is a folder.
	entries map[string]bool
	// folded names the paths of a folded path; nil unless fold.
	folded map[string][]string
	// names lists files by the folded form of their last name.
	names map[string][]string
	// look says what stands at a path that is not in entries, since the walk
	// leaves some folders out.
	look func(rel string) (folder, ok bool)
}

// newTree returns the tree of files and folders.
func newTree(files, folders []string, fold bool, look func(string) (bool, bool)) *tree {
	t := &tree{fold: fold, entries: make(map[string]bool, len(files)+len(folders)+1), names: make(map[string][]string, len(files)), look: look}
	t.entries[""] = true
	for _, f := range folders {
		t.entries[f] = true
	}
	for _, f := range files {
		t.entries[f] = false
		key := text.FoldName(path.Base(f))
		t.names[key] = append(t.names[key], f)
	}
	if fold {
		t.folded = make(map[string][]string, len(t.entries))
		for p := range t.entries {
			key := text.FoldName(p)
			t.folded[key] = append(t.folded[key], p)
		}
	}
	return t
}

// at returns the path that p names, as it is spelt on disk, and whether it is
// a folder.
func (t *tree) at(p string) (real string, folder, ok bool) {
	if folder, ok := t.entries[p]; ok {
		return p, folder, true
	}
	if same := t.folded[text.FoldName(p)]; len(same) == 1 {
		return same[0], t.entries[same[0]], true
	}
	if t.look != nil {
		folder, ok = t.look(p)
	}
	return p, folder, ok
}

// move is a change of names: from, a file or a folder, becomes to.
type move struct{ from, to string }

// after returns what p is called after the move.
func (m move) after(p string) string { return rebase(p, m.from, m.to) }

// before returns what p is called before the move.
func (m move) before(p string) string { return rebase(p, m.to, m.from) }

// moves reports whether p is moved.
func (m move) moves(p string) bool { return p == m.from || strings.HasPrefix(p, m.from+"/") }

func rebase(p, from, to string) string {
	if p == from {
		return to
	}
	if rest, ok := strings.CutPrefix(p, from+"/"); ok {
		return to + "/" + rest
	}
	return p
}

// moved returns the tree as it is after m.
func (t *tree) moved(m move) *tree {
	var files, folders []string
	for p, folder := range t.entries {
		switch {
		case p == "":
		case folder:
			folders = append(folders, m.after(p))
		default:
			files = append(files, m.after(p))
		}
	}
	var look func(string) (bool, bool)
	if t.look != nil {
		look = func(p string) (bool, bool) {
			// What is moved there was looked at where it still is; what moves
			// away is there no more.
			was := m.before(p)
			if was == p && m.moves(p) {
				return false, false
			}
			return t.look(was)
		}
	}
	return newTree(files, folders, t.fold, look)
}
