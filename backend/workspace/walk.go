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
	// ignored is [Grants.Ignored].
	ignored func(name string) bool
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
	l := &Level{path: f.place.path, dir: dir, ignored: f.ignored}
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
			items = append(items, Item{Name: e.Name(), Folder: mode.IsDir(), Ignored: l.ignored(e.Name())})
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
		return &Level{path: path, quick: q, ignored: l.ignored}, nil
	}
	dir, err := stepInto(l.dir, name)
	if err != nil {
		return nil, classify("walk", path, err)
	}
	return &Level{path: path, dir: dir, ignored: l.ignored}, nil
}

// firstRead is how much of a file is read before its size is asked for, in
// bytes: most are smaller, and asking costs as much as reading.
const firstRead = 64 << 10

// Read reads the file name of the level into buf, which grows where it must,
// and returns what was read. A file of more than limit bytes is refused as
// too_large. Where enough is not nil it is asked once, when the first part of a
// long file is there; on false Read returns that part. Faults besides: those
// of [File.Read].
func (l *Level) Read(name string, buf []byte, limit int64, enough func(part []byte) bool) ([]byte, error) {
	if cap(buf) < firstRead {
		buf = make([]byte, 0, firstRead)
	}
	buf, err := l.read(name, buf[:0], limit, enough)
	if err != nil {
		return buf[:0], classify("read", l.path+string(os.PathSeparator)+name, err)
	}
	return buf, nil
}

func (l *Level) read(name string, buf []byte, limit int64, enough func(part []byte) bool) ([]byte, error) {
	h, err := l.openFile(name)
	if err != nil {
		return buf, err
	}
	defer letGo(h)
	n, err := h.Read(buf[:firstRead])
	buf = buf[:max(n, 0)]
	switch {
	case errors.Is(err, io.EOF):
		return buf, nil
	case err != nil:
		return buf, err
	case int64(n) > limit:
		return buf, errTooLarge
	case n < firstRead && l.whole():
		return buf, nil
	}
	size, err := h.size()
	switch {
	case err != nil:
		return buf, err
	case size > limit:
		return buf, errTooLarge
	case enough != nil && size > firstRead && !enough(buf):
		return buf, nil
	}
	// One byte more than expected saves a read just to see the end.
	if int64(cap(buf)) <= size {
		buf = append(make([]byte, 0, size+1), buf...)
	}
	for {
		n, err := h.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+max(n, 0)]
		switch {
		case int64(len(buf)) > limit:
			return buf, errTooLarge
		case errors.Is(err, io.EOF), err == nil && n == 0:
			return buf, nil
		case err != nil:
			return buf, err
		case len(buf) < cap(buf) && l.whole():
			return buf, nil
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// whole reports whether a read that gives less than was asked for has met the
// end of its file.
func (l *Level) whole() bool { return l.dir == nil && l.quick.whole }

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
	// size is in bytes; it fails for what is no regular file.
	size() (int64, error)
	Close() error
}

func (l *Level) openFile(name string) (reader, error) {
	if l.dir == nil {
		return l.quick.openFile(name)
	}
	h, info, err := openFile(l.dir, name, os.O_RDONLY, true)
	if err != nil {
		return nil, err
	}
	return sized{h, info.Size()}, nil
}

// sized is a file of the seam, which was looked at when it was opened.
type sized struct {
	Handle
	bytes int64
}

func (s sized) size() (int64, error) { return s.bytes, nil }

// Path is the folder's absolute path, under that of the [Folder] it came from.
func (l *Level) Path() string { return l.path }

// CompareNames orders names as a listing does.
func CompareNames(a, b string) int { return compareNames(a, b) }
