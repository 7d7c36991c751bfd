package resolve

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/agent/core"
)

// thing is something in a text that a change must not touch unnoticed:
// text[from:to], in bytes of the whole text. Two things of a kind are the same
// when their values are.
type thing struct {
	kind     core.Warning
	value    string
	from, to int
	// inner is what value stands for, without marks round it.
	inner span
}

// inliner collects the things of one outline.
type inliner struct {
	o *outline
	// labels are the link labels that the document defines, folded.
	labels labelSet
	things []thing
}

// collect returns the things of an outline in the order of the text, kind by
// kind.
func collect(o *outline, labels labelSet) []thing {
	in := &inliner{o: o, labels: labels}
	in.blocks()
	for i := 0; i < len(o.lines); {
		j := i + 1
		l := o.lines[i]
		if l.run > 0 {
			for j < len(o.lines) && o.lines[j].run == l.run {
				j++
			}
			in.inline(i, j)
		}
		i = j
	}
	for _, l := range o.lines {
		if l.kind != frontLine {
			in.dates(l.from, l.to)
		}
	}
	if len(o.lines) > 0 {
		in.invisible(o.lines[0].from, o.lines[len(o.lines)-1].to)
	}
	return in.things
}

func (in *inliner) add(kind core.Warning, value string, from, to int) {
	in.addMarked(kind, value, span{from, to}, span{from, to})
}

// addMarked adds a thing that has marks round what it says.
func (in *inliner) addMarked(kind core.Warning, value string, outer, inner span) {
	in.things = append(in.things, thing{kind, value, outer.from, outer.to, inner})
}

// blocks collects what whole lines say.
func (in *inliner) blocks() {
	o := in.o
	front := -1
	for i, l := range o.lines {
		switch {
		case l.kind == frontLine:
			front = i
		case l.lead.quotes > 0 && !l.inCallout && l.kind != blankLine:
			if body := strings.TrimFunc(o.text[l.body:l.to], isBlank); body != "" {
				in.addMarked(core.WarnQuotation, "> "+foldQuotes(body), span{l.from, l.to}, span{l.body, l.to})
			}
		}
		if l.kind == definitionLine {
			label, target := definition(o.text[l.body:l.to])
			in.add(core.WarnLink, "["+label+"]: "+target, l.from, l.to)
		}
	}
	if front >= 0 {
		in.add(core.WarnFrontMatter, o.text[:o.lines[front].to], 0, o.lines[front].to)
	}
	for _, c := range o.codes {
		outer := span{o.lines[c.first].from, o.lines[c.last].to}
		inner := outer
		if o.lines[c.first].kind == fenceLine && c.last > c.first {
			inner.from = o.lines[c.first+1].from
			if last := o.lines[c.last]; last.kind == fenceLine {
				inner.to = max(inner.from, last.from)
			}
		}
		var body strings.Builder
		for i := c.first; i <= c.last; i++ {
			if l := o.lines[i]; l.kind != fenceLine {
				body.WriteString(o.text[l.body:l.to])
				body.WriteByte('\n')
			}
		}
		in.addMarked(core.WarnCode, body.String(), outer, inner)
	}
}

// run is inline text with its masks: what is no prose.
type run struct {
	text string
	// starts are the lines' starts in text, from their places in the document.
	starts, from []int
	masked       []bool
	// cells reports that pipes separate cells.
	cells bool
}

// at returns the document's byte of byte i of the run.
func (r *run) at(i int) int {
	k := len(r.starts) - 1
	for k > 0 && r.starts[k] > i {
		k--
	}
	return r.from[k] + i - r.starts[k]
}

func (r *run) mask(from, to int) {
	for i := from; i < to && i < len(r.masked); i++ {
		r.masked[i] = true
	}
}

// inline collects the things of lines first to last, which are one run of
// inline text.
func (in *inliner) inline(first, last int) {
	if in.o.lines[first].kind == definitionLine {
		return
	}
	var b strings.Builder
	r := &run{cells: in.o.lines[first].kind == rowLine}
	for i := first; i < last; i++ {
		l := in.o.lines[i]
		if l.kind == rowLine && in.o.tables[l.table].delimiter == i {
			return
		}
		r.starts = append(r.starts, b.Len())
		r.from = append(r.from, l.body)
		b.WriteString(in.o.text[l.body:l.to])
		b.WriteByte('\n')
	}
	r.text = b.String()
	r.masked = make([]bool, len(r.text))
	in.scan(r)
	in.numbers(r)
	in.quotations(r)
}

// scan finds code, math, links, footnotes and tags, and masks them.
func (in *inliner) scan(r *run) {
	s := r.text
	var open []int
	if strings.HasPrefix(s, "[!") {
		// A callout's type.
		if i := strings.IndexByte(s, ']'); i > 0 {
			r.mask(0, i+1)
		}
	}
	for i := 0; i < len(s); {
		n := 0
		switch s[i] {
		case '\\':
			if n = in.parenMath(r, i); n == 0 {
				n = 2
			}
		case '`':
			n = in.codeSpan(r, i)
		case '$':
			n = in.dollarMath(r, i)
		case '<':
			n = in.angle(r, i)
		case '[':
			if n = in.bracket(r, i); n == 0 {
				open = append(open, i)
			}
		case ']':
			if len(open) > 0 {
				start := open[len(open)-1]
				open = open[:len(open)-1]
				n = in.closeLink(r, start, i)
			}
		case 'h', 'H', 'w', 'W':
			n = in.bareURL(r, i)
		}
		i += max(n, 1)
	}
}

func (in *inliner) codeSpan(r *run, i int) int {
	ticks := runLength(r.text[i:], '`')
	end := closingTicks(r.text, i+ticks, ticks)
	if end < 0 {
		return ticks
	}
	in.addMarked(core.WarnCode, r.text[i+ticks:end-ticks], span{r.at(i), r.at(end-1) + 1}, span{r.at(i + ticks), r.at(end-ticks-1) + 1})
	r.mask(i, end)
	return end - i
}

func (in *inliner) math(r *run, i, end int) int {
	in.add(core.WarnCode, r.text[i:end], r.at(i), r.at(end-1)+1)
	r.mask(i, end)
	return end - i
}

func (in *inliner) parenMath(r *run, i int) int {
	if !strings.HasPrefix(r.text[i:], `\(`) {
		return 0
	}
	end := strings.Index(r.text[i:], `\)`)
	if end < 0 {
		return 0
	}
	return in.math(r, i, i+end+2)
}

// dollarMath reads $…$ or $$…$$: no blank inside the marks, no digit behind
// them, so that prices are no math.
func (in *inliner) dollarMath(r *run, i int) int {
	s := r.text
	marks := runLength(s[i:], '$')
	if marks > 2 || i+marks >= len(s) || isEdge(rune(s[i+marks])) {
		return marks
	}
	for j := i + marks; j < len(s); {
		switch s[j] {
		case '\\':
			j += 2
		case '`':
			return marks
		case '$':
			n := runLength(s[j:], '$')
			after := byte(0)
			if j+n < len(s) {
				after = s[j+n]
			}
			if n == marks && !isEdge(rune(s[j-1])) && (after < '0' || after > '9') {
				return in.math(r, i, j+n)
			}
			j += n
		default:
			j++
		}
	}
	return marks
}

var (
	autolinkForm  = regexp.MustCompile(`^<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>`)
	tagForm       = regexp.MustCompile(`^</?[a-zA-Z][^<>]*>`)
	attributeForm = regexp.MustCompile(`(?i)\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	urlForm       = regexp.MustCompile(`^(?i:https?://|www\.)[!-;=?-~]+`)
	numberForm    = regexp.MustCompile(`\p{Nd}+(?:[.,:/]\p{Nd}+)*[%％]?`)
	dateForm      = regexp.MustCompile(`(?i)\p{Nd}{4}-\p{Nd}{1,2}-\p{Nd}{1,2}|\p{Nd}{4}/\p{Nd}{1,2}/\p{Nd}{1,2}` +
		`|\p{Nd}{1,2}(?:st|nd|rd|th)? (?:` + months + `)\.?,? \p{Nd}{4}|(?:` + months + `)\.? \p{Nd}{1,2}(?:st|nd|rd|th)?,? \p{Nd}{4}` +
		`|(?:\p{Nd}{2,4} ?年 ?)?\p{Nd}{1,2} ?月 ?\p{Nd}{1,2} ?日`)
)

const months = `January|February|March|April|May|June|July|August|September|October|November|December|` +
	`Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec`

// angle reads an autolink, a comment or a tag.
func (in *inliner) angle(r *run, i int) int {
	s := r.text[i:]
	if m := autolinkForm.FindStringSubmatch(s); m != nil {
		in.add(core.WarnLink, m[1], r.at(i), r.at(i+len(m[0])-1)+1)
		r.mask(i, i+len(m[0]))
		return len(m[0])
	}
	if strings.HasPrefix(s, "<!--") {
		if end := strings.Index(s, "-->"); end > 0 {
			r.mask(i, i+end+3)
			return end + 3
		}
	}
	tag := tagForm.FindString(s)
	for _, m := range attributeForm.FindAllStringSubmatch(tag, -1) {
		in.add(core.WarnLink, m[1]+m[2]+m[3], r.at(i), r.at(i+len(tag)-1)+1)
	}
	r.mask(i, i+len(tag))
	return len(tag)
}

// bracket reads a wikilink or a footnote; 0 for any other opening bracket.
func (in *inliner) bracket(r *run, i int) int {
	s := r.text[i:]
	switch {
	case strings.HasPrefix(s, "[["):
		end := strings.Index(s, "]]")
		if end < 0 || strings.Contains(s[:end], "\n") {
			return 0
		}
		target, _, named := strings.Cut(s[2:end], "|")
		target = strings.TrimSuffix(target, `\`)
		in.add(core.WarnLink, "[["+target+"]]", r.at(i), r.at(i+end+1)+1)
		if r.mask(i, i+2+len(target)+1); !named {
			r.mask(i, i+end+2)
		}
		return end + 2
	case strings.HasPrefix(s, "[^"):
		end := labelEnd(s, 2)
		if end <= 2 || strings.IndexFunc(s[2:end], isEdge) >= 0 {
			return 0
		}
		value := s[:end+1]
		if i == 0 && end+1 < len(s) && s[end+1] == ':' {
			value += ":"
		}
		in.add(core.WarnFootnote, value, r.at(i), r.at(i+end)+1)
		r.mask(i, i+end+1)
		return end + 1
	}
	return 0
}

// closeLink reads what follows the bracket that closes a link's text.
func (in *inliner) closeLink(r *run, open, i int) int {
	s := r.text
	rest := s[i+1:]
	switch {
	case strings.HasPrefix(rest, "("):
		end := inlineEnd(rest)
		if end < 0 {
			break
		}
		target := destination(strings.TrimLeftFunc(rest[1:], isEdge))
		in.addMarked(core.WarnLink, target, span{r.at(open), r.at(i+end) + 1}, span{r.at(i), r.at(i+end) + 1})
		r.mask(i, i+end+1)
		return end + 1
	case strings.HasPrefix(rest, "["):
		end := labelEnd(rest, 1)
		if end < 0 {
			break
		}
		label := rest[1:end]
		if label == "" {
			label = s[open+1 : i]
		}
		if label = foldLabel(label); in.labels[label] {
			in.addMarked(core.WarnLink, "["+label+"]", span{r.at(open), r.at(i+1+end) + 1}, span{r.at(i), r.at(i+1+end) + 1})
			r.mask(i, i+2+end)
			return end + 2
		}
	}
	if label := foldLabel(s[open+1 : i]); in.labels[label] {
		in.add(core.WarnLink, "["+label+"]", r.at(open), r.at(i)+1)
	}
	return 1
}

// inlineEnd returns the byte of the parenthesis that closes "(destination
// "title")", or -1.
func inlineEnd(s string) int {
	i := 1 + len(s[1:]) - len(strings.TrimLeftFunc(s[1:], isEdge))
	target := destination(s[i:])
	if strings.HasPrefix(s[i:], "<") {
		i += 2
	}
	i += len(target)
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
		i++
	}
	if i < len(s) && strings.IndexByte(`"'(`, s[i]) >= 0 {
		closing := s[i]
		if closing == '(' {
			closing = ')'
		}
		end := strings.IndexByte(s[i+1:], closing)
		if end < 0 {
			return -1
		}
		for i += end + 2; i < len(s) && isEdge(rune(s[i])); {
			i++
		}
	}
	if i < len(s) && s[i] == ')' {
		return i
	}
	return -1
}

func (in *inliner) bareURL(r *run, i int) int {
	if i > 0 {
		if before, _ := utf8.DecodeLastRuneInString(r.text[:i]); isWord(before) && !spaceless(before) {
			return 0
		}
	}
	url := urlForm.FindString(r.text[i:])
	for url != "" {
		last := url[len(url)-1]
		if strings.IndexByte("?!.,:;*_~'\"|`]", last) >= 0 || last == ')' && strings.Count(url, ")") > strings.Count(url, "(") {
			url = url[:len(url)-1]
			continue
		}
		break
	}
	if j := strings.IndexAny(url, "[]`"); j >= 0 {
		url = url[:j]
	}
	if !strings.Contains(strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://"), ".") && !strings.Contains(url, "://") {
		return 0
	}
	in.add(core.WarnLink, url, r.at(i), r.at(i+len(url)-1)+1)
	r.mask(i, i+len(url))
	return len(url)
}

// numbers collects digits in prose and cells that are part of no date.
func (in *inliner) numbers(r *run) {
	dates := findDates(r.text)
	for _, m := range numberForm.FindAllStringIndex(r.text, -1) {
		if r.masked[m[0]] || r.masked[m[1]-1] || within(m, dates) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(r.text[m[1]:]); next == 0xFE0F || next == 0x20E3 {
			continue // A keycap emoji.
		}
		in.add(core.WarnNumber, r.text[m[0]:m[1]], r.at(m[0]), r.at(m[1]-1)+1)
	}
}

func within(m []int, dates [][]int) bool {
	for _, d := range dates {
		if m[0] < d[1] && m[1] > d[0] {
			return true
		}
	}
	return false
}

// findDates returns the dates of s, none of them part of a longer number.
func findDates(s string) [][]int {
	if strings.IndexFunc(s, unicode.IsDigit) < 0 {
		return nil
	}
	var out [][]int
	for _, m := range dateForm.FindAllStringIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		after, _ := utf8.DecodeRuneInString(s[m[1]:])
		if !unicode.IsDigit(before) && !unicode.IsDigit(after) {
			out = append(out, m)
		}
	}
	return out
}

func (in *inliner) dates(from, to int) {
	s := in.o.text[from:to]
	for _, m := range findDates(s) {
		in.add(core.WarnDate, s[m[0]:m[1]], from+m[0], from+m[1])
	}
}

// quotations collects the words between quotation marks.
func (in *inliner) quotations(r *run) {
	type mark struct {
		close rune
		at    int // behind the mark
		start int
	}
	var open []mark
	push := func(close rune, i, n int) { open = append(open, mark{close, i + n, i}) }
	for i, c := range r.text {
		n := utf8.RuneLen(c)
		if r.masked[i] || !strings.ContainsRune(`“”"„‟「」『』«»|`, c) {
			continue
		}
		if c == '|' {
			if r.cells {
				open = open[:0] // A quotation does not leave its cell.
			}
			continue
		}
		k := len(open) - 1
		for k >= 0 && !closesQuote(open[k].close, c) {
			k--
		}
		if k >= 0 {
			m := open[k]
			open = open[:k]
			in.addMarked(core.WarnQuotation, foldQuotes(r.text[m.at:i]), span{r.at(m.start), r.at(i) + n}, span{r.at(m.at), r.at(i)})
			continue
		}
		switch c {
		case '“', '"', '‟':
			push('"', i, n)
		case '„':
			push('“', i, n)
		case '「':
			push('」', i, n)
		case '『':
			push('』', i, n)
		case '«':
			push('»', i, n)
		case '»':
			push('«', i, n)
		}
	}
}

// closesQuote reports whether c closes a quotation that want closes. Straight
// and curly marks close each other.
func closesQuote(want, c rune) bool {
	switch want {
	case '"':
		return c == '”' || c == '"'
	case '“':
		return c == '“' || c == '”' || c == '"'
	}
	return c == want
}

// foldQuotes returns words as quotations are compared: quote style does not
// count.
func foldQuotes(s string) string {
	return strings.Map(func(r rune) rune {
		switch r = foldRune(r); r {
		case '「', '」', '『', '』', '«', '»':
			return '"'
		}
		return r
	}, s)
}

// invisible collects characters that show nothing: zero-width ones, direction
// marks, soft hyphens, tags. Joiners and tags inside an emoji are none.
func (in *inliner) invisible(from, to int) {
	s := in.o.text[from:to]
	if ascii(s) {
		return
	}
	for i, r := range s {
		if !isInvisible(r) {
			continue
		}
		if r == 0x200D || r >= 0xE0020 && r <= 0xE007F {
			if start, end := clusterAround(s, i); end > start && isEmoji(s[start:end]) {
				continue
			}
		}
		in.add(core.WarnInvisible, string(r), from+i, from+i+utf8.RuneLen(r))
	}
}

func isInvisible(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x115F, r == 0x1160, r == 0x180E, r == 0x3164, r == 0xFEFF, r == 0xFFA0:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	}
	return r >= 0xE0000 && r <= 0xE007F
}

// isEmoji reports whether a cluster is an emoji: a joiner between pictures, or
// a flag spelt in tags that ends as it must.
func isEmoji(cluster string) bool {
	first, _ := utf8.DecodeRuneInString(cluster)
	if first == 0x1F3F4 && strings.ContainsRune(cluster, 0xE007F) {
		return true
	}
	picture := first >= 0x1F000 || first >= 0x2190 && first <= 0x2BFF || first == 0xA9 || first == 0xAE || first == 0x3030 || first == 0x303D
	return picture && strings.IndexFunc(cluster, func(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }) < 0
}
