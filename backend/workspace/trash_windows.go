package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Constants of shellapi.h that package windows has no name for.
const (
	foDelete           = 3
	fofSilent          = 0x0004
	fofNoConfirmation  = 0x0010
	fofAllowUndo       = 0x0040
	fofNoErrorUI       = 0x0400
	fofWantNukeWarning = 0x4000
)

// fileOperation is SHFILEOPSTRUCTW of a 64-bit system.
type fileOperation struct {
	window   uintptr
	function uint32
	from, to *uint16
	flags    uint16
	aborted  int32
	names    uintptr
	title    *uint16
}

// binInfo is SHQUERYRBINFO of a 64-bit system.
type binInfo struct {
	size  uint32
	bytes int64
	items int64
}

// discard has the shell move an entry to the recycle bin. Only a fixed disk
// with a bin is asked for it, since the shell deletes elsewhere; and where it
// would delete all the same (the bin is too small, or off) it asks the person.
func (g *Grants) discard(_ context.Context, t twig) error {
	folder, err := t.realFolder(g.calls)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, t.base)
	// The call takes a path: see that it still leads to what was permitted.
	now, err := g.calls.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, t.info) {
		return errLink
	}
	if len(path) >= windows.MAX_PATH {
		return errNoTrash // the shell takes no longer one
	}
	volume, err := windows.UTF16PtrFromString(filepath.VolumeName(path) + `\`)
	if err != nil {
		return err
	}
	if windows.GetDriveType(volume) != windows.DRIVE_FIXED {
		return errNoTrash
	}
	shell := windows.NewLazySystemDLL("shell32.dll")
	bin := binInfo{}
	bin.size = uint32(unsafe.Sizeof(bin))
	if r, _, _ := shell.NewProc("SHQueryRecycleBinW").Call(uintptr(unsafe.Pointer(volume)), uintptr(unsafe.Pointer(&bin))); r != 0 {
		return errNoTrash
	}
	// A list of names, ended by an empty one.
	list, err := windows.UTF16FromString(path)
	if err != nil {
		return err
	}
	list = append(list, 0)
	op := fileOperation{
		function: foDelete, from: &list[0],
		flags: fofAllowUndo | fofNoConfirmation | fofSilent | fofNoErrorUI | fofWantNukeWarning,
	}
	r, _, _ := shell.NewProc("SHFileOperationW").Call(uintptr(unsafe.Pointer(&op)))
	switch {
	case op.aborted != 0:
		return context.Canceled
	case r != 0:
		return fmt.Errorf("the shell answers %#x: %w", r, errNoTrash)
	}
	return nil
}
