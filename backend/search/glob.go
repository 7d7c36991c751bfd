package search

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"galley/backend/fault"
)

// globs decides which files of a workspace are searched.
type globs struct{ include, exclude []glob }

// glob is one pattern over a path relative to the workspace, with slashes.
type glob struct {
	pattern string
	// name is true for a pattern about the name of a file or folder at any
	// depth.
	name bool
}

// compileGlobs reads patterns. Fault: invalid_input, with the pattern as detail.
func compileGlobs(include, exclude []string) (globs, error) {
	var g globs
	var err error
	if g.include, err = readGlobs(include); err != nil {
		return globs{}, err
	}
	g.exclude, err = readGlobs(exclude)
	return g, err
}

func readGlobs(patterns []string) ([]glob, error) {
	var out []glob
	for _, given := range patterns {
		p := strings.TrimSpace(given)
		if p == "" {
			continue
		}
		rooted := strings.TrimPrefix(p, "./")
		p = strings.Trim(rooted, "/")
		if p == "" || !doublestar.ValidatePattern(p) {
			return nil, &fault.Error{Code: fault.InvalidInput, Op: "search", Detail: given}
		}
		// A folder and what is inside: the first is tried for every folder on
		// the way, so the rest says nothing more.
		p = strings.TrimSuffix(p, "/**")
		out = append(out, glob{pattern: p, name: !strings.Contains(p, "/") && !strings.HasPrefix(rooted, "/") && rooted == strings.TrimSpace(given) && !strings.HasSuffix(rooted, "/**")})
	}
	return out, nil
}

// fits reports whether the file or folder itself is meant.
func (g glob) fits(rel string) bool {
	if g.name {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

func anyFits(list []glob, rel string) bool {
	for _, g := range list {
		if g.fits(rel) {
			return true
		}
	}
	return false
}

// skips reports whether a folder is left out with all inside.
func (g globs) skips(folder string) bool { return anyFits(g.exclude, folder) }

// includes reports whether a folder is meant with all inside.
func (g globs) includes(folder string) bool { return anyFits(g.include, folder) }

// takes reports whether a file is searched whose folders are not left out;
// included says that one of them is included.
func (g globs) takes(file string, included bool) bool {
	return (included || len(g.include) == 0 || anyFits(g.include, file)) && !anyFits(g.exclude, file)
}

// takesPath is takes for a path by itself.
func (g globs) takesPath(file string) bool {
	included := false
	for i := range len(file) {
		if file[i] == '/' {
			if g.skips(file[:i]) {
				return false
			}
			included = included || g.includes(file[:i])
		}
	}
	return g.takes(file, included)
}
