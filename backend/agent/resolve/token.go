package resolve

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// compare says what counts as equal.
type compare uint8

const (
	// exact: bytes decide.
	exact compare = iota
	// folded: quote style, hyphens, normalisation form and blanks do not count
	// (decision 15).
	folded
	// loose: as folded, and the padding of tables and the spelling of hard
	// breaks do not count (decision 13).
	loose
)

type tokenKind uint8

const (
	wordToken tokenKind = iota
	// markToken is a single cluster: a CJK character, punctuation, an emoji.
	markToken
	blankToken
	// breakToken is a line break with the blanks before it, where those do not
	// count.
	breakToken
	// pipeToken is a table's cell border with its padding.
	pipeToken
)

// token is text[from:to], in bytes; tokens of one text lie end to end. Equal
// keys mean equal tokens.
type token struct {
	from, to int
	key      uint32
	kind     tokenKind
	// lead is true in the block markers at the start of a line.
	lead bool
}

// The keys of line breaks are fixed, since being equal is not transitive here:
// two blanks are as good as a backslash and as good as nothing, but a backslash
// is not as good as nothing.
const (
	breakKey uint32 = 1 + iota
	spacedBreakKey
	backslashBreakKey
	firstFreeKey
)

// equalKeys reports whether two tokens are equal by their keys.
func equalKeys(a, b uint32) bool {
	if a == b {
		return true
	}
	return a < firstFreeKey && b < firstFreeKey && (a == spacedBreakKey || b == spacedBreakKey)
}

// tokenizer turns texts into tokens whose keys can be compared with each other.
type tokenizer struct {
	compare compare
	keys    map[string]uint32
}

func newTokenizer(c compare) *tokenizer {
	return &tokenizer{compare: c, keys: make(map[string]uint32)}
}

func (t *tokenizer) key(s string) uint32 {
	k, ok := t.keys[s]
	if !ok {
		k = firstFreeKey + uint32(len(t.keys))
		t.keys[s] = k
	}
	return k
}

// tokens splits s. rows says which lines of s are rows of a table; nil: none.
func (t *tokenizer) tokens(s string, rows []rowKind) []token {
	out := make([]token, 0, len(s)/4+8)
	line := 0
	lineStart, leadEnd := 0, leadLength(s)
	for i := 0; i < len(s); {
		row := noRow
		if line < len(rows) {
			row = rows[line]
		}
		tok := t.next(s, i, row)
		tok.lead = tok.to <= lineStart+leadEnd
		out = append(out, tok)
		i = tok.to
		if s[i-1] == '\n' {
			line++
			lineStart, leadEnd = i, leadLength(s[i:])
		}
	}
	return out
}

// next returns the token that starts at byte i.
func (t *tokenizer) next(s string, i int, row rowKind) token {
	end := clusterEnd(s, i)
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == '\n':
		return token{from: i, to: end, key: t.breakKey(s[i:end]), kind: breakToken}
	case isBlank(r) && n == end-i:
		return t.blank(s, i, end, row)
	case r == '|' && n == end-i && row != noRow:
		return t.pipe(s, i, blanksEnd(s, end))
	case row == delimiterRow && (r == '-' || r == ':'):
		for end < len(s) && (s[end] == '-' || s[end] == ':') {
			end++
		}
		return token{from: i, to: end, key: t.key("\x00" + alignmentOf(s[i:end])), kind: markToken}
	case r == '\\' && t.compare == loose && end < len(s) && s[end] == '\n' && evenBackslashes(s[:i]):
		return token{from: i, to: end + 1, key: backslashBreakKey, kind: breakToken}
	case r == '\\' && row != noRow && end < len(s) && s[end] == '|':
		// An escaped pipe is no border of a cell.
		end = clusterEnd(s, end)
		return token{from: i, to: end, key: t.textKey(s[i:end]), kind: markToken}
	case isWord(r) && !spaceless(r):
		end = wordEnd(s, i, end)
		return token{from: i, to: end, key: t.textKey(s[i:end]), kind: wordToken}
	}
	return token{from: i, to: end, key: t.textKey(s[i:end]), kind: markToken}
}

// blank returns the run of blanks at i, together with the break or the cell
// border that follows where the run does not count.
func (t *tokenizer) blank(s string, i, end int, row rowKind) token {
	end = blanksEnd(s, end)
	if t.compare == exact {
		return token{from: i, to: end, key: t.key(s[i:end]), kind: blankToken}
	}
	if end < len(s) && s[end] == '\n' {
		return token{from: i, to: end + 1, key: t.breakKey(s[i : end+1]), kind: breakToken}
	}
	if row != noRow && end < len(s) && s[end] == '|' && clusterEnd(s, end) == end+1 {
		return t.pipe(s, i, blanksEnd(s, end+1))
	}
	return token{from: i, to: end, key: t.key(" "), kind: blankToken}
}

// pipe returns the border of a cell at i. At the end of a line the padding
// belongs to the break.
func (t *tokenizer) pipe(s string, i, end int) token {
	if end < len(s) && s[end] == '\n' || end == len(s) {
		end = i + len(strings.TrimRightFunc(s[i:end], isBlank))
	}
	return token{from: i, to: end, key: t.key("|"), kind: pipeToken}
}

// blanksEnd returns where the run of blanks that goes on at byte i ends.
func blanksEnd(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isBlank(r) || clusterEnd(s, i) != i+n {
			break
		}
		i += n
	}
	return i
}

func (t *tokenizer) breakKey(s string) uint32 {
	if t.compare == loose && len(s) > 2 && s[len(s)-2] == ' ' && s[len(s)-3] == ' ' {
		return spacedBreakKey
	}
	return breakKey
}

func (t *tokenizer) textKey(s string) uint32 {
	if t.compare == exact {
		return t.key(s)
	}
	return t.key(foldText(s))
}

// wordEnd returns the end of the word whose first cluster is s[i:end]. An
// apostrophe between letters and a point or comma between digits are part of
// the word.
func wordEnd(s string, i, end int) int {
	last, _ := utf8.DecodeRuneInString(s[i:])
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		at := end
		if joinsWord(last, r) && end+n < len(s) {
			next, _ := utf8.DecodeRuneInString(s[end+n:])
			if !joins(last, r, next) {
				break
			}
			at, r = end+n, next
		}
		if !isWord(r) || spaceless(r) {
			break
		}
		end, last = clusterEnd(s, at), r
	}
	return end
}

// joinsWord reports whether r may stand inside a word after last.
func joinsWord(last, r rune) bool {
	if foldRune(r) == '\'' {
		return unicode.IsLetter(last)
	}
	return (r == '.' || r == ',') && unicode.IsDigit(last)
}

func joins(last, r, next rune) bool {
	if foldRune(r) == '\'' {
		return unicode.IsLetter(next) && !spaceless(next)
	}
	return joinsWord(last, r) && unicode.IsDigit(next)
}

// evenBackslashes reports whether s ends in an even number of backslashes.
func evenBackslashes(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 0
}
