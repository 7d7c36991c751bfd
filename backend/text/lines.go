package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// A part holds about partSize bytes, so that an edit copies no more than a few
// parts and the list of parts, whatever the length of the text.
const (
	partSize = 16 << 10
	partMin  = 4 << 10
	partMax  = 32 << 10
)

// Lines is a text and the ending of each of its breaks. It is immutable:
// editing gives a new Lines that shares all that was not touched. The text is
// valid UTF-8 without CR. The zero value is the empty text.
type Lines struct {
	parts  []part
	units  int
	bytes  int
	breaks int
}

// part is a piece of the text that begins and ends between characters.
type part struct {
	text string
	// units is the text's length in UTF-16 units.
	units int
	// endings holds a mark for each break of the text.
	endings string
}

// NewLines returns the lines of a text whose breaks have the endings of runs.
// It refuses, as invalid_input, a text with CR or with what is no valid UTF-8,
// and runs that do not name exactly its breaks.
func NewLines(s string, runs []EndingRun) (Lines, error) {
	switch {
	case strings.IndexByte(s, '\r') >= 0:
		return Lines{}, refuse("text holds a carriage return")
	case !utf8.ValidString(s):
		return Lines{}, refuse("text is not valid UTF-8")
	}
	marks, err := marksOf(runs, strings.Count(s, "\n"))
	if err != nil {
		return Lines{}, err
	}
	return newLines(s, marks), nil
}

func newLines(s, marks string) Lines {
	var b linesBuilder
	b.cut(s, marks)
	return b.out
}

// Len returns the text's length in UTF-16 units.
func (l Lines) Len() int { return l.units }

// Size returns the text's length in bytes.
func (l Lines) Size() int { return l.bytes }

// Breaks returns the number of line breaks.
func (l Lines) Breaks() int { return l.breaks }

// Text returns the text, LF only.
func (l Lines) Text() string {
	if len(l.parts) == 1 {
		return l.parts[0].text
	}
	var out strings.Builder
	out.Grow(l.bytes)
	for _, p := range l.parts {
		out.WriteString(p.text)
	}
	return out.String()
}

// Digest returns the digest of the text, as [Digest] does.
func (l Lines) Digest() string {
	h := sha256.New()
	// In small pieces: a hash takes bytes, and a copy of the whole would go
	// through memory once more.
	piece := make([]byte, 32<<10)
	for _, p := range l.parts {
		for s := p.text; s != ""; {
			n := copy(piece, s)
			_, _ = h.Write(piece[:n]) // a hash never fails to write
			s = s[n:]
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Endings returns the endings of all breaks in order; never nil.
func (l Lines) Endings() []EndingRun {
	runs := []EndingRun{}
	for _, p := range l.parts {
		runs = addRuns(runs, p.endings)
	}
	return runs
}

// Count counts the breaks by their endings.
func (l Lines) Count() EndingCount {
	var n EndingCount
	for _, p := range l.parts {
		n.add(p.endings)
	}
	return n
}

// Slice returns the text between two UTF-16 positions. It fails with
// invalid_input when they are out of range, out of order or inside a pair.
func (l Lines) Slice(from, to int) (string, error) {
	places, err := l.places([]Edit{{From: from, To: to}})
	if err != nil {
		return "", err
	}
	s, _ := l.between(places[0].from, places[0].to)
	return s, nil
}

// Equal reports whether both have the same text and the same endings. Parts
// that both share cost next to nothing.
func (l Lines) Equal(other Lines) bool {
	if l.units != other.units || l.bytes != other.bytes || l.breaks != other.breaks {
		return false
	}
	return sameStream(l.parts, other.parts, func(p part) string { return p.text }) &&
		sameStream(l.parts, other.parts, func(p part) string { return p.endings })
}

// sameStream compares what get gives for a and b, joined.
func sameStream(a, b []part, get func(part) string) bool {
	var x, y string
	for {
		for x == "" && len(a) > 0 {
			x, a = get(a[0]), a[1:]
		}
		for y == "" && len(b) > 0 {
			y, b = get(b[0]), b[1:]
		}
		n := min(len(x), len(y))
		if n == 0 {
			return x == y
		}
		if x[:n] != y[:n] {
			return false
		}
		x, y = x[n:], y[n:]
	}
}

// ApplyWithEndings returns the lines with edits made, the breaks they insert
// having the endings of runs in order. Edits are refused all or none, as
// [Check] does; so are runs that do not name exactly the inserted breaks.
func (l Lines) ApplyWithEndings(edits []Edit, runs []EndingRun) (Lines, error) {
	places, err := l.places(edits)
	if err != nil {
		return Lines{}, err
	}
	breaks := 0
	for _, e := range edits {
		breaks += strings.Count(e.Insert, "\n")
	}
	marks, err := marksOf(runs, breaks)
	if err != nil {
		return Lines{}, err
	}
	b := linesBuilder{out: Lines{parts: make([]part, 0, len(l.parts)+1)}}
	at := place{}
	for i, e := range edits {
		b.addBetween(l, at, places[i].from)
		n := strings.Count(e.Insert, "\n")
		b.add(e.Insert, marks[:n])
		marks = marks[n:]
		at = places[i].to
	}
	b.addBetween(l, at, l.end())
	b.flush()
	return b.out, nil
}

// place is a position in the parts of a Lines.
type place struct {
	part int
	// byte and breaks count within the part.
	byte, breaks int
}

// extent is where an edit lies.
type extent struct{ from, to place }

// end returns the place behind the last character. A text without parts has
// it in the part 0 that is not there; nothing is read from that one.
func (l Lines) end() place {
	return place{part: len(l.parts)}
}

// places checks edits and returns where they lie. An empty text has no part to
// point into, so it is given one.
func (l *Lines) places(edits []Edit) ([]extent, error) {
	if len(l.parts) == 0 {
		l.parts = []part{{}}
	}
	w := walker{parts: l.parts}
	out := make([]extent, len(edits))
	last := 0
	for i, e := range edits {
		if err := e.shape(last, l.units); err != nil {
			return nil, err
		}
		last = e.To
		if !w.walk(e.From) {
			return nil, refuse("position inside a surrogate pair")
		}
		out[i].from = w.at
		if !w.walk(e.To) {
			return nil, refuse("position inside a surrogate pair")
		}
		out[i].to = w.at
	}
	return out, nil
}

// walker goes forward through parts.
type walker struct {
	parts []part
	at    place
	// unit is the position of at; start that of its part.
	unit, start int
}

// walk moves to pos, which is not before where it stands nor past the end. It
// reports false when pos is inside a surrogate pair.
func (w *walker) walk(pos int) bool {
	for w.at.part < len(w.parts)-1 && pos > w.start+w.parts[w.at.part].units {
		w.start += w.parts[w.at.part].units
		w.unit = w.start
		w.at = place{part: w.at.part + 1}
	}
	p := w.parts[w.at.part]
	to := w.at.byte
	if p.units == len(p.text) {
		to += pos - w.unit
		w.unit = pos
	} else {
		for ; to < len(p.text); to++ {
			n := unitsOf(p.text[to])
			if n > 0 && w.unit == pos {
				break
			}
			if w.unit += n; w.unit > pos {
				return false
			}
		}
	}
	w.at.breaks += strings.Count(p.text[w.at.byte:to], "\n")
	w.at.byte = to
	return true
}

// between returns the text and the marks from one place to another.
func (l Lines) between(from, to place) (s, marks string) {
	if from.part == to.part {
		p := l.parts[from.part]
		return p.text[from.byte:to.byte], p.endings[from.breaks:to.breaks]
	}
	var text, ends strings.Builder
	for i := from.part; i <= to.part; i++ {
		s, m := l.piece(i, from, to)
		text.WriteString(s)
		ends.WriteString(m)
	}
	return text.String(), ends.String()
}

// piece returns what part i holds of the stretch between two places.
func (l Lines) piece(i int, from, to place) (s, marks string) {
	p := l.parts[i]
	s, marks = p.text, p.endings
	if i == to.part {
		s, marks = s[:to.byte], marks[:to.breaks]
	}
	if i == from.part {
		s, marks = s[from.byte:], marks[from.breaks:]
	}
	return s, marks
}

// linesBuilder puts Lines together from whole parts and pieces.
type linesBuilder struct {
	out Lines
	// text and marks wait for being made parts.
	text, marks strings.Builder
}

func (b *linesBuilder) add(s, marks string) {
	b.text.WriteString(s)
	b.marks.WriteString(marks)
}

// addBetween adds a stretch of l, whole parts as they are where nothing small
// waits before them.
func (b *linesBuilder) addBetween(l Lines, from, to place) {
	for i := from.part; i <= to.part && i < len(l.parts); i++ {
		s, marks := l.piece(i, from, to)
		if len(s) == len(l.parts[i].text) && (b.text.Len() == 0 || b.text.Len() >= partMin) {
			b.flush()
			b.push(l.parts[i])
			continue
		}
		b.add(s, marks)
	}
}

func (b *linesBuilder) flush() {
	if b.text.Len() == 0 {
		return
	}
	s, marks := b.text.String(), b.marks.String()
	b.text, b.marks = strings.Builder{}, strings.Builder{}
	b.cut(s, marks)
}

// cut adds a text in parts of the right size.
func (b *linesBuilder) cut(s, marks string) {
	for len(s) > partMax {
		n := partSize
		for unitsOf(s[n]) == 0 {
			n--
		}
		breaks := strings.Count(s[:n], "\n")
		b.push(part{s[:n], Length(s[:n]), marks[:breaks]})
		s, marks = s[n:], marks[breaks:]
	}
	b.push(part{s, Length(s), marks})
}

func (b *linesBuilder) push(p part) {
	if p.text == "" {
		return
	}
	b.out.parts = append(b.out.parts, p)
	b.out.units += p.units
	b.out.bytes += len(p.text)
	b.out.breaks += len(p.endings)
}
