package resolve

import (
	"slices"
	"strings"
)

// isRefusal reports whether an answer is nothing but a refusal in words
// (decision 6). A text that refuses something has its words from the selection.
func (t *target) isRefusal(answer string) bool {
	said := trimmed(answer)
	if said == "" || len(said) > 1500 || structured(said) {
		return false
	}
	first := sayable(said)
	if !matchesAny(first, refusalForms) {
		return false
	}
	if t.caret {
		return len(paragraphs(strings.Split(said, "\n"))) <= 3
	}
	if matchesAny(foldText(t.core), refusalWords) || similarity(t.bag(), bagOf(said)) >= 0.4 {
		return false
	}
	// A refusal of part of the work, with the text behind it, is talk.
	parts := paragraphs(strings.Split(said, "\n"))
	for _, p := range parts[1:] {
		if similarity(t.bag(), bagOf(p)) >= 0.4 || strings.Contains(p, "```") {
			return false
		}
	}
	return !endsInColon(parts[0])
}

// stripTalk removes talk to the person before and after the text (decision 5).
// What stands for lines of the selection is text, whatever it sounds like.
func (t *target) stripTalk(lines []string, whole bool) []string {
	lines = trimLines(lines)
	lines, before := t.stripOpening(lines)
	if !whole {
		return lines
	}
	return t.stripClosing(lines, before)
}

func trimLines(lines []string) []string {
	for len(lines) > 0 && trimmed(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && trimmed(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// stripOpening removes talk before the text and reports whether there was any.
func (t *target) stripOpening(all []string) ([]string, bool) {
	lines := all
	for range 3 {
		n := t.openingLines(lines)
		if n == 0 {
			break
		}
		lines = lines[n:]
		for len(lines) > 0 && trimmed(lines[0]) == "" {
			lines = lines[1:]
		}
	}
	stripped := len(lines) < len(all)
	if stripped && len(lines) > 1 && isThematic(trimmed(lines[0])) && !isThematic(trimmed(firstLine(t.core))) {
		// A rule between the talk and the text.
		lines = trimLines(lines[1:])
	}
	if n := t.openingWords(lines); n > 0 {
		lines = slices.Clone(lines)
		lines[0] = lines[0][n:]
		stripped = true
	}
	return lines, stripped
}

// openingLines returns how many lines at the start are talk.
func (t *target) openingLines(lines []string) int {
	n := 0
	for n < len(lines) && trimmed(lines[n]) != "" {
		n++
	}
	if n == 0 || n == len(lines) && n == 1 {
		return 0
	}
	passage := strings.Join(lines[:n], "\n")
	how := opensTalk(passage)
	alone := n < len(lines)
	if n > 1 && (how == noTalk || how == weakTalk || n > 3) || n > 1 && n == len(lines) {
		// Talk may stand right above the text.
		n = 1
		passage, alone = lines[0], false
		how = opensTalk(passage)
	}
	if how == noTalk || n >= len(lines) || t.ownVoice(passage) {
		return 0
	}
	rest := lines[n:]
	if t.caret {
		// Nothing to compare with, so only talk about the work will do.
		if how == clearTalk {
			return n
		}
		return 0
	}
	bags := bagsOf(rest)
	for _, l := range lines[:n] {
		if t.belongs(newLineBag(l), bags) {
			return 0
		}
	}
	if t.sameShape(lines) {
		return 0
	}
	if how == clearTalk && (alone || endsInColon(passage) || t.beginsLike(rest)) {
		return n
	}
	if t.beginsLike(rest) {
		return n
	}
	return 0
}

// beginsLike reports whether the first line of lines is a version of the
// selection's first.
func (t *target) beginsLike(lines []string) bool {
	for _, l := range lines {
		if trimmed(l) != "" {
			return len(t.lines()) > 0 && compareLines(t.lines()[0], newLineBag(l)) >= 0.5
		}
	}
	return false
}

// sameShape reports whether the answer, its first line included, has the blocks
// of the selection one for one, and both first lines announce what follows:
// then the answer's first line stands for the selection's, in whatever words.
func (t *target) sameShape(lines []string) bool {
	if len(t.lines()) < 2 || !endsInColon(t.lines()[0].text) || !endsInColon(lines[0]) {
		return false
	}
	return slices.Equal(shape(strings.Split(t.core, "\n")), shape(trimLines(lines)))
}

// shape names the kind of each block.
func shape(lines []string) []string {
	var out []string
	for _, p := range paragraphs(lines) {
		kind := "text"
		l := parseLead(p)
		_, isFence := parseFence(p)
		switch {
		case l.heading > 0:
			kind = "heading"
		case l.quotes > 0:
			kind = "quote"
		case l.list != "":
			kind = "list"
		case p[0] == '|':
			kind = "table"
		case isFence:
			kind = "fence"
		}
		out = append(out, kind)
	}
	return out
}

// openingWords returns the length of talk that stands before the text on its
// own line, such as "Corrected version: ".
func (t *target) openingWords(lines []string) int {
	if t.caret || len(lines) == 0 || structured(lines[0]+" ") {
		return 0
	}
	line := lines[0]
	for i, r := range line {
		if r != ':' && r != '：' {
			continue
		}
		end := i + len(string(r))
		head, rest := line[:end], line[end:]
		if i > 120 {
			return 0
		}
		if trimmed(rest) == "" || opensTalk(head) != clearTalk {
			continue
		}
		if matchFolded(t.core, trimmed(head)) > 0 || !t.closer(rest, line) {
			return 0
		}
		return len(line) - len(strings.TrimLeftFunc(rest, isBlank))
	}
	return 0
}

// closer reports whether a rest of a line is more like the selection's first
// line than the whole line is.
func (t *target) closer(rest, line string) bool {
	if len(t.lines()) == 0 {
		return false
	}
	own := t.lines()[0]
	s := compareLines(own, newLineBag(rest))
	return s >= 0.5 && s > compareLines(own, newLineBag(line))
}

// stripClosing removes talk after the text. talked says that there was talk
// before it too.
func (t *target) stripClosing(lines []string, talked bool) []string {
	if n := t.closingLabel(lines); n >= 0 {
		lines = trimLines(lines[:n])
	}
	for range 4 {
		start := len(lines)
		for start > 0 && trimmed(lines[start-1]) != "" {
			start--
		}
		if start == 0 {
			break
		}
		if closes := t.isClosing(lines, start) || talked && t.explains(lines, start); !closes {
			break
		}
		lines = trimLines(lines[:start])
		talked = true
	}
	last := len(lines) - 1
	if talked && last > 0 && isThematic(trimmed(lines[last])) && !isThematic(trimmed(t.core[strings.LastIndexByte(t.core, '\n')+1:])) {
		lines = trimLines(lines[:last])
	}
	return lines
}

// ownVoice reports whether a passage in the first person may be the text's own:
// where the text speaks so, or nothing is known of it.
func (t *target) ownVoice(passage string) bool {
	return (t.caret || matchesAny(t.core, firstPerson)) && matchesAny(passage, speaksOfSelf) && !matchesAny(passage, strictlyAboutEdits)
}

// isClosing reports whether the last paragraph, which begins at line start, is
// talk.
func (t *target) isClosing(lines []string, start int) bool {
	passage := strings.Join(lines[start:], "\n")
	how := closesTalk(passage)
	if how == noTalk {
		return false
	}
	if t.ownVoice(passage) {
		return false
	}
	if t.caret {
		return how == clearTalk
	}
	if len(t.lines()) > 0 && matchesAny(sayable(t.lines()[0].text), letterOpening) && !matchesAny(passage, aboutEdits) {
		return false
	}
	bags := bagsOf(lines[:start])
	for _, l := range lines[start:] {
		if t.belongs(newLineBag(l), bags) {
			return false
		}
	}
	return how == clearTalk || t.endsLike(lines[:start])
}

// explains reports whether the last paragraph, which begins at line start,
// explains a block of code that was asked for at the caret and announced.
func (t *target) explains(lines []string, start int) bool {
	above := trimLines(lines[:start])
	if !t.caret || len(above) == 0 || structured(lines[start]) || parseLead(lines[start]).heading > 0 {
		return false
	}
	_, one := fenceShape(above)
	return one
}

// endsLike reports whether the last line of lines is a version of the
// selection's last.
func (t *target) endsLike(lines []string) bool {
	lines = trimLines(lines)
	if len(lines) == 0 || len(t.lines()) == 0 {
		return false
	}
	return compareLines(t.lines()[len(t.lines())-1], newLineBag(lines[len(lines)-1])) >= 0.5
}

// maxNotes is how many lines a list of the changes made may have.
const maxNotes = 120

// closingLabel returns the line at which a list of the changes made begins,
// from a label to the end of the answer; -1 when there is none.
func (t *target) closingLabel(lines []string) int {
	for i := len(lines) - 1; i > max(0, len(lines)-maxNotes); i-- {
		l := trimmed(lines[i])
		if l == "" || trimmed(lines[i-1]) != "" && !isThematic(trimmed(lines[i-1])) {
			continue
		}
		said := sayable(l)
		if len(said) > 120 || parseLead(l).list != "" || !endsInColon(said) && parseLead(l).heading == 0 && !strings.HasPrefix(l, "**") {
			continue
		}
		if !matchesAny(said, closingClear) {
			continue
		}
		if !t.caret && t.belongs(newLineBag(l), bagsOf(lines[:i])) {
			continue
		}
		if onlyNotes(lines[i+1:]) {
			return i
		}
	}
	return -1
}

// onlyNotes reports whether lines are list items, quotes of words, or talk.
func onlyNotes(lines []string) bool {
	for _, p := range paragraphs(lines) {
		l := parseLead(p)
		if l.list == "" && closesTalk(p) == noTalk && len(p) > 200 {
			return false
		}
		if l.heading > 0 || p[0] == '|' && !strings.Contains(p, "→") {
			return false
		}
	}
	return true
}
