package search

import "bytes"

// literal finds an exact text by its rarest byte.
type literal struct {
	text []byte
	// rare is the rarest byte of text, at its offset in it.
	rare byte
	at   int
}

func newLiteral(s string) *literal {
	l := &literal{text: []byte(s)}
	l.at = rarest(l.text)
	l.rare = l.text[l.at]
	return l
}

// next returns where the first match at or after from begins; -1 for none.
func (l *literal) next(b []byte, from int) int {
	misses := 0
	for i := from + l.at; i < len(b); {
		j := bytes.IndexByte(b[i:], l.rare)
		if j < 0 {
			return -1
		}
		i += j
		p := i - l.at
		if len(b)-p < len(l.text) {
			return -1
		}
		if b[p] == l.text[0] && bytes.Equal(b[p:p+len(l.text)], l.text) {
			return p
		}
		i++
		misses++
		// The byte is not rare here; the standard search copes with that.
		if misses > 8+(i-from)/12 {
			j := bytes.Index(b[p+1:], l.text)
			if j < 0 {
				return -1
			}
			return p + 1 + j
		}
	}
	return -1
}

// rarest returns the offset of the byte that texts have least of.
func rarest(b []byte) int {
	best := 0
	for i := range b {
		if commonness[b[i]] < commonness[b[best]] {
			best = i
		}
	}
	return best
}

// commonness ranks bytes by how often prose, Chinese text and code have them,
// in about one of 10,000 bytes.
var commonness = rankBytes()

func rankBytes() (rank [256]uint16) {
	for i := range rank {
		switch {
		case i < 0x20:
			rank[i] = 1
		case i < 0x80:
			rank[i] = 12
		case i < 0xC0:
			rank[i] = 70 // the inner bytes of a character
		case i < 0xE0:
			rank[i] = 6
		default:
			rank[i] = 4
		}
	}
	for i, n := range map[byte]uint16{
		' ': 1400, '\n': 220, '\t': 60, '.': 90, ',': 90, '-': 70, '\'': 30, '"': 40, '(': 40, ')': 40, '_': 30,
		':': 40, '/': 30, '`': 40, '*': 40, '=': 40, '#': 30, ';': 25, '|': 25, '[': 25, ']': 25, '0': 40, '1': 40,
		0xE3: 120, 0xE4: 300, 0xE5: 400, 0xE6: 350, 0xE7: 300, 0xE8: 250, 0xE9: 200, 0xEF: 120, 0x80: 160, 0xBC: 120, 0x9A: 100,
	} {
		rank[i] = n
	}
	for i, n := range []uint16{
		620, 120, 230, 290, 950, 170, 150, 380, 560, 15, 60, 320, 190, 540, 580, 160, 10, 500, 500, 710, 230, 80, 140, 20, 140, 10,
	} {
		rank['a'+i] = n
		rank['A'+i] = 3 + n/25
	}
	return rank
}
