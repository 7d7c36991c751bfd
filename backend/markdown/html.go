package markdown

import (
	"bytes"
	"sort"
	"strings"

	gmtext "github.com/yuin/goldmark/text"
)

// html notes the href and src attributes of the tags in a stretch of raw HTML.
// The lines of a stretch need not be neighbours: quotation marks stand between
// them.
func (f *finder) html(lines *gmtext.Segments) {
	var h htmlScan
	for i := range lines.Len() {
		s := lines.At(i)
		h.cuts = append(h.cuts, cut{len(h.data), s.Start})
		h.data = append(h.data, f.source[s.Start:s.Stop]...)
	}
	for h.at < len(h.data) {
		i := bytes.IndexByte(h.data[h.at:], '<')
		if i < 0 {
			return
		}
		h.at += i
		f.found = append(f.found, h.tag()...)
	}
}

// htmlScan goes through raw HTML.
type htmlScan struct {
	data []byte
	at   int
	cuts []cut
}

// cut says that data from at on comes from source.
type cut struct{ at, source int }

// place returns where in the source the byte at i of the data is.
func (h *htmlScan) place(i int) int {
	n := sort.Search(len(h.cuts), func(n int) bool { return h.cuts[n].at > i })
	c := h.cuts[n-1]
	return c.source + i - c.at
}

// through moves behind the next s, or to the end.
func (h *htmlScan) through(s string) {
	i := bytes.Index(h.data[h.at:], []byte(s))
	if i < 0 {
		h.at = len(h.data)
		return
	}
	h.at += i + len(s)
}

// tag reads what begins with the < at which it stands and moves on.
func (h *htmlScan) tag() []raw {
	rest := h.data[h.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		h.at += 2 // <!--> is a whole comment
		h.through("-->")
		return nil
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		h.through("]]>")
		return nil
	case bytes.HasPrefix(rest, []byte("<?")):
		h.through("?>")
		return nil
	case len(rest) < 2 || !isLetter(rest[1]):
		h.at++
		return nil
	}
	start := h.at
	h.at++
	name := strings.ToLower(h.while(func(c byte) bool { return !isSpaceHTML(c) && c != '/' && c != '>' }))
	found, closed := h.attributes()
	if !closed {
		h.at = start + 1
		return nil
	}
	for i := range found {
		found[i].from, found[i].to = h.place(start), h.place(h.at-1)+1
	}
	switch name {
	case "script", "style", "textarea", "title", "xmp", "noscript":
		// What they hold is no HTML.
		h.through("</")
	}
	return found
}

// attributes reads the attributes of a tag and its >.
func (h *htmlScan) attributes() (found []raw, closed bool) {
	for h.at < len(h.data) {
		c := h.data[h.at]
		if isSpaceHTML(c) || c == '/' {
			h.at++
			continue
		}
		if c == '>' {
			h.at++
			return found, true
		}
		name := strings.ToLower(h.while(func(c byte) bool { return !isSpaceHTML(c) && c != '/' && c != '>' && c != '=' && c != '<' }))
		if name == "" {
			return nil, false
		}
		before := h.at
		h.while(isSpaceHTML)
		if h.at == len(h.data) || h.data[h.at] != '=' {
			h.at = before
			continue
		}
		h.at++
		h.while(isSpaceHTML)
		from, to, quote, ok := h.value()
		if !ok {
			return nil, false
		}
		if (name == "href" || name == "src") && from < to && bytes.IndexByte(h.data[from:to], '\n') < 0 {
			syntax := Unquoted
			switch quote {
			case '"':
				syntax = DoubleQuoted
			case '\'':
				syntax = SingleQuoted
			}
			at := h.place(from)
			found = append(found, raw{kind: HTML, destFrom: at, destTo: at + to - from, form: Form{Syntax: syntax}})
		}
	}
	return nil, false
}

// value reads the value of an attribute; quote is 0 for none.
func (h *htmlScan) value() (from, to int, quote byte, ok bool) {
	if h.at == len(h.data) {
		return 0, 0, 0, false
	}
	if c := h.data[h.at]; c == '"' || c == '\'' {
		i := bytes.IndexByte(h.data[h.at+1:], c)
		if i < 0 {
			return 0, 0, 0, false
		}
		from = h.at + 1
		h.at = from + i + 1
		return from, from + i, c, true
	}
	from = h.at
	h.while(func(c byte) bool { return !isSpaceHTML(c) && c != '>' })
	return from, h.at, 0, from < h.at
}

// while moves over the bytes that ok takes and returns them.
func (h *htmlScan) while(ok func(byte) bool) string {
	from := h.at
	for h.at < len(h.data) && ok(h.data[h.at]) {
		h.at++
	}
	return string(h.data[from:h.at])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpaceHTML(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }
