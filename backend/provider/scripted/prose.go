package scripted

import (
	"regexp"
	"strings"
)

// span is a piece of a passage. Only prose may be edited.
type span struct {
	text  string
	prose bool
}

// line is one line of a passage, without its break.
type line struct {
	spans []span
	// paragraph says that the line is plain text: no heading, item or row.
	paragraph bool
}

// inline marks what stays within a line: code, math, links, images, tags,
// addresses, brackets, quotations, escapes, entities, numbers and dates.
var inline = regexp.MustCompile("``[^\n]*?``|`[^`\n]+`" +
	`|\$[^$\n]+\$` +
	`|!?\[\[[^\]\n]*\]\]|!?\[[^\]\n]*\](\([^)\n]*\)|\[[^\]\n]*\])?` +
	`|<[^>\n]+>|https?://\S+|www\.\S+|\S+@\S+\.\S+` +
	`|“[^”\n]*”|"[^"\n]*"|「[^」\n]*」|『[^』\n]*』|«[^»\n]*»` +
	`|\\.|&#?\w+;` +
	`|[+-]?\d[\d.,:/%-]*\w*( ?(年|月|日|%))?`)

var (
	fence     = regexp.MustCompile("^[ \t>]*(`{3,}|~{3,})")
	delimiter = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	reference = regexp.MustCompile(`^ {0,3}\[[^\]^][^\]]*\]:`)
	marker    = regexp.MustCompile(`^([ \t]*(#{1,6}|[-*+]|\d+[.)])[ \t]+(\[[ xX]\][ \t]+)?|[ \t]*\[\^[^\]]+\]:[ \t]*|[ \t]+)`)
	quoted    = regexp.MustCompile(`^[ \t]{0,3}>`)
)

// divide finds the prose of a passage. With loose, quotations and the text of
// links count as prose too, for passages that hold nothing else.
func divide(s string, loose bool) []line {
	var lines []line
	keep := "" // the end that a block of text that stays is waiting for
	rows := strings.Split(s, "\n")
	for i, row := range rows {
		if keep != "" {
			lines = append(lines, line{spans: []span{{text: row}}})
			if endsBlock(row, keep) {
				keep = ""
			}
			continue
		}
		open := ""
		switch {
		case i == 0 && strings.TrimRight(row, " \t") == "---" && len(rows) > 1:
			open = "---"
		case fence.MatchString(row):
			open = fence.FindStringSubmatch(row)[1]
		case strings.TrimSpace(row) == "$$":
			open = "$$"
		case strings.Contains(row, "<!--") && !strings.Contains(row, "-->"):
			open = "-->"
		}
		indented := strings.HasPrefix(row, "    ") && !marker.MatchString(strings.TrimLeft(row, " ")) &&
			(i == 0 || strings.TrimSpace(rows[i-1]) == "")
		switch {
		case open != "":
			keep = open
			fallthrough
		case indented, delimiter.MatchString(row), reference.MatchString(row), quoted.MatchString(row) && !loose:
			lines = append(lines, line{spans: []span{{text: row}}})
			continue
		}
		lines = append(lines, divideLine(row, loose))
	}
	return lines
}

func endsBlock(row, end string) bool {
	trimmed := strings.Trim(row, " \t>")
	switch end[0] {
	case '`', '~':
		return len(trimmed) >= len(end) && strings.Trim(trimmed, end[:1]) == ""
	case '-':
		if end == "---" {
			return trimmed == "---" || trimmed == "..."
		}
	}
	return strings.Contains(row, end)
}

func divideLine(row string, loose bool) line {
	var l line
	head := marker.FindString(row)
	if loose {
		head += quoted.FindString(row[len(head):])
	}
	l.paragraph = strings.TrimSpace(head) == "" && !strings.Contains(row, "|")
	if head != "" {
		l.spans = append(l.spans, span{text: head})
	}
	rest := row[len(head):]
	at := 0
	if !loose {
		for _, m := range inline.FindAllStringIndex(rest, -1) {
			if m[0] > at {
				l.spans = append(l.spans, span{text: rest[at:m[0]], prose: true})
			}
			l.spans = append(l.spans, span{text: rest[m[0]:m[1]]})
			at = m[1]
		}
	}
	if at < len(rest) {
		l.spans = append(l.spans, span{text: rest[at:], prose: true})
	}
	return l
}

// join puts a passage together again.
func join(lines []line) string {
	rows := make([]string, len(lines))
	for i, l := range lines {
		for _, s := range l.spans {
			rows[i] += s.text
		}
	}
	return strings.Join(rows, "\n")
}

// edit applies f to all prose.
func edit(lines []line, f func(string) string) {
	for i := range lines {
		for j := range lines[i].spans {
			if s := &lines[i].spans[j]; s.prose {
				s.text = f(s.text)
			}
		}
	}
}
