package reviewed

import (
	"path"
	"strings"

	"galley/backend/markdown"
)

// caution is how much of a written path is escaped.
type caution int

const (
	// asIs keeps every character as the link had it where that can be.
	asIs caution = iota
	// escaped escapes all that could mean anything to a Markdown parser.
	escaped
)

// writeURL returns what a link of file that was found to be was gets, so that
// it leads to path: relative or from the workspace, with ./ in front, escaped
// and with a suffix as it had it.
func writeURL(was target, file, to string, form markdown.Form, care caution) (string, bool) {
	written := was.written
	if was.reading == windows {
		written = strings.ReplaceAll(written, `\`, "/")
	}
	var p string
	if strings.HasPrefix(written, "/") {
		p = "/" + to
	} else {
		p = relative(path.Dir(file), to)
		if strings.HasPrefix(written, "./") && !strings.HasPrefix(p, "../") && p != ".." {
			p = "./" + p
		}
	}
	if strings.HasSuffix(written, "/") && !strings.HasSuffix(p, "/") {
		p += "/"
	}
	style := styleOf(was.written, form, care)
	p = style.escape(p)
	if first, _, _ := strings.Cut(p, "/"); hasScheme(p) && strings.Contains(first, ":") {
		p = strings.Replace(p, ":", "%3A", 1)
	}
	if was.reading == windows && !strings.Contains(was.written, "/") {
		p = strings.ReplaceAll(p, "/", `\`)
	}
	return form.Write(p + was.suffix)
}

// relative returns the path from folder to to, both relative to the workspace;
// either may begin with "..".
func relative(folder, to string) string {
	var from, rest []string
	if folder != "." && folder != "" {
		from = strings.Split(folder, "/")
	}
	if to != "" {
		rest = strings.Split(to, "/")
	}
	for len(from) > 0 && len(rest) > 0 && from[0] == rest[0] {
		from, rest = from[1:], rest[1:]
	}
	out := strings.Repeat("../", len(from)) + strings.Join(rest, "/")
	if out == "" {
		return "./"
	}
	if len(rest) == 0 {
		return strings.TrimSuffix(out, "/")
	}
	return out
}

// urlStyle is how a URL escapes its path.
type urlStyle struct {
	care caution
	// always are the ASCII characters that the link escaped, raw those that it
	// did not.
	always, raw string
	// wide: characters beyond ASCII are escaped.
	wide bool
	// blank: blanks stand as they are.
	blank bool
}

// styleOf reads the style off a path as it stands in a link.
func styleOf(written string, form markdown.Form, care caution) urlStyle {
	s := urlStyle{care: care}
	for i := 0; i < len(written); i++ {
		c := written[i]
		if c != '%' || i+2 >= len(written) || !isHex(written[i+1]) || !isHex(written[i+2]) {
			s.raw += string(rune(c))
			continue
		}
		if b := unhex(written[i+1])<<4 | unhex(written[i+2]); b >= 0x80 {
			s.wide = true
		} else if b != '/' {
			s.always += string(rune(b))
		}
		i += 2
	}
	s.blank = form.Syntax != markdown.Plain && form.Syntax != markdown.Unquoted && care == asIs && strings.IndexByte(s.always, ' ') < 0
	return s
}

const (
	// risky characters can begin something else in a Markdown text.
	risky = "<>`$|[]\""
	// mild ones are harmless where they usually stand.
	mild = "'&*_~!(){}^=;,@+"
)

// escape escapes a path.
func (s urlStyle) escape(p string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(p) {
		c := p[i]
		plain := true
		switch {
		case c >= 0x80:
			plain = !s.wide
		case c == '%', c == '#', c == '?', c == '\\', c < ' ', c == 0x7F:
			plain = false
		case c == ' ':
			plain = s.blank
		case strings.IndexByte(s.always, c) >= 0:
			plain = false
		case strings.IndexByte(risky, c) >= 0:
			plain = s.care == asIs && strings.IndexByte(s.raw, c) >= 0
		case strings.IndexByte(mild, c) >= 0:
			plain = s.care == asIs
		}
		if plain {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return out.String()
}

// writeWiki returns the name that a wikilink in file gets, so that it leads to
// path in the tree as it then is: as short as it was, longer where that names
// another file too. ok is false when no name does.
func (t *tree) writeWiki(was, file, to string, form markdown.Form) (string, bool) {
	named := to
	ext := path.Ext(was)
	if isNote(to) && !isNote("x"+ext) {
		// The link had no extension; one that [[name]] does not try is kept.
		for _, e := range noteExts {
			if strings.HasSuffix(to, e) {
				named = strings.TrimSuffix(to, e)
			}
		}
	}
	slashes := strings.ReplaceAll(was, `\`, "/")
	var names []string
	if strings.HasPrefix(slashes, "./") || strings.HasPrefix(slashes, "../") {
		p := relative(path.Dir(file), named)
		if !strings.HasPrefix(p, "../") {
			p = "./" + p
		}
		names = append(names, p)
	}
	parts := strings.Split(named, "/")
	if !strings.HasPrefix(slashes, "/") {
		for n := min(strings.Count(slashes, "/")+1, len(parts)); n <= len(parts); n++ {
			names = append(names, strings.Join(parts[len(parts)-n:], "/"))
		}
	}
	names = append(names, "/"+named)
	if named != to {
		// A note without extension may be hidden by a file of that very name.
		names = append(names, to, "/"+to)
	}
	for _, name := range names {
		found, ok := t.resolveWiki(file, name)
		if !ok || found.ambiguous || found.path != to {
			continue
		}
		if written, ok := form.Write(name); ok {
			return written, true
		}
	}
	return "", false
}
