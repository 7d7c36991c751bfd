package gemini

import (
	"encoding/json"
	"io"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// decoder puts one answer together. It implements provider.Decoder.
type decoder struct {
	profile  provider.Profile
	names    dialect.Names
	optional []string
	estimate int
	model    string
	onDelta  func(core.Delta)
	red      *provider.Redactor

	text, reasoning strings.Builder
	parts           parts
	calls           calls
	usage           core.Usage
	candidate       string // index of the candidate that is read; empty for none yet

	reason   string // finishReason, in upper case
	finished bool
	started  bool

	shown [2]dialect.Speaker // text, reasoning
}

func newDecoder(p provider.Profile, req core.Request, r encoded, onDelta func(core.Delta)) *decoder {
	return &decoder{
		profile: p, names: r.names, optional: r.optional,
		estimate: req.PromptTokensEstimate, model: req.Model, onDelta: onDelta,
		usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// Begin implements provider.Decoder.
func (d *decoder) Begin(r *provider.Redactor) {
	d.red = r
	d.shown = dialect.Speakers(r, d.onDelta)
}

// Started implements provider.Decoder.
func (d *decoder) Started() bool { return d.started }

// Finished implements provider.Decoder.
func (d *decoder) Finished() bool { return d.finished }

// Done implements provider.Decoder.
func (d *decoder) Done() { d.finished = true }

// Optional returns the optional parameters that were sent, by their names on
// the wire, those within another before it.
func (d *decoder) Optional() []string { return d.optional }

// Event implements provider.Decoder.
func (d *decoder) Event(ev provider.Event) error {
	named := dialect.NamesError(ev)
	if !json.Valid(ev.Data) {
		return dialect.Plain(ev)
	}
	if ev.Data[0] != '[' {
		return d.read(ev.Data, named)
	}
	for _, item := range dialect.List(ev.Data) {
		if err := d.read(item, named); err != nil && !d.finished {
			return err
		}
	}
	return nil
}

// Whole implements provider.Decoder: one answer, or the list of those that a
// stream would have had. It returns io.ErrUnexpectedEOF for an answer that the
// provider never called whole.
func (d *decoder) Whole(data []byte) error {
	items := []json.RawMessage{data}
	if list := dialect.List(data); list != nil {
		items = list
	}
	answers := false
	for _, item := range items {
		if err := d.read(item, false); err != nil && !d.finished {
			return err
		}
		answers = answers || len(dialect.List(dialect.Object(item)["candidates"])) > 0
	}
	switch {
	case !answers:
		return provider.ErrNotAnAnswer
	case !d.finished:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// read takes in one answer of a stream.
func (d *decoder) read(data json.RawMessage, named bool) error {
	chunk := dialect.Object(data)
	candidates := dialect.List(chunk["candidates"])
	if !dialect.IsNull(chunk["error"]) || len(candidates) == 0 {
		lenient := named && chunk["candidates"] == nil
		if api, ok := provider.ParseError(data, lenient); ok {
			return api
		}
	}
	if err := blocked(chunk["promptFeedback"]); err != nil && !d.finished {
		return err
	}
	// The last word wins, also when it comes after the finish.
	if u, ok := usageOf(chunk["usageMetadata"]); ok {
		d.usage = u
	}
	for _, raw := range candidates {
		c := dialect.Object(raw)
		if c == nil {
			continue
		}
		if !dialect.IsNull(c["error"]) {
			if api, ok := provider.ParseError(raw, false); ok {
				return api
			}
		}
		// One answer was asked for; a second one beside it is not mixed in.
		index := dialect.Index(c["index"])
		if index == "" {
			index = "0" // zeros are left out
		}
		if d.candidate == "" {
			d.candidate = index
		}
		if index != d.candidate || d.finished {
			continue
		}
		for _, p := range dialect.List(dialect.Object(c["content"])["parts"]) {
			d.part(p)
		}
		if err := d.end(dialect.Str(c["finishReason"])); err != nil {
			return err
		}
	}
	return nil
}

// blocked returns the error of a prompt that was blocked, nil for one that was
// not.
func blocked(feedback json.RawMessage) error {
	f := dialect.Object(feedback)
	switch reason := dialect.Str(f["blockReason"]); reason {
	case "", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED":
		return nil
	default:
		// The code is what all dialects know it by.
		return &provider.APIError{Type: reason, Code: "content_filter", Message: dialect.Str(f["blockReasonMessage"])}
	}
}

// part takes in a part of the content.
func (d *decoder) part(raw json.RawMessage) {
	f := dialect.Object(raw)
	if f == nil {
		return
	}
	if s := dialect.Str(f["text"]); s != "" {
		d.started = true
		if string(f["thought"]) == "true" {
			d.reasoning.WriteString(s)
			d.shown[1].Add(s)
		} else {
			d.text.WriteString(s)
			d.shown[0].Add(s)
		}
	}
	var k *call
	first := false
	if function := dialect.Object(f["functionCall"]); function != nil {
		k, first = d.calls.add(function)
		d.started = d.started || k != nil
	}
	d.parts.add(raw, f, k, first)
}

// end takes in a finishReason. What the model wrote when a call went wrong is
// not quoted: it may be the person's text.
func (d *decoder) end(reason string) error {
	switch word := strings.ToUpper(reason); word {
	case "", "FINISH_REASON_UNSPECIFIED":
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return &provider.APIError{Type: reason}
	default:
		d.reason, d.finished = word, true
	}
	return nil
}

// partial returns what had come of an answer that failed: no calls.
func (d *decoder) partial() core.Answer {
	if d.red == nil {
		return core.Answer{} // it failed before anything was sent
	}
	d.shown[1].Flush()
	d.shown[0].Flush()
	return core.Answer{
		Text: d.red.Text(d.text.String()), Reasoning: d.red.Text(d.reasoning.String()),
		Usage: core.Usage{Kind: core.UsageUnknown},
	}
}

// answer returns the whole answer (decisions 10 and 11).
func (d *decoder) answer(origin string) core.Answer {
	a := d.partial()
	a.Usage = d.usage
	a.Clipped = d.profile.Local && dialect.Clipped(d.usage, d.estimate)
	switch d.reason {
	case "MAX_TOKENS", "LENGTH", "MODEL_LENGTH", "MAX_OUTPUT_TOKENS", "MODEL_CONTEXT_WINDOW_EXCEEDED",
		"CONTINUATION": // the most of one request; a further one would go on
		a.Finish = core.FinishMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "CONTENT_FILTER",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
		"MODEL_ARMOR": //nolint:misspell // the word of the wire
		a.Finish = core.FinishContentFilter
	default:
		// What came decides, not the word.
		a.Finish = core.FinishEndTurn
		if calls := d.calls.answer(d.names, d.red); len(calls) > 0 {
			a.Finish, a.Calls = core.FinishToolCalls, calls
		}
	}
	if d.parts.opaque {
		if parts := d.parts.sealed(a.Calls != nil, d.red); len(parts) > 0 {
			a.Envelopes = dialect.Seal(provider.Gemini, origin, kept{Model: d.model, Parts: parts}, d.red)
		}
	}
	return a
}
