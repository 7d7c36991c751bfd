// Package resolve turns what a language model wrote into edits of a document:
// the answer to a rewrite ([ReadRewrite]) and the quotes of a tool call
// ([Quote]). It finds out what of an answer is the text, where a quote stands,
// which words differ, and what kind of thing each hunk changes.
//
// It is pure: no I/O, no goroutine, no state. It knows no document store, no
// provider and no page. Texts are LF text without BOM; positions that cross its
// border are UTF-16 code units, inside it works in bytes. The rules are those
// of core/testdata/patch/README.md; numbered decisions in comments are that
// file's.
//
// The invariant that matters: what the rules call equal keeps the document's
// bytes, and no edit cuts a grapheme cluster.
package resolve

import (
	"galley/backend/agent/core"
	"galley/backend/text"
)

// Outcome says what a model's answer to a rewrite came to.
type Outcome string

// The outcomes of a rewrite.
const (
	// Proposal: there are edits to review.
	Proposal Outcome = "proposal"
	// CutOff: the answer broke off. Its edits cover what had come; none starts
	// ticked.
	CutOff Outcome = "cut_off"
	// Refused: the model or its provider would not, or the answer does not fit
	// the document.
	Refused Outcome = "refused"
	// Empty: nothing was left after cleaning. It never deletes.
	Empty Outcome = "empty"
	// NoChange: the answer is the text as it stands.
	NoChange Outcome = "no_change"
)

// Finish says how an answer ended.
type Finish string

// The ways an answer ends.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"
	FinishRefusal Finish = "refusal"
	FinishFilter  Finish = "filter"
	FinishDropped Finish = "dropped"
)

// Reading is what an answer to a rewrite came to.
type Reading struct {
	Outcome Outcome
	// Text is the answer without thinking, talk and wrapping; empty when
	// refused or empty.
	Text string
	// Edits are word-level, in UTF-16 units of the document, sorted, not
	// overlapping. They are set for Proposal, and for CutOff where anything
	// came.
	Edits []text.Edit
	// Hunks group all of Edits, in order.
	Hunks []core.Hunk
}

// ReadRewrite reads the answer to a rewrite of the selection of doc. A
// selection out of range, or inside a character, is moved to the nearest place
// that is in it. With From = To the selection is a caret and the text is
// inserted there.
func ReadRewrite(doc string, selection core.Range, answer string, finish Finish) Reading {
	if finish == FinishRefusal || finish == FinishFilter {
		return Reading{Outcome: Refused}
	}
	ix := text.NewIndex(doc)
	t := newTarget(ix, selection)
	whole := finish != FinishLength && finish != FinishDropped
	body, refused := t.clean(normalise(answer), whole)
	switch {
	case !whole:
		edits := snap(doc, t.partialEdits(body))
		return Reading{Outcome: CutOff, Text: body, Edits: toEdits(ix, edits), Hunks: hunks(doc, edits)}
	case refused:
		return Reading{Outcome: Refused}
	case body == "" || t.caret && trimmed(body) == "":
		return Reading{Outcome: Empty}
	}
	edits := snap(doc, t.edits(body))
	if len(edits) == 0 {
		return Reading{Outcome: NoChange, Text: body}
	}
	return Reading{Outcome: Proposal, Text: body, Edits: toEdits(ix, edits), Hunks: hunks(doc, edits)}
}
