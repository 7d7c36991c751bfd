package resolve

import (
	"strings"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// Preview shows the answer to one rewrite while it arrives. It is made once a
// rewrite, so that the document is read once. It is not safe for concurrent
// use.
type Preview struct {
	target *target
}

// NewPreview returns a preview of an answer for the selection of doc.
func NewPreview(doc string, selection core.Range) *Preview {
	t := newTarget(text.NewIndex(doc), selection)
	t.hasty = true
	return &Preview{t}
}

// heldBack is how many bytes of a line that may turn out to be talk are waited
// for.
const heldBack = 160

// Text returns what of the answer so far is the text. It rather waits for a
// line than shows what would be taken back.
func (p *Preview) Text(answer string) string {
	t := p.target
	answer = stripThinking(normalise(withoutPartialRune(answer)), t.core)
	start := strings.TrimLeftFunc(answer, isEdge)
	if t.undecided(start) || t.isRefusal(start) {
		return ""
	}
	body, _ := t.clean(answer, false)
	return withoutFenceStart(body)
}

// withoutPartialRune cuts the bytes of a character that has not come whole.
func withoutPartialRune(s string) string {
	for i := 1; i <= min(3, len(s)); i++ {
		if b := s[len(s)-i]; utf8.RuneStart(b) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// undecided reports whether the start of an answer may still turn out to be no
// text: a tag of thinking, a fence, talk.
func (t *target) undecided(start string) bool {
	line, rest, ended := strings.Cut(start, "\n")
	if !ended {
		switch {
		case line == "":
			return true
		case strings.HasPrefix(line, "`") || strings.HasPrefix(line, "~"):
			return len(line) < heldBack && strings.Trim(line, "`~") == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
		case strings.HasPrefix("<thinking>", strings.ToLower(line)):
			return true
		}
		return len(line) < heldBack && !t.startsOwn(line)
	}
	if trimmed(rest) != "" {
		next, _, whole := strings.Cut(strings.TrimLeftFunc(rest, isEdge), "\n")
		return !whole && len(next) < heldBack && opensTalk(line) == weakTalk && !t.startsOwn(line) && !t.startsOwn(next)
	}
	return opensTalk(line) != noTalk && !t.startsOwn(line)
}

// startsOwn reports whether a line begins as the selection does, or at a caret
// as talk never does.
func (t *target) startsOwn(line string) bool {
	if structured(line) || parseLead(line).heading > 0 {
		return true
	}
	if t.caret {
		return opensTalk(line) == noTalk && len(line) > 40
	}
	tok := newTokenizer(loose)
	own, got := tok.tokens(firstLine(t.core), nil), tok.tokens(line, nil)
	n := 0
	for n < len(own) && n < len(got) && equalKeys(own[n].key, got[n].key) {
		n++
	}
	return n >= 3
}

// withoutFenceStart cuts a last line that may become a fence round the answer.
func withoutFenceStart(body string) string {
	i := strings.LastIndexByte(body, '\n')
	if i < 0 {
		if body != "" && (strings.Trim(body, "`") == "" || strings.HasPrefix(body, "```") || strings.HasPrefix(body, "~~~")) {
			return "" // Its own opening line may be a wrapping.
		}
		return body
	}
	if last := body[i+1:]; last != "" && len(last) <= 3 && strings.Trim(last, "`") == "" {
		return strings.TrimRightFunc(body[:i], isEdge)
	}
	return body
}
