package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// anchor holds a granted folder open, so that what is reached through it does
// not change with what its path comes to mean. When the folder itself is gone
// and another stands in its place (a branch was switched, a folder restored),
// the anchor moves to that one, provided that no link is on the way.
type anchor struct {
	calls Calls

	// mu guards what follows. No file-system call is made while it is held.
	mu sync.Mutex
	// path is free of links.
	path   string
	dir    Dir
	closed bool
}

// openAnchor opens the folder at path, which is free of links.
func openAnchor(calls Calls, path string) (*anchor, error) {
	dir, err := calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &anchor{calls: calls, path: path, dir: dir}, nil
}

func (a *anchor) close() {
	a.mu.Lock()
	dir := a.dir
	a.closed = true
	a.mu.Unlock()
	letGo(dir)
}

func (a *anchor) current() Dir {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dir
}

// at is the folder's path.
func (a *anchor) at() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.path
}

// rebase follows a move of the folder or of one above it from from to to.
func (a *anchor) rebase(from, to string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.path, _ = rebase(a.path, from, to)
}

// within calls do with the folder, and once more with its successor when do
// found nothing and another folder now stands at the path.
func (a *anchor) within(do func(Dir) error) error {
	dir := a.current()
	err := do(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, moved := a.successor(dir)
	if !moved {
		return err
	}
	return do(next)
}

// successor opens what stands at the anchor's path now and adopts it when it
// is another folder than dir.
func (a *anchor) successor(dir Dir) (Dir, bool) {
	next, err := openWithoutLinks(a.calls, a.at())
	if err != nil {
		return nil, false
	}
	was, errWas := dir.Stat(".")
	is, errIs := next.Stat(".")
	if errIs != nil || (errWas == nil && os.SameFile(was, is)) {
		letGo(next)
		return nil, false
	}
	a.mu.Lock()
	adopt := !a.closed && a.dir == dir
	if adopt {
		a.dir = next
	}
	a.mu.Unlock()
	if !adopt {
		letGo(next)
		return nil, false
	}
	letGo(dir)
	return next, true
}

// openWithoutLinks opens the folder at path one step at a time and refuses a
// link at any of them, whenever it appears. A folder on the way that cannot be
// opened makes it fail.
func openWithoutLinks(calls Calls, path string) (Dir, error) {
	volume := filepath.VolumeName(path)
	dir, err := calls.OpenDir(volume + string(filepath.Separator))
	if err != nil {
		return nil, err
	}
	rest := strings.Trim(path[len(volume):], string(filepath.Separator))
	if rest == "" {
		return dir, nil
	}
	for step := range strings.SplitSeq(rest, string(filepath.Separator)) {
		next, err := stepInto(dir, step)
		letGo(dir)
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

func stepInto(dir Dir, name string) (Dir, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, errLink
	}
	next, err := dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err != nil {
		letGo(next)
		return nil, err
	}
	if !os.SameFile(before, after) {
		letGo(next)
		return nil, errLink
	}
	return next, nil
}
