package resolve

import (
	"strings"
	"unicode/utf8"
)

// lead is what stands before the content of a line: quote prefixes, list
// marker, task state, heading marks.
type lead struct {
	quotes int
	// list holds the list markers as written, without blanks ("-", "12)"); more
	// than one when lists begin on one line.
	list string
	// task is "[ ]", "[x]" or "[X]"; empty for an item that is no task.
	task string
	// heading is the level of an ATX heading, 0 for none.
	heading int
	// indent is the number of columns of blanks after the last quote prefix.
	indent int
	// end is the length of the lead in bytes, blanks behind it included.
	end int
}

// parseLead reads the lead of the first line of s.
func parseLead(s string) lead {
	var l lead
	start := skipBlanks(s, 0)
	l.indent = columns(s[:start])
	i := start
	for i < len(s) {
		c := s[i]
		switch {
		case c == '>' && l.list == "":
			l.quotes++
			i = skipBlanks(s, i+1)
			l.indent = columns(s[start+1 : i])
			start = i
			continue
		case c == '#':
			if n := runLength(s[i:], '#'); n <= 6 && endsMarker(s, i+n) {
				l.heading = n
				l.end = skipBlanks(s, i+n)
				return l
			}
		case (c == '-' || c == '*' || c == '+') && endsMarker(s, i+1) && !isThematic(firstLine(s[i:])):
			l.list += s[i : i+1]
			i = skipBlanks(s, i+1)
			i = l.parseTask(s, i)
			continue
		case c >= '0' && c <= '9':
			n := 1
			for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
				n++
			}
			if i+n < len(s) && n <= 9 && (s[i+n] == '.' || s[i+n] == ')') && endsMarker(s, i+n+1) {
				l.list += s[i : i+n+1]
				i = skipBlanks(s, i+n+1)
				i = l.parseTask(s, i)
				continue
			}
		}
		break
	}
	l.end = i
	return l
}

// parseTask reads a task state at i and returns where the content starts.
func (l *lead) parseTask(s string, i int) int {
	if i+3 <= len(s) && s[i] == '[' && s[i+2] == ']' && strings.IndexByte(" xX", s[i+1]) >= 0 && endsMarker(s, i+3) {
		l.task = s[i : i+3]
		return skipBlanks(s, i+3)
	}
	return i
}

// leadLength returns the length of the lead of the first line of s.
func leadLength(s string) int {
	if s == "" || s[0] >= 'A' && s[0] <= 'z' || s[0] >= utf8.RuneSelf && s[0] != 0xE3 && s[0] != 0xC2 {
		return 0
	}
	return parseLead(s).end
}

// endsMarker reports whether a block marker may end before byte i: at a blank,
// a line break or the end.
func endsMarker(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isEdge(r)
}

// skipBlanks returns the first byte at or after i that is no blank.
func skipBlanks(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isBlank(r) {
			break
		}
		i += n
	}
	return i
}

func columns(blanks string) int {
	n := 0
	for _, r := range blanks {
		if r == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

func runLength(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func firstLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}

// isThematic reports whether a line's content is a thematic break.
func isThematic(s string) bool {
	if s == "" || strings.IndexByte("*-_", s[0]) < 0 {
		return false
	}
	n := 0
	for i := range len(s) {
		switch s[i] {
		case s[0]:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// fence is the mark that opens a fenced code block.
type fence struct {
	char   byte
	length int
	info   string
	quotes int
}

// parseFence reads the opening mark of a fenced code block from a line's
// content.
func parseFence(s string) (fence, bool) {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return fence{}, false
	}
	n := runLength(s, s[0])
	info := strings.TrimFunc(s[n:], isBlank)
	if n < 3 || s[0] == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false
	}
	return fence{char: s[0], length: n, info: info}, true
}

// closes reports whether a line's content closes f.
func (f fence) closes(s string) bool {
	g, ok := parseFence(s)
	return ok && g.char == f.char && g.length >= f.length && g.info == ""
}

// rowKind says what a line is to a table.
type rowKind uint8

const (
	noRow rowKind = iota
	cellRow
	delimiterRow
)

// tableRows returns what each line of s is to a table, or nil when there is
// none. inside says that s begins within a table.
func tableRows(s string, inside bool) []rowKind {
	if strings.IndexByte(s, '|') < 0 {
		return nil
	}
	var rows []rowKind
	open := inside
	previous := ""
	for len(s) > 0 {
		line := firstLine(s)
		s = s[min(len(line)+1, len(s)):]
		content := tableContent(line)
		kind := noRow
		switch {
		case content == "" || strings.IndexByte(content, '|') < 0 && !open:
			open = false
		case len(alignments(content)) > 0 && (open || strings.IndexByte(previous, '|') >= 0 && len(cells(previous)) == len(alignments(content))):
			kind = delimiterRow
			if len(rows) > 0 && rows[len(rows)-1] == noRow && !open {
				rows[len(rows)-1] = cellRow
			}
			open = true
		case open && strings.IndexByte(content, '|') >= 0, content[0] == '|':
			kind = cellRow
		default:
			open = false
		}
		rows = append(rows, kind)
		previous = content
	}
	return rows
}

// tableContent returns a line without quote prefixes, list markers and blanks
// at both ends.
func tableContent(line string) string {
	return strings.TrimFunc(line[parseLead(line).end:], isBlank)
}

// cells splits a table row, given without blanks at its ends, at the pipes that
// are not escaped.
func cells(row string) []string {
	row = strings.TrimPrefix(row, "|")
	if strings.HasSuffix(row, "|") && evenBackslashes(row[:len(row)-1]) {
		row = row[:len(row)-1]
	}
	var out []string
	start := 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			out = append(out, row[start:i])
			start = i + 1
		}
	}
	return append(out, row[start:])
}

// alignments returns the alignment of each column of a delimiter row, or nil
// when the row is none.
func alignments(row string) []string {
	if strings.IndexByte(row, '|') < 0 || strings.IndexByte(row, '-') < 0 {
		return nil
	}
	for i := range len(row) {
		if strings.IndexByte("|-: \t", row[i]) < 0 {
			return nil
		}
	}
	columns := cells(row)
	out := make([]string, len(columns))
	for i, c := range columns {
		c = strings.TrimFunc(c, isBlank)
		if strings.Trim(strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":"), "-") != "" || !strings.Contains(c, "-") {
			return nil
		}
		out[i] = alignmentOf(c)
	}
	return out
}

// alignmentOf reduces a delimiter cell to its alignment.
func alignmentOf(cell string) string {
	out := "-"
	if strings.HasPrefix(cell, ":") {
		out = ":-"
	}
	if strings.HasSuffix(cell, ":") {
		out += ":"
	}
	return out
}

// frontMatterEnd returns the length of the front matter that s begins with,
// its last line break included; 0 when there is none. The block counts by its
// delimiters alone, so that bad YAML is one too.
func frontMatterEnd(s string) int {
	if !strings.HasPrefix(s, "---") || strings.TrimFunc(firstLine(s), isBlank) != "---" {
		return 0
	}
	at := len(firstLine(s)) + 1
	for at < len(s) {
		line := firstLine(s[at:])
		at += len(line) + 1
		if t := strings.TrimRightFunc(line, isBlank); t == "---" || t == "..." {
			return min(at, len(s))
		}
	}
	return 0
}
