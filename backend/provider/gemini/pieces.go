package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"galley/backend/provider/dialect"
)

// maxDepth limits how deep a path of a piece may lead.
const maxDepth = 64

// pieces puts the arguments of a call together from pieces that each name a
// place in them, as "$.items[0].text".
type pieces struct {
	root any
	// bad says that a piece made no sense, so that the whole is not whole.
	bad bool
}

// words is a string that grows.
type words struct{ strings.Builder }

// MarshalJSON writes it as a string.
func (w *words) MarshalJSON() ([]byte, error) { return dialect.Marshal(w.String()) }

// newPieces returns the arguments that a call began with.
func newPieces(args json.RawMessage) *pieces {
	p := &pieces{root: map[string]any{}}
	if dialect.IsNull(args) {
		return p
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&p.root) != nil {
		p.bad = true
	}
	return p
}

// json returns what there is.
func (p *pieces) json() json.RawMessage {
	raw, err := dialect.Marshal(p.root)
	if err != nil {
		return nil // it was read from JSON
	}
	return raw
}

// add takes one piece. A string is put behind the one that is there; any other
// value takes the place.
func (p *pieces) add(f dialect.Fields) {
	path, ok := steps(dialect.Str(f["jsonPath"]))
	if !ok {
		p.bad = true
		return
	}
	var leaf func(old any) any
	switch {
	case f["stringValue"] != nil:
		leaf = func(old any) any { return longer(old, dialect.Str(f["stringValue"])) }
	case f["numberValue"] != nil:
		leaf = func(any) any { return f["numberValue"] }
	case f["boolValue"] != nil:
		leaf = func(any) any { return f["boolValue"] }
	case f["nullValue"] != nil:
		leaf = func(any) any { return json.RawMessage("null") }
	default:
		return // it says that the place goes on, and nothing more
	}
	root, ok := put(p.root, path, leaf)
	if !ok {
		p.bad = true
		return
	}
	p.root = root
}

// longer returns a string with more behind it.
func longer(old any, more string) any {
	w, ok := old.(*words)
	if !ok {
		w = &words{}
		if s, ok := old.(string); ok {
			w.WriteString(s)
		}
	}
	w.WriteString(more)
	return w
}

// step is a name within an object or a place within a list.
type step struct {
	name  string
	index int // -1 for a name
}

// put sets what path leads to below node, and makes what is missing on the way.
// It reports false where something else is in the way.
func put(node any, path []step, leaf func(old any) any) (any, bool) {
	if len(path) == 0 {
		return leaf(node), true
	}
	s := path[0]
	if s.index >= 0 {
		list, ok := node.([]any)
		if node != nil && !ok || s.index > len(list) {
			return nil, false
		}
		if s.index == len(list) {
			list = append(list, nil)
		}
		child, ok := put(list[s.index], path[1:], leaf)
		list[s.index] = child
		return list, ok
	}
	object, ok := node.(map[string]any)
	if node != nil && !ok {
		return nil, false
	}
	if object == nil {
		object = map[string]any{}
	}
	child, ok := put(object[s.name], path[1:], leaf)
	if ok {
		object[s.name] = child
	}
	return object, ok
}

// steps reads the part of JSON Path that leads to one place: $.a.b, ['a'], [0].
func steps(path string) ([]step, bool) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, false
	}
	var out []step
	for rest != "" && len(out) < maxDepth {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			if end == 1 {
				return nil, false
			}
			out = append(out, step{name: rest[1:end], index: -1})
			rest = rest[end:]
		case strings.HasPrefix(rest, "['"), strings.HasPrefix(rest, `["`):
			name, after, ok := strings.Cut(rest[2:], rest[1:2]+"]")
			if !ok {
				return nil, false
			}
			out = append(out, step{name: name, index: -1})
			rest = after
		case rest[0] == '[':
			digits, after, _ := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 {
				return nil, false
			}
			out = append(out, step{index: n})
			rest = after
		default:
			return nil, false
		}
	}
	return out, rest == ""
}
