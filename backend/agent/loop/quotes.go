package loop

import (
	"encoding/json"
	"strings"
	"unicode"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// maxMisses is how often in a row a model may quote the same passage in a way
// that is not in the document; with the second miss it is given that part of
// the document again.
const maxMisses = 3

// quotes watches a model that tries to quote one passage.
type quotes struct {
	// document is its text as the run began, read what a tool gave of it since.
	document, read string
	target         string
	misses         int
}

// The bounds of an excerpt.
const (
	excerptLines = 12 // on either side
	excerptBytes = 4 << 10
)

// note looks at how a call ended, and adds an excerpt to what the model is told
// where that helps. It reports whether the run should stop.
func (q *quotes) note(c core.ToolCall, res core.ToolResult, end *core.CallEnd) bool {
	if c.Name == core.ToolGetActiveDocument && end.State == core.CallSucceeded {
		q.read = unfenced(end.Result)
	}
	if c.Name != core.ToolProposePatch {
		return false
	}
	if end.State != core.CallFailed || res.Code != fault.NotInDocument {
		q.target, q.misses = "", 0
		return false
	}
	var in struct {
		OldText string `json:"oldText"`
	}
	if json.Unmarshal(c.Input, &in) != nil {
		return false
	}
	if alike(pairs(q.target), pairs(in.OldText)) < sameTarget {
		q.misses = 0
	}
	q.target = in.OldText
	q.misses++
	if q.misses == 2 {
		if part := q.excerpt(in.OldText); part != "" {
			end.Result += "\nThis is that part of the document again, exactly as it stands. Quote from it, or leave the passage as it is:\n" + part
		}
	}
	return q.misses >= maxMisses
}

// sameTarget is how much two quotations must have in common to be meant for one
// passage.
const sameTarget = 0.6

// unfenced is what stands between the marks of a result.
func unfenced(s string) string {
	_, s, found := strings.Cut(s, "\n<data ")
	if !found {
		return ""
	}
	_, s, _ = strings.Cut(s, ">\n")
	if i := strings.LastIndex(s, "</data "); i >= 0 {
		s = s[:i]
	}
	return s
}

// excerpt is the part of the document that is most like a quotation, as the
// model saw it last where it was read.
func (q *quotes) excerpt(target string) string {
	want := pairs(target)
	for _, l := range strings.Split(target, "\n") {
		if p := pairs(l); len(p) > 0 {
			want = p
			break
		}
	}
	part, most := "", 0.0
	for _, text := range []string{q.read, q.document} {
		lines := strings.Split(text, "\n")
		best := -1
		for i, l := range lines {
			if like := held(want, pairs(l)); like > most {
				best, most = i, like
			}
		}
		if best >= 0 {
			from, to := max(0, best-excerptLines), min(len(lines), best+excerptLines+1)
			part, _ = shorten(strings.Join(lines[from:to], "\n"), excerptBytes)
		}
	}
	return part
}

// pairs are the pairs of neighbouring letters of a text.
func pairs(s string) map[[2]rune]bool {
	set := map[[2]rune]bool{}
	var last rune
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		r = unicode.ToLower(r)
		if last != 0 {
			set[[2]rune{last, r}] = true
		}
		last = r
	}
	return set
}

// held is how much of a is in b, from 0 to 1.
func held(a, b map[[2]rune]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for p := range a {
		if b[p] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// alike is how much two sets have in common, from 0 to 1.
func alike(a, b map[[2]rune]bool) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	return held(a, b) * float64(2*len(a)) / float64(len(a)+len(b))
}
