package feed

import (
	"unicode/utf8"

	"galley/backend/agent/core"
)

// Merge returns the preview that has the effect of first and then next, which
// are of the same run.
func Merge(first, next core.Preview) core.Preview {
	if next.Attempt != first.Attempt || next.Keep <= first.Keep {
		return next
	}
	next.Text = head(first.Text, next.Keep-first.Keep) + next.Text
	next.Keep = first.Keep
	return next
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
