package resolve

import (
	"strings"
	"unicode/utf8"
)

// normalise returns an answer as LF text without a leading BOM (decision 2).
func normalise(answer string) string {
	answer = strings.ToValidUTF8(answer, "\uFFFD")
	if strings.IndexByte(answer, '\r') >= 0 {
		answer = strings.ReplaceAll(strings.ReplaceAll(answer, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimPrefix(answer, "\uFEFF")
}

// clean returns what of an answer is the text for the target, or that it is a
// refusal. whole is false for an answer that broke off.
func (t *target) clean(answer string, whole bool) (body string, refused bool) {
	answer = stripThinking(answer, t.core)
	if whole && t.isRefusal(answer) {
		return "", true
	}
	if text, isDiff, fits := t.readDiff(answer, whole); isDiff {
		if !fits {
			return "", whole
		}
		return text, false
	}
	lines := strings.Split(answer, "\n")
	if inside, ok := t.unwrap(lines, whole); ok {
		lines = inside
	} else {
		lines = t.stripTalk(lines, whole)
	}
	body = t.fitFrontMatter(strings.Join(lines, "\n"), whole)
	body = t.stripContext(body)
	body = t.stripMarker(body)
	if t.caret {
		return strings.Trim(body, "\n"), false
	}
	return trimmed(body), false
}

// The tags of thinking that some models write into their answer.
var thinkTags = []string{"think", "thinking"}

// stripThinking removes thinking from the start of an answer: what stands
// between the tags, or all before an end tag whose opening was lost (decision
// 3). A tag in a code span, or one that the selection has too, is text.
func stripThinking(s, selection string) string {
	for {
		rest, ok := stripThought(s, selection)
		if !ok {
			return s
		}
		s = rest
	}
}

func stripThought(s, selection string) (string, bool) {
	start := strings.TrimLeftFunc(s, isEdge)
	for _, tag := range thinkTags {
		open, end := "<"+tag+">", "</"+tag+">"
		if !hasPrefixFold(start, open) || hasPrefixFold(trimmed(selection), open) {
			continue
		}
		if i := indexFold(start, end); i >= 0 {
			return start[i+len(end):], true
		}
		return "", true
	}
	for _, tag := range thinkTags {
		end := "</" + tag + ">"
		if indexFold(selection, end) >= 0 {
			continue
		}
		for from := 0; ; {
			i := indexFold(s[from:], end)
			if i < 0 {
				break
			}
			if i += from; !inCodeSpan(s, i, len(end)) {
				return s[i+len(end):], true
			}
			from = i + len(end)
		}
	}
	return s, false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// indexFold is strings.Index for an ASCII tag in any case.
func indexFold(s, tag string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			return -1
		}
		if at += i; hasPrefixFold(s[at:], tag) {
			return at
		}
		at++
	}
}

// inCodeSpan reports whether the n bytes at i stand in a code span of their
// paragraph. What has a line to itself stands in none.
func inCodeSpan(s string, i, n int) bool {
	lineStart := strings.LastIndexByte(s[:i], '\n') + 1
	if trimmed(s[lineStart:i]) == "" && trimmed(firstLine(s[i+n:])) == "" {
		return false
	}
	from := max(strings.LastIndex(s[:i], "\n\n"), 0)
	for at := from; at < i; {
		if s[at] != '`' {
			at++
			continue
		}
		ticks := runLength(s[at:], '`')
		end := closingTicks(s, at+ticks, ticks)
		if end > i {
			return true
		}
		at = max(end, at+ticks)
	}
	return false
}

// closingTicks returns the place after the run of exactly n backticks that
// closes a code span whose content starts at i, or -1 when its paragraph has
// none.
func closingTicks(s string, i, n int) int {
	for i < len(s) {
		switch {
		case s[i] == '`':
			m := runLength(s[i:], '`')
			if i += m; m == n {
				return i
			}
		case s[i] == '\n' && trimmed(firstLine(s[i+1:])) == "":
			return -1
		default:
			i++
		}
	}
	return -1
}

// fitFrontMatter takes away front matter that the selection has not, and keeps
// the document's where an answer to a selection with front matter has none
// (decision 7).
func (t *target) fitFrontMatter(body string, whole bool) string {
	start := strings.TrimLeftFunc(body, isEdge)
	end := frontMatterEnd(start + "\n")
	end = min(end, len(start))
	looks := end > 0 && looksLikeYAML(start[:end])
	switch {
	case t.front == 0 && looks:
		if rest := start[end:]; trimmed(rest) != "" || t.from > 0 || frontMatterEnd(t.doc) > 0 {
			return rest
		}
	case t.front == 0 && !whole && strings.HasPrefix(start, "---\n") && looksLikeYAML(start+"\n---"):
		// It has not come to its end.
		return ""
	case t.front > 0 && !looks && !strings.HasPrefix(start, "---"):
		front := t.core[:t.front]
		if t.front == len(t.core) && looksLikeYAML("---\n"+start+"\n---") {
			// Only the lines between the delimiters came back.
			inner := strings.TrimSuffix(front, "\n")
			return firstLine(front) + "\n" + trimmed(body) + inner[strings.LastIndexByte(inner, '\n'):]
		}
		_, gap := trimEdges(t.core[t.front:])
		if !strings.HasSuffix(front, "\n") && gap == 0 {
			front += "\n\n"
		}
		return front + t.core[t.front:t.front+gap] + start
	}
	return body
}

// looksLikeYAML tells front matter from a text between two thematic breaks: its
// first line that says something is a key, a list item or a comment.
func looksLikeYAML(block string) bool {
	lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
	if len(lines) < 2 {
		return false
	}
	if len(lines) == 2 {
		return true
	}
	line := lines[1]
	if strings.HasPrefix(line, "#") {
		return strings.Contains(block, ":")
	}
	key, _, found := strings.Cut(line, ":")
	if !found || key == "" || isEdge(rune(key[0])) || utf8.RuneCountInString(key) > 60 {
		return false
	}
	rest := line[len(key)+1:]
	return (rest == "" || rest[0] == ' ' || rest[0] == '\t') && !strings.ContainsAny(key, "*[]()!?.")
}

// stripMarker removes block markers at the start of an answer that repeat those
// just before the selection on its line (decision 10).
func (t *target) stripMarker(body string) string {
	own := parseLead(t.prefix)
	if trimmed(t.prefix) == "" || own.end < len(t.prefix) {
		return body
	}
	start := strings.TrimLeftFunc(body, isEdge)
	// The markers as they stand, then without the outermost ones.
	for rest := t.prefix; trimmed(rest) != ""; {
		rest = strings.TrimLeftFunc(rest, isBlank)
		if n := matchFolded(start, rest); n > 0 && matchFolded(t.core, rest) == 0 {
			return start[n:]
		}
		if i := strings.IndexFunc(rest, isBlank); i >= 0 && (rest[0] != '[') {
			rest = rest[i:]
		} else {
			break
		}
	}
	return body
}

// matchFolded returns how many bytes of s are equal to prefix by decision 13,
// or 0 when s does not begin with it. Blanks at prefix's end may stand alone.
func matchFolded(s, prefix string) int {
	if prefix != "" && strings.HasPrefix(s, prefix) {
		return len(prefix)
	}
	t := newTokenizer(loose)
	want := t.tokens(strings.TrimRightFunc(prefix, isBlank), nil)
	end := min(len(s), 4*len(prefix)+64)
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	have := t.tokens(s[:end], nil)
	if len(want) == 0 || len(have) < len(want) {
		return 0
	}
	for i := range want {
		if !equalKeys(want[i].key, have[i].key) {
			return 0
		}
	}
	n := have[len(want)-1].to
	if strings.TrimRightFunc(prefix, isBlank) == prefix {
		return n
	}
	m := blanksEnd(s, n)
	if m == n && n < len(s) {
		return 0
	}
	return m
}
