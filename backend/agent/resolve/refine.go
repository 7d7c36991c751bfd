package resolve

import (
	"strings"
	"unicode/utf8"

	"galley/backend/text"
)

// byteEdit replaces old[from:to], in bytes, by insert.
type byteEdit struct {
	from, to int
	insert   string
}

// Refine returns the smallest word-level edits that turn old into new: applied
// to old they give new, byte for byte. Words, single CJK characters and runs of
// blanks are the units; no edit cuts a grapheme cluster. Where little is left
// of a passage it is replaced as a whole. Positions are UTF-16 units into old;
// the edits are sorted and do not overlap. Both texts are LF text.
func Refine(old, new string) []text.Edit {
	return toEdits(text.NewIndex(old), refine(old, new, exact, false))
}

// toEdits turns byte positions into UTF-16 positions.
func toEdits(ix *text.Index, edits []byteEdit) []text.Edit {
	out := make([]text.Edit, len(edits))
	for i, e := range edits {
		out[i] = text.Edit{From: ix.UTF16(e.from), To: ix.UTF16(e.to), Insert: e.insert}
	}
	return out
}

// refine returns the word-level edits that lead from old to new where c says
// what is equal; what is equal keeps old's bytes. inTable says that both begin
// within a table.
func refine(old, new string, c compare, inTable bool) []byteEdit {
	var rowsOld, rowsNew []rowKind
	if c == loose {
		rowsOld, rowsNew = tableRows(old, inTable), tableRows(new, inTable)
	}
	head, tail, line := sameEnds(old, new)
	t := newTokenizer(c)
	a := t.tokens(old[head:len(old)-tail], skipRows(rowsOld, line))
	b := t.tokens(new[head:len(new)-tail], skipRows(rowsNew, line))
	p := passage{old: old[head : len(old)-tail], new: new[head : len(new)-tail], a: a, b: b}
	edits := p.edits(p.tidy(diff(a, b)))
	for i := range edits {
		edits[i].from += head
		edits[i].to += head
	}
	return edits
}

func skipRows(rows []rowKind, n int) []rowKind {
	if n >= len(rows) {
		return nil
	}
	return rows[n:]
}

// sameEnds returns how many bytes of whole lines are the same at the start and
// at the end of both texts, and how many lines those at the start are.
func sameEnds(a, b string) (head, tail, lines int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	head = strings.LastIndexByte(a[:head], '\n') + 1
	n -= head
	for tail < n && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	// The line that the difference ends in stays whole, and the one after it:
	// what is inserted may end where that one begins.
	for range 2 {
		i := strings.IndexByte(a[len(a)-tail:], '\n')
		if i < 0 {
			tail = 0
			break
		}
		tail -= i + 1
	}
	return head, tail, strings.Count(a[:head], "\n")
}

// passage is two texts and their tokens.
type passage struct {
	old, new string
	a, b     []token
}

// edit is one edit in tokens: one change, or several with what lies between.
type edit []change

func (e edit) a0() int { return e[0].a0 }
func (e edit) a1() int { return e[len(e)-1].a1 }

// tidy turns the changes of a diff into edits that a person can read.
func (p passage) tidy(changes []change) []edit {
	p.slide(changes)
	p.handOverBreaks(changes)
	groups := make([]edit, 0, len(changes))
	for _, c := range changes {
		if c.a1-c.a0+c.b1-c.b0 > 2 && !c.deletes() && !c.inserts() && p.a[c.a0].kind == breakToken && p.b[c.b0].kind == breakToken {
			groups = append(groups, edit{change{c.a0, c.a0 + 1, c.b0, c.b0 + 1}})
			c.a0++
			c.b0++
			groups = append(groups, edit{c})
			continue
		}
		markers, c, split := p.splitMarkers(c)
		if split {
			groups = append(groups, edit{markers})
		}
		if n := len(groups); n > 0 && !split && !p.hasLead(groups[n-1]) && p.onlyBlank(groups[n-1].a1(), c.a0) {
			groups[n-1] = append(groups[n-1], c)
			continue
		}
		groups = append(groups, edit{c})
	}
	return p.condense(groups)
}

// splitMarkers splits a change that begins in the block markers of a line and
// goes on into its content: a marker is looked at by itself.
func (p passage) splitMarkers(c change) (markers, rest change, split bool) {
	i, j := c.a0, c.b0
	for i < c.a1 && p.a[i].lead {
		i++
	}
	for j < c.b1 && p.b[j].lead {
		j++
	}
	if i == c.a0 && j == c.b0 || i == c.a1 && j == c.b1 || p.breaks(c) {
		return change{}, c, false
	}
	return change{c.a0, i, c.b0, j}, change{i, c.a1, j, c.b1}, true
}

// breaks reports whether a change removes or adds a line break.
func (p passage) breaks(c change) bool {
	for _, t := range p.b[c.b0:c.b1] {
		if t.kind == breakToken {
			return true
		}
	}
	return p.hasBreak(c.a0, c.a1)
}

// hasLead reports whether an edit removes or adds block markers.
func (p passage) hasLead(e edit) bool {
	for _, c := range e {
		if c.a0 < c.a1 && p.a[c.a1-1].lead || c.b0 < c.b1 && p.b[c.b1-1].lead {
			return true
		}
	}
	return false
}

// handOverBreaks lets a line that goes away take its own break along, where the
// diff had it take that of the line before the next change.
func (p passage) handOverBreaks(changes []change) {
	for i := range len(changes) - 1 {
		c, n := &changes[i], &changes[i+1]
		if c.deletes() && n.a0 == c.a1+1 && n.a0 < n.a1 && !n.deletes() && p.startsLine(c.a0) &&
			p.a[c.a1].kind == breakToken && p.a[n.a0].kind == breakToken && equalKeys(p.a[n.a0].key, p.b[c.b1].key) {
			c.a1++
			n.a0++
		}
	}
}

// startsLine reports whether token i of a begins a line.
func (p passage) startsLine(i int) bool { return i == 0 || p.a[i-1].kind == breakToken }

// onlyBlank reports whether two changes have nothing but one blank between
// them that does not belong to a block marker.
func (p passage) onlyBlank(from, to int) bool {
	return to == from || to == from+1 && p.a[from].kind == blankToken && !p.a[from].lead
}

// slide moves insertions and deletions that could as well stand a little
// further along to the place where they read best: whole lines first, then
// what begins where a word begins.
func (p passage) slide(changes []change) {
	for i, c := range changes {
		if c.inserts() == c.deletes() {
			continue
		}
		low, high := 0, len(p.a)
		if i > 0 {
			low = changes[i-1].a1
		}
		if i+1 < len(changes) {
			high = changes[i+1].a0
		}
		best := p.score(c)
		for _, step := range []int{-1, 1} {
			for n := c; p.moves(n, step, low, high); {
				n = change{n.a0 + step, n.a1 + step, n.b0 + step, n.b1 + step}
				if s := p.score(n); s > best {
					best, changes[i] = s, n
				}
			}
		}
	}
}

// moves reports whether a pure insertion or deletion can go one token back or
// on: what it leaves at one end must be equal to what it takes at the other.
func (p passage) moves(c change, step, low, high int) bool {
	if step < 0 {
		if c.a0 <= low {
			return false
		}
		if c.inserts() {
			return equalKeys(p.a[c.a0-1].key, p.b[c.b1-1].key)
		}
		return equalKeys(p.a[c.a1-1].key, p.b[c.b0-1].key)
	}
	if c.a1 >= high {
		return false
	}
	return equalKeys(p.a[c.a0].key, p.b[c.b0].key)
}

// score says how well a pure insertion or deletion reads.
func (p passage) score(c change) int {
	tokens, from, to := p.a, c.a0, c.a1
	if c.inserts() {
		tokens, from, to = p.b, c.b0, c.b1
	}
	startsLine := from == 0 || tokens[from-1].kind == breakToken
	endsLine := to == len(tokens) || tokens[to].kind == breakToken
	first, last := tokens[from], tokens[to-1]
	switch {
	case startsLine && last.kind == breakToken && first.kind != breakToken:
		return 6
	case startsLine && last.kind == breakToken:
		return 5
	case first.kind == breakToken && endsLine:
		return 4
	case first.lead && !startsLine,
		// The outer borders of a table row have no padding on their far side.
		first.kind == pipeToken && startsLine, last.kind == pipeToken && endsLine:
		return 0
	case first.kind == wordToken && last.kind == blankToken:
		return 3
	case first.kind == blankToken && last.kind != blankToken:
		return 2
	}
	return 1
}

// The share of a stretch that must have changed for small remains to be given
// up, and how much text is no small remain, in halves of a word character.
const (
	denseShare = 0.6
	bigRemain  = 16
)

// condense joins the edits of a stretch, which is what lies between two kept
// line breaks, where more than 60 % of it changed: a few words that happen to
// be the same make no readable diff. What begins or ends the stretch, what is
// long, and Markdown syntax stay.
func (p passage) condense(groups []edit) []edit {
	out := make([]edit, 0, len(groups))
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && !p.hasBreak(groups[n-1].a1(), groups[n].a0()) {
			n++
		}
		stretch := groups[:n]
		groups = groups[n:]
		if n > 1 && p.dense(stretch, out, groups) {
			stretch = p.join(stretch)
		}
		out = append(out, stretch...)
	}
	return out
}

func (p passage) hasBreak(from, to int) bool {
	for _, t := range p.a[from:to] {
		if t.kind == breakToken {
			return true
		}
	}
	return false
}

// dense reports whether most of a stretch changed.
func (p passage) dense(stretch, before, after []edit) bool {
	from, to := 0, len(p.a)
	if len(before) > 0 {
		from = before[len(before)-1].a1()
	}
	if len(after) > 0 {
		to = after[0].a0()
	}
	for i := stretch[0].a0(); i > from; i-- {
		if p.a[i-1].kind == breakToken {
			from = i
		}
	}
	for i := stretch[len(stretch)-1].a1(); i < to; i++ {
		if p.a[i].kind == breakToken {
			to = i
		}
	}
	changed, same := 0, 0
	at := from
	for _, e := range stretch {
		for _, c := range e {
			same += 2 * p.weight(p.old, p.a[at:c.a0])
			changed += p.weight(p.old, p.a[c.a0:c.a1]) + p.weight(p.new, p.b[c.b0:c.b1])
			at = c.a1
		}
	}
	same += 2 * p.weight(p.old, p.a[at:to])
	return float64(changed) > denseShare*float64(changed+same)
}

// weight measures what tokens say, in halves of a word character.
func (p passage) weight(s string, tokens []token) int {
	n := 0
	for _, t := range tokens {
		switch t.kind {
		case wordToken:
			n += 2 * utf8.RuneCountInString(s[t.from:t.to])
		case markToken:
			n += 1
			if r, _ := utf8.DecodeRuneInString(s[t.from:]); spaceless(r) {
				n += 3
			}
		case blankToken, breakToken, pipeToken:
			// They say nothing.
		}
	}
	return n
}

// join merges the edits of a dense stretch across small remains.
func (p passage) join(stretch []edit) []edit {
	out := stretch[:1:1]
	for _, e := range stretch[1:] {
		last := out[len(out)-1]
		between := p.a[last.a1():e.a0()]
		if !p.hasLead(last) && !p.hasLead(e) && p.weight(p.old, between) < bigRemain && !p.syntax(between) {
			out[len(out)-1] = append(last[:len(last):len(last)], e...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// syntax reports whether tokens hold Markdown that is worth keeping as it is.
func (p passage) syntax(tokens []token) bool {
	for _, t := range tokens {
		if t.lead || t.kind == pipeToken || t.kind == markToken && strings.IndexByte("`[]<>$*_~|", p.old[t.from]) >= 0 {
			return true
		}
	}
	return false
}

// edits turns edits in tokens into edits in bytes. What was equal inside an
// edit keeps old's characters.
func (p passage) edits(groups []edit) []byteEdit {
	out := make([]byteEdit, 0, len(groups))
	for _, g := range groups {
		e := byteEdit{from: p.place(g.a0())}
		e.to = e.from
		var insert strings.Builder
		for _, c := range g {
			insert.WriteString(p.old[e.to:p.place(c.a0)])
			for _, t := range p.b[c.b0:c.b1] {
				insert.WriteString(p.new[t.from:t.to])
			}
			e.to = p.place(c.a1)
		}
		e.insert = insert.String()
		if e.insert != p.old[e.from:e.to] {
			out = append(out, narrow(p.old, e)...)
		}
	}
	return out
}

// narrow keeps a line break that an edit ends in on both sides, and splits the
// replacement of a table's delimiter cell into its characters: its dashes are
// no words.
func narrow(old string, e byteEdit) []byteEdit {
	cell := old[e.from:e.to]
	if strings.HasSuffix(cell, "\n") && strings.HasSuffix(e.insert, "\n") {
		// The same break stays, whatever stood before it.
		return []byteEdit{{e.from, e.to - 1, e.insert[:len(e.insert)-1]}}
	}
	if cell == "" || e.insert == "" || strings.Trim(cell, "-:") != "" || strings.Trim(e.insert, "-:") != "" || len(cell)+len(e.insert) < 4 {
		return []byteEdit{e}
	}
	if len(cell) != len(e.insert) {
		for cell != "" && e.insert != "" && cell[len(cell)-1] == e.insert[len(e.insert)-1] {
			cell, e.insert = cell[:len(cell)-1], e.insert[:len(e.insert)-1]
		}
		return []byteEdit{{from: e.from, to: e.from + len(cell), insert: e.insert}}
	}
	var out []byteEdit
	for i := range len(cell) {
		if cell[i] != e.insert[i] {
			out = append(out, byteEdit{from: e.from + i, to: e.from + i + 1, insert: e.insert[i : i+1]})
		}
	}
	return out
}

// place returns where token i of a begins.
func (p passage) place(i int) int {
	if i < len(p.a) {
		return p.a[i].from
	}
	return len(p.old)
}

// snap widens edits that begin or end inside a grapheme cluster of s to the
// cluster's borders, and joins those that meet by that.
func snap(s string, edits []byteEdit) []byteEdit {
	out := make([]byteEdit, 0, len(edits))
	for _, e := range edits {
		if n := len(out); n > 0 {
			last := &out[n-1]
			_, lastEnd := clusterAround(s, last.to)
			if start, _ := clusterAround(s, e.from); start < lastEnd {
				last.insert += s[last.to:e.from] + e.insert
				last.to = e.to
				continue
			}
		}
		out = append(out, e)
	}
	for i, e := range out {
		start, _ := clusterAround(s, e.from)
		_, end := clusterAround(s, e.to)
		out[i] = byteEdit{start, end, s[start:e.from] + e.insert + s[e.to:end]}
	}
	return out
}
