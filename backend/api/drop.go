package api

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// maxDropped is how many paths of one drop are taken.
const maxDropped = 1000

// DroppedPaths returns the absolute paths of the local files and folders in a
// list of URIs (text/uri-list, RFC 2483): percent-encoded names are decoded,
// comments and everything that is no local file are left out.
func DroppedPaths(list string) []string {
	paths := []string{}
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") || len(paths) == maxDropped {
			continue
		}
		if path, ok := localPath(line); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// localPath returns the path of a file URI of this machine.
func localPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Opaque != "" || u.User != nil {
		return "", false
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		if here, err := os.Hostname(); err != nil || !strings.EqualFold(u.Host, here) {
			return "", false
		}
	}
	// A file's name may hold what would be a query or a fragment, but then it is
	// encoded.
	path := filepath.FromSlash(u.Path)
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", false
	}
	return filepath.Clean(path), true
}
