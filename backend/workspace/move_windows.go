package workspace

import (
	"encoding/binary"
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// moveBetween renames by open folders, so that no path is looked up again,
// and without leave to replace. It waits up to two seconds for a scanner or
// indexer that holds the file open.
func moveBetween(from *os.File, a string, to *os.File, b string) error {
	const step, limit = 50 * time.Millisecond, 2 * time.Second
	var err error
	for waited := time.Duration(0); waited <= limit; waited += step {
		err = renameByHandle(windows.Handle(from.Fd()), a, windows.Handle(to.Fd()), b)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return err
		}
		time.Sleep(step)
	}
	return err
}

func renameByHandle(from windows.Handle, a string, to windows.Handle, b string) error {
	name, err := windows.NewNTUnicodeString(a)
	if err != nil {
		return err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: from, ObjectName: name}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var h windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&h, windows.DELETE|windows.SYNCHRONIZE, &attributes, &status, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	if err != nil {
		return errnoOf(err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	info, err := renameInformation(to, b)
	if err != nil {
		return err
	}
	return errnoOf(windows.NtSetInformationFile(h, &status, &info[0], uint32(len(info)), windows.FileRenameInformation))
}

// renameInformation is a FILE_RENAME_INFORMATION of a 64-bit system:
// ReplaceIfExists as four bytes, four of padding, the folder, the length of
// the name in bytes, the name.
func renameInformation(folder windows.Handle, name string) ([]byte, error) {
	units, err := windows.UTF16FromString(name)
	if err != nil {
		return nil, err
	}
	units = units[:len(units)-1]
	out := make([]byte, 8, 24+2*len(units))
	out = binary.LittleEndian.AppendUint64(out, uint64(folder))
	out = binary.LittleEndian.AppendUint32(out, uint32(2*len(units)))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	// The system wants at least the whole structure, one unit included.
	for len(out) < 24 {
		out = append(out, 0)
	}
	return out, nil
}

// errnoOf turns an NT status into the error number that package os knows.
func errnoOf(err error) error {
	if status, ok := errors.AsType[windows.NTStatus](err); ok {
		return status.Errno()
	}
	return err
}

// isInUse reports whether err says that another program holds what was named.
func isInUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// isWatchLimit reports whether err says that no more can be watched.
func isWatchLimit(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) || errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY)
}
