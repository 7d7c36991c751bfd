package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"galley/backend/fault"
)

// ReplaceFile makes data the content of one of the program's own files: a
// temporary file beside it, made durable and renamed over, so that a reader or
// a crash sees the old or the new bytes. The folder is made when missing. A
// link at path stays and what it leads to is replaced. It asks for no grant
// and must never be given a path of the person's. Faults: disk_full (Detail
// names the folder), read_only.
func ReplaceFile(path string, data []byte, perm fs.FileMode) error {
	return ReplaceFileOn(OSCalls(), path, data, perm)
}

// ReplaceFileOn is ReplaceFile over other calls.
func ReplaceFileOn(calls Calls, path string, data []byte, perm fs.FileMode) error {
	if err := replaceOwn(calls, path, data, perm); err != nil {
		return OwnFault("replace", path, err)
	}
	return nil
}

// OwnFault gives an error of one of the program's own files its fault, as
// ReplaceFile does.
func OwnFault(op, path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return failure(fault.ReadOnly, op, path, err)
	}
	if isDiskFull(err) {
		return failure(fault.DiskFull, op, filepath.Dir(path), err)
	}
	return classify(op, path, err)
}

func replaceOwn(calls Calls, path string, data []byte, perm fs.FileMode) (err error) {
	real, err := calls.EvalSymlinks(path)
	if isGone(err) {
		real = path
		err = calls.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	dir, err := calls.OpenDir(filepath.Dir(real))
	if err != nil {
		return err
	}
	defer letGo(dir)
	temp := tempName()
	h, err := dir.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = h.WriteAt(data, 0)
	if err == nil {
		err = h.Sync()
	}
	err = errors.Join(err, h.Close())
	if err == nil {
		err = dir.Rename(temp, filepath.Base(real))
	}
	if err != nil {
		_ = dir.Remove(temp) // SweepFolder takes one that stays
		return err
	}
	return dir.Sync()
}
