package gemini

import (
	"bytes"
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// call is a call of an answer: whole in one part, or in pieces over several.
type call struct {
	id   string // the provider's
	name string
	// args are those of a call that came whole, as they came.
	args json.RawMessage
	// pieces hold those of a call that comes in pieces; nil for a whole one.
	pieces *pieces
	// open says that more of it is to come.
	open bool
}

// calls puts the parts of calls together. A call that comes whole is one call,
// whatever came before: also the same one twice, and one with an id in use.
type calls struct {
	all  []*call
	open *call
}

// add takes one functionCall. It returns the call that it belongs to, nil for a
// place holder, and whether it is the first part of it.
func (c *calls) add(f dialect.Fields) (k *call, first bool) {
	id, name, args := dialect.Str(f["id"]), dialect.Str(f["name"]), f["args"]
	partial := dialect.List(f["partialArgs"])
	more := string(f["willContinue"]) == "true"
	k = c.open
	if k == nil || !dialect.IsNull(args) ||
		name != "" && k.name != "" && name != k.name || id != "" && k.id != "" && id != k.id {
		if name == "" && id == "" && dialect.IsNull(args) && len(partial) == 0 && !more {
			return nil, false
		}
		// One that was left open never became whole.
		k, first = &call{id: id, name: name, args: bytes.Clone(args)}, true
		c.all = append(c.all, k)
		if more || len(partial) > 0 {
			k.pieces = newPieces(args)
		}
	}
	if k.id == "" {
		k.id = id
	}
	if k.name == "" {
		k.name = name
	}
	for _, p := range partial {
		k.pieces.add(dialect.Object(p))
	}
	k.open, c.open = more, nil
	if more {
		c.open = k
	}
	return k, first
}

// raw returns the arguments as JSON, or as what came in place of it; "" for
// none.
func (k *call) raw() string {
	if k.pieces != nil {
		return string(k.pieces.json())
	}
	if len(k.args) > 0 && k.args[0] == '"' {
		return dialect.Str(k.args) // JSON in a string
	}
	return string(k.args)
}

// broken reports whether the call never became whole.
func (k *call) broken() bool { return k.open || k.pieces != nil && k.pieces.bad }

// none reports whether nothing was called.
func (k *call) none() bool { return k.name == "" && strings.TrimSpace(k.raw()) == "" }

// answer returns the calls of an answer that is whole.
func (c *calls) answer(names dialect.Names, red *provider.Redactor) []core.AnswerCall {
	var out []core.AnswerCall
	for _, k := range c.all {
		if k.none() {
			continue
		}
		raw := string(withoutSecrets(json.RawMessage(k.raw()), red))
		a := dialect.Call(len(out), k.id, k.name, raw, names, red)
		if k.broken() {
			a.Arguments, a.Raw, a.Invalid = nil, red.Text(raw), true
		}
		out = append(out, a)
	}
	return out
}
