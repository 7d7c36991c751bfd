package tools

import (
	"path/filepath"
	"runtime"
	"strings"

	"galley/backend/fault"
)

// own is the program's own folder, in which keys, drafts and the record of every
// conversation lie. No tool looks into it, also where a person opened a folder
// that holds it; only the sample documents there are like any others.
type own struct {
	// home is the folder by its real name, sample what in it is not meant.
	home, sample string
}

// ownFolder returns the own of a home, which need not be there.
func ownFolder(home string) own {
	home = realName(home)
	return own{home: home, sample: filepath.Join(home, "sample")}
}

// holds reports whether an absolute path lies in it, also by way of links.
func (o own) holds(p string) bool {
	p = realName(p)
	return within(o.home, p) && !within(o.sample, p)
}

// refuses returns the fault of a path that lies in it; nil for others.
func (o own) refuses(p, what string) error {
	if !o.holds(p) {
		return nil
	}
	return refuse(fault.OutsideWorkspace, "%s is set aside: it is this program's own and no part of the workspace.", shown(what))
}

// realName is a path without links, as far as it is there. It opens nothing.
func realName(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	if dir := filepath.Dir(p); dir != p {
		return filepath.Join(realName(dir), filepath.Base(p))
	}
	return p
}

// within reports whether p is folder or lies in it.
func within(folder, p string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		folder, p = strings.ToLower(folder), strings.ToLower(p)
	}
	rel, err := filepath.Rel(folder, p)
	return err == nil && filepath.IsLocal(rel)
}
