package text

import (
	"sort"
	"strings"
)

// Changes is the composition of edit sets: what leads from a text A to a text
// B. Replacements that touch stay apart, as they do in the page's own change
// sets. A Changes is immutable; the zero value changes the empty text nowhere.
type Changes struct {
	lenA, lenB int
	sections   []section
}

// section is a kept or a replaced part of A.
type section struct {
	keep bool
	// len is the part's length in A, in UTF-16 units.
	len int
	// insert is what a replaced part became; insertLen its UTF-16 length.
	insert    string
	insertLen int
}

// lenB returns the section's length in B.
func (s section) lenB() int {
	if s.keep {
		return s.len
	}
	return s.insertLen
}

// NoChanges returns the Changes that leave a text of length UTF-16 units as it
// is. Edits are added with [Changes.Compose].
func NoChanges(length int) Changes {
	c := Changes{lenA: length, lenB: length}
	if length > 0 {
		c.sections = []section{{keep: true, len: length}}
	}
	return c
}

// LenA returns the length of the text before, in UTF-16 units.
func (c Changes) LenA() int { return c.lenA }

// LenB returns the length of the text after, in UTF-16 units.
func (c Changes) LenB() int { return c.lenB }

// Edits returns the changes as edits of A, sorted, none overlapping.
func (c Changes) Edits() []Edit {
	var out []Edit
	at := 0
	for _, s := range c.sections {
		if !s.keep {
			out = append(out, Edit{From: at, To: at + s.len, Insert: s.insert})
		}
		at += s.len
	}
	return out
}

// Compose returns the changes followed by edits, which refer to B. Edits must
// be sorted and in range, as [Check] makes sure; it refuses as invalid_input
// what it can see to be wrong without the text.
func (c Changes) Compose(edits []Edit) (Changes, error) {
	second, err := sectionsOf(edits, c.lenB)
	if err != nil {
		return Changes{}, err
	}
	var out sectionList
	a, b := cursor{rest: c.sections}, cursor{rest: second}
	a.next()
	b.next()
	// open says that the replacement written last goes on: the pieces into
	// which the other side cuts it stay one section.
	open := false
	for !a.done || !b.done {
		if !a.done && a.now.lenB() == 0 {
			out.replace(a.now.len, "", open)
			a.next()
			continue
		}
		if !b.done && !b.now.keep && b.now.len == 0 {
			out.replace(0, b.now.insert, open)
			b.next()
			continue
		}
		n := min(a.now.lenB(), b.now.len)
		before := len(out)
		switch {
		case a.now.keep && b.now.keep:
			out.keep(n)
		case a.now.keep:
			out.replace(n, b.insertOnce(), open)
		case b.now.keep:
			part, err := prefix(a.now.insert, n)
			if err != nil {
				return Changes{}, err
			}
			out.replace(a.deleteOnce(), part, open)
		default:
			out.replace(a.deleteOnce(), b.insertOnce(), open)
		}
		goesOn := !a.now.keep && a.now.insertLen > n || !b.now.keep && b.now.len > n
		open = goesOn && (open || len(out) > before)
		if err := a.advanceB(n); err != nil {
			return Changes{}, err
		}
		b.advanceA(n)
	}
	next := Changes{lenA: c.lenA, sections: out}
	for _, s := range out {
		next.lenB += s.lenB()
	}
	return next, nil
}

// sectionsOf turns edits of a text of the given length into sections.
func sectionsOf(edits []Edit, length int) (sectionList, error) {
	var out sectionList
	at := 0
	for _, e := range edits {
		if e.From < at || e.To < e.From || e.To > length {
			return nil, refuse("edits are out of range or not sorted")
		}
		out.keep(e.From - at)
		out.replace(e.To-e.From, e.Insert, false)
		at = e.To
	}
	out.keep(length - at)
	return out, nil
}

// sectionList builds sections, merging what need not be told apart.
type sectionList []section

func (l *sectionList) keep(n int) {
	if n == 0 {
		return
	}
	if i := len(*l) - 1; i >= 0 && (*l)[i].keep {
		(*l)[i].len += n
		return
	}
	*l = append(*l, section{keep: true, len: n})
}

// replace adds a replacement. It joins the one before when join is true, and
// when both only delete or both only insert.
func (l *sectionList) replace(n int, insert string, join bool) {
	if n == 0 && insert == "" {
		return
	}
	units := Length(insert)
	if i := len(*l) - 1; i >= 0 && !(*l)[i].keep {
		last := &(*l)[i]
		if join || insert == "" && last.insert == "" || n == 0 && last.len == 0 {
			last.len += n
			last.insert += insert
			last.insertLen += units
			return
		}
	}
	*l = append(*l, section{len: n, insert: insert, insertLen: units})
}

// cursor walks over sections, taking parts of them.
type cursor struct {
	rest []section
	// now is what is left of the section the cursor is in.
	now  section
	done bool
	// begun is true when a part of the section was taken.
	begun bool
}

func (c *cursor) next() {
	c.begun = false
	if len(c.rest) == 0 {
		c.done = true
		c.now = section{keep: true}
		return
	}
	c.now, c.rest = c.rest[0], c.rest[1:]
}

// deleteOnce returns the length the section deletes, with its first part only.
func (c *cursor) deleteOnce() int {
	if c.begun {
		return 0
	}
	return c.now.len
}

// insertOnce returns what the section inserts, with its first part only.
func (c *cursor) insertOnce() string {
	if c.begun {
		return ""
	}
	return c.now.insert
}

// advanceA takes n units of the section's text before.
func (c *cursor) advanceA(n int) {
	if n == c.now.len {
		c.next()
		return
	}
	c.now.len -= n
	c.begun = true
}

// advanceB takes n units of the section's text after.
func (c *cursor) advanceB(n int) error {
	if c.now.keep {
		c.advanceA(n)
		return nil
	}
	if n == c.now.insertLen {
		c.next()
		return nil
	}
	head, err := prefix(c.now.insert, n)
	if err != nil {
		return err
	}
	c.now.insert = c.now.insert[len(head):]
	c.now.insertLen -= n
	c.begun = true
	return nil
}

// prefix returns the first n UTF-16 units of s.
func prefix(s string, n int) (string, error) {
	seen := 0
	for i := range len(s) {
		u := unitsOf(s[i])
		if u > 0 && seen == n {
			return s[:i], nil
		}
		if seen += u; seen > n {
			return "", refuse("position inside a surrogate pair")
		}
	}
	if seen < n {
		return "", refuse("position out of range")
	}
	return s, nil
}

// ChangedRange says that [FromA, ToA) of a text before became [FromB, ToB) of
// the text after, in UTF-16 units.
type ChangedRange struct {
	FromA int `json:"fromA"`
	ToA   int `json:"toA"`
	FromB int `json:"fromB"`
	ToB   int `json:"toB"`
}

// Ranges returns the changes reduced against their base, the text A: what is
// equal at both edges of a change is no part of it, and what was changed back
// is no change. Ranges are sorted; those that touch stay apart where the
// reduction leaves them whole. It refuses a base of another length.
func (c Changes) Ranges(base *Index) ([]ChangedRange, error) {
	if base.Len() != c.lenA {
		return nil, refuse("base has another length")
	}
	var out []ChangedRange
	posA, posB := 0, 0
	for i := 0; i < len(c.sections); {
		if s := c.sections[i]; s.keep {
			posA += s.len
			posB += s.len
			i++
			continue
		}
		// Touching replacements are looked at together first: a deletion that
		// was undone is a deletion and an insertion side by side.
		var g group
		for ; i < len(c.sections) && !c.sections[i].keep; i++ {
			p := piece{posA: posA, posB: posB, b: c.sections[i].insert}
			posA += c.sections[i].len
			posB += c.sections[i].insertLen
			var err error
			if p.a, err = base.Slice(p.posA, posA); err != nil {
				return nil, err
			}
			g = append(g, p)
		}
		out = append(out, g.reduce()...)
	}
	return out, nil
}

// piece is one replacement: a, at posA of the base, became b, at posB.
type piece struct {
	posA, posB int
	a, b       string
}

// group is a run of touching replacements.
type group []piece

// reduce leaves out what was changed back: the group as a whole, or one
// replacement of it by itself, which looked at with its neighbours might be
// taken for another one with the same words.
func (g group) reduce() []ChangedRange {
	if a, b := g.texts(); a == b {
		return nil
	}
	var out []ChangedRange
	from := 0
	for i, p := range g {
		if p.a == p.b {
			out = append(out, g[from:i].trim()...)
			from = i + 1
		}
	}
	return append(out, g[from:].trim()...)
}

// texts returns what the group replaces and what it puts there.
func (g group) texts() (a, b string) {
	var allA, allB strings.Builder
	for _, p := range g {
		allA.WriteString(p.a)
		allB.WriteString(p.b)
	}
	return allA.String(), allB.String()
}

// trim trims the group as a whole, then each replacement whose borders the
// trimming left inside.
func (g group) trim() []ChangedRange {
	allA, allB := g.texts()
	if allA == allB {
		return nil
	}
	// A cut is where one replacement ends and the next begins, in bytes.
	type cut struct{ a, b int }
	lo, tail := trim(allA, allB)
	from, hi := cut{lo, lo}, cut{len(allA) - tail, len(allB) - tail}
	var out []ChangedRange
	to := cut{}
	for i, p := range g {
		to = cut{to.a + len(p.a), to.b + len(p.b)}
		if i == len(g)-1 {
			to = hi
		}
		if to.a < from.a || to.b < from.b || to.a > hi.a || to.b > hi.b {
			continue
		}
		if a, b := allA[from.a:to.a], allB[from.b:to.b]; a != b {
			head, tail := trim(a, b)
			out = append(out, ChangedRange{
				FromA: g[0].posA + Length(allA[:from.a+head]),
				ToA:   g[0].posA + Length(allA[:to.a-tail]),
				FromB: g[0].posB + Length(allB[:from.b+head]),
				ToB:   g[0].posB + Length(allB[:to.b-tail]),
			})
		}
		from = to
	}
	return out
}

// trim returns the byte lengths of the common prefix and, behind it, of the
// common suffix of a and b, never cutting a character.
func trim(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && unitsOf(a[head]) == 0 || head < len(b) && unitsOf(b[head]) == 0) {
		head--
	}
	n -= head
	for tail < n && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && unitsOf(a[len(a)-tail]) == 0 {
		tail--
	}
	return head, tail
}

// MapPos returns where a position of the text before is in the text after.
// assoc says which side it sticks to: negative before text inserted there,
// positive behind it. Inside a replaced range the two give its two ends; at
// its start a position stays at the start. ranges are sorted.
func MapPos(ranges []ChangedRange, pos, assoc int) int {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].ToA >= pos })
	for ; i < len(ranges) && ranges[i].FromA <= pos; i++ {
		r := ranges[i]
		inside := r.ToA > pos
		if !inside && (assoc >= 0 || r.FromA < r.ToA) {
			continue
		}
		if pos == r.FromA || assoc < 0 {
			return r.FromB
		}
		return r.ToB
	}
	if i == 0 {
		return pos
	}
	return pos - ranges[i-1].ToA + ranges[i-1].ToB
}

// Touched reports whether a change strictly overlaps e; changes that only
// touch its edges do not (P3). ranges are sorted.
func (e Edit) Touched(ranges []ChangedRange) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].ToA > e.From })
	return i < len(ranges) && ranges[i].FromA < e.To
}

// MapEdits moves edits of a text before to the text after: starts stick to
// what follows, ends to what precedes, and a pure insertion lands behind what
// was inserted at its place. touched[i] reports that a change strictly
// overlaps edits[i]; mapped[i] is then the edit as it was. ranges are those of
// [Changes.Ranges] (P3). The slices are new.
func MapEdits(edits []Edit, ranges []ChangedRange) (mapped []Edit, touched []bool) {
	mapped, touched = make([]Edit, len(edits)), make([]bool, len(edits))
	for i, e := range edits {
		mapped[i] = e
		if touched[i] = e.Touched(ranges); touched[i] {
			continue
		}
		mapped[i].From = MapPos(ranges, e.From, 1)
		mapped[i].To = mapped[i].From + e.To - e.From
	}
	return mapped, touched
}
