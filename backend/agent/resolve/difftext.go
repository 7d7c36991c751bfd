package resolve

import "strings"

// readDiff reads an answer that is a diff of the selection as the text it leads
// to (decision 9). fits is false when its context and removed lines are not the
// selection's.
func (t *target) readDiff(answer string, whole bool) (body string, isDiff, fits bool) {
	if t.core == "" || t.inDiff {
		return "", false, false
	}
	script, ok := diffScript(answer, whole)
	if !ok {
		return "", false, false
	}
	own := strings.Split(t.core, "\n")
	body, fits = applyScript(own, script, 1)
	if !fits && spaced(script) {
		// Written with a blank between the sign and the line.
		body, fits = applyScript(own, script, 2)
	}
	return body, true, fits
}

// diffScript returns the lines of the diff that an answer consists of, apart
// from talk round it.
func diffScript(answer string, whole bool) ([]string, bool) {
	var script []string
	var open fence
	in, found := false, false
	var outside []string
	for _, l := range strings.Split(answer, "\n") {
		content := strings.TrimSpace(l)
		switch {
		case in && open.closes(content):
			in = false
		case in:
			script = append(script, l)
		default:
			f, ok := parseFence(content)
			if !ok {
				outside = append(outside, l)
				continue
			}
			if !strings.EqualFold(f.info, "diff") {
				return nil, false
			}
			open, in, found = f, true, true
		}
	}
	if !found {
		lines := strings.Split(trimmed(answer), "\n")
		if len(lines) > 3 && strings.HasPrefix(lines[0], "--- ") && strings.HasPrefix(lines[1], "+++ ") && strings.HasPrefix(lines[2], "@@ ") {
			return lines, true
		}
		return nil, false
	}
	if in && whole {
		return nil, false
	}
	for _, p := range paragraphs(outside) {
		// Talk, however it sounds: a text of prose with one diff in it is longer.
		if opensTalk(p) == noTalk && closesTalk(p) == noTalk && len(p) > 300 {
			return nil, false
		}
	}
	return script, true
}

// spaced reports whether every changed line has a blank after its sign.
func spaced(script []string) bool {
	for _, l := range script {
		if l != "" && (l[0] == '-' || l[0] == '+') && !isHeader(l) && len(l) > 1 && l[1] != ' ' {
			return false
		}
	}
	return true
}

func isHeader(l string) bool {
	return strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ") || strings.HasPrefix(l, "@@") ||
		strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "index ") || strings.HasPrefix(l, `\ `)
}

// applyScript applies the lines of a diff, whose signs take up sign bytes, to
// lines. Context and removed lines must be found in order; what a diff leaves
// out stays.
func applyScript(lines, script []string, sign int) (string, bool) {
	var out []string
	at := 0
	header := true
	for _, l := range script {
		if isHeader(l) && (header || strings.HasPrefix(l, "@@") || strings.HasPrefix(l, `\ `)) {
			continue
		}
		header = false
		kind, rest := byte(' '), ""
		if l != "" {
			kind, rest = l[0], l[min(sign, len(l)):]
		}
		switch kind {
		case '+':
			out = append(out, rest)
			continue
		case '-', ' ':
		default:
			// A context line without its sign.
			kind, rest = ' ', l
		}
		found := at
		for found < len(lines) && !sameLine(lines[found], rest, l, kind) {
			found++
		}
		if found == len(lines) {
			if kind == ' ' && trimmed(rest) == "" {
				continue
			}
			return "", false
		}
		out = append(out, lines[at:found]...)
		if kind == ' ' {
			out = append(out, lines[found])
		}
		at = found + 1
	}
	return strings.Join(append(out, lines[at:]...), "\n"), true
}

// sameLine reports whether a line of the selection is the one that a diff
// names; whole is the diff's line with its sign, which context lines often
// lack.
func sameLine(own, named, whole string, kind byte) bool {
	key := lineKey(own)
	return key == lineKey(named) || kind == ' ' && key == lineKey(whole)
}
