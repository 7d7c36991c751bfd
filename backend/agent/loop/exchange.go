package loop

import (
	"fmt"
	"strings"

	"galley/backend/agent/core"
)

// exchange is a run as a context shows it: what the person asked, what the
// model and the tools did, and how it ended.
type exchange struct {
	run core.Run
	// before are what a run begins with besides its task, asked is its task.
	before, asked []item
	turns         []*turn
	// end are the last words, or what is to be said in their place.
	end []item
	// opening and closing are the lines of a summary for the first and the last
	// words; those between are the turns'.
	opening, closing []entry
	envelopes        []*core.Envelope
	// first and last are the places of the messages in the session.
	first, last int
}

// turn is a message of the model that calls tools, with what came of the calls.
type turn struct {
	said    []item // words and calls
	results []*outcome
	words   []entry // the line of a summary for the words
	ord     int
}

// outcome is the result of a call, in the ways to give it.
type outcome struct {
	id          core.ToolCallID
	whole, bare item
	entry       entry
}

// items are the parts of a turn as a plan wants them.
func (t *turn) items(p plan) []item {
	all := append([]item{}, t.said...)
	for _, r := range t.results {
		switch {
		case p.bare[r.id]:
			all = append(all, r.bare)
		case p.clip > 0 && len(r.whole.part.Text) > p.clip:
			all = append(all, r.clipped(p.clip))
		default:
			all = append(all, r.whole)
		}
	}
	return all
}

// clipped is a result of at most so many bytes.
func (o *outcome) clipped(limit int) item {
	it := o.whole
	part := *it.part
	part.Text, _ = shorten(part.Text, limit)
	it.part = &part
	it.note.Form = formSummary
	it.note.Bytes, it.note.Tokens = len(part.Text), tokens(part.Text)+withMargin(frameTokens)
	return it
}

// ords are the places of the first and the last message, 0 for none.
func (e *exchange) ords() (first, last int) {
	first, last = e.first, e.last
	for _, t := range e.turns {
		if t.ord > 0 && (first == 0 || t.ord < first) {
			first = t.ord
		}
		last = max(last, t.ord)
	}
	return first, last
}

// entries are the lines of a summary for it.
func (e *exchange) entries() []entry {
	all := append([]entry{}, e.opening...)
	for _, t := range e.turns {
		all = append(all, t.words...)
		for _, r := range t.results {
			all = append(all, r.entry)
		}
	}
	return append(all, e.closing...)
}

// exchanges puts a history in order: the runs before this one, and this one.
// What comes behind it, a message that waits for its turn, is no part of it.
func exchanges(t core.Task, h core.History) (earlier []*exchange, now *exchange) {
	byRun := map[core.RunID][]core.StoredMessage{}
	for _, m := range h.Messages {
		byRun[m.RunID] = append(byRun[m.RunID], m)
	}
	runs := h.Runs
	if len(runs) == 0 || !containsRun(runs, t.Run.ID) {
		runs = append(runs[:len(runs):len(runs)], t.Run)
	}
	r := newReader(t, h)
	for _, run := range runs {
		if run.ID == t.Run.ID {
			return earlier, r.read(run, byRun[run.ID], true)
		}
		if e := r.read(run, byRun[run.ID], false); len(e.asked)+len(e.turns)+len(e.end) > 0 {
			earlier = append(earlier, e)
		}
	}
	return earlier, nil
}

func containsRun(runs []core.Run, id core.RunID) bool {
	for _, r := range runs {
		if r.ID == id {
			return true
		}
	}
	return false
}

// reader turns the messages of a run into an exchange.
type reader struct {
	t         core.Task
	h         core.History
	calls     map[core.ToolCallID]core.ToolCall
	proposals map[core.ToolCallID]core.Proposal
	used      map[core.ToolCallID]bool
}

func newReader(t core.Task, h core.History) *reader {
	r := &reader{
		t: t, h: h, calls: map[core.ToolCallID]core.ToolCall{},
		proposals: map[core.ToolCallID]core.Proposal{}, used: map[core.ToolCallID]bool{},
	}
	for _, c := range h.Calls {
		r.calls[c.ID] = c
	}
	for _, p := range h.Proposals {
		if p.ToolCallID != "" {
			r.proposals[p.ToolCallID] = p
		}
	}
	return r
}

// read makes an exchange. The one that is going on has no end yet, and begins
// with the truth about the run that it continues.
func (r *reader) read(run core.Run, msgs []core.StoredMessage, current bool) *exchange {
	e := &exchange{run: run}
	switch {
	case current:
		e.before = textItem(core.RoleUser, piece{kind: "note", label: "continued", form: formWhole, text: r.continued(run)})
	case run.DocURI != "" && run.DocURI != r.t.Run.DocURI:
		e.asked = textItem(core.RoleUser, piece{
			kind: "note", label: "document", form: formWhole,
			text: "[The message that follows was about another document, " + quoted(documentName(run.DocURI, r.h.Session.WorkspaceID)) + ".]",
		})
	}
	var last *core.StoredMessage
	for i, m := range msgs {
		if m.Ord > 0 && (e.first == 0 || m.Ord < e.first) {
			e.first = m.Ord
		}
		e.last = max(e.last, m.Ord)
		switch {
		case m.Role == core.RoleUser:
			e.ask(m)
		case m.Role == core.RoleAssistant && callsTools(m):
			e.turns = append(e.turns, r.turn(e, m))
		case m.Role == core.RoleAssistant && !current:
			last = &msgs[i]
		}
	}
	if orphans := r.orphans(run.ID); len(orphans) > 0 {
		e.turns = append(e.turns, r.orphanTurn(orphans))
	}
	if !current {
		r.finish(e, last)
	}
	return e
}

// ask takes a message of the person's.
func (e *exchange) ask(m core.StoredMessage) {
	words := textOf(m.Message)
	items := textItem(core.RoleUser, piece{kind: "message", label: brief(words, maxLabel), form: formWhole, text: words})
	for i := range items {
		items[i].note.Ord = m.Ord
	}
	e.asked = append(e.asked, items...)
	e.opening = append(e.opening, entry{text: fmt.Sprintf("- message %d, the person: %s", m.Ord, quoted(brief(words, maxQuote)))})
}

// The lengths of labels and quotations in characters.
const (
	maxLabel = 60
	maxQuote = 200
)

// turn takes a message that calls tools.
func (r *reader) turn(e *exchange, m core.StoredMessage) *turn {
	t := &turn{ord: m.Ord}
	for _, p := range m.Parts {
		if p.Envelope != nil {
			e.envelopes = append(e.envelopes, p.Envelope)
		}
		switch p.Type {
		case core.PartToolCall:
			if r.used[p.ToolCallID] {
				continue // said twice; it was called once
			}
			r.used[p.ToolCallID] = true
			call, known := r.calls[p.ToolCallID]
			if !known {
				call = core.ToolCall{ID: p.ToolCallID, ProviderCallID: p.ProviderCallID, Name: p.Name, Input: p.Input}
			}
			t.add(p, r.outcome(call, p))
		case core.PartText, core.PartReasoning:
			if p.Text == "" && p.Envelope == nil {
				continue
			}
			words := p
			t.said = append(t.said, item{role: core.RoleAssistant, part: &words, note: core.ContextPart{
				Kind: "message", Label: brief(p.Text, maxLabel), Form: formWhole, Ord: m.Ord,
				Bytes: len(p.Text), Tokens: tokens(p.Text) + withMargin(frameTokens),
			}})
			if p.Type == core.PartText && strings.TrimSpace(p.Text) != "" {
				t.words = append(t.words, youSaid(m.Ord, p.Text))
			}
		case core.PartToolResult:
		}
	}
	return t
}

func (t *turn) add(p core.Part, o *outcome) {
	input := string(p.Input)
	t.said = append(t.said, item{role: core.RoleAssistant, part: &p, note: core.ContextPart{
		Kind: "tool_call", Label: p.Name, Form: formWhole, Call: p.ToolCallID, Ord: t.ord,
		Bytes: len(input), Tokens: tokens(p.Name+input) + withMargin(frameTokens),
	}})
	t.results = append(t.results, o)
}

// orphans are calls of a run that no message of it speaks of.
func (r *reader) orphans(run core.RunID) []core.ToolCall {
	var all []core.ToolCall
	for _, c := range r.h.Calls {
		if c.RunID == run && !r.used[c.ID] {
			all = append(all, c)
		}
	}
	return all
}

func (r *reader) orphanTurn(calls []core.ToolCall) *turn {
	t := &turn{}
	for _, c := range calls {
		r.used[c.ID] = true
		p := core.Part{
			Type: core.PartToolCall, ToolCallID: c.ID, ProviderCallID: c.ProviderCallID, Name: c.Name, Input: c.Input,
		}
		t.add(p, r.outcome(c, p))
	}
	return t
}

// outcome is a call's result as the model is told it now.
func (r *reader) outcome(c core.ToolCall, p core.Part) *outcome {
	proposal, proposed := r.proposals[c.ID]
	since := ""
	if proposed {
		since = decided(proposal)
	}
	verdict := r.h.Verdicts[c.ID]
	give := func(text, form string) item {
		return item{
			role: core.RoleTool,
			part: &core.Part{
				Type: core.PartToolResult, ToolCallID: p.ToolCallID, ProviderCallID: p.ProviderCallID, Name: p.Name,
				Text: text, IsError: c.State != core.CallSucceeded,
			},
			note: core.ContextPart{
				Kind: "tool_result", Label: p.Name, Form: form, Call: p.ToolCallID,
				Bytes: len(text), Tokens: tokens(text) + withMargin(frameTokens),
			},
		}
	}
	form := formWhole
	if c.Truncated {
		form = formSummary
	}
	return &outcome{
		id:    c.ID,
		whole: give(resultText(c, since, verdict), form), bare: give(bareText(c, since, verdict), formSummary),
		entry: callEntry(c, since, verdict),
	}
}

// finish gives an exchange that is over its last words. One without any says
// why, so that the person's next message is not the answer to their last.
func (r *reader) finish(e *exchange, last *core.StoredMessage) {
	why := ended(e.run)
	if last == nil {
		if len(e.asked) == 0 && len(e.turns) == 0 {
			return
		}
		if why == "" {
			why = "[There was no answer.]"
		}
		e.end = textItem(core.RoleAssistant, piece{kind: "note", label: "ended", form: formWhole, text: why})
		return
	}
	for _, p := range last.Parts {
		if p.Envelope != nil {
			e.envelopes = append(e.envelopes, p.Envelope)
		}
		if p.Type != core.PartText || p.Text == "" && p.Envelope == nil {
			continue
		}
		words := p
		e.end = append(e.end, item{role: core.RoleAssistant, part: &words, note: core.ContextPart{
			Kind: "message", Label: brief(p.Text, maxLabel), Form: formWhole, Ord: last.Ord,
			Bytes: len(p.Text), Tokens: tokens(p.Text) + withMargin(frameTokens),
		}})
	}
	e.closing = append(e.closing, youSaid(last.Ord, textOf(last.Message)))
	if why == "" && last.Status == partial {
		why = "[This answer broke off here.]"
	}
	if why != "" || len(e.end) == 0 {
		if why == "" {
			why = "[There was no answer.]"
		}
		e.end = append(e.end, textItem(core.RoleAssistant, piece{kind: "note", label: "ended", form: formWhole, text: "\n\n" + why})...)
	}
}

func youSaid(ord int, words string) entry {
	return entry{text: fmt.Sprintf("- message %d, you: %s", ord, quoted(brief(words, maxQuote)))}
}

func callsTools(m core.StoredMessage) bool {
	for _, p := range m.Parts {
		if p.Type == core.PartToolCall {
			return true
		}
	}
	return false
}

// textOf joins the words of a message.
func textOf(m core.Message) string {
	var parts []string
	for _, p := range m.Parts {
		if p.Type == core.PartText && p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}
