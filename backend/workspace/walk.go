package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Level is an open folder of a walk: its entries are listed and its files read
// by their names alone, which costs a fraction of resolving a path for each.
// Nothing of it follows a link: what a link inside leads to is found where it
// is. It may be used by several goroutines until it is closed.
type Level struct {
	path string
	// dir is the folder where it is reached through the seam alone; else nil,
	// and quick is it.
	dir   Dir
	quick quick
}

// Item is one entry of a level: a regular file or a folder.
type Item struct {
	Name   string
	Folder bool
	// Ignored is that of [Entry].
	Ignored bool
}

// Walk opens the folder. Faults: not_granted after a Revoke,
// outside_workspace, not_found.
func (f Folder) Walk() (*Level, error) {
	var dir Dir
	err := f.place.folder.within(func(d Dir) (err error) {
		dir, err = d.OpenDir(f.place.rel)
		return err
	})
	if err != nil {
		return nil, classify("walk", f.place.path, err)
	}
	l := &Level{path: f.place.path, dir: dir}
	if q, ok := quicken(dir); ok {
		letGo(dir)
		l.quick, l.dir = q, nil
	}
	return l, nil
}

// Items returns the entries in no order. Links, devices, sockets, FIFOs and our
// own temporary files are left out. Faults are those of Walk.
func (l *Level) Items() ([]Item, error) {
	var found []fs.DirEntry
	var err error
	if l.dir == nil {
		found, err = l.quick.list()
	} else {
		found, err = l.dir.List()
	}
	if err != nil {
		return nil, classify("walk", l.path, err)
	}
	items := make([]Item, 0, len(found))
	for _, e := range found {
		if mode := e.Type(); (mode.IsRegular() || mode.IsDir()) && !isTemp(e.Name()) {
			items = append(items, Item{Name: e.Name(), Folder: mode.IsDir(), Ignored: ignoredName(e.Name())})
		}
	}
	return items, nil
}

// Open opens the folder name of the level. Faults are those of Walk.
func (l *Level) Open(name string) (*Level, error) {
	path := l.path + string(os.PathSeparator) + name
	if l.dir == nil {
		q, err := l.quick.open(name)
		if err != nil {
			return nil, classify("walk", path, err)
		}
		return &Level{path: path, quick: q}, nil
	}
	dir, err := stepInto(l.dir, name)
	if err != nil {
		return nil, classify("walk", path, err)
	}
	return &Level{path: path, dir: dir}, nil
}

// Read reads the file name of the level into buf, which grows where it must,
// and returns what was read. A file of more than limit bytes is refused as
// too_large. Where enough is not nil it is asked once, when a first part of a
// long file is there; on false Read returns that part. Faults besides: those
// of [File.Read].
func (l *Level) Read(name string, buf []byte, limit int64, enough func(part []byte) bool) ([]byte, error) {
	path := func() string { return l.path + string(os.PathSeparator) + name }
	h, size, err := l.openFile(name)
	if err != nil {
		return buf[:0], classify("read", path(), err)
	}
	defer letGo(h)
	if size > limit {
		return buf[:0], classify("read", path(), errTooLarge)
	}
	// One byte more than expected saves a second read just to see the end.
	if int64(cap(buf)) <= size {
		buf = make([]byte, 0, size+1)
	}
	buf = buf[:0]
	const first = 64 << 10
	for asked := enough == nil; ; {
		to := cap(buf)
		if !asked && to > first && size > first {
			to = first
		}
		n, err := h.Read(buf[len(buf):to])
		buf = buf[:len(buf)+max(n, 0)]
		switch {
		case int64(len(buf)) > limit:
			return buf, classify("read", path(), errTooLarge)
		case errors.Is(err, io.EOF), err == nil && n == 0, err == nil && int64(len(buf)) == size && len(buf) < to:
			return buf, nil
		case err != nil:
			return buf, classify("read", path(), err)
		}
		if !asked && len(buf) >= min(first, int(size)) {
			asked = true
			if !enough(buf) {
				return buf, nil
			}
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// Close lets the folder go.
func (l *Level) Close() {
	if l.dir == nil {
		l.quick.close()
		return
	}
	letGo(l.dir)
}

// reader is an open file of a level.
type reader interface {
	io.Reader
	Close() error
}

func (l *Level) openFile(name string) (reader, int64, error) {
	if l.dir == nil {
		return l.quick.openFile(name)
	}
	h, info, err := openFile(l.dir, name, os.O_RDONLY, true)
	if err != nil {
		return nil, 0, err
	}
	return h, info.Size(), nil
}

// Path is the folder's absolute path, under that of the [Folder] it came from.
func (l *Level) Path() string { return l.path }

// Ignored reports whether a tree sets an entry of this name aside; see [Entry].
func Ignored(name string) bool { return ignoredName(name) }

// CompareNames orders names as a listing does.
func CompareNames(a, b string) int { return compareNames(a, b) }
