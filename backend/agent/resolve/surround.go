package resolve

import "strings"

// stripContext cuts an answer that repeats what stands right before or after
// the selection down to the part for the selection (decision 8).
func (t *target) stripContext(body string) string {
	lines := strings.Split(body, "\n")
	if from, to, ok := t.ownLines(lines); ok {
		body = strings.Join(lines[from:to], "\n")
	}
	return t.stripLineRest(body)
}

// numbered is a line that says something, with its place among all lines.
type numbered struct {
	lineBag
	at int
}

func sayingLines(lines []string) []numbered {
	var out []numbered
	for i, l := range lines {
		if trimmed(l) != "" {
			out = append(out, numbered{lineBag{text: l, key: lineKey(l)}, i})
		}
	}
	return out
}

// The bounds of the alignment of an answer with the document.
const (
	maxCells      = 1 << 18
	maxHastyCells = 1 << 14
	// edgeLines is how many lines at either end of an answer are looked at for
	// a repetition.
	edgeLines = 4
)

// ownLines returns which lines of the answer are for the selection; false when
// the answer repeats nothing of what surrounds it.
func (t *target) ownLines(lines []string) (from, to int, ok bool) {
	lineStart := t.coreFrom - len(t.prefix)
	lineEnd := t.coreFrom + len(t.core) + len(t.suffix)
	if trimmed(t.doc[:lineStart]) == "" && trimmed(t.doc[lineEnd:]) == "" {
		return 0, 0, false
	}
	answer := sayingLines(lines)
	if len(answer) < 2 && !t.caret || len(answer) == 0 {
		return 0, 0, false
	}
	before := sayingLines(lastLines(t.doc[:lineStart], 2*len(lines)+8))
	after := sayingLines(firstLines(t.doc[lineEnd:], 2*len(lines)+8))
	if !repeats(answer[:min(edgeLines, len(answer))], before) && !repeats(answer[max(0, len(answer)-edgeLines):], after) {
		return 0, 0, false
	}
	var own []numbered
	if t.core != "" || trimmed(t.prefix+t.suffix) != "" {
		own = sayingLines(strings.Split(t.prefix+t.core+t.suffix, "\n"))
	}
	budget := maxCells
	if t.hasty {
		budget = maxHastyCells
	}
	a := newAlignment(before, own, after, answer, budget)
	if a == nil {
		return 0, 0, false
	}
	first, last := a.own()
	if first == 0 && last == len(answer) {
		return 0, 0, false
	}
	from, to = 0, len(lines)
	if first > 0 {
		from = answer[first-1].at + 1
	}
	if last < len(answer) {
		to = answer[last].at
	}
	return from, max(from, to), true
}

// repeats reports whether a line of part says the same as one of around.
func repeats(part, around []numbered) bool {
	for _, p := range part {
		for _, l := range around {
			if p.key == l.key {
				return true
			}
		}
	}
	return false
}

// lastLines returns the last n lines of s that say something, and those
// between.
func lastLines(s string, n int) []string {
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	at := len(s)
	for n > 0 && at > 0 {
		start := strings.LastIndexByte(s[:at], '\n') + 1
		if trimmed(s[start:at]) != "" {
			n--
		}
		at = max(start-1, 0)
	}
	if at > 0 {
		at++
	}
	return strings.Split(s[at:], "\n")
}

// firstLines returns the first n lines of s that say something, and those
// between.
func firstLines(s string, n int) []string {
	at := 0
	for n > 0 && at < len(s) {
		line := firstLine(s[at:])
		if trimmed(line) != "" {
			n--
		}
		at += min(len(line)+1, len(s)-at)
	}
	return strings.Split(s[:at], "\n")
}

// alignment lines an answer up with the document round the selection.
type alignment struct {
	// doc is what stands before the selection, the lines it touches, and what
	// stands after; doc[ownFrom:ownTo] are the selection's.
	doc, answer    []numbered
	ownFrom, ownTo int
	// partner is, for each line of the answer, a line of doc, or -1.
	partner []int
	// score is the table of the part that is aligned line by line:
	// doc[docFrom:docTo] and answer[from:to].
	score                    [][]float32
	docFrom, docTo, from, to int
}

const (
	skipLine = -0.6
	// addLine is what a line costs that the document has not, where lines may
	// well be added: within the selection.
	addLine = -0.3
)

// newAlignment finds the best alignment. Lines before the first that is
// repeated and after the last cost nothing, those between do. Of long texts
// only what lies between the last line that certainly stands before the
// selection and the first that certainly stands behind it is aligned line by
// line. It returns nil where that is more than budget allows.
func newAlignment(before, own, after, answer []numbered, budget int) *alignment {
	a := &alignment{answer: answer, ownFrom: len(before), ownTo: len(before) + len(own)}
	a.doc = append(append(append(a.doc, before...), own...), after...)
	a.docTo, a.to = len(a.doc), len(answer)
	a.partner = make([]int, len(answer))
	for j := range a.partner {
		a.partner[j] = -1
	}
	if a.cells() > budget {
		a.narrow()
	}
	if a.cells() > budget {
		return nil
	}
	for i := a.docFrom; i < a.docTo; i++ {
		a.doc[i].bag = bagOf(a.doc[i].text)
	}
	for j := a.from; j < a.to; j++ {
		answer[j].bag = bagOf(answer[j].text)
	}
	n, m := a.docTo-a.docFrom, a.to-a.from
	a.score = make([][]float32, n+1)
	for i := range a.score {
		a.score[i] = make([]float32, m+1)
		for j := range a.score[i] {
			if i > 0 || j > 0 {
				a.score[i][j], _ = a.best(i, j)
			}
		}
	}
	a.trace()
	return a
}

func (a *alignment) cells() int { return (a.docTo - a.docFrom + 1) * (a.to - a.from + 1) }

// narrow pairs lines that occur once on both sides, and their neighbours as far
// as those are equal, and leaves what lies between for the table.
func (a *alignment) narrow() {
	for _, p := range anchors(hashed(a.doc), hashed(a.answer)) {
		for i, j := p.a, p.b; i < len(a.doc) && j < len(a.answer) && a.doc[i].key == a.answer[j].key; i, j = i+1, j+1 {
			if i < a.ownFrom && i >= a.docFrom && j >= a.from {
				a.partner[j] = i
				a.docFrom, a.from = i+1, j+1
			}
			if i >= a.ownTo && j >= a.from {
				a.partner[j] = i
				if i < a.docTo {
					a.docTo, a.to = i, j
				}
			}
		}
	}
	// The lines right before the first that stands behind.
	for a.docTo > a.ownTo && a.to > a.from && a.doc[a.docTo-1].key == a.answer[a.to-1].key {
		a.docTo--
		a.to--
		a.partner[a.to] = a.docTo
	}
}

// hashed returns lines as they are paired by what they say.
func hashed(lines []numbered) []tokenLine {
	out := make([]tokenLine, len(lines))
	for i, l := range lines {
		hash := uint64(14695981039346656037)
		for k := range len(l.key) {
			hash = (hash ^ uint64(l.key[k])) * 1099511628211
		}
		out[i] = tokenLine{from: i, to: i + 1, hash: hash}
	}
	return out
}

// step is the last move of a best path.
type step uint8

const (
	match step = iota
	skipDoc
	skipAnswer
)

func (a *alignment) best(i, j int) (float32, step) {
	best, how := float32(-1e9), match
	if i > 0 && j > 0 {
		if s := compareLines(a.doc[a.docFrom+i-1].lineBag, a.answer[a.from+j-1].lineBag); s >= 0.5 {
			best = a.score[i-1][j-1] + float32(2*s)
		}
	}
	if i > 0 {
		cost := float32(skipLine)
		if j == 0 && a.docFrom+i <= a.ownFrom && a.from == 0 || j == a.to-a.from && a.docFrom+i > a.ownTo && a.to == len(a.answer) {
			cost = 0
		}
		if s := a.score[i-1][j] + cost; s > best {
			best, how = s, skipDoc
		}
	}
	if j > 0 {
		cost := float32(skipLine)
		if at := a.docFrom + i; at >= a.ownFrom && at <= a.ownTo {
			cost = addLine
		}
		if s := a.score[i][j-1] + cost; s > best {
			best, how = s, skipAnswer
		}
	}
	return best, how
}

// trace finds each answer line's partner.
func (a *alignment) trace() {
	i, j := a.docTo-a.docFrom, a.to-a.from
	for i > 0 || j > 0 {
		_, how := a.best(i, j)
		switch how {
		case match:
			i--
			j--
			a.partner[a.from+j] = a.docFrom + i
		case skipDoc:
			i--
		default:
			j--
		}
	}
}

// own returns the half-open range of answer lines that are for the selection.
func (a *alignment) own() (from, to int) {
	from, to = 0, len(a.answer)
	if n := a.repeatedBefore(); n > 0 {
		from = n
	}
	if n := a.repeatedAfter(); n > 0 {
		to -= n
	}
	return from, max(from, to)
}

// repeatedBefore returns how many lines at the start of the answer repeat what
// stands right before the selection.
func (a *alignment) repeatedBefore() int {
	last, firstDoc, matched, exact := -1, -1, 0, 0
	for j, p := range a.partner {
		if p >= 0 && p < a.ownFrom {
			if firstDoc < 0 {
				firstDoc = p
			}
			last = j
			matched++
			if a.doc[p].key == a.answer[j].key {
				exact++
			}
		}
	}
	if exact == 0 || 2*matched < a.ownFrom-firstDoc {
		return 0
	}
	// Lines right before the selection that came back in other words.
	missing := a.ownFrom - 1 - a.partner[last]
	for missing > 0 && last+1 < len(a.partner) && a.partner[last+1] < 0 && a.laterOwn(last+1) {
		missing--
		last++
	}
	return last + 1
}

// laterOwn reports whether a line of the selection comes back after answer line
// j.
func (a *alignment) laterOwn(j int) bool {
	for _, p := range a.partner[j+1:] {
		if p >= a.ownFrom && p < a.ownTo {
			return true
		}
	}
	return false
}

// repeatedAfter returns how many lines at the end of the answer repeat what
// stands right after the selection.
func (a *alignment) repeatedAfter() int {
	first, lastDoc, matched, exact := -1, -1, 0, 0
	for j, p := range a.partner {
		if p >= a.ownTo {
			if first < 0 {
				first = j
			}
			lastDoc = p
			matched++
			if a.doc[p].key == a.answer[j].key {
				exact++
			}
		}
	}
	if exact == 0 || 2*matched < lastDoc-a.ownTo+1 {
		return 0
	}
	missing := a.partner[first] - a.ownTo
	for missing > 0 && first > 0 && a.partner[first-1] < 0 && a.earlierOwn(first-1) {
		missing--
		first--
	}
	return len(a.answer) - first
}

func (a *alignment) earlierOwn(j int) bool {
	for _, p := range a.partner[:j] {
		if p >= a.ownFrom && p < a.ownTo {
			return true
		}
	}
	return false
}

// stripLineRest cuts what an answer repeats of the lines that the selection
// begins and ends in.
func (t *target) stripLineRest(body string) string {
	if own := parseLead(t.prefix); own.end < len(t.prefix) {
		start := strings.TrimLeftFunc(body, isEdge)
		n := matchFolded(start, t.prefix)
		if n > 0 && t.longEnough(t.prefix, strings.HasSuffix(lineKey(start), lineKey(t.suffix)) && trimmed(t.suffix) != "") &&
			matchFolded(t.core, t.prefix) == 0 {
			body = start[n:]
		}
	}
	if rest := trimmed(t.suffix); rest != "" {
		end := strings.TrimRightFunc(body, isEdge)
		key := lineKey(rest)
		if t.longEnough(rest, false) && !strings.HasSuffix(lineKey(lastLine(t.core)), key) {
			if n := matchFoldedEnd(end, rest); n > 0 {
				body = strings.TrimRightFunc(end[:len(end)-n], isBlank)
			}
		}
	}
	return body
}

// longEnough reports whether a piece is long enough for its repetition to be
// no accident. certain says that more speaks for it.
func (t *target) longEnough(piece string, certain bool) bool {
	b := bagOf(piece)
	return b.total >= 3 || certain && b.total >= 1
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// matchFoldedEnd returns how many bytes at the end of s are equal to suffix by
// decision 13, or 0.
func matchFoldedEnd(s, suffix string) int {
	if strings.HasSuffix(s, suffix) {
		return len(suffix)
	}
	t := newTokenizer(loose)
	want := t.tokens(suffix, nil)
	start := strings.LastIndexByte(s, '\n') + 1
	have := t.tokens(s[start:], nil)
	if len(want) == 0 || len(have) < len(want) {
		return 0
	}
	have = have[len(have)-len(want):]
	for i := range want {
		if !equalKeys(want[i].key, have[i].key) {
			return 0
		}
	}
	return len(s) - start - have[0].from
}
