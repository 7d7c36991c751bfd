package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/resolve"
	"galley/backend/fault"
	"galley/backend/text"
)

type proposeInput struct {
	OldText, NewText, At, Scope, Summary string
	Occurrence                           int
}

// preparePropose is for proposePatch: the quote is resolved by the call itself,
// whose answer may hold text of the document.
func (e *Executor) preparePropose(_ context.Context, c *call) (core.Prepared, error) {
	a, err := e.editable(c.scope)
	if err != nil {
		return core.Prepared{}, err
	}
	return core.Prepared{BaseVersion: c.scope.base.BaseVersion, Summary: core.ToolSummary{Path: a.name}}, nil
}

// editable is active for a document that the model has seen and that a person
// can edit.
func (e *Executor) editable(s scope) (active, error) {
	a, err := e.active(s)
	switch {
	case err != nil:
		return active{}, err
	case a.readOnly != "":
		return active{}, refuse(fault.ReadOnly, "%s cannot be edited here, so that nothing can be proposed for it.", shown(a.name))
	case !s.hasBase:
		return active{}, refuse(fault.Stale, "You have not read the document yet. Call getActiveDocument and quote from what it gives.")
	}
	return a, nil
}

// maxSummary bounds a summary, in bytes.
const maxSummary = 1000

// proposePatch turns a quote into a proposal. Nothing is changed.
func (e *Executor) proposePatch(ctx context.Context, c *call) (core.ToolResult, error) {
	var in proposeInput
	if err := c.decode(&in); err != nil {
		return core.ToolResult{}, err
	}
	a, err := e.editable(c.scope)
	if err != nil {
		return core.ToolResult{}, err
	}
	base := c.scope.base
	if in.Scope == "selection" && base.Selection.From == base.Selection.To && in.At != resolve.AtCaret {
		return core.ToolResult{}, refuse(fault.InvalidInput, "Nothing is selected. Leave scope out, or give document.")
	}
	q := resolve.QuoteInput{
		OldText: in.OldText, NewText: in.NewText, At: in.At, Occurrence: in.Occurrence,
		Scope: resolve.ScopeOf(in.Scope, base.Selection), Caret: base.Selection.To,
	}
	r, err := resolve.Quote(base.Text, q)
	if err != nil {
		return core.ToolResult{}, e.unresolved(c.scope, a, in, q, err)
	}
	if !stands(base.Text, a.Text, q, r) {
		return core.ToolResult{}, stale(base, a)
	}
	for _, p := range c.scope.open {
		if resolve.Overlaps(p.edits, r.Edits) {
			return core.ToolResult{}, refuse(fault.Overlap,
				"An earlier proposal of yours changes the same words, and the person has not decided on it. Nothing was proposed. Propose other words, or wait for the decision.")
		}
	}
	if ctx.Err() != nil {
		return core.ToolResult{}, stopped(ctx)
	}
	proposal := &core.Proposal{
		ID: core.ProposalID(e.cfg.NewID()), Origin: core.OriginTool, RunID: c.RunID, ToolCallID: c.ToolCallID,
		DocURI: a.DocURI, BaseDigest: base.Digest,
		Patch: core.Patch{BaseVersion: base.BaseVersion, Edits: r.Edits, Summary: head(in.Summary, maxSummary)},
		// The edits of one call stand or fall together (P2).
		Hunks: []core.Hunk{{ID: "1", Count: len(r.Edits), Warnings: united(r.Hunks)}},
		State: core.ProposalProposed, CreatedAtMs: e.cfg.Now().UnixMilli(),
	}
	out, err := told(base.Text, r.Edits)
	if err != nil {
		return core.ToolResult{}, err
	}
	c.deliver = func() {
		e.proposes(c.CommandID, proposed{id: proposal.ID, call: c.ToolCallID, edits: r.Edits})
	}
	return core.ToolResult{
		Text: out, Proposal: proposal,
		Facts: core.ToolFacts{Path: a.name, Version: base.BaseVersion, Bytes: len(in.NewText)},
	}, nil
}

// told is what the model learns of its proposal.
func told(base string, edits []text.Edit) (string, error) {
	ix := text.NewIndex(base)
	answer := struct {
		Status  string `json:"status"`
		Hunks   int    `json:"hunks"`
		Added   int    `json:"added"`
		Removed int    `json:"removed"`
		Note    string `json:"note"`
	}{
		Status: "proposed", Hunks: 1,
		Note: "Not applied. The person sees it as a difference and accepts or rejects it; until then the document stays as it is.",
	}
	for _, ed := range edits {
		gone, err := ix.Slice(ed.From, ed.To)
		if err != nil {
			return "", err
		}
		answer.Added += utf8.RuneCountInString(ed.Insert)
		answer.Removed += utf8.RuneCountInString(gone)
	}
	out, err := json.Marshal(answer)
	if err != nil {
		return "", fault.New(fault.Internal, "write answer", err)
	}
	return string(out), nil
}

// united are the warnings of all hunks, each once, in the order of the kinds.
func united(hunks []core.Hunk) []core.Warning {
	out := []core.Warning{}
	for _, w := range []core.Warning{
		core.WarnNumber, core.WarnDate, core.WarnLink, core.WarnCode, core.WarnQuotation, core.WarnFootnote,
		core.WarnFrontMatter, core.WarnInvisible, core.WarnHeadingLevel, core.WarnMarker, core.WarnTableColumns, core.WarnFence,
	} {
		if slices.ContainsFunc(hunks, func(h core.Hunk) bool { return slices.Contains(h.Warnings, w) }) {
			out = append(out, w)
		}
	}
	return out
}

// unresolved is the error of a quote that could not be resolved, with words by
// which the model can put it right in one turn.
func (e *Executor) unresolved(s scope, a active, in proposeInput, q resolve.QuoteInput, err error) error {
	qe, ok := errors.AsType[*resolve.QuoteError](err)
	if !ok {
		return err
	}
	if qe.Fault.Code == fault.NotInDocument && s.base.Digest != a.Digest {
		return stale(s.base, a)
	}
	say := qe.Message()
	if qe.Fault.Code == fault.NotInDocument && q.Scope != nil {
		q.Scope = nil
		if _, err := resolve.Quote(s.base.Text, q); err == nil || fault.CodeOf(err) == fault.Ambiguous {
			say = joined(say, "It does stand outside of the selection, where changes are looked for unless you give scope: document.")
		} else if wide, ok := errors.AsType[*resolve.QuoteError](err); ok && in.Scope == "" && len(qe.Nearest) == 0 && len(wide.Nearest) > 0 {
			say = wide.Message()
		}
	}
	return &said{err, say}
}

// stale says that the document is no longer what the model quotes from.
func stale(base core.Snapshot, a active) error {
	return refuse(fault.Stale, "The document has changed since you read it: you have version %d, it is version %d now, and the passage is no longer the same. Nothing was proposed. Call getActiveDocument and quote from what it gives.",
		base.BaseVersion, a.BaseVersion)
}

// stands reports whether what a quote changes in the text that the model saw is
// still there, the same passage, in the text as it is now.
func stands(base, now string, q resolve.QuoteInput, r resolve.Resolved) bool {
	if base == now {
		return true
	}
	since := between(base, now)
	if _, touched := text.MapEdits(r.Edits, since); !slices.Contains(touched, true) {
		return true
	}
	// Where much has changed, between is coarse. A passage that occurs once
	// before and after is the same one all the same.
	if q.Occurrence > 0 || q.OldText == "" {
		return false
	}
	if q.Scope != nil {
		mapped := core.Range{From: text.MapPos(since, q.Scope.From, 1), To: text.MapPos(since, q.Scope.To, -1)}
		if mapped.From > mapped.To {
			return false
		}
		q.Scope = &mapped
	}
	again, err := resolve.Quote(now, q)
	return err == nil && sameEdits(base, r.Edits, now, again.Edits)
}

// sameEdits reports whether edits of two texts replace the same words by the
// same words, equally far from each other.
func sameEdits(a string, x []text.Edit, b string, y []text.Edit) bool {
	if len(x) != len(y) {
		return false
	}
	ia, ib := text.NewIndex(a), text.NewIndex(b)
	for i := range x {
		goneA, errA := ia.Slice(x[i].From, x[i].To)
		goneB, errB := ib.Slice(y[i].From, y[i].To)
		if errA != nil || errB != nil || goneA != goneB || x[i].Insert != y[i].Insert || x[i].From-x[0].From != y[i].From-y[0].From {
			return false
		}
	}
	return true
}

// maxRefined is how much of two texts may differ for it to be told word by
// word, in bytes; more is one change.
const maxRefined = 64 << 10

// between returns how one text became another, as far as that can be seen.
func between(a, b string) []text.ChangedRange {
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	// At a break, so that the parts are lines.
	from = strings.LastIndexByte(a[:from], '\n') + 1
	toA, toB := len(a), len(b)
	for toA > from && toB > from && a[toA-1] == b[toB-1] {
		toA, toB = toA-1, toB-1
	}
	if i := strings.IndexByte(a[toA:], '\n'); i >= 0 {
		toA, toB = toA+i, toB+i
	} else {
		toA, toB = len(a), len(b)
	}
	at := text.Length(a[:from])
	midA, midB := a[from:toA], b[from:toB]
	edits := []text.Edit{{From: 0, To: text.Length(midA), Insert: midB}}
	if len(midA)+len(midB) <= maxRefined {
		edits = resolve.Refine(midA, midB)
	}
	out := make([]text.ChangedRange, 0, len(edits))
	moved := 0
	for _, ed := range edits {
		r := text.ChangedRange{FromA: at + ed.From, ToA: at + ed.To, FromB: at + ed.From + moved}
		r.ToB = r.FromB + text.Length(ed.Insert)
		moved += text.Length(ed.Insert) - (ed.To - ed.From)
		out = append(out, r)
	}
	return out
}
