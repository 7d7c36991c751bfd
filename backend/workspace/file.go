package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// File is a permit to read one file.
type File struct{ place place }

// Stat is what is known of a file on disk. Hash decides whether a file
// changed; the others only tell where to look. The zero value stands for a
// file that does not exist.
type Stat struct {
	// Size is in bytes.
	Size int64
	// ModTimeNs is nanoseconds since 1970.
	ModTimeNs int64
	// ChangeTimeNs is nanoseconds since 1970 of the last change of any kind,
	// which a program that puts ModTimeNs back cannot put back; 0 where the
	// system has none.
	ChangeTimeNs int64
	// Inode is 0 where the system has none.
	Inode uint64
	// Hash is the lower-case hex SHA-256 of the bytes; "" when they were not
	// read.
	Hash string
	Mode fs.FileMode
}

// Path is the absolute path, as it was asked for.
func (f File) Path() string { return f.place.path }

// Read returns the file's bytes and what is known of it. A file of more than
// limit bytes is refused as too_large. Faults besides: not_granted after a
// Revoke, outside_workspace, not_found, not_a_file.
func (f File) Read(limit int64) ([]byte, Stat, error) {
	const op = "read"
	h, info, err := f.open(op)
	if err != nil {
		return nil, Stat{}, err
	}
	defer letGo(h)
	data, err := readAll(h, info, limit)
	if err != nil {
		return nil, Stat{}, classify(op, f.place.path, err)
	}
	st := statOf(info)
	st.Size = int64(len(data))
	st.Hash = hashOf(data)
	return data, st, nil
}

// Stat describes the file without reading it; Hash is empty. Faults are those
// of Read.
func (f File) Stat() (Stat, error) {
	h, info, err := f.open("stat")
	if err != nil {
		return Stat{}, err
	}
	letGo(h)
	return statOf(info), nil
}

// Identity tells whether two paths are one file: equal identities are. Faults
// are those of Read.
func (f File) Identity() (Identity, error) {
	h, _, err := f.open("identify")
	if err != nil {
		return Identity{}, err
	}
	defer letGo(h)
	id, err := h.Identity()
	return id, classify("identify", f.place.path, err)
}

// open opens the file for reading and makes sure that it is one.
func (f File) open(op string) (h Handle, info fs.FileInfo, err error) {
	err = f.place.folder.within(func(d Dir) error {
		h, info, err = openFile(d, f.place.rel, os.O_RDONLY, f.place.exact)
		return err
	})
	return h, info, classify(op, f.place.path, err)
}

// openFile opens the regular file name in d with flag. It looks before it
// opens, since opening a device can do things, and again afterwards, since it
// may have been exchanged. With exact, a link is refused even where it stays
// inside; a file that another program put there between the two looks is
// looked at anew.
func openFile(d Dir, name string, flag int, exact bool) (Handle, fs.FileInfo, error) {
	for turn := 1; ; turn++ {
		h, info, err := openSeen(d, name, flag, exact)
		if !errors.Is(err, errExchanged) || turn == maxTurns {
			return h, info, err
		}
	}
}

// errExchanged says that what was opened is not what was looked at. To who
// gives up it is a link, since nothing else is known of it.
var errExchanged = fmt.Errorf("it was exchanged: %w", errLink)

// openSeen is one try of openFile.
func openSeen(d Dir, name string, flag int, exact bool) (Handle, fs.FileInfo, error) {
	look := d.Stat
	if exact {
		look = d.Lstat
	}
	before, err := look(name)
	if err != nil {
		return nil, nil, err
	}
	if exact && before.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, errLink
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errNoFile
	}
	h, err := d.Open(name, flag|openQuietly, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := h.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err == nil && exact && !os.SameFile(before, info) {
		err = errExchanged
	}
	if err != nil {
		letGo(h)
		return nil, nil, err
	}
	return h, info, nil
}

// readAll reads what h holds; more than limit bytes are errTooLarge.
func readAll(h Handle, info fs.FileInfo, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, errTooLarge
	}
	// One byte more than expected saves growing just to see the end.
	buf := make([]byte, 0, info.Size()+1)
	for {
		n, err := h.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func statOf(info fs.FileInfo) Stat {
	return Stat{
		Size:         info.Size(),
		ModTimeNs:    info.ModTime().UnixNano(),
		ChangeTimeNs: changeTimeOf(info),
		Inode:        identityOfInfo(info).File,
		Mode:         info.Mode(),
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
