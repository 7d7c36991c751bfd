package resolve

import (
	"strings"
	"unicode/utf8"
)

// bag counts the words of a text, in lower case and folded; CJK characters
// count as words. Punctuation counts only where there is nothing else.
type bag struct {
	words map[string]int
	total int
}

func bagOf(s string) bag {
	b := bag{words: make(map[string]int)}
	each := func(punctuation bool) {
		for i := 0; i < len(s); {
			end := clusterEnd(s, i)
			r, _ := utf8.DecodeRuneInString(s[i:])
			word := isWord(r)
			if word && !spaceless(r) {
				end = wordEnd(s, i, end)
			}
			if word || punctuation && !isEdge(r) {
				b.words[strings.ToLower(foldText(s[i:end]))]++
				b.total++
			}
			i = end
		}
	}
	if each(false); b.total == 0 {
		each(true)
	}
	return b
}

// similarity is 1 for texts of the same words and 0 for texts that share none,
// or of which one is many times as long.
func similarity(a, b bag) float64 {
	if a.total == 0 || b.total == 0 || a.total > 8*b.total || b.total > 8*a.total {
		return 0
	}
	if len(a.words) > len(b.words) {
		a, b = b, a
	}
	shared := 0
	for w, n := range a.words {
		shared += min(n, b.words[w])
	}
	return 2 * float64(shared) / float64(a.total+b.total)
}

// alike is the similarity from which two lines are versions of each other.
const alike = 0.6

// lineBag is a line with what is needed to compare it.
type lineBag struct {
	text string
	// key is the line folded, blanks reduced; lines of one key are equal.
	key string
	bag bag
}

func newLineBag(line string) lineBag {
	return lineBag{text: line, key: lineKey(line), bag: bagOf(line)}
}

// lineKey returns a line as it is compared by decision 13, near enough to tell
// whether a line was repeated.
func lineKey(line string) string {
	line = trimmed(line)
	if strings.IndexByte(line, '|') >= 0 {
		if a := alignments(tableContent(line)); a != nil {
			return "|" + strings.Join(a, "|")
		}
		parts := cells(line)
		for i := range parts {
			parts[i] = trimmed(parts[i])
		}
		line = strings.Join(parts, "|")
	}
	return strings.Join(strings.FieldsFunc(foldText(line), isBlank), " ")
}

// compareLines returns the similarity of two lines, 1 for equal ones.
func compareLines(a, b lineBag) float64 {
	if a.key == b.key {
		return 1
	}
	return min(similarity(a.bag, b.bag), 0.99)
}

// trimmed returns s without blanks and line breaks at its ends.
func trimmed(s string) string { return strings.TrimFunc(s, isEdge) }
