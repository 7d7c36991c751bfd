package workspace

import (
	"path/filepath"
	"runtime"
	"strings"
)

// Holds reports whether path is folder or lies in it, both absolute and by their
// real names as far as these are there. It grants nothing and opens nothing.
func Holds(folder, path string) bool {
	folder, path = realName(folder), realName(path)
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		folder, path = strings.ToLower(folder), strings.ToLower(path)
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// realName is a path without links, as far as it is there.
func realName(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realName(dir), filepath.Base(path))
	}
	return path
}
