package resolve

import "strings"

// walker follows the constructs that hide Markdown from one line to the next:
// fenced code, display math, comments, front matter. It is cheap enough to run
// over a whole large document.
type walker struct {
	text string
	// at is where the next line starts.
	at int
	// code is the open fence, if inCode.
	code   fence
	inCode bool
	// until is what ends an open comment or math block; empty: none is open.
	until string
	// blank reports whether the last line was blank (or there was none).
	blank bool
}

func newWalker(text string) *walker {
	w := &walker{text: text, blank: true}
	if n := frontMatterEnd(text); n > 0 {
		w.at = n
	}
	return w
}

// hidden reports whether the next line is inside something.
func (w *walker) hidden() bool { return w.inCode || w.until != "" }

// fresh reports whether a block begins at w.at that nothing before reaches
// into.
func (w *walker) fresh() bool {
	if w.hidden() || !w.blank || w.at >= len(w.text) {
		return w.at >= len(w.text)
	}
	c := w.text[w.at]
	return c != ' ' && c != '\t' && c != '\n'
}

// next reads a line and returns it without its break.
func (w *walker) next() string {
	rest := w.text[w.at:]
	line := firstLine(rest)
	w.at += min(len(line)+1, len(rest))
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	w.blank = i == len(line)
	if w.blank || !w.hidden() && strings.IndexByte("`~$<\\>-*+0123456789", line[i]) < 0 {
		if w.inCode && w.code.quotes > 0 {
			w.inCode = false
		}
		return line
	}
	w.step(line)
	return line
}

// step moves the state over a line.
func (w *walker) step(line string) {
	if w.inCode {
		content, ok := unquote(line, w.code.quotes)
		if ok {
			w.inCode = !w.code.closes(strings.TrimLeft(content, " \t"))
			return
		}
		w.inCode = false
	}
	if w.until != "" {
		if strings.Contains(line, w.until) {
			w.until = ""
		}
		return
	}
	l := parseLead(line)
	content := line[l.end:]
	if f, ok := parseFence(content); ok {
		f.quotes = l.quotes
		w.code, w.inCode = f, true
		return
	}
	w.until = opens(strings.TrimRight(content, " \t"), w.text[w.at:])
}

// opens returns what ends the comment or math block that a line's content
// opens; empty when it opens none. rest is the text after the line.
func opens(content, rest string) string {
	switch {
	case strings.HasPrefix(content, "<!--"):
		if !strings.Contains(content[4:], "-->") && strings.Contains(rest, "-->") {
			return "-->"
		}
	case content == "$$":
		if closesMath(rest, "$$") {
			return "$$"
		}
	case content == `\[`:
		if closesMath(rest, `\]`) {
			return `\]`
		}
	}
	return ""
}

// closesMath reports whether a line of display math ends in mark within reach.
// Without one the opening mark is just text.
func closesMath(rest, mark string) bool {
	for range 200 {
		if rest == "" {
			return false
		}
		line := firstLine(rest)
		rest = rest[min(len(line)+1, len(rest)):]
		if strings.HasSuffix(strings.TrimRight(line, " \t"), mark) {
			return true
		}
	}
	return false
}

// unquote strips n quote prefixes from a line; false when it has fewer.
func unquote(line string, n int) (string, bool) {
	for range n {
		t := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(t, ">") {
			return line, false
		}
		line = strings.TrimPrefix(t[1:], " ")
	}
	return line, true
}

// codeAt reports whether the place at byte pos is inside a fenced code block,
// and which: neither its opening nor its closing line counts as inside.
func codeAt(text string, pos int) (fence, bool) {
	w := newWalker(text)
	if pos < w.at {
		return fence{}, false
	}
	for w.at <= pos && w.at < len(text) {
		code, in := w.code, w.inCode
		start := w.at
		w.next()
		if w.at > pos || w.at == len(text) && text[len(text)-1] != '\n' {
			return code, in && w.inCode && pos >= start
		}
	}
	return w.code, w.inCode
}
