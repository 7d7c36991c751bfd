package resolve

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// isBlank reports whether r is a blank that is not a line break. Zero-width
// characters are none: they are invisible, not blank.
func isBlank(r rune) bool {
	switch r {
	case ' ', '\t', 0xA0, 0x1680, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

// isEdge reports whether r is a blank or a line break.
func isEdge(r rune) bool { return r == '\n' || isBlank(r) }

// foldRune maps curly quotes to straight ones and the two hyphens to "-".
// Dashes, full-width forms and corner quotes mean something and stay.
func foldRune(r rune) rune {
	switch r {
	case 0x2018, 0x2019, 0x201A, 0x201B:
		return '\''
	case 0x201C, 0x201D, 0x201E, 0x201F:
		return '"'
	case 0x2010, 0x2011:
		return '-'
	}
	return r
}

// foldText returns s as it is compared where quote style, hyphens and
// normalisation form do not count. Blanks are not its business.
func foldText(s string) string {
	if ascii(s) {
		return s
	}
	s = norm.NFC.String(s)
	if strings.IndexFunc(s, func(r rune) bool { return foldRune(r) != r }) < 0 {
		return s
	}
	return strings.Map(foldRune, s)
}

// ascii reports whether s holds ASCII only.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain reports whether two neighbouring plain runes are always two grapheme
// clusters, which spares most texts the segmenter. LF is one; a lone surrogate
// in its three-byte form is none.
func plain(r rune) bool {
	switch {
	case r < 0x80:
		return r != '\r'
	case r < 0x300:
		return r >= 0xA0 && r != 0xA9 && r != 0xAD && r != 0xAE
	case r < 0x483:
		return r >= 0x370
	case r < 0x530:
		return r >= 0x48A
	case r >= 0x5D0 && r <= 0x5EA, r >= 0x620 && r <= 0x64A:
		return true
	case r >= 0x2010 && r <= 0x2027, r >= 0x2030 && r <= 0x203B:
		return true
	case r >= 0x3001 && r <= 0x3029, r >= 0x3041 && r <= 0x3096, r >= 0x30A0 && r <= 0x30FF:
		return true
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3:
		return true
	case r >= 0xFF01 && r <= 0xFF60:
		return true
	}
	return false
}

// clusterEnd returns where the grapheme cluster that starts at byte i ends.
func clusterEnd(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	if i+n >= len(s) {
		return len(s)
	}
	if plain(r) {
		if next, _ := utf8.DecodeRuneInString(s[i+n:]); plain(next) {
			return i + n
		}
	}
	c, _, _, _ := uniseg.FirstGraphemeClusterInString(s[i:], -1)
	return i + len(c)
}

// clusterAround returns the bounds of the grapheme cluster that byte p lies
// strictly inside of; from == to == p when p is a border.
func clusterAround(s string, p int) (from, to int) {
	if p <= 0 || p >= len(s) {
		return p, p
	}
	after, _ := utf8.DecodeRuneInString(s[p:])
	before, n := utf8.DecodeLastRuneInString(s[:p])
	if utf8.RuneStart(s[p]) && plain(before) && plain(after) {
		return p, p
	}
	// Segment from the nearest place before that is certainly a border: between
	// two plain runes, or the start.
	at := p - n
	for at > 0 {
		r, _ := utf8.DecodeRuneInString(s[at:])
		prev, m := utf8.DecodeLastRuneInString(s[:at])
		if plain(r) && plain(prev) {
			break
		}
		at -= m
	}
	for at < p {
		end := clusterEnd(s, at)
		if end > p {
			return at, end
		}
		at = end
	}
	return p, p
}

// isBorder reports whether byte p of s is no place inside a grapheme cluster.
func isBorder(s string, p int) bool {
	from, _ := clusterAround(s, p)
	return from == p
}

// spaceless reports whether r is of a script that is written without blanks
// between words, or whose single characters are worth a change of their own.
func spaceless(r rune) bool {
	if r < 0xE00 {
		return false
	}
	return r == 0x3005 || r == 0x3007 || r == 0x30FC ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
			unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Yi)
}

// isWord reports whether r is part of a word: a letter, a number, a mark.
func isWord(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// trimEdges cuts blanks and line breaks from both ends of s and returns what
// is left with its place in s. Nothing left is placed at the start.
func trimEdges(s string) (core string, at int) {
	left := strings.TrimLeftFunc(s, isEdge)
	if left == "" {
		return "", 0
	}
	return strings.TrimRightFunc(left, isEdge), len(s) - len(left)
}
