package workspace

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"galley/backend/fault"
)

// WriteOptions say what a write may replace.
type WriteOptions struct {
	// Base is the file as the new bytes were made from it; the zero value for
	// a file that is to be new.
	Base Stat
	// Overwrite replaces the file whatever it holds by now.
	Overwrite bool
	// Keep is given the bytes that are to be replaced and their hex SHA-256, before anything is
	// touched, so that they can be kept; and with Overwrite those that
	// something else wrote in the very moment of the write. Its error ends the
	// write with the file as it was. It is not called for a file that is new
	// or holds the new bytes already. nil keeps nothing.
	Keep func(old []byte, hash string) error
	// Watch has the replaced file handed out as WriteResult.Replaced.
	Watch bool
	// RecoveryDir is the folder for recovery copies, made when missing. It
	// lies outside of every workspace.
	RecoveryDir string
}

// WriteResult tells how a write went. RecoveryPath can be set beside an error.
type WriteResult struct {
	// Stat is the file as written; the base of the next write.
	Stat Stat
	// Replaced is the file that was replaced, which something else can have
	// open and write into; nil unless it was asked for, or when there is none.
	// The caller closes it.
	Replaced *Replaced
	// Fallback is true when the file was written in place, since it has other
	// names or its folder takes no new file. RecoveryPath then holds the
	// bytes from before.
	Fallback bool
	// RecoveryPath is a plain copy that was kept: of the old bytes after a
	// Fallback, of the new ones after a failure; "" for none.
	RecoveryPath string
}

// Write replaces the file's bytes with data, or makes the file. Whatever
// fails, also the power, the file holds the old or the new bytes whole, but
// for the Fallback, for which both are in RecoveryDir until it is done. Mode,
// owner, extended attributes and access lists stay as far as the system
// allows; a link stays and the file it leads to is replaced.
//
// Faults: changed_on_disk when the file is not Base (or is gone), exists when
// it should be new, read_only, disk_full (Detail names the folder), not_found
// for the folder, not_granted, outside_workspace, not_a_file, reserved_name.
// After each of them the file is as it was. An error of the last step, making
// the rename durable, is an error too, although the new bytes are in place.
func (t Target) Write(data []byte, o WriteOptions) (WriteResult, error) {
	const op = "write"
	s, err := t.settle(op)
	if err != nil {
		return WriteResult{}, err
	}
	defer letGo(s.dir)
	w := &writing{op: op, path: t.place.path, spot: s, data: data, options: o}
	// A large text takes as long to hash as the old one to read.
	hash := make(chan string, 1)
	go func() { hash <- hashOf(data) }()
	if err := w.look(); err != nil {
		return WriteResult{}, err
	}
	defer w.release()
	w.hash = <-hash
	if err := w.compare(); err != nil {
		return WriteResult{}, err
	}
	if w.old != nil {
		if err := w.keep(w.oldData, w.oldHash); err != nil {
			return WriteResult{}, err
		}
	}
	temp := tempName()
	w.journal, err = openJournal(t.calls, o.RecoveryDir, entry{
		Path: t.place.path, Folder: s.folder, Temp: temp, BaseHash: w.oldHash, Hash: w.hash,
	})
	if err != nil {
		return WriteResult{}, w.fail(o.RecoveryDir, err)
	}
	defer w.journal.close()
	return w.run(temp)
}

// writing is one write under way.
type writing struct {
	op, path string
	spot     spot
	data     []byte
	hash     string
	options  WriteOptions
	journal  *journal

	// old is the file as found, open for reading and writing; nil for none.
	old     Handle
	oldInfo fs.FileInfo
	oldData []byte
	oldHash string

	// newInfo is the temporary file that is to stand in the old one's place.
	newInfo fs.FileInfo
	// unswept says that the temporary name could not be removed.
	unswept bool
}

// release closes the old file when it still is open.
func (w *writing) release() {
	if w.old != nil {
		letGo(w.old)
	}
}

// look opens and reads the file as it is now, and refuses one that cannot be
// written.
func (w *writing) look() error {
	h, info, err := openFile(w.spot.dir, w.spot.base, os.O_RDWR, true)
	switch {
	case isGone(err):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return failure(fault.ReadOnly, w.op, w.path, err)
	case err != nil:
		return classify(w.op, w.path, err)
	}
	// A superuser can write what nobody may; the mark still means "do not".
	if info.Mode().Perm()&0o222 == 0 {
		letGo(h)
		return failure(fault.ReadOnly, w.op, w.path, nil)
	}
	data, err := readAll(h, info, math.MaxInt64)
	if err != nil {
		letGo(h)
		return classify(w.op, w.path, err)
	}
	w.old, w.oldInfo, w.oldData, w.oldHash = h, info, data, hashOf(data)
	return nil
}

// compare decides by content whether the file is still the base. A file that
// already holds the new bytes is no conflict: an earlier write may have got so
// far before it failed.
func (w *writing) compare() error {
	base := w.options.Base.Hash
	switch {
	case w.options.Overwrite, w.oldHash == base, w.old != nil && w.oldHash == w.hash:
		return nil
	case base == "":
		return failure(fault.Exists, w.op, w.path, nil)
	default:
		return failure(fault.ChangedOnDisk, w.op, w.path, nil)
	}
}

func (w *writing) run(temp string) (WriteResult, error) {
	if w.old == nil || linksOf(w.oldInfo) <= 1 {
		st, err := w.replace(temp)
		switch {
		case err == nil:
			if !w.unswept { // else the entry names it for Sweep
				w.journal.drop()
			}
			return WriteResult{Stat: st, Replaced: w.handOut()}, nil
		case errors.Is(err, errFolderTakesNone) && w.old != nil:
			// In place, then, as a file of several names.
		case errors.Is(err, errFolderTakesNone):
			w.journal.discard()
			return WriteResult{}, failure(fault.ReadOnly, w.op, w.path, err)
		default:
			return w.stop(err)
		}
	}
	st, kept, err := w.overwrite()
	if err != nil {
		res, err := w.stop(err)
		res.Fallback = true
		return res, err
	}
	w.journal.drop()
	return WriteResult{Stat: st, Fallback: true, RecoveryPath: kept}, nil
}

// stop ends a write that went wrong. A refusal leaves nothing behind; after a
// failure the copy of the new bytes is kept.
func (w *writing) stop(err error) (WriteResult, error) {
	err = w.fail(w.spot.folder, err)
	switch fault.CodeOf(err) {
	case fault.ChangedOnDisk, fault.NotAFile, fault.OutsideWorkspace:
		if !w.unswept { // else the entry names what is left for Sweep
			w.journal.discard()
		}
		return WriteResult{}, err
	default:
		return WriteResult{RecoveryPath: w.journal.keep(w.data)}, err
	}
}

// fail names the folder whose disk is full, and else the file. What has its
// fault keeps it.
func (w *writing) fail(folder string, err error) error {
	if _, named := errors.AsType[*fault.Error](err); isDiskFull(err) && !named {
		return failure(fault.DiskFull, w.op, filepath.Clean(folder), err)
	}
	return classify(w.op, w.path, err)
}

// errFolderTakesNone says that the folder refuses a new or renamed file.
var errFolderTakesNone = errors.New("the folder takes no new file")

// replace writes a temporary file beside the old one and renames it over.
func (w *writing) replace(temp string) (st Stat, err error) {
	perm := fs.FileMode(0o600)
	if w.old == nil {
		perm = 0o666 // less the umask: nothing to keep secret until chmod
	}
	h, err := w.spot.dir.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	defer func() {
		if err != nil && !w.unswept {
			// Also after an open that failed: on a network it can have made
			// the file. When this fails too, the journal names it for Sweep.
			_ = w.spot.dir.Remove(temp)
		}
	}()
	if errors.Is(err, fs.ErrPermission) || (err != nil && isReadOnlyMedium(err)) {
		return Stat{}, errors.Join(errFolderTakesNone, err)
	}
	if err != nil {
		return Stat{}, err
	}
	st, err = w.fill(h)
	if err != nil {
		return Stat{}, err
	}
	if err := w.recheck(); err != nil {
		return Stat{}, err
	}
	err = w.place(temp)
	if errors.Is(err, fs.ErrPermission) {
		// A folder with the sticky bit takes new files, but none over another
		// person's.
		return Stat{}, errors.Join(errFolderTakesNone, err)
	}
	if err != nil {
		return Stat{}, err
	}
	return st, w.spot.dir.Sync()
}

// fill writes data and everything the old file has besides, makes it durable
// and closes h.
func (w *writing) fill(h Handle) (Stat, error) {
	st, err := func() (Stat, error) {
		if _, err := h.WriteAt(w.data, 0); err != nil {
			return Stat{}, err
		}
		if w.old != nil {
			if err := copyBelongings(h, w.old, w.oldInfo); err != nil {
				return Stat{}, err
			}
		}
		if err := h.Sync(); err != nil {
			return Stat{}, err
		}
		info, err := h.Stat()
		if err != nil {
			return Stat{}, err
		}
		w.newInfo = info
		st := statOf(info)
		st.Hash = w.hash
		return st, nil
	}()
	return st, errors.Join(err, h.Close())
}

// recheck sees at the last moment whether the name still stands for the file
// that was compared.
func (w *writing) recheck() error {
	info, err := w.spot.dir.Lstat(w.spot.base)
	switch {
	case isGone(err):
		if w.old == nil || w.options.Overwrite {
			return nil
		}
		return failure(fault.ChangedOnDisk, w.op, w.path, nil)
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	case !info.Mode().IsRegular():
		return errNoFile
	case w.options.Overwrite:
		return nil
	case w.old == nil:
		return failure(fault.Exists, w.op, w.path, nil)
	case !os.SameFile(info, w.oldInfo), info.Size() != w.oldInfo.Size(), !info.ModTime().Equal(w.oldInfo.ModTime()):
		return failure(fault.ChangedOnDisk, w.op, w.path, nil)
	}
	return nil
}

// overwrite writes into the old file itself, so that its other names keep
// naming it. The old bytes are made durable in the recovery folder first, and
// are put back when the write fails.
func (w *writing) overwrite() (st Stat, kept string, err error) {
	if err := w.recheck(); err != nil {
		return Stat{}, "", err
	}
	if err := w.renew(); err != nil {
		return Stat{}, "", err
	}
	kept, err = w.journal.harden(w.data, w.oldData)
	if err != nil {
		return Stat{}, "", w.fail(w.options.RecoveryDir, err)
	}
	if err := put(w.old, w.data, len(w.oldData)); err != nil {
		if back := put(w.old, w.oldData, len(w.data)); back != nil {
			// Both copies stay for Sweep to report.
			w.journal.torn = true
		}
		return Stat{}, "", err
	}
	info, err := w.old.Stat()
	if err != nil {
		return Stat{}, "", err
	}
	st = statOf(info)
	st.Hash = w.hash
	h := w.old
	w.old = nil
	return st, kept, h.Close()
}

// put makes data the whole content of h, which holds was bytes. What grows is
// written first: a full disk then shows before anything old is touched.
func put(h Handle, data []byte, was int) error {
	if len(data) > was {
		if _, err := h.WriteAt(data[was:], int64(was)); err != nil {
			return err
		}
		if _, err := h.WriteAt(data[:was], 0); err != nil {
			return err
		}
	} else if _, err := h.WriteAt(data, 0); err != nil {
		return err
	}
	if err := h.Truncate(int64(len(data))); err != nil {
		return err
	}
	return h.Sync()
}

// copyBelongings gives the new file what the old one has besides its bytes.
// What the system does not allow is left out, and then no more is granted
// than the old file granted to everybody.
func copyBelongings(to, from Handle, info fs.FileInfo) error {
	mode := info.Mode()
	groupKept := true
	if uid, gid, ok := ownerOf(info); ok {
		err := to.Chown(uid, gid)
		if refusedOrUnsupported(err) {
			mode &^= fs.ModeSetuid
			err = to.Chown(-1, gid)
		}
		if refusedOrUnsupported(err) {
			groupKept = false
			mode &^= fs.ModeSetgid
			mode = mode&^0o070 | mode&0o007<<3
			err = nil
		}
		if err != nil {
			return err
		}
	}
	if err := to.Chmod(mode); err != nil && !refusedOrUnsupported(err) {
		return err
	}
	attributes, err := from.Attributes()
	if err != nil && !refusedOrUnsupported(err) {
		return err
	}
	for _, a := range attributes {
		if !groupKept && a.Name == "system.posix_acl_access" {
			continue
		}
		if err := to.SetAttribute(a); err != nil && !refusedOrUnsupported(err) {
			return err
		}
	}
	return nil
}

func refusedOrUnsupported(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrPermission) || isUnsupported(err))
}
