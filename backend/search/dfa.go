package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode/utf8"
)

// program is a regular expression ready for an automaton: the instructions of
// package syntax and the classes of characters that they tell apart. It is
// immutable.
type program struct {
	prog *syntax.Prog
	// backward runs from the end of a match to where it begins, and takes the
	// longest way; forward takes the one that the expression prefers.
	backward bool
	// classes is how many there are; the class after the last stands for the
	// end of the text.
	classes int
	// ascii and plane give the class of a character below 0x80 and 0x10000;
	// above, bounds holds where each interval begins and of its class.
	ascii  [utf8.RuneSelf]uint16
	plane  []uint16
	bounds []rune
	of     []uint16
	// sample is a character of each class.
	sample []rune
	// context says which of the marks below the instructions look at.
	context setting
}

// setting is what lies before a place, as far as empty instructions ask.
type setting uint8

const (
	afterText  setting = 1 << iota // the place is where the text begins
	afterBreak                     // the text begins or a break lies before
	afterWord                      // an ASCII word character lies before
)

// compileProgram makes re, which it simplifies, ready.
func compileProgram(re *syntax.Regexp, backward bool) (*program, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	p := &program{prog: prog, backward: backward}
	p.classify()
	return p, nil
}

// classify finds the classes: two characters are of one when every instruction
// treats them alike.
func (p *program) classify() {
	sets := [][]rune{}
	add := func(ranges ...rune) {
		for _, s := range sets {
			if slices.Equal(s, ranges) {
				return
			}
		}
		sets = append(sets, ranges)
	}
	for i := range p.prog.Inst {
		switch in := &p.prog.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				r := in.Rune[0]
				add(r, r)
				if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
					for _, f := range formsOf(r) {
						o, _ := utf8.DecodeRune(f.text)
						add(o, o)
					}
				}
				continue
			}
			add(in.Rune...)
		case syntax.InstRuneAnyNotNL:
			add('\n', '\n')
		case syntax.InstEmptyWidth:
			switch op := syntax.EmptyOp(in.Arg); {
			case op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
				p.context |= afterWord
				add('0', '9', 'A', 'Z', '_', '_', 'a', 'z')
			case op&(syntax.EmptyBeginLine|syntax.EmptyEndLine) != 0:
				p.context |= afterBreak
				add('\n', '\n')
			default:
				p.context |= afterText
			}
		default:
		}
	}
	starts := []rune{0, utf8.RuneSelf}
	for _, s := range sets {
		for i := 0; i < len(s); i += 2 {
			starts = append(starts, s[i], s[i+1]+1)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	known := map[string]uint16{}
	p.plane = make([]uint16, 0x10000)
	for n, lo := range starts {
		if lo > utf8.MaxRune {
			break
		}
		hi := rune(utf8.MaxRune)
		if n+1 < len(starts) {
			hi = starts[n+1] - 1
		}
		key := make([]byte, len(sets))
		for i, s := range sets {
			if at := sort.Search(len(s)/2, func(k int) bool { return s[2*k+1] >= lo }); 2*at < len(s) && s[2*at] <= lo {
				key[i] = 1
			}
		}
		class, ok := known[string(key)]
		if !ok {
			class = uint16(len(known))
			known[string(key)] = class
			p.sample = append(p.sample, lo)
		}
		p.bounds, p.of = append(p.bounds, lo), append(p.of, class)
		for r := lo; r <= min(hi, 0xFFFF); r++ {
			p.plane[r] = class
		}
	}
	copy(p.ascii[:], p.plane)
	p.classes = len(known)
}

func (p *program) class(r rune) int {
	if r < 0x10000 {
		return int(p.plane[r])
	}
	return int(p.of[sort.Search(len(p.bounds), func(i int) bool { return p.bounds[i] > r })-1])
}

// dfa runs a program and remembers what it found out: a state for every list of
// instructions that may be next, and where each character leads. It belongs to
// one goroutine.
type dfa struct {
	*program
	stride int
	states []dfaState
	// steps holds, at a state's number plus a class, the number of the next
	// state (a multiple of stride); with hitBit, a match ends before the
	// character, and with idleBit nothing is under way in that state. Negative
	// ones are not known yet.
	steps []int32
	known map[string]int32
	// starts holds the states that a run begins in, by what lies before it; 0
	// for one that is not known yet.
	starts [8]int32
	// filled counts how often memory was given back. halt is asked each time
	// whether to give up, which halted then says; nil never does.
	filled int
	halt   func() bool
	halted bool
	// queue and seen are for working out a step.
	queue, next []uint32
	seen        []uint32
	mark        uint32
	key         []byte
}

type dfaState struct {
	insts   []uint32
	context setting
	// done is set once a match was seen: no other begins then.
	done bool
	// leaves says, for a state in which nothing is under way, which first bytes
	// of a character lead out of it; nil when that is not known yet.
	leaves *[256]bool
	// only is the one byte that leads out, when there is just one; else -1.
	only int
}

const (
	dead    = int32(0) // the number of the state that nothing follows
	hitBit  = int32(1) << 30
	idleBit = int32(1) << 29
	unknown = int32(-1)
	// maxSteps is how many steps are remembered, at four bytes each.
	maxSteps = 1 << 19
	// maxIdle is how many classes there may be for bytes to be skipped.
	maxIdle = 256
)

func newDFA(p *program) *dfa {
	d := &dfa{program: p, stride: p.classes + 1, seen: make([]uint32, len(p.prog.Inst))}
	d.forget()
	return d
}

// forget gives back what is remembered.
func (d *dfa) forget() {
	d.states = append(d.states[:0], dfaState{done: true})
	d.steps = d.steps[:0]
	for range d.stride {
		d.steps = append(d.steps, dead)
	}
	d.known = map[string]int32{}
	d.starts = [8]int32{}
	d.filled++
	d.halted = d.halted || d.halt != nil && d.halt()
}

// start returns the state that a run begins in.
func (d *dfa) start(before setting) int32 {
	if s := d.starts[before]; s != 0 {
		return s
	}
	var insts []uint32
	if d.backward {
		insts = []uint32{uint32(d.prog.Start)}
	}
	s := d.state(insts, before, false)
	d.starts[before] = s
	return s
}

// state returns the number of a state, with its idleBit.
func (d *dfa) state(insts []uint32, ctx setting, done bool) int32 {
	if len(insts) == 0 && (done || d.backward) {
		return dead
	}
	d.key = append(d.key[:0], byte(ctx))
	if done {
		d.key[0] |= 0x80
	}
	for _, pc := range insts {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	if s, ok := d.known[string(d.key)]; ok {
		return s
	}
	if len(d.steps) > maxSteps {
		d.forget()
	}
	number := int32(len(d.steps))
	d.states = append(d.states, dfaState{insts: slices.Clone(insts), context: ctx, done: done})
	for range d.stride {
		d.steps = append(d.steps, unknown)
	}
	if len(insts) == 0 && !done && d.classes <= maxIdle {
		number |= idleBit
	}
	d.known[string(d.key)] = number
	return number
}

// step works out where class leads from a state.
func (d *dfa) step(state int32, class int) int32 {
	s := d.states[int(state)/d.stride]
	end := class == d.classes
	r := rune(-1)
	if !end {
		r = d.sample[class]
	}
	flags := emptyFlags(s.context, r)
	d.mark++
	d.queue = d.queue[:0]
	hit := false
	for _, pc := range s.insts {
		if d.follow(pc, flags, &hit) {
			break
		}
	}
	if !s.done && !d.backward && !hit {
		d.follow(uint32(d.prog.Start), flags, &hit)
	}
	d.next = d.next[:0]
	if !end {
		d.mark++
		for _, pc := range d.queue {
			in := &d.prog.Inst[pc]
			if in.MatchRune(r) && d.seen[in.Out] != d.mark {
				d.seen[in.Out] = d.mark
				d.next = append(d.next, in.Out)
			}
		}
	}
	filled := d.filled
	to := d.state(d.next, d.contextAfter(r), s.done || hit && !d.backward)
	if hit {
		to |= hitBit
	}
	if d.filled == filled {
		d.steps[int(state)+class] = to
	}
	return to
}

// follow adds what pc leads to without a character to the queue, the preferred
// first, and reports whether what comes after it no longer counts.
func (d *dfa) follow(pc uint32, flags syntax.EmptyOp, hit *bool) (cut bool) {
	for {
		if d.seen[pc] == d.mark {
			return false
		}
		d.seen[pc] = d.mark
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			if d.follow(in.Out, flags, hit) {
				return true
			}
			pc = in.Arg
		case syntax.InstCapture, syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags != 0 {
				return false
			}
			pc = in.Out
		case syntax.InstMatch:
			*hit = true
			return !d.backward
		case syntax.InstFail:
			return false
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			d.queue = append(d.queue, pc)
			return false
		}
	}
}

// emptyFlags says which empty instructions hold between a context and the
// character after it; -1 stands for the end of the text.
func emptyFlags(before setting, after rune) syntax.EmptyOp {
	var f syntax.EmptyOp
	if before&afterText != 0 {
		f |= syntax.EmptyBeginText
	}
	if before&afterBreak != 0 {
		f |= syntax.EmptyBeginLine
	}
	if after == -1 {
		f |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if after == '\n' {
		f |= syntax.EmptyEndLine
	}
	word := after >= 0 && after < utf8.RuneSelf && asciiWord(byte(after))
	if (before&afterWord != 0) != word {
		return f | syntax.EmptyWordBoundary
	}
	return f | syntax.EmptyNoWordBoundary
}

// contextAfter is the context behind a character, as far as it is asked for;
// -1 stands for where the text begins.
func (p *program) contextAfter(r rune) setting {
	var c setting
	switch {
	case r == -1:
		c = afterText | afterBreak
	case r == '\n':
		c = afterBreak
	case r < utf8.RuneSelf && asciiWord(byte(r)):
		c = afterWord
	}
	return c & p.context
}

// find returns where the first match that begins in b[from:to] ends; -1 for
// none. A match does not pass to. What lies round the part counts for ^, $ and
// \b.
func (d *dfa) find(b []byte, from, to int) int {
	before := rune(-1)
	if from > 0 {
		before, _ = utf8.DecodeLastRune(b[:from])
	}
	state := d.start(d.contextAfter(before))
	end, i := -1, from
	for steps := d.steps; ; {
		if state&idleBit != 0 {
			state, i = d.skip(state&^idleBit, b[:to], i)
			steps = d.steps
		}
		var class, n int
		switch {
		case i >= to:
			class = d.lookahead(b, to)
		case b[i] < utf8.RuneSelf:
			class, n = int(d.ascii[b[i]]), 1
		default:
			class, n = d.decode(b[i:])
		}
		next := steps[int(state)+class]
		if next < 0 {
			next = d.step(state, class)
			steps = d.steps
		}
		if next&hitBit != 0 {
			end = i
			next &^= hitBit
		}
		if state = next; n == 0 || state == dead || d.halted {
			return end
		}
		i += n
	}
}

// skip returns the next place in b whose byte leads out of an idle state, and
// the state's number, which may be another now. Where a byte beyond ASCII leads
// out, none is skipped; so that is where a character begins.
func (d *dfa) skip(state int32, b []byte, i int) (int32, int) {
	s := &d.states[int(state)/d.stride]
	if s.leaves == nil {
		state = d.findLeaves(state)
		s = &d.states[int(state)/d.stride]
	}
	if s.only >= 0 {
		return state, indexByte(b, i, byte(s.only))
	}
	leaves, rest := s.leaves, b[i:]
	for len(rest) >= 4 {
		if leaves[rest[0]] || leaves[rest[1]] || leaves[rest[2]] || leaves[rest[3]] {
			break
		}
		rest = rest[4:]
	}
	for k, c := range rest {
		if leaves[c] {
			return state, len(b) - len(rest) + k
		}
	}
	return state, len(b)
}

// lookahead is the class of the character at at, or that of the end.
func (d *dfa) lookahead(b []byte, at int) int {
	if at >= len(b) {
		return d.classes
	}
	class, _ := d.decode(b[at:])
	return class
}

// decode returns the class of the first character of b and its length.
func (d *dfa) decode(b []byte) (class, n int) {
	if len(b) >= 3 && b[0]&0xF0 == 0xE0 && b[1]&0xC0 == 0x80 && b[2]&0xC0 == 0x80 {
		r := rune(b[0]&0x0F)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
		return int(d.plane[r]), 3
	}
	r, n := utf8.DecodeRune(b)
	return d.class(r), n
}

// findLeaves works out which bytes lead out of an idle state, and returns the
// state's number, which may be another now.
func (d *dfa) findLeaves(state int32) int32 {
	if len(d.steps)+(d.classes+1)*d.stride > maxSteps {
		ctx := d.states[int(state)/d.stride].context
		d.forget()
		state = d.state(nil, ctx, false) &^ idleBit
	}
	stays := func(class int) bool {
		to := d.steps[int(state)+class]
		if to < 0 {
			to = d.step(state, class)
		}
		return to&^idleBit == state
	}
	inner := true
	// The class of the last ASCII interval may go on behind it; there is always
	// a bound at its end.
	for _, class := range d.of[sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] >= utf8.RuneSelf }):] {
		inner = inner && stays(int(class))
	}
	leaves, count, only := new([256]bool), 0, -1
	for c := range leaves {
		if leaves[c] = !inner; c < utf8.RuneSelf {
			leaves[c] = !stays(int(d.ascii[c]))
		}
		if leaves[c] {
			count++
			only = c
		}
	}
	if count != 1 {
		only = -1
	}
	s := &d.states[int(state)/d.stride]
	s.leaves, s.only = leaves, only
	return state
}

// begin returns where the longest match that ends at end and begins at or after
// from begins. There must be one.
func (d *dfa) begin(b []byte, from, end int) int {
	after := rune(-1)
	if end < len(b) {
		after, _ = utf8.DecodeRune(b[end:])
	}
	start := end
	state := d.start(d.contextAfter(after))
	for i := end; ; {
		class, n := d.classes, 0
		if i > 0 {
			r, w := utf8.DecodeLastRune(b[:i])
			class = d.class(r)
			if i > from {
				n = w
			}
		}
		to := d.steps[int(state)+class]
		if to < 0 {
			to = d.step(state, class)
		}
		if to&hitBit != 0 {
			start = i
			to &^= hitBit
		}
		if state = to; n == 0 || state == dead {
			return start
		}
		i -= n
	}
}
