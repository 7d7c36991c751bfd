package search

import (
	"unicode"
	"unicode/utf8"
)

// wholeWord reports whether b[start:end] begins and ends between words, or at
// what belongs to no word.
func wholeWord(b []byte, start, end int) bool { return boundary(b, start) && boundary(b, end) }

// boundary reports whether no word goes on across at. A word is letters, marks,
// digits and connectors (_), as Unicode's simple word boundaries have it.
// Scripts that are written without spaces have no such words: each of their
// characters stands for itself, and only a mark belongs to what it follows.
func boundary(b []byte, at int) bool {
	if at > 0 && at < len(b) && b[at-1] < utf8.RuneSelf && b[at] < utf8.RuneSelf {
		return !asciiWord(b[at-1]) || !asciiWord(b[at])
	}
	after, n := utf8.DecodeRune(b[at:])
	before, m := utf8.DecodeLastRune(b[:at])
	if n == 0 || m == 0 || !inWord(before) || !inWord(after) {
		return true
	}
	if unicode.Is(unicode.M, after) {
		return false
	}
	return stands(before) || stands(after)
}

func asciiWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiWord(byte(r))
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

// stands reports whether a character is of a script that has no spaces.
func stands(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
