package tools

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// hides reports whether a character shows nothing or turns the direction of
// what stands beside it. Blanks and breaks do not hide.
func hides(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7F && r < 0xA0, r == 0xAD, r == 0x34F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0xFFFC:
		return true
	case r == 0x2028, r == 0x2029, r == 0x2800, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Co)
}

// hidden reports whether a text holds characters that a person cannot see. A
// joiner or a tag inside of a picture is part of what is seen.
func hidden(s string) bool {
	at := strings.IndexFunc(s, hides)
	if at < 0 {
		return false
	}
	// From the start of a line, since what is seen as one never spans two.
	gr := uniseg.NewGraphemes(s[strings.LastIndexByte(s[:at], '\n')+1:])
	for gr.Next() {
		runes := gr.Runes()
		for i, r := range runes {
			part := i > 0 && isPicture(runes[0]) && (r == 0x200D || runes[0] == 0x1F3F4 && r >= 0xE0020 && r <= 0xE007F)
			if hides(r) && !part {
				return true
			}
		}
	}
	return false
}

func isPicture(r rune) bool {
	return r >= 0x1F000 && r < 0x20000 || r >= 0x2190 && r <= 0x2BFF || r == 0xA9 || r == 0xAE || r == 0x3030 || r == 0x303D
}

// visible is a name with what hides spelt out, and what would end its line.
func visible(s string) string {
	spelt := func(r rune) bool { return hides(r) || r == '\n' || r == '\t' }
	if strings.IndexFunc(s, spelt) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if spelt(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// words counts the words of a text; in scripts without blanks each character
// is one.
func words(s string) int {
	n := 0
	in := false
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			if unicode.IsLetter(r) {
				n++
			}
			in = false
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			if !in {
				n++
			}
			in = true
		case r == '\'', r == '’', r == '-':
			// Inside of a word it goes on.
		default:
			in = false
		}
	}
	return n
}
