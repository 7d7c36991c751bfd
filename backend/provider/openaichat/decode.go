package openaichat

import (
	"bytes"
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
	names    dialect.Names
	estimate int
	model    string
	optional []string
	onDelta  func(core.Delta)
	red      *provider.Redactor

	raw       strings.Builder // the text as it came, thinking tags and all
	reasoning strings.Builder // from fields of their own
	content   strings.Builder // reasoning_content alone, to go back as it came
	refusal   strings.Builder
	details   []dialect.Fields
	extra     json.RawMessage
	calls     calls
	usage     core.Usage
	choice    string // index of the choice that is read
	hasChoice bool

	reason   string // finish_reason
	finished bool
	started  bool

	think thinkFilter
	shown [2]dialect.Speaker // text, reasoning
}

func newDecoder(p provider.Profile, req core.Request, names dialect.Names, onDelta func(core.Delta)) *decoder {
	return &decoder{
		profile: p, names: names, estimate: req.PromptTokensEstimate,
		model: req.Model, onDelta: onDelta,
		usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// Begin implements provider.Decoder.
func (d *decoder) Begin(r *provider.Redactor) {
	d.red = r
	d.shown = dialect.Speakers(r, d.onDelta)
}

// Optional tells package provider what may be refused.
func (d *decoder) Optional() []string { return d.optional }

// Started implements provider.Decoder.
func (d *decoder) Started() bool { return d.started }

// Finished implements provider.Decoder.
func (d *decoder) Finished() bool { return d.finished }

// Done implements provider.Decoder.
func (d *decoder) Done() { d.finished = true }

// Event implements provider.Decoder.
func (d *decoder) Event(ev provider.Event) error {
	chunk, err := dialect.Event(ev)
	if chunk == nil {
		return err
	}
	choices := dialect.List(chunk["choices"])
	if !dialect.IsNull(chunk["error"]) || len(choices) == 0 {
		lenient := dialect.NamesError(ev) && chunk["choices"] == nil
		if api, ok := provider.ParseError(ev.Data, lenient); ok {
			return api
		}
	}
	return d.read(ev.Data, chunk, choices, "delta")
}

// Whole implements provider.Decoder.
func (d *decoder) Whole(data []byte) error {
	if api, ok := provider.ParseError(data, false); ok {
		return api
	}
	var answer dialect.Fields
	if json.Unmarshal(data, &answer) != nil {
		return provider.ErrNotAnAnswer
	}
	choices := dialect.List(answer["choices"])
	if len(choices) == 0 || dialect.Object(dialect.Object(choices[0])["message"]) == nil {
		return provider.ErrNotAnAnswer
	}
	if err := d.read(data, answer, choices, "message"); err != nil {
		return err
	}
	d.finished = true
	return nil
}

// read takes in a chunk, or a whole answer, whose choices carry their content
// in the field of that name.
func (d *decoder) read(data []byte, chunk dialect.Fields, choices []json.RawMessage, field string) error {
	finished := d.finished
	for _, raw := range choices {
		choice := dialect.Object(raw)
		if !dialect.IsNull(choice["error"]) && !finished {
			if api, ok := provider.ParseError(data, false); ok {
				return api
			}
		}
		if u, ok := usageOf(choice["usage"]); ok {
			d.usage = u
		}
		// One answer was asked for; a second one beside it is not mixed in.
		index := dialect.Index(choice["index"])
		if !d.hasChoice {
			d.choice, d.hasChoice = index, true
		}
		if index != d.choice && index != "" || finished {
			continue
		}
		d.message(dialect.Object(choice[field]), field == "message")
		switch reason := dialect.Str(choice["finish_reason"]); reason {
		case "":
		case "error":
			return &provider.APIError{Type: "finish_reason", Message: reason}
		case "insufficient_system_resource":
			return &provider.APIError{Code: reason}
		default:
			d.reason, d.finished = reason, true
		}
	}
	// The last word wins.
	if u, ok := usageOf(chunk["usage"]); ok {
		d.usage = u
	}
	return nil
}

// message takes in a delta or a whole message.
func (d *decoder) message(m dialect.Fields, whole bool) {
	d.readReasoning(m)
	d.readContent(m["content"])
	if s := dialect.Str(m["refusal"]); s != "" {
		d.started = true
		d.refusal.WriteString(s)
	}
	for _, raw := range dialect.List(m["tool_calls"]) {
		entry := dialect.Object(raw)
		if entry == nil {
			continue
		}
		d.started = true
		if whole {
			d.calls.addWhole(entry)
		} else {
			d.calls.add(entry)
			if d.calls.current.args.Len() > 0 {
				crash.At("mid_tool_args")
			}
		}
	}
	if extra := m["extra_content"]; !dialect.IsNull(extra) {
		d.extra = bytes.Clone(extra)
	}
}

// readReasoning takes thinking from whichever fields of one delta hold it; they
// say the same (decision 17).
func (d *decoder) readReasoning(m dialect.Fields) {
	content := dialect.Str(m["reasoning_content"])
	d.content.WriteString(content)
	var details []dialect.Fields
	fromDetails := ""
	for _, raw := range dialect.List(m["reasoning_details"]) {
		detail := dialect.Object(raw)
		if detail == nil {
			continue
		}
		fromDetails += dialect.Str(detail["text"]) + dialect.Str(detail["summary"])
		details = append(details, detail)
	}
	d.details = addDetails(d.details, details)
	for _, s := range []string{content, dialect.Str(m["reasoning"]), fromDetails} {
		if s != "" {
			d.addReasoning(s)
			return
		}
	}
}

// readContent takes a text, or a list of parts as Mistral sends it.
func (d *decoder) readContent(raw json.RawMessage) {
	if s := dialect.Str(raw); s != "" {
		d.addText(s)
		return
	}
	for _, item := range dialect.List(raw) {
		part := dialect.Object(item)
		switch dialect.Str(part["type"]) {
		case "text":
			d.addText(dialect.Str(part["text"]))
		case "thinking":
			if s := dialect.Str(part["thinking"]); s != "" {
				d.addReasoning(s)
			}
			for _, inner := range dialect.List(part["thinking"]) {
				d.addReasoning(dialect.Str(dialect.Object(inner)["text"]))
			}
		}
	}
}

func (d *decoder) addText(s string) {
	if s == "" {
		return
	}
	d.started = true
	d.raw.WriteString(s)
	thinking, text := "", s
	if d.profile.Think {
		thinking, text = d.think.add(s)
	}
	d.shown[1].Add(thinking)
	d.shown[0].Add(text)
}

func (d *decoder) addReasoning(s string) {
	if s == "" {
		return
	}
	d.started = true
	d.reasoning.WriteString(s)
	d.shown[1].Add(s)
}

// partial returns what had come of an answer that failed: no calls.
func (d *decoder) partial() core.Answer {
	if d.red == nil {
		return core.Answer{} // it failed before anything was sent
	}
	thinking, text := d.think.flush()
	d.shown[1].Add(thinking)
	d.shown[1].Flush()
	d.shown[0].Add(text)
	d.shown[0].Flush()

	text, reasoning := d.raw.String(), d.reasoning.String()
	if d.profile.Think {
		thinking, text = splitThink(text)
		reasoning += thinking
	}
	return core.Answer{
		Text: d.red.Text(text), Reasoning: d.red.Text(reasoning),
		Usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// answer returns the whole answer (decisions 10 and 11).
func (d *decoder) answer(origin string) core.Answer {
	a := d.partial()
	a.Refusal = d.red.Text(d.refusal.String())
	a.Usage = d.usage
	a.Clipped = d.profile.Local && dialect.Clipped(d.usage, d.estimate)
	calls, callExtra := d.calls.answer(d.names, d.red)
	switch d.reason {
	case "length", "model_length", "max_tokens":
		a.Finish = core.FinishMaxTokens
	case "content_filter":
		a.Finish = core.FinishContentFilter
	default:
		// What came decides, not the word.
		a.Finish = core.FinishEndTurn
		if len(calls) > 0 {
			a.Finish, a.Calls = core.FinishToolCalls, calls
		}
	}
	if strings.TrimSpace(a.Refusal) != "" {
		a.Finish, a.Calls = core.FinishRefusal, nil
	}
	if a.Calls == nil {
		callExtra = nil
	}
	k := kept{ReasoningDetails: d.details, Extra: d.extra, CallExtra: callExtra}
	if a.Calls != nil {
		k.ReasoningContent = d.content.String()
	}
	if !k.empty() {
		a.Envelopes = dialect.Seal(provider.Chat, origin, k, d.red)
	}
	return a
}
