package openairesponses

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// kind tells items apart.
type kind int

const (
	kindMessage kind = iota
	kindReasoning
	kindCall
	kindOther // of a type that is not ours to read
)

func kindOf(item dialect.Fields) kind {
	switch dialect.Str(item["type"]) {
	case "message":
		return kindMessage
	case "reasoning":
		return kindReasoning
	case "function_call":
		return kindCall
	}
	return kindOther
}

// partKind tells the parts of an item apart.
type partKind int

const (
	partText partKind = iota
	partRefusal
	partSummary
	partThought
	partOther
)

// partKindOf returns the kind of a part of an item, and its text.
func partKindOf(of kind, part dialect.Fields) (partKind, string) {
	switch typ := dialect.Str(part["type"]); {
	case of == kindMessage && (typ == "output_text" || typ == "text"):
		return partText, dialect.Str(part["text"])
	case of == kindMessage && typ == "refusal":
		return partRefusal, dialect.Str(part["refusal"])
	case of == kindReasoning && typ == "summary_text":
		return partSummary, dialect.Str(part["text"])
	case of == kindReasoning && (typ == "reasoning_text" || typ == "text"):
		return partThought, dialect.Str(part["text"])
	}
	return partOther, ""
}

// part is a text within an item.
type part struct {
	kind partKind
	key  string // its index as it came; empty for none
	text strings.Builder
	done bool
}

func (p *part) set(text string) {
	p.text.Reset()
	p.text.WriteString(text)
}

// item is one item of the output while it streams.
type item struct {
	kind  kind
	id    string // of the item, not of the call
	index string // as it came; empty for none
	done  bool
	parts []*part
	// raw is a reasoning item as it came last; more holds the fields of any other
	// that are none of ours.
	raw  json.RawMessage
	more dialect.Fields

	callID, name string
	args         strings.Builder
	// prefilled says that args came with the beginning; a piece replaces them.
	prefilled bool
	// shown is what of its text or thinking was said to the eye.
	shown strings.Builder
}

// part returns the part of an item that an event speaks of, new if need be; nil
// when that part is one that is not read.
func (it *item) part(k partKind, key string) *part {
	for i := len(it.parts) - 1; i >= 0; i-- {
		p := it.parts[i]
		if p.kind == k && (key == "" || p.key == key) {
			return p
		}
		if p.kind == partOther && key != "" && p.key == key {
			return nil
		}
	}
	p := &part{kind: k, key: key}
	it.parts = append(it.parts, p)
	return p
}

// text joins the texts of one kind: those of a message with nothing between
// (decision 16).
func (it *item) text(k partKind) string {
	var b strings.Builder
	for _, p := range it.parts {
		if p.kind == k {
			b.WriteString(p.text.String())
		}
	}
	return b.String()
}

// thinking joins what was thought. Summaries are separate in what a person
// sees; one that says the same as the thinking itself is said once.
func (it *item) thinking() string {
	var b strings.Builder
	same := it.text(partSummary) == it.text(partThought)
	var last *part
	for _, p := range it.parts {
		if p.text.Len() == 0 || p.kind == partOther || same && p.kind == partThought {
			continue
		}
		if last != nil && apart(last, p) {
			b.WriteString("\n\n")
		}
		b.WriteString(p.text.String())
		last = p
	}
	return b.String()
}

// apart reports whether two pieces of thinking are told apart by a blank line.
func apart(a, b *part) bool { return a.kind == partSummary || b.kind == partSummary }

// visible is what of an item is shown while it comes.
func (it *item) visible() string {
	if it.kind == kindReasoning {
		return it.thinking()
	}
	return it.text(partText)
}

// replace puts the whole parts of one list of an item in place of what came in
// pieces. A list that holds nothing we read changes nothing.
func (it *item) replace(list []json.RawMessage, kinds ...partKind) {
	var whole []*part
	found := false
	for i, raw := range list {
		k, text := partKindOf(it.kind, dialect.Object(raw))
		p := &part{kind: k, key: strconv.Itoa(i), done: true}
		p.set(text)
		whole = append(whole, p)
		found = found || k != partOther && text != ""
	}
	if !found {
		return
	}
	var kept []*part
	for _, p := range it.parts {
		ours := false
		for _, k := range kinds {
			ours = ours || p.kind == k
		}
		if !ours && p.kind != partOther {
			kept = append(kept, p)
		}
	}
	if len(kinds) == 1 && kinds[0] == partThought {
		it.parts = append(kept, whole...)
		return
	}
	it.parts = append(whole, kept...)
}

// begun reports whether anything of an item came but its beginning.
func (it *item) begun() bool { return len(it.parts) > 0 || it.args.Len() > 0 && !it.prefilled }

// argument takes arguments that are whole.
func (it *item) argument(raw json.RawMessage) {
	text := argumentText(raw)
	if strings.TrimSpace(text) == "" {
		return // what is not there replaces nothing
	}
	it.args.Reset()
	it.args.WriteString(text)
}

// argumentText returns arguments, or a piece of them: an object in place of a
// string is taken as it is (decision 13).
func argumentText(raw json.RawMessage) string {
	if dialect.IsNull(raw) {
		return ""
	}
	if raw[0] == '"' {
		return dialect.Str(raw)
	}
	return string(raw)
}

// fill takes what an item object says of the item itself. The last word wins,
// and none is no word.
func (it *item) fill(m dialect.Fields) {
	if id := dialect.Str(m["id"]); id != "" {
		it.id = id
	}
	if s := dialect.Str(m["call_id"]); s != "" {
		it.callID = s
	}
	if s := dialect.Str(m["name"]); s != "" && it.kind == kindCall {
		it.name = s
	}
}

// items puts the events of an answer together (decision 14).
type items struct {
	all []*item
}

func (s *items) last(fits func(*item) bool) *item {
	for i := len(s.all) - 1; i >= 0; i-- {
		if fits(s.all[i]) {
			return s.all[i]
		}
	}
	return nil
}

func (s *items) open(k kind, id, index string) *item {
	it := &item{kind: k, id: id, index: index}
	s.all = append(s.all, it)
	return it
}

// find returns the item that an event about k speaks of, new if need be: by an
// id that is known, else by its place, else the current one. It is nil when that
// is an item that is not read.
func (s *items) find(k kind, id, index string) *item {
	if id != "" {
		if it := s.last(func(it *item) bool { return it.id == id && it.kind == k }); it != nil {
			return it
		}
		if s.last(func(it *item) bool { return it.id == id && it.kind == kindOther }) != nil {
			return nil
		}
	}
	if index != "" {
		it := s.last(func(it *item) bool { return it.index == index && it.kind == k })
		if it == nil {
			if s.last(func(it *item) bool { return it.index == index && it.kind == kindOther }) != nil {
				return nil
			}
			return s.open(k, id, index)
		}
		if it.done && id != "" && it.id != "" {
			return s.open(k, id, index) // another item at a place in use
		}
		if it.id == "" {
			it.id = id
		}
		return it
	}
	it := s.last(func(it *item) bool { return it.kind == k && (id == "" || it.id == "") })
	if it == nil || it.done {
		return s.open(k, id, index)
	}
	if it.id == "" {
		it.id = id
	}
	return it
}

// match returns the item that an item object is, nil for one that is new.
func (s *items) match(m dialect.Fields, index string) *item {
	k, id, callID := kindOf(m), dialect.Str(m["id"]), dialect.Str(m["call_id"])
	fits := func(it *item) bool {
		return it.kind == k && (k != kindCall || callID == "" || it.callID == "" || it.callID == callID)
	}
	if id != "" {
		it := s.last(func(it *item) bool { return it.id == id && fits(it) })
		if it != nil {
			return it
		}
	}
	it := s.last(func(it *item) bool { return it.index == index && fits(it) })
	if it == nil || index == "" && it.done {
		return nil
	}
	if it.done && id != "" && it.id != "" {
		return nil // another item at a place in use
	}
	return it
}

// added takes the beginning of an item. A second beginning changes nothing.
func (s *items) added(raw json.RawMessage, index string) {
	m := dialect.Object(raw)
	it, id := s.match(m, index), dialect.Str(m["id"])
	if it != nil && (id != "" && it.id != "" && it.id != id || it.id == "" && it.begun() && (it.callID == "" || it.callID != dialect.Str(m["call_id"]))) {
		it = nil // two that have begun at one place
	}
	if it == nil {
		it = s.open(kindOf(m), id, index)
	}
	if it.done {
		return
	}
	it.fill(m)
	if it.args.Len() == 0 {
		it.argument(m["arguments"])
		it.prefilled = it.args.Len() > 0
	}
	if it.kind == kindReasoning {
		it.raw = bytes.Clone(raw)
	}
}

// finished takes an item that is whole and returns what it is now.
func (s *items) finished(raw json.RawMessage, index string) *item {
	m := dialect.Object(raw)
	it := s.match(m, index)
	if it == nil {
		// The end may correct the id of the call as well.
		id := dialect.Str(m["id"])
		it = s.last(func(it *item) bool { return id != "" && it.id == id && it.kind == kindOf(m) && !it.done })
	}
	if it == nil || it.done && it.id == "" && it.says(m) {
		it = s.open(kindOf(m), "", index)
	}
	it.whole(raw, m)
	return it
}

// says reports whether an item object says something else than an item without
// an id, so that it is another.
func (it *item) says(m dialect.Fields) bool {
	other := &item{kind: it.kind}
	other.whole(nil, m)
	return other.name != it.name || other.args.String() != it.args.String() || other.visible() != it.visible()
}

// whole puts what an item object says in place of what came of it in pieces. A
// second end changes nothing but what must go back.
func (it *item) whole(raw json.RawMessage, m dialect.Fields) {
	if it.done {
		if it.kind == kindReasoning && sealed(raw) && !sealed(it.raw) {
			it.raw = bytes.Clone(raw)
		}
		return
	}
	it.fill(m)
	switch it.kind {
	case kindMessage:
		it.replace(dialect.List(m["content"]), partText, partRefusal)
		it.more = others(m, "role", "content")
	case kindReasoning:
		it.replace(dialect.List(m["summary"]), partSummary)
		it.replace(dialect.List(m["content"]), partThought)
		it.raw = bytes.Clone(raw)
	case kindCall:
		it.argument(m["arguments"])
		it.more = others(m, "call_id", "name", "arguments")
	case kindOther:
	}
	it.done = true
}

// sealed reports whether a reasoning item has what lets it go back.
func sealed(raw json.RawMessage) bool {
	return dialect.Str(dialect.Object(raw)["encrypted_content"]) != ""
}

// others returns the fields of an item but those that every item has and those
// named; nil for none.
func others(m dialect.Fields, known ...string) dialect.Fields {
	var out dialect.Fields
	for name, raw := range m {
		if dialect.IsNull(raw) || name == "id" || name == "type" || name == "status" || slices.Contains(known, name) {
			continue
		}
		if out == nil {
			out = make(dialect.Fields)
		}
		out[name] = bytes.Clone(raw)
	}
	return out
}

// merge takes the output of the whole response. Each entry is the item of its
// id, else the next of its kind that is not taken, else one that was not seen.
// It returns what is not as it was.
func (s *items) merge(output []json.RawMessage) []*item {
	taken := make(map[*item]bool)
	own := make([]*item, len(output))
	fields := make([]dialect.Fields, len(output))
	for i, raw := range output {
		m := dialect.Object(raw)
		fields[i] = m
		id, callID := dialect.Str(m["id"]), dialect.Str(m["call_id"])
		own[i] = s.last(func(it *item) bool {
			return it.kind == kindOf(m) && !taken[it] &&
				(id != "" && it.id == id || callID != "" && it.callID == callID)
		})
		taken[own[i]] = true
	}
	var changed []*item
	after := -1
	for i, raw := range output {
		k := kindOf(fields[i])
		if k == kindOther {
			continue
		}
		it := own[i]
		if it == nil {
			for _, seen := range s.all {
				if seen.kind == k && !taken[seen] {
					it = seen
					break
				}
			}
		}
		if it == nil {
			it = &item{kind: k}
			s.all = slices.Insert(s.all, after+1, it)
		}
		taken[it] = true
		after = slices.Index(s.all, it)
		it.whole(raw, fields[i])
		changed = append(changed, it)
	}
	return changed
}

// answer returns the calls, and what must go back with the turn.
func (s *items) answer(names dialect.Names, red *provider.Redactor) ([]core.AnswerCall, kept) {
	var calls []core.AnswerCall
	var k kept
	for _, it := range s.all {
		switch it.kind {
		case kindReasoning:
			if it.raw != nil {
				k.Items = append(k.Items, slot{Reasoning: clean(it.raw, red)})
			}
		case kindMessage:
			if text := it.text(partText); text != "" {
				k.Items = append(k.Items, slot{Bytes: len(red.Text(text)), More: cleanAll(it.more, red)})
			}
		case kindCall:
			args := it.args.String()
			if it.name == "" && strings.TrimSpace(args) == "" {
				continue // a place holder
			}
			calls = append(calls, dialect.Call(len(calls), it.callID, it.name, args, names, red))
			k.Items = append(k.Items, slot{Call: true, More: cleanAll(it.more, red)})
		case kindOther:
		}
	}
	return calls, k
}
