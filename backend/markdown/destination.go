package markdown

import (
	"html"
	"strings"
)

// Syntax is what stands around a destination and so decides its escapes.
type Syntax string

// The syntaxes: (plain), (<angle>), [[wiki]] and attribute values of HTML.
const (
	Plain        Syntax = "plain"
	Angle        Syntax = "angle"
	Wiki         Syntax = "wiki"
	DoubleQuoted Syntax = "double_quoted"
	SingleQuoted Syntax = "single_quoted"
	Unquoted     Syntax = "unquoted"
)

// Valid reports whether s is one of the syntaxes.
func (s Syntax) Valid() bool {
	switch s {
	case Plain, Angle, Wiki, DoubleQuoted, SingleQuoted, Unquoted:
		return true
	}
	return false
}

// Form is how a destination is written.
type Form struct{ Syntax Syntax }

// Write returns what is written for a target in this form, so that reading it
// back gives the target. It reports false for what the form cannot hold: an
// empty target, a break or another control character; a blank outside of
// angle brackets, quotes and wikilinks; in a wikilink also []#|^.
func (f Form) Write(target string) (string, bool) {
	if target == "" || strings.ContainsFunc(target, isControl) {
		return "", false
	}
	var out string
	switch f.Syntax {
	case Wiki:
		if strings.ContainsAny(target, "[]#|^") || strings.TrimSpace(target) != target || strings.HasSuffix(target, `\`) {
			return "", false
		}
		return target, true
	case Plain:
		out = escapeMarkdown(target, "<", !balanced(target))
	case Angle:
		out = escapeMarkdown(target, "<>", false)
	case DoubleQuoted:
		out = strings.ReplaceAll(escapeHTML(target), `"`, "&quot;")
	case SingleQuoted:
		out = strings.ReplaceAll(escapeHTML(target), "'", "&#39;")
	case Unquoted:
		out = escapeHTML(target)
		if strings.ContainsAny(out, "\"'=<>` ") {
			return "", false
		}
	}
	if f.Syntax == Plain && strings.Contains(out, " ") {
		return "", false
	}
	return out, f.read(out) == target
}

// read returns what a destination written in this form means.
func (f Form) read(written string) string {
	switch f.Syntax {
	case Plain, Angle:
		return unescapeMarkdown(written)
	case DoubleQuoted, SingleQuoted, Unquoted:
		return html.UnescapeString(written)
	case Wiki:
	}
	return written
}

// unescapeMarkdown resolves backslash escapes and entities, each once.
func unescapeMarkdown(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			out.WriteByte(s[i+1])
			i += 2
		case s[i] == '&':
			decoded, n := entity(s[i:])
			out.WriteString(decoded)
			i += n
		default:
			out.WriteByte(s[i])
			i++
		}
	}
	return out.String()
}

// entity decodes the entity that s begins with and returns its length. An
// ampersand that begins none stands for itself.
func entity(s string) (string, int) {
	end := strings.IndexByte(s[:min(len(s), 40)], ';')
	if end < 2 {
		return "&", 1
	}
	whole := s[:end+1]
	if strings.ContainsFunc(whole[1:end], func(r rune) bool { return r > 0x7F || r != '#' && !isAlphanumeric(byte(r)) }) {
		return "&", 1
	}
	decoded := html.UnescapeString(whole)
	// Old names count without their semicolon there, which is left over then.
	if decoded == whole || strings.HasSuffix(decoded, ";") && whole != "&semi;" && decoded != ";" {
		return "&", 1
	}
	return decoded, end + 1
}

// escapeMarkdown escapes what unescapeMarkdown would take for an escape and
// the characters of special, and parentheses where asked.
func escapeMarkdown(s, special string, parentheses bool) string {
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '\\' && (i+1 == len(s) || isPunct(s[i+1])),
			strings.IndexByte(special, c) >= 0,
			parentheses && (c == '(' || c == ')'):
			out.WriteByte('\\')
		case c == '&':
			if _, n := entity(s[i:]); n > 1 {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

// escapeHTML escapes the ampersands that begin an entity.
func escapeHTML(s string) string {
	if html.UnescapeString(s) == s {
		return s
	}
	return strings.ReplaceAll(s, "&", "&amp;")
}

// balanced reports whether the parentheses of s can stand in a plain
// destination as they are.
func balanced(s string) bool {
	open := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
}

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

func isAlphanumeric(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }

func isControl(r rune) bool { return r < ' ' || r == 0x7F }

// Unescape resolves the backslash escapes and entities of a text, as if all of
// it were one destination: what any destination in it means is a part of that.
func Unescape(s string) string { return unescapeMarkdown(s) }
