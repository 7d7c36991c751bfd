package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/provider"
)

var errNotJSON = errors.New("an event that is no JSON")

// decoder puts one answer together. It implements provider.Decoder.
type decoder struct {
	profile  provider.Profile
	names    map[string]string // tool names of the wire to ours
	estimate int
	model    string
	onDelta  func(core.Delta)
	red      *provider.Redactor

	raw       strings.Builder // the text as it came, thinking tags and all
	reasoning strings.Builder // from fields of their own
	content   strings.Builder // reasoning_content alone, to go back as it came
	refusal   strings.Builder
	details   []map[string]json.RawMessage
	extra     json.RawMessage
	calls     calls
	usage     core.Usage
	choice    string // index of the choice that is read
	hasChoice bool

	reason   string // finish_reason
	finished bool
	started  bool

	think thinkFilter
	shown [2]speaker // text, reasoning
}

func newDecoder(p provider.Profile, req core.Request, names map[string]string, onDelta func(core.Delta)) *decoder {
	return &decoder{
		profile: p, names: names, estimate: req.PromptTokensEstimate,
		model: req.Model, onDelta: onDelta,
		usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// Begin implements provider.Decoder.
func (d *decoder) Begin(r *provider.Redactor) {
	d.red = r
	d.shown[0] = speaker{red: r, say: func(s string) { d.onDelta(core.Delta{Text: s}) }}
	d.shown[1] = speaker{red: r, say: func(s string) { d.onDelta(core.Delta{Reasoning: s}) }}
}

// Started implements provider.Decoder.
func (d *decoder) Started() bool { return d.started }

// Finished implements provider.Decoder.
func (d *decoder) Finished() bool { return d.finished }

// Done implements provider.Decoder.
func (d *decoder) Done() { d.finished = true }

// Event implements provider.Decoder.
func (d *decoder) Event(ev provider.Event) error {
	named := ev.Error || ev.Name == "error"
	var chunk map[string]json.RawMessage
	if err := json.Unmarshal(ev.Data, &chunk); err != nil {
		if json.Valid(ev.Data) {
			// Some other JSON: an error in a list, or nothing of ours.
			if api, ok := provider.ParseError(ev.Data, named); ok {
				return api
			}
			return nil
		}
		if named && ev.Data[0] != '{' && ev.Data[0] != '[' {
			return &provider.APIError{Message: string(ev.Data)}
		}
		return errNotJSON
	}
	choices := list(chunk["choices"])
	if !isNull(chunk["error"]) || len(choices) == 0 {
		lenient := named && chunk["choices"] == nil
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
	var answer map[string]json.RawMessage
	if json.Unmarshal(data, &answer) != nil {
		return provider.ErrNotAnAnswer
	}
	choices := list(answer["choices"])
	if len(choices) == 0 || object(object(choices[0])["message"]) == nil {
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
func (d *decoder) read(data []byte, chunk map[string]json.RawMessage, choices []json.RawMessage, field string) error {
	finished := d.finished
	for _, raw := range choices {
		choice := object(raw)
		if !isNull(choice["error"]) && !finished {
			if api, ok := provider.ParseError(data, false); ok {
				return api
			}
		}
		if u, ok := usageOf(choice["usage"]); ok {
			d.usage = u
		}
		// One answer was asked for; a second one beside it is not mixed in.
		index := indexOf(choice["index"])
		if !d.hasChoice {
			d.choice, d.hasChoice = index, true
		}
		if index != d.choice && index != "" || finished {
			continue
		}
		d.message(object(choice[field]), field == "message")
		switch reason := str(choice["finish_reason"]); reason {
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
func (d *decoder) message(m map[string]json.RawMessage, whole bool) {
	d.readReasoning(m)
	d.readContent(m["content"])
	if s := str(m["refusal"]); s != "" {
		d.started = true
		d.refusal.WriteString(s)
	}
	for _, raw := range list(m["tool_calls"]) {
		entry := object(raw)
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
	if extra := m["extra_content"]; !isNull(extra) {
		d.extra = bytes.Clone(extra)
	}
}

// readReasoning takes thinking from whichever fields of one delta hold it; they
// say the same (decision 17).
func (d *decoder) readReasoning(m map[string]json.RawMessage) {
	content := str(m["reasoning_content"])
	d.content.WriteString(content)
	var details []map[string]json.RawMessage
	fromDetails := ""
	for _, raw := range list(m["reasoning_details"]) {
		detail := object(raw)
		if detail == nil {
			continue
		}
		fromDetails += str(detail["text"]) + str(detail["summary"])
		details = append(details, detail)
	}
	d.details = addDetails(d.details, details)
	for _, s := range []string{content, str(m["reasoning"]), fromDetails} {
		if s != "" {
			d.addReasoning(s)
			return
		}
	}
}

// readContent takes a text, or a list of parts as Mistral sends it.
func (d *decoder) readContent(raw json.RawMessage) {
	if s := str(raw); s != "" {
		d.addText(s)
		return
	}
	for _, item := range list(raw) {
		part := object(item)
		switch str(part["type"]) {
		case "text":
			d.addText(str(part["text"]))
		case "thinking":
			if s := str(part["thinking"]); s != "" {
				d.addReasoning(s)
			}
			for _, inner := range list(part["thinking"]) {
				d.addReasoning(str(object(inner)["text"]))
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
	d.shown[1].add(thinking)
	d.shown[0].add(text)
}

func (d *decoder) addReasoning(s string) {
	if s == "" {
		return
	}
	d.started = true
	d.reasoning.WriteString(s)
	d.shown[1].add(s)
}

// partial returns what had come of an answer that failed: no calls.
func (d *decoder) partial() core.Answer {
	if d.red == nil {
		return core.Answer{} // it failed before anything was sent
	}
	thinking, text := d.think.flush()
	d.shown[1].add(thinking)
	d.shown[1].flush()
	d.shown[0].add(text)
	d.shown[0].flush()

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
	a.Clipped = d.profile.Local && clipped(d.usage, d.estimate)
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
	if raw, err := marshal(k); err == nil && !k.empty() {
		a.Envelopes = []core.Envelope{{
			V: 1, Dialect: dialect, Origin: origin, Raw: []byte(d.red.Text(string(raw))),
		}}
	}
	return a
}

// speaker passes text on, holding back what may be the beginning of a secret.
type speaker struct {
	red  *provider.Redactor
	say  func(string)
	held string
}

func (s *speaker) add(piece string) {
	if piece == "" {
		return
	}
	all := s.red.Text(s.held + piece)
	keep := s.red.Hold(all)
	s.held = all[len(all)-keep:]
	if all = all[:len(all)-keep]; all != "" {
		s.say(all)
	}
}

func (s *speaker) flush() {
	if s.held != "" {
		s.say(s.held)
		s.held = ""
	}
}
