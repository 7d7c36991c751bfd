package resolve

import "math"

// change says that a[a0:a1] became b[b0:b1], in tokens.
type change struct{ a0, a1, b0, b1 int }

func (c change) inserts() bool { return c.a0 == c.a1 }
func (c change) deletes() bool { return c.b0 == c.b1 }

// maxCost bounds the edit distance that is searched for one piece. Past it the
// piece is split where the search got furthest: the result is right, only no
// longer the shortest.
const maxCost = 1500

// differ compares two token sequences in linear space, after Myers (1986),
// "An O(ND) difference algorithm and its variations".
type differ struct {
	a, b        []token
	goneA, newB []bool
	// ahead and back hold, for each diagonal i-j, how far the search from the
	// front and the one from the end have come, as a position in a. Index 0 is
	// the diagonal -len(b)-1.
	ahead, back []int32
	zero        int
}

// diff returns what leads from a to b as sorted changes with something equal
// between any two.
func diff(a, b []token) []change {
	d := &differ{a: a, b: b, goneA: make([]bool, len(a)), newB: make([]bool, len(b)), zero: len(b) + 1}
	d.anchored(0, len(a), 0, len(b))
	return d.changes()
}

func (d *differ) equal(i, j int) bool { return equalKeys(d.a[i].key, d.b[j].key) }

// changes reads the marks. Tokens without a mark are equal pairwise, in order.
func (d *differ) changes() []change {
	var out []change
	i, j := 0, 0
	for i < len(d.a) || j < len(d.b) {
		c := change{a0: i, b0: j}
		for i < len(d.a) && d.goneA[i] {
			i++
		}
		for j < len(d.b) && d.newB[j] {
			j++
		}
		if c.a1, c.b1 = i, j; c.a1 > c.a0 || c.b1 > c.b0 {
			out = append(out, c)
		}
		for i < len(d.a) && j < len(d.b) && !d.goneA[i] && !d.newB[j] {
			i++
			j++
		}
	}
	return out
}

func (d *differ) mark(a0, a1, b0, b1 int) {
	for i := a0; i < a1; i++ {
		d.goneA[i] = true
	}
	for j := b0; j < b1; j++ {
		d.newB[j] = true
	}
}

// trim narrows a piece to what differs.
func (d *differ) trim(a0, a1, b0, b1 int) (int, int, int, int) {
	for a0 < a1 && b0 < b1 && d.equal(a0, b0) {
		a0++
		b0++
	}
	for a0 < a1 && b0 < b1 && d.equal(a1-1, b1-1) {
		a1--
		b1--
	}
	return a0, a1, b0, b1
}

// between compares one piece.
func (d *differ) between(a0, a1, b0, b1 int) {
	for {
		a0, a1, b0, b1 = d.trim(a0, a1, b0, b1)
		if a0 == a1 || b0 == b1 {
			d.mark(a0, a1, b0, b1)
			return
		}
		x, y := d.middle(a0, a1, b0, b1)
		d.between(a0, x, b0, y)
		a0, b0 = x, y
	}
}

// middle returns a point on a shortest path through a piece, or on a good one
// when the search was given up. Both sides of the piece are not empty and
// differ at both edges.
func (d *differ) middle(a0, a1, b0, b1 int) (x, y int) {
	if d.ahead == nil {
		size := len(d.a) + len(d.b) + 3
		d.ahead, d.back = make([]int32, size), make([]int32, size)
	}
	lowest, highest := a0-b1, a1-b0
	front := window{low: a0 - b0, high: a0 - b0}
	rear := window{low: a1 - b1, high: a1 - b1}
	odd := (front.low-rear.low)%2 != 0
	d.ahead[d.zero+front.low], d.back[d.zero+rear.low] = int32(a0), int32(a1)
	for cost := 1; ; cost++ {
		front.widen(lowest, highest, d.ahead, d.zero, -1)
		for k := front.high; k >= front.low; k -= 2 {
			x := max(int(d.ahead[d.zero+k-1])+1, int(d.ahead[d.zero+k+1]))
			for x < a1 && x-k < b1 && d.equal(x, x-k) {
				x++
			}
			d.ahead[d.zero+k] = int32(x)
			if odd && rear.low <= k && k <= rear.high && int(d.back[d.zero+k]) <= x {
				return x, x - k
			}
		}
		rear.widen(lowest, highest, d.back, d.zero, math.MaxInt32)
		for k := rear.high; k >= rear.low; k -= 2 {
			x := min(int(d.back[d.zero+k-1]), int(d.back[d.zero+k+1])-1)
			for x > a0 && x-k > b0 && d.equal(x-1, x-k-1) {
				x--
			}
			d.back[d.zero+k] = int32(x)
			if !odd && front.low <= k && k <= front.high && x <= int(d.ahead[d.zero+k]) {
				return x, x - k
			}
		}
		if cost >= maxCost {
			return d.furthest(front, a1, b1)
		}
	}
}

// window is the range of diagonals that a search has reached.
type window struct{ low, high int }

// widen grows the window by one on each side, or shrinks it where it has left
// the piece; beyond its new edges stands a value that never wins.
func (w *window) widen(lowest, highest int, reached []int32, zero int, never int32) {
	if w.low > lowest {
		w.low--
		reached[zero+w.low-1] = never
	} else {
		w.low++
	}
	if w.high < highest {
		w.high++
		reached[zero+w.high+1] = never
	} else {
		w.high--
	}
}

// furthest returns the point that the search from the front got furthest with.
func (d *differ) furthest(w window, a1, b1 int) (x, y int) {
	best := -1
	for k := w.high; k >= w.low; k -= 2 {
		i := min(int(d.ahead[d.zero+k]), a1)
		if i-k > b1 {
			i = b1 + k
		}
		if i+i-k > best {
			best, x, y = i+i-k, i, i-k
		}
	}
	return x, y
}

// anchored splits a piece at lines that occur once on both sides before it
// compares what lies between: long texts stay fast, and paragraphs that nobody
// touched stay whole.
func (d *differ) anchored(a0, a1, b0, b1 int) {
	a0, a1, b0, b1 = d.trim(a0, a1, b0, b1)
	if a0 == a1 || b0 == b1 {
		d.mark(a0, a1, b0, b1)
		return
	}
	la, lb := d.lines(d.a, a0, a1), d.lines(d.b, b0, b1)
	for _, p := range anchors(la, lb) {
		x, y := la[p.a], lb[p.b]
		if x.to-x.from != y.to-y.from || x.from < a0 || y.from < b0 {
			continue
		}
		same := true
		for i := 0; same && i < x.to-x.from; i++ {
			same = d.equal(x.from+i, y.from+i)
		}
		if !same {
			continue
		}
		d.between(a0, x.from, b0, y.from)
		a0, b0 = x.to, y.to
	}
	d.between(a0, a1, b0, b1)
}

// tokenLine is one line of tokens without its break; hash is 0 when it says
// nothing.
type tokenLine struct {
	from, to int
	hash     uint64
}

func (d *differ) lines(tokens []token, from, to int) []tokenLine {
	var out []tokenLine
	start, hash, said := from, uint64(14695981039346656037), false
	flush := func(end int) {
		if !said {
			hash = 0
		}
		out = append(out, tokenLine{start, end, hash})
		hash, said = 14695981039346656037, false
	}
	for i := from; i < to; i++ {
		if tokens[i].kind == breakToken {
			flush(i)
			start = i + 1
			continue
		}
		said = said || tokens[i].kind == wordToken || tokens[i].kind == markToken && !tokens[i].lead
		hash = (hash ^ uint64(tokens[i].key)) * 1099511628211
	}
	flush(to)
	return out
}

type anchor struct{ a, b int }

// anchors pairs the lines that occur once on each side, in an order that both
// sides share.
func anchors(a, b []tokenLine) []anchor {
	if len(a) < 2 || len(b) < 2 {
		return nil
	}
	type seen struct{ a, b, countA, countB int }
	table := make(map[uint64]*seen, len(a))
	for i, l := range a {
		if l.hash == 0 {
			continue
		}
		if s := table[l.hash]; s != nil {
			s.countA++
		} else {
			table[l.hash] = &seen{a: i, countA: 1}
		}
	}
	for j, l := range b {
		if s := table[l.hash]; s != nil {
			s.countB++
			s.b = j
		}
	}
	var pairs []anchor
	for i, l := range a {
		if s := table[l.hash]; s != nil && s.a == i && s.countA == 1 && s.countB == 1 {
			pairs = append(pairs, anchor{i, s.b})
		}
	}
	return increasing(pairs)
}

// increasing returns the longest run of pairs whose b grows too; a grows
// already.
func increasing(pairs []anchor) []anchor {
	tails := make([]int, 0, len(pairs))
	before := make([]int, len(pairs))
	for i, p := range pairs {
		lo, hi := 0, len(tails)
		for lo < hi {
			mid := (lo + hi) / 2
			if pairs[tails[mid]].b < p.b {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		before[i] = -1
		if lo > 0 {
			before[i] = tails[lo-1]
		}
		if lo == len(tails) {
			tails = append(tails, i)
		} else {
			tails[lo] = i
		}
	}
	out := make([]anchor, len(tails))
	if len(tails) > 0 {
		for i, at := len(tails)-1, tails[len(tails)-1]; i >= 0; i-- {
			out[i] = pairs[at]
			at = before[at]
		}
	}
	return out
}
