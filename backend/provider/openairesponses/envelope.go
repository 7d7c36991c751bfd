package openairesponses

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// kept is what an envelope of this dialect holds: the items of one turn of the
// model in their order, with what the conversation itself does not hold.
type kept struct {
	Items []slot `json:"items"`
}

// slot is one item: thinking as it came, a call, or a text.
type slot struct {
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	// Call says that here stands the next call of the turn.
	Call bool `json:"call,omitempty"`
	// Bytes is how much of the text of the turn is this one's, as UTF-8.
	Bytes int `json:"bytes,omitempty"`
	// More holds the fields of a call or text that are none of ours, such as the
	// phase of a text.
	More dialect.Fields `json:"more,omitempty"`
}

// needed reports whether the turn cannot be built without the envelope: one text
// and the calls after it can.
func (k kept) needed() bool {
	texts, called := 0, false
	for _, s := range k.Items {
		switch {
		case s.Reasoning != nil, len(s.More) > 0:
			return true
		case s.Call:
			called = true
		default:
			texts++
			if texts > 1 || called {
				return true
			}
		}
	}
	return false
}

// pieces divides the text of a turn among the texts in k, by their place in
// Items; nil when there is none. What was added to it later belongs to the last
// one. A text that is no longer the one that came stays whole, in the first.
func (k kept) pieces(text string) map[int]string {
	var at []int
	for i, s := range k.Items {
		if s.Reasoning == nil && !s.Call {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	out := make(map[int]string)
	rest := text
	for _, i := range at[:len(at)-1] {
		n := k.Items[i].Bytes
		if n < 0 || n > len(rest) || n < len(rest) && !utf8.RuneStart(rest[n]) {
			return map[int]string{at[0]: text}
		}
		out[i], rest = rest[:n], rest[n:]
	}
	out[at[len(at)-1]] = rest
	return out
}

// clean takes the secrets out of JSON that goes back as it came, also those that
// its escapes hide.
func clean(raw json.RawMessage, red *provider.Redactor) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil // it was read from JSON
	}
	plain, err := dialect.Marshal(v)
	if err != nil {
		return nil
	}
	if without := red.Text(string(plain)); without != string(plain) {
		return json.RawMessage(without)
	}
	return raw
}

func cleanAll(m dialect.Fields, red *provider.Redactor) dialect.Fields {
	for name, raw := range m {
		m[name] = clean(raw, red)
	}
	return m
}
