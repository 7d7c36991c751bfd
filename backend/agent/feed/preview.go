package feed

import (
	"unicode/utf8"

	"galley/backend/agent/core"
)

// Merged is one preview with the effect of many that followed each other, all
// of one run. A preview costs what it appends and what it takes back, not the
// length of what is shown already. The zero value has taken none.
type Merged struct {
	taken bool // at least one
	// first is what the preview is but its text, which has units UTF-16 code
	// units.
	first core.Preview
	text  []byte
	units int
}

// Take adds the preview that follows.
func (m *Merged) Take(p core.Preview) {
	keep := p.Keep - m.first.Keep
	if !m.taken || p.RunID != m.first.RunID || p.Attempt != m.first.Attempt || keep <= 0 {
		// Nothing of what was merged so far is kept.
		m.text, m.units, keep = m.text[:0], 0, 0
		m.first.Keep = p.Keep
	}
	p.Keep = m.first.Keep
	for m.units > keep {
		r, n := utf8.DecodeLastRune(m.text)
		m.text = m.text[:len(m.text)-n]
		m.units -= units(r)
	}
	m.text = append(m.text, p.Text...)
	for _, r := range p.Text {
		m.units += units(r)
	}
	p.Text = ""
	m.first, m.taken = p, true
}

// Newest returns the last preview taken, without its text.
func (m *Merged) Newest() core.Preview { return m.first }

// Preview returns the one preview.
func (m *Merged) Preview() core.Preview {
	p := m.first
	p.Text = string(m.text)
	return p
}

// Merge returns the preview that has the effect of first and then next, which
// are of the same run.
func Merge(first, next core.Preview) core.Preview {
	var m Merged
	m.Take(first)
	m.Take(next)
	return m.Preview()
}

// Apply returns the text that a reader has after p.
func Apply(text string, p core.Preview) string { return head(text, p.Keep) + p.Text }

// Between returns how a reader gets from one text to another: the number of
// UTF-16 code units to keep, and what to append.
func Between(from, to string) (keep int, appended string) {
	same := 0
	for same < len(from) && same < len(to) {
		a, n := utf8.DecodeRuneInString(from[same:])
		b, m := utf8.DecodeRuneInString(to[same:])
		if a != b || n != m {
			break
		}
		same += n
		keep += units(a)
	}
	return keep, to[same:]
}

// head returns the first n UTF-16 code units of s, or all.
func head(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[:i]
		}
		n -= units(r)
	}
	return s
}

// units is the length of r in UTF-16 code units.
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
