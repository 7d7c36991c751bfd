package resolve

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"galley/backend/fault"
)

// foldedText is a text in which quote style, hyphens, normalisation form and
// blanks are alike, with the way back.
type foldedText struct {
	text string
	// from and to are, for each byte of text, the range of the original that
	// its character stands for.
	from, to []int
}

// fold returns s folded. Blanks before a line break are gone, all other runs
// are one blank.
func fold(s string) foldedText {
	var b strings.Builder
	f := foldedText{from: make([]int, 0, len(s)), to: make([]int, 0, len(s))}
	put := func(what string, from, to int) {
		b.WriteString(what)
		for range len(what) {
			f.from, f.to = append(f.from, from), append(f.to, to)
		}
	}
	for i := 0; i < len(s); {
		end := clusterEnd(s, i)
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isBlank(r) && n == end-i:
			end = blanksEnd(s, end)
			if end < len(s) && s[end] == '\n' {
				break
			}
			put(" ", i, end)
		case r < utf8.RuneSelf && n == end-i:
			put(s[i:end], i, end)
		default:
			put(foldText(s[i:end]), i, end)
		}
		i = end
	}
	f.text = b.String()
	return f
}

// foldedHits returns where old stands in the scope of doc when both are folded.
// Only lines that hold a piece of old that folding cannot change are folded.
func foldedHits(doc, old string, scope span) []span {
	want := fold(old).text
	if want == "" {
		return nil
	}
	var out []span
	for _, w := range likelyLines(doc, want, scope) {
		out = append(out, foldedIn(doc, want, w)...)
	}
	return out
}

// likelyLines returns the stretches of whole lines in which a folded text can
// stand, apart from each other.
func likelyLines(doc, want string, scope span) []span {
	piece, before := steadyPiece(want)
	if piece == "" {
		return []span{scope}
	}
	behind := strings.Count(want, "\n") - before
	var out []span
	for at := scope.from; at < scope.to; {
		i := strings.Index(doc[at:scope.to], piece)
		if i < 0 {
			break
		}
		at += i
		w := span{max(lineBack(doc, at, before), scope.from), min(lineOn(doc, at, behind), scope.to)}
		if n := len(out); n > 0 && w.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
		} else {
			out = append(out, w)
		}
		at = lineOn(doc, at, 0)
	}
	return out
}

// foldedIn returns the hits in one stretch of doc.
func foldedIn(doc, want string, in span) []span {
	f := fold(doc[in.from:in.to])
	var out []span
	for at := 0; ; {
		i := strings.Index(f.text[at:], want)
		if i < 0 {
			return out
		}
		at += i
		from, to := in.from+f.from[at], in.from+f.to[at+len(want)-1]
		// A hit that begins or ends within what one character became is none.
		whole := (at == 0 || f.to[at-1] <= f.from[at]) && (at+len(want) == len(f.text) || f.from[at+len(want)] >= f.to[at+len(want)-1])
		if whole && isBorder(doc, from) && isBorder(doc, to) {
			out = append(out, span{from, to})
		}
		at++
	}
}

// steadyPiece returns the longest run of a folded text that folding leaves as
// it is wherever it stands: ASCII letters and digits, or Han characters; and
// how many line breaks stand before it.
func steadyPiece(s string) (piece string, breaks int) {
	start := -1
	lines, startLines := 0, 0
	for i := 0; i <= len(s); {
		r, n := rune(0), 1
		if i < len(s) {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		steady := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x4E00 && r <= 0x9FFF
		switch {
		case steady && start < 0:
			start, startLines = i, lines
		case !steady && start >= 0:
			if i-start > len(piece) {
				piece, breaks = s[start:i], startLines
			}
			start = -1
		}
		if r == '\n' {
			lines++
		}
		i += n
	}
	return piece, breaks
}

// lineBack returns the start of the line n before the one that holds byte at.
func lineBack(s string, at, n int) int {
	for ; n >= 0; n-- {
		i := strings.LastIndexByte(s[:at], '\n')
		if i < 0 {
			return 0
		}
		at = i
	}
	return at + 1
}

// lineOn returns the end, its break included, of the line n after the one that
// holds byte at.
func lineOn(s string, at, n int) int {
	for ; n >= 0; n-- {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return len(s)
		}
		at += i + 1
	}
	return at
}

// The bounds of the search for passages like a quote that does not occur.
const (
	maxNearest  = 3
	maxProbes   = 8
	maxFinds    = 400
	maxPassage  = 400
	nearEnough  = 0.6
	maxCompared = 60
)

// notFound returns the error for a quote that does not occur, with the passages
// most like it.
func notFound(doc, old string, scope span) *QuoteError {
	e := failed(fault.NotInDocument, "oldText does not occur in the document.")
	e.Nearest = nearestPassages(doc, old, scope)
	if len(e.Nearest) == 0 {
		e.message += " Nothing in it is much like it. Read the document again and quote it exactly."
		return e
	}
	var b strings.Builder
	b.WriteString(e.message + " The nearest passages, exactly as they stand:")
	for _, p := range e.Nearest {
		fmt.Fprintf(&b, "\nline %d:\n%s", p.Line, p.Text)
	}
	b.WriteString("\nQuote one of them exactly, its markers and punctuation too.")
	e.message = b.String()
	return e
}

// nearestPassages returns the passages of as many lines as old that share most
// words with it. It looks only where rare words of old stand.
func nearestPassages(doc, old string, scope span) []Passage {
	want := bagOf(old)
	height := strings.Count(strings.Trim(old, "\n"), "\n")
	votes := make(map[int]int)
	for _, probe := range probes(want) {
		finds := 0
		for at := scope.from; finds < maxFinds; finds++ {
			i := strings.Index(doc[at:scope.to], probe)
			if i < 0 {
				break
			}
			at += i
			start := lineBack(doc, at, 0)
			// Which line of the quote it is, is not known; try each.
			for k := 0; k <= min(height, 8); k++ {
				votes[lineBack(doc, start, k)]++
			}
			at += len(probe)
		}
	}
	starts := make([]int, 0, len(votes))
	for s := range votes {
		starts = append(starts, s)
	}
	sort.Slice(starts, func(i, j int) bool {
		if votes[starts[i]] != votes[starts[j]] {
			return votes[starts[i]] > votes[starts[j]]
		}
		return starts[i] < starts[j]
	})
	type scored struct {
		span
		score float64
	}
	var found []scored
	for _, s := range starts[:min(len(starts), maxCompared)] {
		p := span{max(s, scope.from), min(lineOn(doc, s, height), scope.to)}
		p.to -= len(doc[p.from:p.to]) - len(strings.TrimRight(doc[p.from:p.to], "\n"))
		if p.to-p.from > 2*len(old)+80 {
			p = cutTo(doc, p, old, want)
		}
		if score := similarity(want, bagOf(doc[p.from:p.to])); score >= nearEnough {
			found = append(found, scored{p, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.from - b.from
	})
	var out []Passage
	var taken []span
	for _, f := range found {
		if len(out) == maxNearest {
			break
		}
		if slices.ContainsFunc(taken, func(t span) bool { return f.from < t.to && f.to > t.from }) {
			continue
		}
		taken = append(taken, f.span)
		out = append(out, Passage{Text: headOf(doc[f.from:f.to], maxPassage), Line: strings.Count(doc[:f.from], "\n") + 1})
	}
	return out
}

// probes returns words of a bag to look for, the longest first.
func probes(b bag) []string {
	words := make([]string, 0, len(b.words))
	for w := range b.words {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		if len(words[i]) != len(words[j]) {
			return len(words[i]) > len(words[j])
		}
		return words[i] < words[j]
	})
	return words[:min(len(words), maxProbes)]
}

// cutTo narrows a long passage to about the length of old, where it shares most
// words with it.
func cutTo(doc string, p span, old string, want bag) span {
	s := doc[p.from:p.to]
	width := len(old) + 20
	best, score := span{p.from, min(p.from+width, p.to)}, -1.0
	for at := 0; at < len(s); at += max(width/4, 16) {
		from, _ := clusterAround(s, at)
		_, to := clusterAround(s, min(at+width, len(s)))
		if v := similarity(want, bagOf(s[from:to])); v > score {
			best, score = span{p.from + from, p.from + to}, v
		}
	}
	return best
}
