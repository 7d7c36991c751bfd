package openaichat

import (
	"bytes"
	"encoding/json"

	"galley/backend/agent/core"
)

// kept is what an envelope of this dialect holds: all that came with one turn
// of the model and must go back with it. There is one for a turn; it may be
// attached to any part of its message.
type kept struct {
	ReasoningContent string                       `json:"reasoning_content,omitempty"`
	ReasoningDetails []map[string]json.RawMessage `json:"reasoning_details,omitempty"`
	// Extra is the extra_content of the turn, CallExtra those of its calls in
	// order, null where a call had none.
	Extra     json.RawMessage   `json:"extra_content,omitempty"`
	CallExtra []json.RawMessage `json:"call_extra_content,omitempty"`
}

func (k kept) empty() bool {
	return k.ReasoningContent == "" && len(k.ReasoningDetails) == 0 && k.Extra == nil && k.CallExtra == nil
}

// opened returns what the envelope of a message holds, if it came from origin.
func opened(msg core.Message, origin string) kept {
	var k kept
	for _, p := range msg.Parts {
		e := p.Envelope
		if e == nil || e.Dialect != dialect || e.Origin != origin {
			continue
		}
		if json.Unmarshal(e.Raw, &k) == nil {
			return k
		}
	}
	return kept{}
}

// marshal writes JSON without the escapes that are for HTML, so that strings
// stay as they came.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// addDetails takes in the reasoning_details of one delta. An entry comes in
// pieces: those of one type and index are one.
func addDetails(all []map[string]json.RawMessage, more []map[string]json.RawMessage) []map[string]json.RawMessage {
	for _, m := range more {
		if old := sameDetail(all, m); old != nil {
			mergeDetail(old, m)
			continue
		}
		all = append(all, m)
	}
	return all
}

func sameDetail(all []map[string]json.RawMessage, m map[string]json.RawMessage) map[string]json.RawMessage {
	index := m["index"]
	if isNull(index) {
		return nil
	}
	for i := len(all) - 1; i >= 0; i-- {
		if bytes.Equal(all[i]["index"], index) && bytes.Equal(all[i]["type"], m["type"]) {
			return all[i]
		}
	}
	return nil
}

// mergeDetail joins the streamed strings of an entry; of all else the last word
// counts.
func mergeDetail(old, m map[string]json.RawMessage) {
	for name, raw := range m {
		if isNull(raw) {
			continue
		}
		switch name {
		case "text", "summary", "data", "signature":
			was, now := str(old[name]), str(raw)
			if joined, err := marshal(was + now); err == nil && was != "" {
				raw = joined
			}
		}
		old[name] = raw
	}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// str returns a JSON string; "" for null, none and anything else.
func str(raw json.RawMessage) string {
	var s string
	if isNull(raw) || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
