package gemini

import (
	"bytes"
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// kept is what an envelope of this dialect holds: the parts of one turn as they
// came. Only runs of plain text, which come in many pieces, are joined.
type kept struct {
	// Model is what gave the turn.
	Model string            `json:"model"`
	Parts []json.RawMessage `json:"parts"`
}

// part is one part of a turn, or a run of plain text.
type part struct {
	text    *strings.Builder // nil for a part that is kept raw
	thought bool
	raw     json.RawMessage
	call    *call // nil for a part that calls nothing
	// signature of a call that comes in pieces; its parts cannot go back as
	// they came.
	signature json.RawMessage
}

// parts collects a turn.
type parts struct {
	all []*part
	// opaque says that there is something that text and calls do not say.
	opaque bool
}

// add takes a part in. k is the call it belongs to, if any, and first says that
// it is the first of it.
func (p *parts) add(raw json.RawMessage, f dialect.Fields, k *call, first bool) {
	signature := f["thoughtSignature"]
	signed := !dialect.IsNull(signature)
	if k != nil && !first {
		for _, old := range p.all {
			if old.call == k && signed {
				old.signature, p.opaque = plainString(signature), true
			}
		}
		return
	}
	said := holds(f)
	switch {
	case len(said) == 0, said["functionCall"] && k == nil:
		return // nothing, which would be refused
	case len(said) == 1 && said["text"]:
		p.addText(dialect.Str(f["text"]), string(f["thought"]) == "true")
		return
	}
	// A part of a kind that is not known here is opaque too.
	p.opaque = p.opaque || signed || !said["text"] && !said["functionCall"]
	it := &part{raw: bytes.Clone(raw), call: k}
	if signed {
		it.signature = plainString(signature)
		it.raw = bytes.Replace(it.raw, signature, it.signature, 1)
	}
	p.all = append(p.all, it)
}

// holds returns the fields of a part that say something by themselves.
func holds(f dialect.Fields) map[string]bool {
	said := make(map[string]bool)
	for name, value := range f {
		if name != "thought" && !dialect.IsNull(value) {
			said[name] = true
		}
	}
	return said
}

// addText puts a plain text behind one of its kind.
func (p *parts) addText(s string, thought bool) {
	if s == "" {
		return
	}
	if n := len(p.all); n == 0 || p.all[n-1].text == nil || p.all[n-1].thought != thought {
		p.all = append(p.all, &part{text: &strings.Builder{}, thought: thought})
	}
	p.all[len(p.all)-1].text.WriteString(s)
}

// plainString returns a JSON string without the escapes that it does not need:
// Google writes "=" as \u003d. What it holds is the same.
func plainString(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\`)) {
		return bytes.Clone(raw)
	}
	out, err := dialect.Marshal(dialect.Str(raw))
	if err != nil {
		return bytes.Clone(raw)
	}
	return out
}

// sealed returns the parts as they are kept, without the secrets; calls says
// whether the calls are among them.
func (p *parts) sealed(calls bool, red *provider.Redactor) []json.RawMessage {
	var said [2]strings.Builder
	var out []json.RawMessage
	var texts []bool
	for _, it := range p.all {
		if it.call != nil && (!calls || it.call.none()) {
			continue
		}
		raw := withoutSecrets(it.json(), red)
		if raw == nil {
			continue
		}
		text, thought := textOf(raw)
		said[index(thought)].WriteString(text)
		out, texts = append(out, raw), append(texts, it.call == nil && text != "")
	}
	// A secret that lies across parts takes the parts with it.
	if red.Text(said[0].String()) == said[0].String() && red.Text(said[1].String()) == said[1].String() {
		return out
	}
	rest := []json.RawMessage{}
	if raw, err := dialect.Marshal(textPart{Text: red.Text(said[0].String())}); err == nil && said[0].Len() > 0 {
		rest = append(rest, raw)
	}
	for i, raw := range out {
		if !texts[i] {
			rest = append(rest, raw)
		}
	}
	return rest
}

// json returns a part as it is kept; nil for nothing.
func (it *part) json() json.RawMessage {
	var v any
	switch {
	case it.text != nil:
		v = textPart{Text: it.text.String(), Thought: it.thought}
	case it.call != nil && it.call.pieces != nil:
		v = callPart{
			FunctionCall: functionCall{ID: it.call.id, Name: it.call.name, Args: it.call.pieces.json()},
			Signature:    it.signature,
		}
	default:
		return it.raw
	}
	raw, err := dialect.Marshal(v)
	if err != nil {
		return nil // it was read from JSON
	}
	return raw
}

// textOf returns the text of a part, and whether it is thought.
func textOf(raw json.RawMessage) (text string, thought bool) {
	f := dialect.Object(raw)
	return dialect.Str(f["text"]), string(f["thought"]) == "true"
}

func index(thought bool) int {
	if thought {
		return 1
	}
	return 0
}

// open returns the parts that came with a message and may go back to model; nil
// for none. Signatures of one generation mean nothing to another.
func (m *Model) open(msg core.Message, model string) []json.RawMessage {
	var all []json.RawMessage
	for _, p := range msg.Parts {
		var k kept
		if p.Envelope == nil || !dialect.Open(core.Message{Parts: []core.Part{p}}, provider.Gemini, m.Origin(model), &k) {
			continue
		}
		was, _, told := version(k.Model)
		now, _, ok := version(model)
		if told && ok && was != now {
			continue
		}
		all = append(all, k.Parts...)
	}
	return all
}

// withoutSecrets takes the secrets out of the strings of a JSON value, also
// where escapes hide them. What holds none stays as it is, and so does what is
// no JSON.
func withoutSecrets(raw json.RawMessage, red *provider.Redactor) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\`)) && red.Text(string(raw)) == string(raw) {
		return raw
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return raw
	}
	found := false
	clean := func(s string) string {
		t := red.Text(s)
		found = found || t != s
		return t
	}
	v = eachString(v, clean)
	if !found {
		return raw
	}
	out, err := dialect.Marshal(v)
	if err != nil {
		return nil // it was read from JSON
	}
	return out
}

// eachString changes the strings and the names of a decoded JSON value.
func eachString(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachString(v[i], change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[change(name)] = eachString(value, change)
		}
		return out
	}
	return v
}
