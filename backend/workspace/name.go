package workspace

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// reservedName reports whether some system we support cannot hold a file of
// this name: a workspace is often synchronised, so new names obey the
// strictest of them everywhere.
func reservedName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return true
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return true
	}
	if strings.ContainsAny(name, `:/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return true
	}
	stem, _, _ := strings.Cut(name, ".")
	switch s := strings.ToUpper(strings.TrimRight(stem, " ")); s {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	default:
		rest, ok := strings.CutPrefix(s, "COM")
		if !ok {
			rest, ok = strings.CutPrefix(s, "LPT")
		}
		if !ok {
			return false
		}
		switch rest {
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
			return true
		}
		return false
	}
}

// ReservedName reports whether no new file may have this name, since some
// system cannot hold it.
func ReservedName(name string) bool { return reservedName(name) || isTemp(name) }

// DefaultIgnored returns the names of the folders and files that a tree sets
// aside when the person chose no others: what tools and systems fill. The slice
// is the caller's.
func DefaultIgnored() []string {
	return []string{
		".git", ".hg", ".svn", "node_modules", "bower_components", "__pycache__",
		"$RECYCLE.BIN", "System Volume Information", "Thumbs.db", "desktop.ini",
	}
}

// aside is what a tree sets aside.
type aside struct {
	showHidden bool
	names      map[string]bool
}

// holds takes nil for the defaults.
func (a *aside) holds(name string) bool {
	if a == nil {
		return strings.HasPrefix(name, ".") || slices.Contains(DefaultIgnored(), name)
	}
	return a.names[name] || !a.showHidden && strings.HasPrefix(name, ".")
}

// SetIgnored chooses what trees, searches and the watcher set aside from now
// on: the entries with one of names, and the hidden ones, whose name begins
// with a dot, unless showHidden. It reports whether that is another choice than
// before.
func (g *Grants) SetIgnored(showHidden bool, names []string) (changed bool) {
	a := &aside{showHidden: showHidden, names: make(map[string]bool, len(names))}
	for _, n := range names {
		a.names[n] = true
	}
	was := g.aside.Swap(a)
	if was == nil {
		was = &aside{names: map[string]bool{}}
		for _, n := range DefaultIgnored() {
			was.names[n] = true
		}
	}
	return was.showHidden != showHidden || !maps.Equal(was.names, a.names)
}

// Ignored reports whether a tree, a search and the watcher set aside an entry
// of this name.
func (g *Grants) Ignored(name string) bool { return g.aside.Load().holds(name) }

// compareNames orders names as people read them, the same in every language:
// digits by their number, letters without regard to case, and by code point
// where nothing else tells two apart.
func compareNames(a, b string) int {
	x, y := []rune(a), []rune(b)
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		if isDigit(x[i]) && isDigit(y[j]) {
			m, n := digits(x[i:]), digits(y[j:])
			if c := compareNumbers(x[i:i+m], y[j:j+n]); c != 0 {
				return c
			}
			i, j = i+m, j+n
			continue
		}
		p, q := unicode.ToLower(unicode.ToUpper(x[i])), unicode.ToLower(unicode.ToUpper(y[j]))
		if p != q {
			return int(p) - int(q)
		}
		i, j = i+1, j+1
	}
	if c := (len(x) - i) - (len(y) - j); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func digits(r []rune) int {
	n := 0
	for n < len(r) && isDigit(r[n]) {
		n++
	}
	return n
}

// compareNumbers compares runs of digits of any length by value.
func compareNumbers(a, b []rune) int {
	for len(a) > 0 && a[0] == '0' {
		a = a[1:]
	}
	for len(b) > 0 && b[0] == '0' {
		b = b[1:]
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(string(a), string(b))
}
