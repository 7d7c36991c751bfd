package search

import (
	"bytes"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// lineAround returns the rest of the lines that b[start:end] begins and ends
// in, cut to width UTF-16 units each, between two characters as they are seen.
func lineAround(b []byte, start, end, width int) (before, after string) {
	first := bytes.LastIndexByte(b[:start], '\n') + 1
	return string(b[headOf(b, first, start, width):start]), string(b[end:tailOf(b, end, indexByte(b, end, '\n'), width)])
}

// headOf returns where the last width units before at begin, on the line that
// begins at first.
func headOf(b []byte, first, at, width int) int {
	if at-first <= width {
		return first
	}
	cut, left := at, width
	for i := at; i > first && left > 0; {
		i--
		switch c := b[i]; {
		case c&0xC0 == 0x80:
			continue
		case c >= 0xF0:
			left--
		}
		if left--; left >= 0 {
			cut = i
		}
	}
	if cut == first || left == 0 && simpleAt(b, cut) {
		return cut
	}
	// Two characters that may be seen as one: count them as they are seen, from
	// far enough before that what is there makes no difference.
	low := max(first, at-4*width-256)
	for low > first && !utf8.RuneStart(b[low]) {
		low++
	}
	left = units(b[low:at])
	for state := -1; left > width; {
		var cluster []byte
		cluster, _, _, state = uniseg.FirstGraphemeCluster(b[low:at], state)
		low += len(cluster)
		left -= units(cluster)
	}
	return low
}

// tailOf returns where the first width units after at end, on the line that
// ends at last.
func tailOf(b []byte, at, last, width int) int {
	if last-at <= width {
		return last
	}
	cut, left := at, width
	for cut < last {
		c := b[cut]
		n := 1
		switch {
		case c >= 0xF0:
			n = 4
			left--
		case c >= 0xE0:
			n = 3
		case c >= 0xC0:
			n = 2
		}
		if left--; left < 0 {
			break
		}
		cut += n
	}
	if cut == last || simpleAt(b, cut) {
		return cut
	}
	end, high := at, min(last, at+4*width+256)
	for state, left := -1, width; end < high; {
		cluster, _, _, next := uniseg.FirstGraphemeCluster(b[end:high], state)
		n := units(cluster)
		if n > left {
			break
		}
		left, state = left-n, next
		end += len(cluster)
	}
	return end
}

// simpleAt reports whether the characters before and after at are simple.
func simpleAt(b []byte, at int) bool {
	before, _ := utf8.DecodeLastRune(b[:at])
	after, _ := utf8.DecodeRune(b[at:])
	return simple(before) && simple(after)
}

// simple reports whether a character is always seen by itself beside another
// one that is simple: letters and marks of punctuation of the scripts that most
// texts are in. It says no to many others that are.
func simple(r rune) bool {
	switch {
	case r < 0x300:
		return r >= ' ' && r < 0x7F || r >= 0xC0
	case r < 0x3000:
		return r >= 0x391 && r < 0x482 || r >= 0x2010 && r < 0x2028
	case r < 0xD7A4:
		return r < 0x302A || r >= 0x3041 && r < 0x3097 || r >= 0x30A1 && r < 0xA000 || r >= 0xAC00
	}
	return r >= 0xFF01 && r < 0xFF5F
}

// hitter describes the hits of one text, from the left.
type hitter struct {
	b []byte
	positions
	// first and last bound the line of the last hit, and plain says that it is
	// ASCII. lines counts those with hits and made their bytes.
	first, last, lines, made int
	plain                    bool
	// whole is a part of b, from wholeFrom to wholeTo, whose hits share one
	// string: a line, or all of a text with hits on many.
	whole              string
	wholeFrom, wholeTo int
}

const (
	// maxWhole is how long a line may be for its hits to share a string, in
	// bytes, and maxAll a text with hits on manyLines that are most of it.
	maxWhole  = 2 << 10
	maxAll    = 64 << 10
	manyLines = 8
)

func newHitter(b []byte) *hitter {
	return &hitter{b: b, positions: positions{b: b, line: 1}, last: -1}
}

// along is at for an offset on the line of the last hit.
func (h *hitter) along(offset int) {
	if h.plain {
		h.pos += offset - h.offset
	} else {
		h.pos += units(h.b[h.offset:offset])
	}
	h.offset = offset
}

// hit describes the match b[start:end]. Offsets must not go back.
func (h *hitter) hit(start, end int) Hit {
	out := Hit{}
	if start <= h.last {
		h.along(start)
		out.From, out.Line = h.pos, h.line
	} else {
		out.From, out.Line = h.at(start), h.line
		h.first, h.last = h.lineStart, indexByte(h.b, start, '\n')
		h.plain = isASCII(h.b[h.first:h.last])
		h.lines++
		h.made += h.last - h.first
		switch {
		case h.last <= h.wholeTo:
		case h.lines >= manyLines && 2*h.made > h.last && len(h.b) <= maxAll:
			h.wholeFrom, h.wholeTo = h.first, len(h.b)
			h.whole = string(h.b[h.first:])
		case h.last-h.first <= maxWhole:
			h.wholeFrom, h.wholeTo = h.first, h.last
			h.whole = string(h.b[h.first:h.last])
		}
	}
	first, last := h.first, h.last
	if end <= last {
		h.along(end)
		out.To = h.pos
	} else {
		out.To = h.at(end)
	}
	if end > last || out.To-out.From > hitWidth {
		// On several lines, or longer than is told.
		head := headOf(h.b, first, start, hitWidth)
		cut := min(end, tailOf(h.b, start, last, hitWidth))
		tail := tailOf(h.b, end, indexByte(h.b, end, '\n'), hitWidth)
		out.told = string(h.b[head:cut]) + string(h.b[end:tail])
		out.start, out.end = int32(start-head), int32(cut-head)
		return out
	}
	var head, tail int
	if h.plain {
		head, tail = max(first, start-hitWidth), min(last, end+hitWidth)
	} else {
		head, tail = headOf(h.b, first, start, hitWidth), tailOf(h.b, end, last, hitWidth)
	}
	if h.wholeFrom <= head && tail <= h.wholeTo {
		out.told = h.whole[head-h.wholeFrom : tail-h.wholeFrom]
	} else {
		out.told = string(h.b[head:tail])
	}
	out.start, out.end = int32(start-head), int32(end-head)
	return out
}
