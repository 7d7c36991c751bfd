package text

import (
	"sort"

	"galley/backend/fault"
)

// markEvery is the distance of the index's marks in bytes.
const markEvery = 1 << 10

// Length returns the length of s in UTF-16 code units. s is valid UTF-8; a
// lone surrogate in its three-byte form counts as one unit.
func Length(s string) int {
	n := 0
	for len(s) >= 8 {
		// Eight bytes at once while they are ASCII, which most texts mostly are.
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if x&0x8080808080808080 == 0 {
			n += 8
		} else {
			for i := range 8 {
				n += unitsOf(s[i])
			}
		}
		s = s[8:]
	}
	for i := range len(s) {
		n += unitsOf(s[i])
	}
	return n
}

// unitsOf returns how many UTF-16 units the character that b begins has: 0 for
// a continuation byte, 2 for the first of four bytes.
func unitsOf(b byte) int {
	switch {
	case b&0xC0 == 0x80:
		return 0
	case b >= 0xF0:
		return 2
	}
	return 1
}

// Index converts between UTF-16 positions and byte offsets of one text. It
// holds a mark every 1 KiB, so a conversion reads at most that much. An Index
// is immutable and may be shared.
type Index struct {
	text string
	// before[i] counts the units of all characters that begin before byte
	// i*markEvery.
	before []int
	units  int
}

// NewIndex returns the index of s, which must be valid UTF-8.
func NewIndex(s string) *Index {
	ix := &Index{text: s, before: make([]int, 0, len(s)/markEvery+1)}
	for at := 0; ; at += markEvery {
		ix.before = append(ix.before, ix.units)
		if len(s)-at <= markEvery {
			ix.units += Length(s[at:])
			return ix
		}
		ix.units += Length(s[at : at+markEvery])
	}
}

// Text returns the text the index was made of.
func (ix *Index) Text() string { return ix.text }

// Len returns the length of the text in UTF-16 units.
func (ix *Index) Len() int { return ix.units }

// Byte returns the byte offset of the UTF-16 position pos. It fails with
// invalid_input when pos is out of range or inside a surrogate pair.
func (ix *Index) Byte(pos int) (int, error) {
	if pos < 0 || pos > ix.units {
		return 0, refuse("position out of range")
	}
	if pos == ix.units {
		return len(ix.text), nil
	}
	mark := sort.SearchInts(ix.before, pos+1) - 1
	at, seen := mark*markEvery, ix.before[mark]
	for ; at < len(ix.text); at++ {
		n := unitsOf(ix.text[at])
		if n > 0 && seen == pos {
			return at, nil
		}
		seen += n
		if seen > pos {
			return 0, refuse("position inside a surrogate pair")
		}
	}
	return len(ix.text), nil
}

// UTF16 returns the UTF-16 position of a byte offset. An offset inside a
// character gives the character's start; one out of range gives the nearer end
// of the text.
func (ix *Index) UTF16(byteOffset int) int {
	if byteOffset <= 0 {
		return 0
	}
	if byteOffset >= len(ix.text) {
		return ix.units
	}
	for byteOffset > 0 && unitsOf(ix.text[byteOffset]) == 0 {
		byteOffset--
	}
	mark := byteOffset / markEvery
	return ix.before[mark] + Length(ix.text[mark*markEvery:byteOffset])
}

// Slice returns the text between two UTF-16 positions. It fails with
// invalid_input like [Index.Byte], and when from is past to.
func (ix *Index) Slice(from, to int) (string, error) {
	if from > to {
		return "", refuse("from is past to")
	}
	a, err := ix.Byte(from)
	if err != nil {
		return "", err
	}
	b, err := ix.Byte(to)
	if err != nil {
		return "", err
	}
	return ix.text[a:b], nil
}

// refuse returns an invalid_input fault; why is a constant, never document text.
func refuse(why string) error {
	return &fault.Error{Code: fault.InvalidInput, Op: "text", Detail: why}
}
