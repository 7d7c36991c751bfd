package loop

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// lookBack is how far before a cut a place is looked for at which a character
// surely begins, in bytes.
const lookBack = 4096

// headBytes returns a beginning of s of at most n bytes that ends behind a
// whole character, as a reader sees characters; where a line ends near, it ends
// with that.
func headBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	if at := strings.LastIndexByte(s[:n], '\n') + 1; at > n-n/4 {
		return s[:at]
	}
	return s[:cutBefore(s, n)]
}

// tailBytes returns an end of s of at most n bytes that begins with a whole
// character; where a line begins near, it begins with that.
func tailBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	from := len(s) - n
	if at := strings.IndexByte(s[from:], '\n') + 1; at > 0 && at < n/4 {
		return s[from+at:]
	}
	return s[cutAfter(s, from):]
}

// cutBefore returns the last place at or before n where a character begins.
func cutBefore(s string, n int) int {
	at := safeBefore(s, n)
	for rest := s[at:]; rest != ""; {
		cluster, next, _, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		if at+len(cluster) > n {
			break
		}
		at += len(cluster)
		rest = next
	}
	return at
}

// cutAfter returns the first place at or after n where a character begins.
func cutAfter(s string, n int) int {
	at := safeBefore(s, n)
	for rest := s[at:]; rest != "" && at < n; {
		cluster, next, _, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		at += len(cluster)
		rest = next
	}
	return at
}

// safeBefore returns a place at or before n where a character surely begins:
// before one that joins with nothing in front of it.
func safeBefore(s string, n int) int {
	for at := n; at > 0 && at > n-lookBack; {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
		if r > ' ' && r < 0x7F || unicode.Is(unicode.Han, r) {
			return at
		}
	}
	at := max(0, n-lookBack)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// shorten returns s when it has at most limit bytes, else its beginning and
// its end with a line between them that says what is missing. The whole stays
// within limit, unless limit is too small for that line.
func shorten(s string, limit int) (short string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	const notice = "\n[… %d of %d bytes are left out here …]\n"
	room := max(0, limit-len(fmt.Sprintf(notice, len(s), len(s))))
	tail := tailBytes(s, room/4)
	head := headBytes(s, room-len(tail))
	left := len(s) - len(head) - len(tail)
	return head + fmt.Sprintf(notice, left, len(s)) + tail, true
}

// brief returns the beginning of s as one line of at most n characters.
func brief(s string, n int) string {
	line := strings.Join(strings.Fields(head(s, 4*n)), " ")
	if short := head(line, n); short != line || len(head(s, 4*n)) < len(s) {
		return strings.TrimRight(short, " ") + "…"
	}
	return line
}
