package openairesponses

import (
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// decoder puts one answer together. It implements provider.Decoder.
type decoder struct {
	profile  provider.Profile
	sent     sent
	estimate int
	onDelta  func(core.Delta)
	red      *provider.Redactor

	items items
	usage core.Usage

	reason   string // why the answer is incomplete
	cut      bool   // it is
	finished bool
	started  bool

	shown   [2]dialect.Speaker // text, reasoning
	thought bool               // some reasoning was said
}

func newDecoder(p provider.Profile, req core.Request, s sent, onDelta func(core.Delta)) *decoder {
	return &decoder{
		profile: p, sent: s, estimate: req.PromptTokensEstimate, onDelta: onDelta,
		usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// Optional returns the names of the optional parameters that were sent, so that
// a refusal of one can be told from that of something else.
func (d *decoder) Optional() []string { return d.sent.optional }

// Begin implements provider.Decoder.
func (d *decoder) Begin(r *provider.Redactor) {
	d.red = r
	d.shown = dialect.Speakers(r, d.onDelta)
}

// Started implements provider.Decoder.
func (d *decoder) Started() bool { return d.started }

// Finished implements provider.Decoder.
func (d *decoder) Finished() bool { return d.finished }

// Done implements provider.Decoder. It is no end of an answer in this dialect
// (decision 8).
func (d *decoder) Done() {}

// Event implements provider.Decoder.
func (d *decoder) Event(ev provider.Event) error {
	m, err := dialect.Event(ev)
	if m == nil {
		return err
	}
	typ := dialect.Str(m["type"])
	if typ == "" {
		typ = ev.Name
	}
	if err := failure(ev, typ, m); err != nil {
		return err
	}
	if u, ok := usageOf(m["usage"]); ok {
		d.usage = u
	}
	if d.finished {
		// Only usage can come after it.
		if u, ok := usageOf(dialect.Object(m["response"])["usage"]); ok {
			d.usage = u
		}
		return nil
	}
	return d.read(typ, m)
}

// failure returns what an event says of one; nil when it is another event
// (decision 24).
func failure(ev provider.Event, typ string, m dialect.Fields) error {
	ours := strings.HasPrefix(typ, "response.")
	named := typ == "error" || !ours && dialect.NamesError(ev)
	// The failure of a tool that the provider runs is none of the answer.
	toolFailed := ours && strings.HasSuffix(typ, ".failed") && typ != "response.failed"
	switch {
	case named:
		if api, ok := provider.ParseError(ev.Data, true); ok {
			return api
		}
		return &provider.APIError{Type: "error"}
	case !dialect.IsNull(m["error"]) && !toolFailed, !ours:
		if api, ok := provider.ParseError(ev.Data, false); ok {
			return api
		}
	}
	return nil
}

// read takes in an event of the dialect. Others say nothing.
func (d *decoder) read(typ string, m dialect.Fields) error {
	index := dialect.Index(m["output_index"])
	switch typ {
	case "response.output_item.added":
		if dialect.Object(m["item"]) != nil {
			d.items.added(m["item"], index)
		}
	case "response.output_item.done":
		if dialect.Object(m["item"]) != nil {
			d.caughtUp(d.items.finished(m["item"], index))
		}
	case "response.output_text.delta":
		d.piece(m, kindMessage, partText)
	case "response.output_text.done":
		d.wholePart(m, kindMessage, partText, dialect.Str(m["text"]))
	case "response.refusal.delta":
		d.piece(m, kindMessage, partRefusal)
	case "response.refusal.done":
		d.wholePart(m, kindMessage, partRefusal, dialect.Str(m["refusal"]))
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		d.piece(m, kindReasoning, partSummary)
	case "response.reasoning_summary_text.done", "response.reasoning_summary.done":
		d.wholePart(m, kindReasoning, partSummary, dialect.Str(m["text"]))
	case "response.reasoning_text.delta", "response.reasoning.delta":
		d.piece(m, kindReasoning, partThought)
	case "response.reasoning_text.done", "response.reasoning.done":
		d.wholePart(m, kindReasoning, partThought, dialect.Str(m["text"]))
	case "response.content_part.added", "response.content_part.done", "response.reasoning_summary_part.done":
		d.namedPart(m, strings.HasSuffix(typ, ".done"))
	case "response.function_call_arguments.delta":
		if it := d.item(kindCall, m); it != nil && !it.done {
			d.arguments(it, m["delta"])
		}
	case "response.function_call_arguments.done":
		if it := d.item(kindCall, m); it != nil && !it.done {
			it.argument(m["arguments"])
			if it.name == "" {
				it.name = dialect.Str(m["name"])
			}
			d.started = d.started || it.args.Len() > 0
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return d.end(strings.TrimPrefix(typ, "response."), dialect.Object(m["response"]))
	}
	return nil
}

// item returns the item that an event is about.
func (d *decoder) item(k kind, m dialect.Fields) *item {
	return d.items.find(k, dialect.Str(m["item_id"]), dialect.Index(m["output_index"]))
}

// keyOf returns the index of a part: the two kinds of thinking count apart.
func keyOf(m dialect.Fields, k partKind) string {
	if k == partSummary {
		return dialect.Index(m["summary_index"])
	}
	return dialect.Index(m["content_index"])
}

// piece takes a piece of a text.
func (d *decoder) piece(m dialect.Fields, k kind, pk partKind) {
	text := dialect.Str(m["delta"])
	if text == "" {
		text = dialect.Str(dialect.Object(m["delta"])["text"])
	}
	if text == "" {
		return
	}
	it := d.item(k, m)
	if it == nil || it.done {
		return
	}
	p := it.part(pk, keyOf(m, pk))
	if p == nil || p.done {
		return
	}
	d.started = true
	if p.text.Len() == 0 && it.shown.Len() > 0 && k == kindReasoning && apart(it.before(p), p) {
		d.say(it, "\n\n")
	}
	p.text.WriteString(text)
	if pk != partRefusal {
		d.say(it, text)
	}
}

// wholePart takes a text that is whole.
func (d *decoder) wholePart(m dialect.Fields, k kind, pk partKind, text string) {
	if text == "" {
		return
	}
	it := d.item(k, m)
	if it == nil || it.done {
		return
	}
	if p := it.part(pk, keyOf(m, pk)); p != nil {
		p.set(text)
		p.done = true
	}
	d.caughtUp(it)
}

// namedPart takes the beginning or the end of a part whose kind is told by its
// type, within an item whose kind is known or told by it.
func (d *decoder) namedPart(m dialect.Fields, whole bool) {
	object := dialect.Object(m["part"])
	for _, k := range []kind{kindMessage, kindReasoning} {
		pk, text := partKindOf(k, object)
		if pk == partOther || dialect.Str(object["type"]) == "text" && k == kindReasoning {
			continue
		}
		if whole {
			d.wholePart(m, k, pk, text)
		}
		return
	}
	// A part that is not read, so that no text that comes for it is either.
	if it := d.item(kindMessage, m); it != nil && !whole && object != nil {
		it.parts = append(it.parts, &part{kind: partOther, key: keyOf(m, partOther)})
	}
}

// arguments takes a piece of the arguments of a call.
func (d *decoder) arguments(it *item, raw json.RawMessage) {
	text := argumentText(raw)
	if text == "" {
		return
	}
	if it.prefilled {
		it.args.Reset()
		it.prefilled = false
	}
	d.started = true
	it.args.WriteString(text)
	crash.At("mid_tool_args")
}

// before returns the part before p that says something; p itself for none.
func (it *item) before(p *part) *part {
	last := p
	for _, q := range it.parts {
		if q == p {
			break
		}
		if q.text.Len() > 0 {
			last = q
		}
	}
	return last
}

// say shows more of an item. What is thought in items apart is apart.
func (d *decoder) say(it *item, text string) {
	if text == "" {
		return
	}
	d.started = true
	first := it.shown.Len() == 0
	it.shown.WriteString(text)
	if it.kind != kindReasoning {
		d.shown[0].Add(text)
		return
	}
	if first && d.thought {
		text = "\n\n" + text
	}
	d.thought = true
	d.shown[1].Add(text)
}

// caughtUp shows what of an item that became whole was not shown. What was shown
// and is something else now cannot be taken back.
func (d *decoder) caughtUp(it *item) {
	if rest, ok := strings.CutPrefix(it.visible(), it.shown.String()); ok {
		d.say(it, rest)
	}
	d.started = d.started || it.args.Len() > 0 || it.text(partRefusal) != "" || sealed(it.raw)
}

// end takes the last event, or a whole answer: word says how it ended.
func (d *decoder) end(word string, response dialect.Fields) error {
	if status := dialect.Str(response["status"]); word == "completed" && status != "" {
		word = status
	}
	if !dialect.IsNull(response["error"]) {
		// The rest of the response may look like an error too.
		raw, err := dialect.Marshal(dialect.Fields{"error": response["error"]})
		if api, ok := provider.ParseError(raw, false); ok && err == nil {
			return api
		}
	}
	reason := dialect.Str(dialect.Object(response["incomplete_details"])["reason"])
	switch word {
	case "failed", "cancelled":
		return &provider.APIError{Type: "response." + word}
	case "in_progress", "queued":
		return nil
	}
	d.reason, d.cut = reason, word == "incomplete" || reason != ""
	for _, it := range d.items.merge(dialect.List(response["output"])) {
		d.caughtUp(it)
	}
	if u, ok := usageOf(response["usage"]); ok {
		d.usage = u
	}
	d.finished = true
	return nil
}

// Whole implements provider.Decoder.
func (d *decoder) Whole(data []byte) error {
	if api, ok := provider.ParseError(data, false); ok {
		return api
	}
	response := dialect.Object(data)
	if response == nil {
		return provider.ErrNotAnAnswer
	}
	ours := dialect.Str(response["object"]) == "response"
	for _, raw := range dialect.List(response["output"]) {
		ours = ours || kindOf(dialect.Object(raw)) != kindOther
	}
	if !ours {
		return provider.ErrNotAnAnswer
	}
	return d.end("completed", response)
}

// partial returns what had come of an answer that failed: no calls.
func (d *decoder) partial() core.Answer {
	if d.red == nil {
		return core.Answer{} // it failed before anything was sent
	}
	d.shown[1].Flush()
	d.shown[0].Flush()
	var text strings.Builder
	var thoughts []string
	for _, it := range d.items.all {
		switch it.kind {
		case kindMessage:
			text.WriteString(it.text(partText))
		case kindReasoning:
			if s := it.thinking(); s != "" {
				thoughts = append(thoughts, s)
			}
		case kindCall, kindOther:
		}
	}
	return core.Answer{
		Text: d.red.Text(text.String()), Reasoning: d.red.Text(strings.Join(thoughts, "\n\n")),
		Usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// answer returns the whole answer (decisions 10 and 11).
func (d *decoder) answer(origin string) core.Answer {
	a := d.partial()
	var refusal strings.Builder
	for _, it := range d.items.all {
		refusal.WriteString(it.text(partRefusal))
	}
	a.Refusal = d.red.Text(refusal.String())
	a.Usage = d.usage
	a.Clipped = d.profile.Local && dialect.Clipped(d.usage, d.estimate)
	calls, k := d.items.answer(d.sent.names, d.red)
	switch {
	case strings.TrimSpace(a.Refusal) != "":
		a.Finish = core.FinishRefusal
	case d.cut && isFilter(d.reason):
		a.Finish = core.FinishContentFilter
	case d.cut:
		// Whatever the reason is called, the answer is not all there is.
		a.Finish = core.FinishMaxTokens
	case len(calls) > 0:
		// What came decides, not the word.
		a.Finish, a.Calls = core.FinishToolCalls, calls
	default:
		a.Finish = core.FinishEndTurn
	}
	if k.needed() {
		a.Envelopes = dialect.Seal(provider.Responses, origin, k, d.red)
	}
	return a
}

// isFilter reports whether a reason says that a filter cut the answer.
func isFilter(reason string) bool {
	switch strings.ToUpper(reason) {
	case "CONTENT_FILTER", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII":
		return true
	}
	return false
}

// usageOf reads a usage object (decisions 19 and 20). It reports false when the
// object counts nothing.
func usageOf(raw json.RawMessage) (core.Usage, bool) {
	m := dialect.Object(raw)
	input, hasInput := dialect.Count(m["input_tokens"])
	output, hasOutput := dialect.Count(m["output_tokens"])
	if !hasInput && !hasOutput {
		return core.Usage{}, false
	}
	u := core.Usage{Kind: core.UsageExact, Input: input, Output: output}
	u.Cached, _ = dialect.Count(dialect.Object(m["input_tokens_details"])["cached_tokens"])
	u.Reasoning, _ = dialect.Count(dialect.Object(m["output_tokens_details"])["reasoning_tokens"])
	// Where the total says so, thinking is not within the output (xAI).
	total, _ := dialect.Count(m["total_tokens"])
	if u.Reasoning > 0 && total == input+output+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u, true
}
