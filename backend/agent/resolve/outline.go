package resolve

import (
	"strings"
)

// lineKind says what a line is to Markdown.
type lineKind uint8

const (
	textLine lineKind = iota
	blankLine
	headingLine
	underlineLine
	breakLine // a thematic break
	fenceLine // the mark that opens or closes fenced code
	codeLine
	mathLine
	commentLine
	rowLine
	definitionLine
	frontLine
)

// mdLine is a line of a text with what Markdown makes of it. Offsets are bytes
// of the outline's text.
type mdLine struct {
	from, to int
	// body is where the content starts, behind the lead.
	body int
	kind lineKind
	lead lead
	// level is the level of the heading that the line is part of, 0 for none;
	// style is how that heading is written: "#", "# #", "=".
	level int
	style string
	// run numbers the blocks of inline text; lines of one run belong together.
	run int
	// code and table are indexes into the outline's lists, -1 for none.
	code, table int
	// callout is the type of the callout that begins here, as written.
	// inCallout is set for all its lines.
	callout   string
	inCallout bool
}

// codeBlock is a fenced or indented code block, or display math.
type codeBlock struct {
	fence fence
	// first and last are lines; a fenced block's marks are among them.
	first, last int
	math        bool
}

// table is a table's columns and the line of its delimiter row.
type table struct {
	delimiter int
	columns   string
}

// outline is a text cut into lines and blocks.
type outline struct {
	text   string
	lines  []mdLine
	codes  []codeBlock
	tables []table
}

// newOutline reads text[from:to]. from must be a place where a block begins
// that nothing before reaches into; front matter counts at 0 only.
func newOutline(text string, from, to int) *outline {
	o := &outline{text: text}
	at := from
	if from == 0 {
		for end := min(frontMatterEnd(text), to); at < end; {
			at = o.add(at, to, frontLine)
		}
	}
	r := reader{outline: o, end: to, run: 1}
	for at < to {
		at = r.read(at)
	}
	return o
}

// add appends the line at byte at and returns where the next begins.
func (o *outline) add(at, to int, kind lineKind) int {
	line := firstLine(o.text[at:to])
	o.lines = append(o.lines, mdLine{from: at, to: at + len(line), body: at, kind: kind, code: -1, table: -1})
	return min(at+len(line)+1, to)
}

// reader follows blocks from line to line.
type reader struct {
	*outline
	end int
	run int
	// inList reports that the lines since the last that was not indented belong
	// to a list, so that indentation makes no code.
	inList bool
	// callout reports that the quote being read is a callout.
	callout bool
}

// previous returns the line before the last.
func (r *reader) previous() *mdLine {
	if len(r.lines) < 2 {
		return &mdLine{kind: blankLine, code: -1, table: -1}
	}
	return &r.lines[len(r.lines)-2]
}

// read reads the block or line at byte at and returns where the next begins.
func (r *reader) read(at int) int {
	next := r.add(at, r.end, textLine)
	l := &r.lines[len(r.lines)-1]
	raw := r.text[l.from:l.to]
	l.lead = parseLead(raw)
	l.body = l.from + l.lead.end
	content := strings.TrimRightFunc(r.text[l.body:l.to], isBlank)
	prev := r.previous()
	r.quote(l, prev, content)

	switch {
	case content == "" && l.lead.list == "" && l.lead.heading == 0:
		l.kind = blankLine
		return next
	case l.lead.heading > 0:
		l.kind, l.level, l.style = headingLine, l.lead.heading, atxStyle(content)
	case isUnderline(content) && l.lead.list == "" && l.lead.indent < 4 && prev.kind == textLine && prev.lead.quotes == l.lead.quotes:
		l.kind = underlineLine
		r.underline(content)
		return next
	case isThematic(content):
		l.kind = breakLine
	default:
		if f, ok := parseFence(content); ok {
			return r.fenced(next, f)
		}
		if until := opens(content, r.text[next:r.end]); until != "" {
			return r.until(next, until)
		}
		if r.indented(l, prev) {
			l.kind = codeLine
			r.extendIndented(prev)
			return next
		}
		if isDefinition(content) {
			l.kind = definitionLine
		}
	}
	r.list(l)
	if l.kind == textLine {
		if after, ok := r.rows(next, content); ok {
			return after
		}
	}
	if l.kind != textLine || prev.kind != textLine || l.lead.list != "" || prev.lead.quotes != l.lead.quotes || isFootnoteDefinition(content) {
		r.run++
	}
	r.lines[len(r.lines)-1].run = r.run
	return next
}

// quote follows whether the line is part of a callout.
func (r *reader) quote(l, prev *mdLine, content string) {
	if l.lead.quotes == 0 {
		r.callout = false
		return
	}
	if prev.lead.quotes == 0 {
		r.callout = false
		if strings.HasPrefix(content, "[!") {
			if i := strings.IndexByte(content, ']'); i > 2 {
				l.callout, r.callout = content[:i+1], true
			}
		}
	}
	l.inCallout = r.callout
}

func atxStyle(content string) string {
	body := strings.TrimRight(content, "#")
	if len(body) < len(content) && (body == "" || isEdge(rune(body[len(body)-1]))) {
		return "# " + content[len(body):]
	}
	return "#"
}

func isUnderline(content string) bool {
	return content != "" && (strings.Trim(content, "=") == "" || strings.Trim(content, "-") == "")
}

// underline makes the paragraph before the last line a heading.
func (r *reader) underline(content string) {
	level := 1
	if content[0] == '-' {
		level = 2
	}
	last := len(r.lines) - 1
	for i := last - 1; i >= 0 && r.lines[i].kind == textLine && r.lines[i].run == r.run; i-- {
		r.lines[i].kind, r.lines[i].level, r.lines[i].style = headingLine, level, "="
	}
}

// fenced reads on to the end of a fenced code block, whose opening line was
// added.
func (r *reader) fenced(at int, f fence) int {
	first := len(r.lines) - 1
	index := len(r.codes)
	f.quotes = r.lines[first].lead.quotes
	r.list(&r.lines[first])
	r.lines[first].kind, r.lines[first].code = fenceLine, index
	for at < r.end {
		content, ok := unquote(firstLine(r.text[at:r.end]), f.quotes)
		if !ok {
			break
		}
		line := at
		at = r.add(at, r.end, codeLine)
		l := &r.lines[len(r.lines)-1]
		l.code, l.body, l.inCallout = index, line+len(r.text[line:l.to])-len(content), r.callout
		l.lead.quotes = f.quotes
		if f.closes(strings.TrimSpace(content)) {
			l.kind = fenceLine
			break
		}
	}
	r.codes = append(r.codes, codeBlock{fence: f, first: first, last: len(r.lines) - 1})
	return at
}

// until reads on to the line that ends a comment or display math.
func (r *reader) until(at int, end string) int {
	kind := mathLine
	if end == "-->" {
		kind = commentLine
	}
	first := len(r.lines) - 1
	r.lines[first].kind = kind
	for at < r.end {
		at = r.add(at, r.end, kind)
		l := &r.lines[len(r.lines)-1]
		if strings.Contains(r.text[l.from:l.to], end) {
			break
		}
	}
	if kind == mathLine {
		for i := first; i < len(r.lines); i++ {
			r.lines[i].code = len(r.codes)
		}
		r.codes = append(r.codes, codeBlock{first: first, last: len(r.lines) - 1, math: true})
	}
	return at
}

// indented reports whether a line is indented code.
func (r *reader) indented(l, prev *mdLine) bool {
	if l.lead.indent < 4 || l.lead.quotes > 0 || r.inList {
		return false
	}
	return prev.kind == blankLine || prev.kind == codeLine && prev.code >= 0 && r.codes[prev.code].fence.length == 0
}

func (r *reader) extendIndented(prev *mdLine) {
	last := len(r.lines) - 1
	l := &r.lines[last]
	l.lead = lead{indent: l.lead.indent}
	l.body = skipBlanks(r.text, l.from)
	if prev.kind == codeLine && prev.code >= 0 {
		l.code = prev.code
		r.codes[l.code].last = last
		return
	}
	l.code = len(r.codes)
	r.codes = append(r.codes, codeBlock{first: last, last: last})
}

func (r *reader) list(l *mdLine) {
	switch {
	case l.lead.list != "":
		r.inList = true
	case l.lead.indent == 0:
		r.inList = false
	}
}

// rows reads a table whose header is the line that was added last.
func (r *reader) rows(at int, header string) (int, bool) {
	header = strings.TrimFunc(header, isBlank)
	if at >= r.end || strings.IndexByte(header, '|') < 0 {
		return at, false
	}
	first := len(r.lines) - 1
	quotes := r.lines[first].lead.quotes
	raw := firstLine(r.text[at:r.end])
	columns := alignments(tableContent(raw))
	if columns == nil || len(cells(header)) != len(columns) || parseLead(raw).quotes != quotes {
		return at, false
	}
	index := len(r.tables)
	r.tables = append(r.tables, table{delimiter: first + 1, columns: strings.Join(columns, "|")})
	r.row(first, index)
	for at < r.end {
		raw := firstLine(r.text[at:r.end])
		l := parseLead(raw)
		content := strings.TrimFunc(raw[l.end:], isBlank)
		if content == "" || l.quotes != quotes || l.heading > 0 || l.list != "" || strings.IndexByte(content, '|') < 0 {
			break
		}
		at = r.add(at, r.end, rowLine)
		last := &r.lines[len(r.lines)-1]
		last.lead, last.body, last.inCallout = l, last.from+l.end, r.callout
		r.row(len(r.lines)-1, index)
	}
	return at, true
}

func (r *reader) row(line, index int) {
	r.run++
	r.lines[line].kind, r.lines[line].table, r.lines[line].run = rowLine, index, r.run
}

// isDefinition reports whether a line's content defines a link reference.
func isDefinition(content string) bool {
	label, target := definition(content)
	return label != "" && target != ""
}

// definition returns the label of a link reference definition, folded, and its
// target as written.
func definition(content string) (label, target string) {
	if !strings.HasPrefix(content, "[") || strings.HasPrefix(content, "[^") {
		return "", ""
	}
	end := labelEnd(content, 1)
	if end < 0 || end+1 >= len(content) || content[end+1] != ':' {
		return "", ""
	}
	target = destination(strings.TrimLeftFunc(content[end+2:], isBlank))
	return foldLabel(content[1:end]), target
}

// labelEnd returns the byte of the bracket that closes a label whose text
// begins at i, or -1.
func labelEnd(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[', '\n':
			return -1
		case ']':
			return i
		}
	}
	return -1
}

// destination returns the link destination that s begins with, without angle
// brackets.
func destination(s string) string {
	if strings.HasPrefix(s, "<") {
		if i := strings.IndexAny(s, ">\n"); i > 0 && s[i] == '>' {
			return s[1:i]
		}
		return ""
	}
	depth := 0
	for i, r := range s {
		switch {
		case isEdge(r) && r != 0xA0, r == ')' && depth == 0:
			return s[:i]
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
	}
	return s
}

func foldLabel(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

func isFootnoteDefinition(content string) bool {
	if !strings.HasPrefix(content, "[^") {
		return false
	}
	end := labelEnd(content, 2)
	return end > 2 && end+1 < len(content) && content[end+1] == ':'
}
