package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// conversation puts the messages of a request into the form of the dialect:
// turns of user and assistant that alternate, the results of calls at the
// beginning of the user's turn that follows them, and nothing empty.
type conversation struct {
	model    *Model
	family   string // the model that is asked
	names    dialect.Names
	ids      dialect.IDs
	withheld bool // thinking does not go back

	system string
	turns  []turn
	// thought says that thinking goes back.
	thought bool
}

// turn is one of either side, its blocks in order.
type turn struct {
	user   bool
	blocks []json.RawMessage
	// calls are the ids of an assistant's calls, results those of the results
	// in a user's turn, which go before its blocks.
	calls   []string
	results []result
	// unthought says that an assistant's turn does not begin with thinking.
	unthought bool
}

// result is what came of a call.
type result struct {
	id, name, text string
	failed         bool
}

// conversation reads the messages of a request. With thought the model's
// thinking goes back to where it came from.
func (m *Model) conversation(req core.Request, names dialect.Names, thought bool) *conversation {
	c := &conversation{
		model: m, family: req.Model, names: names, withheld: !thought,
		ids: dialect.NewIDs(req.Messages, false), system: dialect.Scrub(req.System),
	}
	for _, msg := range req.Messages {
		switch msg.Role {
		case core.RoleSystem:
			// There is one place for it.
			c.system = strings.Trim(c.system+"\n\n"+dialect.Text(msg, core.PartText), "\n")
		case core.RoleUser:
			if block := textOf(dialect.Text(msg, core.PartText)); block != nil {
				t := c.last(true)
				t.blocks = append(t.blocks, block)
			}
		case core.RoleAssistant:
			c.said(msg)
		case core.RoleTool:
			for _, p := range msg.Parts {
				if p.Type == core.PartToolResult {
					t := c.last(true)
					t.results = append(t.results, result{c.id(p), p.Name, dialect.Scrub(p.Text), p.IsError})
				}
			}
		}
	}
	if strings.TrimSpace(c.system) == "" {
		c.system = ""
	}
	c.pair()
	return c
}

// last returns the turn of that side that is going on. Two of one side in a row
// are one.
func (c *conversation) last(user bool) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].user != user {
		c.turns = append(c.turns, turn{user: user})
	}
	return &c.turns[len(c.turns)-1]
}

// said adds a turn of the model.
func (c *conversation) said(msg core.Message) {
	words := dialect.Text(msg, core.PartText)
	var calls []core.Part
	for _, p := range msg.Parts {
		if p.Type == core.PartToolCall {
			calls = append(calls, p)
		}
	}
	if strings.TrimSpace(words) == "" && len(calls) == 0 {
		return // thinking alone is refused
	}
	var k kept
	dialect.Open(msg, provider.Messages, c.model.Origin(c.family), &k)
	if !k.fits(words, len(calls)) {
		k = k.inFront(words, len(calls))
	}
	t := c.last(false)
	var thoughts []json.RawMessage // not yet followed by anything
	for _, b := range k.Blocks {
		var block json.RawMessage
		switch {
		case b.Thinking != nil:
			if !c.withheld && (!c.model.vendor || signed(b.Thinking)) {
				thoughts = append(thoughts, b.Thinking)
			}
		case b.Call:
			id := c.id(calls[0])
			block = c.call(calls[0], id, b.Extra)
			t.calls, calls = append(t.calls, id), calls[1:]
		default:
			block = textOf(words[:b.Text])
			words = words[b.Text:]
		}
		if block == nil {
			continue // and a turn cannot end with thinking
		}
		if len(t.blocks) == 0 {
			t.unthought = len(thoughts) == 0
		}
		c.thought = c.thought || len(thoughts) > 0
		t.blocks = append(append(t.blocks, thoughts...), block)
		thoughts = nil
	}
}

// id returns the id that a call or a result goes out with. The dialect allows
// letters, digits, _ and -; other providers give others.
func (c *conversation) id(p core.Part) string {
	id := c.ids.Of(p)
	legal := id != "" && strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	}) < 0
	if legal {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "toolu_" + hex.EncodeToString(sum[:12])
}

// call writes a call. What came with it goes back to a gateway; the vendor
// refuses fields that it does not ask for.
func (c *conversation) call(p core.Part, id string, extra dialect.Fields) json.RawMessage {
	input := dialect.Arguments(p.Input)
	if !dialect.IsObject(string(input)) {
		input = json.RawMessage("{}")
	}
	block := map[string]any{"type": "tool_use", "id": id, "name": c.names.Wire(p.Name), "input": input}
	if !c.model.vendor {
		for name, raw := range extra {
			block[name] = raw
		}
	}
	return marshal(block)
}

// fits reports whether what is kept speaks of a turn of these words and so many
// calls.
func (k kept) fits(words string, calls int) bool {
	for _, b := range k.Blocks {
		switch {
		case b.Thinking != nil:
		case b.Call:
			calls--
		case b.Text <= 0 || b.Text > len(words) || !utf8.ValidString(words[:b.Text]):
			return false
		default:
			words = words[b.Text:]
		}
	}
	return words == "" && calls == 0
}

// inFront puts the thinking that is kept before the words, and the calls behind
// them: the order of a turn that has changed since, or of which nothing is kept.
func (k kept) inFront(words string, calls int) kept {
	var out kept
	for _, b := range k.Blocks {
		if b.Thinking != nil {
			out.Blocks = append(out.Blocks, b)
		}
	}
	if words != "" {
		out.Blocks = append(out.Blocks, keptBlock{Text: len(words)})
	}
	for range calls {
		out.Blocks = append(out.Blocks, keptBlock{Call: true})
	}
	return out
}

// signed reports whether a block of thinking can go back to the vendor.
func signed(raw json.RawMessage) bool {
	block := dialect.Object(raw)
	return dialect.Str(block["signature"]) != "" || dialect.Str(block["type"]) == "redacted_thinking"
}

// pair puts each result behind its call, as the dialect wants it: a call
// without one would have every later request refused, and so would a result
// without its call.
func (c *conversation) pair() {
	var out []turn
	for i := 0; i < len(c.turns); i++ {
		t := c.turns[i]
		if t.user {
			// Results that no call stands before.
			out = append(out, turn{user: true, blocks: append(t.answers(nil), t.blocks...)})
			continue
		}
		out = append(out, t)
		if len(t.calls) == 0 {
			continue
		}
		next := turn{user: true}
		if i+1 < len(c.turns) {
			i++
			next = c.turns[i]
		}
		out = append(out, turn{user: true, blocks: append(next.answers(t.calls), next.blocks...)})
	}
	c.turns = out
}

// noResult stands where what came of a call is not known.
const noResult = "The result of this call is not known."

// answers returns blocks of the results of a turn: one for each call of the
// turn before, in their order, then what belongs to none, as text.
func (t turn) answers(calls []string) []json.RawMessage {
	var out []json.RawMessage
	used := make(map[int]bool)
	for _, id := range calls {
		r := result{id: id, text: noResult, failed: true}
		for n, have := range t.results {
			if have.id == id && !used[n] {
				r, used[n] = have, true
				break
			}
		}
		if r.failed && strings.TrimSpace(r.text) == "" {
			r.text = noResult // a failure without words is refused
		}
		out = append(out, marshal(resultBlock{Type: "tool_result", ToolUseID: id, Content: r.text, IsError: r.failed}))
	}
	for n, r := range t.results {
		if used[n] {
			continue
		}
		if block := textOf("[Result of " + r.name + "]\n" + r.text); block != nil {
			out = append(out, block)
		}
	}
	return out
}

// endsUnthought reports whether the conversation goes on with the results of a
// turn that did not begin with thinking.
func (c *conversation) endsUnthought() bool {
	n := len(c.turns)
	return n >= 2 && c.turns[n-1].user && len(c.turns[n-2].calls) > 0 && c.turns[n-2].unthought
}

// messages returns the turns as they go out.
func (c *conversation) messages() []message {
	out := []message{}
	for _, t := range c.turns {
		role := "assistant"
		if t.user {
			role = "user"
		}
		if len(t.blocks) > 0 {
			out = append(out, message{Role: role, Content: t.blocks})
		}
	}
	return out
}

// textOf returns a block of text; nil for white space, which is refused.
func textOf(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return marshal(textBlock{Type: "text", Text: dialect.Scrub(s)})
}

// marshal writes a block, all of whose fields were read from JSON or are text.
func marshal(block any) json.RawMessage {
	raw, err := dialect.Marshal(block)
	if err != nil {
		return json.RawMessage(`{"type":"text","text":"?"}`)
	}
	return raw
}
