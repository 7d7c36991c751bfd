package workspace

import (
	"io/fs"
	"path/filepath"
	"strings"

	"galley/backend/fault"
)

// Target is a permit to write one file, which may not exist yet.
type Target struct {
	place place
	calls Calls
}

// Path is the absolute path, as it was asked for.
func (t Target) Path() string { return t.place.path }

// spot is where a write goes: a name in an open folder, behind every link.
type spot struct {
	dir  Dir
	base string
	// folder is the path of dir for the journal; links may be on it.
	folder string
	// exists is false for a new file.
	exists bool
}

// settle finds the spot of t now. The caller closes spot.dir.
func (t Target) settle(op string) (spot, error) {
	var s spot
	err := t.place.folder.within(func(d Dir) (err error) {
		s, err = t.find(d)
		if err != nil || s.exists {
			return err
		}
		// A new file in a folder that was itself replaced belongs in the one
		// that stands there now.
		if next, moved := t.place.folder.successor(d); moved {
			letGo(s.dir)
			s, err = t.find(next)
		}
		return err
	})
	if err != nil {
		return spot{}, classify(op, t.place.path, err)
	}
	if !s.exists && reservedName(s.base) {
		letGo(s.dir)
		return spot{}, failure(fault.ReservedName, op, t.place.path, nil)
	}
	return s, nil
}

// find follows links inside root by their own text, since the file they lead
// to is to be replaced and not they.
func (t Target) find(root Dir) (spot, error) {
	rel := t.place.rel
	if rel == "." {
		return spot{}, errNoFile
	}
	for range maxLinks {
		info, err := root.Lstat(rel)
		if err != nil && !isGone(err) {
			return spot{}, err
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if t.place.exact {
				return spot{}, errLink
			}
			to, err := root.Readlink(rel)
			if err != nil {
				return spot{}, err
			}
			if filepath.IsAbs(to) {
				return spot{}, errLink
			}
			// Not cleaned: `..` behind a linked folder is for the system to
			// resolve, which os.Root watches.
			folder, _ := splitRel(rel)
			rel = folder + string(filepath.Separator) + filepath.FromSlash(to)
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			return spot{}, errNoFile
		}
		folder, base := splitRel(rel)
		dir, openErr := root.OpenDir(folder)
		if openErr != nil {
			return spot{}, openErr
		}
		return spot{
			dir:    dir,
			base:   base,
			folder: t.place.folder.at() + string(filepath.Separator) + folder,
			exists: err == nil,
		}, nil
	}
	return spot{}, errLink
}

// splitRel splits off the last name; the folder of a bare name is ".".
func splitRel(rel string) (folder, base string) {
	i := strings.LastIndexByte(rel, filepath.Separator)
	if i < 0 {
		return ".", rel
	}
	return rel[:i], rel[i+1:]
}
