package resolve

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"galley/backend/agent/core"
)

// warningSet is the warnings of one edit.
type warningSet map[core.Warning]bool

func (s warningSet) has(w core.Warning) bool { return s[w] }

// comparison is a text before and after edits, as far as they reach.
type comparison struct {
	edits []byteEdit
	// to holds the place in the new text of each edit's insert.
	to       []span
	old, new *outline
	// oldThings and newThings are what must not change unnoticed.
	oldThings, newThings []thing
	said                 []warningSet
}

// span is a half-open range of bytes.
type span struct{ from, to int }

// warnings returns, for each edit, what kinds of things it changes.
func warnings(doc string, edits []byteEdit) []warningSet {
	c := &comparison{edits: edits, to: make([]span, len(edits)), said: make([]warningSet, len(edits))}
	if len(edits) == 0 {
		return nil
	}
	var b strings.Builder
	size, at := len(doc), 0
	for _, e := range edits {
		size += len(e.insert) - (e.to - e.from)
	}
	b.Grow(size)
	for i, e := range edits {
		b.WriteString(doc[at:e.from])
		c.to[i] = span{b.Len(), b.Len() + len(e.insert)}
		b.WriteString(e.insert)
		at = e.to
	}
	b.WriteString(doc[at:])
	after := b.String()

	from, oldEnd, newEnd := c.reach(doc, after)
	c.old = newOutline(doc, from, oldEnd)
	c.new = newOutline(after, from, newEnd)
	around := labels(doc[:from])
	around.add(doc[oldEnd:])
	c.oldThings = collect(c.old, around.with(doc[from:oldEnd]))
	c.newThings = collect(c.new, around.with(after[from:newEnd]))
	c.compareThings()
	c.compareLines()
	return c.said
}

// reach returns the stretch that must be looked at: from a block border before
// the first edit to one after the last, from which on both texts are the same
// and mean the same.
func (c *comparison) reach(doc, after string) (from, oldEnd, newEnd int) {
	first, last := c.edits[0].from, c.edits[len(c.edits)-1].to
	w := newWalker(doc)
	if front := w.at; first < front || frontMatterEnd(after) != front {
		w = &walker{text: doc, blank: true}
		from = 0
	} else {
		from = front
	}
	for w.at <= first && w.at < len(doc) {
		if w.fresh() {
			from = w.at
		}
		w.next()
	}
	n := &walker{text: after, at: from, blank: true}
	if from == 0 {
		n = newWalker(after)
		if w = newWalker(doc); w.at > last {
			w.at = 0
		}
	}
	shift := len(after) - len(doc)
	for w.at < len(doc) || n.at < len(after) {
		switch {
		case w.at > last && n.at == w.at+shift && w.fresh() && n.fresh():
			return from, w.at, n.at
		case w.at < len(doc) && (w.at <= last || w.at+shift <= n.at):
			w.next()
		case n.at < len(after):
			n.next()
		default:
			w.next()
		}
	}
	return from, len(doc), len(after)
}

// labelSet is the link labels that a text defines, folded.
type labelSet map[string]bool

func labels(text string) labelSet {
	out := make(labelSet)
	out.add(text)
	return out
}

// add adds the labels of whole lines of text.
func (s labelSet) add(text string) {
	for at := 0; ; {
		i := strings.Index(text[at:], "]:")
		if i < 0 {
			return
		}
		at += i
		start := strings.LastIndexByte(text[:at], '\n') + 1
		line := firstLine(text[start:])
		if label, target := definition(line[parseLead(line).end:]); target != "" {
			s[label] = true
		}
		at += 2
	}
}

// with returns the set together with the labels of text.
func (s labelSet) with(text string) labelSet {
	more := labels(text)
	maps.Copy(more, s)
	return more
}

// warn gives a warning to the edits that touch one of the ranges, of the old
// text and of the new. Where none does, the cause lies before it, as with a
// fence that was opened there.
func (c *comparison) warn(w core.Warning, old, new []span) {
	found := false
	for _, strict := range []bool{true, false} {
		for i, e := range c.edits {
			if touches(span{e.from, e.to}, old, strict) || touches(c.to[i], new, strict) {
				c.give(i, w)
				found = true
			}
		}
		if found {
			return
		}
	}
	cause := 0
	for i, e := range c.edits {
		if len(old) > 0 && e.from <= old[0].from || len(new) > 0 && c.to[i].from <= new[0].from {
			cause = i
		}
	}
	c.give(cause, w)
}

func (c *comparison) give(i int, w core.Warning) {
	if c.said[i] == nil {
		c.said[i] = make(warningSet)
	}
	c.said[i][w] = true
}

// touches reports whether an edit's range overlaps one of the ranges; when not
// strict, touching an edge will do.
func touches(e span, ranges []span, strict bool) bool {
	for _, r := range ranges {
		if strict && e.from < r.to && e.to > r.from || !strict && e.from <= r.to && e.to >= r.from {
			return true
		}
	}
	return false
}

// newPlace returns where byte at of the old text, which no edit holds, is in
// the new one; false when an edit of [at, end) changed it.
func (c *comparison) newPlace(at, end int) (int, bool) {
	i := sort.Search(len(c.edits), func(i int) bool { return c.edits[i].from >= end })
	if i > 0 {
		if e := c.edits[i-1]; e.to > at {
			return 0, false
		}
		return at - c.edits[i-1].to + c.to[i-1].to, true
	}
	return at, true
}

// compareThings warns where the ordered list of a kind differs.
func (c *comparison) compareThings() {
	for _, kind := range warningOrder {
		before, after := ofKind(c.oldThings, kind), ofKind(c.newThings, kind)
		if slices.EqualFunc(before, after, func(a, b thing) bool { return a.value == b.value }) {
			continue
		}
		c.compareLists(kind, before, after)
	}
}

// ofKind returns the things of a kind in the order of the text.
func ofKind(things []thing, kind core.Warning) []thing {
	var out []thing
	for _, t := range things {
		if t.kind == kind {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b thing) int { return a.from - b.from })
	return out
}

// compareLists finds which things of one kind differ. Those that no edit came
// near stand for themselves and split the lists.
func (c *comparison) compareLists(kind core.Warning, before, after []thing) {
	i, j := 0, 0
	for k, t := range before {
		at, ok := c.newPlace(t.from, t.to)
		if !ok {
			continue
		}
		for n := j; n < len(after) && after[n].from <= at; n++ {
			if after[n].from == at && after[n].value == t.value {
				c.compareBetween(kind, before[i:k], after[j:n])
				i, j = k+1, n+1
				break
			}
		}
	}
	c.compareBetween(kind, before[i:], after[j:])
}

// maxThings bounds the lists that are compared to the last thing.
const maxThings = 400

func (c *comparison) compareBetween(kind core.Warning, before, after []thing) {
	if len(before) > maxThings || len(after) > maxThings {
		for _, t := range before {
			c.warn(kind, []span{{t.from, t.to}}, nil)
		}
		for _, t := range after {
			c.warn(kind, nil, []span{{t.from, t.to}})
		}
		return
	}
	// The longest common part stays unsaid. As many after as before are the same
	// things in other words; one that came or went takes its marks along.
	n, m := len(before), len(after)
	place := func(t thing) []span {
		if n == m {
			return []span{t.inner}
		}
		return []span{{t.from, t.to}}
	}
	common := make([][]int, n+1)
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if before[i].value == after[j].value {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n || j < m; {
		switch {
		case i < n && j < m && before[i].value == after[j].value:
			i++
			j++
		case j == m || i < n && common[i+1][j] >= common[i][j+1]:
			c.warn(kind, place(before[i]), nil)
			i++
		default:
			c.warn(kind, nil, place(after[j]))
			j++
		}
	}
}
