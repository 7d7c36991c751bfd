package reviewed

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"galley/backend/markdown"
	"galley/backend/text"
)

// reading says in which way the path of a URL was understood.
type reading string

const (
	// decoded: percent escapes stand for bytes.
	decoded reading = "decoded"
	// literal: the path is the name as it is, percent signs and all.
	literal reading = "literal"
	// windows: backslashes separate folders.
	windows reading = "windows"
)

// target is what a link leads to.
type target struct {
	// path is where it leads, relative to the workspace. With outside it may
	// begin with "..".
	path    string
	outside bool
	reading reading
	// written is the path as it stands in the link; suffix the rest of the
	// URL, from # or ? on.
	written, suffix string
}

// resolveURL finds what the URL of a link in file leads to. ok is false for
// what is no file: another scheme, a place in the same text, nothing that is
// there.
func (t *tree) resolveURL(file, url string) (found target, ok bool) {
	if hasScheme(url) || strings.HasPrefix(url, "//") || strings.HasPrefix(url, `\\`) {
		return target{}, false
	}
	found.written = url
	if i := strings.IndexAny(url, "#?"); i >= 0 {
		found.written, found.suffix = url[:i], url[i:]
	}
	if found.written == "" {
		return target{}, false
	}
	plain := unescapePercent(found.written)
	readings := []struct {
		how  reading
		path string
	}{{decoded, plain}, {literal, found.written}, {windows, strings.ReplaceAll(plain, `\`, "/")}}
	for i, r := range readings {
		if i > 0 && r.path == plain {
			continue
		}
		p, inside := joinURL(file, r.path)
		if !inside {
			if i > 0 {
				continue
			}
			// Nobody may look there, but where it is can be told.
			found.path, found.outside, found.reading = p, true, r.how
			return found, true
		}
		real, folder, there := t.at(p)
		if there && (folder || !strings.HasSuffix(r.path, "/")) {
			found.path, found.reading = real, r.how
			return found, true
		}
	}
	return target{}, false
}

// joinURL returns where a path in a link of file leads; inside is false when
// it leaves the workspace.
func joinURL(file, p string) (rel string, inside bool) {
	if strings.ContainsRune(p, 0) {
		return "\x00", true // nothing has such a name
	}
	if rest, ok := strings.CutPrefix(p, "/"); ok {
		rel = path.Clean("/" + rest)[1:]
		return rel, true
	}
	rel = path.Join(path.Dir(file), p)
	if rel == "." {
		rel = ""
	}
	return rel, rel != ".." && !strings.HasPrefix(rel, "../")
}

// hasScheme reports whether url begins with a scheme, or a drive letter.
func hasScheme(url string) bool {
	for i := range len(url) {
		c := url[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return i > 0 && c == ':'
		}
	}
	return false
}

// unescapePercent resolves percent escapes; a percent sign that begins none
// stands for itself, and so does all of a text whose escapes give no UTF-8.
func unescapePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if out := decodePercent(s); utf8.ValidString(out) {
		return out
	}
	return s
}

// decodePercent resolves percent escapes, whatever comes of them.
func decodePercent(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// wikiFound is what a wikilink leads to.
type wikiFound struct {
	path string
	// ambiguous is true when several files fit equally; path is then empty and
	// fits lists them.
	ambiguous bool
	fits      []string
}

// noteExts are the extensions of notes in the order in which a wikilink
// without one tries them.
var noteExts = []string{".md", ".markdown"}

// isNote reports whether the file of that name holds Markdown.
func isNote(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdown", ".mkd", ".mkdn":
		return true
	}
	return false
}

// resolveWiki finds what [[name]] in file leads to: a name from the workspace
// with a slash in front; a path from the file with ./ or ../; else the end of a
// path, and of several files that fit the one at exactly that path, then the
// one in the file's own folder, then the one that lies highest. Case matters
// only where it tells two apart. ok is false when nothing fits.
func (t *tree) resolveWiki(file, name string) (found wikiFound, ok bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	switch {
	case name == "" || strings.HasSuffix(name, "/") || hasScheme(name) && strings.Contains(name, "://"):
		return wikiFound{}, false
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"):
		p, inside := joinURL(file, name)
		if !inside {
			return wikiFound{}, false
		}
		for _, ending := range wikiEndings(name) {
			if real, folder, there := t.at(p + ending); there && !folder {
				return wikiFound{path: real}, true
			}
		}
		for _, ending := range wikiEndings(name) {
			whole := func(f string) bool { return text.FoldName(f) == text.FoldName(p+ending) }
			if fits := slices.DeleteFunc(t.ending(p+ending, true), func(f string) bool { return !whole(f) }); len(fits) == 1 {
				return wikiFound{path: fits[0]}, true
			}
		}
		return wikiFound{}, false
	}
	for _, folded := range []bool{false, true} {
		for _, ending := range wikiEndings(name) {
			if fits := t.ending(name+ending, folded); len(fits) > 0 {
				return pick(fits, file, name+ending), true
			}
		}
	}
	return wikiFound{}, false
}

// wikiEndings are what may follow the name that a wikilink gives.
func wikiEndings(name string) []string {
	if path.Ext(name) == "" {
		return noteExts
	}
	return append([]string{""}, noteExts...)
}

// ending returns the files whose path ends with the names of p, with folded in
// any spelling.
func (t *tree) ending(p string, folded bool) []string {
	key := text.FoldName(p)
	var fits []string
	for _, f := range t.names[path.Base(key)] {
		k, want := f, p
		if folded {
			k, want = text.FoldName(f), key
		}
		if k == want || strings.HasSuffix(k, "/"+want) {
			fits = append(fits, f)
		}
	}
	return fits
}

// pick chooses among the files that fit the name p in file.
func pick(fits []string, file, p string) wikiFound {
	key := text.FoldName(p)
	own := text.FoldName(path.Join(path.Dir(file), p))
	var exact, beside, highest []string
	depth := -1
	for _, f := range fits {
		k := text.FoldName(f)
		if k == key && strings.Contains(p, "/") {
			exact = append(exact, f)
		}
		if k == own {
			beside = append(beside, f)
		}
		switch d := strings.Count(f, "/"); {
		case depth < 0 || d < depth:
			depth, highest = d, []string{f}
		case d == depth:
			highest = append(highest, f)
		}
	}
	for _, c := range [][]string{exact, beside, highest} {
		if len(c) == 1 {
			return wikiFound{path: c[0]}
		}
	}
	return wikiFound{ambiguous: true, fits: fits}
}

// resolve finds the path that a link of file leads to. ok is false for what is
// no file and for a name that several files have.
func (t *tree) resolve(file string, l markdown.Link) (string, bool) {
	switch l.Kind {
	case markdown.Autolink:
		return "", false
	case markdown.Wikilink, markdown.Embed:
		found, ok := t.resolveWiki(file, l.Target)
		return found.path, ok && !found.ambiguous
	case markdown.Inline, markdown.Image, markdown.Definition, markdown.HTML:
	}
	found, ok := t.resolveURL(file, l.Target)
	return found.path, ok
}
