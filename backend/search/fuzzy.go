package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pathEntry is a path made ready to be compared with queries.
type pathEntry struct {
	// rel is relative to the workspace, with slashes; its base name begins at
	// the character base.
	rel  string
	base int32
	// skipped is how many characters at the start of a very long path are not
	// looked at; chars holds the others and worth what each is worth.
	skipped int32
	chars   []char
	worth   []int8
	// mask has a bit for each kind of character in rel, so that most paths are
	// put aside by one comparison.
	mask uint64
}

// char is a folded character, with sameCase added where folding changed it: two
// are equal when they are the same in the same case too.
type char int32

const sameCase char = 1 << 30

func charOf(r rune) char {
	if f := fold(r); f != r {
		return char(f) | sameCase
	}
	return char(r)
}

// maxPath is how many characters of a path are looked at, from its end.
const maxPath = 400

func newPathEntry(rel string) pathEntry {
	e := pathEntry{rel: rel, base: int32(utf8.RuneCountInString(rel[:strings.LastIndexByte(rel, '/')+1]))}
	n := utf8.RuneCountInString(rel)
	e.skipped = int32(max(0, n-maxPath))
	n -= int(e.skipped)
	e.base = max(0, e.base-e.skipped)
	e.chars, e.worth = make([]char, 0, n), make([]int8, 0, n)
	before := '/'
	skip := e.skipped
	for _, r := range rel {
		if skip--; skip >= 0 {
			continue
		}
		e.mask |= kindOf(fold(r))
		w := int8(0)
		switch {
		case len(e.chars) == int(e.base):
			w = bonusBase
		case begins(before, r):
			w = bonusWord
		case stands(r):
			w = bonusAlone
		}
		if len(e.chars) >= int(e.base) {
			w += bonusInBase
		}
		e.chars, e.worth = append(e.chars, charOf(r)), append(e.worth, w)
		before = r
	}
	return e
}

// kindOf returns the bit of a folded character.
func kindOf(r rune) uint64 {
	switch {
	case 'A' <= r && r <= 'Z':
		return 1 << (r - 'A')
	case '0' <= r && r <= '9':
		return 1 << (26 + r - '0')
	case r < utf8.RuneSelf:
		return 1 << (36 + r%8)
	}
	return 1 << (44 + r%20)
}

// What the characters of a path are worth when they are taken. Only their
// proportions matter.
const (
	scoreTaken = 16
	// Where the base name begins; where a folder's name or another word does;
	// a character that is a word by itself.
	bonusBase  = 14
	bonusWord  = 9
	bonusAlone = 6
	// Right behind the one taken before, and anywhere in the base name.
	bonusNext   = 10
	bonusInBase = 3
	// The same letter in the same case.
	bonusCase = 1
	// A base name that begins with the query, and one that is the query.
	bonusPrefix = 24
	bonusWhole  = 16
	// A file that was opened of late.
	bonusRecent = 12
	// What it costs to begin a gap, and each character in one.
	costGap  = 3
	costSkip = 1
	// never is the score of what cannot be.
	never = -1 << 30
)

// fuzzy scores paths for one query. It belongs to one goroutine.
type fuzzy struct {
	words [][]char
	mask  uint64
	// ends holds, for each character of a word and each of the path, the score
	// when the one takes the other, and from which place it was reached.
	ends []end
}

type end struct{ score, from int32 }

// newFuzzy returns nil for a query without words.
func newFuzzy(query string) *fuzzy {
	f := &fuzzy{}
	for s := range strings.FieldsSeq(strings.ReplaceAll(query, `\`, "/")) {
		var w []char
		for _, r := range s {
			if len(w) < maxPath {
				w = append(w, charOf(r))
				f.mask |= kindOf(fold(r))
			}
		}
		f.words = append(f.words, w)
	}
	if len(f.words) == 0 {
		return nil
	}
	return f
}

// score says how well a path fits; false when it does not.
func (f *fuzzy) score(e *pathEntry) (int, bool) {
	if e.mask&f.mask != f.mask {
		return 0, false
	}
	for _, w := range f.words {
		if !e.holds(w) {
			return 0, false
		}
	}
	total := 0
	for _, w := range f.words {
		_, score := f.fill(e, w)
		if score == never {
			return 0, false
		}
		total += int(score)
	}
	if len(f.words) == 1 {
		total += e.prefix(f.words[0])
	}
	return total - len(e.chars)/8, true
}

// holds reports whether the characters of a word come in order.
func (e *pathEntry) holds(w []char) bool {
	for _, c := range e.chars {
		if (c^w[0])&^sameCase == 0 {
			if w = w[1:]; len(w) == 0 {
				return true
			}
		}
	}
	return false
}

// prefix is what it is worth that the base name begins with w, or is w but for
// its extension.
func (e *pathEntry) prefix(w []char) int {
	base := e.chars[e.base:]
	if len(w) > len(base) {
		return 0
	}
	for i, c := range w {
		if (c^base[i])&^sameCase != 0 {
			return 0
		}
	}
	stem := slices.Index(base, '.')
	if len(w) == len(base) || stem > 0 && len(w) >= stem {
		return bonusPrefix + bonusWhole
	}
	return bonusPrefix
}

// hits returns the UTF-16 offsets that the words take, in order.
func (f *fuzzy) hits(e *pathEntry) []int {
	var taken []int
	for _, w := range f.words {
		at, _ := f.fill(e, w)
		for k := len(w) - 1; k >= 0 && at >= 0; k-- {
			taken = append(taken, at+int(e.skipped))
			at = int(f.ends[k*len(e.chars)+at].from)
		}
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	out := make([]int, 0, len(taken))
	i, pos := 0, 0
	for _, r := range e.rel {
		if len(out) < len(taken) && taken[len(out)] == i {
			out = append(out, pos)
		}
		i++
		if pos++; r >= 0x10000 {
			pos++
		}
	}
	return out
}

// begins reports whether r begins a word behind before.
func begins(before, r rune) bool {
	switch {
	case !inWord(r) || r == '_':
		return false
	case !inWord(before) || before == '_':
		return true
	}
	return unicode.IsUpper(r) && !unicode.IsUpper(before) || unicode.IsDigit(r) != unicode.IsDigit(before) || stands(r) != stands(before)
}

// fill scores all ways that a word is taken and returns where the best one ends
// and its score; -1 and never for none.
func (f *fuzzy) fill(e *pathEntry, w []char) (at int, best int32) {
	n := len(e.chars)
	if need := n * len(w); cap(f.ends) < need {
		f.ends = make([]end, need)
	} else {
		f.ends = f.ends[:need]
	}
	for i, want := range w {
		row := f.ends[i*n : (i+1)*n]
		var above []end
		if i > 0 {
			above = f.ends[(i-1)*n : i*n]
		}
		// gap is the best of the places before the last one, gaps deducted.
		gap := end{never, -1}
		at, best = -1, never
		for j, c := range e.chars {
			if i > 0 && j >= 2 {
				gap.score -= costSkip
				if s := above[j-2].score - costGap - costSkip; s > gap.score && above[j-2].score > never {
					gap = end{s, int32(j - 2)}
				}
			}
			if (c^want)&^sameCase != 0 {
				row[j].score = never
				continue
			}
			from := end{0, -1}
			if i > 0 {
				from = gap
				if j >= 1 && above[j-1].score > never && (from.from < 0 || above[j-1].score+bonusNext >= from.score) {
					from = end{above[j-1].score + bonusNext, int32(j - 1)}
				}
				if from.from < 0 {
					row[j].score = never
					continue
				}
			}
			from.score += scoreTaken + int32(e.worth[j])
			if c == want {
				from.score += bonusCase
			}
			row[j] = from
			if from.score > best {
				at, best = j, from.score
			}
		}
	}
	return at, best
}
