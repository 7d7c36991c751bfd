package resolve

import (
	"strings"

	"galley/backend/agent/core"
)

// compareLines warns where a line that was there before and still is changed
// its structure: its heading level, its markers, its table, its fence.
func (c *comparison) compareLines() {
	for _, p := range c.pairLines() {
		a, b := &c.old.lines[p.a], &c.new.lines[p.b]
		if structural(a.kind) && structural(b.kind) {
			c.compareHeading(p, a, b)
			c.compareMarkers(a, b)
		}
		c.compareTables(a, b)
		c.compareFences(a, b)
	}
}

// structural reports whether markers on a line of a kind mean something.
func structural(k lineKind) bool {
	return k != codeLine && k != mathLine && k != commentLine && k != frontLine
}

// pairLines pairs the lines of the old text with those that they became: by
// what was kept of them, and by order where nothing was.
func (c *comparison) pairLines() []anchor {
	pairs := c.byContent()
	out := make([]anchor, 0, len(pairs))
	last := anchor{-1, -1}
	for _, p := range append(pairs, anchor{len(c.old.lines), len(c.new.lines)}) {
		if p.a > last.a && p.b > last.b {
			out = append(out, c.byOrder(last, p)...)
			if p.a < len(c.old.lines) {
				out = append(out, p)
			}
			last = p
		}
	}
	return out
}

// byContent pairs lines that have more of each other's content than any other
// line has.
func (c *comparison) byContent() []anchor {
	type share struct{ b, size int }
	best := make([]share, len(c.old.lines))
	from := make([]share, len(c.new.lines)) // .b is a line of the old text here
	for i := range best {
		best[i].b = -1
	}
	for i := range from {
		from[i].b = -1
	}
	i, j, e := 0, 0, 0
	for i < len(c.old.lines) && j < len(c.new.lines) {
		// The kept text between edit e-1 and edit e.
		kept := span{0, len(c.old.text)}
		move := 0
		if e > 0 {
			kept.from, move = c.edits[e-1].to, c.to[e-1].to-c.edits[e-1].to
		}
		if e < len(c.edits) {
			kept.to = c.edits[e].from
		}
		a, b := &c.old.lines[i], &c.new.lines[j]
		lo := max(a.body, b.body-move, kept.from)
		hi := min(a.to, b.to-move, kept.to)
		if lo < hi {
			size := 0
			for _, r := range c.old.text[lo:hi] {
				if !isEdge(r) {
					size++
				}
			}
			if best[i].b == j {
				size += best[i].size
			}
			if size > 0 && size >= best[i].size {
				best[i] = share{j, size}
			}
			if from[j].b == i || size > from[j].size {
				from[j] = share{i, size}
			}
		}
		// Go on behind whatever ends first.
		endA, endB := a.to, b.to-move
		switch {
		case e < len(c.edits) && kept.to <= endA && kept.to <= endB:
			e++
		case endA <= endB:
			i++
		default:
			j++
		}
	}
	var out []anchor
	for i, s := range best {
		if s.b >= 0 && from[s.b].b == i {
			out = append(out, anchor{i, s.b})
		}
	}
	return increasing(out)
}

// byOrder pairs the lines between two pairs: all that say something when they
// are as many, else those of a kind that has no words of its own.
func (c *comparison) byOrder(after, before anchor) []anchor {
	a := c.old.saying(after.a+1, before.a, nil)
	b := c.new.saying(after.b+1, before.b, nil)
	if len(a) == len(b) {
		return zip(a, b)
	}
	var out []anchor
	for _, kind := range []lineKind{breakLine, fenceLine} {
		a := c.old.saying(after.a+1, before.a, &kind)
		b := c.new.saying(after.b+1, before.b, &kind)
		if len(a) == len(b) {
			out = append(out, zip(a, b)...)
		}
	}
	return out
}

// saying returns the lines from, …, to-1 that are not blank, or those of one
// kind.
func (o *outline) saying(from, to int, kind *lineKind) []int {
	var out []int
	for i := from; i < to; i++ {
		if k := o.lines[i].kind; kind == nil && k != blankLine && k != underlineLine || kind != nil && k == *kind {
			out = append(out, i)
		}
	}
	return out
}

func zip(a, b []int) []anchor {
	out := make([]anchor, len(a))
	for i := range a {
		out[i] = anchor{a[i], b[i]}
	}
	return out
}

func (c *comparison) compareHeading(p anchor, a, b *mdLine) {
	if a.kind == underlineLine || b.kind == underlineLine || a.level == b.level && a.style == b.style {
		return
	}
	old, new := c.old.headingMarks(p.a), c.new.headingMarks(p.b)
	if a.level != b.level {
		c.warn(core.WarnHeadingLevel, old, new)
		return
	}
	c.warn(core.WarnMarker, old, new)
}

// headingMarks returns where line i's heading marks stand: before it, behind
// it, below it.
func (o *outline) headingMarks(i int) []span {
	l := o.lines[i]
	if l.level == 0 {
		return nil
	}
	if l.style == "=" {
		for j := i; j < len(o.lines); j++ {
			if o.lines[j].kind == underlineLine {
				return []span{{max(o.lines[j].from-1, l.to), o.lines[j].to}}
			}
		}
	}
	body := strings.TrimRightFunc(o.text[l.body:l.to], isBlank)
	bare := strings.TrimRight(body, "#")
	return []span{{l.from, l.body}, {l.body + len(bare), l.body + len(body)}}
}

// compareMarkers compares what a line begins with: lists, tasks, quotes,
// callouts, and thematic breaks.
func (c *comparison) compareMarkers(a, b *mdLine) {
	lead := a.lead.list != b.lead.list || a.lead.task != b.lead.task || a.lead.quotes != b.lead.quotes
	rule := a.kind == breakLine && b.kind == breakLine && c.old.text[a.body] != c.new.text[b.body]
	old, new := span{a.from, a.body}, span{b.from, b.body}
	switch {
	case rule:
		old.to, new.to = a.to, b.to
	case a.callout != b.callout:
		old.to += len(a.callout)
		new.to += len(b.callout)
	case !lead:
		return
	}
	c.warn(core.WarnMarker, []span{old}, []span{new})
}

// compareTables compares the tables that two lines are rows of. A row that is
// none any more has lost its columns.
func (c *comparison) compareTables(a, b *mdLine) {
	if a.table < 0 && b.table < 0 || a.table < 0 && b.kind != rowLine || b.table < 0 && b.kind != textLine {
		return
	}
	var old, new []span
	columns := [2]string{}
	if a.table >= 0 {
		t := c.old.tables[a.table]
		d := c.old.lines[t.delimiter]
		columns[0], old = t.columns, append(old, span{d.from, d.to})
	}
	if b.table >= 0 {
		t := c.new.tables[b.table]
		d := c.new.lines[t.delimiter]
		columns[1], new = t.columns, append(new, span{d.from, d.to})
	}
	if columns[0] == columns[1] {
		return
	}
	if len(cells(tableContent(c.old.text[a.from:a.to]))) != len(cells(tableContent(c.new.text[b.from:b.to]))) {
		old, new = append(old, span{a.from, a.to + 1}), append(new, span{b.from, b.to + 1})
	}
	c.warn(core.WarnTableColumns, old, new)
}

// compareFences compares the marks of the code blocks that two lines belong to.
func (c *comparison) compareFences(a, b *mdLine) {
	if a.code < 0 || b.code < 0 {
		return
	}
	x, y := c.old.codes[a.code], c.new.codes[b.code]
	if x.fence.length == 0 || y.fence.length == 0 {
		return
	}
	openA, openB := c.old.lines[x.first], c.new.lines[y.first]
	closeA, closeB := c.old.lines[x.last], c.new.lines[y.last]
	f, g := x.fence, y.fence
	if f.char != g.char || f.length != g.length || f.info != g.info {
		c.warn(core.WarnFence, []span{{openA.body, openA.to}}, []span{{openB.body, openB.to}})
	}
	if closeA.kind != fenceLine || closeB.kind != fenceLine || x.first == x.last || y.first == y.last {
		return
	}
	if strings.TrimSpace(c.old.text[closeA.body:closeA.to]) != strings.TrimSpace(c.new.text[closeB.body:closeB.to]) {
		c.warn(core.WarnFence, []span{{closeA.body, closeA.to}}, []span{{closeB.body, closeB.to}})
	}
}
