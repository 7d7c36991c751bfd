package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const openQuietly = 0

// Windows error numbers that package syscall has no name for.
const (
	errorHandleDiskFull   syscall.Errno = 39
	errorSharingViolation syscall.Errno = 32
	errorLockViolation    syscall.Errno = 33
	errorWriteProtect     syscall.Errno = 19
	errorDiskFull         syscall.Errno = 112
	stillActive                         = 259
)

func identityOf(f *os.File) (Identity, error) {
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &d); err != nil {
		return Identity{}, &fs.PathError{Op: "identity", Path: f.Name(), Err: err}
	}
	return Identity{
		Volume: uint64(d.VolumeSerialNumber),
		File:   uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow),
	}, nil
}

// identityOfInfo is empty here: a FileInfo carries no file index on Windows.
func identityOfInfo(fs.FileInfo) Identity { return Identity{} }

func linksOf(fs.FileInfo) uint64 { return 1 }

func ownerOf(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// syncFolder does nothing: Windows cannot flush a folder.
func syncFolder(*os.File) error { return nil }

// renameIn waits up to two seconds for a scanner or indexer that holds the
// file open.
func renameIn(r *os.Root, from, to string) error {
	const step, limit = 50 * time.Millisecond, 2 * time.Second
	var err error
	for waited := time.Duration(0); waited <= limit; waited += step {
		err = r.Rename(from, to)
		if !errors.Is(err, errorSharingViolation) && !errors.Is(err, errorLockViolation) &&
			!errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(step)
	}
	return err
}

func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	h, err := syscall.OpenProcess(syscall.PROCESS_QUERY_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, syscall.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = syscall.CloseHandle(h) }()
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

func isDiskFull(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull)
}

func isReadOnlyMedium(err error) bool { return errors.Is(err, errorWriteProtect) }

func isUnsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// readAttributes returns none: access lists stay with the name on Windows.
func readAttributes(*os.File) ([]Attribute, error) { return nil, nil }

func writeAttribute(*os.File, Attribute) error { return nil }
