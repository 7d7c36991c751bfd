package dialect

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Fields are those of a JSON object, each as it came.
type Fields map[string]json.RawMessage

// Object returns the fields of a JSON object; nil for anything else.
func Object(raw json.RawMessage) Fields {
	var m Fields
	if IsNull(raw) || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// List returns the items of a JSON list; nil for anything else.
func List(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if IsNull(raw) || json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

// Str returns a JSON string; "" for null, none and anything else.
func Str(raw json.RawMessage) string {
	var s string
	if IsNull(raw) || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// IsNull reports whether a value is null or not there; both say the same
// (decision 7).
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// IsObject reports whether s is a whole JSON object.
func IsObject(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// Index returns an index, a number or a string, as a key; "" for null, none and
// "". An index is a key and not a position (decision 12).
func Index(raw json.RawMessage) string {
	if IsNull(raw) {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// Count returns a number of tokens. It reports false for what is none.
func Count(raw json.RawMessage) (int, bool) {
	var f float64
	if IsNull(raw) || json.Unmarshal(raw, &f) != nil || f < 0 || f > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// Marshal writes JSON without the escapes that are for HTML, so that strings
// stay as they came.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// Scrub makes text valid: half a surrogate pair, which a page can hold, would
// make the provider refuse the whole request.
func Scrub(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// ScrubEscapes does the same to escapes within JSON.
func ScrubEscapes(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		unit, ok := escapedUnit(raw[i:])
		switch {
		case !ok:
			out = append(out, raw[i:i+2]...)
			i += 2
		case unit >= 0xd800 && unit < 0xdc00:
			if low, ok := escapedUnit(raw[i+6:]); ok && low >= 0xdc00 && low < 0xe000 {
				out = append(out, raw[i:i+12]...)
				i += 12
				continue
			}
			out = append(out, `\ufffd`...)
			i += 6
		case unit >= 0xdc00 && unit < 0xe000:
			out = append(out, `\ufffd`...)
			i += 6
		default:
			out = append(out, raw[i:i+6]...)
			i += 6
		}
	}
	return out
}

// escapedUnit reads \uXXXX at the start of b.
func escapedUnit(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return v, err == nil
}
