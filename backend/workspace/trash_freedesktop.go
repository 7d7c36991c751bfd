//go:build unix && !darwin

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The parts of a trash folder, after the Trash specification 1.0 of
// freedesktop.org.
const (
	trashFiles = "files"
	trashInfo  = "info"
	infoExt    = ".trashinfo"
)

// bin is an open trash folder.
type bin struct {
	files, info Dir
	// top is the folder that paths in it are relative to; "" for absolute ones.
	top string
}

func (b bin) close() {
	letGo(b.files)
	letGo(b.info)
}

// discard moves an entry to the home trash when that is on the same device,
// else to the one of its own device.
func (g *Grants) discard(_ context.Context, t twig) error {
	folder, err := t.realFolder(g.calls)
	if err != nil {
		return err
	}
	here, err := t.dir.Stat(".")
	if err != nil {
		return err
	}
	b, err := g.binFor(folder, here)
	if err != nil {
		return err
	}
	defer b.close()
	path := filepath.Join(folder, t.base)
	if b.top != "" {
		if path, err = filepath.Rel(b.top, path); err != nil {
			return errors.Join(errNoTrash, err)
		}
	}
	return b.take(t, path, time.Now())
}

// take moves the entry into the bin: what says where it came from is written
// first, under a name that is free in both of its folders, and stays only
// when the entry is there.
func (b bin) take(t twig, path string, now time.Time) error {
	text := "[Trash Info]\nPath=" + (&url.URL{Path: path}).EscapedPath() + "\nDeletionDate=" + now.Format("2006-01-02T15:04:05") + "\n"
	var err error
	for n := 1; n <= maxCopies; n++ {
		name := binName(t.base, n)
		var h Handle
		h, err = b.info.Open(name+infoExt, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = h.WriteAt([]byte(text), 0)
		if err == nil {
			err = h.Sync()
		}
		err = errors.Join(err, h.Close())
		if err == nil {
			err = b.info.Sync()
		}
		if err == nil {
			err = moveTo(t.dir, t.base, t.info, b.files, name)
		}
		if err == nil {
			settled(b.files, t.dir)
			return nil
		}
		// Only while it is certain that it speaks of nothing in the bin.
		if _, look := t.dir.Lstat(t.base); look == nil {
			_ = b.info.Remove(name + infoExt)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}

// binName is the n-th name that is tried in a bin, from 1.
func binName(base string, n int) string {
	ext := filepath.Ext(base)
	if len(ext) > 32 {
		ext = ""
	}
	stem, mark := strings.TrimSuffix(base, ext), ""
	if n > 1 {
		mark = "." + strconv.Itoa(n)
	}
	for len(stem)+len(mark)+len(ext)+len(infoExt) > maxName && stem != "" {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return stem + mark + ext
}

// binFor opens the bin for what lies in folder, which is free of links.
func (g *Grants) binFor(folder string, here fs.FileInfo) (bin, error) {
	home, err := homeTrash()
	if err == nil {
		b, err := g.homeBin(home, here)
		if err == nil || !errors.Is(err, errNoTrash) {
			return b, err
		}
	}
	top, err := g.topOf(folder, here)
	if err != nil {
		return bin{}, err
	}
	dir, err := g.calls.OpenDir(top)
	if err != nil {
		return bin{}, err
	}
	defer letGo(dir)
	uid := strconv.Itoa(os.Getuid())
	if b, err := sharedBin(dir, uid, here); err == nil {
		b.top = top
		return b, nil
	}
	b, err := ownBin(dir, ".Trash-"+uid, here)
	if err != nil {
		return bin{}, errors.Join(errNoTrash, err)
	}
	b.top = top
	return b, nil
}

// homeTrash is the person's own trash folder.
func homeTrash() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "Trash"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share", "Trash"), nil
}

// homeBin opens the home trash, made when it is missing; errNoTrash when it is
// on another device.
func (g *Grants) homeBin(home string, here fs.FileInfo) (bin, error) {
	for _, part := range []string{trashFiles, trashInfo} {
		if err := g.calls.MkdirAll(filepath.Join(home, part), 0o700); err != nil {
			return bin{}, errors.Join(errNoTrash, err)
		}
	}
	dir, err := g.calls.OpenDir(home)
	if err != nil {
		return bin{}, errors.Join(errNoTrash, err)
	}
	defer letGo(dir)
	return partsOf(dir, here)
}

// topOf is the folder under which the device of folder is mounted.
func (g *Grants) topOf(folder string, here fs.FileInfo) (string, error) {
	for {
		up := filepath.Dir(folder)
		if up == folder {
			return folder, nil
		}
		info, err := g.calls.Lstat(up)
		if err != nil {
			return "", errors.Join(errNoTrash, err)
		}
		if !sameDevice(info, here) {
			return folder, nil
		}
		folder = up
	}
}

// sharedBin opens the person's folder in a .Trash that an administrator made:
// no link, and with the sticky bit, or else it must not be used.
func sharedBin(top Dir, uid string, here fs.FileInfo) (bin, error) {
	info, err := top.Lstat(".Trash")
	if err != nil {
		return bin{}, err
	}
	if !info.IsDir() || info.Mode()&fs.ModeSticky == 0 {
		return bin{}, errNoTrash
	}
	shared, err := stepInto(top, ".Trash")
	if err != nil {
		return bin{}, err
	}
	defer letGo(shared)
	return ownBin(shared, uid, here)
}

// ownBin opens, or makes, a trash folder of this user named name.
func ownBin(in Dir, name string, here fs.FileInfo) (bin, error) {
	dir, err := ownFolder(in, name)
	if err != nil {
		return bin{}, err
	}
	defer letGo(dir)
	for _, part := range []string{trashFiles, trashInfo} {
		made, err := ownFolder(dir, part)
		if err != nil {
			return bin{}, err
		}
		letGo(made)
	}
	return partsOf(dir, here)
}

// ownFolder opens, or makes, a folder that must be this user's and no link.
func ownFolder(in Dir, name string) (Dir, error) {
	if err := in.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if uid, _, ok := ownerOf(info); ok && uid != os.Getuid() {
		return nil, errNoTrash
	}
	return stepInto(in, name)
}

// partsOf opens the two folders of a trash folder on the device of here.
func partsOf(dir Dir, here fs.FileInfo) (bin, error) {
	info, err := dir.Stat(".")
	if err != nil {
		return bin{}, errors.Join(errNoTrash, err)
	}
	if !sameDevice(info, here) {
		return bin{}, errNoTrash
	}
	files, err := stepInto(dir, trashFiles)
	if err != nil {
		return bin{}, errors.Join(errNoTrash, err)
	}
	parts, err := stepInto(dir, trashInfo)
	if err != nil {
		letGo(files)
		return bin{}, errors.Join(errNoTrash, err)
	}
	return bin{files: files, info: parts}, nil
}

func sameDevice(a, b fs.FileInfo) bool {
	return identityOfInfo(a).Volume == identityOfInfo(b).Volume
}
