package search

import (
	"bytes"
	"unicode/utf8"
)

// scanner runs a matcher and holds what that takes. It belongs to one
// goroutine.
type scanner struct {
	m                 *Matcher
	forward, backward *dfa
	hunt              hunt
}

func newScanner(m *Matcher) *scanner {
	s := &scanner{m: m}
	if p := m.pattern; p != nil {
		s.forward, s.backward = newDFA(p.forward), newDFA(p.backward)
		s.hunt.list = p.required
	}
	return s
}

// stopOn makes a scan that takes long ask whether to go on.
func (s *scanner) stopOn(halt func() bool) {
	if s.forward != nil {
		s.forward.halt, s.backward.halt = halt, halt
	}
}

// mayMatch reports whether a match is possible in a text as it lies on disk: of
// any encoding whose ASCII is ASCII, with any endings. It is quick and right
// about no.
func (s *scanner) mayMatch(raw []byte) bool {
	switch m := s.m; {
	case m.breaks:
		return true
	case m.literal != nil:
		return m.literal.next(raw, 0) >= 0
	case m.folded != nil:
		c := m.folded.cursor(raw)
		start, _ := c.find(0)
		return start >= 0
	case m.pattern.byLine && m.pattern.required != nil:
		s.hunt.begin(raw)
		return s.hunt.next(0) < len(raw)
	}
	return true
}

// each calls found for every match in LF text, from the left, until it returns
// false.
func (s *scanner) each(b []byte, found func(start, end int) bool) {
	switch m := s.m; {
	case m.literal != nil:
		for from := 0; ; {
			start := m.literal.next(b, from)
			if start < 0 {
				return
			}
			if end := start + len(m.literal.text); m.word && !wholeWord(b, start, end) {
				from = after(b, start)
			} else if from = end; !found(start, end) {
				return
			}
		}
	case m.folded != nil:
		c := m.folded.cursor(b)
		for from := 0; ; {
			start, end := c.find(from)
			if start < 0 {
				return
			}
			if m.word && !wholeWord(b, start, end) {
				from = after(b, start)
			} else if from = end; !found(start, end) {
				return
			}
		}
	case m.pattern.byLine && m.pattern.required != nil:
		s.eachLine(b, found)
	default:
		s.within(b, 0, len(b), found)
	}
}

// eachLine is each for a pattern whose matches lie on a line with something to
// look for first.
func (s *scanner) eachLine(b []byte, found func(start, end int) bool) {
	s.hunt.begin(b)
	for from := 0; ; {
		at := s.hunt.next(from)
		if at >= len(b) {
			return
		}
		first := from + bytes.LastIndexByte(b[from:at], '\n') + 1
		last := indexByte(b, at, '\n')
		if !s.within(b, first, last, found) {
			return
		}
		from = last + 1
	}
}

// within calls found for the pattern's matches in b[from:to], as package regexp
// finds all of them: an empty match does not follow on another one. It reports
// whether to go on.
func (s *scanner) within(b []byte, from, to int, found func(start, end int) bool) bool {
	for last := -1; from <= to; {
		end := s.forward.find(b, from, to)
		if end < 0 || s.forward.halted {
			return !s.forward.halted
		}
		start := s.backward.begin(b, from, end)
		accept := true
		if end == from {
			accept = start != last
			from = after(b, from)
		} else {
			from = end
		}
		last = end
		if accept && (!s.m.word || wholeWord(b, start, end)) && !found(start, end) {
			return false
		}
	}
	return true
}

// after returns where the character behind the one at at begins; past the end
// of b there is one more place.
func after(b []byte, at int) int {
	if at >= len(b) {
		return at + 1
	}
	_, n := utf8.DecodeRune(b[at:])
	return at + n
}

// hunt looks for the first of several texts.
type hunt struct {
	list    []finder
	b       []byte
	nexts   []int
	cursors []foldCursor
}

func (h *hunt) begin(b []byte) {
	h.b, h.nexts, h.cursors = b, h.nexts[:0], h.cursors[:0]
	for _, f := range h.list {
		h.nexts = append(h.nexts, -1)
		var c foldCursor
		if f.fold != nil {
			c = f.fold.cursor(b)
		}
		h.cursors = append(h.cursors, c)
	}
}

// next returns where one of the texts begins at or after from, which does not
// go back; the length of the text for none.
func (h *hunt) next(from int) int {
	first := len(h.b)
	for i, f := range h.list {
		if h.nexts[i] < from {
			var at int
			if f.fold != nil {
				at, _ = h.cursors[i].find(from)
			} else {
				at = f.exact.next(h.b, from)
			}
			if at < 0 {
				at = len(h.b)
			}
			h.nexts[i] = at
		}
		first = min(first, h.nexts[i])
	}
	return first
}
