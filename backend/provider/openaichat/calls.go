package openaichat

import (
	"bytes"
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// call is a tool call while it streams.
type call struct {
	index string // as it came; empty for none
	id    string // the provider's
	name  string
	args  strings.Builder
	// object holds arguments that came as an object in place of a string.
	object json.RawMessage
	extra  json.RawMessage
}

// calls puts the deltas of calls together (decision 12).
type calls struct {
	all     []*call
	current *call
}

// add takes one entry of tool_calls.
func (c *calls) add(entry dialect.Fields) {
	function := dialect.Object(entry["function"])
	id, name := dialect.Str(entry["id"]), dialect.Str(function["name"])
	k := c.route(dialect.Index(entry["index"]), id, name, function["arguments"])
	c.current = k
	if id != "" {
		k.id = id
	}
	// A name comes in pieces, or whole in every delta.
	if name != k.name {
		k.name += name
	}
	switch args := function["arguments"]; {
	case dialect.IsNull(args):
	case args[0] == '"':
		k.args.WriteString(dialect.Str(args))
	default:
		k.object = bytes.Clone(args)
	}
	if extra := entry["extra_content"]; !dialect.IsNull(extra) {
		k.extra = bytes.Clone(extra)
	}
}

// addWhole takes one entry of a whole message, where each is a call.
func (c *calls) addWhole(entry dialect.Fields) {
	c.all = append(c.all, &call{})
	c.current = c.all[len(c.all)-1]
	delete(entry, "index")
	if id := dialect.Str(entry["id"]); id != "" {
		c.current.id = id
	}
	// Without an index, and with the id it has, add goes to the current call.
	c.add(entry)
}

// route finds the call that a delta belongs to.
func (c *calls) route(index, id, name string, args json.RawMessage) *call {
	last := func(fits func(*call) bool) *call {
		for i := len(c.all) - 1; i >= 0; i-- {
			if fits(c.all[i]) {
				return c.all[i]
			}
		}
		return nil
	}
	var k *call
	switch {
	case index != "":
		if id != "" {
			k = last(func(k *call) bool { return k.index == index && k.id == id })
		}
		if k == nil {
			k = last(func(k *call) bool { return k.index == index })
		}
		if k != nil && id != "" && k.id != "" && k.id != id {
			k = nil // another id under an index in use
		} else if k == nil && c.current != nil && c.current.index == "" && name == "" && (id == "" || id == c.current.id) {
			k = c.current // its first delta had no index
			k.index = index
		}
	case id != "":
		if c.current != nil && c.current.id == id {
			k = c.current
		} else {
			k = last(func(k *call) bool { return k.id == id })
		}
		// An id that comes late belongs to the call that has none yet.
		if k == nil && c.current != nil && c.current.id == "" && (name == "" || name == c.current.name) {
			k = c.current
		}
	default:
		k = c.current
		// A server that gives neither can still begin another call: it names
		// it and the one before has all it needs.
		if k != nil && name != "" && !isEmptyArgs(args) && k.name != "" && dialect.IsObject(k.args.String()) {
			k = nil
		}
	}
	if k == nil {
		k = &call{index: index}
		c.all = append(c.all, k)
	}
	return k
}

// answer returns the calls of an answer that is whole, and their extra_content;
// the latter is nil when no call has any.
func (c *calls) answer(names dialect.Names, red *provider.Redactor) ([]core.AnswerCall, []json.RawMessage) {
	var out []core.AnswerCall
	var extra []json.RawMessage
	any := false
	for _, k := range c.all {
		raw := k.args.String()
		if k.object != nil && strings.TrimSpace(raw) == "" {
			raw = string(k.object)
		}
		if k.name == "" && strings.TrimSpace(raw) == "" {
			continue // a place holder
		}
		a := dialect.Call(len(out), k.id, k.name, raw, names, red)
		out = append(out, a)
		if k.extra == nil {
			extra = append(extra, json.RawMessage("null"))
			continue
		}
		any = true
		extra = append(extra, k.extra)
	}
	if !any {
		extra = nil
	}
	return out, extra
}

func isEmptyArgs(raw json.RawMessage) bool {
	return dialect.IsNull(raw) || string(raw) == `""`
}
