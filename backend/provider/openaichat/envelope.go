package openaichat

import (
	"bytes"
	"encoding/json"

	"galley/backend/provider/dialect"
)

// kept is what an envelope of this dialect holds: all that came with one turn
// of the model and must go back with it. There is one for a turn; it may be
// attached to any part of its message.
type kept struct {
	ReasoningContent string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []dialect.Fields `json:"reasoning_details,omitempty"`
	// Extra is the extra_content of the turn, CallExtra those of its calls in
	// order, null where a call had none.
	Extra     json.RawMessage   `json:"extra_content,omitempty"`
	CallExtra []json.RawMessage `json:"call_extra_content,omitempty"`
}

func (k kept) empty() bool {
	return k.ReasoningContent == "" && len(k.ReasoningDetails) == 0 && k.Extra == nil && k.CallExtra == nil
}

// addDetails takes in the reasoning_details of one delta. An entry comes in
// pieces: those of one type and index are one.
func addDetails(all []dialect.Fields, more []dialect.Fields) []dialect.Fields {
	for _, m := range more {
		if old := sameDetail(all, m); old != nil {
			mergeDetail(old, m)
			continue
		}
		all = append(all, m)
	}
	return all
}

func sameDetail(all []dialect.Fields, m dialect.Fields) dialect.Fields {
	index := m["index"]
	if dialect.IsNull(index) {
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
func mergeDetail(old, m dialect.Fields) {
	for name, raw := range m {
		if dialect.IsNull(raw) {
			continue
		}
		switch name {
		case "text", "summary", "data", "signature":
			was, now := dialect.Str(old[name]), dialect.Str(raw)
			if joined, err := dialect.Marshal(was + now); err == nil && was != "" {
				raw = joined
			}
		}
		old[name] = raw
	}
}
