package resolve

import (
	"strings"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// target is the place in a document that an answer is for, in bytes.
type target struct {
	doc      string
	from, to int
	// sel is doc[from:to]; core is sel without blanks and line breaks at its
	// edges, which stay as they are (decision 11), and begins at coreFrom.
	sel, core string
	coreFrom  int
	caret     bool
	// prefix and suffix are the rest of the lines that the selection begins and
	// ends in.
	prefix, suffix string
	// inCode reports that the selection lies inside a fenced code block, inDiff
	// that this block, or one in the selection, is a diff.
	inCode, inDiff bool
	// inTable reports that the selection begins within a table.
	inTable bool
	// front is the length of the front matter that core begins with. inFront
	// reports that the selection is of front matter only.
	front   int
	inFront bool
	// fences are the fenced blocks of core. opensFence reports that core begins
	// with one, isFence that it is one and nothing else.
	fences              []block
	opensFence, isFence bool

	// hasty asks for an answer that may be cruder: a preview is made 30 times a
	// second.
	hasty bool

	// words and said are made when they are first asked for.
	words *bag
	said  []lineBag
}

// bag returns the words of the selection.
func (t *target) bag() bag {
	if t.words == nil {
		b := bagOf(t.core)
		t.words = &b
	}
	return *t.words
}

// lines returns the lines of the selection that say something; of a long one
// only those near its ends, where talk is to be told from text.
func (t *target) lines() []lineBag {
	if t.said == nil {
		head := firstLines(t.core, maxBags)
		lines := head
		if rest := t.core[len(strings.Join(head, "\n")):]; trimmed(rest) != "" {
			lines = append(lines, lastLines(rest, maxBags)...)
		}
		t.said = make([]lineBag, 0, len(lines))
		for _, l := range lines {
			if trimmed(l) != "" {
				t.said = append(t.said, newLineBag(l))
			}
		}
	}
	return t.said
}

// block is a fenced code block: its mark and what is in it.
type block struct {
	fence fence
	body  string
}

func newTarget(ix *text.Index, selection core.Range) *target {
	doc := ix.Text()
	t := &target{doc: doc, from: nearest(ix, selection.From), to: nearest(ix, selection.To)}
	t.to = max(t.from, t.to)
	t.sel = doc[t.from:t.to]
	t.caret = t.from == t.to
	core, at := trimEdges(t.sel)
	t.core, t.coreFrom = core, t.from+at
	lineStart := strings.LastIndexByte(doc[:t.coreFrom], '\n') + 1
	t.prefix = doc[lineStart:t.coreFrom]
	t.suffix = firstLine(doc[t.coreFrom+len(core):])
	if f, in := codeAt(doc, t.coreFrom); in {
		if _, still := codeAt(doc, t.coreFrom+len(core)); still {
			t.inCode = true
			t.inDiff = strings.EqualFold(f.info, "diff")
		}
	}
	t.inTable = t.beginsInTable(lineStart)
	if t.from == 0 {
		t.front = frontMatterEnd(t.core + "\n")
		t.front = min(t.front, len(t.core))
	}
	t.inFront = t.coreFrom+len(core) <= frontMatterEnd(doc) && core != ""
	t.fences = fencedBlocks(t.core)
	for _, b := range t.fences {
		t.inDiff = t.inDiff || strings.EqualFold(b.fence.info, "diff")
	}
	t.opensFence, t.isFence = fenceShape(strings.Split(t.core, "\n"))
	return t
}

// nearest returns the byte of a UTF-16 position, moved into range and out of a
// surrogate pair.
func nearest(ix *text.Index, pos int) int {
	pos = max(0, min(pos, ix.Len()))
	at, err := ix.Byte(pos)
	if err != nil {
		at, _ = ix.Byte(pos - 1)
	}
	return at
}

// beginsInTable reports whether the line at byte start continues a table that
// began before it.
func (t *target) beginsInTable(start int) bool {
	first := start
	for range 5000 {
		if first == 0 {
			break
		}
		previous := strings.LastIndexByte(t.doc[:first-1], '\n') + 1
		if strings.IndexByte(t.doc[previous:first], '|') < 0 {
			break
		}
		first = previous
	}
	if first == start {
		return false
	}
	rows := tableRows(t.doc[first:start+len(firstLine(t.doc[start:]))], false)
	return len(rows) > 1 && rows[len(rows)-1] != noRow && rows[len(rows)-2] != noRow
}

// edits returns the edits that make the target say body, in bytes of doc.
func (t *target) edits(body string) []byteEdit {
	if t.core == "" {
		return []byteEdit{{from: t.coreFrom, to: t.coreFrom, insert: body}}
	}
	return shift(refine(t.core, body, loose, t.inTable), t.coreFrom)
}

func shift(edits []byteEdit, by int) []byteEdit {
	for i := range edits {
		edits[i].from += by
		edits[i].to += by
	}
	return edits
}

// partialEdits returns the edits for an answer that broke off. What it had not
// come to is left alone, and so is a word that may be half there.
func (t *target) partialEdits(body string) []byteEdit {
	body = withoutLastWord(body)
	if trimmed(body) == "" {
		return nil
	}
	if t.core == "" {
		return []byteEdit{{from: t.coreFrom, to: t.coreFrom, insert: body}}
	}
	reach, body := reached(t.core, body, t.inTable)
	edits := refine(t.core[:reach], body, loose, t.inTable)
	if n := len(edits); n > 0 && reach < len(t.core) && edits[n-1].to == reach && edits[n-1].insert != "" {
		last := &edits[n-1]
		if last.from == last.to {
			last.insert = withoutUndecided(last.insert)
		}
		if last.insert == "" && last.from == last.to {
			edits = edits[:n-1]
		} else {
			last.insert += seam(t.core[:reach], last.insert, t.core[reach:])
		}
	}
	return shift(edits, t.coreFrom)
}

// withoutUndecided cuts the last line of what a cut-off answer added last when
// it is only a word or two: they may as well stand for what comes next.
func withoutUndecided(insert string) string {
	start := strings.LastIndexByte(insert, '\n') + 1
	if b := bagOf(insert[start:]); b.total > 2 {
		return insert
	}
	return strings.TrimRightFunc(insert[:start], isEdge)
}

// seam returns what must stand between the last words of a cut-off answer and
// the text it had not come to, so that they do not run together.
func seam(before, insert, after string) string {
	if strings.HasSuffix(insert, "\n") || after[0] == '\n' {
		return ""
	}
	whole := before + insert
	last, _ := utf8.DecodeLastRuneInString(whole)
	next, _ := utf8.DecodeRuneInString(after)
	startsLine := before == "" || strings.HasSuffix(before, "\n")
	switch {
	case startsLine:
		return "\n"
	case isWord(last) && isWord(next) && !spaceless(last) && !spaceless(next):
		return " "
	}
	return ""
}

// withoutLastWord cuts the word that s ends in, which may be cut off, and the
// blanks before it.
func withoutLastWord(s string) string {
	end := len(s)
	for end > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if !isWord(r) || spaceless(r) {
			break
		}
		end -= n
	}
	if end == len(s) {
		return s
	}
	return strings.TrimRightFunc(s[:end], isBlank)
}

// reached returns how much of old the cut-off answer body had come to, and what
// of body is to be compared with it: old's start that is cheapest to turn into
// body. Where the two have little in common, whole lines of body stand for as
// many of old.
func reached(old, body string, inTable bool) (int, string) {
	t := newTokenizer(loose)
	a := t.tokens(old, tableRows(old, inTable))
	b := t.tokens(body, tableRows(body, inTable))
	if end, ok := cheapest(a, b); ok {
		if end == 0 {
			return 0, body
		}
		return a[end-1].to, body
	}
	complete := strings.LastIndexByte(body, '\n')
	if complete < 0 {
		return 0, body
	}
	n := 0
	for _, l := range strings.Split(body[:complete], "\n") {
		if trimmed(l) != "" {
			n++
		}
	}
	at := 0
	for n > 0 && at < len(old) {
		line := firstLine(old[at:])
		if trimmed(line) != "" {
			if n--; n == 0 {
				return at + len(line), strings.TrimRightFunc(body[:complete], isEdge)
			}
		}
		at += len(line) + 1
	}
	return 0, body
}

// cheapest returns how many tokens of a are cheapest to turn into b; false when
// most of b would be new.
func cheapest(a, b []token) (int, bool) {
	limit := min(len(b)/2+2, maxCost)
	reach := make([]int, 2*limit+3)
	zero := limit + 1
	for i := range reach {
		reach[i] = -1
	}
	reach[zero+1] = 0
	for cost := 0; cost <= limit; cost++ {
		best := -1
		for k := -cost; k <= cost; k += 2 {
			// k is the position in a less that in b.
			x := 0
			switch k {
			case -cost:
				x = reach[zero+k+1]
			case cost:
				x = reach[zero+k-1] + 1
			default:
				x = max(reach[zero+k-1]+1, reach[zero+k+1])
			}
			y := x - k
			for x < len(a) && y < len(b) && y >= 0 && equalKeys(a[x].key, b[y].key) {
				x++
				y++
			}
			reach[zero+k] = x
			if y >= len(b) && x <= len(a) {
				best = max(best, x)
			}
		}
		if best >= 0 {
			return best, true
		}
	}
	return 0, false
}
