package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// blockKind tells the blocks of a turn apart.
type blockKind int

const (
	blockUnknown blockKind = iota // skipped, whatever it holds
	blockText
	blockThinking
	blockRedacted
	blockCall
)

// block is one block of an answer while it streams.
type block struct {
	kind  blockKind
	index string // as it came; empty for none
	start dialect.Fields

	text      strings.Builder // of a text or of thinking
	signature strings.Builder
	args      strings.Builder
	// object holds arguments that came as an object in place of a string.
	object json.RawMessage
}

// newBlock reads what a block starts with, or the whole of one.
func newBlock(index string, start dialect.Fields) *block {
	b := &block{index: index, start: make(dialect.Fields, len(start))}
	for name, raw := range start {
		b.start[name] = bytes.Clone(raw) // an event is valid until the next one
	}
	switch dialect.Str(start["type"]) {
	case "text":
		b.kind = blockText
	case "thinking":
		b.kind = blockThinking
		b.signature.WriteString(dialect.Str(start["signature"]))
	case "redacted_thinking":
		b.kind = blockRedacted
	case "tool_use":
		b.kind = blockCall
	}
	return b
}

// addArgs takes a piece of the arguments of a call.
func (b *block) addArgs(raw json.RawMessage) {
	switch {
	case dialect.IsNull(raw):
	case raw[0] == '"':
		b.args.WriteString(dialect.Str(raw))
	default:
		b.object = bytes.Clone(raw)
	}
}

// rawArgs returns the arguments of a call: what the deltas gave, else what it
// started with (decision 13).
func (b *block) rawArgs() string {
	if raw := b.args.String(); strings.TrimSpace(raw) != "" {
		return raw
	}
	raw := b.start["input"]
	if b.object != nil {
		raw = b.object
	}
	if len(raw) > 0 && raw[0] == '"' {
		return dialect.Str(raw)
	}
	return string(raw)
}

// thinking returns a block of thinking as it came, the streamed strings joined;
// nil for one that nothing came in.
func (b *block) thinking() json.RawMessage {
	if b.kind == blockThinking {
		if b.text.Len() == 0 && b.signature.Len() == 0 {
			return nil
		}
		for name, s := range map[string]string{"thinking": b.text.String(), "signature": b.signature.String()} {
			raw, err := dialect.Marshal(s)
			if err == nil && (s != "" || name == "thinking" || !dialect.IsNull(b.start[name])) {
				b.start[name] = raw
			}
		}
	}
	raw, err := dialect.Marshal(b.start)
	if err != nil {
		return nil // its fields were read from JSON
	}
	return raw
}

// extra returns what came with a call besides the four fields that are read;
// nil for nothing.
func (b *block) extra() dialect.Fields {
	var extra dialect.Fields
	for name, raw := range b.start {
		switch name {
		case "type", "id", "name", "input":
			continue
		}
		if dialect.IsNull(raw) {
			continue
		}
		if extra == nil {
			extra = make(dialect.Fields)
		}
		extra[name] = raw
	}
	return extra
}

// blocks are those of one answer, in the order in which they were opened.
type blocks []*block

// under returns the block that a delta of index belongs to: the one last opened
// under it (decision 15), the last of all where it names none; nil for none.
func (bs blocks) under(index string) *block {
	for i := len(bs) - 1; i >= 0; i-- {
		if index == "" || bs[i].index == index {
			return bs[i]
		}
	}
	return nil
}

// turn reads the blocks of an answer that is whole: its calls, and what has to
// go back with it.
func (bs blocks) turn(names dialect.Names, red *provider.Redactor) ([]core.AnswerCall, kept) {
	var calls []core.AnswerCall
	var k kept
	for _, b := range bs {
		switch b.kind {
		case blockThinking, blockRedacted:
			if raw := b.thinking(); raw != nil {
				k.Blocks = append(k.Blocks, keptBlock{Thinking: raw})
			}
		case blockText:
			if n := len(red.Text(b.text.String())); n > 0 {
				k.Blocks = append(k.Blocks, keptBlock{Text: n})
			}
		case blockCall:
			raw := b.rawArgs()
			name := dialect.Str(b.start["name"])
			if name == "" && strings.TrimSpace(raw) == "" {
				continue // a place holder
			}
			calls = append(calls, dialect.Call(len(calls), dialect.Str(b.start["id"]), name, raw, names, red))
			k.Blocks = append(k.Blocks, keptBlock{Call: true, Extra: b.extra()})
		case blockUnknown:
		}
	}
	return calls, k
}

// kept is what an envelope of this dialect holds: the thinking of one turn as
// it came, and where the texts and calls stood between. There is one for a
// turn; it may be attached to any part of its message.
type kept struct {
	Blocks []keptBlock `json:"blocks"`
}

// keptBlock is one of a turn; exactly one of Thinking, Text and Call is set.
type keptBlock struct {
	// Thinking is a whole block, also one that is redacted.
	Thinking json.RawMessage `json:"thinking,omitempty"`
	// Text is the length of a text in bytes.
	Text int `json:"text,omitempty"`
	// Call is a tool call, the next of the message's. Extra is what came with
	// it besides its name, id and input.
	Call  bool           `json:"call,omitempty"`
	Extra dialect.Fields `json:"extra,omitempty"`
}

// empty reports whether nothing of it has to go back.
func (k kept) empty() bool {
	for _, b := range k.Blocks {
		if b.Thinking != nil || b.Extra != nil {
			return false
		}
	}
	return true
}
