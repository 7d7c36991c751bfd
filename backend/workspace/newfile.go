package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"galley/backend/fault"
)

// NewFile is a file that is to be made with its content.
type NewFile struct {
	// Folder is the absolute path of a folder, a granted one or one inside;
	// Name the file's in it.
	Folder, Name string
	Data         []byte
	// Key marks the temporary file, so that [Grants.SweepNewFile] finds one that
	// a crash left: up to 64 letters and digits, not used twice. Empty for none.
	Key string
	// Written is called when the bytes are durable under a temporary name; its
	// error ends it, with nothing made. Placed is called when they have their
	// name, before that is durable. nil for nothing.
	Written func() error
	Placed  func()
	// RecoveryDir is that of [WriteOptions]: what a crash leaves is cleared up
	// by [Sweep]. Required.
	RecoveryDir string
}

// NewFileResult is a file that was made.
type NewFileResult struct {
	Entry Entry
	Stat  Stat
	// Durable is false when the disk did not confirm that the name will outlast
	// the loss of power.
	Durable bool
}

// ErrUncertain is wrapped by the error of a call after which nobody could see
// whether it happened.
var ErrUncertain = errors.New("nobody could see whether it happened")

// CheckNewFile returns the fault that [Grants.CreateFile] would refuse a name
// with before it touches anything; nil when it would try.
func (g *Grants) CheckNewFile(folder, name string) error {
	t, err := g.sprout(folder, name)
	if err != nil {
		return err
	}
	letGo(t.dir)
	return nil
}

// sprout is twig for a file that is to be new.
func (g *Grants) sprout(folder, name string) (twig, error) {
	const op = "create file"
	if reservedName(name) || isTemp(name) {
		return twig{}, failure(fault.ReservedName, op, name, nil)
	}
	t, err := g.twig(op, filepath.Join(folder, name))
	if err != nil {
		return twig{}, err
	}
	if t.info != nil {
		letGo(t.dir)
		return twig{}, failure(fault.Exists, op, t.place.path, nil)
	}
	return t, nil
}

// CreateFile makes a file that holds Data, which is there whole or not at all,
// whatever fails, also the power. It never replaces anything.
//
// Faults, after which nothing was made: exists, reserved_name (also for a name
// that is too long), read_only, disk_full (Detail names the folder), not_found
// for the folder, not_granted, outside_workspace; that of Written. An error
// that is [ErrUncertain] says that it may have been.
func (g *Grants) CreateFile(n NewFile) (NewFileResult, error) {
	const op = "create file"
	t, err := g.sprout(n.Folder, n.Name)
	if err != nil {
		return NewFileResult{}, err
	}
	defer letGo(t.dir)
	temp := tempName()
	if n.Key != "" {
		if !isKey(n.Key) {
			return NewFileResult{}, fault.New(fault.InvalidInput, op, nil)
		}
		temp = keyedTemp(n.Key)
	}
	folder, _ := splitRel(t.place.rel)
	j, err := openJournal(g.calls, n.RecoveryDir, entry{
		Path: t.place.path, Folder: filepath.Join(t.place.folder.at(), folder), Temp: temp, Hash: hashOf(n.Data),
	})
	if err != nil {
		return NewFileResult{}, OwnFault(op, n.RecoveryDir, err)
	}
	defer j.close()
	st, err := grow(t, temp, n)
	if err != nil {
		if !errors.Is(err, errTempTaken) {
			// Also after an open that failed: on a network it can have made it.
			if left := t.dir.Remove(temp); left == nil || isGone(left) {
				j.discard()
			}
		}
		return NewFileResult{}, changeFault(op, t.place.path, err)
	}
	if n.Placed != nil {
		n.Placed()
	}
	durable := t.dir.Sync() == nil
	if durable {
		j.drop()
	}
	return NewFileResult{Entry: g.entry(t.place.path, false), Stat: st, Durable: durable}, nil
}

// errTempTaken says that the temporary name is somebody else's.
var errTempTaken = errors.New("the temporary name is taken")

// grow writes the bytes under the temporary name and gives them their own.
func grow(t twig, temp string, n NewFile) (Stat, error) {
	h, err := t.dir.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
	if errors.Is(err, fs.ErrExist) {
		return Stat{}, errors.Join(errTempTaken, err)
	}
	if err != nil {
		return Stat{}, err
	}
	var info fs.FileInfo
	_, err = h.WriteAt(n.Data, 0)
	if err == nil {
		err = h.Sync()
	}
	if err == nil {
		info, err = h.Stat()
	}
	if err := errors.Join(err, h.Close()); err != nil {
		return Stat{}, err
	}
	if n.Written != nil {
		if err := n.Written(); err != nil {
			return Stat{}, err
		}
	}
	if err := entitle(t.dir, temp, t.base, info); err != nil {
		return Stat{}, err
	}
	st := statOf(info)
	st.Hash = hashOf(n.Data)
	return st, nil
}

// entitle gives the file temp its name, which nothing may have. A call can fail
// and have happened all the same, so that after a failure the names are looked
// at.
func entitle(d Dir, temp, name string, info fs.FileInfo) error {
	err := d.Move(temp, d, name)
	if err == nil {
		return nil
	}
	if now, look := d.Lstat(name); look == nil && os.SameFile(now, info) {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, still := d.Lstat(temp); still != nil {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return err
}

// SweepNewFile removes the temporary files that a [Grants.CreateFile] with this
// key left in the folder when its process died. A folder that is not there has
// none. Faults: not_granted, outside_workspace, read_only.
func (g *Grants) SweepNewFile(folder, key string) error {
	const op = "sweep"
	if !isKey(key) {
		return fault.New(fault.InvalidInput, op, nil)
	}
	p, err := g.locateIn(op, folder)
	if err != nil {
		return err
	}
	err = p.folder.within(func(root Dir) error {
		d, err := root.OpenDir(p.rel)
		if err != nil {
			return err
		}
		defer letGo(d)
		found, err := d.List()
		if err != nil {
			return err
		}
		var failed error
		for _, f := range found {
			_, ours := tempOwner(f.Name())
			if !ours || !f.Type().IsRegular() || !strings.HasSuffix(f.Name(), "-"+key+tempSuffix) {
				continue
			}
			if err := d.Remove(f.Name()); err != nil && !isGone(err) {
				failed = err
			}
		}
		return failed
	})
	if isGone(err) {
		return nil
	}
	return changeFault(op, p.path, err)
}

func isKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.IndexFunc(key, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func keyedTemp(key string) string {
	return fmt.Sprintf("%s%d-%s%s", tempPrefix, os.Getpid(), key, tempSuffix)
}
