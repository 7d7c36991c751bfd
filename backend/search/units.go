package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// units returns the length of valid UTF-8 in UTF-16 units.
func units(b []byte) int {
	n := len(b)
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if high := x & 0x8080808080808080; high != 0 {
			// Inner bytes are 10xxxxxx and count nothing; the first of four is
			// 1111xxxx and counts twice.
			n -= bits.OnesCount64(high &^ (x << 1))
			n += bits.OnesCount64(high & (x << 1) & (x << 2) & (x << 3))
		}
		b = b[8:]
	}
	for _, c := range b {
		switch {
		case c&0xC0 == 0x80:
			n--
		case c >= 0xF0:
			n++
		}
	}
	return n
}

// valid is utf8.Valid, made for text whose characters mostly have one byte or
// three.
func valid(b []byte) bool {
	for {
		for len(b) >= 32 {
			x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
				binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
			if x&0x8080808080808080 != 0 {
				break
			}
			b = b[32:]
		}
		// A part of mixed text at a time: first what is ASCII, then what has
		// three bytes, then whatever stands there.
		for len(b) >= 8 {
			x := binary.LittleEndian.Uint64(b)
			high := x & 0x8080808080808080
			if high == 0 {
				if b = b[8:]; len(b) >= 32 && b[0] < utf8.RuneSelf {
					break
				}
				continue
			}
			if n := bits.TrailingZeros64(high) / 8; n > 0 {
				b = b[n:]
				continue
			}
			// Two characters of three bytes; E0 and ED have narrower bounds.
			if x&0x0000C0C0F0C0C0F0 == 0x00008080E08080E0 && narrow(x) && narrow(x>>24) {
				b = b[6:]
				continue
			}
			if x&0x0000000000C0C0F0 == 0x00000000008080E0 && narrow(x) {
				b = b[3:]
				continue
			}
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				return false
			}
			b = b[n:]
		}
		if len(b) < 8 {
			return utf8.Valid(b)
		}
	}
}

// narrow reports whether the lowest byte of x may be followed by any two inner
// bytes.
func narrow(x uint64) bool {
	c := byte(x)
	return c != 0xE0 && c != 0xED
}

// positions turns byte offsets of a text into UTF-16 positions and line
// numbers, in one pass: offsets must not go back.
type positions struct {
	b           []byte
	offset, pos int
	// line is the number of the line of the last offset, from 1, which begins
	// at lineStart.
	line, lineStart int
}

func newPositions(b []byte) *positions { return &positions{b: b, line: 1} }

func (p *positions) at(offset int) int {
	part := p.b[p.offset:offset]
	p.pos += units(part)
	if n := bytes.Count(part, newline); n > 0 {
		p.line += n
		p.lineStart = p.offset + bytes.LastIndexByte(part, '\n') + 1
	}
	p.offset = offset
	return p.pos
}

var newline = []byte{'\n'}

// isASCII reports whether b has no byte beyond ASCII.
func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// toLF writes b with LF alone for every break into buf, which grows where it
// must.
func toLF(buf, b []byte) []byte {
	buf = buf[:0]
	for {
		i := bytes.IndexByte(b, '\r')
		if i < 0 {
			return append(buf, b...)
		}
		buf = append(append(buf, b[:i]...), '\n')
		if i++; i < len(b) && b[i] == '\n' {
			i++
		}
		b = b[i:]
	}
}
