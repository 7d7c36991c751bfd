package anthropic

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
	local    bool
	names    dialect.Names
	estimate int
	optional []string
	onDelta  func(core.Delta)
	red      *provider.Redactor

	blocks    blocks
	text      strings.Builder // in the order in which it came
	reasoning strings.Builder
	usage     usage

	reason   string // stop_reason
	begun    bool   // message_start came
	finished bool
	started  bool

	shown [2]dialect.Speaker // text, reasoning
}

func newDecoder(local bool, req core.Request, names dialect.Names, onDelta func(core.Delta)) *decoder {
	return &decoder{local: local, names: names, estimate: req.PromptTokensEstimate, onDelta: onDelta}
}

// Optional returns the names of the optional parameters that were sent.
func (d *decoder) Optional() []string { return d.optional }

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

// Event implements provider.Decoder.
func (d *decoder) Event(ev provider.Event) error {
	event, err := dialect.Event(ev)
	if event == nil {
		return err
	}
	// The name is a hint; the type decides when both are there.
	kind := dialect.Str(event["type"])
	if api := failure(ev.Data, event, kind, dialect.NamesError(ev)); api != nil {
		return api
	}
	if kind == "" {
		kind = ev.Name
	}
	return d.read(kind, event)
}

// failure returns the error that an event, or JSON in place of a stream, says;
// nil for none. named says that its name said so.
func failure(data []byte, event dialect.Fields, kind string, named bool) *provider.APIError {
	says := kind == "error" || strings.HasSuffix(kind, "_error")
	if named && !isEvent(kind) {
		says = true
	}
	if !says && dialect.IsNull(event["error"]) {
		return nil
	}
	if api, ok := provider.ParseError(data, says); ok {
		return api
	}
	if says {
		return &provider.APIError{Type: kind}
	}
	return nil
}

// isEvent reports whether kind is an event of the dialect that is no error.
func isEvent(kind string) bool {
	switch kind {
	case "message_start", "message_delta", "message_stop", "ping",
		"content_block_start", "content_block_delta", "content_block_stop":
		return true
	}
	return false
}

// read takes in an event. Unknown ones say nothing (decision 7).
func (d *decoder) read(kind string, event dialect.Fields) error {
	switch kind {
	case "message_start":
		// A repeated start changes nothing, but it can fill in what the first
		// left out.
		d.usage.read(dialect.Object(event["message"])["usage"], !d.begun)
		d.begun = true
	case "content_block_start":
		if !d.finished {
			d.open(dialect.Index(event["index"]), dialect.Object(event["content_block"]))
		}
	case "content_block_delta":
		if !d.finished {
			d.delta(dialect.Index(event["index"]), dialect.Object(event["delta"]))
		}
	case "message_delta":
		d.usage.read(event["usage"], true)
		return d.stop(dialect.Str(dialect.Object(event["delta"])["stop_reason"]))
	case "message_stop":
		d.usage.read(event["usage"], true)
		d.finished = true
	}
	return nil
}

// stop takes in the reason for which the answer ended. The first one counts.
func (d *decoder) stop(reason string) error {
	if reason == "" || d.reason != "" {
		return nil
	}
	if !d.finished {
		switch reason {
		case "error", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
			return &provider.APIError{Type: "stop_reason", Message: reason}
		case "insufficient_system_resource":
			return &provider.APIError{Code: reason}
		}
	}
	d.reason, d.finished = reason, true
	return nil
}

// Whole implements provider.Decoder.
func (d *decoder) Whole(data []byte) error {
	var answer dialect.Fields
	if json.Unmarshal(data, &answer) != nil {
		if api, ok := provider.ParseError(data, false); ok {
			return api
		}
		return provider.ErrNotAnAnswer
	}
	kind := dialect.Str(answer["type"])
	if api := failure(data, answer, kind, false); api != nil {
		return api
	}
	content := dialect.List(answer["content"])
	words := dialect.Str(answer["content"])
	if !isMessage(kind, answer) {
		// Some servers give an error no other mark than its words and code.
		if api, ok := provider.ParseError(data, false); ok {
			return api
		}
		return provider.ErrNotAnAnswer
	}
	if words != "" {
		d.addText(d.fitting(nil, "", blockText), words)
	}
	for _, raw := range content {
		d.open("", dialect.Object(raw))
	}
	d.usage.read(answer["usage"], true)
	if err := d.stop(dialect.Str(answer["stop_reason"])); err != nil {
		return err
	}
	d.finished = true
	return nil
}

// isMessage reports whether JSON of that type is an answer of the dialect, from
// servers that leave the type out too.
func isMessage(kind string, answer dialect.Fields) bool {
	content := answer["content"]
	if kind == "message" {
		return !dialect.IsNull(content) || !dialect.IsNull(answer["stop_reason"]) || !dialect.IsNull(answer["role"])
	}
	return kind == "" && !dialect.IsNull(content)
}

// open begins a block, whatever its index (decision 15).
func (d *decoder) open(index string, start dialect.Fields) {
	b := newBlock(index, start)
	d.blocks = append(d.blocks, b)
	switch b.kind {
	case blockText:
		d.addText(b, dialect.Str(start["text"]))
	case blockThinking:
		d.addThinking(b, dialect.Str(start["thinking"]))
		d.started = d.started || b.signature.Len() > 0
	case blockRedacted, blockCall:
		d.started = true
	case blockUnknown:
	}
}

// delta takes in a piece of a block.
func (d *decoder) delta(index string, delta dialect.Fields) {
	kind := dialect.Str(delta["type"])
	if kind == "" {
		kind = kindOf(delta)
	}
	b := d.blocks.under(index)
	if b != nil && b.kind == blockUnknown {
		return
	}
	switch kind {
	case "text_delta":
		if text := dialect.Str(delta["text"]); text != "" {
			d.addText(d.fitting(b, index, blockText), text)
		}
	case "thinking_delta":
		if text := dialect.Str(delta["thinking"]); text != "" {
			d.addThinking(d.fitting(b, index, blockThinking), text)
		}
	case "signature_delta":
		if s := dialect.Str(delta["signature"]); s != "" {
			d.fitting(b, index, blockThinking).signature.WriteString(s)
			d.started = true
		}
	case "input_json_delta":
		if b == nil {
			b = d.blocks.under("")
		}
		if b == nil || b.kind != blockCall {
			return // of no call that anybody named
		}
		b.addArgs(delta["partial_json"])
		d.started = true
		if b.args.Len() > 0 {
			crash.At("mid_tool_args")
		}
	}
}

// kindOf returns what a delta without a type is.
func kindOf(delta dialect.Fields) string {
	for _, k := range [...][2]string{
		{"text", "text_delta"},
		{"thinking", "thinking_delta"},
		{"signature", "signature_delta"},
		{"partial_json", "input_json_delta"},
	} {
		if !dialect.IsNull(delta[k[0]]) {
			return k[1]
		}
	}
	return ""
}

// fitting returns b, or where a delta of that kind cannot belong to it, the
// last block if that one fits, or else a block that nobody opened.
func (d *decoder) fitting(b *block, index string, kind blockKind) *block {
	if b != nil && b.kind == kind {
		return b
	}
	if last := d.blocks.under(""); last != nil && last.kind == kind {
		return last
	}
	fields := dialect.Fields{"type": json.RawMessage(`"text"`)}
	if kind == blockThinking {
		fields["type"] = json.RawMessage(`"thinking"`)
	}
	if b != nil {
		// It must not take the deltas of the block that was opened there.
		index = "stray " + index
	}
	stray := newBlock(index, fields)
	d.blocks = append(d.blocks, stray)
	return stray
}

func (d *decoder) addText(b *block, s string) {
	if s == "" {
		return
	}
	d.started = true
	b.text.WriteString(s)
	d.text.WriteString(s)
	d.shown[0].Add(s)
}

func (d *decoder) addThinking(b *block, s string) {
	if s == "" {
		return
	}
	d.started = true
	b.text.WriteString(s)
	d.reasoning.WriteString(s)
	d.shown[1].Add(s)
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
	a.Usage = d.usage.total()
	a.Clipped = d.local && dialect.Clipped(a.Usage, d.estimate)
	calls, k := d.blocks.turn(d.names, d.red)
	switch d.reason {
	case "max_tokens", "model_context_window_exceeded", "length", "model_length", "max_output_tokens", "MAX_TOKENS":
		a.Finish = core.FinishMaxTokens
	case "refusal":
		a.Finish = core.FinishRefusal
	case "content_filter", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII":
		a.Finish = core.FinishContentFilter
	default:
		// What came decides, not the word.
		a.Finish = core.FinishEndTurn
		if len(calls) > 0 {
			a.Finish, a.Calls = core.FinishToolCalls, calls
		}
	}
	if !k.empty() {
		a.Envelopes = dialect.Seal(provider.Messages, origin, k, d.red)
	}
	return a
}
