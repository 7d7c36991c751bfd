package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"galley/backend/fault"
)

const (
	// maxDepth is how many folders inside each other are copied.
	maxDepth = 200
	// maxName is the longest name that usual file systems take, in bytes.
	maxName = 255
	// maxCopies is how many names of a duplicate are tried.
	maxCopies = 10_000
	// copyMark in a temporary name says that it holds a copy and nothing else,
	// so that a later start may remove it.
	copyMark = "copy-"
	// copyAge is how old a copy under a temporary name must be before it goes:
	// on a shared disk its owner may live on another machine.
	copyAge = time.Hour
)

// Duplicate copies a file or folder beside itself under the first free name of
// "Notes copy.md", "Notes copy 2.md" … and returns it. Mode, and owner and
// attributes as far as the system allows, are kept. Of a link to a file or
// folder inside of what is granted the file or folder is copied; links inside
// of a folder are copied as links; devices, sockets and FIFOs are left out. It
// appears when it is whole.
//
// Faults: those of Move; too_large for more than 200 folders inside each other.
func (g *Grants) Duplicate(ctx context.Context, path string) (Entry, error) {
	const op = "duplicate"
	t, err := g.standing(op, path)
	if err != nil {
		return Entry{}, err
	}
	defer letGo(t.dir)
	sweepCopies(t.dir)
	c := copier{ctx: ctx, follow: true}
	temp := copyTemp()
	var info fs.FileInfo
	// From the granted folder, since a link may lead to another one in it.
	err = t.place.folder.within(func(root Dir) (err error) {
		info, err = c.entry(root, t.place.rel, t.dir, temp)
		return err
	})
	if err != nil {
		removeTree(t.dir, temp)
		return Entry{}, changeFault(op, t.place.path, err)
	}
	name, err := release(t.dir, temp, func(n int) string { return copyName(t.base, info.IsDir(), n) })
	if err != nil {
		removeTree(t.dir, temp)
		return Entry{}, changeFault(op, t.place.path, err)
	}
	settled(t.dir)
	return g.entry(filepath.Join(filepath.Dir(t.place.path), name), info.IsDir()), nil
}

// release gives the temporary entry the first of the names that is free.
func release(d Dir, temp string, name func(n int) string) (string, error) {
	info, err := d.Lstat(temp)
	if err != nil {
		return "", err
	}
	for n := 1; n <= maxCopies; n++ {
		to := name(n)
		if reservedName(to) {
			return "", fault.New(fault.ReservedName, "name a copy", nil)
		}
		if err = moveTo(d, temp, info, d, to); !errors.Is(err, fs.ErrExist) {
			return to, err
		}
	}
	return "", err
}

// copyName is the n-th name of a copy of base, from 1. A copy of a copy counts
// on.
func copyName(base string, folder bool, n int) string {
	ext := ""
	if !folder && strings.TrimLeft(base, ".") != "" {
		ext = filepath.Ext(base)
	}
	stem := strings.TrimSuffix(base, ext)
	if stem == "" { // ".env" has no extension
		stem, ext = base, ""
	}
	if head, tail, ok := cutLast(stem, " copy"); ok && head != "" {
		if tail == "" {
			stem = head
			n++
		} else if m, err := strconv.Atoi(strings.TrimPrefix(tail, " ")); err == nil && m > 1 && m < maxCopies {
			stem = head
			n += m
		}
	}
	mark := " copy"
	if n > 1 {
		mark += " " + strconv.Itoa(n)
	}
	for len(stem)+len(mark)+len(ext) > maxName && stem != "" {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return stem + mark + ext
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// carry moves src to dst by copying it and then removing it. The new name
// appears when all of it is durable; only what is still as it was copied is
// removed.
func (g *Grants) carry(ctx context.Context, op string, src, dst twig) error {
	sweepCopies(dst.dir)
	c := copier{ctx: ctx, whole: true, seen: map[string]fs.FileInfo{}}
	temp := copyTemp()
	_, err := c.entry(src.dir, src.base, dst.dir, temp)
	if err == nil {
		err = c.unchanged(src.dir, src.base)
	}
	if err == nil {
		_, err = release(dst.dir, temp, func(int) string { return dst.base })
	}
	if err != nil {
		removeTree(dst.dir, temp)
		if errors.Is(err, fs.ErrExist) {
			return failure(fault.Exists, op, dst.place.path, err)
		}
		if isDiskFull(err) {
			return failure(fault.DiskFull, op, filepath.Dir(dst.place.path), err)
		}
		return changeFault(op, src.place.path, err)
	}
	if err := dst.dir.Sync(); err != nil {
		// Not known to last, so the old one stays, and alone.
		if info, look := dst.dir.Lstat(dst.base); look == nil && moveTo(dst.dir, dst.base, info, dst.dir, temp) == nil {
			removeTree(dst.dir, temp)
		}
		return changeFault(op, dst.place.path, err)
	}
	c.remove(src.dir, src.base, "")
	settled(src.dir)
	return nil
}

// copier copies one entry and all inside.
type copier struct {
	ctx context.Context
	// follow copies what the first link leads to.
	follow bool
	// whole refuses what cannot be copied, and keeps times.
	whole bool
	// seen, when set, holds what was copied, by its path below the entry.
	seen  map[string]fs.FileInfo
	depth int
	buf   []byte
}

// entry copies name in from to as in to, which must not be there, and returns
// what it was. What was made before a failure stays.
func (c *copier) entry(from Dir, name string, to Dir, as string) (fs.FileInfo, error) {
	return c.copy(from, name, to, as, "")
}

func (c *copier) copy(from Dir, name string, to Dir, as, below string) (fs.FileInfo, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	look := from.Lstat
	if c.follow && below == "" {
		look = from.Stat
	}
	info, err := look(name)
	if err != nil {
		return nil, err
	}
	if c.seen != nil {
		c.seen[below] = info
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		err = c.file(from, name, to, as, !c.follow || below != "")
	case mode.IsDir():
		err = c.folder(from, name, to, as, below, info)
	case mode&fs.ModeSymlink != 0:
		var text string
		if text, err = from.Readlink(name); err == nil {
			err = to.Symlink(text, as)
		}
	case c.whole || below == "":
		err = errNoFile
	}
	return info, err
}

func (c *copier) file(from Dir, name string, to Dir, as string, exact bool) error {
	in, info, err := openFile(from, name, os.O_RDONLY, exact)
	if err != nil {
		return err
	}
	defer letGo(in)
	out, err := to.Open(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.bytes(out, in)
	if err == nil {
		err = copyBelongings(out, in, info)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil && c.whole {
		err = to.SetModTime(as, info.ModTime())
	}
	return err
}

func (c *copier) bytes(to, from Handle) error {
	if c.buf == nil {
		c.buf = make([]byte, 256<<10)
	}
	for at := int64(0); ; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(c.buf)
		if n > 0 {
			if _, err := to.WriteAt(c.buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) folder(from Dir, name string, to Dir, as, below string, info fs.FileInfo) error {
	if c.depth == maxDepth {
		return errTooLarge
	}
	c.depth++
	defer func() { c.depth-- }()
	in, err := from.OpenDir(name)
	if err != nil {
		return err
	}
	defer letGo(in)
	if now, err := in.Stat("."); err != nil || !os.SameFile(now, info) {
		return errors.Join(errLink, err)
	}
	if err := to.Mkdir(as, 0o700); err != nil {
		return err
	}
	out, err := stepInto(to, as)
	if err != nil {
		return err
	}
	defer letGo(out)
	found, err := in.List()
	if err != nil {
		return err
	}
	for _, e := range found {
		if isTemp(e.Name()) {
			continue // half a save of somebody's
		}
		if _, err := c.copy(in, e.Name(), out, e.Name(), filepath.Join(below, e.Name())); err != nil {
			return err
		}
	}
	if err := likeFolder(out, in, info); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if c.whole {
		return to.SetModTime(as, info.ModTime())
	}
	return nil
}

// likeFolder gives a new folder the mode, owner and attributes of another.
func likeFolder(to, from Dir, info fs.FileInfo) error {
	in, err := from.Open(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer letGo(in)
	out, err := to.Open(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(copyBelongings(out, in, info), out.Close())
}

// unchanged fails when the entry is not what was copied any more.
func (c *copier) unchanged(from Dir, name string) error {
	n := 0
	var walk func(d Dir, name, below string) error
	walk = func(d Dir, name, below string) error {
		info, err := d.Lstat(name)
		if err != nil {
			return err
		}
		if !sameState(c.seen[below], info) {
			return fault.New(fault.ChangedOnDisk, "copy", nil)
		}
		n++
		if !info.IsDir() {
			return nil
		}
		in, err := stepInto(d, name)
		if err != nil {
			return err
		}
		defer letGo(in)
		found, err := in.List()
		if err != nil {
			return err
		}
		for _, e := range found {
			if isTemp(e.Name()) {
				// Somebody is saving, or the last one who did died there.
				return fault.New(fault.Busy, "copy", nil)
			}
			if err := walk(in, e.Name(), filepath.Join(below, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(from, name, ""); err != nil {
		return err
	}
	if n != len(c.seen) {
		return fault.New(fault.ChangedOnDisk, "copy", nil)
	}
	return nil
}

// sameState reports whether an entry looks as it did. A folder's own size and
// time follow its entries, which are looked at themselves.
func sameState(was, is fs.FileInfo) bool {
	return was != nil && os.SameFile(was, is) && was.Mode() == is.Mode() &&
		(is.IsDir() || was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()))
}

// remove takes away what was copied and is as it was; what is not stays, with
// the folders above it.
func (c *copier) remove(from Dir, name, below string) {
	info, err := from.Lstat(name)
	if err != nil || !sameState(c.seen[below], info) {
		return
	}
	if info.IsDir() {
		in, err := stepInto(from, name)
		if err != nil {
			return
		}
		found, err := in.List()
		if err == nil {
			for _, e := range found {
				c.remove(in, e.Name(), filepath.Join(below, e.Name()))
			}
		}
		letGo(in)
	}
	_ = from.Remove(name) // a folder that holds something is refused by the system
}

// removeTree takes a temporary entry of ours away, as far as it can.
func removeTree(d Dir, name string) {
	info, err := d.Lstat(name)
	if err != nil {
		return
	}
	if info.IsDir() {
		in, err := stepInto(d, name)
		if err != nil {
			return
		}
		if h, err := in.Open(".", os.O_RDONLY, 0); err == nil {
			_ = h.Chmod(0o700) // it may have got a mode that lets nothing be removed
			letGo(h)
		}
		found, err := in.List()
		if err == nil {
			for _, e := range found {
				removeTree(in, e.Name())
			}
		}
		letGo(in)
	}
	_ = d.Remove(name)
}

// copyTemp is a temporary name for a copy.
func copyTemp() string {
	return fmt.Sprintf("%s%d-%s%s%s", tempPrefix, os.Getpid(), copyMark, rand.Text(), tempSuffix)
}

// sweepCopies removes the copies that processes which died left unfinished in
// a folder. Their originals are whole.
func sweepCopies(d Dir) {
	found, err := d.List()
	if err != nil {
		return
	}
	for _, e := range found {
		pid, ours := tempOwner(e.Name())
		if !ours || !strings.Contains(e.Name(), "-"+copyMark) || pid == os.Getpid() || alive(pid) {
			continue
		}
		if info, err := d.Lstat(e.Name()); err == nil && time.Since(info.ModTime()) > copyAge {
			removeTree(d, e.Name())
		}
	}
}
