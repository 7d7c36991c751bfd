package openaichat

import (
	"strings"
	"unicode"
)

// tag is a pair of tags that a local model puts its thinking between.
type tag struct{ open, end string }

var tags = [...]tag{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}}

// splitThink divides the raw text of an answer into thinking and text (decision
// 18): thinking is what stands between tags at the start, or all up to a lone
// end tag, or all when the end tag never came. A tag anywhere else is text, and
// so is one in a code span.
func splitThink(raw string) (thinking, text string) {
	start := strings.TrimLeftFunc(raw, unicode.IsSpace)
	for _, t := range tags {
		rest, ok := strings.CutPrefix(start, t.open)
		if !ok {
			continue
		}
		inside, after, _ := strings.Cut(rest, t.end)
		return strings.TrimSpace(inside), strings.TrimLeftFunc(after, unicode.IsSpace)
	}
	at, size := loneEnd(raw)
	if at < 0 {
		return "", raw
	}
	return strings.TrimSpace(raw[:at]), strings.TrimLeftFunc(raw[at+size:], unicode.IsSpace)
}

// loneEnd returns where the first end tag is whose opening never came; -1 when
// there is none.
func loneEnd(raw string) (at, size int) {
	for from := 0; ; from = at + size {
		at = -1
		for _, t := range tags {
			if i := strings.Index(raw[from:], t.end); i >= 0 && (at < 0 || from+i < at) {
				at, size = from+i, len(t.end)
			}
		}
		if at < 0 {
			return -1, 0
		}
		for _, t := range tags {
			if strings.Contains(raw[:at], t.open) {
				return -1, 0
			}
		}
		if !inCodeSpan(raw, at, size) {
			return at, size
		}
	}
}

// inCodeSpan reports whether raw[at:at+size] stands between backticks of its
// own line.
func inCodeSpan(raw string, at, size int) bool {
	line := raw[strings.LastIndexByte(raw[:at], '\n')+1 : at]
	rest, _, _ := strings.Cut(raw[at+size:], "\n")
	return strings.Count(line, "`")%2 == 1 && strings.Contains(rest, "`")
}

// thinkFilter does the same while the text streams, for the eye: it cannot know
// of a lone end tag before it comes, so such thinking passes as text, with the
// tag, until the answer is whole.
type thinkFilter struct {
	state thinkState
	held  string
	end   string // the end tag that is waited for
}

type thinkState int

const (
	thinkUndecided thinkState = iota // white space or part of a tag so far
	thinkInside
	thinkAfter // white space after the end tag goes
	thinkText
)

// add takes a piece and returns what of it can be shown.
func (f *thinkFilter) add(piece string) (thinking, text string) {
	f.held += piece
	for {
		switch f.state {
		case thinkUndecided:
			start := strings.TrimLeftFunc(f.held, unicode.IsSpace)
			maybe := start == ""
			f.state = thinkText
			for _, t := range tags {
				if rest, ok := strings.CutPrefix(start, t.open); ok {
					f.state, f.held, f.end = thinkInside, rest, t.end
				} else if strings.HasPrefix(t.open, start) {
					maybe = true
				}
			}
			if f.state == thinkText && maybe {
				f.state = thinkUndecided
				return thinking, text
			}
		case thinkInside:
			inside, after, found := strings.Cut(f.held, f.end)
			if !found {
				keep := heldPrefix(f.held, f.end)
				thinking += f.held[:len(f.held)-keep]
				f.held = f.held[len(f.held)-keep:]
				return thinking, text
			}
			thinking += inside
			f.held, f.state = after, thinkAfter
		case thinkAfter:
			f.held = strings.TrimLeftFunc(f.held, unicode.IsSpace)
			if f.held == "" {
				return thinking, text
			}
			f.state = thinkText
		case thinkText:
			text += f.held
			f.held = ""
			return thinking, text
		}
	}
}

// flush returns what was held when the answer ended.
func (f *thinkFilter) flush() (thinking, text string) {
	held := f.held
	f.held = ""
	switch f.state {
	case thinkInside:
		return held, ""
	case thinkAfter:
		return "", ""
	default:
		return "", held
	}
}

// heldPrefix returns how many bytes at the end of s begin the tag.
func heldPrefix(s, tag string) int {
	for n := min(len(tag)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
