package resolve

import (
	"errors"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// CallResult is what became of one quote of several.
type CallResult struct {
	Resolved
	// Err is a [*QuoteError] when the quote could not be resolved, and a fault
	// overlap or stale. Resolved is set for a stale one, in positions of the
	// document as it was read.
	Err error
	// Mapped are the edits in the document as it is now; nil with Err.
	Mapped []text.Edit
}

// QuoteAll resolves quotes that were all made on doc, and maps them to the
// document after the changes that a person made since. A quote whose changed
// words overlap those of an earlier one is refused as overlap (decision 16),
// one whose changed words the person changed as stale (decision 17); each is
// all or nothing. A nil since means no change.
func QuoteAll(doc string, quotes []QuoteInput, since *text.Changes) ([]CallResult, error) {
	ix := text.NewIndex(doc)
	var ranges []text.ChangedRange
	if since != nil {
		var err error
		if ranges, err = since.Ranges(ix); err != nil {
			return nil, err
		}
	}
	out := make([]CallResult, len(quotes))
	var taken []text.Edit
	for i, q := range quotes {
		r, err := quote(ix, q)
		if err != nil {
			out[i].Err = err
			continue
		}
		if Overlaps(taken, r.Edits) {
			out[i].Err = fault.New(fault.Overlap, "resolve", errors.New("words that an earlier call changes"))
			continue
		}
		taken = append(taken, r.Edits...)
		out[i].Resolved = r
		mapped, touched := text.MapEdits(r.Edits, ranges)
		for _, t := range touched {
			if t {
				out[i].Err = fault.New(fault.Stale, "resolve", nil)
			}
		}
		if out[i].Err == nil {
			out[i].Mapped = mapped
		}
	}
	return out, nil
}

// Overlaps reports whether an edit of one set strictly overlaps one of the
// other; touching is no overlap. Both refer to the same text.
func Overlaps(a, b []text.Edit) bool {
	for _, x := range a {
		for _, y := range b {
			if x.From < y.To && x.To > y.From {
				return true
			}
		}
	}
	return false
}

// ScopeOf returns the scope of a quote: the selection where scope is
// "selection", or where it says nothing and something is selected; nil for the
// whole document.
func ScopeOf(scope string, selection core.Range) *core.Range {
	if scope == "selection" || scope == "" && selection.To > selection.From {
		return &selection
	}
	return nil
}
