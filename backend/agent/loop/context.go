package loop

import (
	"fmt"
	"slices"
	"strconv"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// The forms of a part of a context; see core.ContextPart.
const (
	formWhole   = "whole"
	formSummary = "summary"
	formLeftOut = "left_out"
)

// assumedSize is how many tokens a model is taken to bear when nobody knows.
const assumedSize = 64_000

// maxReserve is the most that is kept free for the answer, in tokens, where
// nobody said how long it may be.
const maxReserve = 8192

// reserveFor is how many of size tokens are kept free for the answer: as many as
// the longest may have, at most half; where that is open, a quarter at most.
func reserveFor(size, longest int) int {
	if longest > 0 {
		return min(longest, size/2)
	}
	return min(maxReserve, size/4)
}

// piece is a text on its way into a context.
type piece struct {
	kind, label, form, text string
	// size is how many bytes a text has that was left out.
	size int
}

// item is a part of a message with what is reported of it. Its cost is that of
// its report; an item without a part is only reported.
type item struct {
	role core.Role
	part *core.Part
	note core.ContextPart
}

// textItem makes an item of a piece; nil when there is nothing to say.
func textItem(role core.Role, p piece) []item {
	note := core.ContextPart{Kind: p.kind, Label: p.label, Form: p.form}
	if p.form == formLeftOut {
		note.Bytes = p.size
		return []item{{note: note}}
	}
	if p.text == "" {
		return nil
	}
	note.Bytes, note.Tokens = len(p.text), tokens(p.text)+withMargin(frameTokens)
	return []item{{role: role, part: &core.Part{Type: core.PartText, Text: p.text}, note: note}}
}

func cost(items []item) int {
	n := 0
	for _, it := range items {
		n += it.note.Tokens
	}
	return n
}

// contextBuilder makes one context. What it is made of does not change; what of
// it is sent is a plan's to say.
type contextBuilder struct {
	t       core.Task
	doc     *document
	canRead bool
	specs   []core.ToolSpec
	// earlier are the exchanges before this run, now is this run's.
	earlier []*exchange
	now     *exchange
	// size is what the model takes and avail what of it is there for messages.
	size, reserve, avail int
	system, tools        core.ContextPart
	// docs remembers what the document comes to within a limit.
	docs map[int][]item
}

// buildContext makes the request of a step and says what it holds. It depends
// on its arguments only. Size is how many tokens there are; 0 means that it is
// not known. The fault is context_too_long when the task, the tools and the
// rest of what cannot be left out do not fit.
func buildContext(t core.Task, h core.History, step, size int) (core.Request, core.ContextReport, error) {
	b, err := newContextBuilder(t, h, size)
	if err != nil {
		return core.Request{}, core.ContextReport{}, err
	}
	p, err := b.fit()
	if err != nil {
		return core.Request{}, core.ContextReport{}, err
	}
	return b.request(p, step)
}

func newContextBuilder(t core.Task, h core.History, size int) (*contextBuilder, error) {
	b := &contextBuilder{t: t, size: size, docs: map[int][]item{}}
	if b.size <= 0 {
		b.size = assumedSize
	}
	b.reserve = reserveFor(b.size, t.MaxOutputTokens)
	b.specs = t.Tools.Specs(t.Allowed)
	if len(b.specs) == 0 {
		b.specs = nil
	}
	b.canRead = slices.Contains(t.Allowed, core.ToolGetActiveDocument)
	b.doc = newDocument(t.Snapshot, h.Session.WorkspaceID)
	system := systemPrompt(t)
	b.system = core.ContextPart{Kind: "system", Form: formWhole, Bytes: len(system), Tokens: tokens(system) + withMargin(frameTokens)}
	b.tools = core.ContextPart{Kind: "tools", Label: strconv.Itoa(len(b.specs)), Form: formWhole}
	b.tools.Bytes, b.tools.Tokens = toolTokens(b.specs)
	b.avail = b.size - b.reserve - b.system.Tokens - b.tools.Tokens
	b.earlier, b.now = exchanges(t, h)
	if b.now == nil || len(b.now.asked) == 0 {
		return nil, &fault.Error{Code: fault.Internal, Op: "build context", Detail: "no task"}
	}
	return b, nil
}

// document is what is given of the document within a limit of tokens.
func (b *contextBuilder) document(limit int) []item {
	if b.doc == nil {
		return nil
	}
	if have, ok := b.docs[limit]; ok {
		return have
	}
	items := []item{}
	for _, p := range b.doc.pieces(limit, b.canRead) {
		items = append(items, textItem(core.RoleUser, p)...)
	}
	b.docs[limit] = items
	return items
}

// items are all parts of a plan in the order in which they are sent.
func (b *contextBuilder) items(p plan) []item {
	var all []item
	if dropped := b.earlier[:p.dropped]; len(dropped) > 0 {
		all = append(all, summarise(summaryOfEarlier, dropped, p.listing)...)
	}
	for _, e := range b.earlier[p.dropped:] {
		all = append(all, e.asked...)
		for _, t := range e.turns {
			all = append(all, t.items(p)...)
		}
		all = append(all, e.end...)
	}
	all = append(all, b.document(p.doc)...)
	all = append(all, b.now.before...)
	if p.folded > 0 {
		folded := &exchange{turns: b.now.turns[:p.folded]}
		all = append(all, summarise(summaryOfRun, []*exchange{folded}, p.listing)...)
	}
	all = append(all, b.now.asked...)
	for _, t := range b.now.turns[p.folded:] {
		all = append(all, t.items(p)...)
	}
	return all
}

// request puts a plan into a request.
func (b *contextBuilder) request(p plan, step int) (core.Request, core.ContextReport, error) {
	items := b.items(p)
	req := core.Request{
		Model: b.t.Run.Model.Model, System: systemPrompt(b.t), Messages: messages(items), Tools: b.specs,
	}
	report := core.ContextReport{
		RunID: b.t.Run.ID, Step: step, Size: b.t.ContextTokens, Reserve: b.reserve, Basis: basis,
		Parts: []core.ContextPart{b.system}, Degraded: b.degraded(p),
	}
	if b.size < report.Size {
		report.Size = b.size
	}
	if len(b.specs) > 0 {
		report.Parts = append(report.Parts, b.tools)
	}
	for _, it := range items {
		report.Parts = append(report.Parts, it.note)
	}
	for _, part := range report.Parts {
		report.Tokens += part.Tokens
	}
	req.PromptTokensEstimate = report.Tokens * 100 / (100 + marginPercent)
	report.Parts = append(report.Parts, core.ContextPart{Kind: "answer_reserve", Form: formLeftOut, Tokens: b.reserve})
	return req, report, nil
}

// messages groups items that one side says in a row. A provider's id of a call
// is kept only where no other call of the request has it.
func messages(items []item) []core.Message {
	var all []core.Message
	ids := map[string]core.ToolCallID{}
	for _, it := range items {
		if it.part == nil {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Role != it.role {
			all = append(all, core.Message{Role: it.role})
		}
		part := *it.part
		if id := part.ProviderCallID; id != "" {
			if owner, taken := ids[id]; taken && owner != part.ToolCallID {
				part.ProviderCallID = ""
			} else {
				ids[id] = part.ToolCallID
			}
		}
		m := &all[len(all)-1]
		m.Parts = append(m.Parts, part)
	}
	return all
}

// degraded reports whether opaque data of another provider is among what is
// sent: the dialect leaves it out.
func (b *contextBuilder) degraded(p plan) bool {
	// The origins that answers of this run's model came from.
	own := map[string]bool{}
	all := append(slices.Clone(b.earlier[p.dropped:]), b.now)
	for _, e := range all {
		if e.run.Model == b.t.Run.Model {
			for _, env := range e.envelopes {
				own[env.Dialect+" "+env.Origin] = true
			}
		}
	}
	for _, e := range all {
		for _, env := range e.envelopes {
			other := len(own) > 0 && !own[env.Dialect+" "+env.Origin]
			if e.run.Model.ProviderID != b.t.Run.Model.ProviderID || other {
				return true
			}
		}
	}
	return false
}

// tooLong is the fault of a context that cannot be made to fit.
func tooLong(need, have int) error {
	return &fault.Error{
		Code: fault.ContextTooLong, Op: "build context",
		Detail: fmt.Sprintf("%d > %d tokens (+%d)", need, have, need-have),
	}
}
