package resolve

import (
	"fmt"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// The places that a pure insertion can name in QuoteInput.At.
const (
	AtStart = "start"
	AtEnd   = "end"
	AtCaret = "caret"
)

// QuoteInput is what a model said about one change.
type QuoteInput struct {
	// OldText is quoted from the document; it must occur there once, or
	// Occurrence says which one is meant. NewText takes its place, literally.
	OldText, NewText string
	// At is AtStart, AtEnd or AtCaret for an insertion of NewText without a
	// quote; it counts only when OldText is empty. The start is behind front
	// matter; at start and end NewText gets lines of its own.
	At string
	// Occurrence is counted from 1; 0 says nothing.
	Occurrence int
	// Scope is where the quote must lie as a whole, in UTF-16 units; nil is the
	// whole document.
	Scope *core.Range
	// Caret is where AtCaret inserts, in UTF-16 units.
	Caret int
}

// Match says how a quote was found.
type Match string

// The matches.
const (
	// MatchExact: character by character.
	MatchExact Match = "exact"
	// MatchFolded: but for quote style, hyphens, normalisation form and blanks.
	MatchFolded Match = "folded"
)

// Resolved is a quote turned into edits of the document.
type Resolved struct {
	Match Match
	// Edits are word-level, in UTF-16 units, sorted, not overlapping.
	Edits []text.Edit
	// Hunks group all of Edits, in order.
	Hunks []core.Hunk
}

// QuoteError says why a quote could not be resolved. It wraps a *fault.Error
// with the code not_in_document, ambiguous, empty_old_text or no_change, and
// invalid_input for positions out of range.
type QuoteError struct {
	Fault *fault.Error
	// Count and Lines (from 1) tell where an ambiguous quote stands; of more
	// than maxPlaces places only the first have their lines here.
	Count int
	Lines []int
	// Nearest are the passages most like the quote, exactly as they stand.
	Nearest []Passage
	// message is for the model; it holds document text.
	message string
}

// Passage is text of the document and the line, from 1, that it begins in.
type Passage struct {
	Text string
	Line int
}

// Error implements error. The text is for logs and holds no document text.
func (e *QuoteError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *QuoteError) Unwrap() error { return e.Fault }

// Message returns what to tell the model, with document text in it, so that it
// can repair the quote.
func (e *QuoteError) Message() string { return e.message }

// maxPlaces bounds how many places of an ambiguous quote are described.
const maxPlaces = 20

// Quote turns a quote into edits of doc. A quote is looked for exactly and,
// where it does not occur so, folded (decision 15). Errors are [*QuoteError].
func Quote(doc string, in QuoteInput) (Resolved, error) {
	return quote(text.NewIndex(doc), in)
}

func quote(ix *text.Index, in QuoteInput) (Resolved, error) {
	doc := ix.Text()
	old, new := normalise(in.OldText), normalise(in.NewText)
	scope, err := scopeOf(ix, in.Scope)
	if err != nil {
		return Resolved{}, err
	}
	switch {
	case old == "" && in.At != "":
		return insert(ix, new, in, scope)
	case old == "":
		return Resolved{}, failed(fault.EmptyOldText,
			"oldText is empty. Quote the text beside the place, or leave oldText empty and give at: start, end or caret.")
	case old == new:
		return Resolved{}, unchanged()
	}
	match, c := MatchExact, exact
	hits := exactHits(doc, old, scope)
	if len(hits) == 0 {
		match, c = MatchFolded, folded
		hits = foldedHits(doc, old, scope)
	}
	n := max(in.Occurrence, 0)
	switch {
	case len(hits) == 0:
		return Resolved{}, notFound(doc, old, scope)
	case n > len(hits):
		e := failed(fault.NotInDocument, fmt.Sprintf("oldText occurs %d times, so there is no occurrence %d.%s", len(hits), n, places(doc, hits)))
		e.Count, e.Lines = len(hits), linesOf(doc, hits)
		return Resolved{}, e
	case n == 0 && len(hits) > 1:
		e := failed(fault.Ambiguous, fmt.Sprintf("oldText occurs %d times.%s\nQuote more of the text round the place, or give occurrence.", len(hits), places(doc, hits)))
		e.Count, e.Lines = len(hits), linesOf(doc, hits)
		return Resolved{}, e
	}
	hit := hits[max(n-1, 0)]
	edits := snap(doc, shift(refine(doc[hit.from:hit.to], new, c, false), hit.from))
	if len(edits) == 0 {
		return Resolved{}, unchanged()
	}
	return Resolved{Match: match, Edits: toEdits(ix, edits), Hunks: hunks(doc, edits)}, nil
}

func failed(code fault.Code, message string) *QuoteError {
	return &QuoteError{Fault: fault.New(code, "resolve", nil), message: message}
}

func unchanged() *QuoteError {
	return failed(fault.NoChange, "The document already says newText there, so nothing is proposed.")
}

// scopeOf returns a scope in bytes.
func scopeOf(ix *text.Index, r *core.Range) (span, error) {
	if r == nil {
		return span{0, len(ix.Text())}, nil
	}
	from, err := ix.Byte(r.From)
	if err != nil {
		return span{}, &QuoteError{Fault: fault.From(err), message: "The scope is not within the document."}
	}
	to, err := ix.Byte(r.To)
	if err != nil || to < from {
		return span{}, &QuoteError{Fault: fault.New(fault.InvalidInput, "resolve", err), message: "The scope is not within the document."}
	}
	return span{from, to}, nil
}

// insert places text that has no quote.
func insert(ix *text.Index, new string, in QuoteInput, scope span) (Resolved, error) {
	doc := ix.Text()
	if trimmed(new) == "" {
		return Resolved{}, failed(fault.NoChange, "newText is empty, so nothing is proposed.")
	}
	var at int
	switch in.At {
	case AtStart:
		at = scope.from
		if front := frontMatterEnd(doc); at < front {
			at = min(front+len(doc[front:])-len(strings.TrimLeft(doc[front:], "\n")), len(doc))
			if at > 0 && doc[at-1] != '\n' {
				new = "\n" + new
			}
		}
		if at < len(doc) && !strings.HasSuffix(new, "\n") && (at == 0 || doc[at-1] == '\n') {
			new += "\n\n"
		}
	case AtEnd:
		at = scope.to
		if at == len(doc) && at > 0 && doc[at-1] != '\n' && !strings.HasPrefix(new, "\n") {
			new = "\n\n" + new
		}
	case AtCaret:
		at = nearest(ix, in.Caret)
	default:
		return Resolved{}, failed(fault.InvalidInput, "at must be start, end or caret.")
	}
	edits := snap(doc, []byteEdit{{from: at, to: at, insert: new}})
	return Resolved{Match: MatchExact, Edits: toEdits(ix, edits), Hunks: hunks(doc, edits)}, nil
}

// exactHits returns where old stands in the scope of doc, overlapping places
// too, but none that begins or ends inside a grapheme cluster.
func exactHits(doc, old string, scope span) []span {
	var out []span
	for at := scope.from; ; {
		i := strings.Index(doc[at:scope.to], old)
		if i < 0 {
			return out
		}
		at += i
		if isBorder(doc, at) && isBorder(doc, at+len(old)) {
			out = append(out, span{at, at + len(old)})
		}
		at++
	}
}

// linesOf returns the lines, from 1, that the first hits begin in.
func linesOf(doc string, hits []span) []int {
	out := make([]int, 0, min(len(hits), maxPlaces))
	line, at := 1, 0
	for _, h := range hits[:min(len(hits), maxPlaces)] {
		line += strings.Count(doc[at:h.from], "\n")
		at = h.from
		out = append(out, line)
	}
	return out
}

// places describes hits for the model: line, and what stands round them.
func places(doc string, hits []span) string {
	var b strings.Builder
	for i, line := range linesOf(doc, hits) {
		h := hits[i]
		fmt.Fprintf(&b, "\n%d. line %d: …%s[…]%s…", i+1, line, oneLine(tailOf(doc[:h.from], 30)), oneLine(headOf(doc[h.to:], 30)))
	}
	if len(hits) > maxPlaces {
		fmt.Fprintf(&b, "\nand %d more", len(hits)-maxPlaces)
	}
	return b.String()
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "⏎") }

// headOf returns the first n clusters of s.
func headOf(s string, n int) string {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		at = clusterEnd(s, at)
	}
	return s[:at]
}

// tailOf returns about the last n characters of s, whole clusters.
func tailOf(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		at--
		at, _ = clusterAround(s, at)
	}
	return s[at:]
}
