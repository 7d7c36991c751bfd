package text

import (
	"slices"
	"strings"
)

// Ending is what a line ends with in a file. In a text every line ends with LF.
type Ending string

// The endings. Nothing else ends a line.
const (
	LF   Ending = "lf"
	CRLF Ending = "crlf"
	CR   Ending = "cr"
)

// Valid reports whether e is one of the endings.
func (e Ending) Valid() bool { return e.mark() != 0 }

// Bytes returns the characters that the ending is in a file.
func (e Ending) Bytes() string { return bytesOf(e.mark()) }

// A table of endings is kept as a string with one mark for each break, which
// makes cutting and joining tables the cutting and joining of strings.
const (
	markLF   = 'n'
	markCRLF = 'b'
	markCR   = 'r'
)

// mark returns the ending's mark, or 0 when it is none.
func (e Ending) mark() byte {
	switch e {
	case LF:
		return markLF
	case CRLF:
		return markCRLF
	case CR:
		return markCR
	}
	return 0
}

func endingOf(mark byte) Ending {
	switch mark {
	case markCRLF:
		return CRLF
	case markCR:
		return CR
	}
	return LF
}

func bytesOf(mark byte) string {
	switch mark {
	case markCRLF:
		return "\r\n"
	case markCR:
		return "\r"
	}
	return "\n"
}

// EndingRun is Count line breaks in a row that end in Ending.
type EndingRun struct {
	Ending Ending `json:"ending"`
	Count  int    `json:"count"`
}

// EndingCount counts the breaks of a text by their endings.
type EndingCount struct{ LF, CRLF, CR int }

// Majority returns the ending that most lines have: of a tie LF before CRLF
// before CR, and LF when there is none.
func (n EndingCount) Majority() Ending {
	switch {
	case n.LF >= n.CRLF && n.LF >= n.CR:
		return LF
	case n.CRLF >= n.CR:
		return CRLF
	}
	return CR
}

func (n *EndingCount) add(marks string) {
	lf, crlf := strings.Count(marks, string(markLF)), strings.Count(marks, string(markCRLF))
	n.LF += lf
	n.CRLF += crlf
	n.CR += len(marks) - lf - crlf
}

// marksOf returns the marks of runs, which must name exactly want breaks. The
// sum is checked before anything is made of it, since runs come from the page.
func marksOf(runs []EndingRun, want int) (string, error) {
	left := want
	for _, r := range runs {
		if !r.Ending.Valid() || r.Count < 0 || r.Count > left {
			return "", refuse("endings do not fit the breaks")
		}
		left -= r.Count
	}
	if left != 0 {
		return "", refuse("endings do not fit the breaks")
	}
	var out strings.Builder
	out.Grow(want)
	for _, r := range runs {
		for range r.Count {
			out.WriteByte(r.Ending.mark())
		}
	}
	return out.String(), nil
}

// addRuns appends the runs of marks, joining the last run when it goes on.
func addRuns(runs []EndingRun, marks string) []EndingRun {
	for len(marks) > 0 {
		n := 1
		for n < len(marks) && marks[n] == marks[0] {
			n++
		}
		runs = addRun(runs, endingOf(marks[0]), n)
		marks = marks[n:]
	}
	return runs
}

func addRun(runs []EndingRun, e Ending, n int) []EndingRun {
	if n == 0 {
		return runs
	}
	if i := len(runs) - 1; i >= 0 && runs[i].Ending == e {
		runs[i].Count += n
		return runs
	}
	return append(runs, EndingRun{e, n})
}

// Choose returns the endings of the breaks that edits insert, in order (F3):
// all breaks of one edit take the ending of the line that holds its From in
// the text as it is, and where that line has none the majority of the file as
// it was opened. It refuses what [Lines.ApplyWithEndings] refuses.
func (l Lines) Choose(edits []Edit, majority Ending) ([]EndingRun, error) {
	places, err := l.places(edits)
	if err != nil {
		return nil, err
	}
	var runs []EndingRun
	for i, e := range edits {
		if n := strings.Count(e.Insert, "\n"); n > 0 {
			runs = addRun(runs, l.endingAt(places[i].from, majority), n)
		}
	}
	return runs, nil
}

// endingAt returns the ending of the line that holds p.
func (l Lines) endingAt(p place, majority Ending) Ending {
	marks := l.parts[p.part].endings[p.breaks:]
	for i := p.part + 1; marks == "" && i < len(l.parts); i++ {
		marks = l.parts[i].endings
	}
	if marks == "" {
		return majority
	}
	return endingOf(marks[0])
}

// Apply returns the lines with edits made, the endings of new breaks being
// those of [Lines.Choose]. Edits are refused all or none, as [Check] does.
func (l Lines) Apply(edits []Edit, majority Ending) (Lines, error) {
	runs, err := l.Choose(edits, majority)
	if err != nil {
		return Lines{}, err
	}
	return l.ApplyWithEndings(edits, runs)
}

// Inverse returns the edits that take edits back, with the endings of the
// breaks that edits delete. It refuses what [Lines.ApplyWithEndings] refuses.
func (l Lines) Inverse(edits []Edit) ([]Edit, []EndingRun, error) {
	places, err := l.places(edits)
	if err != nil {
		return nil, nil, err
	}
	back := slices.Clone(edits)
	var runs []EndingRun
	shift := 0
	for i, e := range edits {
		text, marks := l.between(places[i].from, places[i].to)
		n := Length(e.Insert)
		back[i] = Edit{From: e.From + shift, To: e.From + shift + n, Insert: text}
		runs = addRuns(runs, marks)
		shift += n - (e.To - e.From)
	}
	return back, runs, nil
}
