package search

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// folded finds a text without regard to case, as Unicode's simple folding has
// it: k is also the Kelvin sign, s also ſ, and İ nothing but itself. It looks
// for every form of the character whose forms are rarest, and compares round
// each.
type folded struct {
	// runes is the text, each character in its canonical form.
	runes []rune
	// anchor is the index in runes of the character that is looked for.
	anchor int
	forms  []form
}

// form is one way to write the character that is looked for.
type form struct {
	text []byte
	// rare is the rarest byte of text, at its offset in it.
	rare byte
	at   int
}

// maxForms is how many forms a character has at most; a test counts them.
const maxForms = 4

func newFolded(s string) *folded {
	f := &folded{}
	least := 0
	for i, r := range []rune(s) {
		f.runes = append(f.runes, fold(r))
		forms := formsOf(r)
		cost := 0
		for _, o := range forms {
			cost += int(commonness[o.rare]) + 10 // each is a search of its own
		}
		if i == 0 || cost < least {
			f.anchor, f.forms, least = i, forms, cost
		}
	}
	return f
}

func formsOf(r rune) []form {
	var forms []form
	for o := r; ; {
		b := utf8.AppendRune(nil, o)
		at := rarest(b)
		forms = append(forms, form{text: b, rare: b[at], at: at})
		if o = unicode.SimpleFold(o); o == r {
			return forms
		}
	}
}

// hasCase reports whether some character of s has another case.
func hasCase(s string) bool {
	return slices.ContainsFunc([]rune(s), func(r rune) bool { return unicode.SimpleFold(r) != r })
}

// fold returns the canonical one of all forms of a character.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			return r - ('a' - 'A')
		}
		return r
	}
	least := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, o)
	}
	return least
}

// foldCursor is where a search for a folded text stands.
type foldCursor struct {
	f *folded
	b []byte
	// next holds the next place of each form's rare byte.
	next [maxForms]int
}

func (f *folded) cursor(b []byte) foldCursor {
	c := foldCursor{f: f, b: b}
	for i, o := range f.forms {
		c.next[i] = indexByte(b, 0, o.rare)
	}
	return c
}

// find returns the first match that begins at or after from, which does not go
// back from call to call; start is -1 for none.
func (c *foldCursor) find(from int) (start, end int) {
	for {
		which := 0
		for i := 1; i < len(c.f.forms); i++ {
			if c.next[i] < c.next[which] {
				which = i
			}
		}
		at := c.next[which]
		if at >= len(c.b) {
			return -1, -1
		}
		o := &c.f.forms[which]
		c.next[which] = indexByte(c.b, at+1, o.rare)
		at -= o.at
		if at < from || !bytes.HasPrefix(c.b[at:], o.text) {
			continue
		}
		if start, end = c.f.around(c.b, from, at, at+len(o.text)); start >= 0 {
			return start, end
		}
	}
}

// around compares the text round its anchor, which lies at b[start:end], with
// all that lies at or after from. It returns the bounds of the match; -1 for none.
func (f *folded) around(b []byte, from, start, end int) (int, int) {
	for i := f.anchor - 1; i >= 0; i-- {
		r, n := utf8.DecodeLastRune(b[from:start])
		if n == 0 || fold(r) != f.runes[i] {
			return -1, -1
		}
		start -= n
	}
	for _, want := range f.runes[f.anchor+1:] {
		r, n := utf8.DecodeRune(b[end:])
		if n == 0 || fold(r) != want {
			return -1, -1
		}
		end += n
	}
	return start, end
}

// indexByte is the first place of x at or after from; the length of b for none.
func indexByte(b []byte, from int, x byte) int {
	if from < len(b) {
		if i := bytes.IndexByte(b[from:], x); i >= 0 {
			return from + i
		}
	}
	return len(b)
}
