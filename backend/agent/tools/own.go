package tools

import (
	"path/filepath"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// own is the program's own folder, in which keys, drafts and the record of every
// conversation lie. No tool looks into it, also where a person opened a folder
// that holds it; only the sample documents there are like any others.
type own string

// holds reports whether an absolute path lies in it, also by way of links.
func (o own) holds(p string) bool {
	return workspace.Holds(string(o), p) && !workspace.Holds(filepath.Join(string(o), "sample"), p)
}

// refuses returns the fault of a path that lies in it; nil for others.
func (o own) refuses(p, what string) error {
	if !o.holds(p) {
		return nil
	}
	return refuse(fault.OutsideWorkspace, "%s is set aside: it is this program's own and no part of the workspace.", shown(what))
}

// aside says of the folders in rel which are the program's own; nil where none
// can be.
func (f folder) aside(rel string) func(string) bool {
	if !workspace.Holds(f.Path(rel), string(f.own)) {
		return nil
	}
	return func(in string) bool { return f.own.holds(filepath.Join(f.Path(rel), filepath.FromSlash(in))) }
}
