package api

import (
	"context"

	"galley/backend/fault"
)

// Dialogs are the native dialogs. Each blocks until the person answered and
// returns "" or nothing when they cancelled.
type Dialogs struct {
	OpenFolder func(ctx context.Context) (path string, err error)
	OpenFiles  func(ctx context.Context) (paths []string, err error)
	// OpenCertificates asks for a file of certificates.
	OpenCertificates func(ctx context.Context) (path string, err error)
	// SaveFile suggests a file name.
	SaveFile func(ctx context.Context, name string) (path string, err error)
}

// Granter creates grants; see workspace.Grants. Only the functions of this file
// call it: a grant follows a gesture of the person, or the record of one.
type Granter interface {
	GrantFile(path string) (string, error)
	GrantFolder(path string) (string, error)
	GrantSave(path string) (string, error)
}

// gestures turns answers of native dialogs into grants.
type gestures struct {
	dialogs Dialogs
	granter Granter
}

// files asks for files and grants them; none when the person cancelled.
func (g gestures) files(ctx context.Context) ([]string, error) {
	chosen, err := g.dialogs.OpenFiles(ctx)
	if err != nil {
		return nil, fault.New(fault.Internal, "open dialog", err)
	}
	granted := make([]string, 0, len(chosen))
	for _, path := range chosen {
		given, err := g.granter.GrantFile(path)
		if err != nil {
			return nil, err
		}
		granted = append(granted, given)
	}
	return granted, nil
}

// folder asks for a folder and grants it; "" when the person cancelled.
func (g gestures) folder(ctx context.Context) (string, error) {
	chosen, err := g.dialogs.OpenFolder(ctx)
	if err != nil {
		return "", fault.New(fault.Internal, "folder dialog", err)
	}
	if chosen == "" {
		return "", nil
	}
	return g.granter.GrantFolder(chosen)
}

// target asks where to save and grants it; fault.Cancelled when the person
// cancelled.
func (g gestures) target(ctx context.Context, name string) (string, error) {
	chosen, err := g.dialogs.SaveFile(ctx, name)
	if err != nil {
		return "", fault.New(fault.Internal, "save dialog", err)
	}
	if chosen == "" {
		return "", fault.New(fault.Cancelled, "save dialog", nil)
	}
	return g.granter.GrantSave(chosen)
}

// stored grants a file again that this program's own record of an earlier start
// names, after the person chose to restore it. A file that is gone is granted
// as a place to save to.
func (g gestures) stored(path string) error {
	if _, err := g.granter.GrantFile(path); err == nil {
		return nil
	}
	_, err := g.granter.GrantSave(path)
	return err
}

// named grants a file or folder that the person named outside of the page: on
// the command line, by a second start, by a drop that came natively.
func (g gestures) named(path string) (given string, isFolder bool, err error) {
	given, err = g.granter.GrantFile(path)
	if fault.CodeOf(err) != fault.NotAFile {
		return given, false, err
	}
	given, err = g.granter.GrantFolder(path)
	return given, true, err
}

// storedFile grants a file again that this program's own record says was open
// or was opened of late.
func (g gestures) storedFile(path string) error {
	_, err := g.granter.GrantFile(path)
	return err
}

// storedFolder is storedFile for a folder, which becomes the workspace.
func (g gestures) storedFolder(path string) (string, error) { return g.granter.GrantFolder(path) }

// sample grants the sample folder, which this program itself wrote.
func (g gestures) sample(path string) (string, error) { return g.granter.GrantFolder(path) }
